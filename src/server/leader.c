/* leader: with `backend postgresql`: from when this node leads (cluster.c) until it does not.
 *
 *   leader_prepare: a thread connects, and reads the log; the loop answers what it can meanwhile
 *      | leader_begin, when that is done
 *      v
 *   serving
 *      | leader_end: another node leads
 *      v
 *   the process begins anew
 */
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/local/local.h"
#include "backend/postgres/postgres.h"
#include "backend/worker.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "request/following.h"
#include "search/text_ops.h"
#include "server/kept_users.h"
#include "server/server_int.h"

#define STUCK_US_MIN 1000000 /* that nothing is committed, before writes wait and it is told */
#define ARGUMENTS_MAX 1024
#define COMMAND_LINE_BYTES_MAX ((size_t)2 << 20)

static struct postgres_options postgres_options(const struct server *s)
{
    const struct config *c = s->config;
    return (struct postgres_options){.term = s->term,
                                     .lease_ms = (int64_t)c->lease_ms,
                                     .retention_ms = (int64_t)c->changes_retention_age_s * 1000,
                                     .retention_bytes = c->changes_retention_bytes,
                                     .nearby = &local_nearby,
                                     .text_ops = &search_text_ops};
}

/* What is the thread's from leader_prepare on, and the loop's again when is_open. */
struct leading {
    struct job job;
    struct db_options options;
    struct postgres_options postgres;
    struct buf texts; /* owned: a path */
    struct db *db;
    enum err result;
    struct error error;
    bool is_open; /* or failed: the loop's */
};

static enum err open_postgres(void *arg, struct journal **journal, struct store **store,
                              struct error *e)
{
    const struct leading *x = arg;
    return postgres_open(&x->postgres, journal, store, e);
}

static void open_database(struct job *job)
{
    struct leading *x = (struct leading *)job;
    x->result = db_recover(&x->options, &x->db, &x->error);
}

static void opened(struct job *job)
{
    ((struct leading *)job)->is_open = true;
}

static void leading_free(struct server *s)
{
    buf_fini(&s->leading->texts);
    mem_free(s->leading);
    s->leading = NULL;
}

/* For files of this node: backups. What writes there says it when it is not there. */
static void make_directory(const struct server *s)
{
    struct error e;
    if (dir_make(s->config->dir, &e) != OK) log_warning("%s", e.text);
}

void leader_prepare(struct server *s, struct worker *w)
{
    struct leading *x = s->leading = mem_new(sizeof *x);
    x->job = (struct job){.run = open_database, .done = opened};
    x->options = settings_db(s);
    x->options.pipeline.arg = s;
    x->options.elsewhere = (struct db_elsewhere){open_postgres, x};
    x->postgres = postgres_options(s);
    buf_init(&x->texts);
    buf_printf(&x->texts, "%s/tupled-text.db", s->config->dir);
    buf_append_byte(&x->texts, '\0');
    buf_require(&x->texts);
    x->postgres.texts_path = (const char *)x->texts.data;
    log_notice("this node is the leader, epoch %llu", (unsigned long long)term_epoch(s->term));
    s->renewed_us = clock_mono_us();
    make_directory(s);
    worker_post(w, &x->job);
}

static void nothing_ready(struct waiter *w)
{
    (void)w;
}

/* Settings may have changed since it began to open. */
static enum err take_settings(struct server *s, struct db *db, struct error *e)
{
    struct waiter w = {.ready = nothing_ready};
    struct db_options now = settings_db(s);
    enum err r = db_set_options(db, &now, &w, e);
    waiter_cancel(&w);
    return r == ERR_WAIT ? OK : r;
}

enum err leader_begin(struct server *s, struct error *e)
{
    struct error closing;
    struct leading *x = s->leading;
    if (!x->is_open) return ERR_WAIT;
    struct db *nothing = s->env.db;
    struct db *db = x->db;
    enum err r = x->result;
    *e = x->error;
    if (r == OK) {
        db_begin(db, &x->options);
    } else {
        s->term = NULL; /* the database's, which there is not */
    }
    leading_free(s);
    if (r == OK) r = take_settings(s, db, e);
    if (r != OK) return r;
    server_use_db(s, db);
    r = db_close(nothing, &closing);
    INVARIANT(r == OK);
    s->env.node.stands_by = false;
    leader_set_options(s);
    node_lead(&s->node);
    log_notice("serving as the leader");
    return OK;
}

void leader_give_up(struct server *s)
{
    struct error e;
    struct leading *x = s->leading;
    if (x == NULL) return;
    if (x->result == OK) {
        db_begin(x->db, &x->options);
        if (db_close(x->db, &e) != OK) log_warning("stopping: %s; the log is complete", e.text);
    }
    s->term = NULL;
    leading_free(s);
}

void leader_set_options(const struct server *s)
{
    if (s->term == NULL || s->env.node.stands_by) return;
    struct postgres_options o = postgres_options(s);
    postgres_set_options(s->env.db->journal, &o);
}

void leader_start_goes_on(struct server *s)
{
    struct error e;
    if (s->term == NULL) return;
    int64_t now_us = clock_mono_us();
    if (now_us - s->renewed_us < (int64_t)s->config->lease_ms * 1000 / 3) return;
    s->renewed_us = now_us;
    if (term_renew(s->term, &e) != OK) log_warning("cannot renew the lease: %s", e.text);
}

bool leader_may_send(void *server)
{
    const struct server *s = server;
    return s->env.node.stands_by || term_has_lease(s->term);
}

static bool has_no_lease(const struct server *s)
{
    return s->term != NULL && !s->env.node.stands_by && !term_has_lease(s->term);
}

void leader_look(struct server *s)
{
    struct serving *v = &s->env.node.serving;
    if (s->cluster == NULL || v->is_mute == has_no_lease(s)) return;
    v->is_mute = !v->is_mute;
    leader_tick(s);
}

/* What is evaluated now would be answered late, or never. */
static bool is_stuck(const struct server *s, const struct pg_journal_state *state)
{
    int64_t most_us = (int64_t)s->config->lease_ms * 1000 / 3;
    return state->silent_us > (most_us > STUCK_US_MIN ? most_us : STUCK_US_MIN);
}

static void say_why(struct server *s, const struct pg_journal_state *state)
{
    struct serving *v = &s->env.node.serving;
    const char *waits = s->node.known.waits;
    const char *why = state->lease_error;
    if (why[0] == '\0') why = v->is_mute ? "its lease has expired" : "PostgreSQL does not respond";
    (void)error_set(&v->why, ERR_TRYAGAIN, "this node is the leader, but %s now: %s%s%s",
                    v->is_mute ? "must not reply" : "cannot write", why,
                    waits[0] != '\0' ? "; " : "", waits);
}

void leader_tick(struct server *s)
{
    struct serving *v = &s->env.node.serving;
    struct pg_journal_state state = {.lease_error = ""};
    bool was_held = s->is_held;
    bool leads = s->cluster != NULL && s->term != NULL && !s->env.node.stands_by;
    if (leads) pg_journal_state(s->env.db->journal, &state);
    v->is_stuck = is_stuck(s, &state);
    s->is_held = v->is_mute || v->is_stuck;
    if (s->is_held) say_why(s, &state);
    if (s->is_held && !was_held) log_warning("%s", v->why.text);
    if (!was_held || s->is_held) return;
    log_notice("this node is the leader, and replies again");
    following_wake(&s->env);
}

bool leader_is_lost(const struct server *s)
{
    return s->term != NULL && term_state(s->term) == TERM_LOST;
}

/* The words that this process was started with. */
static size_t read_arguments(struct buf *text, char *argv[ARGUMENTS_MAX])
{
    struct error e;
    size_t count = 0;
    if (file_read_all("/proc/self/cmdline", text, COMMAND_LINE_BYTES_MAX, &e) != OK) return 0;
    buf_append_byte(text, '\0');
    if (text->is_failed) return 0;
    char *at = (char *)text->data;
    char *end = at + text->len - 1;
    for (; at < end && count < ARGUMENTS_MAX - 1; at += strlen(at) + 1) argv[count++] = at;
    argv[count] = NULL;
    return at < end ? 0 : count;
}

void leader_end(const struct server *s, const struct error *e)
{
    static char *argv[ARGUMENTS_MAX];
    struct buf text;
    sigset_t none;
    buf_init(&text);
    log_warning("this node is no longer the leader: %s; restarting as a standby", e->text);
    size_t count = read_arguments(&text, argv);
    bool is_piped = count > 1 && strcmp(argv[1], "-") == 0; /* its configuration was read once */
    (void)umask(s->umask_before);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    if (count > 0 && !is_piped) {
        if (s->kept_users != NULL) kept_users_hand_over(s->kept_users);
        execv("/proc/self/exe", argv);
    }
    fprintf(stderr, "tupled: %s\n", e->text);
    _exit(1);
}
