/* bench: `tupledctl bench`, how fast the server does what is done every day. */
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "tool/bench_int.h"
#include "tool/commands.h"
#include "tool/output.h"

const struct tool_option bench_options[] = {
    {"--connections", 'c', "N", "connections at a time (default: 50)"},
    {"--pipeline", 'P', "N", "operations in flight on each connection (default: 1)"},
    {"--seconds", 's', "N", "seconds for each mix (default: 3)"},
    {"--requests", 'n', "N", "operations for each mix, instead of seconds"},
    {"--keys", 0, "N", "number of different keys (default: 10000)"},
    {"--size", 0, "N", "size of a value in bytes (default: 64)"},
    {.name = NULL},
};

static enum tool_status bench_read(struct bench *b)
{
    static const struct {
        const char *name;
        int64_t min, max;
        size_t offset;
    } numbers[] = {
        {"--connections", 1, 10000, offsetof(struct bench, connections)},
        {"--pipeline", 1, 10000, offsetof(struct bench, pipeline)},
        {"--seconds", 1, 86400, offsetof(struct bench, seconds)},
        {"--requests", 1, INT64_MAX, offsetof(struct bench, requests)},
        {"--keys", 1, 100000000, offsetof(struct bench, keys)},
        {"--size", 1, 8 << 20, offsetof(struct bench, value_bytes)},
    };
    b->connections = 50;
    b->pipeline = 1;
    b->seconds = 3;
    b->keys = 10000;
    b->value_bytes = 64;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int64_t *to = (int64_t *)(void *)((char *)b + numbers[i].offset);
        enum tool_status status = tool_number(b->tool, numbers[i].name, numbers[i].min,
                                              numbers[i].max, to);
        if (status != TOOL_DONE) return status;
    }
    return TOOL_DONE;
}

static const struct bench_mix *bench_find(const char *name)
{
    for (const struct bench_mix *m = bench_mixes; m->name != NULL; m++) {
        if (strcmp(m->name, name) == 0) return m;
    }
    return NULL;
}

/* Those that are named; all when none is. */
static bool bench_wants(const struct tool *t, const char *name)
{
    for (size_t i = 0; i < t->word_count; i++) {
        if (strcmp(t->words[i], name) == 0) return true;
    }
    return t->word_count == 0;
}

static enum tool_status bench_names(const struct tool *t)
{
    for (size_t i = 0; i < t->word_count; i++) {
        if (bench_find(t->words[i]) != NULL) continue;
        return tool_fail(TOOL_WORDS,
                         "unknown mix %s; the mixes are get, set, atomic, queue, list, watch, "
                         "plain-get, plain-set",
                         t->words[i]);
    }
    return TOOL_DONE;
}

static void bench_row(struct sheet *s, const struct bench_mix *mix, const struct bench_result *r)
{
    static const double percents[] = {50, 90, 99, 99.9};
    sheet_text(s, slice_str(mix->name));
    sheet_i64(s, (int64_t)r->done);
    sheet_double(s, r->took_us > 0 ? (double)r->done * 1e6 / (double)r->took_us : 0, 0);
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        uint64_t us = histogram_percentile(&r->times, percents[i]);
        /* The end of a bucket may lie after the longest that was seen. */
        if (us > (uint64_t)r->worst_us) us = (uint64_t)r->worst_us;
        sheet_double(s, (double)us / 1000, 3);
    }
    sheet_double(s, (double)r->worst_us / 1000, 3);
}

static enum tool_status bench_all(struct bench *b, struct wire *w, struct sheet *s)
{
    const struct tool *t = b->tool;
    struct bench_result *result = mem_new(sizeof *result);
    enum tool_status status = TOOL_DONE;
    bool is_filled = false;
    for (const struct bench_mix *m = bench_mixes; m->name != NULL && status == TOOL_DONE; m++) {
        if (!bench_wants(t, m->name)) continue;
        if (m->needs_keys && !is_filled) status = bench_fill(b, w);
        is_filled |= m->needs_keys;
        if (status == TOOL_DONE) status = bench_load(b, m, result);
        if (status == TOOL_DONE) bench_row(s, m, result);
        if (status == TOOL_DONE && result->was_stopped) {
            status = tool_fail(TOOL_NO, "interrupted");
        }
    }
    mem_free(result);
    return status;
}

static void bench_init(struct bench *b)
{
    uint32_t id = 0;
    sigset_t set;
    random_system(&id, sizeof id);
    snprintf(b->id, sizeof b->id, "%08x", id);
    rng_init(&b->rng, id);
    b->value = mem_alloc((size_t)b->value_bytes + 3);
    memset(b->value, 'x', (size_t)b->value_bytes + 2);
    b->value[0] = b->value[b->value_bytes + 1] = '"';
    b->value[b->value_bytes + 2] = '\0';
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    b->stop_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

enum tool_status bench_run(struct tool *t)
{
    static const char *const names[] = {"mix",    "operations", "per_second", "p50_ms", "p90_ms",
                                        "p99_ms", "p999_ms",    "max_ms",     NULL};
    struct bench b = {.tool = t};
    struct wire *w = NULL;
    struct sheet s;
    enum tool_status status = bench_names(t);
    if (status == TOOL_DONE) status = bench_read(&b);
    if (status != TOOL_DONE) return status;
    bench_init(&b);
    sheet_init(&s, names);
    status = tool_connect(t, &w);
    if (status == TOOL_DONE) {
        if (!t->is_quiet) {
            fprintf(stderr,
                    "bench: writes below [\"tupledctl-bench\",\"%s\"], to string keys and to a "
                    "queue that begin with tupledctl-bench, and deletes all of it at the end\n",
                    b.id);
        }
        status = bench_all(&b, w, &s);
        enum tool_status cleaned = bench_clean(&b, w);
        if (status == TOOL_DONE) status = cleaned;
        if (s.count > 0) sheet_print(&s, t->is_json);
    }
    sheet_fini(&s);
    wire_close(w);
    if (b.stop_fd >= 0) close(b.stop_fd);
    mem_free(b.value);
    return status;
}
