/* pg_users: a write names the epoch of this node, so that only the leader's is done. It is repeated
 * while PostgreSQL is away: written twice, the whole text is the same. */
#include "backend/postgres/pg_users.h"

#include "base/mem.h"

#define AGAIN_MS 50

struct pg_users {
    struct term *term;
    struct pg *pg;
};

static const char read_sql[] =
    "SELECT generation, text FROM tupled_users WHERE id = $1 AND generation <> $2";
static const char fill_sql[] = "INSERT INTO tupled_users SELECT id, 1, $3 FROM tupled_leader "
                               "WHERE id = $1 AND epoch = $2 ON CONFLICT (id) DO NOTHING";
/* The same again makes no difference: the text is the whole of it. */
static const char write_sql[] =
    "WITH me AS (SELECT id FROM tupled_leader WHERE id = $1 AND epoch = $2 FOR KEY SHARE) "
    "UPDATE tupled_users SET generation = generation + 1, text = $3 FROM me "
    "WHERE tupled_users.id = me.id";

struct pg_users *pg_users_new(struct term *t)
{
    struct pg_users *u = mem_new(sizeof *u);
    u->term = t;
    u->pg = term_connect(t, "users", TERM_WRITE);
    return u;
}

void pg_users_free(struct pg_users *u)
{
    if (u == NULL) return;
    pg_free(u->pg);
    mem_free(u);
}

enum err pg_users_read(struct pg_users *u, uint64_t *generation, struct buf *out, struct error *e)
{
    buf_clear(out, 0);
    pg_begin(u->pg);
    pg_put_i64(u->pg, term_id(u->term));
    pg_put_i64(u->pg, (int64_t)*generation);
    enum err r = pg_run_again(u->pg, read_sql, e);
    if (r != OK || pg_rows(u->pg) == 0) return r;
    struct slice text = pg_bytes(u->pg, 0, 1);
    buf_append(out, text.data, text.len);
    if (out->is_failed) return error_set(e, ERR_NOMEM, "out of memory for the users");
    *generation = (uint64_t)pg_i64(u->pg, 0, 0);
    return OK;
}

static enum err write_text(struct pg_users *u, const char *sql, struct slice text, struct error *e)
{
    pg_begin(u->pg);
    pg_put_i64(u->pg, term_id(u->term));
    pg_put_i64(u->pg, (int64_t)term_epoch(u->term));
    pg_put_bytes(u->pg, text);
    enum err r = pg_run_safe_again(u->pg, sql, e);
    while (r == ERR_IO && pg_is_away(u->pg) && pg_pause(u->pg, AGAIN_MS)) {
        r = pg_run_safe(u->pg, sql, e);
    }
    return r;
}

enum err pg_users_fill(struct pg_users *u, struct slice text, struct error *e)
{
    return write_text(u, fill_sql, text, e);
}

enum err pg_users_write(struct pg_users *u, struct slice text, struct error *e)
{
    enum err r = write_text(u, write_sql, text, e);
    if (r != OK || pg_changed(u->pg) == 1) return r;
    return error_set(e, ERR_TRYAGAIN, "another node is the leader now");
}
