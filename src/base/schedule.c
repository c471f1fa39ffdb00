/* schedule: the text of a schedule, and the next time after a moment. Everything is in UTC, so a
 * day always has 24 hours. */
#include "base/schedule.h"

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)
#define EVERY_MAX 10000

static enum err schedule_refuse(struct error *e)
{
    return error_set(e, ERR_SYNTAX,
                     "must be times of the day such as `03:30` or `06:00 18:00` (UTC, at most %d), "
                     "or `every 30m`, `every 6h`, `every 1d`; empty = never",
                     SCHEDULE_TIMES_MAX);
}

static bool parse_every(struct slice text, int64_t *out)
{
    uint64_t n = 0;
    if (text.len < 2) return false;
    struct slice digits = slice_of(text.data, text.len - 1);
    int64_t unit = 0;
    switch (text.data[text.len - 1]) {
    case 'm': unit = MINUTE_MS; break;
    case 'h': unit = HOUR_MS; break;
    case 'd': unit = DAY_MS; break;
    default: return false;
    }
    if (!slice_to_u64(digits, &n) || n == 0 || n > EVERY_MAX) return false;
    *out = (int64_t)n * unit;
    return true;
}

static bool two_digits(const uint8_t *p, unsigned below, unsigned *out)
{
    if (p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9') return false;
    *out = (unsigned)(p[0] - '0') * 10 + (unsigned)(p[1] - '0');
    return *out < below;
}

static bool parse_time(struct slice text, int64_t *out)
{
    unsigned hours = 0;
    unsigned minutes = 0;
    if (text.len != 5 || text.data[2] != ':') return false;
    if (!two_digits(text.data, 24, &hours) || !two_digits(text.data + 3, 60, &minutes))
        return false;
    *out = (int64_t)hours * HOUR_MS + (int64_t)minutes * MINUTE_MS;
    return true;
}

enum err schedule_parse(struct slice text, struct schedule *out, struct error *e)
{
    struct schedule s = {0};
    bool is_every = slice_has_prefix(text, slice_str("every "));
    bool is_good = true;
    if (is_every) {
        struct slice rest = slice_of(text.data + 6, text.len - 6);
        is_good = parse_every(rest, &s.every_ms);
    }
    while (!is_every && is_good && text.len > 0) {
        struct slice word = slice_take(&text, ' ');
        if (word.len == 0) continue;
        is_good = s.count < SCHEDULE_TIMES_MAX && parse_time(word, &s.of_day_ms[s.count]);
        s.count++;
    }
    if (!is_good) return schedule_refuse(e);
    *out = s;
    return OK;
}

int64_t schedule_next(const struct schedule *s, int64_t after_ms)
{
    int64_t next = 0;
    if (s->every_ms > 0) return after_ms - after_ms % s->every_ms + s->every_ms;
    int64_t midnight = after_ms - after_ms % DAY_MS;
    for (size_t i = 0; i < s->count; i++) {
        int64_t at = midnight + s->of_day_ms[i];
        if (at <= after_ms) at += DAY_MS;
        if (next == 0 || at < next) next = at;
    }
    return next;
}
