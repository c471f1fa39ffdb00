/* date: days since 1970 to year, month and day and back, in whole numbers; then the text and the
 * extension, both strict. */
#include "codec/date.h"

#include "base/bytes.h"
#include "codec/pack.h"

#define DAY_MS INT64_C(86400000)

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

/* Days since 1970-01-01 of a proleptic Gregorian date, after Howard Hinnant's days_from_civil:
 * years are counted from March, so that the leap day is the last one. */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day)
{
    if (month <= 2) year--;
    int64_t era = floor_div(year, 400);
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static void civil_from_days(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
    days += 719468;
    int64_t era = floor_div(days, 146097);
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
                           day_of_era / 146096) /
                          365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted = (5 * day_of_year + 2) / 153;
    *day = day_of_year - (153 * shifted + 2) / 5 + 1;
    *month = shifted + (shifted < 10 ? 3 : -9);
    *year = year_of_era + era * 400 + (*month <= 2 ? 1 : 0);
}

static char *put(char *to, int64_t value, int digits, char after)
{
    for (int i = digits - 1; i >= 0; i--, value /= 10) to[i] = (char)('0' + value % 10);
    to[digits] = after;
    return to + digits + 1;
}

size_t date_format(int64_t ms, char out[DATE_TEXT_BYTES])
{
    int64_t year = 0, month = 0, day = 0;
    int64_t days = floor_div(ms, DAY_MS);
    int64_t rest = ms - days * DAY_MS;
    civil_from_days(days, &year, &month, &day);
    char *to = out;
    bool is_long = year < 0 || year > 9999;
    if (is_long) *to++ = year < 0 ? '-' : '+';
    to = put(to, year < 0 ? -year : year, is_long ? 6 : 4, '-');
    to = put(to, month, 2, '-');
    to = put(to, day, 2, 'T');
    to = put(to, rest / 3600000, 2, ':');
    to = put(to, rest / 60000 % 60, 2, ':');
    to = put(to, rest / 1000 % 60, 2, '.');
    to = put(to, rest % 1000, 3, 'Z');
    return (size_t)(to - out);
}

/* `digits` digits and then the character `after`; -1 when they are not there. */
static int64_t get(struct slice *text, size_t digits, char after)
{
    if (text->len < digits + 1 || text->data[digits] != (uint8_t)after) return -1;
    int64_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (text->data[i] < '0' || text->data[i] > '9') return -1;
        value = value * 10 + (text->data[i] - '0');
    }
    *text = slice_of(text->data + digits + 1, text->len - digits - 1);
    return value;
}

bool date_parse(struct slice text, int64_t *ms)
{
    static const uint8_t month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    char sign = text.len > 0 && (text.data[0] == '+' || text.data[0] == '-') ? (char)text.data[0]
                                                                             : 0;
    if (sign != 0) text = slice_of(text.data + 1, text.len - 1);
    int64_t year = get(&text, sign != 0 ? 6 : 4, '-');
    int64_t month = get(&text, 2, '-');
    int64_t day = get(&text, 2, 'T');
    int64_t hour = get(&text, 2, ':');
    int64_t minute = get(&text, 2, ':');
    bool has_ms = text.len > 2 && text.data[2] == '.';
    int64_t second = get(&text, 2, has_ms ? '.' : 'Z');
    int64_t milli = has_ms ? get(&text, 3, 'Z') : 0;
    if (text.len != 0 || year < 0 || minute < 0 || second < 0 || milli < 0) return false;
    if (sign == '-' && year == 0) return false;
    if (sign == '-') year = -year;
    if (month < 1 || month > 12 || day < 1 || hour < 0 || hour > 23) return false;
    if (minute > 59 || second > 59) return false;
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (day > month_days[month - 1] + (is_leap && month == 2 ? 1 : 0)) return false;
    *ms = days_from_civil(year, month, day) * DAY_MS + hour * 3600000 + minute * 60000 +
          second * 1000 + milli;
    return *ms >= -DATE_MS_MAX && *ms <= DATE_MS_MAX;
}

bool date_from_ext(struct slice body, int64_t *ms, bool *is_invalid)
{
    *is_invalid = body.len == 1 && body.data[0] == 0xff;
    *ms = 0;
    if (*is_invalid) return true;
    int64_t seconds = 0;
    uint64_t nanos = 0;
    if (body.len == 4) {
        seconds = (int64_t)get_uint(body.data, 4);
    } else if (body.len == 8) {
        uint64_t both = get_uint(body.data, 8);
        nanos = both >> 34;
        seconds = (int64_t)(both & ((UINT64_C(1) << 34) - 1));
    } else if (body.len == 12) {
        nanos = get_uint(body.data, 4);
        seconds = (int64_t)get_uint(body.data + 4, 8);
    } else {
        return false;
    }
    if (nanos > 999999999) return false;
    if (seconds < -DATE_MS_MAX / 1000 || seconds > DATE_MS_MAX / 1000) return false;
    *ms = seconds * 1000 + (int64_t)(nanos / 1000000);
    return *ms <= DATE_MS_MAX;
}

void date_to_ext(int64_t ms, struct buf *out)
{
    int64_t seconds = floor_div(ms, 1000);
    uint64_t nanos = (uint64_t)(ms - seconds * 1000) * 1000000;
    uint8_t body[12];
    size_t len = 12;
    uint64_t low = (uint64_t)seconds;
    if (seconds >= 0 && nanos == 0 && low <= UINT32_MAX) {
        len = 4;
    } else if (seconds >= 0 && low >> 34 == 0) {
        low |= nanos << 34;
        len = 8;
    }
    size_t tail = len < 8 ? len : 8;
    for (size_t i = 0; i < tail; i++) body[len - 1 - i] = (uint8_t)(low >> (8 * i));
    for (size_t i = 0; i < len - tail; i++) body[3 - i] = (uint8_t)(nanos >> (8 * i));
    pack_ext(out, -1, slice_of(body, len));
}
