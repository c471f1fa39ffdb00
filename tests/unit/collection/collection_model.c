#include "unit/collection/collection_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codec/key.h"
#include "collection/copy.h"
#include "collection/list.h"
#include "collection/walk.h"

static const double scores[] = {0,      -0.0, 1,   2, 3,        -1,        1e300, -1e300,
                                5e-324, 0.1,  1.5, 7, INFINITY, -INFINITY, 2,     2.5};
#define SCORES (sizeof scores / sizeof scores[0])
#define SHORT_NAMES 115 /* the names after these are long */
#define VALUES 40

/* ---- what names, values and scores stand for ---- */

static struct slice padded(struct arena *arena, size_t bytes, unsigned number)
{
    uint8_t *p = arena_alloc(arena, bytes);
    memset(p, 'x', bytes);
    for (size_t i = bytes; i > bytes - 3; number /= 10) p[--i] = (uint8_t)('0' + number % 10);
    return slice_of(p, bytes);
}

static struct slice name_of(struct arena *arena, unsigned name)
{
    static const size_t lengths[] = {1000, 1001, 1300};
    if (name < SHORT_NAMES) return padded(arena, 3 + name % 9, name);
    return padded(arena, lengths[name % 3], name);
}

static struct slice value_of(struct arena *arena, int value)
{
    return padded(arena, 3 + (size_t)value % 5 * 11, (unsigned)value);
}

/* Its last three digits. */
static unsigned number_of(struct slice s)
{
    unsigned n = 0;
    assert_true(s.len >= 3);
    for (size_t i = s.len - 3; i < s.len; i++) {
        assert_in_range(s.data[i], '0', '9');
        n = n * 10 + (s.data[i] - '0');
    }
    return n;
}

/* The first of those with the same bits. */
static int number_of_score(double score)
{
    for (size_t i = 0; i < SCORES; i++) {
        if (memcmp(&scores[i], &score, sizeof score) == 0) return (int)i;
    }
    fail_msg("a score that nothing has: %g", score);
    return 0;
}

struct slice cmodel_key_of(struct arena *arena, const struct cmodel_place *p, unsigned key)
{
    struct buf b = {0};
    char name[16];
    engine_key_begin(&b, p->database);
    snprintf(name, sizeof name, "c%u", key);
    key_add_string(&b, slice_str(name));
    struct slice kept = arena_copy(arena, buf_slice(&b));
    buf_fini(&b);
    return kept;
}

/* ---- the model ---- */

static bool is_list(const struct cmodel_key *k)
{
    return k->kind == COLLECTION_LIST;
}

static unsigned count_of(const struct cmodel_key *k)
{
    unsigned n = 0;
    if (is_list(k)) return k->count;
    if (k->kind == COLLECTION_STREAM) return 1; /* it is there with no entry too */
    for (unsigned i = 0; i < CMODEL_NAMES; i++) n += k->items[i] != 0;
    return n;
}

static void absent_when_empty(struct cmodel_key *k)
{
    if (k->kind != 0 && k->kind != CMODEL_PLAIN && count_of(k) == 0) *k = (struct cmodel_key){0};
}

void cmodel_advance(struct cmodel *m, int64_t now_ms)
{
    for (unsigned i = 0; i < CMODEL_KEYS; i++) {
        struct cmodel_key *k = &m->keys[i];
        for (unsigned n = 0; n < CMODEL_NAMES; n++) {
            if (k->expiries[n] == 0 || k->expiries[n] > now_ms) continue;
            k->items[n] = 0;
            k->expiries[n] = 0;
        }
        absent_when_empty(k);
        if (k->expiry_ms != 0 && k->expiry_ms <= now_ms) *k = (struct cmodel_key){0};
    }
}

static bool same_key(const struct cmodel_key *a, const struct cmodel_key *b)
{
    return a->kind == b->kind && a->expiry_ms == b->expiry_ms && a->count == b->count &&
           memcmp(a->items, b->items, sizeof a->items) == 0 &&
           memcmp(a->expiries, b->expiries, sizeof a->expiries) == 0 &&
           memcmp(&a->stream, &b->stream, sizeof a->stream) == 0;
}

bool cmodel_same(const struct cmodel *a, const struct cmodel *b)
{
    for (unsigned i = 0; i < CMODEL_KEYS; i++) {
        if (!same_key(&a->keys[i], &b->keys[i])) return false;
    }
    return true;
}

const char *cmodel_difference(const struct cmodel *found, const struct cmodel *wanted)
{
    static char text[256];
    text[0] = '\0';
    for (unsigned i = 0; i < CMODEL_KEYS; i++) {
        const struct cmodel_key *a = &found->keys[i];
        const struct cmodel_key *b = &wanted->keys[i];
        if (same_key(a, b)) continue;
        unsigned n = 0;
        while (n < CMODEL_ITEMS - 1 && a->items[n] == b->items[n]) n++;
        snprintf(text, sizeof text,
                 "key %u: kind %u not %u, expiry %lld not %lld, %u not %u elements, at %u: %d not "
                 "%d",
                 i, a->kind, b->kind, (long long)a->expiry_ms, (long long)b->expiry_ms, count_of(a),
                 count_of(b), n, a->items[n], b->items[n]);
    }
    return text;
}

/* ---- drawing ---- */

static unsigned below(struct rng *g, unsigned n)
{
    return (unsigned)rng_below(g, n);
}

static void draw_items(struct rng *g, const struct cmodel_key *k, int64_t now_ms,
                       struct cmodel_op *op)
{
    unsigned most = below(g, 8) == 0 ? CMODEL_OP_ITEMS : 6;
    op->count = 1 + below(g, most);
    if (is_list(k) && k->count + op->count > CMODEL_ITEMS) op->count = 0;
    for (unsigned i = 0; i < op->count; i++) {
        /* Long ones are few, so that there are packed ones too. */
        op->names[i] = below(g, below(g, 40) == 0 ? CMODEL_NAMES : SHORT_NAMES);
        op->values[i] = (int)below(g, op->kind == COLLECTION_ZSET ? SCORES : VALUES);
        if (op->kind == COLLECTION_ZSET) op->values[i] = number_of_score(scores[op->values[i]]);
        bool expires = op->kind == COLLECTION_HASH && below(g, 3) == 0;
        if (expires) op->expiries[i] = now_ms + 1 + below(g, 3000);
    }
}

static enum cmodel_what any_of_list(struct rng *g)
{
    static const enum cmodel_what what[] = {
        CMODEL_PUT,    CMODEL_PUT,          CMODEL_PUT,    CMODEL_REMOVE, CMODEL_SET_AT,
        CMODEL_SET_AT, CMODEL_REMOVE_VALUE, CMODEL_INSERT, CMODEL_INSERT, CMODEL_TRIM};
    return what[below(g, sizeof what / sizeof what[0])];
}

void cmodel_draw(struct rng *g, const struct cmodel *m, int64_t now_ms, struct cmodel_op *out)
{
    static const enum cmodel_what of_any[] = {CMODEL_EXPIRE, CMODEL_DELETE, CMODEL_SET_PLAIN,
                                              CMODEL_STORE,  CMODEL_RENAME, CMODEL_COPY};
    *out = (struct cmodel_op){.key = below(g, CMODEL_KEYS), .other = below(g, CMODEL_KEYS)};
    const struct cmodel_key *k = &m->keys[out->key];
    bool has_kind = k->kind != 0 && k->kind != CMODEL_PLAIN && below(g, 15) > 0;
    out->kind = has_kind ? (enum collection_kind)k->kind
                         : (enum collection_kind)(COLLECTION_HASH + below(g, 5));
    out->what = below(g, 10) < 6 ? CMODEL_PUT : CMODEL_REMOVE;
    if (out->kind == COLLECTION_LIST) out->what = any_of_list(g);
    if (out->kind == COLLECTION_STREAM) out->what = CMODEL_STREAM;
    if (below(g, 9) == 0) out->what = of_any[below(g, 6)];
    bool is_stored = out->what == CMODEL_STORE;
    bool has_names = out->kind != COLLECTION_LIST && out->kind != COLLECTION_STREAM;
    if (is_stored && !has_names) out->kind = COLLECTION_SET;
    draw_items(g, k, now_ms, out);
    for (size_t i = 0; i < CMODEL_STREAM_OPS; i++) smodel_draw(g, &out->stream[i]);
    out->at = below(g, CMODEL_ITEMS);
    out->upto = below(g, CMODEL_ITEMS);
    out->is_head = below(g, 2) == 0;
    if (below(g, 2) == 0) out->expiry_ms = now_ms + 1 + below(g, 4000);
}

/* ---- doing: elements with names ---- */

static void check(enum err r, const struct error *e)
{
    if (r != OK && r != ERR_WAIT) fail_msg("%s", e->text);
}

static int item_of(const struct cmodel_op *op, unsigned i)
{
    return (op->kind == COLLECTION_SET ? 0 : op->values[i]) + 1;
}

static struct element element_of(struct arena *arena, const struct cmodel_op *op, unsigned i)
{
    struct element x = {.name = name_of(arena, op->names[i])};
    if (op->kind == COLLECTION_HASH) x.value = value_of(arena, op->values[i]);
    if (op->kind == COLLECTION_HASH) x.expiry_ms = op->expiries[i];
    if (op->kind == COLLECTION_ZSET) x.score = scores[op->values[i]];
    return x;
}

/* What the model has in its words. */
static int item_read(enum collection_kind kind, const struct element *x)
{
    if (kind == COLLECTION_HASH) return (int)number_of(x->value) + 1;
    return kind == COLLECTION_ZSET ? number_of_score(x->score) + 1 : 1;
}

static enum err put_elements(struct collection *c, const struct cmodel_op *op, struct cmodel_key *k,
                             struct error *e)
{
    struct arena *arena = c->view->arena;
    enum err r = OK;
    for (unsigned i = 0; i < op->count && r == OK; i++) {
        struct element x = element_of(arena, op, i);
        struct element old;
        bool was_there = false;
        int *item = &k->items[op->names[i]];
        r = collection_put(c, &x, &was_there, &old, e);
        if (r != OK) break;
        assert_int_equal(was_there, *item != 0);
        if (was_there) assert_int_equal(item_read(op->kind, &old), *item);
        *item = item_of(op, i);
        k->expiries[op->names[i]] = x.expiry_ms;
    }
    return r;
}

static enum err remove_elements(struct collection *c, const struct cmodel_op *op,
                                struct cmodel_key *k, struct error *e)
{
    enum err r = OK;
    for (unsigned i = 0; i < op->count && r == OK; i++) {
        struct slice name = name_of(c->view->arena, op->names[i]);
        struct element x;
        bool found = false;
        int *item = &k->items[op->names[i]];
        r = collection_find(c, name, &found, &x, e);
        if (r != OK) break;
        assert_int_equal(found, *item != 0);
        if (found) assert_int_equal(item_read(op->kind, &x), *item);
        if (found) assert_int_equal(x.expiry_ms, k->expiries[op->names[i]]);
        r = collection_remove(c, name, &found, &x, e);
        if (r != OK) break;
        assert_int_equal(found, *item != 0);
        if (found) assert_int_equal(item_read(op->kind, &x), *item);
        *item = 0;
        k->expiries[op->names[i]] = 0;
    }
    return r;
}

/* ---- doing: lists ---- */

static void model_insert(struct cmodel_key *k, unsigned at, int value)
{
    assert_true(k->count < CMODEL_ITEMS);
    memmove(&k->items[at + 1], &k->items[at], (k->count - at) * sizeof *k->items);
    k->items[at] = value + 1;
    k->count++;
}

static void model_take(struct cmodel_key *k, unsigned at)
{
    k->count--;
    memmove(&k->items[at], &k->items[at + 1], (k->count - at) * sizeof *k->items);
    k->items[k->count] = 0;
}

static enum err list_put(struct collection *c, const struct cmodel_op *op, struct cmodel_key *k,
                         struct error *e)
{
    enum err r = OK;
    for (unsigned i = 0; i < op->count && r == OK; i++) {
        r = list_push(c, op->is_head, value_of(c->view->arena, op->values[i]), e);
        model_insert(k, op->is_head ? 0 : k->count, op->values[i]);
    }
    return r;
}

static enum err list_take(struct collection *c, const struct cmodel_op *op, struct cmodel_key *k,
                          struct error *e)
{
    struct slice *out = NULL;
    unsigned count = op->count < k->count ? op->count : k->count;
    enum err r = list_pop(c, op->is_head, count, &out, e);
    for (unsigned i = 0; i < count && r == OK; i++) {
        unsigned at = op->is_head ? 0 : k->count - 1;
        assert_int_equal(number_of(out[i]) + 1, k->items[at]);
        model_take(k, at);
    }
    return r;
}

static enum err list_set_at(struct collection *c, const struct cmodel_op *op, struct cmodel_key *k,
                            struct error *e)
{
    unsigned at = op->at % k->count;
    struct slice there;
    enum err r = list_get(c, at, &there, e);
    if (r != OK) return r;
    assert_int_equal(number_of(there) + 1, k->items[at]);
    r = list_set(c, at, value_of(c->view->arena, op->values[0]), e);
    k->items[at] = op->values[0] + 1;
    return r;
}

static enum err list_remove_value(struct collection *c, const struct cmodel_op *op,
                                  struct cmodel_key *k, struct error *e)
{
    uint64_t removed = 0;
    unsigned max = op->at % 4;
    unsigned wanted = 0;
    struct slice value = value_of(c->view->arena, op->values[0]);
    enum err r = list_remove(c, value, !op->is_head, max, &removed, e);
    unsigned at = op->is_head ? 0 : k->count;
    while (r == OK && (max == 0 || wanted < max) && (op->is_head ? at < k->count : at > 0)) {
        unsigned i = op->is_head ? at : --at;
        bool is_one = k->items[i] == op->values[0] + 1;
        if (is_one) model_take(k, i);
        wanted += is_one;
        at += op->is_head && !is_one;
    }
    if (r == OK) assert_int_equal(removed, wanted);
    return r;
}

static enum err list_insert_value(struct collection *c, const struct cmodel_op *op,
                                  struct cmodel_key *k, struct error *e)
{
    struct arena *arena = c->view->arena;
    bool found = false;
    int pivot = (int)op->at % VALUES;
    unsigned at = 0;
    if (k->count == CMODEL_ITEMS) return OK;
    enum err r = list_insert(c, op->is_head, value_of(arena, pivot), value_of(arena, op->values[0]),
                             &found, e);
    while (at < k->count && k->items[at] != pivot + 1) at++;
    if (r != OK) return r;
    assert_int_equal(found, at < k->count);
    if (found) model_insert(k, op->is_head ? at : at + 1, op->values[0]);
    return r;
}

static enum err list_trim_to(struct collection *c, const struct cmodel_op *op, struct cmodel_key *k,
                             struct error *e)
{
    unsigned from = op->at % (k->count + 1);
    unsigned upto = from + op->upto % (k->count - from + 1);
    enum err r = list_trim(c, from, upto, e);
    while (k->count > upto) model_take(k, k->count - 1);
    while (from-- > 0) model_take(k, 0);
    return r;
}

static enum err change_list(struct collection *c, const struct cmodel_op *op, struct cmodel_key *k,
                            struct error *e)
{
    if (op->what == CMODEL_PUT) return list_put(c, op, k, e);
    if (k->count == 0 || op->count == 0) return OK;
    switch (op->what) {
    case CMODEL_REMOVE: return list_take(c, op, k, e);
    case CMODEL_SET_AT: return list_set_at(c, op, k, e);
    case CMODEL_REMOVE_VALUE: return list_remove_value(c, op, k, e);
    case CMODEL_INSERT: return list_insert_value(c, op, k, e);
    case CMODEL_TRIM: return list_trim_to(c, op, k, e);
    default: return OK;
    }
}

/* ---- doing: any ---- */

static enum err change_stream(struct collection *c, const struct cmodel_op *op,
                              struct cmodel_key *k, struct error *e)
{
    enum err r = OK;
    for (size_t i = 0; i < CMODEL_STREAM_OPS && r == OK; i++) {
        struct smodel_op one = op->stream[i];
        if (!c->exists) one.what = SMODEL_ADD;
        r = smodel_do(c, &one, &k->stream, e);
    }
    return r;
}

static enum err change(const struct cmodel_place *p, struct view *v, struct slice key,
                       const struct cmodel_op *op, struct cmodel_key *k, struct error *e)
{
    struct collection c;
    enum err r = collection_open(p->all, v, key, op->kind, &c, e);
    bool is_other = k->kind != 0 && k->kind != op->kind;
    if (r == ERR_WAIT) return r;
    assert_int_equal(r, is_other ? ERR_TYPE : OK);
    if (is_other) return OK;
    assert_int_equal(c.exists, k->kind != 0);
    bool is_new = k->kind == 0;
    if (is_new && op->kind == COLLECTION_STREAM && op->what != CMODEL_STREAM) return OK;
    k->kind = op->kind;
    if (op->what == CMODEL_EXPIRE) {
        k->expiry_ms = is_new ? 0 : op->expiry_ms;
        c.expiry_ms = k->expiry_ms;
        c.is_changed = !is_new;
    } else if (op->kind == COLLECTION_STREAM) {
        r = change_stream(&c, op, k, e);
    } else if (op->kind == COLLECTION_LIST) {
        r = change_list(&c, op, k, e);
    } else if (op->what == CMODEL_PUT) {
        r = put_elements(&c, op, k, e);
    } else {
        r = remove_elements(&c, op, k, e);
    }
    absent_when_empty(k);
    return r == OK ? collection_save(&c, e) : r;
}

static enum err store(const struct cmodel_place *p, struct view *v, struct slice key,
                      const struct cmodel_op *op, struct cmodel_key *k, struct error *e)
{
    struct collection c;
    collection_begin(p->all, v, key, op->kind, &c);
    *k = (struct cmodel_key){.kind = op->kind};
    enum err r = put_elements(&c, op, k, e);
    absent_when_empty(k);
    return r == OK ? collection_replace(&c, e) : r;
}

/* RENAME and COPY. */
static enum err take_over(const struct cmodel_place *p, struct view *v, const struct cmodel_op *op,
                          struct cmodel *m, struct error *e)
{
    struct slice from = cmodel_key_of(v->arena, p, op->key);
    struct slice to = cmodel_key_of(v->arena, p, op->other);
    struct entry entry;
    bool is_met = false;
    if (op->key == op->other) return OK;
    enum err r = view_get(v, from, &entry, e);
    if (r != OK) return r;
    assert_int_equal(entry.exists, m->keys[op->key].kind != 0);
    if (!entry.exists) return OK;
    entry.value = arena_copy(v->arena, entry.value);
    struct collection_head h = {.is_spread = false};
    bool is_head = collection_head_read(entry.value, &h);
    bool is_renamed = op->what == CMODEL_RENAME;
    m->keys[op->other] = m->keys[op->key];
    if (is_head && !(is_renamed && (h.is_spread || h.expiring == 0))) {
        struct collection_copy x = {.all = p->all, .from = from, .to = to, .entry = entry};
        struct op copy = collection_copy_op(&x);
        r = copy.layer->apply(copy.layer, v, &is_met, e);
    } else {
        view_set_expiring(v, to, entry.value, entry.expiry_ms);
    }
    if (r == OK && is_renamed) {
        view_delete(v, from);
        m->keys[op->key] = (struct cmodel_key){0};
    }
    return r;
}

enum err cmodel_do(const struct cmodel_place *p, struct view *v, const struct cmodel_op *op,
                   struct cmodel *m)
{
    struct cmodel_key *k = &m->keys[op->key];
    struct slice key = cmodel_key_of(v->arena, p, op->key);
    struct error e = {.text = ""};
    enum err r = OK;
    switch (op->what) {
    case CMODEL_DELETE:
        view_delete(v, key);
        *k = (struct cmodel_key){0};
        break;
    case CMODEL_SET_PLAIN:
        view_set_expiring(v, key, slice_str("\x07"), op->expiry_ms);
        *k = (struct cmodel_key){.kind = CMODEL_PLAIN, .expiry_ms = op->expiry_ms};
        break;
    case CMODEL_STORE: r = store(p, v, key, op, k, &e); break;
    case CMODEL_RENAME:
    case CMODEL_COPY: r = take_over(p, v, op, m, &e); break;
    default: r = change(p, v, key, op, k, &e); break;
    }
    check(r, &e);
    cmodel_advance(m, v->now_ms);
    return r;
}

/* ---- reading ---- */

static void in_order(const struct collection *c, const struct element *before,
                     const struct element *x)
{
    if (c->head.kind != COLLECTION_ZSET) return;
    assert_true(before->score <= x->score);
    if (before->score != x->score) return;
    int order = c->head.is_spread ? name_order(before->name, x->name)
                                  : slice_cmp(before->name, x->name);
    assert_true(order < 0);
}

static enum err read_elements(struct collection *c, struct cmodel_key *out, struct error *e)
{
    struct walk_range range = {.is_reverse = false};
    struct element_walk w;
    struct element x;
    struct element before;
    bool is_end = false;
    unsigned count = 0;
    enum err r = element_walk_begin(&w, c, &range, e);
    for (; r == OK; count++) {
        r = element_walk_next(&w, &x, &is_end, e);
        if (r != OK || is_end) break;
        if (count > 0) in_order(c, &before, &x);
        before = x;
        before.name = arena_copy(c->view->arena, x.name);
        if (c->head.kind == COLLECTION_LIST) {
            assert_true(count < CMODEL_ITEMS);
            out->items[out->count++] = (int)number_of(x.value) + 1;
            continue;
        }
        unsigned name = number_of(x.name);
        assert_true(name < CMODEL_NAMES && out->items[name] == 0);
        out->items[name] = item_read(c->head.kind, &x);
        out->expiries[name] = x.expiry_ms;
    }
    element_walk_end(&w);
    uint64_t length = 0;
    if (r == OK) r = collection_length(c, NULL, &length, e);
    if (r == OK) assert_int_equal(length, count);
    return r;
}

static enum err read_key(const struct cmodel_place *p, struct view *v, unsigned key,
                         struct cmodel_key *out, struct error *e)
{
    struct collection c;
    struct entry entry;
    bool is_one = false;
    struct slice k = cmodel_key_of(v->arena, p, key);
    enum err r = collection_look(p->all, v, k, &c, &is_one, e);
    if (r != OK) return r;
    if (is_one) {
        out->kind = c.head.kind;
        out->expiry_ms = c.expiry_ms;
        if (c.head.kind == COLLECTION_STREAM) return smodel_read(&c, &out->stream, e);
        return read_elements(&c, out, e);
    }
    r = view_get(v, k, &entry, e);
    if (r != OK || !entry.exists) return r;
    out->kind = CMODEL_PLAIN;
    out->expiry_ms = entry.expiry_ms;
    return OK;
}

enum err cmodel_read(const struct cmodel_place *p, struct view *v, struct cmodel *out,
                     struct error *e)
{
    enum err r = OK;
    *out = (struct cmodel){0};
    for (unsigned i = 0; i < CMODEL_KEYS && r == OK; i++) r = read_key(p, v, i, &out->keys[i], e);
    return r;
}
