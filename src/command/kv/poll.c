/* kv_poll: KV.POLL: entries that are not as the client knows them, at once or as soon as there is
 * one; what XREAD is for streams. The watchers it sets while it waits go with the call.
 */
#include "base/mem.h"
#include "request/args.h"
#include "request/arguments.h"
#include "request/block.h"
#include "request/keys.h"
#include "request/table.h"
#include "watch/watch.h"

struct poll_key {
    struct slice key;
    struct expected expected;
    struct entry entry;
};

struct poll {
    struct pending pending; /* first */
    struct watch *watch;
    struct waiter *waiter; /* of the connection; in a list that is never woken */
    size_t count;
    struct poll_watcher {
        struct watcher watcher; /* first */
        struct poll *poll;
    } watchers[];
};

static void poll_free(struct pending *p)
{
    struct poll *k = (struct poll *)p;
    for (size_t i = 0; i < k->count; i++) watch_remove(k->watch, &k->watchers[i].watcher);
    mem_free(k);
}

static void on_changed(struct watcher *w, const struct change *c)
{
    struct waiter *waiter = ((struct poll_watcher *)w)->poll->waiter;
    (void)c;
    if (waiter->next == NULL) return; /* woken already */
    waiter_cancel(waiter);
    waiter->ready(waiter);
}

static void poll_wait(struct request *rq, const struct poll_key *keys, size_t count)
{
    struct poll *k = mem_new(sizeof *k + count * sizeof k->watchers[0]);
    k->pending.free = poll_free;
    k->watch = rq->env->db->watch;
    k->waiter = rq->waiter;
    k->count = count;
    for (size_t i = 0; i < count; i++) {
        k->watchers[i].poll = k;
        k->watchers[i].watcher.changed = on_changed;
        k->watchers[i].watcher.is_once = true;
        watch_add(k->watch, &k->watchers[i].watcher, WATCH_KEY, keys[i].key);
    }
    waiter_add(&rq->env->blocked.waiters, rq->waiter);
    rq->client->run.pending = &k->pending;
}

/* What the client knows may be of a history that a restore undid: then it is to look at more than
 * this key again. */
static enum err check_history(struct request *rq, const struct expected *x)
{
    uint64_t fork = 0;
    char stamp[STAMP_CHARS];
    if (x->is_none || x->is_foreign || !db_is_discarded(rq->env->db, x->version, &fork)) return OK;
    stamp_format(fork, stamp);
    return error_set(&rq->error, ERR_STALE,
                     "%.*s was the newest versionstamp before a restore; the given one belongs to "
                     "a history that the restore has undone. Read everything again",
                     STAMP_CHARS, stamp);
}

static const char poll_usage[] =
    "usage: KV.POLL [BLOCK ms] KEYS n key ... versionstamp|NONE ..., all keys first";

struct stamps {
    struct expected *items;
    size_t count;
};
struct words {
    int64_t block_ms; /* -1 = without BLOCK */
    struct slices keys;
    struct stamps stamps;
};

static enum err check_words(struct request *rq, void *bound)
{
    const struct words *a = bound;
    size_t count = a->keys.count;
    size_t max = engine_limits(rq->env->db->engine)->ops_max;
    if (count > max) {
        return error_set(&rq->error, ERR_SYNTAX, "KEYS must be between 1 and %zu, not %zu", max,
                         count);
    }
    if (a->stamps.count == count) return OK;
    return error_set(&rq->error, ERR_SYNTAX,
                     "syntax error: KEYS %zu needs %zu keys and %zu versionstamps", count, count,
                     count);
}

ARGUMENTS_WITH(poll_arguments, struct words,
               "[BLOCK milliseconds] KEYS numkeys key [key ...] version [version ...]",
               WITH(.check = check_words, .usage = poll_usage,
                    .shown = "[BLOCK milliseconds] KEYS numkeys key [key ...] versionstamp "
                             "[versionstamp ...]"),
               ARG_INTEGER(struct words, block_ms, "BLOCK", 0, INT64_MAX / 2, -1),
               ARG_COUNT("numkeys", 1, INT64_MAX, "keys", "KEYS 2 [\"a\"] [\"b\"] NONE NONE"),
               ARG_KEYS(struct words, keys, "key", 0),
               {ARG_MANY(struct words, stamps, struct expected, "version", arg_kind_stamp)});

/* The entries as they are now. */
static enum err read_keys(struct request *rq, const struct words *a, struct poll_key **out)
{
    struct poll_key *keys = arena_alloc(rq->arena, a->keys.count * sizeof *keys);
    enum err r = OK;
    for (size_t i = 0; i < a->keys.count && r == OK; i++) {
        keys[i] = (struct poll_key){.key = a->keys.items[i], .expected = a->stamps.items[i]};
        r = check_history(rq, &keys[i].expected);
        if (r == OK) r = request_get(rq, keys[i].key, &keys[i].entry);
    }
    *out = keys;
    return r;
}

static bool is_news(const struct poll_key *k)
{
    if (k->expected.is_none) return k->entry.exists;
    return !k->entry.exists || k->expected.is_foreign || k->expected.version != k->entry.version;
}

static void reply_news(struct request *rq, const struct poll_key *keys, size_t count, size_t news)
{
    resp_array(rq->w, news);
    for (size_t i = 0; i < count; i++) {
        if (!is_news(&keys[i])) continue;
        if (keys[i].entry.exists) {
            reply_entry(rq->w, rq->format, keys[i].key, &keys[i].entry);
            continue;
        }
        resp_array(rq->w, 3);
        reply_key(rq->w, rq->format, keys[i].key);
        resp_nil(rq->w);
        resp_nil(rq->w);
    }
}

static enum err kv_poll_run(struct request *rq)
{
    const struct words *a = rq->bound;
    struct poll_key *keys = NULL;
    size_t count = a->keys.count;
    size_t news = 0;
    enum block_end end = client_block_end(rq->client);
    client_drop_pending(rq->client); /* what it waited with before */
    enum err r = read_keys(rq, a, &keys);
    if (r != OK) return r;
    for (size_t i = 0; i < count; i++) news += is_news(&keys[i]);
    if (news > 0) {
        reply_news(rq, keys, count, news);
        return OK;
    }
    if (end == BLOCK_FAILED) {
        return error_set(&rq->error, ERR_UNBLOCKED, "client unblocked via CLIENT UNBLOCK");
    }
    if (a->block_ms < 0 || end != BLOCK_GOES_ON || rq->overlay != NULL) {
        resp_nil_array(rq->w);
        return OK;
    }
    poll_wait(rq, keys, count);
    return client_block(rq, a->block_ms);
}

const struct command kv_poll = {
    .name = "kv.poll",
    .flags = CMD_WATCHES | CMD_READ | CMD_BLOCKING | CMD_FORMAT,
    .group = "kv",
    .summary = "Returns the entries whose versionstamp is not the given one. With BLOCK it waits "
               "for one.",
    .arguments = &poll_arguments,
    .reply =
        "An array of entries, with `[key, nil, nil]` for a key that does not exist; nil if BLOCK "
        "times out.",
    .key_flags = KEY_RO | KEY_ACCESS,
    .run = kv_poll_run,
};
