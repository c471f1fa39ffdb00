/* pg_state: what is stored of the store as a whole: up to which version, how much of each database;
 * and the checksum of an entry. */
#include "backend/postgres/pg_store_int.h"
#include "base/bytes.h"
#include "base/hash.h"

static const char applied_sql[] =
    "SELECT applied, (SELECT count(*) FROM tupled_garbage g WHERE g.id = $1), step "
    "FROM tupled_applied WHERE id = $1";
static const char counts_sql[] =
    "SELECT database, entries, expiring, bytes FROM tupled_count WHERE id = $1";

int64_t pg_entry_checksum(struct slice key, uint64_t version, int64_t expiry_ms, struct slice value)
{
    uint8_t head[32];
    put_u64(head, checksum_bytes(key));
    put_u64(head + 8, version);
    put_u64(head + 16, (uint64_t)expiry_ms);
    put_u64(head + 24, checksum_bytes(value));
    return (int64_t)checksum_bytes(slice_of(head, sizeof head));
}

enum err pg_fenced_off(struct pg_store *s, const char *missing, struct error *e)
{
    if (term_lost(s->term, missing, e) != OK) e->code = ERR_IO;
    return ERR_IO;
}

enum err pg_stepped(struct pg_store *s, struct error *e)
{
    if (pg_rows(s->pg) == 0 || pg_i64(s->pg, 0, 0) != 1) return pg_fenced_off(s, NULL, e);
    s->step++;
    return OK;
}

/* The first that is read is what there is. */
static enum err take_step(struct pg_store *s, int64_t step, struct error *e)
{
    bool is_first = !s->is_loaded;
    s->is_loaded = true;
    if (!is_first && !s->is_following && step != s->step && step != s->step + 1) {
        return pg_fenced_off(s, "PostgreSQL has lost a write of the store", e);
    }
    s->step = step;
    return OK;
}

static enum err with_id(struct pg_store *s, const char *sql, struct error *e)
{
    pg_begin(s->pg);
    pg_put_i64(s->pg, term_id(s->term));
    return pg_run_again(s->pg, sql, e);
}

enum err pg_store_load(struct pg_store *s, struct error *e)
{
    enum err r = with_id(s, applied_sql, e);
    if (r != OK) return r;
    if (pg_rows(s->pg) != 1) {
        return error_set(e, ERR_CORRUPT, "tupled_applied has no row for engine %lld",
                         (long long)term_id(s->term));
    }
    s->applied = (uint64_t)pg_i64(s->pg, 0, 0);
    s->has_garbage = pg_i64(s->pg, 0, 1) > 0;
    r = take_step(s, pg_i64(s->pg, 0, 2), e);
    if (r == OK) r = with_id(s, counts_sql, e);
    if (r != OK) return r;
    store_counts_fini(&s->counts);
    for (size_t i = 0; i < pg_rows(s->pg); i++) {
        struct store_counts c = {.entries = (uint64_t)pg_i64(s->pg, i, 1),
                                 .expiring = (uint64_t)pg_i64(s->pg, i, 2),
                                 .bytes = (uint64_t)pg_i64(s->pg, i, 3)};
        store_counts_put(&s->counts, (uint16_t)pg_i64(s->pg, i, 0), &c);
    }
    return OK;
}
