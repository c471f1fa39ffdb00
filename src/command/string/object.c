/* string_object: OBJECT: how a value is kept, as far as there is an answer here. */
#include "codec/collection.h"
#include "codec/value.h"
#include "command/string/string_int.h"
#include "request/keys.h"
#include "request/shapes.h"
#include "request/table.h"

/* What tools know: how Redis would keep it. */
static const char *encoding_of(const struct collection_head *h)
{
    static const char *const spread[COLLECTION_KINDS] = {
        [COLLECTION_HASH] = "hashtable", [COLLECTION_LIST] = "quicklist",
        [COLLECTION_SET] = "hashtable",  [COLLECTION_ZSET] = "skiplist",
        [COLLECTION_STREAM] = "stream",
    };
    struct element x;
    size_t at = 0;
    int64_t n = 0;
    if (h->is_spread || h->kind == COLLECTION_STREAM) return spread[h->kind];
    if (h->kind != COLLECTION_SET) return "listpack";
    while (collection_packed_next(h, &at, &x)) {
        if (!slice_to_i64(x.name, &n)) return "listpack";
    }
    return "intset";
}

enum object_answer { OBJECT_ENCODING, OBJECT_FREQ, OBJECT_IDLETIME, OBJECT_REFCOUNT };

static enum err object_tell(struct request *rq, enum object_answer what)
{
    const struct one_key *a = rq->bound;
    struct slice bytes = {0};
    struct collection_head head;
    struct entry entry;
    enum err r = request_get(rq, a->key, &entry);
    if (r != OK) return r;
    rq->env->stats.reads++;
    if (!entry.exists) {
        resp_nil(rq->w);
        return OK;
    }
    switch (what) {
    case OBJECT_ENCODING:
        resp_bulk_str(rq->w, collection_head_read(entry.value, &head) ? encoding_of(&head)
                             : value_bytes_of(entry.value, &bytes)    ? "raw"
                                                                      : "msgpack");
        return OK;
    case OBJECT_REFCOUNT: resp_int(rq->w, 1); return OK;
    case OBJECT_FREQ:
        return error_set(&rq->error, ERR_SYNTAX,
                         "An LFU maxmemory policy is not selected, access frequency not tracked.");
    case OBJECT_IDLETIME: break;
    }
    return error_set(&rq->error, ERR_SYNTAX,
                     "idle time not tracked: the time of the last access is not recorded");
}

static enum err encoding_run(struct request *rq)
{
    return object_tell(rq, OBJECT_ENCODING);
}

static enum err freq_run(struct request *rq)
{
    return object_tell(rq, OBJECT_FREQ);
}

static enum err idletime_run(struct request *rq)
{
    return object_tell(rq, OBJECT_IDLETIME);
}

static enum err refcount_run(struct request *rq)
{
    return object_tell(rq, OBJECT_REFCOUNT);
}

#define OBJECT_SUB(word, text)                                                                     \
    static const struct command sub_##word = {                                                     \
        .name = #word,                                                                             \
        .flags = CMD_STRING | CMD_KEYSPACE | CMD_READ | CMD_FOLLOWER,                              \
        .key_flags = KEY_RO,                                                                       \
        .group = "generic",                                                                        \
        .summary = text,                                                                           \
        .arguments = &one_key_arguments,                                                           \
        .run = word##_run,                                                                         \
    }

OBJECT_SUB(
    encoding,
    "Returns raw for bytes; listpack, intset, hashtable, quicklist or skiplist for a collection; "
    "msgpack for other values; nil if the key does not exist.");
OBJECT_SUB(freq, "Returns an error, as Redis does without an LFU policy: access is not counted.");
OBJECT_SUB(idletime, "Returns an error: the time of the last access is not recorded.");
OBJECT_SUB(refcount, "Returns 1, because keys never share a value, or nil if the key does not "
                     "exist.");
COMMAND_HELP("generic", CMD_KEYSPACE);

static const struct command *const object_subcommands[] = {
    &sub_encoding, &sub_freq, &sub_help, &sub_idletime, &sub_refcount, NULL,
};

const struct command cmd_object = {
    .name = "object",
    .group = "generic",
    .summary = "A container for commands about how values are stored.",
    .arguments = &container_arguments,
    .subcommands = object_subcommands,
};
