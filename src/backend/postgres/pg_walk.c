/* pg_walk: rows come in chunks of about 8 MB, and with pg_walk_ahead the next chunk is fetched by a
 * second connection meanwhile: then the two connections change places. Each part is checked against
 * its checksum, and the parts of a batch are put together. */
#include "backend/postgres/pg_walk.h"

#include "backend/postgres/term.h"
#include "base/bytes.h"
#include "base/hash.h"

#define ROWS_FIRST 16 /* in the first statement; then as many as make ... */
#define ROWS_MAX 1000
#define CHUNK_BYTES (8u << 20) /* ... about so much */

/* Parts from a place on, in order. */
static const char rows_sql[] =
    "SELECT batch, part, parts, version_before, last_version, time_ms, checksum, body "
    "FROM tupled_log WHERE id = $1 AND last_version > $2 AND (last_version, part) > ($3, $4) "
    "ORDER BY last_version, part LIMIT $5";

int64_t pg_part_checksum(const struct pg_part *p)
{
    uint8_t head[56];
    put_u64(head, (uint64_t)p->batch);
    put_u64(head + 8, (uint64_t)p->part);
    put_u64(head + 16, (uint64_t)p->parts);
    put_u64(head + 24, p->version_before);
    put_u64(head + 32, p->last_version);
    put_u64(head + 40, (uint64_t)p->time_ms);
    put_u64(head + 48, checksum_bytes(p->body));
    return (int64_t)checksum_bytes(slice_of(head, sizeof head));
}

void pg_walk_init(struct pg_walk *w, struct pg *pg, int64_t id, uint64_t after)
{
    *w = (struct pg_walk){
        .pg = pg, .id = id, .after = after, .last_part = -1, .rows_max = ROWS_FIRST};
    buf_init(&w->joined);
}

static enum err fetch(const struct pg_walk *w, struct pg *pg, struct error *e)
{
    pg_begin(pg);
    pg_put_i64(pg, w->id);
    pg_put_i64(pg, (int64_t)w->after);
    pg_put_i64(pg, w->last_version);
    pg_put_i64(pg, w->last_part);
    pg_put_i64(pg, w->rows_max);
    return pg_run_again(pg, rows_sql, e);
}

static void fetch_ahead(struct job *job)
{
    struct pg_walk *w = (struct pg_walk *)((char *)job - offsetof(struct pg_walk, job));
    w->ahead = fetch(w, w->other, &w->error);
}

static void fetched_ahead(struct job *job)
{
    struct pg_walk *w = (struct pg_walk *)((char *)job - offsetof(struct pg_walk, job));
    w->is_ahead = false;
}

static void wait_ahead(struct pg_walk *w)
{
    while (w->is_ahead) {
        worker_drain(w->worker);
        worker_poll(w->worker);
    }
}

void pg_walk_ahead(struct pg_walk *w, struct worker *worker, struct pg *other)
{
    w->worker = worker;
    w->other = other;
    w->job = (struct job){.run = fetch_ahead, .done = fetched_ahead};
}

void pg_walk_fini(struct pg_walk *w)
{
    wait_ahead(w);
    buf_fini(&w->joined);
}

/* The rows that were asked for ahead, or that are asked for now. */
static enum err rows_come(struct pg_walk *w, struct error *e)
{
    if (!w->is_ahead) return fetch(w, w->pg, e);
    struct pg *taken = w->pg;
    wait_ahead(w);
    w->pg = w->other;
    w->other = taken;
    if (w->ahead != OK) *e = w->error;
    return w->ahead;
}

static enum err walk_fetch(struct pg_walk *w, struct error *e)
{
    size_t bytes = 0;
    enum err r = rows_come(w, e);
    if (r != OK) return r;
    w->row = 0;
    w->rows = pg_rows(w->pg);
    w->is_last = (int64_t)w->rows < w->rows_max;
    for (size_t i = 0; i < w->rows; i++) bytes += pg_bytes(w->pg, i, 7).len;
    if (w->rows > 0) w->rows_max = (int64_t)(CHUNK_BYTES / (bytes / w->rows + 1)) + 1;
    if (w->rows_max > ROWS_MAX) w->rows_max = ROWS_MAX;
    if (w->rows == 0) return OK;
    w->last_version = pg_i64(w->pg, w->rows - 1, 4);
    w->last_part = pg_i64(w->pg, w->rows - 1, 1);
    if (w->worker == NULL || w->is_last) return OK;
    w->is_ahead = true;
    worker_post(w->worker, &w->job);
    return OK;
}

/* The next part; *has_one false: there is none. */
static enum err walk_part(struct pg_walk *w, struct pg_part *p, bool *has_one, struct error *e)
{
    if (w->row == w->rows && !w->is_last) {
        enum err r = walk_fetch(w, e);
        if (r != OK) return r;
    }
    *has_one = w->row < w->rows;
    if (!*has_one) return OK;
    size_t i = w->row++;
    *p = (struct pg_part){.batch = pg_i64(w->pg, i, 0),
                          .part = pg_i64(w->pg, i, 1),
                          .parts = pg_i64(w->pg, i, 2),
                          .version_before = (uint64_t)pg_i64(w->pg, i, 3),
                          .last_version = (uint64_t)pg_i64(w->pg, i, 4),
                          .time_ms = pg_i64(w->pg, i, 5),
                          .body = pg_bytes(w->pg, i, 7)};
    if (pg_part_checksum(p) == pg_i64(w->pg, i, 6)) return OK;
    return error_set(e, ERR_CORRUPT, "batch %lld part %lld of tupled_log is damaged",
                     (long long)p->batch, (long long)p->part);
}

enum err pg_walk_batch(struct pg_walk *w, bool *has_one, struct error *e)
{
    struct pg_part p;
    enum err r = walk_part(w, &p, has_one, e);
    if (r != OK || !*has_one) return r;
    w->batch = p;
    if (p.part != 0)
        return error_set(e, ERR_CORRUPT, "batch %lld of tupled_log has no part 0",
                         (long long)p.batch);
    if (p.parts == 1) return OK;
    buf_clear(&w->joined, 0);
    for (;;) {
        buf_append(&w->joined, p.body.data, p.body.len);
        if (p.part + 1 == p.parts) break;
        int64_t wanted = p.part + 1;
        r = walk_part(w, &p, has_one, e);
        if (r != OK) return r;
        if (!*has_one) {
            w->torn = w->batch.batch;
            return OK;
        }
        if (p.batch != w->batch.batch || p.part != wanted) {
            return error_set(e, ERR_CORRUPT, "batch %lld of tupled_log has no part %lld",
                             (long long)w->batch.batch, (long long)wanted);
        }
    }
    w->batch.body = buf_slice(&w->joined);
    if (w->joined.is_failed) return error_set(e, ERR_NOMEM, "out of memory for a batch");
    return OK;
}

bool pg_is_of_lost_history(uint64_t version, const struct pg_part *b, uint64_t first)
{
    return b->version_before < version && version < first &&
           first - b->version_before >= TERM_JUMP / 2;
}
