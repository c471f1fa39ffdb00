/* stats: counts in rows by number (numbers.h), errors by code; rates are the mean of the last 16
 * samples. */
#include "request/stats.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "request/numbers.h"

#define RATE_SAMPLES 16

struct command_stats {
    struct command_count *rows; /* owned; by number (numbers.h) */
    uint64_t errors[ERR_COUNT]; /* by code */
    uint64_t rates[RATE_COUNT][RATE_SAMPLES];
    uint64_t totals[RATE_COUNT]; /* at the last sample */
    size_t rate_at;
    int64_t rate_us; /* of the last sample, monotonic; 0 = there was none */
};

struct command_stats *stats_new(void)
{
    struct command_stats *s = mem_new(sizeof *s);
    s->rows = mem_new(numbers_count() * sizeof s->rows[0]);
    for (size_t i = 0; i < numbers_count(); i++) {
        const struct numbered *n = numbers_at(i);
        s->rows[i] = (struct command_count){.command = n->command, .parent = n->parent};
    }
    return s;
}

void stats_free(struct command_stats *s)
{
    if (s == NULL) return;
    for (size_t i = 0; i < numbers_count(); i++) mem_free(s->rows[i].latency);
    mem_free(s->rows);
    mem_free(s);
}

static struct command_count *row_of(struct command_stats *s, const struct command *c)
{
    return &s->rows[number_of(c)];
}

void stats_add(struct env *env, const struct command *c, int64_t took_us, bool is_failed)
{
    struct command_count *row = row_of(env->command_stats, c);
    env->stats.commands++;
    row->calls++;
    row->usec += took_us > 0 ? (uint64_t)took_us : 0;
    row->failed += is_failed;
    if (!env->settings.tracks_latency) return;
    if (row->latency == NULL) row->latency = mem_new(sizeof *row->latency);
    histogram_add(row->latency, took_us);
}

void stats_reject(struct env *env, const struct command *c)
{
    row_of(env->command_stats, c)->rejected++;
}

void stats_error(struct env *env, enum err code)
{
    env->stats.errors++;
    env->command_stats->errors[code]++;
}

void stats_reset(struct env *env)
{
    struct command_stats *s = env->command_stats;
    for (size_t i = 0; i < numbers_count(); i++) {
        mem_free(s->rows[i].latency);
        s->rows[i] = (struct command_count){.command = s->rows[i].command,
                                            .parent = s->rows[i].parent};
    }
    memset(s->errors, 0, sizeof s->errors);
    memset(s->rates, 0, sizeof s->rates);
    memset(s->totals, 0, sizeof s->totals);
    env->stats = (struct env_stats){.expired_before = engine_expired_count(env->db->engine)};
}

/* ---- telling ---- */

size_t stats_count(const struct env *env)
{
    (void)env;
    return numbers_count();
}

const struct command_count *stats_at(const struct env *env, size_t i)
{
    return &env->command_stats->rows[i];
}

void stats_name(const struct command_count *row, char out[STATS_NAME_BYTES])
{
    snprintf(out, STATS_NAME_BYTES, "%s%s%s", row->parent != NULL ? row->parent->name : "",
             row->parent != NULL ? "|" : "", row->command->name);
}

uint64_t stats_errors(const struct env *env, enum err code)
{
    uint64_t count = 0;
    for (int i = OK + 1; i < ERR_COUNT; i++) {
        if (strcmp(err_prefix((enum err)i), err_prefix(code)) != 0) continue;
        if (i < (int)code) return 0;
        count += env->command_stats->errors[i];
    }
    return count;
}

/* ---- rates ---- */

void stats_tick(struct env *env)
{
    struct command_stats *s = env->command_stats;
    const uint64_t totals[RATE_COUNT] = {env->stats.commands, env->stats.net.in_bytes,
                                         env->stats.net.out_bytes};
    int64_t now_us = clock_mono_us();
    int64_t passed_us = now_us - s->rate_us;
    bool is_first = s->rate_us == 0;
    if (passed_us <= 0) return;
    for (int i = 0; i < RATE_COUNT; i++) {
        uint64_t grown = totals[i] - s->totals[i];
        s->totals[i] = totals[i];
        s->rates[i][s->rate_at] = is_first ? 0 : grown * 1000000 / (uint64_t)passed_us;
    }
    s->rate_at = (s->rate_at + 1) % RATE_SAMPLES;
    s->rate_us = now_us;
}

uint64_t stats_rate(const struct env *env, enum stats_rate rate)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < RATE_SAMPLES; i++) sum += env->command_stats->rates[rate][i];
    return sum / RATE_SAMPLES;
}
