/* term_lost: the end of a term: another node leads, or PostgreSQL has not what it had. */
#include <stdio.h>
#include <time.h>

#include "backend/postgres/term_int.h"
#include "base/log.h"

#define MOVED_TEXT                                                                                 \
    "the connection leads to another server than that of this term (%s instead of %s): "           \
    "PostgreSQL has failed over, or was restored"

/* An epoch that is lower than a leader's, or its own with a beat that it does not know: no node has
 * taken over, so what is there is older. One that has taken over meanwhile without knowing is
 * fenced off, too. */
static const char give_up_sql[] =
    "UPDATE tupled_leader SET holder = '', beat = $3, epoch = $2, timeline = 'lost', noticed = $4 "
    "WHERE id = $1 AND epoch <= $2";
static const char row_sql[] = "SELECT epoch FROM tupled_leader WHERE id = $1";

static void at_what_time(char out[32])
{
    struct tm tm;
    time_t now = time(NULL);
    if (gmtime_r(&now, &tm) == NULL || strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0) {
        out[0] = '\0';
    }
}

/* The next leader begins at once, and far above. *is_older: the row was not of a later epoch. */
static enum err give_up(struct term *t, struct pg *c, const char *what, bool *is_older,
                        struct error *e)
{
    char text[TERM_TEXT_BYTES];
    char at[32];
    at_what_time(at);
    snprintf(text, sizeof text, "%s epoch %llu, node %s: %s", at, (unsigned long long)t->epoch,
             t->name, what);
    pg_begin(c);
    pg_put_i64(c, t->options.id);
    pg_put_i64(c, (int64_t)t->epoch);
    pg_put_i64(c, term_new_beat());
    pg_put_text(c, text);
    enum err r = pg_run_safe_again(c, give_up_sql, e);
    *is_older = r == OK && pg_changed(c) == 1;
    return r;
}

static enum err row_is_there(struct term *t, struct pg *c, bool *is_there, struct error *e)
{
    pg_begin(c);
    pg_put_i64(c, t->options.id);
    enum err r = pg_run_again(c, row_sql, e);
    *is_there = r == OK && pg_rows(c) == 1;
    return r;
}

static void find_out(struct term *t, const char *missing, struct error *why)
{
    struct error e;
    bool is_older = false;
    bool is_there = true;
    const char *what = missing != NULL ? missing : "PostgreSQL has an older state than before";
    struct pg *c = term_connect_anywhere(t, "giving up");
    enum err r = give_up(t, c, what, &is_older, &e);
    if (r == OK && !is_older) r = row_is_there(t, c, &is_there, &e);
    pg_free(c);
    if (r != OK) log_warning("cannot release leadership in PostgreSQL: %s", e.text);
    (void)error_set(why, ERR_TRYAGAIN, "%s",
                    missing != NULL || is_older ? what
                    : is_there                  ? "another node is the leader now"
                                                : "the leader's row was removed");
}

enum err term_why(struct term *t, struct error *e)
{
    pthread_mutex_lock(&t->lock);
    *e = t->why;
    pthread_mutex_unlock(&t->lock);
    return e->code != OK ? e->code : error_set(e, ERR_TRYAGAIN, "another node is the leader now");
}

/* Those who come later wait for the first. Nothing is told meanwhile. */
enum err term_lost(struct term *t, const char *missing, struct error *e)
{
    int expected = TERM_LEADING;
    __atomic_store_n(&t->is_over, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&t->lease_end_us, 0, __ATOMIC_RELEASE);
    pthread_mutex_lock(&t->lock);
    if (t->why.code == OK) find_out(t, missing, &t->why);
    pthread_mutex_unlock(&t->lock);
    INVARIANT(t->why.code != OK); /* 4 */
    bool is_first = __atomic_compare_exchange_n(&t->state, &expected, TERM_LOST, false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (is_first) machine_moves(&term_machine, t, TERM_LEADING, TERM_LOST);
    return term_why(t, e);
}

enum err term_prove(void *term, const char *server, struct error *e)
{
    struct term *t = term;
    char text[TERM_TEXT_BYTES + 2 * PG_SERVER_BYTES];
    if (t->server[0] == '\0' || strcmp(t->server, server) == 0) return OK;
    snprintf(text, sizeof text, MOVED_TEXT, server, t->server);
    bool leads = term_state(t) == TERM_LEADING;
    if (leads && term_lost(t, text, e) == OK) return OK;
    return error_set(e, ERR_IO, "%s", text);
}
