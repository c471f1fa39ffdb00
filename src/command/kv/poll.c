/* kv_poll: KV.POLL: entries that are not as the client knows them, at once or as soon as there is
 * one; what XREAD is for streams. The watchers it sets while it waits go with the call.
 */
#include "base/mem.h"
#include "request/args.h"
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
    struct waiter *waiter; /* of the connection; in a list that nobody wakes */
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
    rq->client->pending = &k->pending;
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
                     "%.*s is the newest versionstamp of before a restore: the one given is of a "
                     "history that it undid; read everything again",
                     STAMP_CHARS, stamp);
}

static const char poll_usage[] =
    "it is: KV.POLL [BLOCK ms] KEYS n key ... versionstamp|NONE ..., first all keys";

static enum err parse_poll(struct request *rq, int64_t *block_ms, struct poll_key **keys,
                           size_t *count)
{
    struct options o = {.rq = rq, .at = 1};
    struct slice arg;
    int64_t n = 0;
    enum err r = OK;
    *block_ms = -1;
    if (options_take(&o, "BLOCK", 0)) {
        r = options_argument(&o, "BLOCK", &arg);
        if (r == OK) r = arg_integer(rq, arg, "BLOCK", 0, INT64_MAX / 2, block_ms);
        if (r != OK) return r;
    }
    if (o.at >= rq->argc) {
        return error_set(&rq->error, ERR_SYNTAX, "syntax error: KEYS is missing; %s", poll_usage);
    }
    if (!options_take(&o, "KEYS", 1)) {
        r = options_unknown(&o);
        error_add(&rq->error, "; %s", poll_usage);
        return r;
    }
    r = options_argument(&o, "KEYS", &arg);
    int64_t max = (int64_t)engine_limits(rq->env->db->engine)->ops_max;
    if (r == OK) r = arg_integer(rq, arg, "KEYS", 1, max, &n);
    if (r != OK) {
        error_add(&rq->error, "; %s", poll_usage);
        return r;
    }
    *count = (size_t)n;
    if (rq->argc - o.at != 2 * *count) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error: KEYS %zu needs %zu keys and %zu versionstamps; %s", *count,
                         *count, *count, poll_usage);
    }
    *keys = arena_alloc(rq->arena, *count * sizeof **keys);
    for (size_t i = 0; i < *count; i++) {
        struct poll_key *k = &(*keys)[i];
        r = arg_key(rq, rq->argv[o.at + i], &k->key);
        if (r == OK) r = arg_stamp(rq, rq->argv[o.at + *count + i], &k->expected);
        if (r != OK) {
            error_add(&rq->error, "; %s", poll_usage);
            return r;
        }
        r = check_history(rq, &k->expected);
        if (r == OK) r = request_get(rq, k->key, &k->entry);
        if (r != OK) return r;
    }
    return OK;
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
    struct poll_key *keys = NULL;
    size_t count = 0;
    size_t news = 0;
    int64_t block_ms = -1;
    enum block_end end = client_block_end(rq->client);
    client_drop_pending(rq->client); /* what it waited with before */
    enum err r = parse_poll(rq, &block_ms, &keys, &count);
    if (r != OK) return r;
    INVARIANT(keys != NULL);
    for (size_t i = 0; i < count; i++) news += is_news(&keys[i]);
    if (news > 0) {
        reply_news(rq, keys, count, news);
        return OK;
    }
    if (end == BLOCK_FAILED) {
        return error_set(&rq->error, ERR_UNBLOCKED, "client unblocked via CLIENT UNBLOCK");
    }
    if (block_ms < 0 || end != BLOCK_GOES_ON || rq->overlay != NULL) {
        resp_nil_array(rq->w);
        return OK;
    }
    poll_wait(rq, keys, count);
    return client_block(rq, block_ms);
}

static bool kv_poll_keys(const struct slice *argv, size_t argc, struct key_uses *out)
{
    size_t at = 1;
    uint64_t count = 0;
    if (at < argc && slice_is_word(argv[at], "BLOCK")) at += 2;
    if (at + 1 >= argc || !slice_is_word(argv[at], "KEYS")) return false;
    if (!slice_to_u64(argv[at + 1], &count) || count > argc) return false;
    for (size_t i = 0; i < count && at + 2 + i < argc; i++) {
        key_uses_add(out, argv[at + 2 + i], 0);
    }
    return true;
}

const struct command kv_poll = {
    .name = "kv.poll",
    .arity = -5,
    .flags = CMD_WATCHES | CMD_READ | CMD_BLOCKING | CMD_FORMAT,
    .group = "kv",
    .since = "0.1.0",
    .summary = "Entries whose versionstamp is another than the one given, or waits for one.",
    .syntax = "[BLOCK milliseconds] KEYS numkeys key [key ...] versionstamp [versionstamp ...]",
    .reply =
        "array of entries, an absent one as [key, nil, nil]; nil when there is none by the end "
        "of BLOCK",
    .key_flags = KEY_RO | KEY_ACCESS,
    .keys = kv_poll_keys,
    .run = kv_poll_run,
};
