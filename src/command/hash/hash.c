/* hash: the commands that write and read fields of a hash. */
#include "command/hash/hash_int.h"

SHARED_ARGUMENTS(key_field_arguments, struct key_field, "key field",
                 ARG_KEY(struct key_field, key, "key", 0),
                 ARG_WORD(struct key_field, field, "field"));
SHARED_ARGUMENTS(key_fields_arguments, struct key_fields, "key field [field ...]",
                 ARG_KEY(struct key_fields, key, "key", 0),
                 ARG_WORDS(struct key_fields, fields, "field"));

enum err hash_read(struct request *rq, struct slice key, struct slice field, bool *found,
                   struct element *out)
{
    struct collection c;
    struct view *v = elements_view(rq);
    *found = false;
    enum err r = elements_open(rq, v, key, COLLECTION_HASH, &c);
    if (r == OK) r = collection_find(&c, field, found, out, &rq->error);
    elements_read(rq, v);
    return r;
}

enum err hash_open(struct request *rq, struct view *v, struct slice key, struct collection *c)
{
    return collection_open(rq->env->db->collections, v, key, COLLECTION_HASH, c, &rq->error);
}

/* ---- HSET, HMSET, HSETNX ---- */

struct hset {
    struct slice key;
    struct {
        struct element *items;
        size_t count;
    } pairs;
    int64_t added; /* fields that were not there */
};
ARGUMENTS(field_value_arguments, struct element, "field value",
          ARG_WORD(struct element, name, "field"), ARG_WORD(struct element, value, "value"));
ARGUMENTS(hset_arguments, struct hset, "key pair [pair ...]", ARG_KEY(struct hset, key, "key", 0),
          ARG_LIST(struct hset, pairs, "pair", field_value_arguments, NULL));

static enum err hset_change(struct request *rq, struct view *v, void *arg)
{
    struct hset *a = arg;
    struct collection c;
    a->added = 0;
    enum err r = hash_open(rq, v, a->key, &c);
    for (size_t i = 0; i < a->pairs.count && r == OK; i++) {
        bool was_there = false;
        r = collection_put(&c, &a->pairs.items[i], &was_there, NULL, &rq->error);
        a->added += !was_there;
    }
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err hset_run(struct request *rq)
{
    struct hset *a = rq->bound;
    enum err r = elements_commit(rq, hset_change, a);
    if (r == OK) resp_int(rq->w, a->added);
    return r;
}
HASH_COMMAND(hset, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE,
             "Sets fields of a hash, which is created if it does not exist.", hset_arguments,
             "The number of new fields.", hset_run);

static enum err hmset_run(struct request *rq)
{
    enum err r = elements_commit(rq, hset_change, rq->bound);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}
HASH_COMMAND(hmset, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE,
             "Sets fields of a hash. HSET replaces it.", hset_arguments, "OK.", hmset_run);

struct hsetnx {
    struct slice key;
    struct element item;
    bool is_new;
};
ARGUMENTS(hsetnx_arguments, struct hsetnx, "key field value", ARG_KEY(struct hsetnx, key, "key", 0),
          ARG_WORD(struct hsetnx, item.name, "field"),
          ARG_WORD(struct hsetnx, item.value, "value"));

static enum err hsetnx_change(struct request *rq, struct view *v, void *arg)
{
    struct hsetnx *a = arg;
    struct collection c;
    struct element there;
    bool found = false;
    enum err r = hash_open(rq, v, a->key, &c);
    if (r == OK) r = collection_find(&c, a->item.name, &found, &there, &rq->error);
    a->is_new = !found;
    if (r != OK || found) return r;
    r = collection_put(&c, &a->item, &found, NULL, &rq->error);
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err hsetnx_run(struct request *rq)
{
    struct hsetnx *a = rq->bound;
    enum err r = elements_commit(rq, hsetnx_change, a);
    if (r == OK) resp_int(rq->w, a->is_new);
    return r;
}
HASH_COMMAND(hsetnx, CMD_WRITE | CMD_FAST, KEY_RW | KEY_INSERT,
             "Sets a field of a hash if the field does not exist.", hsetnx_arguments, "1, or 0.",
             hsetnx_run);

/* ---- HDEL ---- */

struct hdel {
    const struct key_fields *words;
    int64_t removed;
};

static enum err hdel_change(struct request *rq, struct view *v, void *arg)
{
    struct hdel *a = arg;
    struct collection c;
    a->removed = 0;
    enum err r = hash_open(rq, v, a->words->key, &c);
    for (size_t i = 0; i < a->words->fields.count && r == OK && c.head.count > 0; i++) {
        bool was_there = false;
        r = collection_remove(&c, a->words->fields.items[i], &was_there, NULL, &rq->error);
        a->removed += was_there;
    }
    return r == OK ? collection_save(&c, &rq->error) : r;
}

static enum err hdel_run(struct request *rq)
{
    struct hdel a = {.words = rq->bound};
    enum err r = elements_commit(rq, hdel_change, &a);
    if (r == OK) resp_int(rq->w, a.removed);
    return r;
}
HASH_COMMAND(hdel, CMD_WRITE | CMD_FAST, KEY_RW | KEY_DELETE,
             "Deletes fields of a hash, and the hash with its last field.", key_fields_arguments,
             "The number of elements removed.", hdel_run);

/* ---- reading ---- */

static enum err hget_run(struct request *rq)
{
    const struct key_field *a = rq->bound;
    struct element x;
    bool found = false;
    enum err r = hash_read(rq, a->key, a->field, &found, &x);
    if (r != OK) return r;
    if (found) {
        resp_bulk(rq->w, x.value);
    } else {
        resp_nil(rq->w);
    }
    return OK;
}
HASH_COMMAND(hget, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the value of a field of a hash.", key_field_arguments, "The value, or nil.",
             hget_run);

static void tell_found(struct resp_writer *w, const struct element *x)
{
    if (x != NULL) {
        resp_bulk(w, x->value);
    } else {
        resp_nil(w);
    }
}

static enum err hmget_run(struct request *rq)
{
    const struct key_fields *a = rq->bound;
    return elements_tell_each(rq, COLLECTION_HASH, a->key, &a->fields, tell_found);
}
HASH_COMMAND(hmget, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the values of several fields of a hash.", key_fields_arguments,
             "The value of each field, or nil.", hmget_run);

static enum err hexists_run(struct request *rq)
{
    const struct key_field *a = rq->bound;
    struct element x;
    bool found = false;
    enum err r = hash_read(rq, a->key, a->field, &found, &x);
    if (r == OK) resp_int(rq->w, found);
    return r;
}
HASH_COMMAND(hexists, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO,
             "Tests whether a hash has a field.", key_field_arguments, "1, or 0.", hexists_run);

static enum err hstrlen_run(struct request *rq)
{
    const struct key_field *a = rq->bound;
    struct element x = {.expiry_ms = 0};
    bool found = false;
    enum err r = hash_read(rq, a->key, a->field, &found, &x);
    if (r == OK) resp_int(rq->w, found ? (int64_t)x.value.len : 0);
    return r;
}
HASH_COMMAND(hstrlen, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO,
             "Returns the length of the value of a field in bytes.", key_field_arguments,
             "The length, 0 if the field does not exist.", hstrlen_run);

static enum err hlen_run(struct request *rq)
{
    const struct one_key *a = rq->bound;
    struct collection c;
    struct view *v = elements_view(rq);
    bool is_first = rq->client->run.pending == NULL;
    uint64_t length = 0;
    enum err r = is_first ? elements_open(rq, v, a->key, COLLECTION_HASH, &c) : OK;
    if (r == OK) r = elements_length(rq, is_first ? &c : NULL, 0, &length);
    elements_read(rq, v);
    if (r == OK) resp_int(rq->w, (int64_t)length);
    return r;
}
HASH_COMMAND(hlen, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO,
             "Returns the number of fields of a hash.", one_key_arguments,
             "The number, 0 if the key does not exist.", hlen_run);

/* ---- all fields ---- */

static void tell_name(struct resp_writer *w, const struct element *x, size_t *count)
{
    resp_bulk(w, x->name);
    ++*count;
}

static void tell_value(struct resp_writer *w, const struct element *x, size_t *count)
{
    resp_bulk(w, x->value);
    ++*count;
}

static void tell_pair(struct resp_writer *w, const struct element *x, size_t *count)
{
    tell_name(w, x, count);
    tell_value(w, x, count);
}

static void begin_map(struct resp_writer *w, size_t count, size_t elements)
{
    (void)count;
    resp_map(w, elements);
}

static enum err tell_all(struct request *rq,
                         void (*tell)(struct resp_writer *, const struct element *, size_t *),
                         void (*begin)(struct resp_writer *, size_t, size_t))
{
    const struct one_key *a = rq->bound;
    struct telling t = {.kind = COLLECTION_HASH, .key = a->key, .tell = tell, .begin = begin};
    return elements_tell(rq, &t);
}

static enum err hgetall_run(struct request *rq)
{
    return tell_all(rq, tell_pair, begin_map);
}
HASH_COMMAND(hgetall, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns all fields and values of a hash.", one_key_arguments,
             "Fields and values in turn; in RESP3 a map.", hgetall_run);

static enum err hkeys_run(struct request *rq)
{
    return tell_all(rq, tell_name, elements_begin_array);
}
HASH_COMMAND(hkeys, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, "Returns all fields of a hash.",
             one_key_arguments, "The fields.", hkeys_run);

static enum err hvals_run(struct request *rq)
{
    return tell_all(rq, tell_value, elements_begin_array);
}
HASH_COMMAND(hvals, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS, "Returns all values of a hash.",
             one_key_arguments, "The values.", hvals_run);
