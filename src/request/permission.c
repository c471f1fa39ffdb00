/* permission: see permission.h. What the words touch (subjects.h) is asked group by group
 * (access/ask.h); the first no becomes an error in Redis's words. Errors of commands that ran may
 * name keys and indexes as well: permission_hide takes out what the user may not read. */
#include "request/permission.h"

#include <string.h>

#include "request/args.h"
#include "request/format.h"
#include "request/idem.h"
#include "request/login.h"
#include "request/multi.h"
#include "request/numbers.h"

#define SHOWN_MAX 128 /* of a name in an error */

/* ---- asking ---- */

/* What the question says of the request besides the subjects. */
static void question_begin(const struct subjects *s, const struct command *c,
                           struct access_question *q)
{
    const struct request *rq = s->rq;
    unsigned concerned = CMD_READ | CMD_WRITE | CMD_KEYSPACE;
    const struct numbered *n = numbers_at(number_of(c));
    size_t first = n->parent != NULL ? 2 : 1;
    *q = (struct access_question){.command = number_of(c)};
    if (c == rq->command && rq->argc > first) q->first = rq->argv[first];
    if ((rq->command->flags & concerned) == 0) return;
    struct access_subject d = {0};
    const struct database *selected = database_get(rq->env->db->databases, rq->client->database);
    if (selected != NULL) d = subject_of_database(rq->arena, selected);
    q->has_database = true;
    q->database = d.text;
    q->database_number = d.number;
}

/* Of a prefix, the pattern that is missing. */
static struct slice shown_text(const struct subjects *s, const struct access_subject *x)
{
    if (x->kind != ACCESS_PREFIX) return x->text;
    uint8_t *text = arena_alloc(s->rq->arena, x->text.len + 1);
    bytes_copy(text, x->text.data, x->text.len);
    text[x->text.len] = '*';
    return slice_of(text, x->text.len + 1);
}

static void deny(const struct subjects *s, const struct access_question *q, const struct command *c,
                 enum access_verdict verdict, size_t which, struct denial *d)
{
    *d = (struct denial){.verdict = verdict, .command = c};
    d->is_of_index = s->is_hidden;
    if (which != SIZE_MAX && !s->is_hidden) d->object = shown_text(s, &q->subjects[which]);
    if (verdict == ACCESS_DENIED_KEY && which != SIZE_MAX) {
        d->needs = q->subjects[which].needs;
        d->is_prefix = q->subjects[which].kind == ACCESS_PREFIX;
    }
    if (verdict == ACCESS_DENIED_DATABASE && which == SIZE_MAX) d->object = q->database_number;
}

/* Every group alone. */
static bool ask_all(const struct subjects *s, const struct user *u, struct denial *d)
{
    for (size_t i = 0; i < s->group_count; i++) {
        const struct subjects_group *g = &s->groups[i];
        size_t end = i + 1 < s->group_count ? s->groups[i + 1].from : s->count;
        struct access_question q;
        size_t which;
        question_begin(s, g->command, &q);
        if (s->count > 0) q.subjects = s->items + g->from;
        q.subject_count = end - g->from;
        enum access_verdict v = access_ask(u, &command_catalog, &q, &which);
        if (v == ACCESS_ALLOWED) continue;
        deny(s, &q, g->command, v, which, d);
        return false;
    }
    return true;
}

/* Placeholders in keys are resolved as they will be when it runs. */
static enum err find_subjects(struct request *rq, struct subjects *out)
{
    struct placeholders placeholders;
    rq->placeholders = NULL;
    if (!rq->has_format) rq->format = rq->client->settings.format;
    if ((rq->command->flags & CMD_WRITE) != 0) {
        placeholders = request_placeholders(rq);
        rq->placeholders = &placeholders;
    }
    enum err r = databases_ready(rq->env->db->databases, rq->waiter, &rq->error);
    if (r == OK) r = subjects_of(rq, out);
    rq->placeholders = NULL;
    return r;
}

static enum err no_permission(struct request *rq, const char *what)
{
    return error_set(&rq->error, ERR_NOPERM, "this user has no permissions to %s", what);
}

/* In Redis's words, then what it is. */
static enum err denial_error(struct request *rq, const struct denial *d)
{
    const struct numbered *n = numbers_at(number_of(d->command));
    int shown = (int)(d->object.len < SHOWN_MAX ? d->object.len : SHOWN_MAX);
    switch (d->verdict) {
    case ACCESS_DENIED_COMMAND:
        return error_set(&rq->error, ERR_NOPERM,
                         "this user has no permissions to run the '%s%s%s' command",
                         n->parent != NULL ? n->parent->name : "", n->parent != NULL ? "|" : "",
                         n->command->name);
    case ACCESS_DENIED_DATABASE: (void)no_permission(rq, "access database"); break;
    case ACCESS_DENIED_KEY:
        (void)no_permission(rq, d->is_of_index ? "use that index"
                                               : "access one of the keys used as arguments");
        break;
    default: (void)no_permission(rq, "access one of the channels used as arguments"); break;
    }
    if (shown == 0) return ERR_NOPERM;
    const char *what = d->is_prefix ? "all of " : "";
    const char *them = d->is_prefix ? "them" : "it";
    error_add(&rq->error, ": %s'%.*s'", what, shown, (const char *)d->object.data);
    if (d->needs == ACCESS_READ) error_add(&rq->error, ", to read %s", them);
    if (d->needs == ACCESS_WRITE) error_add(&rq->error, ", to write %s", them);
    return ERR_NOPERM;
}

static void log_denial(struct request *rq, const struct denial *d)
{
    static const enum access_log_reason reasons[] = {
        [ACCESS_DENIED_COMMAND] = ACCESS_LOG_COMMAND,
        [ACCESS_DENIED_DATABASE] = ACCESS_LOG_DATABASE,
        [ACCESS_DENIED_KEY] = ACCESS_LOG_KEY,
        [ACCESS_DENIED_CHANNEL] = ACCESS_LOG_CHANNEL,
    };
    const struct client *c = rq->client;
    struct access_log_entry entry = {
        .reason = reasons[d->verdict],
        .is_in_transaction = rq->overlay != NULL || c->txn.multi != NULL,
        .object = d->verdict == ACCESS_DENIED_COMMAND
                      ? slice_str(command_catalog.name(number_of(d->command)))
                      : d->object,
        .user = c->user->name,
    };
    login_log(rq, &entry);
}

enum err permission_check(struct request *rq, const struct user *u, struct denial *d)
{
    struct subjects s;
    *d = (struct denial){.command = rq->command};
    if (u->is_unlimited) return OK;
    enum err r = find_subjects(rq, &s);
    if (r == OK && !ask_all(&s, u, d)) r = denial_error(rq, d);
    return r;
}

enum err permission_ask(struct request *rq)
{
    const struct user *u = rq->client->user;
    struct denial d;
    if (u == NULL) {
        if ((rq->command->flags & CMD_NO_AUTH) != 0) return OK;
        return login_demand(rq, "Authentication required.");
    }
    if (u->is_unlimited) return OK;
    enum err r = permission_check(rq, u, &d);
    if (r == ERR_NOPERM) log_denial(rq, &d);
    return r;
}

/* ---- what the user may see ---- */

static bool may(const struct request *rq, const struct access_subject *x)
{
    const struct user *u = rq->client->user;
    return u->is_unlimited || access_may(u, x);
}

static bool may_read_paths(const struct request *rq, struct slice text)
{
    struct access_subject x = {.kind = ACCESS_PREFIX, .text = text, .needs = ACCESS_READ};
    return may(rq, &x);
}

bool may_read_below(const struct request *rq, struct slice tuple)
{
    return rq->client->user->is_unlimited ||
           may_read_paths(rq, subject_of_prefix(rq->arena, tuple));
}

bool may_read_index(const struct request *rq, const struct definition *d)
{
    return rq->client->user->is_unlimited || may_read_paths(rq, subject_of_index(rq->arena, d));
}

bool may_read_queue(const struct request *rq, struct slice name)
{
    if (rq->client->user->is_unlimited) return true;
    struct access_subject x = {
        .kind = ACCESS_KEY, .text = subject_of_queue(rq->arena, name), .needs = ACCESS_READ};
    return may(rq, &x);
}

bool may_use_database(const struct request *rq, const struct database *d)
{
    if (rq->client->user->is_unlimited) return true;
    struct access_subject x = subject_of_database(rq->arena, d);
    return may(rq, &x);
}

/* ---- outside of commands ---- */

static void ignore_ready(struct waiter *w)
{
    (void)w;
}

bool client_may(struct env *env, struct client *c, const struct command *command,
                struct slice *argv, size_t argc)
{
    struct arena arena;
    struct buf scratch;
    struct waiter waiter = {.ready = ignore_ready};
    struct denial d;
    arena_init(&arena, 1024);
    buf_init(&scratch);
    struct request rq = {.env = env,
                         .client = c,
                         .command = command,
                         .words_before = (uint8_t)command_words_before(command),
                         .argv = argv,
                         .argc = argc,
                         .arena = &arena,
                         .scratch = &scratch,
                         .waiter = &waiter};
    bool is_allowed = c->user != NULL && permission_check(&rq, c->user, &d) == OK;
    waiter_cancel(&waiter);
    arena_fini(&arena);
    buf_fini(&scratch);
    return is_allowed;
}

bool client_may_use(struct env *env, struct client *c, uint16_t database)
{
    struct arena arena;
    const struct database *d = database_get(env->db->databases, database);
    if (d == NULL || c->user->is_unlimited) return true;
    arena_init(&arena, 64);
    struct access_subject x = subject_of_database(&arena, d);
    bool is_allowed = access_may(c->user, &x);
    arena_fini(&arena);
    return is_allowed;
}

bool client_may_see(const struct client *c, const struct command *command, const struct database *d,
                    const struct access_subject *x, struct arena *arena)
{
    size_t which;
    if (c->user == NULL) return false;
    if (c->user->is_unlimited) return true;
    struct access_subject in = subject_of_database(arena, d);
    struct access_question q = {.command = number_of(command),
                                .has_database = true,
                                .database = in.text,
                                .database_number = in.number,
                                .subjects = x,
                                .subject_count = x != NULL};
    return access_ask(c->user, &command_catalog, &q, &which) == ACCESS_ALLOWED;
}

/* ---- what errors tell ---- */

/* `<index> <key>`: who may read all that the index is of may read that key. One that could not be
 * made is not there; who makes one may read all of it. */
static bool may_see_duplicate(const struct request *rq)
{
    if ((rq->command->flags & CMD_INDEX) != 0) return true;
    struct slice text = slice_str(rq->error.text);
    const uint8_t *blank = memchr(text.data, ' ', text.len);
    if (blank == NULL) return false;
    struct slice name = slice_of(text.data, (size_t)(blank - text.data));
    const struct index *x = index_find(rq->env->db->indexes, rq->client->database, name);
    return x != NULL && may_read_index(rq, &x->definition);
}

/* `index '<name>': ...`: what an index cannot take tells its name and its paths. */
static bool may_see_index(const struct request *rq)
{
    static const char before[] = "index '";
    struct slice text = slice_str(rq->error.text);
    if (strncmp(rq->error.text, before, sizeof before - 1) != 0) return true;
    struct slice name = slice_of(text.data + sizeof before - 1, 0);
    const char *end = strstr((const char *)name.data, "': ");
    if (end == NULL) return false;
    name.len = (size_t)(end - (const char *)name.data);
    const struct index *x = index_find(rq->env->db->indexes, rq->client->database, name);
    /* One that could not be made is not there. */
    if (x == NULL) return (rq->command->flags & CMD_INDEX) != 0;
    return may_read_index(rq, &x->definition);
}

/* Of all that the command names. */
static bool may_read_subjects(struct request *rq)
{
    struct subjects s = {0};
    struct error error = rq->error;
    bool is_good = find_subjects(rq, &s) == OK;
    rq->error = error;
    for (size_t i = 0; i < s.count && is_good; i++) {
        struct access_subject x = s.items[i];
        if (x.kind != ACCESS_KEY && x.kind != ACCESS_PREFIX) continue;
        x.needs = ACCESS_READ;
        is_good = may(rq, &x);
    }
    return is_good;
}

void permission_hide(struct request *rq, enum err r)
{
    const struct user *u = rq->client->user;
    if (u == NULL || u->is_unlimited) return;
    if (r == ERR_DUPLICATE && !may_see_duplicate(rq)) {
        (void)error_set(&rq->error, r, "- - a unique index that this user may not read");
    } else if (r == ERR_TYPE && !may_see_index(rq)) {
        (void)error_set(&rq->error, r, "the value violates an index that this user may not read");
    } else if (r == ERR_TYPE && !may_read_subjects(rq)) {
        (void)error_set(&rq->error, r,
                        "the stored value has a type that the command does not accept; this user "
                        "may not read it");
    } else if (r == ERR_CORRUPT && !may_read_below(rq, slice_of(NULL, 0))) {
        (void)error_set(&rq->error, r, "stored data cannot be read; see the server's log");
    }
}
