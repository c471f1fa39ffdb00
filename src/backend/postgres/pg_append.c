/* pg_append: the statements that append batches. What their outcome is when no answer came is found
 * out here, and never assumed. */
#include "backend/postgres/pg_journal_int.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/htab.h"
#include "base/log.h"

#define RETRY_MS 100

/* What came before the batch is in the log, or in the entries already. It is not when PostgreSQL
 * has lost it: a server that had less than another was promoted. */
#define HAS_BEFORE(batch, version)                                                                 \
    "(EXISTS (SELECT 1 FROM tupled_log b WHERE b.id = $1 AND b.batch = " batch " - 1) OR EXISTS "  \
    "(SELECT 1 FROM tupled_applied a WHERE a.id = $1 AND a.applied >= " version "))"

/* The row is there only if the epoch still is the writer's. FOR KEY SHARE: see schema.c. */
static const char append_sql[] =
    "INSERT INTO tupled_log SELECT id, $3, $4, $5, epoch, $6, $7, $8, $9, $10 FROM tupled_leader "
    "WHERE id = $1 AND epoch = $2 AND " HAS_BEFORE("$3", "$6") " FOR KEY SHARE "
                                                               "ON CONFLICT DO NOTHING";
static const char look_sql[] = "SELECT l.epoch, g.epoch, g.checksum, CASE WHEN " HAS_BEFORE(
    "$2", "$4") " THEN 1::int8 "
                "ELSE 0::int8 END FROM tupled_leader l LEFT JOIN tupled_log g "
                "ON g.id = l.id AND g.batch = $2 AND g.part = $3 WHERE l.id = $1";
static const char fence_sql[] =
    "UPDATE tupled_leader SET beat = beat + 1 WHERE id = $1 AND epoch = $2";

static enum err send_part(struct pg_journal *j, const struct pg_part *p, int64_t checksum,
                          struct error *e)
{
    struct pg *c = j->append_pg;
    pg_begin(c);
    pg_put_i64(c, term_id(j->term));
    pg_put_i64(c, (int64_t)term_epoch(j->term));
    pg_put_i64(c, p->batch);
    pg_put_i64(c, p->part);
    pg_put_i64(c, p->parts);
    pg_put_i64(c, (int64_t)p->version_before);
    pg_put_i64(c, (int64_t)p->last_version);
    pg_put_i64(c, p->time_ms);
    pg_put_i64(c, checksum);
    pg_put_bytes(c, p->body);
    return pg_run(c, append_sql, e);
}

static enum err lost(struct pg_journal *j, struct error *e)
{
    term_lose(j->term);
    return error_set(e, ERR_TRYAGAIN, "another node leads now");
}

/* A row that is found may be one that no standby has yet: it counts once a later write of ours has
 * been acknowledged. */
static enum err fence(struct pg_journal *j, struct error *e)
{
    struct pg *c = j->append_pg;
    pg_begin(c);
    pg_put_i64(c, term_id(j->term));
    pg_put_i64(c, (int64_t)term_epoch(j->term));
    enum err r = pg_run(c, fence_sql, e);
    if (r != OK) return r;
    return pg_changed(c) == 1 ? OK : lost(j, e);
}

/* Nothing was inserted, or nobody knows. OK: it is there and safe; ERR_WAIT: it is not there, send
 * it again. */
static enum err find_part(struct pg_journal *j, const struct pg_part *p, int64_t checksum,
                          struct error *e)
{
    struct pg *c = j->append_pg;
    int64_t epoch = (int64_t)term_epoch(j->term);
    pg_begin(c);
    pg_put_i64(c, term_id(j->term));
    pg_put_i64(c, p->batch);
    pg_put_i64(c, p->part);
    pg_put_i64(c, (int64_t)p->version_before);
    enum err r = pg_run(c, look_sql, e);
    if (r != OK) return r;
    if (pg_rows(c) != 1 || pg_i64(c, 0, 0) != epoch) return lost(j, e);
    if (pg_i64(c, 0, 3) == 0) {
        term_lose(j->term);
        return error_set(e, ERR_TRYAGAIN,
                         "PostgreSQL does not have version %llu any more, which it had committed: "
                         "a server that had less was promoted",
                         (unsigned long long)p->version_before);
    }
    if (pg_is_null(c, 0, 1)) return error_set(e, ERR_WAIT, "it was not appended");
    if (pg_i64(c, 0, 1) != epoch || pg_i64(c, 0, 2) != checksum) {
        return error_set(e, ERR_CORRUPT, "batch %lld of tupled_log is not what was appended",
                         (long long)p->batch);
    }
    return fence(j, e);
}

/* Until it is there for certain, or another node leads, or it is given up. */
static enum err append_part(struct append_job *w, const struct pg_part *p)
{
    struct pg_journal *j = w->journal;
    struct error *e = &w->error;
    int64_t checksum = pg_part_checksum(p);
    enum err r = send_part(j, p, checksum, e);
    bool is_first = true;
    while (r != OK || pg_changed(j->append_pg) != 1) {
        if (r == OK || pg_outcome(j->append_pg) == PG_UNKNOWN) r = find_part(j, p, checksum, e);
        if (r == OK) break;
        if (r == ERR_TRYAGAIN || r == ERR_CORRUPT) return r;
        if (r != ERR_WAIT) {
            if (is_first) log_warning("append: %s; it is repeated", e->text);
            is_first = false;
            __atomic_store_n(&w->is_full, r == ERR_DISK_FULL, __ATOMIC_RELAXED);
            __atomic_store_n(&w->is_waiting, 1, __ATOMIC_RELAXED);
            if (!pg_pause(j->append_pg, RETRY_MS)) return error_set(e, ERR_IO, "given up");
            /* It may be there although the last try says no. */
            r = find_part(j, p, checksum, e);
            if (r == OK) break;
            if (r != ERR_WAIT) continue;
        }
        r = send_part(j, p, checksum, e);
    }
    __atomic_store_n(&w->is_waiting, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&w->is_full, 0, __ATOMIC_RELAXED);
    if (!is_first) log_notice("append: PostgreSQL takes it again");
    return OK;
}

static enum err append_batch(struct append_job *w, const struct pg_batch *b)
{
    size_t part_bytes = pg_part_bytes(w->journal);
    struct slice rest = slice_of(b->base.bytes.data, b->base.bytes.len);
    struct pg_part p = {.batch = b->number,
                        .parts = (int64_t)((rest.len + part_bytes - 1) / part_bytes),
                        .version_before = b->version_before,
                        .last_version = b->base.last_version,
                        .time_ms = b->base.time_ms};
    enum err r = OK;
    for (; r == OK && rest.len > 0; p.part++) {
        p.body = slice_of(rest.data, rest.len < part_bytes ? rest.len : part_bytes);
        rest = slice_of(rest.data + p.body.len, rest.len - p.body.len);
        r = append_part(w, &p);
    }
    if (r == OK) w->bytes += b->base.bytes.len;
    return r;
}

void pg_append_run(struct job *job)
{
    struct append_job *w = (struct append_job *)job;
    int64_t begin_us = clock_mono_us();
    unsigned delay_ms = fault_sync_delay_ms();
    if (delay_ms > 0) clock_sleep_us((int64_t)delay_ms * 1000);
    w->result = OK;
    w->bytes = 0;
    for (const struct pg_batch *b = w->batches; b != NULL && w->result == OK; b = b->next) {
        w->result = append_batch(w, b);
    }
    w->took_us = clock_mono_us() - begin_us;
}
