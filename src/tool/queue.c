/* queue: `tupledctl queue` and `tupledctl dlq`, dead letters. */
#include <stdio.h>

#include "base/clock.h"
#include "tool/commands.h"
#include "tool/output.h"
#include "tool/wire_map.h"

const struct tool_option queue_options[] = {
    {"--count", 0, "N", "peek: number of messages (default: 10)"},
    {.name = NULL},
};

const struct tool_command queue_actions[] = {
    {.name = "list",
     .synopsis = "",
     .summary = "list the queues of the database with their statistics",
     .run = queue_list_run},
    {.name = "show",
     .synopsis = "NAME",
     .summary = "show the statistics of a queue",
     .words_min = 1,
     .words_max = 1,
     .run = queue_show_run},
    {.name = "peek",
     .synopsis = "NAME",
     .summary = "show the next messages without leasing them",
     .words_min = 1,
     .words_max = 1,
     .run = queue_peek_run},
    {.name = "release",
     .synopsis = "NAME ID",
     .summary = "end the lease of a message; it is redelivered after its backoff",
     .words_min = 2,
     .words_max = 2,
     .run = queue_release_run},
    {.name = "remove",
     .synopsis = "NAME ID",
     .summary = "acknowledge a leased message, which removes it; asks for confirmation",
     .words_min = 2,
     .words_max = 2,
     .run = queue_release_run},
    {.name = "purge",
     .synopsis = "NAME",
     .summary = "remove all messages, but no dead letters; asks for confirmation",
     .words_min = 1,
     .words_max = 1,
     .run = queue_purge_run},
    {.name = NULL},
};

/* ---- figures --------------------------------------------------------------------------------- */

static const char *const queue_asked[] = {"ready",    "delayed",   "leased", "dead",   "oldest-ms",
                                          "enqueued", "delivered", "acked",  "nacked", "expired"};

#define QUEUE_FIGURES (sizeof queue_asked / sizeof queue_asked[0])

static enum tool_status queue_rows(struct wire *w, const redisReply *list, struct sheet *s)
{
    redisReply *stats = NULL;
    for (size_t i = 0; i < list->elements; i++) {
        struct slice words[3] = {slice_str("KV.QUEUE"), slice_str("STATS"),
                                 wire_slice(list->element[i])};
        wire_append(w, 3, words);
    }
    for (size_t i = 0; i < list->elements; i++) {
        if (wire_next(w, -1, &stats) != WIRE_REPLY) {
            return tool_fail(TOOL_BROKEN, "%s", wire_why(w));
        }
        enum tool_status status = stats->type == REDIS_REPLY_ERROR ? tool_refused(stats)
                                                                   : TOOL_DONE;
        if (status == TOOL_DONE) sheet_text(s, wire_slice(list->element[i]));
        for (size_t k = 0; status == TOOL_DONE && k < QUEUE_FIGURES; k++) {
            sheet_i64(s, wire_map_i64(stats, queue_asked[k]));
        }
        freeReplyObject(stats);
        if (status != TOOL_DONE) return status;
    }
    return TOOL_DONE;
}

enum tool_status queue_list_run(struct tool *t)
{
    static const char *const names[] = {"queue", "ready",     "delayed",  "leased",
                                        "dead",  "oldest_ms", "enqueued", "delivered",
                                        "acked", "nacked",    "expired",  NULL};
    struct wire *w = NULL;
    redisReply *list = NULL;
    struct sheet s;
    sheet_init(&s, names);
    enum tool_status status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = tool_ask(w, TOOL_WORDS_OF("KV.QUEUE", "LIST"), &list);
    if (status == TOOL_DONE && !wire_is_array(list, 0)) status = tool_strange("KV.QUEUE LIST");
    if (status == TOOL_DONE) status = queue_rows(w, list, &s);
    if (status == TOOL_DONE) sheet_print(&s, t->is_json);
    if (list != NULL) freeReplyObject(list);
    sheet_fini(&s);
    wire_close(w);
    return status;
}

/* A queue that was never used has figures too, all 0: then it is not in the list. */
static enum tool_status queue_is_there(struct wire *w, const char *name)
{
    redisReply *list = NULL;
    bool is_there = false;
    enum tool_status status = tool_ask(w, TOOL_WORDS_OF("KV.QUEUE", "LIST"), &list);
    if (status != TOOL_DONE) return status;
    for (size_t i = 0; i < list->elements && !is_there; i++) {
        is_there = slice_eq(wire_slice(list->element[i]), slice_str(name));
    }
    freeReplyObject(list);
    return is_there ? TOOL_DONE
                    : tool_fail(TOOL_NO, "the queue %s does not exist in this database", name);
}

enum tool_status queue_show_run(struct tool *t)
{
    struct wire *w = NULL;
    redisReply *stats = NULL;
    enum tool_status status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = queue_is_there(w, t->words[0]);
    if (status == TOOL_DONE) {
        status = tool_ask(w, TOOL_WORDS_OF("KV.QUEUE", "STATS", t->words[0]), &stats);
    }
    if (status == TOOL_DONE && !wire_is_array(stats, 0)) status = tool_strange("KV.QUEUE STATS");
    if (status == TOOL_DONE) wire_map_print(t, stats);
    if (stats != NULL) freeReplyObject(stats);
    wire_close(w);
    return status;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void queue_time(struct sheet *s, const redisReply *ms)
{
    char text[CLOCK_UTC_BYTES];
    clock_format_utc(ms->integer, text);
    sheet_text(s, slice_str(text));
}

enum tool_status queue_peek_run(struct tool *t)
{
    static const char *const names[] = {"id", "attempts", "due", "value", NULL};
    struct wire *w = NULL;
    redisReply *list = NULL;
    struct sheet s;
    char count_text[32];
    int64_t count = 10;
    enum tool_status status = tool_number(t, "--count", 1, 1000, &count);
    if (status != TOOL_DONE) return status;
    snprintf(count_text, sizeof count_text, "%lld", (long long)count);
    sheet_init(&s, names);
    status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = queue_is_there(w, t->words[0]);
    if (status == TOOL_DONE) {
        status = tool_ask(
            w,
            TOOL_WORDS_OF("KV.QUEUE", "PEEK", t->words[0], "COUNT", count_text, "FORMAT", "JSON"),
            &list);
    }
    for (size_t i = 0; status == TOOL_DONE && i < list->elements; i++) {
        const redisReply *m = list->element[i];
        if (!wire_is_array(m, 4)) {
            status = tool_strange("KV.QUEUE PEEK");
            break;
        }
        sheet_text(&s, wire_slice(m->element[0]));
        sheet_i64(&s, m->element[2]->integer);
        queue_time(&s, m->element[3]);
        sheet_raw(&s, wire_slice(m->element[1]));
    }
    if (status == TOOL_DONE) sheet_print(&s, t->is_json);
    if (list != NULL) freeReplyObject(list);
    sheet_fini(&s);
    wire_close(w);
    return status;
}

/* release and remove: what the holder of the lease would say. */
enum tool_status queue_release_run(struct tool *t)
{
    bool is_remove = strcmp(t->action->name, "remove") == 0;
    struct wire *w = NULL;
    redisReply *receipt = NULL;
    redisReply *reply = NULL;
    enum tool_status status = TOOL_DONE;
    if (is_remove) status = tool_confirm(t, "The message %s will be removed.", t->words[1]);
    if (status == TOOL_DONE) status = tool_connect(t, &w);
    if (status == TOOL_DONE) {
        status = tool_ask(w, TOOL_WORDS_OF("KV.QUEUE", "RECEIPT", t->words[0], t->words[1]),
                          &receipt);
    }
    if (status == TOOL_DONE && receipt->type == REDIS_REPLY_STRING) {
        status = tool_ask(w, TOOL_WORDS_OF(is_remove ? "KV.ACK" : "KV.NACK", receipt->str), &reply);
    }
    if (status == TOOL_DONE && (reply == NULL || reply->integer == 0)) {
        status = tool_fail(TOOL_NO, "no leased message %s in %s", t->words[1], t->words[0]);
    }
    if (receipt != NULL) freeReplyObject(receipt);
    if (reply != NULL) freeReplyObject(reply);
    wire_close(w);
    return status;
}

enum tool_status queue_purge_run(struct tool *t)
{
    enum tool_status status = tool_confirm(t, "All messages of the queue %s will be removed.",
                                           t->words[0]);
    if (status != TOOL_DONE) return status;
    return tool_count(t, "removed", TOOL_WORDS_OF("KV.QUEUE", "PURGE", t->words[0]));
}
