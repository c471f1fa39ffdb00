/* cluster: with `backend postgresql`: this node among those that share it. A thread asks PostgreSQL
 * which node leads, says that this one is there, and takes over when none leads any more; what it
 * found is taken on the loop.
 *
 *   standing by (env.stands_by): the database has nothing (backend/nothing.h); connections are
 *   passed on to the leader (node/node.h)
 *      |
 *      | term_try: this node leads
 *      v
 *   about to lead (env.stands_by, server.leading): the thread connects and reads the log; the loop
 *   answers what it can by itself
 *      |
 *      | leader_begin
 *      v
 *   leading (leader.c): the database is that of PostgreSQL
 *      |
 *      | another node leads: what this one has in memory is not true any more
 *      v
 *   the process starts its program anew (execv): no thread, no byte of memory and no connection of
 *   it is left, whatever they were doing; it stands by
 */
#include <stdio.h>
#include <unistd.h>

#include "backend/nothing.h"
#include "backend/postgres/nodes.h"
#include "backend/worker.h"
#include "base/clock.h"
#include "base/mem.h"
#include "node/dial.h"
#include "server/follower.h"
#include "server/kept_users.h"
#include "server/server_int.h"

#define LOOK_PERCENT 5    /* of the lease, between two looks at who leads ... */
#define LOOK_US_MAX 50000 /* ... but no longer: clients wait for it when a leader hands over */
#define MEET_PERCENT 33   /* of the lease, between two signs of life */
#define CALL_MS_MIN 1000
#define LOG_US 10000000     /* between two lines that say the same */
#define RESOLVE_US 10000000 /* a name may mean another address later */

struct cluster {
    struct server *server;
    struct worker *worker;
    struct job job;
    bool is_looking;      /* the job is the thread's */
    int64_t next_us;      /* monotonic: of the next job */
    char *name, *address; /* of this node; owned */

    /* The thread's, while is_looking. */
    struct nodes *nodes;
    int64_t met_us, resolved_us, asked_us;
    struct node_leader leader;
    uint8_t secret[TERM_SECRET_BYTES];
    bool has_secret;
    uint64_t epoch;         /* of who leads */
    bool has_users;         /* it knew them when it began to lead */
    bool wants_why;         /* the leader may not serve: why? */
    bool has_own;           /* node-address was looked up: its own ... */
    struct net_address own; /* ... and is this; len 0 = it is none */
    bool has_dialled;       /* the loop's */
    char waits[NODES_NOTICE_BYTES];
    enum err result; /* of the look: OK, it leads; ERR_WAIT, another does; others: why not */
    struct error error;

    struct error told; /* the last that was logged, and when */
    int64_t told_us;
    struct follower follower;
    struct kept_users users;
};

static const enum term_durability durabilities[] = {
    [CONFIG_QUORUM] = TERM_QUORUM, [CONFIG_PROVIDER] = TERM_PROVIDER, [CONFIG_ASYNC] = TERM_ASYNC};

/* ---- the thread ------------------------------------------------------------------------------ */

static struct term_options term_options(const struct cluster *k)
{
    const struct config *c = k->server->config;
    int64_t lease_ms = (int64_t)c->lease_ms;
    return (struct term_options){.url = c->postgresql_url,
                                 .id = (int64_t)c->engine_id,
                                 .name = k->name,
                                 .address = k->address,
                                 .lease_ms = lease_ms,
                                 .call_ms = lease_ms < CALL_MS_MIN ? CALL_MS_MIN : lease_ms,
                                 .durability = durabilities[c->postgresql_durability],
                                 .format = k->server->format,
                                 .host_turns = &k->server->host_turns};
}

static enum err open_term(struct cluster *k, struct error *e)
{
    struct server *s = k->server;
    if (s->term == NULL) {
        struct term_options o = term_options(k);
        enum err r = term_open(&o, &s->term, e);
        if (r != OK) return r;
    }
    if (!k->has_secret) {
        enum err r = term_secret(s->term, k->secret, e);
        if (r != OK) return r;
        k->has_secret = true;
    }
    if (k->nodes == NULL) {
        k->nodes = nodes_new(s->term, s->sentinel_port, s->config->node_http_address);
    }
    return OK;
}

/* Between two signs of life, and two questions that may each take as long as a call may. */
static int64_t meet_us(const struct cluster *k)
{
    return (int64_t)k->server->config->lease_ms * 1000 * MEET_PERCENT / 100;
}

/* What PostgreSQL says that this node waits for. That it cannot be asked has been said already. */
static void ask_why(struct cluster *k, bool is_wanted)
{
    struct error ignored;
    char now[sizeof k->waits] = "";
    if (!is_wanted) k->waits[0] = '\0';
    if (!is_wanted || clock_mono_us() - k->asked_us < meet_us(k)) return;
    enum err r = nodes_why(k->nodes, now, sizeof now, &ignored);
    k->asked_us = clock_mono_us();
    if (r != OK) return;
    /* Statements are tried again: between two of them it is still so. */
    if (now[0] != '\0') snprintf(k->waits, sizeof k->waits, "%s", now);
}

/* Who leads, as term_try saw it. */
static void find_leader(struct cluster *k)
{
    const struct term *t = k->server->term;
    struct node_leader now = {.epoch = term_holder_epoch(t), .is_silent = term_holder_is_silent(t)};
    const char *holder = term_holder(t);
    int64_t now_us = clock_mono_us();
    snprintf(now.name, sizeof now.name, "%.*s", (int)strcspn(holder, "/"), holder);
    snprintf(now.address, sizeof now.address, "%s", term_holder_address(t));
    bool is_same = now.epoch == k->leader.epoch && strcmp(now.address, k->leader.address) == 0;
    k->leader.is_silent = now.is_silent;
    if (is_same && k->leader.is_known && now_us - k->resolved_us < RESOLVE_US) return;
    now.is_known = holder[0] != '\0' && net_resolve(now.address, &now.at);
    k->leader = now;
    k->resolved_us = now_us;
}

static void look(struct job *job)
{
    struct cluster *k = (struct cluster *)((char *)job - offsetof(struct cluster, job));
    struct error ignored;
    k->result = open_term(k, &k->error);
    if (k->result != OK) {
        k->leader.is_known = false;
        return;
    }
    if (clock_mono_us() - k->met_us >= meet_us(k) && nodes_meet(k->nodes, &ignored) == OK) {
        k->met_us = clock_mono_us();
    }
    bool leads = term_state(k->server->term) != TERM_FOLLOWING;
    if (leads && !k->has_own) {
        if (!net_resolve(k->address, &k->own)) k->own.len = 0;
        k->has_own = true;
    }
    if (leads && k->has_users) {
        ask_why(k, k->wants_why);
        return;
    }
    if (!leads) k->result = term_try(k->server->term, &k->error);
    k->epoch = k->result == OK ? term_epoch(k->server->term) : term_holder_epoch(k->server->term);
    if (k->result != OK) find_leader(k);
    ask_why(k, k->result != OK && (k->result != ERR_WAIT || k->leader.is_silent));
    if (k->result == OK || k->result == ERR_WAIT) {
        struct error e;
        enum err r = kept_users_look(&k->users, k->result == OK, &e);
        if (r != OK) k->error = e;
        if (r != OK) k->result = r;
        k->has_users = r == OK && k->result == OK;
    }
    struct term_options o = term_options(k);
    if (k->result == ERR_WAIT) follower_make(&k->follower, &o);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Says why it does not lead: at once when that is something new, else now and then. */
static void tell(struct cluster *k)
{
    int64_t now_us = clock_mono_us();
    bool is_same = strcmp(k->error.text, k->told.text) == 0;
    if (is_same && (k->result == ERR_WAIT || now_us - k->told_us < LOG_US)) return;
    log_notice("standing by: %s", k->error.text);
    k->told = k->error;
    k->told_us = now_us;
}

static void looked(struct job *job)
{
    struct cluster *k = (struct cluster *)((char *)job - offsetof(struct cluster, job));
    k->is_looking = false;
}

static void take_others(struct cluster *k)
{
    struct nodes_known *n = &k->server->node.known;
    size_t count = 0;
    n->epoch = k->epoch;
    snprintf(n->leader, sizeof n->leader, "%s", k->leader.is_known ? k->leader.address : "");
    n->quorum = k->server->term != NULL ? term_quorum(k->server->term) : 0;
    snprintf(n->waits, sizeof n->waits, "%s", k->waits);
    if (k->server->term != NULL) {
        snprintf(n->noticed, sizeof n->noticed, "%s", term_noticed(k->server->term));
    }
    if (k->nodes == NULL) return;
    bool is_news = strcmp(n->twin, nodes_twin(k->nodes)) != 0;
    snprintf(n->twin, sizeof n->twin, "%s", nodes_twin(k->nodes));
    if (is_news && n->twin[0] != '\0') log_warning("%s", n->twin);
    const struct node_seen *all = nodes_others(k->nodes, &count);
    for (n->other_count = 0; n->other_count < count && n->other_count < NODE_OTHERS_MAX;) {
        const struct node_seen *seen = &all[n->other_count];
        struct node_other *o = &n->others[n->other_count++];
        snprintf(o->name, sizeof o->name, "%s", seen->name);
        snprintf(o->address, sizeof o->address, "%s", seen->address);
        snprintf(o->http, sizeof o->http, "%s", seen->http);
        o->sentinel_port = seen->sentinel_port;
        o->is_up = seen->is_up;
    }
}

/* The server ends. */
static void fail(struct server *s, const struct error *e)
{
    service_stopping(&s->service, e->text);
    log_warning("stopping: %s", e->text);
    fprintf(stderr, "tupled: %s\n", e->text);
    s->has_failed = true;
    net_stop(s->net);
}

/* It leads: the database is opened. */
static void prepare(struct cluster *k)
{
    struct server *s = k->server;
    follower_end(&k->follower);
    k->leader.is_known = false;
    node_set_leader(&s->node, &k->leader);
    snprintf(s->node.known.cause, NODES_NOTICE_BYTES,
             "this node is about to lead, and is reading the log");
    leader_prepare(s, k->worker);
}

static void begin(struct server *s)
{
    struct error e;
    enum err r = leader_begin(s, &e);
    if (r == ERR_WAIT) return;
    s->node.known.cause[0] = '\0';
    if (r == ERR_IO || r == ERR_TRYAGAIN) leader_end(s, &e);
    if (r != OK) fail(s, &e);
}

static void say_cause(struct cluster *k)
{
    char *cause = k->server->node.known.cause;
    const char *why = "";
    if (k->leader.is_silent) why = "the leader does not renew its lease";
    if (k->result == ERR_IO) why = k->error.text;
    bool has_more = why[0] != '\0' && k->waits[0] != '\0';
    snprintf(cause, NODES_NOTICE_BYTES, "%.140s%s%.110s", why, has_more ? "; " : "",
             has_more ? k->waits : "");
}

/* Once, when it leads. */
static void dial(struct cluster *k)
{
    struct node *n = &k->server->node;
    if (k->has_dialled || !k->has_own || k->server->env.node.stands_by) return;
    k->has_dialled = true;
    if (k->own.len > 0) {
        node_dial(n, &k->own);
        return;
    }
    snprintf(n->known.misled, sizeof n->known.misled, "invalid node-address: %s", n->known.address);
    log_warning("%s", n->known.misled);
}

/* What the thread has found. */
static void take(struct cluster *k)
{
    struct server *s = k->server;
    if (k->has_secret) memcpy(s->node.secret, k->secret, sizeof s->node.secret);
    take_others(k);
    dial(k);
    if (!s->env.node.stands_by) return;
    kept_users_take(&k->users);
    if (k->result == OK) {
        prepare(k);
        return;
    }
    tell(k);
    if (k->result != ERR_WAIT && k->result != ERR_IO) {
        fail(s, &k->error);
        return;
    }
    say_cause(k);
    node_set_leader(&s->node, &k->leader);
    follower_take(&k->follower);
}

void cluster_poll(struct server *s)
{
    struct cluster *k = s->cluster;
    if (k == NULL) return;
    follower_poll(&k->follower);
    bool was_looking = k->is_looking;
    worker_poll(k->worker);
    if (was_looking && !k->is_looking) {
        take(k);
    } else if (s->leading != NULL) {
        begin(s);
    }
}

void cluster_tick(struct server *s)
{
    struct cluster *k = s->cluster;
    int64_t now_us = clock_mono_us();
    if (k == NULL) return;
    leader_tick(s);
    follower_tick(&k->follower);
    if (k->is_looking || s->leading != NULL || now_us < k->next_us) return;
    int percent = s->env.node.stands_by ? LOOK_PERCENT : MEET_PERCENT;
    int64_t wait_us = (int64_t)s->config->lease_ms * 1000 * percent / 100;
    if (s->env.node.stands_by && wait_us > LOOK_US_MAX) wait_us = LOOK_US_MAX;
    k->next_us = now_us + wait_us;
    k->wants_why = s->is_held;
    k->is_looking = true;
    worker_post(k->worker, &k->job);
}

/* ---- start and stop -------------------------------------------------------------------------- */

bool cluster_is_wanted(const struct server *s)
{
    return s->config->backend == CONFIG_POSTGRESQL;
}

/* Or https; or empty. What comes after the host may be left out, but for a path. */
static bool is_http_address(const char *text)
{
    static const char *const schemes[] = {"http://", "https://"};
    if (text[0] == '\0') return true;
    for (size_t i = 0; i < 2; i++) {
        size_t len = strlen(schemes[i]);
        const char *host = text + len;
        if (strncmp(text, schemes[i], len) != 0) continue;
        return host[0] != '\0' && strcspn(host, "/?#\"\\ ") == strlen(host);
    }
    return false;
}

enum err cluster_check(const struct server *s, struct error *e)
{
    const struct config *c = s->config;
    if (c->postgresql_url[0] == '\0') {
        return error_set(e, ERR_SYNTAX, "backend postgresql needs postgresql-url");
    }
    if (!is_http_address(c->node_http_address)) {
        return error_set(e, ERR_SYNTAX, "node-http-address must be http://host:port, not \"%s\"",
                         c->node_http_address);
    }
    if (c->tls_cluster == CONFIG_YES && !tls_has_port(s)) {
        return error_set(e, ERR_SYNTAX, "tls-cluster needs tls-port, to which other nodes connect");
    }
    if (c->archive_dir[0] != '\0') {
        return error_set(e, ERR_SYNTAX,
                         "archive-dir applies to backend local: with PostgreSQL, use its own "
                         "point-in-time recovery");
    }
    return OK;
}

enum err cluster_nothing(void *server, struct journal **journal, struct store **store,
                         struct error *e)
{
    (void)server;
    (void)e;
    nothing_open(journal, store);
    return OK;
}

static char *copy_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(mem_alloc(bytes), text, bytes);
}

/* As the settings say, or the host's name; and the address that it listens on, if it is one that
 * says where. */
static void set_names(struct cluster *k)
{
    struct server *s = k->server;
    const struct config *c = s->config;
    char host[NODE_TEXT_BYTES - 16] = "";
    char address[NODE_TEXT_BYTES];
    if (gethostname(host, sizeof host - 1) != 0) snprintf(host, sizeof host, "localhost");
    k->name = copy_text(c->node_name[0] != '\0' ? c->node_name : host);
    const char *bind = c->bind_count == 1 ? c->bind[0] : "*";
    bool is_place = net_is_address(slice_str(bind)) && strcmp(bind, "0.0.0.0") != 0 &&
                    strcmp(bind, "::") != 0;
    const char *place = is_place ? bind : host;
    snprintf(address, sizeof address, strchr(place, ':') != NULL ? "[%s]:%u" : "%s:%u", place,
             c->tls_cluster == CONFIG_YES ? s->tls.port : s->env.server.about.port);
    k->address = copy_text(c->node_address[0] != '\0' ? c->node_address : address);
    snprintf(s->node.known.name, sizeof s->node.known.name, "%s", k->name);
    snprintf(s->node.known.address, sizeof s->node.known.address, "%s", k->address);
}

static void on_look(void *arg)
{
    const struct server *s = arg;
    net_wake(s->net);
}

enum err cluster_open(struct server *s, struct error *e)
{
    if (!cluster_is_wanted(s)) return OK;
    struct cluster *k = mem_new(sizeof *k);
    k->server = s;
    k->follower.server = s;
    s->follower = &k->follower;
    k->job = (struct job){.run = look, .done = looked};
    k->worker = worker_new(
        &(struct worker_options){.name = "cluster", .threads = 1, .wake = on_look, .arg = s});
    s->cluster = k;
    set_names(k);
    if (k->worker == NULL) return error_set(e, ERR_IO, "cannot start a thread");
    if (s->config->durability != CONFIG_DURABLE_ALWAYS) {
        log_warning("durability has no effect with backend postgresql; see postgresql-durability");
    }
    kept_users_open(&k->users, s, k->worker);
    /* Clients of KV Connect are told to read here (http/connect.c). */
    bool is_told = s->config->node_http_address[0] != '\0';
    s->env.node.following.is_wanted = is_told || s->config->node_follows == CONFIG_YES;
    s->kept_users = &k->users;
    log_notice("standing by as node %s, with address %s", k->name, k->address);
    return OK;
}

void cluster_close(struct server *s)
{
    struct cluster *k = s->cluster;
    if (k == NULL) return;
    if (k->worker != NULL) worker_free(k->worker);
    leader_give_up(s);
    nodes_free(k->nodes);
    if (s->kept_users != NULL) kept_users_close(&k->users);
    follower_close(&k->follower);
    explicit_bzero(k->secret, sizeof k->secret);
    mem_free(k->name);
    mem_free(k->address);
    mem_free(k);
    s->cluster = NULL;
    s->follower = NULL;
    s->kept_users = NULL;
    /* A leader's is its database's. */
    if (s->env.node.stands_by) term_free(s->term);
}
