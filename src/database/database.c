/* database: rows of the catalog as MessagePack, what memory has of them, which only commits and the
 * start change, the rates, and the operations that write rows. A rate is one number: when the
 * bucket is full again; each command moves it on, and it may be ahead by a tenth of a second. */
#include "database/database.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/pack.h"
#include "database/database_int.h"

#define ROW_FORMAT 2
#define ROW_MEMBERS 10
#define ROW_MEMBERS_1 8 /* of format 1 */
#define NUMBER_BYTES 2
#define BURST_US 100000

/* ---- rows ---- */

static struct slice row_key(struct arena *arena, uint16_t number)
{
    uint8_t *p = arena_alloc(arena, KEY_HEAD_BYTES + NUMBER_BYTES);
    uint8_t *at = key_head_write(p, DATABASE_CATALOG, SPACE_DATABASE);
    at[0] = (uint8_t)(number >> 8);
    at[1] = (uint8_t)number;
    return slice_of(p, KEY_HEAD_BYTES + NUMBER_BYTES);
}

static struct slice row_write(struct arena *arena, const struct database *d)
{
    struct buf out;
    uint8_t head[PACK_HEAD_BYTES];
    size_t len = pack_head(PACK_ARRAY, 0, ROW_MEMBERS, head);
    buf_init(&out);
    buf_append(&out, head, len);
    pack_uint(&out, ROW_FORMAT);
    pack_str(&out, d->name);
    pack_str(&out, d->comment);
    pack_uint(&out, d->limits.bytes_max);
    pack_uint(&out, d->limits.entries_max);
    pack_uint(&out, d->limits.rate);
    pack_uint(&out, d->created);
    pack_uint(&out, (uint64_t)d->created_ms);
    pack_uint(&out, d->limits.keep);
    pack_uint(&out, d->limits.is_left_out);
    buf_require(&out);
    struct slice row = arena_copy(arena, buf_slice(&out));
    buf_fini(&out);
    return row;
}

struct row {
    const uint8_t *at, *end;
    bool is_bad;
};

static struct pack_item row_next(struct row *r, enum pack_type type)
{
    struct pack_item item = {0};
    if (!r->is_bad) r->is_bad = pack_read(&r->at, r->end, &item) != PACK_OK || item.type != type;
    return item;
}

bool database_row_read(struct slice bytes, struct database *d)
{
    struct row r = {.at = bytes.data, .end = bytes.data + bytes.len};
    uint64_t members = row_next(&r, PACK_ARRAY).count;
    uint64_t format = row_next(&r, PACK_UINT).u;
    bool is_first = format == 1 && members == ROW_MEMBERS_1;
    if (!is_first && (format != ROW_FORMAT || members != ROW_MEMBERS)) return false;
    d->name = row_next(&r, PACK_STR).body;
    d->comment = row_next(&r, PACK_STR).body;
    d->limits.bytes_max = row_next(&r, PACK_UINT).u;
    d->limits.entries_max = row_next(&r, PACK_UINT).u;
    d->limits.rate = row_next(&r, PACK_UINT).u;
    d->created = row_next(&r, PACK_UINT).u;
    d->created_ms = (int64_t)row_next(&r, PACK_UINT).u;
    if (!is_first) d->limits.keep = row_next(&r, PACK_UINT).u;
    if (!is_first) d->limits.is_left_out = row_next(&r, PACK_UINT).u != 0;
    return !r.is_bad && r.at == r.end && d->name.len > 0 && d->name.len <= DATABASE_NAME_MAX;
}

/* ---- what memory has of them ---- */

static void texts_set(struct database *d, struct slice name, struct slice comment)
{
    uint8_t *p = mem_alloc(name.len + comment.len + 1);
    if (name.len > 0) memcpy(p, name.data, name.len);
    if (comment.len > 0) memcpy(p + name.len, comment.data, comment.len);
    mem_free(d->texts);
    d->texts = p;
    d->name = slice_of(p, name.len);
    d->comment = slice_of(p + name.len, comment.len);
}

static void database_free(struct database *d)
{
    mem_free(d->texts);
    mem_free(d);
}

static struct database *put(struct databases *x, uint16_t number)
{
    struct database **at = (struct database **)sparse_slot(&x->numbers, number);
    if (*at != NULL) return *at;
    struct database *d = *at = mem_new(sizeof *d);
    char name[8];
    int len = snprintf(name, sizeof name, "%u", number);
    d->number = number;
    x->totals.count += number >= x->fixed;
    texts_set(d, slice_of(name, (size_t)len), slice_of(NULL, 0));
    waiter_list_init(&d->late);
    return d;
}

static void take_row(struct databases *x, uint16_t number, const struct database *row,
                     uint64_t version)
{
    struct database *d = put(x, number);
    bool had_quota = has_quota(d);
    texts_set(d, row->name, row->comment);
    d->limits = row->limits;
    d->created = row->created;
    d->created_ms = row->created_ms;
    d->has_row = true;
    if (has_quota(d) && !had_quota) x->limited++;
    if (!has_quota(d) && had_quota) x->limited--;
    if (has_quota(d) && !had_quota) d->exact_from = version;
    if (d->limits.rate == 0) waiter_wake_all(&d->late);
}

static void drop(struct databases *x, uint16_t number)
{
    struct database *d = sparse_get(&x->numbers, number);
    if (d == NULL) return;
    if (has_quota(d)) x->limited--;
    x->totals.count -= number >= x->fixed;
    x->totals.operations -= d->operations;
    x->totals.throttled -= d->throttled;
    *sparse_slot(&x->numbers, number) = NULL;
    waiter_wake_all(&d->late);
    database_free(d);
}

struct database *database_get(struct databases *x, uint16_t number)
{
    struct database *d = sparse_get(&x->numbers, number);
    return d == NULL && number < x->fixed ? put(x, number) : d;
}

struct database *database_find(struct databases *x, struct slice name)
{
    uint64_t number = 0;
    struct database *d;
    if (slice_to_u64(name, &number)) {
        return number < DATABASE_CATALOG ? database_get(x, (uint16_t)number) : NULL;
    }
    for (uint32_t i = 0; (d = sparse_next(&x->numbers, &i)) != NULL; i++) {
        if (slice_eq(d->name, name)) return d;
    }
    return NULL;
}

struct database *database_next(struct databases *x, uint32_t *at)
{
    if (*at < x->fixed) return put(x, (uint16_t)*at);
    return sparse_next(&x->numbers, at);
}

void databases_totals(const struct databases *x, struct databases_totals *out)
{
    *out = x->totals;
    out->count += x->fixed;
    out->is_reading = !engine_start_is_over(x->engine, SPACE_DATABASE);
}

void database_count_throttled(struct databases *x, struct database *d)
{
    d->throttled++;
    x->totals.throttled++;
}

/* ---- rows that come and go ---- */

/* Key and value of SPACE_DATABASE; value NULL = it was deleted. ERR_CORRUPT: it is damaged. */
static enum err take_mutation(struct databases *x, struct slice key, const struct slice *value,
                              uint64_t version, struct error *e)
{
    struct database row = {0};
    if (secret_take(x, key, value)) return OK;
    if (key.len != KEY_HEAD_BYTES + NUMBER_BYTES) return OK;
    const uint8_t *at = key.data + KEY_HEAD_BYTES;
    uint16_t number = (uint16_t)(at[0] << 8 | at[1]);
    if (value == NULL) {
        drop(x, number);
        return OK;
    }
    if (number == DATABASE_CATALOG && value->len == NUMBER_BYTES) {
        x->last_number = (uint16_t)(value->data[0] << 8 | value->data[1]);
        return OK;
    }
    if (!database_row_read(*value, &row)) {
        return error_set(e, ERR_CORRUPT, "the row of database %u in the catalog is damaged",
                         number);
    }
    take_row(x, number, &row, version);
    return OK;
}

static void on_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct databases *x = arg;
    struct error e;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        bool is_set = mu->kind == MUTATION_SET;
        if (key_space(mu->key) != SPACE_DATABASE) continue;
        enum err r = take_mutation(x, mu->key, is_set ? &mu->value : NULL, version, &e);
        INVARIANT(r == OK); /* it was written by this layer, just now */
    }
}

static enum err row_given(void *arg, struct slice key, const struct entry *entry, struct error *e)
{
    struct databases *x = arg;
    struct backend *b = engine_backend(x->engine);
    return take_mutation(x, key, &entry->value, backend_version_newest(b), e);
}

enum err databases_ready(struct databases *x, struct waiter *w, struct error *e)
{
    if (x->is_read) return OK;
    enum err r = engine_start_check(x->engine, SPACE_DATABASE, DATABASE_CATALOG, w, e);
    x->is_read = r == OK;
    return r;
}

/* ---- rates ---- */

enum err database_take(struct databases *x, struct database *d, uint64_t cost, struct waiter *w,
                       struct error *e)
{
    if (d->limits.rate != 0) {
        int64_t now_us = clock_mono_us();
        if (d->free_us > now_us + BURST_US) {
            waiter_add(&d->late, w);
            x->has_late = true;
            return error_set(e, ERR_WAIT, "the database has its rate");
        }
        if (d->free_us < now_us) d->free_us = now_us;
        if (d->free_rest >= d->limits.rate) d->free_rest = 0; /* it is of another rate */
        uint64_t parts = cost * 1000000 + d->free_rest;
        d->free_us += (int64_t)(parts / d->limits.rate);
        d->free_rest = parts % d->limits.rate;
    }
    d->operations += cost;
    x->totals.operations += cost;
    return OK;
}

bool databases_have_late(const struct databases *x)
{
    return x->has_late;
}

void databases_tick(struct databases *x)
{
    struct database *d;
    int64_t now_us = clock_mono_us();
    if (!x->has_late) return;
    x->has_late = false; /* who still has to wait says so again */
    for (uint32_t i = 0; (d = sparse_next(&x->numbers, &i)) != NULL; i++) {
        if (d->late.head.next == &d->late.head) continue;
        x->has_late = true;
        int64_t free_us = now_us + BURST_US - d->free_us;
        if (d->limits.rate == 0) {
            waiter_wake_all(&d->late);
        } else if (free_us >= 0) {
            waiter_wake(&d->late, 1 + (size_t)((uint64_t)free_us * d->limits.rate / 1000000));
        }
    }
}

/* ---- changes ---- */

/* ERR_SYNTAX unless it can be a name: 1 to 64 of A-Z a-z 0-9 _ . -, not digits alone. */
static enum err name_check(struct slice name, struct error *e)
{
    bool has_other = false;
    bool is_good = name.len > 0 && name.len <= DATABASE_NAME_MAX;
    for (size_t i = 0; i < name.len && is_good; i++) {
        uint8_t c = name.data[i];
        bool is_digit = c >= '0' && c <= '9';
        bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        is_good = is_digit || is_letter || c == '_' || c == '.' || c == '-';
        has_other = has_other || !is_digit;
    }
    if (!is_good) {
        return error_set(e, ERR_SYNTAX,
                         "the name of a database must be 1 to %d of A-Z, a-z, 0-9, _, . and -",
                         DATABASE_NAME_MAX);
    }
    if (has_other) return OK;
    return error_set(e, ERR_SYNTAX,
                     "digits alone are the number of a database; add a letter to the name, such "
                     "as db%.*s",
                     (int)name.len, (const char *)name.data);
}

static enum err check_free(struct databases *x, struct slice name, struct error *e)
{
    enum err r = name_check(name, e);
    if (r != OK || database_find(x, name) == NULL) return r;
    return error_set(e, ERR_SYNTAX, "database '%.*s' already exists", (int)name.len,
                     (const char *)name.data);
}

static enum err choose_number(const struct database_op *o, uint16_t *number, struct error *e)
{
    struct databases *x = o->databases;
    uint32_t first = DATABASE_FIXED_MAX;
    uint32_t n = x->last_number >= first ? x->last_number + 1u : first;
    for (unsigned i = 0; i < DATABASES_MAX; i++, n++) {
        if (n >= DATABASE_CATALOG) n = first;
        bool is_used = sparse_get(&x->numbers, (uint16_t)n) != NULL ||
                       (o->is_used != NULL && o->is_used(o->arg, (uint16_t)n));
        if (is_used) continue;
        *number = (uint16_t)n;
        return OK;
    }
    return error_set(e, ERR_LIMIT, "there are %u databases, and no numbers are left",
                     DATABASE_CATALOG - first);
}

static enum err create(struct database_op *o, struct view *v, struct error *e)
{
    struct databases *x = o->databases;
    enum err r = check_free(x, o->name, e);
    if (r == OK) r = choose_number(o, &o->number, e);
    if (r != OK) return r;
    struct database d = {.name = o->name,
                         .comment = o->comment,
                         .limits = o->limits,
                         .created = v->version,
                         .created_ms = v->now_ms};
    uint8_t *last = arena_alloc(v->arena, NUMBER_BYTES);
    last[0] = (uint8_t)(o->number >> 8);
    last[1] = (uint8_t)o->number;
    view_set(v, row_key(v->arena, o->number), row_write(v->arena, &d));
    view_set(v, row_key(v->arena, DATABASE_CATALOG), slice_of(last, NUMBER_BYTES));
    return OK;
}

static enum err apply(struct layer_op *op, struct view *v, bool *is_met, struct error *e)
{
    struct database_op *o = (struct database_op *)op;
    struct databases *x = o->databases;
    enum err r = databases_ready(x, v->waiter, e);
    *is_met = true;
    if (r != OK) return r;
    if (o->change == DATABASE_CREATE) return create(o, v, e);
    const struct database *was = database_get(x, o->number);
    if (was == NULL) return error_set(e, ERR_NODB, "database %u does not exist", o->number);
    struct database d = *was;
    switch (o->change) {
    case DATABASE_RENAME:
        r = check_free(x, o->name, e);
        d.name = o->name;
        break;
    case DATABASE_LIMIT:
        d.limits = o->limits;
        d.comment = o->comment;
        break;
    default:
        if (o->number < x->fixed || o->number < DATABASE_FIXED_MAX) {
            return error_set(e, ERR_SYNTAX,
                             "databases 0 to %d always exist; empty one with FLUSHDB",
                             DATABASE_FIXED_MAX - 1);
        }
        view_delete(v, row_key(v->arena, o->number));
        return OK;
    }
    if (r == OK) view_set(v, row_key(v->arena, o->number), row_write(v->arena, &d));
    return r;
}

struct op database_op(struct database_op *x)
{
    x->base.apply = apply;
    return (struct op){.kind = OP_LAYER, .layer = &x->base};
}

/* ---- life ---- */

struct databases *databases_new(struct engine *g, unsigned fixed)
{
    struct databases *x = mem_new(sizeof *x);
    struct layer layer = {.admit = quota_admit,
                          .kinds = LAYER_SPACE(SPACE_DATABASE),
                          .on_commit = on_commit,
                          .arg = x};
    struct start_space rows = {.space = SPACE_DATABASE,
                               .what = "catalog of databases",
                               .rank = 0,
                               .row = row_given,
                               .arg = x};
    x->engine = g;
    x->fixed = fixed;
    engine_add_layer(g, &layer);
    engine_read_at_start(g, &rows);
    return x;
}

void databases_free(struct databases *x)
{
    struct database *d;
    if (x == NULL) return;
    for (uint32_t i = 0; (d = sparse_next(&x->numbers, &i)) != NULL; i++) database_free(d);
    sparse_fini(&x->numbers);
    mem_free(x);
}
