/* slowlog: SLOWLOG, and the commands it keeps: those that took slowlog-log-slower-than or longer,
 * the newest slowlog-max-len of them. Long commands are cut as in Redis: 32 words of 128 bytes,
 * with a note of what is missing.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "request/feature.h"
#include "request/observe.h"
#include "request/shapes.h"
#include "request/table.h"

#define WORDS_MAX 32
#define WORD_BYTES_MAX 128
#define SHOWN_DEFAULT 10

struct slowlog_entry {
    struct slowlog_entry *next; /* older; NULL = the oldest */
    struct slowlog_entry *prev; /* newer; NULL = the newest */
    uint64_t id;
    int64_t time_s; /* wall clock */
    int64_t took_us;
    char address[LINK_ADDRESS_MAX];
    char name[CLIENT_NAME_MAX];
    size_t count;
    struct slice words[WORDS_MAX]; /* in bytes */
    uint8_t bytes[];
};

struct slowlog {
    struct slowlog_entry *newest, *oldest; /* owned */
    size_t count;
    uint64_t next_id;
};

static void slowlog_open(struct env *env)
{
    env->families.slowlog = mem_new(sizeof(struct slowlog));
}

static void drop_oldest(struct slowlog *l)
{
    struct slowlog_entry *oldest = l->oldest;
    INVARIANT(oldest != NULL);
    l->oldest = oldest->prev;
    if (l->oldest != NULL) {
        l->oldest->next = NULL;
    } else {
        l->newest = NULL;
    }
    l->count--;
    mem_free(oldest);
}

static void slowlog_close(struct env *env)
{
    struct slowlog *l = env->families.slowlog;
    while (l->count > 0) drop_oldest(l);
    mem_free(l);
    env->families.slowlog = NULL;
}

/* Appends the i-th word as it is kept. */
static void append_word(const struct request *rq, size_t i, struct buf *out)
{
    struct slice word = observe_word(rq, i);
    if (i == WORDS_MAX - 1 && rq->argc > WORDS_MAX) {
        buf_printf(out, "... (%zu more arguments)", rq->argc - i);
    } else if (word.len > WORD_BYTES_MAX) {
        buf_append(out, word.data, WORD_BYTES_MAX);
        buf_printf(out, "... (%zu more bytes)", word.len - WORD_BYTES_MAX);
    } else {
        buf_append(out, word.data, word.len);
    }
}

/* Keeps the command if it took as long as the settings say. */
static void slowlog_add(struct request *rq, int64_t took_us)
{
    struct env *env = rq->env;
    struct slowlog *l = env->families.slowlog;
    size_t ends[WORDS_MAX];
    size_t count = rq->argc < WORDS_MAX ? rq->argc : WORDS_MAX;
    if (env->settings.slowlog_max == 0 || env->settings.slowlog_slower_than_us < 0) return;
    if (took_us < env->settings.slowlog_slower_than_us) return;
    buf_clear(rq->scratch, SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        append_word(rq, i, rq->scratch);
        ends[i] = rq->scratch->len;
    }
    buf_require(rq->scratch);
    struct slowlog_entry *e = mem_alloc(sizeof *e + rq->scratch->len);
    e->id = l->next_id++;
    e->time_s = clock_wall_ms() / 1000;
    e->took_us = took_us;
    memcpy(e->address, rq->client->link->address, sizeof e->address);
    memcpy(e->name, rq->client->settings.name, sizeof e->name);
    e->count = count;
    bytes_copy(e->bytes, rq->scratch->data, rq->scratch->len);
    for (size_t i = 0; i < count; i++) {
        size_t start = i == 0 ? 0 : ends[i - 1];
        e->words[i] = slice_of(e->bytes + start, ends[i] - start);
    }
    e->prev = NULL;
    e->next = l->newest;
    if (l->newest != NULL) {
        l->newest->prev = e;
    } else {
        l->oldest = e;
    }
    l->newest = e;
    l->count++;
    while (l->count > env->settings.slowlog_max) drop_oldest(l);
}

const struct feature slowlog_feature = {
    .open = slowlog_open,
    .close = slowlog_close,
    .command_done = slowlog_add,
};

/* ---- SLOWLOG ---- */

struct get {
    int64_t count; /* -1 = all */
};
ARGUMENTS(get_arguments, struct get, "[count]",
          ARG_INTEGER_OR(struct get, count, "count", -1, INT64_MAX, SHOWN_DEFAULT,
                         "count should be greater than or equal to -1"));

static enum err get_run(struct request *rq)
{
    const struct slowlog *l = rq->env->families.slowlog;
    int64_t wanted = ((const struct get *)rq->bound)->count;
    size_t count = l->count;
    if (wanted >= 0 && (uint64_t)wanted < count) count = (size_t)wanted;
    resp_array(rq->w, count);
    const struct slowlog_entry *e = l->newest;
    for (size_t i = 0; i < count; i++, e = e->next) {
        resp_array(rq->w, 6);
        resp_int(rq->w, (int64_t)e->id);
        resp_int(rq->w, e->time_s);
        resp_int(rq->w, e->took_us);
        resp_array(rq->w, e->count);
        for (size_t k = 0; k < e->count; k++) resp_bulk(rq->w, e->words[k]);
        resp_bulk_str(rq->w, e->address);
        resp_bulk_str(rq->w, e->name);
    }
    return OK;
}

static enum err len_run(struct request *rq)
{
    resp_int(rq->w, (int64_t)rq->env->families.slowlog->count);
    return OK;
}

static enum err reset_run(struct request *rq)
{
    struct slowlog *l = rq->env->families.slowlog;
    while (l->count > 0) drop_oldest(l);
    resp_simple(rq->w, "OK");
    return OK;
}

#define SLOWLOG_SUB(word, more, text, of)                                                          \
    static const struct command sub_##word = {                                                     \
        .name = #word,                                                                             \
        .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_ALL_KEYS | (more),                                \
        .is_own = true,                                                                            \
        .group = "server",                                                                         \
        .summary = text,                                                                           \
        .arguments = &(of),                                                                        \
        .run = word##_run,                                                                         \
    }

SLOWLOG_SUB(get, 0,
            "Returns the newest entries of the slow log, 10 unless a count is given; -1 means all.",
            get_arguments);
SLOWLOG_SUB(len, 0, "Returns the number of entries in the slow log.", no_arguments);
SLOWLOG_SUB(reset, CMD_NO_MULTI, "Clears the slow log.", no_arguments);
COMMAND_HELP("server", 0);

static const struct command *const slowlog_subcommands[] = {&sub_get, &sub_help, &sub_len,
                                                            &sub_reset, NULL};

const struct command cmd_slowlog = {
    .name = "slowlog",
    .group = "server",
    .summary = "A container for commands about the slow log.",
    .arguments = &container_arguments,
    .subcommands = slowlog_subcommands,
};
