/* pg_read: readers of the store, each with a connection of its own. */
#include "backend/postgres/pg_store_int.h"
#include "base/bytes.h"
#include "base/mem.h"

#define CHUNK_BYTES 1000000
#define VERIFY_ROWS 2000
#define RETRY_MS 50

static const char many_sql[] =
    "SELECT k.i, e.version, e.expiry_ms, e.checksum, e.value FROM unnest($2::bytea[]) "
    "WITH ORDINALITY k(key, i) JOIN tupled_entry e ON e.id = $1 AND e.key = k.key "
    "WHERE " PG_IS_THERE;
/* At most $4 rows, and none once those before it have $5 bytes. */
#define FETCH_SQL(order)                                                                           \
    "SELECT key, version, expiry_ms, checksum, value FROM (SELECT e.*, sum(length(e.value) + "     \
    "length(e.key)) OVER (ORDER BY e.key " order " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 "        \
    "PRECEDING) AS bytes FROM tupled_entry e WHERE e.id = $1 AND e.key >= $2 AND e.key < $3 "      \
    "AND " PG_IS_THERE " ORDER BY e.key " order " LIMIT $4) e WHERE coalesce(bytes, 0) < $5 "      \
    "ORDER BY key " order
static const char forward_sql[] = FETCH_SQL("ASC");
static const char backward_sql[] = FETCH_SQL("DESC");
#define KEYS_SQL(order)                                                                            \
    "SELECT e.key, e.version, e.expiry_ms, 0::int8, ''::bytea FROM tupled_entry e WHERE "          \
    "e.id = $1 AND e.key >= $2 AND e.key < $3 AND " PG_IS_THERE " ORDER BY e.key " order           \
    " LIMIT $4"
static const char keys_forward_sql[] = KEYS_SQL("ASC");
static const char keys_backward_sql[] = KEYS_SQL("DESC");
static const char rows_sql[] =
    "SELECT count(*) FROM tupled_entry e WHERE e.id = $1 AND " PG_IS_THERE;
static const char begin_sql[] =
    "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT 1 FROM tupled_applied LIMIT 1";

/* ---- snapshots ---- */

/* While PostgreSQL is away nothing is applied either: the snapshot can still be made. */
static enum err begin(struct pg_reader *r, uint64_t wanted, struct error *e)
{
    enum err result = pg_script(r->pg, begin_sql, e);
    while (result == ERR_IO && pg_is_away(r->pg) && pg_pause(r->pg, RETRY_MS) &&
           __atomic_load_n(&r->wanted, __ATOMIC_ACQUIRE) == wanted) {
        result = pg_script(r->pg, begin_sql, e);
    }
    return result;
}

/* A snapshot is lost. When that is because PostgreSQL is away, the caller may try again. */
static enum err lost(struct pg_reader *r, uint64_t snapshot, enum err why, struct error *e)
{
    if (why == ERR_IO && pg_is_away(r->pg)) why = ERR_TRYAGAIN;
    if (e != NULL) e->code = why;
    r->lost = snapshot;
    r->why = why;
    return why;
}

enum err pg_reader_ready(struct pg_reader *r, struct error *e)
{
    uint64_t wanted = __atomic_load_n(&r->wanted, __ATOMIC_ACQUIRE);
    struct error ignored;
    enum err result = OK;
    if (wanted != 0 && r->lost == wanted) {
        return error_set(e, r->why, "%s",
                         r->why == ERR_BEHIND
                             ? "this node is behind the leader"
                             : "the snapshot was lost with its connection to PostgreSQL");
    }
    if (r->held == wanted) return OK;
    if (r->held != 0) result = pg_script(r->pg, "ROLLBACK", e);
    if (result != OK) {
        pg_drop(r->pg); /* it ends the transaction too */
        result = OK;
    }
    r->held = 0;
    if (wanted != 0) result = begin(r, wanted, e);
    if (result == OK && wanted != 0 && r->store->is_following) {
        uint64_t pinned = __atomic_load_n(&r->pinned, __ATOMIC_ACQUIRE);
        result = pg_behind_check(r->store, r->pg, pinned, e);
        if (result != OK && pg_script(r->pg, "ROLLBACK", &ignored) != OK) pg_drop(r->pg);
    }
    if (result == OK) r->held = wanted;
    if (result == OK || wanted == 0) return result;
    return lost(r, wanted, result, e);
}

enum err pg_reader_run(struct pg_reader *r, const char *sql, struct error *e)
{
    if (r->held == 0) return pg_run_patiently(r->pg, sql, e);
    enum err result = pg_run(r->pg, sql, e);
    if (result == OK) return OK;
    /* A transaction does not go on after an error. */
    result = lost(r, r->held, result, e);
    pg_drop(r->pg);
    r->held = 0;
    return result;
}

/* What was read without a snapshot, and copied: has the node all that it may have seen? */
static enum err reader_may_tell(struct pg_reader *r, struct error *e)
{
    if (!r->store->is_following || r->held != 0) return OK;
    return pg_behind_wait(r->store, r->pg, e);
}

static void unref(struct pg_store *s, struct pg_reader *r)
{
    pthread_mutex_lock(&s->lock);
    bool is_last = --r->refs == 0;
    pthread_mutex_unlock(&s->lock);
    if (!is_last) return;
    pg_free(r->pg);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
}

/* The open ones, with a reference to each. */
static struct pg_reader **readers_copy(struct pg_store *s, size_t *count)
{
    size_t n = 0;
    pthread_mutex_lock(&s->lock);
    for (struct pg_reader *r = s->readers; r != NULL; r = r->next) n++;
    struct pg_reader **all = mem_alloc((n + 1) * sizeof *all);
    n = 0;
    for (struct pg_reader *r = s->readers; r != NULL; r = r->next) {
        r->refs++;
        all[n++] = r;
    }
    pthread_mutex_unlock(&s->lock);
    *count = n;
    return all;
}

void pg_readers_settle(struct pg_store *s)
{
    size_t count = 0;
    struct error ignored;
    struct pg_reader **all = readers_copy(s, &count);
    for (size_t i = 0; i < count; i++) {
        struct pg_reader *r = all[i];
        pthread_mutex_lock(&r->lock);
        bool is_needed = r->held != 0 || __atomic_load_n(&r->wanted, __ATOMIC_ACQUIRE) != 0;
        if (is_needed && pg_reader_ready(r, &ignored) != OK) r->held = 0; /* noted as lost */
        pthread_mutex_unlock(&r->lock);
        unref(s, r);
    }
    mem_free(all);
}

enum err pg_reader_open(struct store *store, struct store_reader **out, struct error *e)
{
    struct pg_store *s = pg_store_of(store);
    struct pg_reader *r = mem_new(sizeof *r);
    (void)e;
    r->base.ops = s->base.ops;
    r->store = s;
    r->refs = 1;
    r->pg = term_connect(s->term, "reader", TERM_READ);
    pthread_mutex_init(&r->lock, NULL);
    pthread_mutex_lock(&s->lock);
    r->next = s->readers;
    s->readers = r;
    pthread_mutex_unlock(&s->lock);
    *out = &r->base;
    return OK;
}

void pg_reader_close(struct store_reader *reader)
{
    struct pg_reader *r = pg_reader_of(reader);
    struct pg_store *s = r->store;
    __atomic_store_n(&r->wanted, 0, __ATOMIC_RELEASE);
    pg_texts_reader_close(r);
    pthread_mutex_lock(&s->lock);
    struct pg_reader **at = &s->readers;
    while (*at != r) at = &(*at)->next;
    *at = r->next;
    pthread_mutex_unlock(&s->lock);
    unref(s, r);
}

enum err pg_pin(struct store_reader *reader, struct error *e)
{
    struct pg_reader *r = pg_reader_of(reader);
    (void)e;
    uint64_t brought = __atomic_load_n(&r->store->brought, __ATOMIC_ACQUIRE);
    __atomic_store_n(&r->pinned, brought, __ATOMIC_RELEASE);
    __atomic_store_n(&r->wanted, ++r->store->pins, __ATOMIC_RELEASE);
    pg_texts_pin(r);
    return OK;
}

void pg_unpin(struct store_reader *reader)
{
    __atomic_store_n(&pg_reader_of(reader)->wanted, 0, __ATOMIC_RELEASE);
    pg_texts_unpin(pg_reader_of(reader));
}

/* ---- single keys ---- */

enum err pg_damaged(struct slice key, struct error *e)
{
    char hex[2 * 24 + 1];
    size_t n = key.len < 24 ? key.len : 24;
    for (size_t i = 0; i < n; i++) {
        static const char digits[] = "0123456789abcdef";
        hex[2 * i] = digits[key.data[i] >> 4];
        hex[2 * i + 1] = digits[key.data[i] & 15];
    }
    hex[2 * n] = '\0';
    return error_set(e, ERR_CORRUPT, "the entry of tupled_entry with key %s%s is damaged", hex,
                     n < key.len ? "..." : "");
}

static enum err take_many(struct pg_reader *r, const struct slice *keys, size_t count,
                          struct arena *arena, struct entry *out, struct error *e)
{
    for (size_t i = 0; i < pg_rows(r->pg); i++) {
        size_t at = (size_t)pg_i64(r->pg, i, 0) - 1;
        if (at >= count) return error_set(e, ERR_CORRUPT, "invalid result from PostgreSQL");
        struct slice value = pg_bytes(r->pg, i, 4);
        struct entry *x = &out[at];
        *x = (struct entry){.exists = true,
                            .version = (uint64_t)pg_i64(r->pg, i, 1),
                            .expiry_ms = pg_i64(r->pg, i, 2)};
        int64_t sum = pg_entry_checksum(keys[at], x->version, x->expiry_ms, value);
        if (sum != pg_i64(r->pg, i, 3)) return pg_damaged(keys[at], e);
        uint8_t *copy = arena_alloc_try(arena, value.len + 1);
        if (copy == NULL) return error_set(e, ERR_NOMEM, "out of memory for a value");
        bytes_copy(copy, value.data, value.len);
        x->value = slice_of(copy, value.len);
    }
    return OK;
}

enum err pg_get_many(struct store_reader *reader, const struct slice *keys, size_t count,
                     struct arena *arena, struct entry *out, struct error *e)
{
    struct pg_reader *r = pg_reader_of(reader);
    for (size_t i = 0; i < count; i++) out[i] = (struct entry){0};
    pthread_mutex_lock(&r->lock);
    enum err result = pg_reader_ready(r, e);
    if (result == OK) {
        pg_begin(r->pg);
        pg_put_i64(r->pg, term_id(r->store->term));
        pg_put_slices(r->pg, keys, count);
        result = pg_reader_run(r, many_sql, e);
    }
    if (result == OK) result = take_many(r, keys, count, arena, out, e);
    if (result == OK) result = reader_may_tell(r, e);
    pthread_mutex_unlock(&r->lock);
    return result;
}

/* The value stays in the connection's result until the next statement of this reader. */
enum err pg_get(struct store_reader *reader, struct slice key, bool may_wait, struct entry *out,
                struct error *e)
{
    struct pg_reader *r = pg_reader_of(reader);
    *out = (struct entry){0};
    if (!may_wait) return error_set(e, ERR_WAIT, "waiting for PostgreSQL");
    pthread_mutex_lock(&r->lock);
    enum err result = pg_reader_ready(r, e);
    if (result == OK) {
        pg_begin(r->pg);
        pg_put_i64(r->pg, term_id(r->store->term));
        pg_put_slices(r->pg, &key, 1);
        result = pg_reader_run(r, many_sql, e);
    }
    if (result == OK && pg_rows(r->pg) > 0) {
        *out = (struct entry){.exists = true,
                              .version = (uint64_t)pg_i64(r->pg, 0, 1),
                              .expiry_ms = pg_i64(r->pg, 0, 2),
                              .value = pg_bytes(r->pg, 0, 4)};
        int64_t sum = pg_entry_checksum(key, out->version, out->expiry_ms, out->value);
        if (sum != pg_i64(r->pg, 0, 3)) result = pg_damaged(key, e);
    }
    pthread_mutex_unlock(&r->lock);
    return result;
}

void pg_get_end(struct store_reader *reader)
{
    (void)reader; /* the next statement lets the result go */
}

/* ---- ranges ---- */

struct range_query {
    struct slice start, end;
    bool is_reverse, with_values;
    int64_t rows_max;
};

static enum err run_range(struct pg_reader *r, const struct range_query *q, struct error *e)
{
    static const char *const sql[2][2] = {{keys_forward_sql, keys_backward_sql},
                                          {forward_sql, backward_sql}};
    pg_begin(r->pg);
    pg_put_i64(r->pg, term_id(r->store->term));
    pg_put_bytes(r->pg, q->start);
    pg_put_bytes(r->pg, q->end);
    pg_put_i64(r->pg, q->rows_max);
    if (q->with_values) pg_put_i64(r->pg, CHUNK_BYTES);
    return pg_reader_run(r, sql[q->with_values][q->is_reverse], e);
}

/* A row that is wanted. */
static bool chunk_add(struct store_chunk *c, struct slice key, struct slice value,
                      const struct store_row *from)
{
    uint8_t *bytes = arena_alloc_try(&c->arena, key.len + value.len + 1);
    if (bytes == NULL) return false;
    bytes_copy(bytes, key.data, key.len);
    bytes_copy(bytes + key.len, value.data, value.len);
    c->rows[c->count++] = (struct store_row){.key = slice_of(bytes, key.len),
                                             .value = slice_of(bytes + key.len, value.len),
                                             .version = from->version,
                                             .expiry_ms = from->expiry_ms};
    return true;
}

/* The i-th row of the result: checked, judged by the filter, added. */
static enum err take_row(struct pg_reader *r, const struct store_fetch *f, size_t i,
                         struct store_chunk *out, struct error *e)
{
    struct slice key = pg_bytes(r->pg, i, 0);
    struct slice value = pg_bytes(r->pg, i, 4);
    struct store_row row = {.version = (uint64_t)pg_i64(r->pg, i, 1),
                            .expiry_ms = pg_i64(r->pg, i, 2)};
    bool has_value = f->with_values || f->filter != NULL;
    if (has_value &&
        pg_entry_checksum(key, row.version, row.expiry_ms, value) != pg_i64(r->pg, i, 3)) {
        return pg_damaged(key, e);
    }
    bool is_wanted = true;
    if (f->filter != NULL) {
        enum err result = row_filter_check(f->filter, value, ROW_WORK_MAX, e);
        if (result != OK) return result;
        buf_clear(&out->last, SIZE_MAX);
        buf_append(&out->last, key.data, key.len);
        is_wanted = f->filter->matches(f->filter, value);
    }
    if (!f->with_values) value = slice_of(NULL, 0);
    bool has_memory = !out->last.is_failed && (!is_wanted || chunk_add(out, key, value, &row));
    return has_memory ? OK : error_set(e, ERR_NOMEM, "out of memory for a page of rows");
}

static enum err fetch(struct pg_reader *r, const struct store_fetch *f, struct store_chunk *out,
                      struct error *e)
{
    static const uint8_t last[] = {0xff, 0xff, 0xff, 0xff};
    uint16_t database = key_database(f->start);
    uint8_t next[KEY_HEAD_BYTES];
    struct range_query q = {.start = f->start,
                            .end = f->end,
                            .is_reverse = f->is_reverse,
                            .with_values = f->with_values || f->filter != NULL,
                            .rows_max = (int64_t)f->rows_max};
    if (f->end.len < KEY_HEAD_BYTES || key_database(f->end) != database) {
        (void)key_head_write(next, (uint16_t)(database + 1), 0);
        q.end = database == DATABASES_MAX - 1 ? slice_of(last, sizeof last)
                                              : slice_of(next, sizeof next);
    }
    if (f->filter != NULL && f->looks_max < f->rows_max) q.rows_max = (int64_t)f->looks_max;
    enum err result = run_range(r, &q, e);
    if (result != OK) return result;
    size_t rows = pg_rows(r->pg);
    size_t bytes = 0;
    for (size_t i = 0; result == OK && i < rows; i++) {
        bytes += pg_bytes(r->pg, i, 0).len + pg_bytes(r->pg, i, 4).len;
        result = take_row(r, f, i, out, e);
    }
    /* Fewer than were asked for, and not for their bytes. */
    out->is_last = (int64_t)rows < q.rows_max && bytes < CHUNK_BYTES;
    return result;
}

enum err pg_fetch(struct store_reader *reader, const struct store_fetch *f, struct store_chunk *out,
                  struct error *e)
{
    struct pg_reader *r = pg_reader_of(reader);
    arena_reset(&out->arena);
    buf_clear(&out->last, SIZE_MAX);
    out->count = 0;
    out->is_last = false;
    out->is_filtered = f->filter != NULL;
    if (!f->may_wait) return error_set(e, ERR_WAIT, "waiting for PostgreSQL");
    out->rows = arena_alloc(&out->arena, f->rows_max * sizeof *out->rows);
    pthread_mutex_lock(&r->lock);
    enum err result = pg_reader_ready(r, e);
    if (result == OK) result = fetch(r, f, out, e);
    if (result == OK) result = reader_may_tell(r, e);
    pthread_mutex_unlock(&r->lock);
    return result;
}

/* ---- everything ---- */

uint64_t pg_pages(struct store_reader *reader)
{
    struct pg_reader *r = pg_reader_of(reader);
    struct error ignored;
    uint64_t pages = 0;
    pthread_mutex_lock(&r->lock);
    enum err result = pg_reader_ready(r, &ignored);
    if (result == OK) {
        pg_begin(r->pg);
        pg_put_i64(r->pg, term_id(r->store->term));
        result = pg_reader_run(r, rows_sql, &ignored);
    }
    if (result == OK) pages = (uint64_t)pg_i64(r->pg, 0, 0) / VERIFY_ROWS + 1;
    pthread_mutex_unlock(&r->lock);
    return pages;
}

/* The rows of the result; the last key goes to `start`. */
static void verify_rows(struct pg_reader *r, struct store_found *out, struct buf *start)
{
    for (size_t i = 0; i < pg_rows(r->pg); i++) {
        struct error e;
        struct slice key = pg_bytes(r->pg, i, 0);
        struct slice value = pg_bytes(r->pg, i, 4);
        int64_t sum = pg_entry_checksum(key, (uint64_t)pg_i64(r->pg, i, 1), pg_i64(r->pg, i, 2),
                                        value);
        buf_clear(start, SIZE_MAX);
        buf_append(start, key.data, key.len);
        if (sum == pg_i64(r->pg, i, 3)) continue;
        (void)!pg_damaged(key, &e);
        uint64_t n = __atomic_fetch_add(&out->damaged, 1, __ATOMIC_RELAXED);
        if (n < STORE_PLACES_MAX) {
            size_t len = strlen(e.text) < STORE_PLACE_BYTES ? strlen(e.text)
                                                            : STORE_PLACE_BYTES - 1;
            memcpy(out->places[n], e.text, len);
            out->places[n][len] = '\0';
        }
    }
    buf_append_byte(start, 0); /* the next possible key */
    buf_require(start);
}

enum err pg_verify(struct store_reader *reader, struct store_found *out, const bool *is_stopping,
                   struct error *e)
{
    static const uint8_t last[] = {0xff, 0xff, 0xff, 0xff};
    struct pg_reader *r = pg_reader_of(reader);
    struct buf start;
    enum err result = OK;
    bool is_over = false;
    buf_init(&start);
    buf_append_byte(&start, 0);
    while (result == OK && !is_over && !__atomic_load_n(is_stopping, __ATOMIC_RELAXED)) {
        pthread_mutex_lock(&r->lock);
        struct range_query q = {.start = buf_slice(&start),
                                .end = slice_of(last, sizeof last),
                                .with_values = true,
                                .rows_max = VERIFY_ROWS};
        result = pg_reader_ready(r, e);
        if (result == OK) result = run_range(r, &q, e);
        if (result == OK) {
            is_over = pg_rows(r->pg) == 0;
            verify_rows(r, out, &start);
            __atomic_fetch_add(&out->pages, 1, __ATOMIC_RELAXED);
        }
        pthread_mutex_unlock(&r->lock);
    }
    buf_fini(&start);
    if (result == OK && out->damaged > 0) return error_set(e, ERR_CORRUPT, "entries are damaged");
    return result;
}
