/* latency: the latency monitor and LATENCY. What lasts latency-monitor-threshold milliseconds or
 * longer is kept by event: commands, those marked fast, whole turns of the loop. Of each event 160
 * samples, one per second at most: the worst of that second.
 */
#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "request/command.h"
#include "request/feature.h"
#include "request/observe.h"
#include "request/shapes.h"
#include "request/table.h"

#define SAMPLES 160
#define GRAPH_COLUMNS 60

struct sample {
    int64_t time_s; /* wall clock */
    uint64_t ms;
};

enum latency_event { LATENCY_COMMAND, LATENCY_FAST_COMMAND, LATENCY_LOOP_TURN, LATENCY_EVENTS };

struct series {
    struct sample samples[SAMPLES]; /* ring; the newest before `at` */
    size_t at, count;
    uint64_t ms_max; /* since the start or the last reset */
};

struct latency {
    struct series series[LATENCY_EVENTS];
};

static const char *const event_names[LATENCY_EVENTS] = {
    [LATENCY_COMMAND] = "command",
    [LATENCY_FAST_COMMAND] = "fast-command",
    [LATENCY_LOOP_TURN] = "loop-turn",
};

static void latency_open(struct env *env)
{
    env->families.latency = mem_new(sizeof(struct latency));
}

static void latency_close(struct env *env)
{
    mem_free(env->families.latency);
    env->families.latency = NULL;
}

/* The i-th oldest. */
static struct sample *sample_at(struct series *s, size_t i)
{
    return &s->samples[(s->at + SAMPLES - s->count + i) % SAMPLES];
}

/* Keeps it if it is as long as the settings say. */
static void latency_add(struct env *env, enum latency_event event, int64_t took_us)
{
    uint64_t ms = took_us > 0 ? (uint64_t)took_us / 1000 : 0;
    struct series *s = &env->families.latency->series[event];
    if (ms < env->settings.latency_threshold_ms) return;
    int64_t now_s = clock_wall_ms() / 1000;
    if (ms > s->ms_max) s->ms_max = ms;
    if (s->count > 0) {
        struct sample *newest = sample_at(s, s->count - 1);
        if (newest->time_s == now_s) {
            if (ms > newest->ms) newest->ms = ms;
            return;
        }
    }
    s->samples[s->at] = (struct sample){.time_s = now_s, .ms = ms};
    s->at = (s->at + 1) % SAMPLES;
    if (s->count < SAMPLES) s->count++;
}

static void latency_command(struct request *rq, int64_t took_us)
{
    bool is_fast = (rq->command->flags & CMD_FAST) != 0;
    if (rq->env->settings.latency_threshold_ms == 0) return;
    latency_add(rq->env, is_fast ? LATENCY_FAST_COMMAND : LATENCY_COMMAND, took_us);
}

static void latency_turn(struct env *env, int64_t took_us)
{
    latency_add(env, LATENCY_LOOP_TURN, took_us);
}

const struct feature latency_feature = {
    .open = latency_open,
    .close = latency_close,
    .command_done = latency_command,
    .turn_was_long = latency_turn,
};

/* NULL when there is no such event or it has no samples. */
static struct series *find_series(struct request *rq, struct slice name)
{
    for (size_t i = 0; i < LATENCY_EVENTS; i++) {
        struct series *s = &rq->env->families.latency->series[i];
        if (slice_eq(name, slice_str(event_names[i]))) return s->count > 0 ? s : NULL;
    }
    return NULL;
}

/* ---- LATENCY ---- */

static enum err latest_run(struct request *rq)
{
    struct series *all = rq->env->families.latency->series;
    size_t count = 0;
    for (size_t i = 0; i < LATENCY_EVENTS; i++) count += all[i].count > 0;
    resp_array(rq->w, count);
    for (size_t i = 0; i < LATENCY_EVENTS; i++) {
        if (all[i].count == 0) continue;
        const struct sample *newest = sample_at(&all[i], all[i].count - 1);
        resp_array(rq->w, 4);
        resp_bulk_str(rq->w, event_names[i]);
        resp_int(rq->w, newest->time_s);
        resp_int(rq->w, (int64_t)newest->ms);
        resp_int(rq->w, (int64_t)all[i].ms_max);
    }
    return OK;
}

ARGUMENTS(event_arguments, struct one_word, "event", ARG_WORD(struct one_word, word, "event"));

static enum err history_run(struct request *rq)
{
    struct series *s = find_series(rq, ((const struct one_word *)rq->bound)->word);
    size_t count = s == NULL ? 0 : s->count;
    resp_array(rq->w, count);
    for (size_t i = 0; i < count; i++) {
        const struct sample *sample = sample_at(s, i);
        resp_array(rq->w, 2);
        resp_int(rq->w, sample->time_s);
        resp_int(rq->w, (int64_t)sample->ms);
    }
    return OK;
}

ARGUMENTS(reset_arguments, struct many_words, "[event ...]",
          ARG_WORDS(struct many_words, words, "event"));

static enum err reset_run(struct request *rq)
{
    const struct slices *events = &((const struct many_words *)rq->bound)->words;
    int64_t count = 0;
    for (size_t i = 0; events->count == 0 && i < LATENCY_EVENTS; i++) {
        struct series *s = &rq->env->families.latency->series[i];
        count += s->count > 0;
        *s = (struct series){0};
    }
    for (size_t i = 0; i < events->count; i++) {
        struct series *s = find_series(rq, events->items[i]);
        if (s == NULL) continue;
        count++;
        *s = (struct series){0};
    }
    resp_int(rq->w, count);
    return OK;
}

static void describe(struct series *s, const char *name, struct buf *out)
{
    double sum = 0;
    double deviations = 0;
    uint64_t worst = 0;
    for (size_t i = 0; i < s->count; i++) {
        uint64_t ms = sample_at(s, i)->ms;
        sum += (double)ms;
        if (ms > worst) worst = ms;
    }
    double mean = sum / (double)s->count;
    for (size_t i = 0; i < s->count; i++) deviations += fabs((double)sample_at(s, i)->ms - mean);
    int64_t span_s = sample_at(s, s->count - 1)->time_s - sample_at(s, 0)->time_s;
    buf_printf(out,
               "%s: %zu latency spikes in %lld seconds, average %.0f ms (mean deviation %.0f ms), "
               "worst of these %llu ms, worst ever %llu ms.\n",
               name, s->count, (long long)span_s, mean, deviations / (double)s->count,
               (unsigned long long)worst, (unsigned long long)s->ms_max);
}

static void advise(const struct series *all, struct buf *out)
{
    if (all[LATENCY_COMMAND].count > 0) {
        buf_append_str(out, "Commands without the flag `fast` were slow; SLOWLOG GET lists them. "
                            "Request smaller pages and transactions.\n");
    }
    if (all[LATENCY_FAST_COMMAND].count > 0) {
        buf_append_str(out, "Even commands with the flag `fast` were slow: values are large, or "
                            "the machine is overloaded or swapping.\n");
    }
    if (all[LATENCY_LOOP_TURN].count > 0) {
        buf_append_str(out, "Whole turns of the event loop were slow, so that no client was "
                            "served meanwhile. If no single command was, there were many of them "
                            "at a time.\n");
    }
}

static enum err doctor_run(struct request *rq)
{
    struct series *all = rq->env->families.latency->series;
    struct buf *out = rq->scratch;
    bool is_empty = true;
    buf_clear(out, SIZE_MAX);
    for (size_t i = 0; i < LATENCY_EVENTS; i++) {
        if (all[i].count == 0) continue;
        is_empty = false;
        describe(&all[i], event_names[i], out);
    }
    advise(all, out);
    if (rq->env->settings.latency_threshold_ms == 0) {
        buf_append_str(out, "The latency monitor is off. CONFIG SET latency-monitor-threshold "
                            "<milliseconds> turns it on.\n");
    } else if (is_empty) {
        buf_printf(out, "No event took %llu ms or longer since the start or the last reset.\n",
                   (unsigned long long)rq->env->settings.latency_threshold_ms);
    }
    resp_text(rq->w, buf_slice(out));
    return OK;
}

static enum err graph_run(struct request *rq)
{
    struct slice event = ((const struct one_word *)rq->bound)->word;
    struct series *s = find_series(rq, event);
    struct buf *out = rq->scratch;
    int64_t now_s = clock_wall_ms() / 1000;
    uint64_t high = 0;
    uint64_t low = UINT64_MAX;
    if (s == NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "No samples available for event '%.*s'",
                         (int)(event.len < 64 ? event.len : 64), (const char *)event.data);
    }
    for (size_t i = 0; i < s->count; i++) {
        if (sample_at(s, i)->ms > high) high = sample_at(s, i)->ms;
        if (sample_at(s, i)->ms < low) low = sample_at(s, i)->ms;
    }
    buf_clear(out, SIZE_MAX);
    buf_printf(out, "%.*s - high %llu ms, low %llu ms (all time high %llu ms)\n", (int)event.len,
               (const char *)event.data, (unsigned long long)high, (unsigned long long)low,
               (unsigned long long)s->ms_max);
    for (size_t i = 0; i < s->count; i++) {
        const struct sample *sample = sample_at(s, i);
        uint64_t columns = high == 0 ? 0 : sample->ms * GRAPH_COLUMNS / high;
        buf_printf(out, "%8lld s ago |", (long long)(now_s - sample->time_s));
        for (uint64_t k = 0; k < columns; k++) buf_append_byte(out, '#');
        buf_printf(out, " %llu\n", (unsigned long long)sample->ms);
    }
    resp_text(rq->w, buf_slice(out));
    return OK;
}

/* ---- HISTOGRAM ---- */

/* Pairs of "at most so many us" and how many, where there were more than at half of it. */
static void reply_buckets(struct resp_writer *w, const struct histogram *h)
{
    size_t count = 0;
    uint64_t before = 0;
    for (unsigned power = 0; power < HISTOGRAM_POWERS; power++) {
        uint64_t seen = histogram_count_to(h, UINT64_C(1) << power);
        count += seen > before;
        before = seen;
    }
    count += h->total > before;
    before = 0;
    resp_map(w, count);
    for (unsigned power = 0; power <= HISTOGRAM_POWERS; power++) {
        uint64_t us = UINT64_C(1) << power;
        uint64_t seen = power < HISTOGRAM_POWERS ? histogram_count_to(h, us) : h->total;
        if (seen == before) continue;
        resp_int(w, (int64_t)us);
        resp_int(w, (int64_t)seen);
        before = seen;
    }
}

/* Rows that have a histogram and are asked for: all, or those named, in any case; a container's
 * name means all of its subcommands. */
static bool *asked_rows(struct request *rq, const struct slices *names, size_t *count)
{
    const struct env *env = rq->env;
    size_t rows = stats_count(env);
    bool *asked = arena_alloc(rq->arena, rows * sizeof *asked);
    for (size_t i = 0; i < rows; i++) asked[i] = names->count == 0;
    for (size_t k = 0; k < names->count; k++) {
        const struct command *parent = NULL;
        const struct command *c = command_find_full(names->items[k], &parent);
        for (size_t i = 0; c != NULL && i < rows; i++) {
            const struct command_count *row = stats_at(env, i);
            asked[i] = asked[i] || row->command == c || row->parent == c;
        }
    }
    *count = 0;
    for (size_t i = 0; i < rows; i++) {
        asked[i] = asked[i] && stats_at(env, i)->latency != NULL;
        *count += asked[i];
    }
    return asked;
}

ARGUMENTS(histogram_arguments, struct many_words, "[command ...]",
          ARG_WORDS(struct many_words, words, "command"));

static enum err histogram_run(struct request *rq)
{
    const struct many_words *a = rq->bound;
    const struct env *env = rq->env;
    size_t count = 0;
    const bool *asked = asked_rows(rq, &a->words, &count);
    resp_map(rq->w, count);
    for (size_t i = 0; i < stats_count(env); i++) {
        const struct command_count *row = stats_at(env, i);
        char name[STATS_NAME_BYTES];
        if (!asked[i]) continue;
        stats_name(row, name);
        resp_bulk_str(rq->w, name);
        resp_map(rq->w, 2);
        resp_bulk_str(rq->w, "calls");
        resp_int(rq->w, (int64_t)row->latency->total);
        resp_bulk_str(rq->w, "histogram_usec");
        reply_buckets(rq->w, row->latency);
    }
    return OK;
}

#define LATENCY_SUB(word, more, text, of)                                                          \
    static const struct command sub_##word = {                                                     \
        .name = #word,                                                                             \
        .flags = CMD_ADMIN | CMD_DANGEROUS | (more),                                               \
        .is_own = true,                                                                            \
        .group = "server",                                                                         \
        .summary = text,                                                                           \
        .arguments = &(of),                                                                        \
        .run = word##_run,                                                                         \
    }

LATENCY_SUB(doctor, 0, "Returns a report of the latency monitor in prose.", no_arguments);
LATENCY_SUB(graph, 0, "Returns the samples of an event as an ASCII graph.", event_arguments);
LATENCY_SUB(histogram, 0,
            "Returns cumulative histograms of the latency of commands, in microseconds.",
            histogram_arguments);
LATENCY_SUB(history, 0, "Returns the samples of an event: time and milliseconds.", event_arguments);
LATENCY_SUB(latest, 0, "Returns the newest and the worst sample of each event.", no_arguments);
LATENCY_SUB(reset, CMD_NO_MULTI, "Resets the samples of some or all events.", reset_arguments);
COMMAND_HELP("server", 0);

static const struct command *const latency_subcommands[] = {
    &sub_doctor, &sub_graph, &sub_help, &sub_histogram, &sub_history, &sub_latest, &sub_reset, NULL,
};

const struct command cmd_latency = {
    .name = "latency",
    .group = "server",
    .summary = "A container for commands about latency.",
    .arguments = &container_arguments,
    .subcommands = latency_subcommands,
};
