/* config_get: the value of a setting as text, and as a line of a file. */
#include <inttypes.h>
#include <stdio.h>

#include "request/notify.h"
#include "server/setting.h"

void size_to_text(uint64_t bytes, char out[SIZE_TEXT_BYTES])
{
    static const char *const units[] = {"", "kb", "mb", "gb"};
    size_t unit = 0;
    while (unit < 3 && bytes > 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out, SIZE_TEXT_BYTES, "%" PRIu64 "%s", bytes, units[unit]);
}

/* ---- values to text -------------------------------------------------------------------------- */

static void get_share(const void *member, struct buf *out)
{
    int64_t n = 0;
    memcpy(&n, member, sizeof n);
    if (n >= 0) {
        buf_append_i64(out, n);
    } else if (-n % 10 == 0) {
        buf_printf(out, "%" PRId64 "%%", -n / 10);
    } else {
        buf_printf(out, "%" PRId64 ".%" PRId64 "%%", -n / 10, -n % 10);
    }
}

static void get_durability(const struct config *c, struct buf *out)
{
    switch (c->durability) {
    case CONFIG_DURABLE_ALWAYS: buf_append_str(out, "always"); return;
    case CONFIG_DURABLE_INTERVAL:
        buf_printf(out, "interval %" PRIu64, c->durability_interval_ms);
        return;
    case CONFIG_DURABLE_NEVER: buf_append_str(out, "never"); return;
    }
    die("unknown durability %d", (int)c->durability);
}

static void get_output_limit(const char *class, const struct config_output_limit *l,
                             struct buf *out)
{
    buf_printf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64, class, l->hard_bytes, l->soft_bytes,
               l->soft_s);
}

static void get_bind(const struct config *c, struct buf *out)
{
    for (size_t i = 0; i < c->bind_count; i++) {
        if (i > 0) buf_append_byte(out, ' ');
        buf_append_str(out, c->bind[i]);
    }
}

static void get_percentiles(const struct config *c, struct buf *out)
{
    for (size_t at = 0; at < c->percentiles.count; at++) {
        if (at > 0) buf_append_byte(out, ' ');
        percentile_format(c->percentiles.values[at], out);
    }
}

void config_get(const struct config *c, size_t i, struct buf *out)
{
    const struct setting *s = setting_at(i);
    const void *member = (const char *)c + s->offset;
    const char *text = NULL;
    uint64_t n = 0;
    int word = 0;
    switch (s->type) {
    case SETTING_NUMBER:
    case SETTING_SIZE:
        memcpy(&n, member, sizeof n);
        buf_append_u64(out, n);
        return;
    case SETTING_SIGNED:
        memcpy(&n, member, sizeof n);
        buf_append_i64(out, (int64_t)n);
        return;
    case SETTING_SHARE:
    case SETTING_MEMORY: get_share(member, out); return;
    case SETTING_OCTAL:
        memcpy(&n, member, sizeof n);
        buf_printf(out, "%" PRIo64, n);
        return;
    case SETTING_WORD:
        memcpy(&word, member, sizeof word);
        buf_append_str(out, s->words[word]);
        return;
    case SETTING_TEXT:
    case SETTING_SECRET:
    case SETTING_SCHEDULE:
        memcpy(&text, member, sizeof text);
        buf_append_str(out, text);
        return;
    case SETTING_EVENTS:
        memcpy(&n, member, sizeof n);
        notify_write(n, out);
        return;
    case SETTING_BIND: get_bind(c, out); return;
    case SETTING_OUTPUT_LIMIT:
        get_output_limit("normal", &c->output_normal, out);
        get_output_limit(" slave", &c->output_replica, out); /* as Redis 7.0 has it */
        get_output_limit(" pubsub", &c->output_pubsub, out);
        return;
    case SETTING_DURABILITY: get_durability(c, out); return;
    case SETTING_PERCENTILES: get_percentiles(c, out); return;
    }
    die("setting %s has no type", s->name);
}

/* ---- values to lines of a file --------------------------------------------------------------- */

/* In quotes when config_split would otherwise not give it back. */
static void append_word(struct buf *out, struct slice word)
{
    bool is_plain = word.len > 0;
    for (size_t i = 0; i < word.len; i++) {
        uint8_t c = word.data[i];
        is_plain = is_plain && c > ' ' && c != 0x7f && c != '"' && c != '\'';
    }
    buf_append_byte(out, ' ');
    if (is_plain) {
        buf_append(out, word.data, word.len);
        return;
    }
    buf_append_byte(out, '"');
    for (size_t i = 0; i < word.len; i++) {
        uint8_t c = word.data[i];
        if (c == '"' || c == '\\') buf_append_byte(out, '\\');
        if (c < ' ' || c == 0x7f) {
            buf_printf(out, "\\x%02x", c);
        } else {
            buf_append_byte(out, c);
        }
    }
    buf_append_byte(out, '"');
}

static void append_size(struct buf *out, uint64_t bytes)
{
    char text[32];
    size_to_text(bytes, text);
    append_word(out, slice_str(text));
}

static void append_output_limit(struct buf *out, const char *class,
                                const struct config_output_limit *l)
{
    append_word(out, slice_str(class));
    append_size(out, l->hard_bytes);
    append_size(out, l->soft_bytes);
    buf_printf(out, " %" PRIu64, l->soft_s);
}

/* What is shown as nothing is a word all the same. */
static void append_as_shown(const struct config *c, size_t i, struct buf *out)
{
    buf_append_byte(out, ' ');
    size_t before = out->len;
    config_get(c, i, out);
    if (out->len == before) buf_append_str(out, "\"\"");
}

void config_line(const struct config *c, size_t i, struct buf *out)
{
    const struct setting *s = setting_at(i);
    const void *member = (const char *)c + s->offset;
    uint64_t n = 0;
    const char *text = NULL;
    buf_append_str(out, s->name);
    switch (s->type) {
    case SETTING_SIZE:
        memcpy(&n, member, sizeof n);
        append_size(out, n);
        return;
    case SETTING_TEXT:
    case SETTING_SECRET:
    case SETTING_SCHEDULE:
        memcpy(&text, member, sizeof text);
        append_word(out, slice_str(text));
        return;
    case SETTING_BIND:
        for (size_t at = 0; at < c->bind_count; at++) append_word(out, slice_str(c->bind[at]));
        return;
    case SETTING_OUTPUT_LIMIT:
        append_output_limit(out, "normal", &c->output_normal);
        append_output_limit(out, "replica", &c->output_replica);
        append_output_limit(out, "pubsub", &c->output_pubsub);
        return;
    case SETTING_SHARE:
    case SETTING_MEMORY:
        memcpy(&n, member, sizeof n);
        if ((int64_t)n >= 0) {
            append_size(out, n);
            return;
        }
        buf_append_byte(out, ' ');
        get_share(member, out);
        return;
    case SETTING_NUMBER:
    case SETTING_SIGNED:
    case SETTING_OCTAL:
    case SETTING_WORD:
    case SETTING_EVENTS:
    case SETTING_DURABILITY:
    case SETTING_PERCENTILES: append_as_shown(c, i, out); return;
    }
    die("setting %s has no type", s->name);
}
