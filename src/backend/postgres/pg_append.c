/* pg_append: the statements that append batches. What their outcome is when no answer came is found
 * out here, and never assumed. */
#include "backend/postgres/pg_journal_int.h"

#include <stdio.h>
#include <sys/eventfd.h>

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
#define APPEND_SQL(condition)                                                                      \
    "INSERT INTO tupled_log SELECT id, $3, $4, $5, epoch, $6, $7, $8, $9, $10 FROM tupled_leader " \
    "WHERE id = $1 AND epoch = $2 " condition                                                      \
    "AND " HAS_BEFORE("$3", "$6") " FOR KEY SHARE "                                                \
                                  "ON CONFLICT DO NOTHING"
static const char append_sql[] = APPEND_SQL("");
/* Where no standby is waited for, nothing is written. Whether one was is proved afterwards. */
static const char append_quorum_sql[] = APPEND_SQL(
    "AND current_setting('synchronous_standby_names') <> '' ");
static const char look_sql[] = "SELECT l.epoch, g.epoch, g.checksum, CASE WHEN " HAS_BEFORE(
    "$2", "$4") " THEN 1::int8 "
                "ELSE 0::int8 END FROM tupled_leader l LEFT JOIN tupled_log g "
                "ON g.id = l.id AND g.batch = $2 AND g.part = $3 WHERE l.id = $1";
/* Any write will do. The beat is the lease's. */
static const char fence_sql[] =
    "UPDATE tupled_leader SET applying_to = applying_to WHERE id = $1 AND epoch = $2";

static enum err send_part(struct pg_journal *j, const struct pg_part *p, struct error *e)
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
    pg_put_i64(c, pg_part_checksum(p));
    pg_put_bytes(c, p->body);
    return pg_send(c, term_is_quorum(j->term) ? append_quorum_sql : append_sql, e);
}

/* Part 0. */
static struct pg_part first_part(const struct pg_journal *j, const struct pg_batch *b)
{
    size_t part_bytes = pg_part_bytes(j);
    size_t bytes = b->base.bytes.len;
    return (struct pg_part){
        .batch = b->number,
        .parts = (int64_t)((bytes + part_bytes - 1) / part_bytes),
        .version_before = b->version_before,
        .last_version = b->base.last_version,
        .time_ms = b->base.time_ms,
        .body = slice_of(b->base.bytes.data, bytes < part_bytes ? bytes : part_bytes)};
}

/* The next append begins, while an answer to the last part of this one is awaited. PostgreSQL does
 * it after this one, and only if this one was done (HAS_BEFORE). */
static void send_ahead(struct pg_journal *j)
{
    eventfd_t count;
    struct error e;
    (void)eventfd_read(j->ahead_fd, &count);
    struct append_job *next = __atomic_exchange_n(&j->ahead, NULL, __ATOMIC_ACQUIRE);
    if (next == NULL) return;
    struct pg_part p = first_part(j, next->batches);
    /* Else it is sent when its turn comes. */
    next->is_sent = send_part(j, &p, &e) == OK;
}

static enum err answer(struct append_job *w, bool is_last, struct error *e)
{
    struct pg_journal *j = w->journal;
    for (;;) {
        enum err r = pg_take(j->append_pg, is_last ? j->ahead_fd : -1, e);
        if (r != ERR_WAIT) return r;
        send_ahead(j);
        if (pg_pending(j->append_pg) == 0) return error_set(e, ERR_IO, "the connection was lost");
    }
}

/* A row that is found may be one that no standby has yet: it counts once a later write of ours has
 * been acknowledged. */
static enum err fence(struct pg_journal *j, struct error *e)
{
    struct pg *c = j->append_pg;
    pg_begin(c);
    pg_put_i64(c, term_id(j->term));
    pg_put_i64(c, (int64_t)term_epoch(j->term));
    enum err r = pg_run_safe(c, fence_sql, e);
    if (r != OK) return r;
    return pg_changed(c) == 1 ? OK : term_lost(j->term, NULL, e);
}

static enum err is_missing(struct pg_journal *j, uint64_t version, struct error *e)
{
    char text[160];
    snprintf(text, sizeof text,
             "PostgreSQL no longer has version %llu, which it had committed: a standby that was "
             "behind was promoted, or a backup was restored",
             (unsigned long long)version);
    return term_lost(j->term, text, e);
}

/* Nothing was inserted, or the outcome is not known. OK: it is there and safe; ERR_WAIT: it is not
 * there, send it again. */
static enum err find_part(struct pg_journal *j, const struct pg_part *p, struct error *e)
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
    if (pg_rows(c) != 1 || pg_i64(c, 0, 0) != epoch) return term_lost(j->term, NULL, e);
    if (pg_i64(c, 0, 3) == 0) return is_missing(j, p->version_before, e);
    if (pg_is_null(c, 0, 1)) return error_set(e, ERR_WAIT, "it was not appended");
    if (pg_i64(c, 0, 1) != epoch || pg_i64(c, 0, 2) != pg_part_checksum(p)) {
        return error_set(e, ERR_CORRUPT, "batch %lld of tupled_log is not the one appended",
                         (long long)p->batch);
    }
    return fence(j, e);
}

/* True: it is done. Else what was sent ahead is sent again, in its turn. */
static bool try_part(struct append_job *w, const struct pg_part *p, bool is_last, enum err *r)
{
    struct pg *c = w->journal->append_pg;
    bool is_sent = w->is_sent && pg_pending(c) > 0;
    w->is_sent = false;
    *r = is_sent ? OK : send_part(w->journal, p, &w->error);
    if (*r == OK) *r = answer(w, is_last, &w->error);
    w->was_sent_ahead |= is_sent && *r == OK;
    if (*r == OK && pg_changed(c) == 1) return true;
    if (pg_pending(c) > 0) pg_drop(c);
    return false;
}

/* Until it is there for certain, or another node leads, or it is given up. */
static enum err append_part(struct append_job *w, const struct pg_part *p, bool is_last)
{
    struct pg_journal *j = w->journal;
    struct error *e = &w->error;
    enum err r = OK;
    bool is_first = true;
    while (!try_part(w, p, is_last, &r)) {
        if (r == OK || pg_outcome(j->append_pg) == PG_UNKNOWN) r = find_part(j, p, e);
        if (r == OK) break;
        if (r == ERR_TRYAGAIN || r == ERR_CORRUPT) return r;
        if (r == ERR_WAIT) continue;
        if (is_first) log_warning("append: %s; retrying", e->text);
        is_first = false;
        __atomic_store_n(&w->is_full, r == ERR_DISK_FULL, __ATOMIC_RELAXED);
        do {
            if (!pg_pause(j->append_pg, RETRY_MS)) return error_set(e, ERR_IO, "given up");
            if (term_state(j->term) == TERM_LOST) return term_why(j->term, e);
            /* It may be there although the last try says no. */
            r = find_part(j, p, e);
            if (r == ERR_TRYAGAIN || r == ERR_CORRUPT) return r;
        } while (r != OK && r != ERR_WAIT);
        if (r == OK) break;
    }
    __atomic_store_n(&w->is_full, 0, __ATOMIC_RELAXED);
    if (!is_first) log_notice("append: PostgreSQL accepts writes again");
    return OK;
}

static enum err append_batch(struct append_job *w, const struct pg_batch *b)
{
    struct slice rest = slice_of(b->base.bytes.data, b->base.bytes.len);
    struct pg_part p = first_part(w->journal, b);
    size_t part_bytes = p.body.len;
    enum err r = OK;
    for (; r == OK && p.part < p.parts; p.part++) {
        bool is_last = b->next == NULL && p.part + 1 == p.parts;
        p.body = slice_of(rest.data, rest.len < part_bytes ? rest.len : part_bytes);
        rest = slice_of(rest.data + p.body.len, rest.len - p.body.len);
        r = append_part(w, &p, is_last);
        if (r == OK) {
            __atomic_store_n(&w->journal->progress_us, clock_mono_us(), __ATOMIC_RELAXED);
        }
    }
    if (r == OK) w->bytes += b->base.bytes.len;
    return r;
}

void pg_append_run(struct job *job)
{
    struct append_job *w = (struct append_job *)job;
    struct append_job *ahead = w;
    /* It is not sent ahead any more. */
    (void)__atomic_compare_exchange_n(&w->journal->ahead, &ahead, NULL, false, __ATOMIC_ACQUIRE,
                                      __ATOMIC_RELAXED);
    int64_t begin_us = clock_mono_us();
    unsigned delay_ms = fault_sync_delay_ms();
    if (delay_ms > 0) clock_sleep_us((int64_t)delay_ms * 1000);
    w->result = OK;
    w->bytes = 0;
    w->was_sent_ahead = false;
    for (const struct pg_batch *b = w->batches; b != NULL && w->result == OK; b = b->next) {
        w->result = append_batch(w, b);
    }
    w->took_us = clock_mono_us() - begin_us;
}
