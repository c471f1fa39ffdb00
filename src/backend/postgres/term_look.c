/* term_look: the row of the leader as a node sees it, and what this node knows: PostgreSQL may have
 * less than it had when the node last looked. */
#include <stdio.h>

#include "backend/postgres/schema.h"
#include "backend/postgres/term_int.h"
#include "base/log.h"

/* The newest version that is whole; a batch is not before its last part is there. */
static const char look_sql[] =
    "SELECT l.epoch, l.beat, l.holder, l.address, l.versions_reserved, l.noticed, "
    "(SELECT format FROM tupled_schema), "
    "greatest((SELECT applied FROM tupled_applied WHERE id = $1), (SELECT g.last_version FROM "
    "tupled_log g WHERE g.id = $1 AND g.part = g.parts - 1 ORDER BY g.last_version DESC, "
    "g.part DESC LIMIT 1), 0) FROM tupled_leader l WHERE l.id = $1";

static void copy_column(const struct pg *c, unsigned column, char out[TERM_TEXT_BYTES])
{
    struct slice s = pg_bytes(c, 0, column);
    snprintf(out, TERM_TEXT_BYTES, "%.*s", (int)s.len, (const char *)s.data);
}

/* What was seen once must be there for good. When another node has taken over since, it was for
 * that node to notice. */
static void compare(struct term *t, int64_t epoch, int64_t version)
{
    bool is_less = epoch < t->known_epoch || version < t->known_version;
    if (epoch > t->known_epoch) t->is_less = is_less = false;
    if (is_less && !t->is_less) {
        log_warning("PostgreSQL has lost data: it has epoch %lld and version %lld, and had %lld "
                    "and %lld. A standby that was behind was promoted, or a backup was restored",
                    (long long)epoch, (long long)version, (long long)t->known_epoch,
                    (long long)t->known_version);
    }
    t->is_less |= is_less;
    if (t->is_less) return;
    t->known_epoch = epoch;
    t->known_version = version;
}

static enum err make_row(struct term *t, struct error *e)
{
    enum err r = schema_make_leader(t->pg, t->options.id, e);
    if (r != OK) return r;
    log_warning("tupled_leader had no row for engine %lld; it is recreated from the log",
                (long long)t->options.id);
    return error_set(e, ERR_IO, "the leader's row was removed");
}

enum err term_look(struct term *t, struct error *e)
{
    pg_begin(t->pg);
    pg_put_i64(t->pg, t->options.id);
    enum err r = pg_run_again(t->pg, look_sql, e);
    if (r != OK) return r;
    /* Not from before it was asked: the beat may be younger than that, by however long it took. */
    int64_t at_us = term_now_us();
    t->looked_us = at_us;
    if (pg_rows(t->pg) != 1) return make_row(t, e);
    int64_t epoch = pg_i64(t->pg, 0, 0);
    int64_t beat = pg_i64(t->pg, 0, 1);
    copy_column(t->pg, 2, t->seen_holder);
    copy_column(t->pg, 3, t->seen_address);
    t->versions = (uint64_t)pg_i64(t->pg, 0, 4);
    copy_column(t->pg, 5, t->noticed);
    t->seen_format = pg_i64(t->pg, 0, 6);
    compare(t, epoch, pg_i64(t->pg, 0, 7));
    if (epoch == t->seen_epoch && beat == t->seen_beat) return OK;
    t->seen_epoch = epoch;
    t->seen_beat = beat;
    t->seen_us = at_us;
    return OK;
}
