/* leader: with `backend postgresql` one node of several leads, and serves; the others wait here
 * until they do. Who leads is in PostgreSQL (backend/postgres/term.h). A node that has lost the
 * lead ends at once (on_fatal in server.c): what it had in memory is not true any more. Whoever
 * started it starts it again, and it waits.
 */
#include <string.h>
#include <unistd.h>

#include "backend/postgres/postgres.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/server_int.h"

#define WAIT_PERCENT 10 /* of the lease, between two looks */
#define CALL_MS_MIN 1000
#define LOG_US 10000000 /* between two lines that say the same */
#define NAME_BYTES 256

static const enum term_durability durabilities[] = {
    [CONFIG_QUORUM] = TERM_QUORUM, [CONFIG_PROVIDER] = TERM_PROVIDER, [CONFIG_ASYNC] = TERM_ASYNC};

static struct postgres_options postgres_options(const struct server *s)
{
    const struct config *c = s->config;
    return (struct postgres_options){.term = s->term,
                                     .lease_ms = (int64_t)c->lease_ms,
                                     .retention_ms = (int64_t)c->changes_retention_age_s * 1000,
                                     .retention_bytes = c->changes_retention_bytes};
}

static enum err check(const struct config *c, struct error *e)
{
    if (c->postgresql_url[0] == '\0') {
        return error_set(e, ERR_SYNTAX, "backend postgresql needs postgresql-url");
    }
    if (c->archive_dir[0] != '\0') {
        return error_set(e, ERR_SYNTAX,
                         "archive-dir is for backend local: with PostgreSQL, a moment of the past "
                         "is PostgreSQL's own business");
    }
    return OK;
}

/* Says why it waits: at once when that is something new, else now and then. */
static void tell(struct server *s, const struct error *why, struct error *told, int64_t *told_us)
{
    int64_t now_us = clock_mono_us();
    service_progress(&s->service, "waiting: %s", why->text);
    if (strcmp(why->text, told->text) == 0 && now_us - *told_us < LOG_US) return;
    log_notice("waiting: %s", why->text);
    *told = *why;
    *told_us = now_us;
}

/* PostgreSQL may come later than this node. */
static enum err open_term(struct server *s, const struct term_options *o, struct error *e)
{
    struct error told = {0};
    int64_t told_us = 0;
    for (;;) {
        enum err r = term_open(o, &s->term, e);
        if (r != ERR_IO) return r;
        tell(s, e, &told, &told_us);
        clock_sleep_us(o->lease_ms * 1000 * WAIT_PERCENT / 100);
    }
}

enum err leader_wait(struct server *s, struct error *e)
{
    const struct config *c = s->config;
    char host[NAME_BYTES] = "";
    struct error told = {0};
    int64_t told_us = 0;
    if (c->backend != CONFIG_POSTGRESQL) return OK;
    enum err r = check(c, e);
    if (r != OK) return r;
    if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    struct term_options o = {.url = c->postgresql_url,
                             .id = 1,
                             .name = c->node_name[0] != '\0' ? c->node_name : host,
                             .address = c->node_address,
                             .lease_ms = (int64_t)c->lease_ms,
                             .durability = durabilities[c->postgresql_durability]};
    o.call_ms = o.lease_ms < CALL_MS_MIN ? CALL_MS_MIN : o.lease_ms;
    r = open_term(s, &o, e);
    while (r == OK && (r = term_try(s->term, e)) != OK) {
        if (r != ERR_WAIT && r != ERR_IO) break;
        tell(s, e, &told, &told_us);
        clock_sleep_us(o.lease_ms * 1000 * WAIT_PERCENT / 100);
        r = OK;
        if (term_state(s->term) == TERM_LEADING) break;
    }
    if (r != OK) return r;
    log_notice("this node leads, epoch %llu", (unsigned long long)term_epoch(s->term));
    s->renewed_us = clock_mono_us();
    return OK;
}

enum err leader_open(void *server, struct journal **journal, struct store **store, struct error *e)
{
    struct postgres_options o = postgres_options(server);
    return postgres_open(&o, journal, store, e);
}

void leader_set_options(const struct server *s)
{
    if (s->term == NULL) return;
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
    return term_has_lease(s->term);
}
