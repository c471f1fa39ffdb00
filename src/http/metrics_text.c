/* metrics_text: see metrics_text.h. HELP and TYPE of a family are written with its first sample. In
 * OpenMetrics they name it without _total and _info, and # EOF comes last. */
#include "http/metrics_text.h"

#include <inttypes.h>

/* Bounds of histograms, as OpenMetrics wants numbers written. What histogram_cumulate says of its
 * error is in docs/metrics.md. */
static const struct {
    uint64_t us;
    const char *text;
} bounds[] = {
    {50, "5e-05"},    {100, "0.0001"},    {250, "0.00025"}, {500, "0.0005"},  {1000, "0.001"},
    {2500, "0.0025"}, {5000, "0.005"},    {10000, "0.01"},  {25000, "0.025"}, {50000, "0.05"},
    {100000, "0.1"},  {250000, "0.25"},   {500000, "0.5"},  {1000000, "1.0"}, {2500000, "2.5"},
    {5000000, "5.0"}, {10000000, "10.0"},
};
#define BOUNDS (sizeof bounds / sizeof bounds[0])

/* ---- families ---- */

static const char *kind_word(const struct metrics_out *o)
{
    switch (o->family->kind) {
    case METRIC_COUNTER: return "counter";
    case METRIC_HISTOGRAM: return "histogram";
    case METRIC_INFO: return o->is_openmetrics ? "info" : "gauge";
    default: return "gauge";
    }
}

static const char *suffix(const struct metric *m)
{
    return m->kind == METRIC_COUNTER ? "_total" : m->kind == METRIC_INFO ? "_info" : "";
}

/* The unit that ends the name; NULL = it has none. */
static const char *unit_of(const struct metric *m)
{
    static const char *const units[] = {"seconds", "bytes", "ratio"};
    size_t len = strlen(m->name);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t unit_len = strlen(units[i]);
        if (len > unit_len && m->name[len - unit_len - 1] == '_' &&
            strcmp(m->name + len - unit_len, units[i]) == 0) {
            return units[i];
        }
    }
    return NULL;
}

/* Prometheus's own form knows a family by the name of its samples, OpenMetrics without what the
 * kind adds to it. */
static void write_head(struct metrics_out *o)
{
    const struct metric *m = o->family;
    const char *end = o->is_openmetrics ? "" : suffix(m);
    const char *unit = unit_of(m);
    buf_printf(o->buf, "# HELP %s%s %s\n# TYPE %s%s %s\n", m->name, end, m->help, m->name, end,
               kind_word(o));
    if (o->is_openmetrics && unit != NULL) buf_printf(o->buf, "# UNIT %s %s\n", m->name, unit);
    o->has_head = true;
}

void metrics_begin(struct metrics_out *o, const struct metric *m)
{
    o->family = m;
    o->has_head = false;
}

/* ---- samples ---- */

static void write_value(struct buf *out, struct slice value)
{
    for (size_t i = 0; i < value.len; i++) {
        switch (value.data[i]) {
        case '\\': buf_append_str(out, "\\\\"); break;
        case '"': buf_append_str(out, "\\\""); break;
        case '\n': buf_append_str(out, "\\n"); break;
        default: buf_append_byte(out, value.data[i]); break;
        }
    }
}

/* `le`: the bound of a bucket; NULL = it is none. */
static void write_name(struct metrics_out *o, const char *end, const struct metrics_label *labels,
                       size_t count, const char *le)
{
    struct buf *out = o->buf;
    if (!o->has_head) write_head(o);
    buf_append_str(out, o->family->name);
    buf_append_str(out, end);
    for (size_t i = 0; i < count; i++) {
        buf_append_byte(out, i == 0 ? '{' : ',');
        buf_append_str(out, labels[i].name);
        buf_append_str(out, "=\"");
        write_value(out, labels[i].value);
        buf_append_byte(out, '"');
    }
    if (le != NULL) buf_printf(out, "%cle=\"%s\"", count == 0 ? '{' : ',', le);
    if (count > 0 || le != NULL) buf_append_byte(out, '}');
    buf_append_byte(out, ' ');
}

void metrics_u64(struct metrics_out *o, const struct metrics_label *labels, size_t count,
                 uint64_t value)
{
    write_name(o, suffix(o->family), labels, count, NULL);
    buf_append_u64(o->buf, value);
    buf_append_byte(o->buf, '\n');
}

void metrics_milli(struct metrics_out *o, const struct metrics_label *labels, size_t count,
                   int64_t value)
{
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    write_name(o, suffix(o->family), labels, count, NULL);
    buf_printf(o->buf, "%s%" PRIu64 ".%03u\n", value < 0 ? "-" : "", size / 1000,
               (unsigned)(size % 1000));
}

static void write_micro(struct buf *out, uint64_t value)
{
    buf_printf(out, "%" PRIu64 ".%06u\n", value / 1000000, (unsigned)(value % 1000000));
}

void metrics_micro(struct metrics_out *o, const struct metrics_label *labels, size_t count,
                   uint64_t value)
{
    write_name(o, suffix(o->family), labels, count, NULL);
    write_micro(o->buf, value);
}

void metrics_histogram(struct metrics_out *o, const struct metrics_label *labels, size_t count,
                       const struct histogram *h)
{
    uint64_t bounds_us[BOUNDS];
    uint64_t seen[BOUNDS];
    for (size_t i = 0; i < BOUNDS; i++) bounds_us[i] = bounds[i].us;
    histogram_cumulate(h, bounds_us, BOUNDS, seen);
    for (size_t i = 0; i <= BOUNDS; i++) {
        write_name(o, "_bucket", labels, count, i < BOUNDS ? bounds[i].text : "+Inf");
        buf_append_u64(o->buf, i < BOUNDS ? seen[i] : h->total);
        buf_append_byte(o->buf, '\n');
    }
    write_name(o, "_sum", labels, count, NULL);
    write_micro(o->buf, h->sum_us);
    write_name(o, "_count", labels, count, NULL);
    buf_append_u64(o->buf, h->total);
    buf_append_byte(o->buf, '\n');
}

void metrics_one(struct metrics_out *o, const struct metric *m, uint64_t value)
{
    metrics_begin(o, m);
    metrics_u64(o, NULL, 0, value);
}

void metrics_end(struct metrics_out *o)
{
    if (o->is_openmetrics) buf_append_str(o->buf, "# EOF\n");
}
