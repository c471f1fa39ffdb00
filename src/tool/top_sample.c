/* top_sample: takes a sample of INFO and the slow log, and works out figures from two of them:
 * rates from what has grown, the commands that ran in between, and the slowest entries of the slow
 * log. top.c draws them; JSON is written here. */
#include "tool/top_int.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tool/info.h"

#define TOP_ANSWER_US 10000000
#define TOP_WORDS_BYTES 200

void top_sample_fini(struct top_sample *s)
{
    for (int i = 0; i < TOP_REPLIES; i++) {
        if (s->replies[i] != NULL) freeReplyObject(s->replies[i]);
        s->replies[i] = NULL;
    }
}

/* Without INFO there is nothing to show; without the slow log there is. */
enum tool_status top_take(struct wire *w, struct top_sample *s)
{
    wire_append_text(w, TOOL_WORDS_OF("INFO"));
    wire_append_text(w, TOOL_WORDS_OF("INFO", "commandstats"));
    wire_append_text(w, TOOL_WORDS_OF("INFO", "latencystats"));
    wire_append_text(w, TOOL_WORDS_OF("SLOWLOG", "GET", "-1"));
    for (int i = 0; i < TOP_REPLIES; i++) {
        enum wire_event event = wire_next(w, clock_mono_us() + TOP_ANSWER_US, &s->replies[i]);
        if (event == WIRE_NOTHING) return tool_fail(TOOL_BROKEN, "no reply within 10 s");
        if (event != WIRE_REPLY) return tool_fail(TOOL_BROKEN, "%s", wire_why(w));
    }
    s->at_us = clock_mono_us();
    if (s->replies[TOP_INFO]->type == REDIS_REPLY_ERROR) return tool_refused(s->replies[TOP_INFO]);
    return TOOL_DONE;
}

static struct slice top_said(const struct top_sample *s, int which)
{
    return wire_is(s->replies[which], REDIS_REPLY_STRING) ? wire_slice(s->replies[which])
                                                          : slice_of("", 0);
}

static double top_seconds(const struct top_pair *p)
{
    int64_t us = p->now.at_us - p->before.at_us;
    return us > 0 ? (double)us / 1e6 : 1;
}

static struct slice top_value(struct top_pair *p, const struct top_sample *s, const char *name)
{
    struct slice out = slice_of("", 0);
    if (!info_text(top_said(s, TOP_INFO), name, &out)) p->missing = name;
    return out;
}

static int64_t top_number(struct top_pair *p, const struct top_sample *s, const char *name)
{
    int64_t value = 0;
    return slice_to_i64(top_value(p, s, name), &value) ? value : 0;
}

struct slice top_text(struct top_pair *p, const char *name)
{
    return top_value(p, &p->now, name);
}

int64_t top_now(struct top_pair *p, const char *name)
{
    return top_number(p, &p->now, name);
}

/* After CONFIG RESETSTAT a figure is smaller than before. */
double top_rate(struct top_pair *p, const char *name)
{
    int64_t grown = top_now(p, name) - top_number(p, &p->before, name);
    return grown > 0 ? (double)grown / top_seconds(p) : 0;
}

static double top_cpu_seconds(struct top_pair *p, const struct top_sample *s)
{
    static const char *const names[] = {"used_cpu_sys", "used_cpu_user"};
    double sum = 0;
    for (size_t i = 0; i < 2; i++) {
        char digits[64];
        struct slice text = top_value(p, s, names[i]);
        snprintf(digits, sizeof digits, "%.*s", (int)text.len, (const char *)text.data);
        sum += strtod(digits, NULL);
    }
    return sum;
}

double top_cpu_percent(struct top_pair *p)
{
    double used = top_cpu_seconds(p, &p->now) - top_cpu_seconds(p, &p->before);
    return used > 0 ? used / top_seconds(p) * 100 : 0;
}

double top_sync_ms(struct top_pair *p)
{
    double syncs = top_rate(p, "journal_syncs");
    double usec = top_rate(p, "journal_sync_usec");
    return syncs > 0 ? usec / syncs / 1000 : 0;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* "prefix" and the command's name, as names of INFO are. */
static bool top_of_command(struct slice info, const char *prefix, struct slice name,
                           struct slice *out)
{
    struct buf full;
    buf_init(&full);
    buf_append_str(&full, prefix);
    buf_append(&full, name.data, name.len);
    buf_append_byte(&full, '\0');
    buf_require(&full);
    bool is_there = info_text(info, (const char *)full.data, out);
    buf_fini(&full);
    return is_there;
}

static double top_field(struct slice value, const char *name)
{
    double out = 0;
    return info_field(value, name, &out) ? out : 0;
}

/* False when it did not run in between. */
static bool top_command_read(const struct top_pair *p, struct slice name, struct slice now,
                             struct top_command *out)
{
    struct slice before = slice_of("", 0);
    struct slice latency = slice_of("", 0);
    top_of_command(top_said(&p->before, TOP_COMMANDS), "cmdstat_", name, &before);
    top_of_command(top_said(&p->now, TOP_LATENCY), "latency_percentiles_usec_", name, &latency);
    double calls = top_field(now, "calls") - top_field(before, "calls");
    double usec = top_field(now, "usec") - top_field(before, "usec");
    double failed = top_field(now, "failed_calls") - top_field(before, "failed_calls") +
                    top_field(now, "rejected_calls") - top_field(before, "rejected_calls");
    if (calls <= 0 && failed <= 0) return false;
    *out = (struct top_command){.name = name,
                                .calls_per_second = calls / top_seconds(p),
                                .failed_per_second = failed / top_seconds(p),
                                .usec_per_call = calls > 0 ? usec / calls : 0,
                                .p50_us = top_field(latency, "p50"),
                                .p99_us = top_field(latency, "p99")};
    return true;
}

static int top_compare(const void *a, const void *b)
{
    const struct top_command *x = a;
    const struct top_command *y = b;
    if (x->calls_per_second != y->calls_per_second) {
        return x->calls_per_second < y->calls_per_second ? 1 : -1;
    }
    return slice_cmp(x->name, y->name);
}

size_t top_commands(const struct top_pair *p, struct top_command out[TOP_COMMANDS_MAX])
{
    struct slice rest = top_said(&p->now, TOP_COMMANDS);
    struct slice line;
    struct slice prefix = slice_str("cmdstat_");
    size_t count = 0;
    while (count < TOP_COMMANDS_MAX && info_line(&rest, &line)) {
        const uint8_t *colon = line.len > 0 ? memchr(line.data, ':', line.len) : NULL;
        if (colon == NULL || !slice_has_prefix(line, prefix)) continue;
        struct slice name = slice_of(line.data + prefix.len,
                                     (size_t)(colon - line.data) - prefix.len);
        struct slice value = slice_of(colon + 1, line.len - (size_t)(colon - line.data) - 1);
        if (top_command_read(p, name, value, &out[count])) count++;
    }
    qsort(out, count, sizeof *out, top_compare);
    return count;
}

/* ---- the slow log ---------------------------------------------------------------------------- */

static int64_t top_slow_us(const redisReply *entry)
{
    return wire_is_array(entry, 4) ? entry->element[2]->integer : 0;
}

bool top_slow(const struct top_pair *p, size_t nth, int64_t *us, struct buf *words)
{
    const redisReply *log = p->now.replies[TOP_SLOW];
    if (!wire_is_array(log, nth + 1)) return false;
    /* The entry that exactly `nth` others are before, by time taken and then by place. */
    for (size_t i = 0; i < log->elements; i++) {
        size_t before = 0;
        int64_t own = top_slow_us(log->element[i]);
        for (size_t k = 0; k < log->elements; k++) {
            int64_t other = top_slow_us(log->element[k]);
            before += other > own || (other == own && k < i);
        }
        if (before != nth || !wire_is_array(log->element[i], 4)) continue;
        const redisReply *argv = log->element[i]->element[3];
        *us = own;
        for (size_t k = 0; k < argv->elements && words->len < TOP_WORDS_BYTES; k++) {
            if (k > 0) buf_append_byte(words, ' ');
            text_clean(wire_slice(argv->element[k]), words);
        }
        buf_require(words);
        return true;
    }
    return false;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void top_json_figures(struct top_pair *p, struct json_out *j)
{
    static const char *const now[] = {"uptime_in_seconds", "connected_clients",
                                      "blocked_clients",   "watching_clients",
                                      "used_memory",       "used_memory_rss",
                                      "journal_bytes",     "journal_unsynced_transactions",
                                      "memtable_bytes",    "queue_ready",
                                      "queue_delayed",     "queue_leased",
                                      "queue_dead"};
    static const char *const rates[][2] = {{"commands_per_second", "total_commands_processed"},
                                           {"errors_per_second", "total_error_replies"},
                                           {"bytes_in_per_second", "total_net_input_bytes"},
                                           {"bytes_out_per_second", "total_net_output_bytes"},
                                           {"journal_syncs_per_second", "journal_syncs"},
                                           {"store_reads_per_second", "store_reads"},
                                           {"queue_enqueued_per_second", "queue_enqueued"},
                                           {"queue_delivered_per_second", "queue_delivered"},
                                           {"queue_acked_per_second", "queue_acked"}};
    for (size_t i = 0; i < sizeof now / sizeof now[0]; i++) {
        json_out_name(j, now[i]);
        json_out_i64(j, top_now(p, now[i]));
    }
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        json_out_name(j, rates[i][0]);
        json_out_double(j, top_rate(p, rates[i][1]), 1);
    }
    json_out_name(j, "cpu_percent");
    json_out_double(j, top_cpu_percent(p), 1);
    json_out_name(j, "journal_sync_ms");
    json_out_double(j, top_sync_ms(p), 3);
}

static void top_json_commands(const struct top_pair *p, struct json_out *j)
{
    struct top_command *commands = mem_new(TOP_COMMANDS_MAX * sizeof *commands);
    size_t count = top_commands(p, commands);
    json_out_name(j, "commands");
    json_out_open(j, '[');
    for (size_t i = 0; i < count; i++) {
        json_out_open(j, '{');
        json_out_name(j, "command");
        json_out_text(j, commands[i].name);
        json_out_name(j, "calls_per_second");
        json_out_double(j, commands[i].calls_per_second, 1);
        json_out_name(j, "failed_per_second");
        json_out_double(j, commands[i].failed_per_second, 1);
        json_out_name(j, "usec_per_call");
        json_out_double(j, commands[i].usec_per_call, 1);
        json_out_name(j, "p50_us");
        json_out_double(j, commands[i].p50_us, 1);
        json_out_name(j, "p99_us");
        json_out_double(j, commands[i].p99_us, 1);
        json_out_close(j, '}');
    }
    json_out_close(j, ']');
    mem_free(commands);
}

void top_json(struct top_pair *p)
{
    struct json_out j;
    struct buf words;
    int64_t us = 0;
    json_out_init(&j);
    buf_init(&words);
    json_out_open(&j, '{');
    json_out_name(&j, "version");
    json_out_text(&j, top_text(p, "tupled_version"));
    json_out_name(&j, "health");
    json_out_text(&j, top_text(p, "health"));
    top_json_figures(p, &j);
    top_json_commands(p, &j);
    json_out_name(&j, "slowest");
    json_out_open(&j, '[');
    for (size_t i = 0; i < TOP_SLOWEST && top_slow(p, i, &us, &words); i++) {
        json_out_open(&j, '{');
        json_out_name(&j, "us");
        json_out_i64(&j, us);
        json_out_name(&j, "words");
        json_out_text(&j, buf_slice(&words));
        json_out_close(&j, '}');
        buf_clear(&words, 4096);
    }
    json_out_close(&j, ']');
    json_out_close(&j, '}');
    json_out_print(&j);
    json_out_fini(&j);
    buf_fini(&words);
}
