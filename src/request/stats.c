#include "request/stats.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"

#define SLOTS 1024 /* power of two, several times the number of commands and subcommands */
#define RATE_SAMPLES 16

struct command_stats {
    struct command_count *rows; /* owned */
    size_t count;
    uint16_t slots[SLOTS];      /* by the command's address: row + 1, 0 = free */
    uint64_t errors[ERR_COUNT]; /* by code */
    uint64_t rates[RATE_COUNT][RATE_SAMPLES];
    uint64_t totals[RATE_COUNT]; /* at the last sample */
    size_t rate_at;
    int64_t rate_us; /* of the last sample, monotonic; 0 = there was none */
};

static size_t command_slot(const struct command *c)
{
    uint64_t h = (uint64_t)(uintptr_t)c * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 54); /* 10 bits, as SLOTS */
}

static void row_add(struct command_stats *s, const struct command *c, const struct command *parent)
{
    INVARIANT(s->count < SLOTS / 2);
    size_t i = command_slot(c);
    while (s->slots[i] != 0) {
        INVARIANT(s->rows[s->slots[i] - 1].command != c); /* each belongs to one container */
        i = (i + 1) % SLOTS;
    }
    s->rows[s->count] = (struct command_count){.command = c, .parent = parent};
    s->slots[i] = (uint16_t)++s->count;
}

struct command_stats *stats_new(void)
{
    struct command_stats *s = mem_new(sizeof *s);
    s->rows = mem_new(SLOTS / 2 * sizeof s->rows[0]);
    for (const struct command *const *c = command_table; *c != NULL; c++) {
        row_add(s, *c, NULL);
        const struct command *const *sub = (*c)->subcommands;
        if (((*c)->flags & CMD_ANY_WORD) != 0) continue;
        for (; sub != NULL && *sub != NULL; sub++) row_add(s, *sub, *c);
    }
    s->rows = mem_resize(s->rows, s->count * sizeof s->rows[0]);
    return s;
}

void stats_free(struct command_stats *s)
{
    if (s == NULL) return;
    for (size_t i = 0; i < s->count; i++) mem_free(s->rows[i].latency);
    mem_free(s->rows);
    mem_free(s);
}

/* The container that a subcommand without a row of its own is counted as. */
static const struct command *container_of(const struct command *c)
{
    for (const struct command *const *x = command_table; *x != NULL; x++) {
        const struct command *const *sub = (*x)->subcommands;
        for (; sub != NULL && *sub != NULL; sub++) {
            if (*sub == c) return *x;
        }
    }
    die("command %s is not in the table", c->name);
}

static struct command_count *row_find(struct command_stats *s, const struct command *c)
{
    for (size_t i = command_slot(c); s->slots[i] != 0; i = (i + 1) % SLOTS) {
        struct command_count *row = &s->rows[s->slots[i] - 1];
        if (row->command == c) return row;
    }
    return NULL;
}

static struct command_count *row_of(struct command_stats *s, const struct command *c)
{
    struct command_count *row = row_find(s, c);
    return row != NULL ? row : row_find(s, container_of(c));
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
    for (size_t i = 0; i < s->count; i++) {
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
    return env->command_stats->count;
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
        if (strcmp(err_prefix((enum err)i), err_prefix(code)) == 0) {
            count += env->command_stats->errors[i];
        }
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
