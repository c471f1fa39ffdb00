/* pg_behind: the store of a node that follows: how new is what is read, and when is what was
 * brought part of it? The leader writes memtables of its own in slices; before the first of them it
 * notes in tupled_leader the newest version that is in them.
 */
#include "backend/postgres/pg_store_int.h"
#include "base/clock.h"

#define BEHIND_US_MAX 5000000 /* a read waits so long for what it has seen */
#define BEHIND_PAUSE_MS 5
#define APPLY_PAUSE_MS 20

static const char applying_sql[] = "SELECT applying_to FROM tupled_leader WHERE id = $1";

/* Entries up to this version may be in what this connection has read so far: the note is never
 * lowered but when PostgreSQL loses something. */
static enum err read_applying(const struct pg_store *s, struct pg *c, bool is_patient,
                              uint64_t *version, struct error *e)
{
    pg_begin(c);
    pg_put_i64(c, term_id(s->term));
    enum err r = is_patient ? pg_run_patiently(c, applying_sql, e) : pg_run(c, applying_sql, e);
    if (r != OK) return r;
    if (pg_rows(c) != 1) return error_set(e, ERR_CORRUPT, "tupled_leader has no row");
    *version = (uint64_t)pg_i64(c, 0, 0);
    return OK;
}

enum err pg_behind_check(const struct pg_store *s, struct pg *c, uint64_t version, struct error *e)
{
    uint64_t applying = 0;
    enum err r = read_applying(s, c, false, &applying, e);
    if (r != OK || applying <= version) return r;
    return error_set(e, ERR_BEHIND, "this node is behind the leader");
}

enum err pg_behind_wait(const struct pg_store *s, struct pg *c, struct error *e)
{
    int64_t until_us = clock_mono_us() + BEHIND_US_MAX;
    uint64_t applying = 0;
    enum err r = read_applying(s, c, true, &applying, e);
    if (r != OK) return r;
    while (__atomic_load_n(&s->brought, __ATOMIC_ACQUIRE) < applying) {
        if (clock_mono_us() < until_us && pg_pause(c, BEHIND_PAUSE_MS)) continue;
        return error_set(e, ERR_BEHIND, "this node is behind the leader");
    }
    return OK;
}

enum err pg_follow_apply(struct store *store, const struct memtable *m,
                         struct store_progress *progress, struct error *e)
{
    struct pg_store *s = pg_store_of(store);
    const struct store_counts *c;
    *progress = (struct store_progress){.applied = s->applied};
    while (s->applied < m->version_last) {
        enum err r = pg_store_load(s, e);
        if (r != OK) return r;
        if (s->applied >= m->version_last) break;
        if (!pg_pause(s->pg, APPLY_PAUSE_MS)) return error_set(e, ERR_IO, "given up");
    }
    for (uint32_t i = 0; (c = sparse_next(&s->counts, &i)) != NULL; i++) {
        store_counts_put(&progress->counts, (uint16_t)i, c);
    }
    progress->applied = m->version_last;
    return OK;
}
