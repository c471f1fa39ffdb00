/* where: a compiled filter (filter/filter.h) as the struct row_filter that scans take
 * (backend/backend.h), with a count of its references.
 *
 * A hash is an object of those of its fields that the filter names. A packed one is made into that
 * wherever it is looked at; of a spread one the fields are asked for.
 */
#include "request/where.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "codec/field.h"
#include "codec/pack.h"
#include "codec/utf8.h"
#include "collection/fields.h"
#include "filter/filter.h"

#define MAP_HEAD_BYTES 5

struct where {
    struct row_filter base; /* first */
    struct filter *filter;
    int64_t now_ms; /* fields that have ended by then are not there */
    struct slice names[FIELD_NAMES_MAX];
    size_t name_count; /* more than FIELD_NAMES_MAX: too many for a spread hash, or all (`$`) */
    unsigned refs;
};

/* ---- hashes ---- */

static bool is_seen(const struct where *w, const struct element *x)
{
    bool is_alive = x->expiry_ms == 0 || x->expiry_ms > w->now_ms;
    return x->name.data != NULL && is_alive && utf8_valid_bytes(x->name) == x->name.len &&
           utf8_valid_bytes(x->value) == x->value.len;
}

/* An object of fields: MessagePack, the number of members put in last. */
struct object {
    struct buf bytes, scratch;
    uint32_t count;
};

static void object_begin(struct object *o)
{
    static const uint8_t head[MAP_HEAD_BYTES] = {0xdf}; /* map 32 */
    *o = (struct object){.count = 0};
    buf_append(&o->bytes, head, sizeof head);
}

static void object_add(struct object *o, const struct element *x)
{
    pack_str(&o->bytes, x->name);
    field_pack(x->value, &o->scratch, &o->bytes);
    o->count++;
}

static struct slice object_end(struct object *o)
{
    buf_require(&o->bytes);
    put_u32(o->bytes.data + 1, o->count);
    return buf_slice(&o->bytes);
}

static void object_fini(struct object *o)
{
    buf_fini(&o->bytes);
    buf_fini(&o->scratch);
}

static bool is_named(const struct where *w, struct slice name)
{
    if (w->name_count > FIELD_NAMES_MAX) return true;
    size_t i = 0;
    while (i < w->name_count && !slice_eq(w->names[i], name)) i++;
    return i < w->name_count;
}

static bool matches_packed(const struct where *w, const struct collection_head *h)
{
    struct object o;
    struct element x;
    size_t at = 0;
    object_begin(&o);
    while (collection_packed_next(h, &at, &x)) {
        if (is_named(w, x.name) && is_seen(w, &x)) object_add(&o, &x);
    }
    bool matches = filter_matches(w->filter, object_end(&o));
    object_fini(&o);
    return matches;
}

static enum err where_judge(const struct row_filter *f, struct slice key, struct slice value,
                            const struct row_source *from, bool *matches, struct error *e)
{
    const struct where *w = (const struct where *)f;
    struct field_names names = {.items = w->names, .count = w->name_count};
    struct element fields[FIELD_NAMES_MAX];
    struct object o;
    if (w->name_count > FIELD_NAMES_MAX) {
        return error_set(e, ERR_LIMIT,
                         "where: on a large hash, a filter may name %d fields, and not `$`",
                         FIELD_NAMES_MAX);
    }
    enum err r = fields_find(key_database(key), value, &names, from, fields, e);
    if (r != OK) return r;
    object_begin(&o);
    for (size_t i = 0; i < w->name_count; i++) {
        if (is_seen(w, &fields[i])) object_add(&o, &fields[i]);
    }
    struct slice object = object_end(&o);
    r = row_filter_check(f, object, from->work_max, e);
    if (r == OK) *matches = filter_matches(w->filter, object);
    object_fini(&o);
    return r;
}

/* ---- the filter ---- */

static bool where_matches(const struct row_filter *f, struct slice value)
{
    const struct where *w = (const struct where *)f;
    struct collection_head h;
    bool is_hash = collection_head_read(value, &h) && h.kind == COLLECTION_HASH;
    if (!is_hash) return filter_matches(w->filter, value);
    return h.is_spread || matches_packed(w, &h);
}

static void where_ref(struct row_filter *f)
{
    ((struct where *)f)->refs++;
}

void where_unref(struct row_filter *f)
{
    struct where *w = (struct where *)f;
    if (w == NULL || --w->refs > 0) return;
    filter_unref(w->filter);
    mem_free(w);
}

const struct filter *where_filter(const struct row_filter *f)
{
    return ((const struct where *)f)->filter;
}

enum err where_now(struct request *rq, const struct row_filter *f, struct slice key,
                   struct slice value, bool *matches)
{
    struct view v = view_reading(rq->env->db->engine, rq->overlay, rq->client->database, rq->arena,
                                 rq->waiter);
    struct row_source from = {
        .arena = rq->arena, .work_max = ROW_LOOP_WORK_MAX, .get = fields_source, .arg = &v};
    enum err r = row_filter_decide(f, key, value, &from, matches, &rq->error);
    depends_raise(&rq->depends, v.depends);
    return r;
}

enum err arg_where(struct request *rq, struct slice json, struct row_filter **out)
{
    struct filter *filter = NULL;
    int64_t now_ms = engine_time_ms(rq->env->db->engine);
    enum err r = filter_compile(json, now_ms, &filter, &rq->error);
    *out = NULL;
    if (r != OK) return r;
    struct where *w = mem_new(sizeof *w);
    *w = (struct where){.base = {.passes = filter_conditions(filter),
                                 .matches = where_matches,
                                 .asks = collection_is_spread_hash,
                                 .judge = where_judge,
                                 .ref = where_ref,
                                 .unref = where_unref},
                        .filter = filter,
                        .now_ms = now_ms,
                        .refs = 1};
    w->name_count = filter_names(filter, w->names, FIELD_NAMES_MAX);
    *out = &w->base;
    return OK;
}
