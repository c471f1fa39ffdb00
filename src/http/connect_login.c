/* connect_login: whose request of KV Connect it is: the token that POST /connect gave, whose
 * database it is for, and the headers that say the same. Errors are denokv's.
 */
#include "base/mem.h"
#include "command/connect/token.h"
#include "http/connect.h"
#include "request/login.h"

#define BODY_BYTES_MAX ((size_t)2 << 20) /* denokv's too; what Deno may send is less */

static void selected(struct exchange *x)
{
    if (connect_fails(x)) return;
    buf_clear(&x->reply, SIZE_MAX);
    x->step = x->route->run;
}

/* Version 1 has no header of its own, but names the database by another. */
static bool speaks_known_version(const struct exchange *x)
{
    struct slice version = http_header(x->message, "x-denokv-version");
    if (version.data == NULL) {
        return http_header(x->message, "x-transaction-domain-id").data != NULL;
    }
    return slice_eq(version, slice_str("2")) || slice_eq(version, slice_str("3"));
}

/* The secret of tokens is there, which is still being read right after a start. False: the step is
 * run again, or it is answered. */
static bool has_catalog(struct exchange *x)
{
    struct error e;
    enum err r = databases_ready(x->http->env->db->databases, &x->runner.waiter, &e);
    if (r == ERR_WAIT) exchange_park(x);
    if (r != OK && r != ERR_WAIT) connect_fail(x, r == ERR_CORRUPT ? 400 : 503, "%s", e.text);
    return r == OK;
}

static bool take_token(struct exchange *x, struct connect_token *token)
{
    struct slice header = http_header(x->message, "authorization");
    bool has_scheme = header.len > 7 && header.data[6] == ' ' &&
                      slice_is_word(slice_of(header.data, 6), "BEARER");
    if (!has_scheme) {
        connect_fail(x, 401, "Malformed authorization header.");
        return false;
    }
    struct slice text = http_trim(slice_of(header.data + 7, header.len - 7));
    const struct env *env = x->http->env;
    if (connect_token_read(x->http->env, text, token)) return true;
    if (env->node.stands_by && (token->is_ours || databases_secret(env->db->databases) == NULL)) {
        connect_fail(x, 503,
                     "This node is behind the leader, or the user of the token was deleted.");
        return false;
    }
    connect_fail(x, 401, "Invalid access token.");
    return false;
}

/* The id of a database that was asked for last: nearly always the one of the next request. What it
 * is made of is compared, for it takes an HMAC, a sixth of a request's instructions. */
struct connect_known {
    uint8_t secret[DATABASE_SECRET_BYTES];
    bool is_there;
    uint16_t number;
    uint64_t created;
    char uuid[CONNECT_UUID_CHARS];
};

static struct slice uuid_of(struct http *h, const struct database *d)
{
    const uint8_t *secret = databases_secret(h->env->db->databases);
    if (h->known == NULL) h->known = mem_new(sizeof *h->known);
    struct connect_known *k = h->known;
    bool is_known = k->is_there && k->number == d->number && k->created == d->created &&
                    memcmp(k->secret, secret, sizeof k->secret) == 0;
    if (!is_known) {
        *k = (struct connect_known){.is_there = true, .number = d->number, .created = d->created};
        memcpy(k->secret, secret, sizeof k->secret);
        connect_uuid(h->env, d, k->uuid);
    }
    return slice_of(k->uuid, sizeof k->uuid);
}

static bool is_its_database(struct exchange *x, uint16_t number)
{
    struct slice id = http_header(x->message, "x-denokv-database-id");
    if (id.data == NULL) id = http_header(x->message, "x-transaction-domain-id");
    if (id.data == NULL) return true;
    return slice_eq(id, uuid_of(x->http, database_get(x->http->env->db->databases, number)));
}

void connect_begin(struct exchange *x)
{
    struct connect_token token = {0};
    if (x->message->body.len > BODY_BYTES_MAX) {
        connect_fail(x, 413, "The request exceeds 2 MB.");
        return;
    }
    if (!speaks_known_version(x)) {
        connect_fail(x, 400, "Expected protocol version 2 or 3.");
        return;
    }
    x->client.settings.is_readonly = x->http->env->node.stands_by;
    if (!has_catalog(x) || !take_token(x, &token)) return;
    if (!is_its_database(x, token.database)) {
        connect_fail(x, 400, "Invalid database id.");
        return;
    }
    if (x->client.user != token.user) client_become(&x->client, token.user);
    if (x->client.database == token.database) {
        x->step = x->route->run;
        return;
    }
    struct rest_words w = rest_words_of(x, "SELECT");
    rest_words_number(&w, token.database);
    rest_words_run(&w, selected);
}
