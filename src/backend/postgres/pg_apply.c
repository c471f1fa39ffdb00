/* pg_apply: a memtable becomes part of tupled_entry, in slices, each one statement (store thread).
 * For each slice it is read what its rows replace, so that the counts go with them: there is no
 * other writer, as the statement that follows is fenced.
 *
 * Each write of the store moves tupled_applied.step by one, from where this leader knows it to be.
 * So none is missed: not by a leader that is followed, nor when PostgreSQL lost one, as a server
 * without it was promoted. A statement without an answer may be done twice; then the step is there
 * already.
 */
#include "backend/postgres/pg_store_int.h"
#include "base/bytes.h"
#include "base/mem.h"

#define SLICE_ROWS 4000
#define DATABASES_IN_SLICE 64 /* that a statement changes the counts of, at most */

static const char applying_sql[] =
    "UPDATE tupled_leader SET applying_to = greatest(applying_to, $3) WHERE id = $1 AND "
    "epoch = $2";
/* In the order of the keys that were asked for. */
static const char old_sql[] =
    "SELECT k.i, e.expiry_ms, length(e.value)::int8 FROM unnest($2::bytea[]) WITH ORDINALITY "
    "k(key, i) JOIN tupled_entry e ON e.id = $1 AND e.key = k.key WHERE " PG_IS_THERE;
static const char write_sql[] =
    "WITH me AS (UPDATE tupled_applied SET applied = $3, step = $11 WHERE id = $1 AND epoch = $2 "
    "AND step IN ($11 - 1, $11) RETURNING id), "
    "put AS (INSERT INTO tupled_entry SELECT me.id, u.* FROM me, unnest($4::bytea[], $5::int8[], "
    "$6::int8[], $7::int8[], $8::bytea[]) u ON CONFLICT (id, key) DO UPDATE SET "
    "version = excluded.version, expiry_ms = excluded.expiry_ms, checksum = excluded.checksum, "
    "value = excluded.value), "
    "del AS (DELETE FROM tupled_entry USING me WHERE tupled_entry.id = me.id "
    "AND key = ANY($9::bytea[])), "
    "cnt AS (INSERT INTO tupled_count SELECT me.id, ($10::int8[])[n], ($10::int8[])[n + 1], "
    "($10::int8[])[n + 2], ($10::int8[])[n + 3] FROM me, "
    "generate_series(1, array_length($10::int8[], 1), 4) n ON CONFLICT (id, database) "
    "DO UPDATE SET entries = excluded.entries, expiring = excluded.expiring, "
    "bytes = excluded.bytes) "
    "SELECT count(*) FROM me";

/* The rows of a slice. */
struct slice_rows {
    const struct mem_entry *entries[SLICE_ROWS];
    size_t count;
    struct slice keys[SLICE_ROWS]; /* of all of them, then of those that are put, or deleted */
    int64_t versions[SLICE_ROWS], expiries[SLICE_ROWS], sums[SLICE_ROWS];
    struct slice values[SLICE_ROWS];
    struct slice gone[SLICE_ROWS];
    struct sparse changes; /* struct store_change of the databases */
};

static bool is_flushed(const struct memtable *m, const struct mem_entry *entry)
{
    return entry->newest->version < memtable_flushed(m, key_database(entry->key));
}

/* The next rows from `it` on; what is flushed is passed over. */
static void collect(const struct pg_store *s, const struct memtable *m, struct omap_iter *it,
                    struct slice_rows *rows)
{
    size_t bytes = 0;
    rows->count = 0;
    for (; rows->count < SLICE_ROWS && bytes < s->slice_bytes; omap_next(it)) {
        const struct mem_entry *entry = omap_peek(it);
        if (entry == NULL) return;
        if (is_flushed(m, entry)) continue;
        bytes += entry->key.len + entry->newest->value_len;
        rows->keys[rows->count] = entry->key;
        rows->entries[rows->count++] = entry;
    }
}

static void change(struct slice_rows *rows, const struct mem_entry *entry, int sign,
                   int64_t expiry_ms, int64_t value_len)
{
    bool is_counted = key_space(entry->key) == STORE_SPACE_COUNTED;
    struct store_change c = {.entries = is_counted ? sign : 0,
                             .expiring = is_counted && expiry_ms != 0 ? sign : 0,
                             .bytes = sign *
                                      ((int64_t)entry->key.len - KEY_HEAD_BYTES + value_len)};
    store_change_add(&rows->changes, key_database(entry->key), &c);
}

/* What is there now of the rows' keys goes from the counts, what they bring is added. */
static enum err read_old(struct pg_store *s, struct slice_rows *rows, struct error *e)
{
    pg_begin(s->pg);
    pg_put_i64(s->pg, term_id(s->term));
    pg_put_slices(s->pg, rows->keys, rows->count);
    enum err r = pg_run_again(s->pg, old_sql, e);
    if (r != OK) return r;
    for (size_t i = 0; i < pg_rows(s->pg); i++) {
        size_t at = (size_t)pg_i64(s->pg, i, 0) - 1;
        if (at >= rows->count) return error_set(e, ERR_CORRUPT, "invalid result from PostgreSQL");
        change(rows, rows->entries[at], -1, pg_i64(s->pg, i, 1), pg_i64(s->pg, i, 2));
    }
    for (size_t i = 0; i < rows->count; i++) {
        const struct mem_version *v = rows->entries[i]->newest;
        if (!v->is_tombstone) {
            change(rows, rows->entries[i], 1, v->expiry_ms, (int64_t)v->value_len);
        }
    }
    return OK;
}

static void put_rows(struct pg *c, struct slice_rows *rows)
{
    size_t puts = 0;
    size_t gone = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct mem_entry *entry = rows->entries[i];
        const struct mem_version *v = entry->newest;
        struct slice value = slice_of(v->value, v->value_len);
        if (v->is_tombstone) {
            rows->gone[gone++] = entry->key;
            continue;
        }
        rows->keys[puts] = entry->key;
        rows->versions[puts] = (int64_t)v->version;
        rows->expiries[puts] = v->expiry_ms;
        rows->sums[puts] = pg_entry_checksum(entry->key, v->version, v->expiry_ms, value);
        rows->values[puts++] = value;
    }
    pg_put_slices(c, rows->keys, puts);
    pg_put_i64s(c, rows->versions, puts);
    pg_put_i64s(c, rows->expiries, puts);
    pg_put_i64s(c, rows->sums, puts);
    pg_put_slices(c, rows->values, puts);
    pg_put_slices(c, rows->gone, gone);
}

static struct store_counts changed(const struct store_counts *now, const struct store_change *c)
{
    return (struct store_counts){.entries = now->entries + (uint64_t)c->entries,
                                 .expiring = now->expiring + (uint64_t)c->expiring,
                                 .bytes = now->bytes + (uint64_t)c->bytes};
}

/* What the counts will be, four numbers for each database. */
static void put_counts(struct pg_store *s, const struct slice_rows *rows)
{
    struct buf numbers;
    const struct store_change *c;
    buf_init(&numbers);
    for (uint32_t i = 0; (c = sparse_next(&rows->changes, &i)) != NULL; i++) {
        struct store_counts now = store_counts_get(&s->counts, (uint16_t)i);
        struct store_counts to = changed(&now, c);
        const int64_t four[] = {i, (int64_t)to.entries, (int64_t)to.expiring, (int64_t)to.bytes};
        buf_append(&numbers, four, sizeof four);
    }
    buf_require(&numbers);
    pg_put_i64s(s->pg, (const int64_t *)(const void *)numbers.data, numbers.len / 8);
    buf_fini(&numbers);
}

/* It is written: so are the counts. */
static void take_counts(struct pg_store *s, struct slice_rows *rows, struct sparse *told)
{
    const struct store_change *c;
    for (uint32_t i = 0; (c = sparse_next(&rows->changes, &i)) != NULL; i++) {
        struct store_counts now = store_counts_get(&s->counts, (uint16_t)i);
        struct store_counts to = changed(&now, c);
        store_counts_put(&s->counts, (uint16_t)i, &to);
        store_counts_put(told, (uint16_t)i, &to);
    }
}

static enum err write_slice(struct pg_store *s, struct slice_rows *rows, uint64_t applied,
                            struct store_progress *p, struct error *e)
{
    enum err r = rows->count > 0 ? read_old(s, rows, e) : OK;
    if (r != OK) return r;
    pg_begin(s->pg);
    pg_put_i64(s->pg, term_id(s->term));
    pg_put_i64(s->pg, (int64_t)term_epoch(s->term));
    pg_put_i64(s->pg, (int64_t)applied);
    put_rows(s->pg, rows);
    put_counts(s, rows);
    pg_put_i64(s->pg, s->step + 1);
    r = pg_run_again(s->pg, write_sql, e);
    if (r == OK) r = pg_stepped(s, e);
    if (r != OK) return r;
    take_counts(s, rows, &p->counts);
    p->rows += rows->count;
    __atomic_store_n(&s->base.rows_done, p->rows, __ATOMIC_RELAXED);
    s->applied = applied;
    return OK;
}

static enum err note_applying(struct pg_store *s, const struct memtable *m, struct error *e)
{
    pg_begin(s->pg);
    pg_put_i64(s->pg, term_id(s->term));
    pg_put_i64(s->pg, (int64_t)term_epoch(s->term));
    pg_put_i64(s->pg, (int64_t)m->version_last);
    enum err r = pg_run_again(s->pg, applying_sql, e);
    if (r != OK) return r;
    return pg_changed(s->pg) == 1 ? OK : pg_fenced_off(s, NULL, e);
}

static enum err write_all(struct pg_store *s, const struct memtable *m, struct store_progress *p,
                          struct error *e)
{
    struct slice_rows *rows = mem_new(sizeof *rows);
    struct omap_iter it = omap_seek(&m->order, slice_of(NULL, 0));
    bool is_last = false;
    enum err r = OK;
    while (r == OK && !is_last) {
        collect(s, m, &it, rows);
        is_last = omap_peek(&it) == NULL;
        if (is_last) r = pg_forget(s, m, e);
        if (r == OK) r = write_slice(s, rows, is_last ? m->version_last : s->applied, p, e);
        store_counts_fini(&rows->changes);
    }
    mem_free(rows);
    return r;
}

/* Databases of which there is something, and those of which nothing is left. */
static void tell_counts(const struct pg_store *s, const struct sparse *before,
                        struct store_progress *p)
{
    static const struct store_counts none;
    const struct store_counts *c;
    for (uint32_t i = 0; (c = sparse_next(&s->counts, &i)) != NULL; i++) {
        store_counts_put(&p->counts, (uint16_t)i, c);
    }
    for (uint32_t i = 0; sparse_next(before, &i) != NULL; i++) {
        if (sparse_get(&s->counts, (uint16_t)i) == NULL) {
            store_counts_put(&p->counts, (uint16_t)i, &none);
        }
    }
}

enum err pg_apply(struct store *store, const struct memtable *m, struct store_progress *progress,
                  struct error *e)
{
    struct pg_store *s = pg_store_of(store);
    struct sparse before = {0};
    struct error ignored;
    *progress = (struct store_progress){.applied = s->applied};
    store_counts_merge(&before, &s->counts);
    pg_readers_settle(s);
    pg_texts_apply(s, m);
    enum err r = note_applying(s, m, e);
    if (r == OK && m->has_flush) r = pg_flush(s, m, e);
    if (r == OK) r = write_all(s, m, progress, e);
    /* What a slice did whose answer did not come is looked up. */
    if (r != OK && pg_store_load(s, &ignored) != OK) store_counts_merge(&s->counts, &before);
    if (r != OK || m->has_flush) tell_counts(s, &before, progress);
    store_counts_fini(&before);
    progress->applied = s->applied;
    pg_texts_applied(s, r);
    progress->has_garbage = s->has_garbage || s->texts.has_garbage;
    progress->is_filling = s->texts.is_filling;
    return r;
}
