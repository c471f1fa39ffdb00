/* pg_history: reads tupled_log: at the start what the store does not have, later what was
 * committed. */
#include "backend/postgres/pg_journal_int.h"
#include "base/log.h"
#include "base/mem.h"

#define ROWS_FIRST 16 /* in the first statement; then as many as make ... */
#define ROWS_MAX 1000
#define CHUNK_BYTES (8u << 20)    /* ... about so much */
#define READ_BYTES_MAX (4u << 20) /* that one read of history gives */

/* Parts from a place on, in order. */
static const char rows_sql[] =
    "SELECT batch, part, parts, version_before, last_version, time_ms, checksum, body "
    "FROM tupled_log WHERE id = $1 AND last_version > $2 AND (last_version, part) > ($3, $4) "
    "ORDER BY last_version, part LIMIT $5";
static const char oldest_sql[] =
    "SELECT version_before FROM tupled_log WHERE id = $1 ORDER BY last_version, part LIMIT 1";
static const char newest_sql[] =
    "SELECT coalesce(max(batch), 0), coalesce(sum(length(body)), 0)::int8 FROM tupled_log "
    "WHERE id = $1";
static const char cut_sql[] =
    "DELETE FROM tupled_log USING (SELECT id FROM tupled_leader WHERE id = $1 AND epoch = $2 "
    "FOR KEY SHARE) f WHERE tupled_log.id = f.id AND batch >= $3";

/* A walk over the parts, batch by batch. */
struct walk {
    struct pg *pg;
    int64_t id;
    uint64_t after;                  /* batches that end after it */
    int64_t last_version, last_part; /* of the last row that was read */
    int64_t rows_max;
    size_t row, rows;     /* of the result that is there */
    bool is_last;         /* nothing came after that result */
    struct buf joined;    /* of a batch of several parts */
    struct pg_part batch; /* the current one, whole */
    int64_t torn;         /* the last one, when its end is missing; 0 = none */
};

static void walk_init(struct walk *w, struct pg *pg, int64_t id, uint64_t after)
{
    *w = (struct walk){.pg = pg, .id = id, .after = after, .last_part = -1, .rows_max = ROWS_FIRST};
    buf_init(&w->joined);
}

static void walk_fini(struct walk *w)
{
    buf_fini(&w->joined);
}

static enum err walk_fetch(struct walk *w, struct error *e)
{
    size_t bytes = 0;
    pg_begin(w->pg);
    pg_put_i64(w->pg, w->id);
    pg_put_i64(w->pg, (int64_t)w->after);
    pg_put_i64(w->pg, w->last_version);
    pg_put_i64(w->pg, w->last_part);
    pg_put_i64(w->pg, w->rows_max);
    enum err r = pg_run_again(w->pg, rows_sql, e);
    if (r != OK) return r;
    w->row = 0;
    w->rows = pg_rows(w->pg);
    w->is_last = (int64_t)w->rows < w->rows_max;
    for (size_t i = 0; i < w->rows; i++) bytes += pg_bytes(w->pg, i, 7).len;
    if (w->rows > 0) w->rows_max = (int64_t)(CHUNK_BYTES / (bytes / w->rows + 1)) + 1;
    if (w->rows_max > ROWS_MAX) w->rows_max = ROWS_MAX;
    return OK;
}

/* The next part; *has_one false: there is none. */
static enum err walk_part(struct walk *w, struct pg_part *p, bool *has_one, struct error *e)
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
    w->last_version = (int64_t)p->last_version;
    w->last_part = p->part;
    if (pg_part_checksum(p) == pg_i64(w->pg, i, 6)) return OK;
    return error_set(e, ERR_CORRUPT, "batch %lld part %lld of tupled_log is damaged",
                     (long long)p->batch, (long long)p->part);
}

/* The next whole batch in w->batch, good until the next call; *has_one false: there is none. A last
 * one whose end is missing is none: its writer has stopped, and nobody was promised it. */
static enum err walk_batch(struct walk *w, bool *has_one, struct error *e)
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
    if (w->joined.is_failed) return error_set(e, ERR_NOMEM, "no memory for a batch");
    return OK;
}

/* ---- the start ---- */

static enum err replay_batch(struct pg_journal *j, struct journal_replay *r,
                             const struct pg_part *b, struct error *e)
{
    struct slice rest = b->body;
    struct txn_view txn;
    while (rest.len > 0) {
        if (!txn_read(&rest, &txn)) {
            return error_set(e, ERR_CORRUPT, "batch %lld of tupled_log does not decode",
                             (long long)b->batch);
        }
        if (txn.version <= r->after) continue;
        j->base.synced = txn.version;
        enum err result = r->take(r, &txn, e);
        if (result != OK) return result;
    }
    r->time_ms = b->time_ms;
    return OK;
}

static enum err replay_all(struct pg_journal *j, struct journal_replay *r, int64_t *torn,
                           struct error *e)
{
    struct walk w;
    bool has_one = true;
    uint64_t version = r->after;
    enum err result = OK;
    walk_init(&w, j->background_pg, term_id(j->term), r->after);
    while (result == OK) {
        result = walk_batch(&w, &has_one, e);
        if (result != OK || !has_one) break;
        const struct pg_part *b = &w.batch;
        bool is_first = version == r->after;
        if (is_first ? b->version_before > version : b->version_before != version) {
            result = error_set(e, ERR_CORRUPT,
                               "tupled_log has a gap: after version %llu comes what follows %llu",
                               (unsigned long long)version, (unsigned long long)b->version_before);
            break;
        }
        result = replay_batch(j, r, b, e);
        version = b->last_version;
    }
    *torn = w.torn;
    walk_fini(&w);
    j->version_sealed = j->base.version_last = version;
    return result;
}

static enum err with_id(struct pg_journal *j, const char *sql, struct error *e)
{
    pg_begin(j->background_pg);
    pg_put_i64(j->background_pg, term_id(j->term));
    return pg_run(j->background_pg, sql, e);
}

/* The parts of a last batch that is not whole. */
static enum err cut_tail(struct pg_journal *j, int64_t torn, struct error *e)
{
    struct pg *c = j->background_pg;
    pg_begin(c);
    pg_put_i64(c, term_id(j->term));
    pg_put_i64(c, (int64_t)term_epoch(j->term));
    pg_put_i64(c, torn);
    enum err r = pg_run(c, cut_sql, e);
    if (r != OK) return r;
    log_notice("%llu parts of a batch that was not appended to its end are removed",
               (unsigned long long)pg_changed(c));
    return OK;
}

enum err pg_replay(struct pg_journal *j, struct journal_replay *r, struct error *e)
{
    int64_t torn = 0;
    r->time_ms = 0;
    enum err result = replay_all(j, r, &torn, e);
    if (result == OK && torn != 0) result = cut_tail(j, torn, e);
    if (result == OK) result = with_id(j, newest_sql, e);
    if (result != OK) return result;
    j->next_number = pg_i64(j->background_pg, 0, 0) + 1;
    j->bytes = (uint64_t)pg_i64(j->background_pg, 0, 1);
    result = with_id(j, oldest_sql, e);
    if (result != OK) return result;
    bool is_empty = pg_rows(j->background_pg) == 0;
    j->oldest = is_empty ? j->base.version_last : (uint64_t)pg_i64(j->background_pg, 0, 0);
    return OK;
}

/* ---- history ---- */

struct pg_reading {
    struct pg_reading *next; /* in readings, or idle */
    struct pg *pg;           /* owned */
    uint64_t after, end, version;
};

bool pg_history_begin(struct journal *journal, struct journal_read *r)
{
    struct pg_journal *j = pg_journal_of(journal);
    if (r->after >= j->base.synced) return false;
    struct pg_reading *k = j->idle;
    if (k != NULL) {
        j->idle = k->next;
    } else {
        k = mem_new(sizeof *k);
        k->pg = term_connect(j->term, "history", TERM_READ);
    }
    k->next = j->readings;
    j->readings = k;
    k->after = k->version = r->after;
    k->end = r->until < j->base.synced ? r->until : j->base.synced;
    r->reading = k;
    r->result = OK;
    r->is_damaged = false;
    return true;
}

/* Commits that a leader had told of, and that PostgreSQL then lost: the next leader's versions are
 * far above (TERM_JUMP), and what lies between never was. `first`: of the batch. */
static bool is_of_lost_history(uint64_t version, const struct pg_part *b, uint64_t first)
{
    return b->version_before < version && version < first &&
           first - b->version_before >= TERM_JUMP / 2;
}

static enum err take_batch(struct journal_read *r, struct pg_reading *k, const struct pg_part *b,
                           bool *is_full)
{
    struct slice rest = b->body;
    struct txn_view txn;
    bool is_first = true;
    if (b->version_before > k->version) {
        return error_set(&r->error, ERR_STALE, "what followed version %llu is not kept any more",
                         (unsigned long long)k->version);
    }
    while (rest.len > 0 && !*is_full) {
        if (!txn_read(&rest, &txn)) {
            return error_set(&r->error, ERR_CORRUPT, "batch %lld of tupled_log does not decode",
                             (long long)b->batch);
        }
        bool is_lost = is_first && is_of_lost_history(k->version, b, txn.version);
        is_first = false;
        if (is_lost) {
            return error_set(&r->error, ERR_STALE,
                             "version %llu was lost when PostgreSQL failed over",
                             (unsigned long long)k->version);
        }
        if (txn.version <= k->version) continue;
        if (txn.version > k->end) {
            *is_full = true;
            return OK;
        }
        uint64_t version = txn.version;
        enum err result = r->take(r, &txn, is_full, &r->error);
        if (result != OK) return result;
        if (!*is_full) k->version = version;
    }
    return OK;
}

void pg_history_run(struct journal *journal, struct journal_read *r)
{
    const struct pg_journal *j = pg_journal_of(journal);
    struct pg_reading *k = r->reading;
    struct walk w;
    size_t bytes = 0;
    bool is_full = false;
    walk_init(&w, k->pg, term_id(j->term), k->after);
    while (r->result == OK && !is_full && k->version < k->end && bytes < READ_BYTES_MAX) {
        bool has_one = false;
        r->result = walk_batch(&w, &has_one, &r->error);
        if (r->result != OK) break;
        if (!has_one) {
            r->result = error_set(&r->error, ERR_STALE,
                                  "what followed version %llu is not kept any more",
                                  (unsigned long long)k->version);
            break;
        }
        bytes += w.batch.body.len;
        r->result = take_batch(r, k, &w.batch, &is_full);
    }
    walk_fini(&w);
}

void pg_history_end(struct journal *journal, struct journal_read *r)
{
    struct pg_journal *j = pg_journal_of(journal);
    struct pg_reading *k = r->reading;
    struct pg_reading **at = &j->readings;
    r->next = k->version;
    r->is_damaged = r->result == ERR_CORRUPT;
    if (r->is_damaged) {
        struct error why = r->error;
        log_warning("%s: the change feed begins after it", why.text);
        r->result = error_set(&r->error, ERR_STALE, "%s", why.text);
    }
    while (*at != k) at = &(*at)->next;
    *at = k->next;
    k->next = j->idle;
    j->idle = k;
    r->reading = NULL;
}

uint64_t pg_history_oldest(const struct pg_journal *j)
{
    uint64_t oldest = UINT64_MAX;
    for (const struct pg_reading *k = j->readings; k != NULL; k = k->next) {
        if (k->after < oldest) oldest = k->after;
    }
    return oldest;
}

void pg_history_free(struct pg_journal *j)
{
    while (j->idle != NULL) {
        struct pg_reading *k = j->idle;
        j->idle = k->next;
        pg_free(k->pg);
        mem_free(k);
    }
}
