/* idem: what makes a write safe to send twice: IDEM id, and the placeholders that stand
 * for a new UUID or for the commit's own versionstamp.
 *
 * A command with IDEM runs as a transaction of one command: over an overlay, so that its reply is
 * known before the commit and becomes part of it. The reply is kept as RESP2 has it; a repeat gets
 * it in the protocol of its connection.
 */
#include "request/idem.h"

#include <xxhash.h>

#include "access/user.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/random.h"
#include "request/bind.h"
#include "request/block.h"
#include "request/publication.h"

/* ---- placeholders ---- */

struct uuid {
    bool is_set;
    uint8_t bytes[UUID_BYTES];
};

struct uuid_table {
    struct arena *arena;
    struct uuid *items; /* by number; in the arena */
    unsigned cap;
};

struct uuid_table *uuid_table_new(struct arena *arena)
{
    struct uuid_table *t = arena_alloc(arena, sizeof *t);
    *t = (struct uuid_table){.arena = arena};
    return t;
}

static void placeholder_uuid(void *arg, unsigned n, char out[UUID_CHARS])
{
    struct request *rq = arg;
    if (rq->uuids == NULL) rq->uuids = uuid_table_new(rq->arena);
    struct uuid_table *t = rq->uuids;
    if (n >= t->cap) {
        unsigned cap = t->cap == 0 ? 16 : t->cap * 2;
        while (cap <= n) cap *= 2;
        struct uuid *items = arena_alloc(t->arena, cap * sizeof *items);
        memset(items, 0, cap * sizeof *items);
        if (t->cap > 0) memcpy(items, t->items, t->cap * sizeof *items);
        t->items = items;
        t->cap = cap;
    }
    struct uuid *u = &t->items[n];
    if (!u->is_set) {
        uint8_t random[10];
        random_system(random, sizeof random);
        uuid_next(&rq->env->uuid_clock, engine_time_ms(rq->env->db->engine), random, u->bytes);
        u->is_set = true;
    }
    uuid_format(u->bytes, out);
}

/* Whatever is read from now on until the commit is read in one turn: no other commit comes first.
 */
static void placeholder_versionstamp(void *arg, char out[VERSIONSTAMP_CHARS])
{
    struct request *rq = arg;
    stamp_format(rq->overlay != NULL ? engine_overlay_version(rq->overlay)
                                     : engine_version_next(rq->env->db->engine),
                 out);
}

struct placeholders request_placeholders(struct request *rq)
{
    return (struct placeholders){
        .uuid = placeholder_uuid, .versionstamp = placeholder_versionstamp, .arg = rq};
}

/* ---- IDEM ---- */

enum err idem_check(struct request *rq)
{
    if (rq->idem.len > 0 && rq->idem.len <= IDEM_ID_BYTES_MAX) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "IDEM must be an id of 1 to %d bytes, not %zu",
                     IDEM_ID_BYTES_MAX, rq->idem.len);
}

bool idem_take(struct request *rq)
{
    const struct command *c = rq->command;
    bool has_id = rq->idem.data != NULL; /* KV.DO's */
    if ((c->flags & CMD_IDEM_FIRST) != 0) {
        if (rq->argc < 2 || !slice_is_word(rq->argv[1], "IDEM")) return true;
        if (rq->argc == 2) {
            (void)error_set(&rq->error, ERR_SYNTAX, "syntax error: IDEM needs an argument");
            return false;
        }
        struct slice *argv = arena_alloc(rq->arena, (rq->argc - 2) * sizeof *argv);
        argv[0] = rq->argv[0];
        memcpy(argv + 1, rq->argv + 3, (rq->argc - 3) * sizeof *argv);
        rq->idem = rq->argv[2];
        rq->argv = argv;
    } else {
        /* The shortest form of the command comes before it. */
        size_t least = request_words_least(rq);
        if (rq->argc < least + 2 || !slice_is_word(rq->argv[rq->argc - 2], "IDEM")) return true;
        rq->idem = rq->argv[rq->argc - 1];
    }
    rq->argc -= 2;
    if (has_id) (void)error_set(&rq->error, ERR_SYNTAX, "syntax error: duplicate IDEM");
    return !has_id && idem_check(rq) == OK;
}

/* Of the command and its arguments, which mean something else in another format or database. */
static void fingerprint(const struct request *rq, uint8_t out[IDEM_FINGERPRINT_BYTES])
{
    XXH3_state_t *state = XXH3_createState();
    INVARIANT(state != NULL);
    XXH3_128bits_reset(state);
    uint8_t format = (uint8_t)rq->format;
    XXH3_128bits_update(state, &format, 1);
    XXH3_128bits_update(state, rq->command->name, strlen(rq->command->name) + 1);
    for (size_t i = 1; i < rq->argc; i++) {
        uint64_t len = rq->argv[i].len;
        XXH3_128bits_update(state, &len, sizeof len);
        XXH3_128bits_update(state, rq->argv[i].data, rq->argv[i].len);
    }
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
    XXH3_freeState(state);
    memcpy(out, canonical.digest, IDEM_FINGERPRINT_BYTES);
}

/* Runs the command over `o` and keeps its reply there, if it has something to commit. */
static enum err run_and_keep(struct request *rq, struct overlay *o, const struct idem_request *q)
{
    struct resp_writer *w = rq->w;
    int proto = w->proto;
    size_t mark = w->out->len;
    unsigned changes = engine_overlay_changes(o);
    w->proto = 2;
    w->drafts = NULL;
    enum err r = request_perform(rq);
    w->proto = proto;
    if (r == OK && w->out->is_failed) {
        r = error_set(&rq->error, ERR_NOMEM, "out of memory while building the reply");
    }
    if (r != OK) return r;
    struct slice reply = slice_of(w->out->data + mark, w->out->len - mark);
    if (engine_overlay_changes(o) != changes) idem_keep(o, q, reply);
    if (proto == 3) {
        reply = arena_copy(rq->arena, reply);
        w->out->len = mark;
        resp_replay(w, reply);
    }
    return OK;
}

/* Over rq->overlay: the reply of the first time, or the command's own. */
static enum err find_or_run(struct request *rq, bool is_admitted, bool *is_repeat)
{
    uint8_t scope[8];
    struct idem_request q = {
        .database = rq->client->database, .user = slice_of(scope, sizeof scope), .id = rq->idem};
    put_u64(scope, rq->client->user->incarnation);
    fingerprint(rq, q.fingerprint);
    enum err r = idem_find(rq->overlay, &q, rq->waiter, &rq->error);
    depends_raise(&rq->depends, q.depends);
    *is_repeat = r == OK && q.is_repeat;
    if (r != OK) return r;
    if (q.is_repeat) {
        resp_replay(rq->w, q.reply);
        return OK;
    }
    if (!is_admitted) r = engine_admit(rq->env->db->engine, rq->waiter, &rq->error);
    return r == OK ? run_and_keep(rq, rq->overlay, &q) : r;
}

/* What a script publishes comes with its commit. Counting who listens may take several turns: what
 * was counted is kept from one to the next. */
struct counting {
    struct pending base;
    struct exec_counts *counts; /* owned */
};

static void counting_free(struct pending *p)
{
    struct counting *k = (struct counting *)p;
    exec_counts_free(k->counts);
    mem_free(k);
}

static struct exec_counts *counts_take(struct client *c)
{
    struct counting *k = (struct counting *)c->run.pending;
    if (k == NULL || k->base.free != counting_free) return NULL;
    struct exec_counts *counts = k->counts;
    k->counts = NULL;
    client_drop_pending(c);
    return counts;
}

static void counts_keep(struct client *c, struct exec_counts *counts)
{
    if (counts == NULL || c->run.pending != NULL) {
        exec_counts_free(counts);
        return;
    }
    struct counting *k = mem_new(sizeof *k);
    *k = (struct counting){.base.free = counting_free, .counts = counts};
    c->run.pending = &k->base;
}

static enum err run_alone(struct request *rq)
{
    bool is_repeat = false;
    uint64_t version = 0;
    struct exec_counts *counts = counts_take(rq->client);
    struct overlay *own = engine_begin(rq->env->db->engine, rq->arena);
    rq->overlay = own;
    rq->messages = exec_messages_new(rq->arena, &counts);
    enum err r = find_or_run(rq, false, &is_repeat);
    if (r != OK || is_repeat) {
        engine_discard(own);
    } else {
        r = engine_end(own, &version, rq->waiter, &rq->error);
        depends_raise(&rq->depends, version);
        if (r == OK) exec_messages_send(rq);
    }
    rq->overlay = NULL;
    rq->messages = NULL;
    if (r == ERR_WAIT)
        counts_keep(rq->client, counts);
    else
        exec_counts_free(counts);
    return r;
}

enum err idem_run(struct request *rq)
{
    bool is_repeat;
    return rq->overlay == NULL ? run_alone(rq) : find_or_run(rq, true, &is_repeat);
}
