/* ticket: a table of fixed size used as a ring: a new ticket takes the place of the oldest. A
 * look-up compares the text with every ticket, in constant time. A ticket ends early when its user
 * changes. */
#include "http/ticket.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "codec/base64.h"
#include "codec/json_lex.h"
#include "request/login.h"

#define TICKETS 4096
#define RECONNECT_FACTOR 10 /* after it was last used it is good for so much longer */
#define TICKET_BYTES 24
#define TICKET_CHARS 32

/* What it is good for. */
struct ticket {
    char text[TICKET_CHARS];
    int64_t until_ms;  /* monotonic */
    struct user *user; /* held; NULL = a free place */
    uint64_t changes;  /* of the user then */
    char *path;        /* owned: of x->path; the database before it */
    char *database;    /* owned; NULL = the default one */
};

struct tickets {
    struct ticket all[TICKETS];
    size_t next;
};

struct tickets *tickets_new(void)
{
    return mem_new(sizeof(struct tickets));
}

static void ticket_drop(struct ticket *t)
{
    if (t->user == NULL) return;
    users_release(t->user);
    mem_free(t->path);
    mem_free(t->database);
    *t = (struct ticket){0};
}

void tickets_free(struct tickets *t)
{
    if (t == NULL) return;
    for (size_t i = 0; i < TICKETS; i++) ticket_drop(&t->all[i]);
    mem_free(t);
}

static char *copy_of(struct slice s)
{
    char *text = mem_alloc(s.len + 1);
    bytes_copy(text, s.data, s.len);
    text[s.len] = '\0';
    return text;
}

/* The oldest goes when all places are taken. */
static struct ticket *ticket_new(struct exchange *x, struct slice path, struct slice database)
{
    struct tickets *all = x->http->tickets;
    struct ticket *t = &all->all[all->next];
    uint8_t secret[TICKET_BYTES];
    struct buf text;
    all->next = (all->next + 1) % TICKETS;
    ticket_drop(t);
    random_system(secret, sizeof secret);
    buf_init(&text);
    base64url_encode(slice_of(secret, sizeof secret), &text);
    buf_require(&text);
    memcpy(t->text, text.data, TICKET_CHARS);
    buf_fini(&text);
    t->user = users_hold(x->client.user);
    t->changes = t->user->changes;
    t->until_ms = clock_mono_us() / 1000 + x->http->options.ticket_ms;
    t->path = copy_of(path);
    if (database.data != NULL) t->database = copy_of(database);
    return t;
}

void ticket_run(struct exchange *x)
{
    static const char *const names[] = {"path", NULL};
    struct json_part body;
    struct json_part path;
    struct error e;
    if (json_check(x->message->body, &body, &e) != OK ||
        json_members(&body, names, &path, true, "the body", &e) != OK) {
        exchange_fail(x, 400, "ERR %s", e.text);
        return;
    }
    struct http_message target;
    if (path.kind != JSON_STRING || path.raw.data == NULL ||
        !http_split_target(json_text(&path, &x->arena), &target) || target.query.data != NULL) {
        exchange_fail(x, 400,
                      "ERR \"path\" must be the path of the ticket without parameters: "
                      "\"/subscribe/news\"");
        return;
    }
    struct slice rest = target.path;
    struct slice database = exchange_database(x);
    if (slice_has_prefix(rest, slice_str("/db/"))) {
        (void)http_path_part(&rest);
        struct slice name = http_path_part(&rest);
        if (!http_decode(name, false, &x->arena, &database)) database = slice_str("");
        target.path = rest;
    }
    const struct ticket *t = ticket_new(x, target.path, database);
    buf_clear(&x->text, SIZE_MAX);
    buf_append_str(&x->text, "{\"ticket\":\"");
    buf_append(&x->text, t->text, TICKET_CHARS);
    buf_printf(&x->text, "\",\"parameter\":\"_ticket\",\"opensWithinSeconds\":%lld}",
               (long long)(x->http->options.ticket_ms / 1000));
    exchange_answer_json(x, 200);
}

static bool is_for(const struct ticket *t, const struct exchange *x)
{
    struct slice database = exchange_database(x);
    bool has_database = t->database != NULL;
    if (!slice_eq(x->path, slice_str(t->path))) return false;
    if (has_database != (database.data != NULL)) return false;
    return !has_database || slice_eq(database, slice_str(t->database));
}

/* Takes the same time wherever the text differs. */
static struct ticket *ticket_find(struct tickets *all, struct slice text)
{
    struct ticket *found = NULL;
    if (text.len != TICKET_CHARS) return NULL;
    for (size_t i = 0; i < TICKETS; i++) {
        struct ticket *t = &all->all[i];
        uint8_t differs = 0;
        if (t->user == NULL) continue;
        for (size_t k = 0; k < TICKET_CHARS; k++) differs |= (uint8_t)(t->text[k] ^ text.data[k]);
        if (differs == 0) found = t;
    }
    return found;
}

static bool is_good(const struct ticket *t, const struct exchange *x)
{
    const struct user *u = t->user;
    if (clock_mono_us() / 1000 > t->until_ms || !is_for(t, x)) return false;
    return !u->is_deleted && u->is_on && u->changes == t->changes;
}

static int64_t reconnect_until(const struct exchange *x)
{
    return clock_mono_us() / 1000 + RECONNECT_FACTOR * x->http->options.ticket_ms;
}

/* It is good for the reconnect. */
static void ticket_ended(struct exchange *x)
{
    if (x->ticket[0] == '\0') return;
    struct ticket *t = ticket_find(x->http->tickets, slice_str(x->ticket));
    if (t != NULL) t->until_ms = reconnect_until(x);
    x->ticket[0] = '\0';
}

bool ticket_opens(struct exchange *x)
{
    struct slice text;
    if ((x->route->flags & ROUTE_TICKET) == 0) return false;
    int is_there = http_query_value(x->message->query, "_ticket", &x->arena, &text);
    if (is_there == 0) return false;
    struct ticket *t = is_there == 1 ? ticket_find(x->http->tickets, text) : NULL;
    if (t == NULL || !is_good(t, x)) {
        exchange_fail(x, 401,
                      "NOAUTH the ticket is for another path or user, or has expired: request a "
                      "new one (POST /ticket)");
        return false;
    }
    t->until_ms = reconnect_until(x);
    memcpy(x->ticket, t->text, TICKET_CHARS);
    x->on_stream_over = ticket_ended;
    client_become(&x->client, t->user);
    return true;
}
