/* pg_history: reads tupled_log: at the start what the store does not have, later what was
 * committed. */
#include "backend/postgres/pg_journal_int.h"
#include "backend/postgres/pg_walk.h"
#include "base/log.h"
#include "base/mem.h"

#define READ_BYTES_MAX (4u << 20) /* that one read of history gives */

static const char oldest_sql[] =
    "SELECT version_before FROM tupled_log WHERE id = $1 ORDER BY last_version, part LIMIT 1";
static const char newest_sql[] =
    "SELECT coalesce(max(batch), 0), coalesce(sum(length(body)), 0)::int8 FROM tupled_log "
    "WHERE id = $1";
static const char cut_sql[] =
    "DELETE FROM tupled_log USING (SELECT id FROM tupled_leader WHERE id = $1 AND epoch = $2 "
    "FOR KEY SHARE) f WHERE tupled_log.id = f.id AND batch >= $3";

/* ---- the start ---- */

static enum err replay_all(struct pg_journal *j, struct journal_replay *r, int64_t *torn,
                           struct error *e)
{
    struct pg_walk w;
    bool has_one = true;
    uint64_t version = r->after;
    enum err result = OK;
    pg_walk_init(&w, j->background_pg, term_id(j->term), r->after);
    pg_walk_ahead(&w, j->background, j->append_pg);
    while (result == OK) {
        result = pg_walk_batch(&w, &has_one, e);
        if (result != OK || !has_one) break;
        const struct pg_part *b = &w.batch;
        bool is_first = version == r->after;
        if (is_first ? b->version_before > version : b->version_before != version) {
            result = error_set(e, ERR_CORRUPT,
                               "tupled_log has a gap: version %llu is followed by the successor "
                               "of %llu",
                               (unsigned long long)version, (unsigned long long)b->version_before);
            break;
        }
        result = journal_replay_batch(&j->base, r, b->body, e);
        r->time_ms = b->time_ms;
        version = b->last_version;
    }
    *torn = w.torn;
    pg_walk_fini(&w);
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
    log_notice("removing %llu parts of an incomplete batch", (unsigned long long)pg_changed(c));
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

static enum err take_batch(struct journal_read *r, struct pg_reading *k, const struct pg_part *b,
                           bool *is_full)
{
    struct slice rest = b->body;
    struct txn_view txn;
    bool is_first = true;
    if (b->version_before > k->version) {
        return error_set(&r->error, ERR_STALE, "the log after version %llu is no longer kept",
                         (unsigned long long)k->version);
    }
    while (rest.len > 0 && !*is_full) {
        if (!txn_read(&rest, &txn)) {
            return error_set(&r->error, ERR_CORRUPT, "cannot decode batch %lld of tupled_log",
                             (long long)b->batch);
        }
        bool is_lost = is_first && pg_is_of_lost_history(k->version, b, txn.version);
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
    struct pg_walk w;
    size_t bytes = 0;
    bool is_full = false;
    pg_walk_init(&w, k->pg, term_id(j->term), k->after);
    while (r->result == OK && !is_full && k->version < k->end && bytes < READ_BYTES_MAX) {
        bool has_one = false;
        r->result = pg_walk_batch(&w, &has_one, &r->error);
        /* PostgreSQL is away: the one who asked may ask again. */
        if (r->result == ERR_IO && pg_is_away(k->pg)) r->result = r->error.code = ERR_TRYAGAIN;
        if (r->result != OK) break;
        if (!has_one) {
            r->result = error_set(&r->error, ERR_STALE,
                                  "the log after version %llu is no longer kept",
                                  (unsigned long long)k->version);
            break;
        }
        bytes += w.batch.body.len;
        r->result = take_batch(r, k, &w.batch, &is_full);
    }
    pg_walk_fini(&w);
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
