/* where: a compiled filter (filter/filter.h) as the struct row_filter that scans take
 * (backend/backend.h), with a count of its references.
 *
 * A hash is an object of those of its fields that the filter names. A packed one is made into that
 * wherever it is looked at; of a spread one the fields are asked for.
 */
#include "request/where.h"

#include "base/mem.h"
#include "codec/field.h"
#include "codec/pack.h"
#include "codec/utf8.h"
#include "collection/fields.h"
#include "filter/filter.h"

struct where {
    struct row_filter base; /* first */
    struct filter *filter;
    int64_t now_ms; /* fields that have ended by then are not there */
    struct slice names[FIELD_NAMES_MAX];
    size_t name_count; /* more than FIELD_NAMES_MAX: too many for a spread hash */
    unsigned refs;
};

/* ---- hashes ---- */

static bool is_seen(const struct where *w, const struct element *x)
{
    bool is_alive = x->expiry_ms == 0 || x->expiry_ms > w->now_ms;
    return x->name.data != NULL && is_alive && utf8_valid_bytes(x->name) == x->name.len &&
           utf8_valid_bytes(x->value) == x->value.len;
}

static void add_field(const struct element *x, struct buf *object)
{
    pack_str(object, x->name);
    field_pack(x->value, object);
}

static bool matches_object(const struct where *w, const struct buf *members, size_t count)
{
    struct buf object;
    uint8_t head[PACK_HEAD_BYTES];
    buf_init(&object);
    buf_append(&object, head, pack_head(PACK_MAP, 0, count, head));
    buf_append(&object, members->data, members->len);
    buf_require(&object);
    bool matches = filter_matches(w->filter, buf_slice(&object));
    buf_fini(&object);
    return matches;
}

/* All of its fields: they are few. */
static bool matches_packed(const struct where *w, const struct collection_head *h)
{
    struct buf members;
    struct element x;
    size_t at = 0;
    size_t count = 0;
    buf_init(&members);
    while (collection_packed_next(h, &at, &x)) {
        if (!is_seen(w, &x)) continue;
        add_field(&x, &members);
        count++;
    }
    bool matches = matches_object(w, &members, count);
    buf_fini(&members);
    return matches;
}

static bool is_hash(struct slice value, struct collection_head *h)
{
    return collection_is_head(value) && collection_head_read(value, h) &&
           h->kind == COLLECTION_HASH;
}

static bool where_asks(struct slice value)
{
    struct collection_head h;
    return is_hash(value, &h) && h.is_spread;
}

static enum err where_judge(const struct row_filter *f, struct slice key, struct slice value,
                            const struct row_source *from, bool *matches, struct error *e)
{
    const struct where *w = (const struct where *)f;
    struct field_names names = {.items = w->names, .count = w->name_count};
    struct element fields[FIELD_NAMES_MAX];
    struct buf members;
    size_t count = 0;
    if (w->name_count > FIELD_NAMES_MAX) {
        return error_set(e, ERR_LIMIT,
                         "where: the filter names %zu fields, and at most %d can be looked up in a "
                         "large hash",
                         w->name_count, FIELD_NAMES_MAX);
    }
    enum err r = fields_find(key_database(key), value, &names, from, fields, e);
    if (r != OK) return r;
    buf_init(&members);
    for (size_t i = 0; i < w->name_count; i++) {
        if (!is_seen(w, &fields[i])) continue;
        add_field(&fields[i], &members);
        count++;
    }
    *matches = matches_object(w, &members, count);
    buf_fini(&members);
    return OK;
}

/* ---- the filter ---- */

static bool where_matches(const struct row_filter *f, struct slice value)
{
    const struct where *w = (const struct where *)f;
    struct collection_head h;
    if (!is_hash(value, &h)) return filter_matches(w->filter, value);
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

enum err where_now(struct request *rq, const struct row_filter *f, struct slice key,
                   struct slice value, bool *matches)
{
    struct view v = view_reading(rq->env->db->engine, rq->overlay, rq->client->database, rq->arena,
                                 rq->waiter);
    struct row_source from = {.arena = rq->arena, .get = fields_source, .arg = &v};
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
                                 .asks = where_asks,
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
