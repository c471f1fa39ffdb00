/* export_all: what --all adds: libraries of functions, definitions of indexes, limits of databases,
 * queues.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tool/export_int.h"
#include "tool/wire_map.h"

#define EXPORT_QUEUE_PAGE "500"
#define EXPORT_QUEUE_PASSES 3

/* ---- databases ------------------------------------------------------------------------------- */

enum tool_status export_is_used(struct exporter *x, const char *name, bool *out)
{
    static const char *const figures[] = {"entries",     "queues", "indexes", "max-bytes",
                                          "max-entries", "rate",   "keep"};
    redisReply *r = NULL;
    enum tool_status s = tool_ask(x->w, TOOL_WORDS_OF("KV.DB", "INFO", name), &r);
    if (s != TOOL_DONE) return s;
    char *end = NULL;
    (void)strtol(name, &end, 10);
    *out = *end != '\0'; /* one that was made has a name */
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        *out = *out || wire_map_i64(r, figures[i]) != 0;
    }
    freeReplyObject(r);
    return s;
}

enum tool_status export_limits(struct exporter *x, const char *name)
{
    static const char *const limits[] = {"max-bytes", "max-entries", "rate", "keep"};
    struct record_out o;
    redisReply *r = NULL;
    enum tool_status s = tool_ask(x->w, TOOL_WORDS_OF("KV.DB", "INFO", name), &r);
    if (s != TOOL_DONE) return s;
    const redisReply *comment = wire_map_find(r, "comment");
    const redisReply *backup = wire_map_find(r, "backup");
    record_begin(&o, &x->out.pending, x->is_pack);
    record_text(&o, "limits", slice_str(name));
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        record_i64(&o, limits[i], wire_map_i64(r, limits[i]));
    }
    if (wire_is(backup, REDIS_REPLY_STRING)) record_text(&o, "backup", wire_slice(backup));
    if (wire_is(comment, REDIS_REPLY_STRING)) record_text(&o, "comment", wire_slice(comment));
    record_end(&o);
    freeReplyObject(r);
    return export_wrote(x);
}

/* ---- indexes --------------------------------------------------------------------------------- */

static enum tool_status export_index(struct exporter *x, const char *name)
{
    struct record_out o;
    redisReply *r = NULL;
    enum tool_status s = tool_ask(
        x->w, TOOL_WORDS_OF("KV.INDEX", "INFO", name, "FORMAT", export_format(x)), &r);
    if (s != TOOL_DONE) return s;
    const redisReply *type = wire_map_find(r, "type");
    const redisReply *prefix = wire_map_find(r, "prefix");
    const redisReply *hashes = wire_map_find(r, "hashes");
    const redisReply *paths = wire_map_find(r, "paths");
    const redisReply *tokenize = wire_map_find(r, "tokenize");
    if (!wire_is(type, REDIS_REPLY_STRING) || !wire_is(prefix, REDIS_REPLY_STRING) ||
        !wire_is_array(paths, 1)) {
        freeReplyObject(r);
        return tool_strange("KV.INDEX INFO");
    }
    record_begin(&o, &x->out.pending, x->is_pack);
    record_text(&o, "index", slice_str(name));
    record_text(&o, "type", wire_slice(type));
    record_raw(&o, "prefix", wire_slice(prefix));
    if (wire_is(hashes, REDIS_REPLY_STRING)) record_text(&o, "hashes", wire_slice(hashes));
    record_list(&o, "paths", paths->elements);
    for (size_t i = 0; i < paths->elements; i++) {
        record_item_text(&o, wire_slice(paths->element[i]), i == 0);
    }
    record_list_end(&o);
    if (wire_map_i64(r, "unique") != 0) record_true(&o, "unique");
    if (wire_is(tokenize, REDIS_REPLY_STRING)) record_text(&o, "tokenize", wire_slice(tokenize));
    record_end(&o);
    x->indexes++;
    freeReplyObject(r);
    return export_wrote(x);
}

static enum tool_status export_indexes(struct exporter *x)
{
    redisReply *r = NULL;
    enum tool_status s = tool_ask(x->w, TOOL_WORDS_OF("KV.INDEX", "LIST"), &r);
    for (size_t i = 0; s == TOOL_DONE && i < r->elements; i++) {
        s = export_index(x, r->element[i]->str);
    }
    freeReplyObject(r);
    return s;
}

/* ---- libraries of functions ------------------------------------------------------------------ */

static enum tool_status export_library(struct exporter *x, const redisReply *library)
{
    struct record_out o;
    const redisReply *name = wire_map_find(library, "library_name");
    const redisReply *code = wire_map_find(library, "library_code");
    if (!wire_is(name, REDIS_REPLY_STRING) || !wire_is(code, REDIS_REPLY_STRING)) {
        return tool_strange("FUNCTION LIST");
    }
    record_begin(&o, &x->out.pending, x->is_pack);
    record_text(&o, "library", wire_slice(name));
    record_text(&o, "code", wire_slice(code));
    record_end(&o);
    x->libraries++;
    return export_wrote(x);
}

/* One reply has them all, so they are of one moment. */
enum tool_status export_libraries(struct exporter *x)
{
    redisReply *r = NULL;
    enum tool_status s = wire_call(x->w, TOOL_WORDS_OF("FUNCTION", "LIST", "WITHCODE"), &r);
    if (s == TOOL_BROKEN) return tool_fail(s, "%s", wire_why(x->w));
    if (s == TOOL_NO) {
        /* A server from before there were functions has none. */
        bool is_old = slice_has_prefix(wire_slice(r), slice_str(TOOL_UNKNOWN_COMMAND));
        if (!is_old) return tool_refused(r);
        s = TOOL_DONE;
    } else if (!wire_is(r, REDIS_REPLY_ARRAY)) {
        s = tool_strange("FUNCTION LIST");
    } else {
        for (size_t i = 0; s == TOOL_DONE && i < r->elements; i++) {
            s = export_library(x, r->element[i]);
        }
    }
    freeReplyObject(r);
    return s;
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* [id, value, time, attempts, error, [backoff ms ...], [undelivered key ...]] */
static enum tool_status export_message(struct exporter *x, struct slice queue, bool is_dead,
                                       const redisReply *m)
{
    struct record_out o;
    if (!wire_is_array(m, 7) || !wire_is(m->element[2], REDIS_REPLY_INTEGER) ||
        !wire_is(m->element[5], REDIS_REPLY_ARRAY) || !wire_is(m->element[6], REDIS_REPLY_ARRAY)) {
        return tool_strange("KV.QUEUE EXPORT");
    }
    const redisReply *backoff = m->element[5];
    const redisReply *keys = m->element[6];
    record_begin(&o, &x->out.pending, x->is_pack);
    record_text(&o, "queue", queue);
    record_text(&o, "id", wire_slice(m->element[0]));
    record_raw(&o, "value", wire_slice(m->element[1]));
    record_i64(&o, is_dead ? "failed" : "due", m->element[2]->integer);
    record_i64(&o, "attempts", m->element[3]->integer);
    if (m->element[4]->len > 0) record_text(&o, "error", wire_slice(m->element[4]));
    record_list(&o, "backoff", backoff->elements);
    for (size_t i = 0; i < backoff->elements; i++) {
        record_item_i64(&o, backoff->element[i]->integer, i == 0);
    }
    record_list_end(&o);
    if (keys->elements > 0) {
        record_list(&o, "undelivered", keys->elements);
        for (size_t i = 0; i < keys->elements; i++) {
            record_item_raw(&o, wire_slice(keys->element[i]), i == 0);
        }
        record_list_end(&o);
    }
    record_end(&o);
    x->messages += !is_dead;
    x->dead += is_dead;
    return export_wrote(x);
}

static enum tool_status export_messages(struct exporter *x, struct slice queue, const char *which)
{
    enum tool_status s = TOOL_DONE;
    bool is_dead = which[0] == 'D';
    struct slice cursor = slice_str("0");
    redisReply *last = NULL;
    bool is_more = true;
    while (s == TOOL_DONE && is_more) {
        const struct slice words[] = {slice_str("KV.QUEUE"),
                                      slice_str("EXPORT"),
                                      queue,
                                      slice_str(which),
                                      slice_str("COUNT"),
                                      slice_str(EXPORT_QUEUE_PAGE),
                                      slice_str("CURSOR"),
                                      cursor,
                                      slice_str("FORMAT"),
                                      slice_str(export_format(x))};
        redisReply *r = NULL;
        s = wire_call_slices(x->w, sizeof words / sizeof words[0], words, &r);
        freeReplyObject(last);
        last = r;
        if (s == TOOL_BROKEN) return tool_fail(s, "%s", wire_why(x->w));
        if (s == TOOL_NO) tool_refused(r);
        if (s == TOOL_DONE && !wire_is_array(r, 2)) s = tool_strange("KV.QUEUE EXPORT");
        if (s != TOOL_DONE) break;
        cursor = wire_slice(r->element[0]);
        is_more = !slice_eq(cursor, slice_str("0"));
        for (size_t i = 0; i < r->element[1]->elements && s == TOOL_DONE; i++) {
            s = export_message(x, queue, is_dead, r->element[1]->element[i]);
        }
    }
    freeReplyObject(last);
    return s;
}

/* A number that is another one when a message of the queue was moved in between. */
static enum tool_status export_queue_figures(struct exporter *x, struct slice queue, uint64_t *out)
{
    static const char *const figures[] = {"leased", "dead",   "enqueued", "delivered",
                                          "acked",  "nacked", "expired"};
    const struct slice words[] = {slice_str("KV.QUEUE"), slice_str("STATS"), queue};
    redisReply *r = NULL;
    enum tool_status s = wire_call_slices(x->w, 3, words, &r);
    if (s == TOOL_BROKEN) return tool_fail(s, "%s", wire_why(x->w));
    if (s == TOOL_NO) tool_refused(r);
    *out = (uint64_t)(wire_map_i64(r, "ready") + wire_map_i64(r, "delayed"));
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        *out = *out * 0x9e3779b97f4a7c15ULL + (uint64_t)wire_map_i64(r, figures[i]);
    }
    freeReplyObject(r);
    return s;
}

/* Messages that move while the queue is read, from ready to leased and back, could be passed by. So
 * it is read until nothing has moved meanwhile; what is there twice is loaded once. */
static enum tool_status export_queue(struct exporter *x, struct slice queue)
{
    uint64_t before = 0;
    uint64_t after = 0;
    enum tool_status s = TOOL_DONE;
    for (int i = 0; i < EXPORT_QUEUE_PASSES; i++) {
        s = export_queue_figures(x, queue, &before);
        if (s == TOOL_DONE) s = export_messages(x, queue, "LEASED");
        if (s == TOOL_DONE) s = export_messages(x, queue, "READY");
        if (s == TOOL_DONE) s = export_messages(x, queue, "DEAD");
        if (s == TOOL_DONE) s = export_queue_figures(x, queue, &after);
        if (s != TOOL_DONE || before == after) return s;
    }
    tool_warn(x->t,
              "the queue %.*s is in use; messages that moved while it was read may be missing in "
              "the export",
              (int)queue.len, (const char *)queue.data);
    return s;
}

static enum tool_status export_queues(struct exporter *x)
{
    redisReply *r = NULL;
    enum tool_status s = tool_ask(x->w, TOOL_WORDS_OF("KV.QUEUE", "LIST"), &r);
    for (size_t i = 0; s == TOOL_DONE && i < r->elements; i++) {
        s = export_queue(x, wire_slice(r->element[i]));
    }
    freeReplyObject(r);
    return s;
}

enum tool_status export_rest(struct exporter *x)
{
    enum tool_status s = export_indexes(x);
    return s == TOOL_DONE ? export_queues(x) : s;
}
