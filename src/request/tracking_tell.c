/* tracking_tell: from a commit to the messages of those who are tracked.
 *
 *   RESP3                   a push: invalidate, [name ...]; null = anything
 *   RESP2, by redirection   a message of the channel __redis__:invalidate, to a client that listens
 *                           to some channel; else there is no way to tell
 *
 * A client that has read a key is told of it alone, as soon as the commit is made; one that listens
 * to a prefix is told at the end of the turn, of many names at once.
 */
#include "codec/key.h"
#include "request/key_name.h"
#include "request/permission.h"
#include "request/tracking_int.h"
#include "request/view.h"

#define CHANNEL "__redis__:invalidate"
#define WORK_BYTES 512 /* of a message: as much work as one more */

/* ---- one message ---- */

/* The client that it goes to, with the words before the names in x->message; NULL: no client can be
 * told. */
static struct client *message_begin(struct trackings *x, struct client_tracking *t)
{
    struct client *to = t->options.redirect == 0 ? t->client : t->target;
    if (t->client == NULL || to == NULL) return NULL;
    buf_clear(&x->message, 64 * 1024);
    struct resp_writer w = {.out = &x->message, .proto = to->settings.proto};
    if (to->settings.proto == 3) {
        resp_push(&w, 2);
        resp_bulk_str(&w, "invalidate");
        return to;
    }
    if (t->target == NULL || client_subscriptions(to) == 0) return NULL;
    resp_array(&w, 3);
    resp_bulk_str(&w, "message");
    resp_bulk_str(&w, CHANNEL);
    return to;
}

static void message_end(struct trackings *x, struct client *to, uint64_t version)
{
    if (!x->message.is_failed) to->ops->write(to, buf_slice(&x->message), version);
}

/* That the client which was to be told instead has gone; as often as something was to be told. */
static void tell_broken(struct trackings *x, const struct client_tracking *t, uint64_t version)
{
    struct client *c = t->client;
    if (c == NULL || !t->is_broken || c->settings.proto != 3) return;
    buf_clear(&x->message, 64 * 1024);
    struct resp_writer w = {.out = &x->message, .proto = 3};
    resp_push(&w, 2);
    resp_bulk_str(&w, "tracking-redir-broken");
    resp_int(&w, (int64_t)t->options.redirect);
    message_end(x, c, version);
}

void tracking_tell_all(struct trackings *x, uint64_t version)
{
    for (struct client_tracking *t = x->clients; t != NULL; t = t->next) {
        struct client *to = message_begin(x, t);
        if (to == NULL) {
            tell_broken(x, t, version);
            continue;
        }
        struct resp_writer w = {.out = &x->message, .proto = to->settings.proto};
        resp_nil(&w);
        message_end(x, to, version);
    }
}

/* ---- keys that were read ---- */

static void tell_key(void *arg, struct tracker *who, struct slice key, uint64_t version)
{
    struct trackings *x = arg;
    struct client_tracking *t = (struct client_tracking *)who;
    struct client *to = message_begin(x, t);
    if (to == NULL) {
        tell_broken(x, t, version);
        return;
    }
    struct resp_writer w = {.out = &x->message, .proto = to->settings.proto};
    buf_clear(&x->name, 64 * 1024);
    view_name(t->client, key, &x->name);
    buf_require(&x->name);
    resp_array(&w, 1);
    resp_bulk(&w, buf_slice(&x->name));
    message_end(x, to, version);
}

bool tracking_tell_keys(struct trackings *x)
{
    return tracked_tell(x->keys, &x->work, tell_key, x);
}

/* ---- prefixes ---- */

/* A user who may read some keys only is told of those alone. */
static bool may_know(struct trackings *x, struct client *c, struct slice key)
{
    if (c->user == NULL) return false;
    if (c->user->is_unlimited) return true;
    buf_clear(&x->name, 64 * 1024);
    key_to_path(engine_key_tuple(key), &x->name);
    buf_require(&x->name);
    struct access_subject subject = {
        .kind = ACCESS_KEY, .text = buf_slice(&x->name), .needs = ACCESS_READ};
    return access_may(c->user, &subject) && client_may_use(x->env, c, key_database(key));
}

static bool is_told(struct trackings *x, const struct client_tracking *t,
                    const struct broadcast_item *item)
{
    if (t->options.is_noloop && item->writer == t->client->id) return false;
    return may_know(x, t->client, item->key);
}

/* Appends the names that this client is told of; false when there are none. */
static bool own_names(struct trackings *x, const struct client_tracking *t,
                      const struct broadcast_block *k, struct resp_writer *w)
{
    struct buf names;
    struct resp_writer of_names = {.out = &names, .proto = 3};
    size_t count = 0;
    buf_init(&names);
    for (const struct broadcast_item *i = k->first; i != NULL; i = i->next) {
        if (!is_told(x, t, i)) continue;
        buf_clear(&x->name, 64 * 1024);
        view_name(t->client, i->key, &x->name);
        buf_require(&x->name);
        resp_bulk(&of_names, buf_slice(&x->name));
        count++;
    }
    resp_array(w, count);
    buf_append(w->out, names.data, names.len);
    if (names.is_failed) w->out->is_failed = true;
    buf_fini(&names);
    return count > 0;
}

static void all_names(struct trackings *x, const struct broadcast_block *k)
{
    struct resp_writer w = {.out = &x->names, .proto = 3};
    if (x->names_of == k && x->names.len > 0) return;
    buf_clear(&x->names, 256 * 1024);
    resp_array(&w, k->count);
    for (const struct broadcast_item *i = k->first; i != NULL; i = i->next) {
        resp_bulk(&w, i->name);
    }
    x->names_of = k;
}

static size_t tell_block(void *arg, struct listener *who, const struct broadcast_block *k)
{
    struct trackings *x = arg;
    struct client_tracking *t = (struct client_tracking *)(void *)((char *)who -
                                                                   offsetof(struct client_tracking,
                                                                            listener));
    struct client *to = message_begin(x, t);
    if (to == NULL) {
        tell_broken(x, t, k->version);
        return 1;
    }
    struct resp_writer w = {.out = &x->message, .proto = to->settings.proto};
    const struct user *u = t->client->user;
    bool is_all = !t->options.is_noloop && u != NULL && u->is_unlimited &&
                  !view_is_tuples(t->client);
    if (is_all) {
        all_names(x, k);
        buf_append(&x->message, x->names.data, x->names.len);
        if (x->names.is_failed) x->message.is_failed = true;
    } else if (!own_names(x, t, k, &w)) {
        return 1 + k->count;
    }
    message_end(x, to, k->version);
    return 1 + x->message.len / WORK_BYTES + (is_all ? 0 : k->count);
}

bool tracking_tell_prefixes(struct trackings *x)
{
    struct backend *b = engine_backend(x->env->db->engine);
    x->names_of = NULL;
    if (broadcast_take_loss(x->prefixes)) tracking_tell_all(x, backend_version_newest(b));
    return broadcast_tell(x->prefixes, &x->work, tell_block, x);
}

/* ---- commits ---- */

static void on_change(struct trackings *x, struct slice key, uint64_t version)
{
    struct client *writer = x->env->clients.running;
    struct client_tracking *own = writer != NULL ? writer->tracking : NULL;
    bool keeps = own != NULL && own->options.is_noloop;
    tracked_change(x->keys, key, version, keeps ? &own->tracker : NULL);
    if (broadcast_prefixes(x->prefixes) == 0) return;
    buf_clear(&x->name, 64 * 1024);
    key_name(key, &x->name);
    buf_require(&x->name);
    broadcast_change(x->prefixes, key, buf_slice(&x->name), version,
                     writer != NULL ? writer->id : 0);
}

void tracking_on_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct trackings *x = arg;
    bool is_flushed = false;
    if (x->clients == NULL) return;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        if (mu->kind == MUTATION_FLUSH) {
            is_flushed = true;
            tracked_flush(x->keys, key_database(mu->key));
        } else if (key_space(mu->key) == SPACE_DATA) {
            on_change(x, mu->key, version);
        }
    }
    if (is_flushed) tracking_tell_all(x, version);
    (void)tracking_tell_keys(x);
}
