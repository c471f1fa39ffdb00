/* leader: with `backend postgresql`: from when this node leads (cluster.h) until it does not. */
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/local/local.h"
#include "backend/postgres/postgres.h"
#include "base/clock.h"
#include "base/file.h"
#include "request/following.h"
#include "search/text_ops.h"
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

static enum err leader_open(void *server, struct journal **journal, struct store **store,
                            struct error *e)
{
    const struct server *s = server;
    struct postgres_options o = postgres_options(s);
    struct buf texts;
    buf_init(&texts);
    buf_printf(&texts, "%s/tupled-text.db", s->config->dir);
    buf_append_byte(&texts, '\0');
    buf_require(&texts);
    o.texts_path = (const char *)texts.data;
    enum err r = postgres_open(&o, journal, store, e);
    buf_fini(&texts);
    return r;
}

/* For files of this node: backups. Who writes there says it when it is not there. */
static void make_directory(const struct server *s)
{
    struct error e;
    if (dir_make(s->config->dir, &e) != OK) log_warning("%s", e.text);
}

enum err leader_begin(struct server *s, struct db_options *options, struct error *e)
{
    struct error closing;
    struct db *nothing = s->env.db;
    struct db *db = NULL;
    log_notice("this node leads, epoch %llu", (unsigned long long)term_epoch(s->term));
    s->renewed_us = clock_mono_us();
    make_directory(s);
    options->elsewhere = (struct db_elsewhere){leader_open, s};
    enum err r = db_open(options, &db, e);
    if (r != OK) {
        s->term = NULL; /* the database's, which there is not */
        return r;
    }
    server_use_db(s, db);
    r = db_close(nothing, &closing);
    INVARIANT(r == OK);
    s->env.stands_by = false;
    node_lead(&s->node);
    log_notice("serving as the leader");
    return OK;
}

void leader_set_options(const struct server *s)
{
    if (s->term == NULL || s->env.stands_by) return;
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
    if (term_renew(s->term, &e) != OK) log_warning("the lease is not renewed: %s", e.text);
}

bool leader_may_send(void *server)
{
    const struct server *s = server;
    return s->env.stands_by || term_has_lease(s->term);
}

static bool has_no_lease(const struct server *s)
{
    return s->term != NULL && !s->env.stands_by && !term_has_lease(s->term);
}

void leader_look(struct server *s)
{
    struct serving *v = &s->env.serving;
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
    struct serving *v = &s->env.serving;
    const char *waits = s->node.known.waits;
    const char *why = state->lease_error;
    if (why[0] == '\0') why = v->is_mute ? "its lease is over" : "PostgreSQL is silent";
    (void)error_set(&v->why, ERR_TRYAGAIN, "this node leads, and %s now: %s%s%s",
                    v->is_mute ? "may not answer" : "can write nothing", why,
                    waits[0] != '\0' ? "; " : "", waits);
}

void leader_tick(struct server *s)
{
    struct serving *v = &s->env.serving;
    struct pg_journal_state state = {.lease_error = ""};
    bool was_held = s->is_held;
    bool leads = s->cluster != NULL && s->term != NULL && !s->env.stands_by;
    if (leads) pg_journal_state(s->env.db->journal, &state);
    v->is_stuck = is_stuck(s, &state);
    s->is_held = v->is_mute || v->is_stuck;
    if (s->is_held) say_why(s, &state);
    if (s->is_held && !was_held) log_warning("%s", v->why.text);
    if (!was_held || s->is_held) return;
    log_notice("this node leads, and answers again");
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
    log_warning("this node does not lead any more: %s; it starts anew and stands by", e->text);
    size_t count = read_arguments(&text, argv);
    bool is_piped = count > 1 && strcmp(argv[1], "-") == 0; /* its configuration was read once */
    (void)umask(s->umask_before);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    if (count > 0 && !is_piped) execv("/proc/self/exe", argv);
    fprintf(stderr, "tupled: %s\n", e->text);
    _exit(1);
}
