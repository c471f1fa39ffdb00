/* load: KV.LOAD: what an export has (docs/export.md) becomes part of the database, many records in
 * one transaction, all or nothing. An entry takes the place of one that is there; so does a
 * collection, or it goes on with one that is there from a place on. A message keeps its id, and if
 * the queue has that id already, nothing happens to it. So what is loaded a second time is there
 * once.
 */
#include "collection/copy.h"
#include "collection/parts.h"
#include "request/elements.h"
#include "request/enqueue.h"
#include "request/keys.h"
#include "request/table.h"

#define TIME_MS_MAX ((1LL << 53) - 1)

struct load {
    struct {
        struct op *items;
        size_t count;
    } records;
};

/* ---- entries ---- */

ARGUMENTS(record_set, struct op, "key value [PXAT unix-time-milliseconds]",
          ARG_FIXED(struct op, kind, OP_SET), ARG_KEY(struct op, key, "key", KEY_OW | KEY_UPDATE),
          ARG_VALUE(struct op, value, "value"), ARG_CHOICE(struct op, ttl, {"PXAT", TTL_AT}),
          ARG_INTEGER(struct op, ttl_ms, "PXAT", 1, TIME_MS_MAX, 0));

ARGUMENTS(record_del, struct op, "key", ARG_FIXED(struct op, kind, OP_DELETE),
          ARG_KEY(struct op, key, "key", KEY_RM | KEY_DELETE));

/* ---- collections ---- */

ARGUMENTS(load_field, struct element, "field value expiry-milliseconds",
          ARG_WORD(struct element, name, "field"), ARG_WORD(struct element, value, "value"),
          ARG_INTEGER(struct element, expiry_ms, "expiry-milliseconds", 0, TIME_MS_MAX, 0));
ARGUMENTS(load_value, struct element, "value", ARG_WORD(struct element, value, "value"));
ARGUMENTS(load_member, struct element, "member", ARG_WORD(struct element, name, "member"));
ARGUMENTS(load_scored, struct element, "score member", ARG_SCORE(struct element, score, "score"),
          ARG_WORD(struct element, name, "member"));

/* Parts of a stream; -1: not known, or never. */
struct load_part {
    struct stream_part x; /* what is made of all */
    int64_t count;
    struct {
        struct slice *items;
        size_t count;
    } words; /* of an entry */
};

ARGUMENTS(load_entry, struct load_part, "id numwords word [word ...]",
          ARG_FIXED(struct load_part, x.kind, PART_ENTRY),
          ARG_STREAM_ID(struct load_part, x.id, "id"),
          ARG_COUNT("numwords", 2, INT64_MAX, "words", "2 name Ada"),
          ARG_WORDS(struct load_part, words, "word"));
ARGUMENTS(load_state, struct load_part, "last-id entries-added max-deleted-id",
          ARG_FIXED(struct load_part, x.kind, PART_STATE),
          ARG_STREAM_ID(struct load_part, x.id, "last-id"),
          ARG_INTEGER(struct load_part, count, "entries-added", 0, INT64_MAX, 0),
          ARG_STREAM_ID(struct load_part, x.deleted, "max-deleted-id"));
ARGUMENTS(load_group, struct load_part, "group last-id entries-read",
          ARG_FIXED(struct load_part, x.kind, PART_GROUP),
          ARG_WORD(struct load_part, x.group, "group"),
          ARG_STREAM_ID(struct load_part, x.id, "last-id"),
          ARG_INTEGER(struct load_part, x.entries_read, "entries-read", -1, INT64_MAX, 0));
ARGUMENTS(load_consumer, struct load_part, "group consumer seen-milliseconds active-milliseconds",
          ARG_FIXED(struct load_part, x.kind, PART_CONSUMER),
          ARG_WORD(struct load_part, x.group, "group"),
          ARG_WORD(struct load_part, x.consumer, "consumer"),
          ARG_INTEGER(struct load_part, x.at_ms, "seen-milliseconds", 0, TIME_MS_MAX, 0),
          ARG_INTEGER(struct load_part, x.active_ms, "active-milliseconds", -1, TIME_MS_MAX, 0));
ARGUMENTS(load_pending, struct load_part, "group consumer id delivered-milliseconds deliveries",
          ARG_FIXED(struct load_part, x.kind, PART_PENDING),
          ARG_WORD(struct load_part, x.group, "group"),
          ARG_WORD(struct load_part, x.consumer, "consumer"),
          ARG_STREAM_ID(struct load_part, x.id, "id"),
          ARG_INTEGER(struct load_part, x.at_ms, "delivered-milliseconds", 0, TIME_MS_MAX, 0),
          ARG_INTEGER(struct load_part, count, "deliveries", 0, INT64_MAX, 0));

static enum err entry_of(struct request *rq, const struct load_part *a, struct slice *fields)
{
    struct buf out;
    if (a->words.count % 2 != 0) {
        return error_set(&rq->error, ERR_SYNTAX, "an entry must have a value for each field");
    }
    buf_init(&out);
    stream_fields_write(a->words.items, a->words.count, &out);
    enum err r = out.is_failed ? error_set(&rq->error, ERR_NOMEM, "out of memory for an entry")
                               : OK;
    if (r == OK) *fields = arena_copy(rq->arena, buf_slice(&out));
    buf_fini(&out);
    return r;
}

static enum err check_part(struct request *rq, void *bound)
{
    struct load_part *a = bound;
    a->x.count = (uint64_t)a->count;
    return a->x.kind == PART_ENTRY ? entry_of(rq, a, &a->x.fields) : OK;
}
ARGUMENTS_WITH(load_part, struct load_part,
               "<ENTRY entry | STATE state | GROUP group | CONSUMER consumer | PENDING pending>",
               WITH(.check = check_part), ARG_ALSO("ENTRY", load_entry),
               ARG_ALSO("STATE", load_state), ARG_ALSO("GROUP", load_group),
               ARG_ALSO("CONSUMER", load_consumer), ARG_ALSO("PENDING", load_pending));

struct load_collection {
    struct collection_load x; /* first */
    struct {
        struct load_part *items;
        size_t count;
    } parts; /* of a stream */
};

#define COLLECTION_ARGUMENTS(of, its_kind, member, each, such_as)                                  \
    ARGUMENTS(of, struct load_collection,                                                          \
              "[PXAT unix-time-milliseconds] [MORE count] numelements element [element ...]",      \
              ARG_FIXED(struct load_collection, x.kind, its_kind),                                 \
              ARG_INTEGER(struct load_collection, x.expiry_ms, "PXAT", 1, TIME_MS_MAX, 0),         \
              ARG_INTEGER(struct load_collection, x.before, "MORE", 1, INT64_MAX, 0),              \
              ARG_COUNT("numelements", 1, INT64_MAX, "elements", such_as),                         \
              ARG_LIST(struct load_collection, member, "element", each, NULL))
COLLECTION_ARGUMENTS(load_hash, COLLECTION_HASH, x.elements, load_field, "1 name Ada 0");
COLLECTION_ARGUMENTS(load_list, COLLECTION_LIST, x.elements, load_value, "2 a b");
COLLECTION_ARGUMENTS(load_set, COLLECTION_SET, x.elements, load_member, "2 a b");
COLLECTION_ARGUMENTS(load_zset, COLLECTION_ZSET, x.elements, load_scored, "1 1.5 ada");
COLLECTION_ARGUMENTS(load_stream, COLLECTION_STREAM, parts, load_part, "1 STATE 0-0 0 0-0");

static enum err check_collection(struct request *rq, void *bound)
{
    struct load_collection *a = bound;
    a->x.all = rq->env->db->collections;
    if (a->x.kind != COLLECTION_STREAM) return OK;
    a->x.parts.items = arena_alloc(rq->arena, a->parts.count * sizeof *a->x.parts.items);
    a->x.parts.count = a->parts.count;
    for (size_t i = 0; i < a->parts.count; i++) a->x.parts.items[i] = a->parts.items[i].x;
    return OK;
}
ARGUMENTS_WITH(collection_arguments, struct load_collection,
               "key <HASH hash | LIST list | SET set | ZSET zset | STREAM stream>",
               WITH(.check = check_collection),
               ARG_KEY(struct load_collection, x.to, "key", KEY_OW | KEY_UPDATE),
               ARG_ALSO("HASH", load_hash), ARG_ALSO("LIST", load_list), ARG_ALSO("SET", load_set),
               ARG_ALSO("ZSET", load_zset), ARG_ALSO("STREAM", load_stream));

static enum err check_record_collection(struct request *rq, void *bound)
{
    struct op *op = bound;
    (void)rq;
    *op = collection_load_op((struct collection_load *)op->layer);
    return OK;
}
ARGUMENTS_WITH(record_collection, struct op, "collection", WITH(.check = check_record_collection),
               ARG_MADE(struct op, layer, "collection", collection_arguments));

/* ---- messages ---- */

struct record_message {
    struct queue_load x; /* first: what is made of the rest */
    int64_t attempts;
    struct message_options options;
};

static enum err check_message(struct request *rq, void *bound)
{
    struct record_message *m = bound;
    m->x.queues = rq->env->db->queues;
    m->x.attempts = (uint32_t)m->attempts;
    message_take_options(rq, &m->options, &m->x.message);
    return OK;
}

#define MESSAGE_ARGUMENTS(of, time, of_dead)                                                       \
    ARGUMENTS_WITH(of, struct record_message,                                                      \
                   "queue id value " time " [ATTEMPTS count] [ERROR text] options",                \
                   WITH(.check = check_message),                                                   \
                   ARG_FIXED(struct record_message, x.is_dead, of_dead),                           \
                   ARG_QUEUE(struct record_message, x.queue, "queue", ACCESS_WRITE),               \
                   ARG_MESSAGE_ID(struct record_message, x.id, "id"),                              \
                   ARG_VALUE(struct record_message, x.message.value, "value"),                     \
                   ARG_INTEGER(struct record_message, x.time_ms, time, 0, TIME_MS_MAX, 0),         \
                   ARG_INTEGER(struct record_message, attempts, "ATTEMPTS", 0, UINT32_MAX - 1, 0), \
                   ARG_TEXT(struct record_message, x.error, "ERROR", 0, QUEUE_ERROR_BYTES_MAX),    \
                   ARG_INSIDE(struct record_message, options, "options", message_options))
MESSAGE_ARGUMENTS(message_arguments, "due-milliseconds", false);
MESSAGE_ARGUMENTS(dead_arguments, "failed-milliseconds", true);

static enum err check_record_message(struct request *rq, void *bound)
{
    struct op *op = bound;
    (void)rq;
    *op = queue_load_op(&((struct record_message *)op->layer)->x);
    return OK;
}
ARGUMENTS_WITH(record_message, struct op, "message", WITH(.check = check_record_message),
               ARG_MADE(struct op, layer, "message", message_arguments));
ARGUMENTS_WITH(record_dead, struct op, "message", WITH(.check = check_record_message),
               ARG_MADE(struct op, layer, "message", dead_arguments));

/* ---- the words ---- */

static enum err records_fit(struct request *rq, size_t count)
{
    size_t max = engine_limits(rq->env->db->engine)->ops_max;
    if (count <= max) return OK;
    return error_set(&rq->error, ERR_LIMIT, "more records than max-transaction-ops (%zu)", max);
}

ARGUMENTS(record_arguments, struct op,
          "<SET set | DEL del | COLLECTION collection | MESSAGE message | DEAD dead>",
          ARG_ALSO("SET", record_set), ARG_ALSO("DEL", record_del),
          ARG_ALSO("COLLECTION", record_collection), ARG_ALSO("MESSAGE", record_message),
          ARG_ALSO("DEAD", record_dead));

ARGUMENTS(load_arguments, struct load, "[record ...]",
          ARG_LIST(struct load, records, "record", record_arguments, records_fit,
                   .item = "record"));

/* The error is about the record with that number, from 0. */
static enum err say_record(struct request *rq, enum err r, size_t number)
{
    if (r != ERR_WAIT) error_add(&rq->error, " (record %zu)", number);
    return r;
}

static enum err kv_load_run(struct request *rq)
{
    const struct load *l = rq->bound;
    size_t loaded = 0;
    struct txn t = {.overlay = rq->overlay,
                    .database = rq->client->database,
                    .commits_always = true,
                    .ops = l->records.items,
                    .count = l->records.count,
                    .arena = rq->arena};
    enum err r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    depends_raise(&rq->depends, t.depends);
    if (r != OK) return t.failed_op < t.count ? say_record(rq, r, t.failed_op) : r;
    rq->env->stats.writes++;
    for (size_t i = 0; i < t.count; i++) loaded += t.ops[i].is_met;
    resp_array(rq->w, 3);
    reply_stamp(rq, t.version);
    resp_int(rq->w, (int64_t)loaded);
    resp_int(rq->w, (int64_t)(t.count - loaded));
    return OK;
}

const struct command kv_load = {
    .name = "kv.load",
    .flags = CMD_WRITE | CMD_ADMIN | CMD_DANGEROUS | CMD_AUDITED | CMD_FORMAT,
    .key_flags = KEY_OW | KEY_UPDATE,
    .group = "kv",
    .summary = "Loads records of an export in one transaction: entries, collections, messages "
               "with their ids, dead letters.",
    .brief = "record [record ...] [FORMAT format]",
    .arguments = &load_arguments,
    .reply = "`[versionstamp, loaded, left]`. An entry replaces an existing one. A message whose "
             "id is in the queue is left as it is. A collection replaces the value of the key, or "
             "with `MORE` is added to it after the `count` elements that were loaded before; a "
             "list is overwritten from that index on. An expiry of 0 means none. An error gives "
             "the number of the record, from 0.",
    .run = kv_load_run,
};
