#include "command/command.h"

#include <ctype.h>
#include <stdio.h>

#include "base/clock.h"

#define NAME_MAX 32
#define BUCKETS 512 /* power of two, several times the number of commands */

/* ---- finding ---- */

static uint32_t name_hash(struct slice name)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < name.len; i++) h = (h ^ (name.data[i] | 0x20u)) * 16777619u;
    return h;
}

static bool name_is(const char *name, struct slice given)
{
    for (size_t i = 0; i < given.len; i++) {
        if (name[i] == '\0' || tolower(given.data[i]) != name[i]) return false;
    }
    return name[given.len] == '\0';
}

/* Built at the first call from the constant table; loop thread only. */
static const struct command *const *find_index(void)
{
    static const struct command *buckets[BUCKETS];
    static bool is_built;
    if (!is_built) {
        for (const struct command *const *c = command_table; *c != NULL; c++) {
            size_t i = name_hash(slice_str((*c)->name)) % BUCKETS;
            while (buckets[i] != NULL) i = (i + 1) % BUCKETS;
            buckets[i] = *c;
        }
        is_built = true;
    }
    return buckets;
}

const struct command *command_find(struct slice name)
{
    const struct command *const *buckets = find_index();
    if (name.len > NAME_MAX) return NULL;
    for (size_t i = name_hash(name) % BUCKETS; buckets[i] != NULL; i = (i + 1) % BUCKETS) {
        if (name_is(buckets[i]->name, name)) return buckets[i];
    }
    return NULL;
}

const struct command *command_find_sub(const struct command *c, struct slice name)
{
    if (c->subcommands == NULL) return NULL;
    for (const struct command *const *s = c->subcommands; *s != NULL; s++) {
        if (name_is((*s)->name, name)) return *s;
    }
    return NULL;
}

size_t command_count(void)
{
    size_t n = 0;
    while (command_table[n] != NULL) n++;
    return n;
}

/* ---- clients ---- */

void client_init(struct client *c, struct env *env)
{
    c->proto = 2;
    c->format = env->default_format;
    c->created_ms = c->active_ms = clock_wall_ms();
    c->next = &env->clients;
    c->prev = env->clients.prev;
    env->clients.prev->next = c;
    env->clients.prev = c;
    env->client_count++;
}

void client_drop_pending(struct client *c)
{
    struct pending *p = c->pending;
    if (p == NULL) return;
    c->pending = NULL;
    p->free(p);
}

void client_fini(struct client *c, struct env *env)
{
    client_drop_pending(c);
    c->next->prev = c->prev;
    c->prev->next = c->next;
    env->client_count--;
}

/* ---- running ---- */

/* Redis's words for a name it does not know; clients look for them. */
static void reply_unknown(struct request *rq)
{
    char line[512];
    int n = snprintf(line, sizeof line, "ERR unknown command '%.*s', with args beginning with: ",
                     (int)(rq->argv[0].len < 128 ? rq->argv[0].len : 128),
                     (const char *)rq->argv[0].data);
    size_t shown = 0; /* with quotes and blanks: even empty arguments use up the line */
    for (size_t i = 1; i < rq->argc && shown < 128; i++) {
        size_t room = 128 - shown;
        size_t len = rq->argv[i].len < room ? rq->argv[i].len : room;
        n += snprintf(line + n, sizeof line - (size_t)n, "'%.*s' ", (int)len,
                      (const char *)rq->argv[i].data);
        shown += len + 3;
    }
    resp_error_line(rq->w, line);
}

static bool arity_fits(const struct command *c, size_t argc)
{
    return c->arity >= 0 ? argc == (size_t)c->arity : argc >= (size_t)-c->arity;
}

/* Resolves name and subcommand; NULL after an error reply. */
static const struct command *request_resolve(struct request *rq)
{
    char line[256];
    const struct command *c = command_find(rq->argv[0]);
    if (c == NULL) {
        reply_unknown(rq);
        return NULL;
    }
    const struct command *parent = NULL;
    if (c->subcommands != NULL && rq->argc >= 2) {
        parent = c;
        c = command_find_sub(c, rq->argv[1]);
        if (c == NULL) {
            char upper[NAME_MAX];
            snprintf(upper, sizeof upper, "%s", parent->name);
            for (char *p = upper; *p != '\0'; p++) *p = (char)toupper((unsigned char)*p);
            snprintf(line, sizeof line, "ERR unknown subcommand '%.*s'. Try %s HELP.",
                     (int)(rq->argv[1].len < 128 ? rq->argv[1].len : 128),
                     (const char *)rq->argv[1].data, upper);
            resp_error_line(rq->w, line);
            return NULL;
        }
    }
    if (!arity_fits(c, rq->argc)) {
        snprintf(line, sizeof line, "ERR wrong number of arguments for '%s%s%s' command",
                 parent != NULL ? parent->name : "", parent != NULL ? "|" : "", c->name);
        resp_error_line(rq->w, line);
        return NULL;
    }
    rq->client->last_command = c;
    rq->client->last_parent = parent;
    return c;
}

static void count_error(struct request *rq)
{
    rq->env->stats.errors++;
}

enum err command_run(struct request *rq)
{
    size_t mark = rq->w->out->len;
    rq->depends = 0;
    rq->command = request_resolve(rq);
    if (rq->command == NULL) {
        count_error(rq);
        return OK;
    }
    enum err r = rq->command->run(rq);
    if (r == ERR_WAIT) {
        rq->w->out->len = mark;
        return ERR_WAIT;
    }
    rq->env->stats.commands++;
    client_drop_pending(rq->client);
    if (rq->w->out->is_failed) {
        /* The reply does not fit into memory; what is there of it cannot be sent. */
        rq->w->out->is_failed = false;
        r = error_set(&rq->error, ERR_NOMEM, "out of memory while building the reply");
    }
    if (r != OK) {
        rq->w->out->len = mark;
        resp_error(rq->w, &rq->error);
        count_error(rq);
    }
    return OK;
}
