/* swap: SWAPDB: the entries of two databases change places, in one transaction, so that watches,
 * indexes, caches of clients and the change feed hear of each as of any other write. What is not an
 * entry (queues, indexes, limits, the name) stays where it is. Each key is two operations at most,
 * so that both together have no more keys than half of what a transaction may have.
 */
#include "command/string/across.h"
#include "engine/engine.h"
#include "request/arguments.h"
#include "request/keys.h"
#include "request/subjects.h"
#include "request/table.h"

/* The entries of a database, in the order of their keys, in the arena. */
struct entries {
    uint16_t database;
    struct row {
        struct slice key;
        struct entry entry;
    } * rows;
    size_t count, cap;
};

struct swap {
    struct entries of[2];
    size_t keys_max;
    uint64_t bytes, bytes_max;
};

static enum err too_much(struct request *rq, const struct swap *s)
{
    return error_set(&rq->error, ERR_LIMIT,
                     "SWAPDB of more than %zu keys (half of max-transaction-ops) or %llu bytes "
                     "(max-transaction-size)",
                     s->keys_max, (unsigned long long)s->bytes_max);
}

static enum err add(struct request *rq, struct swap *s, struct entries *x, struct slice key,
                    const struct entry *entry)
{
    s->bytes += key.len + entry->value.len;
    if (s->of[0].count + s->of[1].count == s->keys_max || s->bytes > s->bytes_max) {
        return too_much(rq, s);
    }
    x->rows = arena_grow(rq->arena, x->rows, x->count, &x->cap, sizeof *x->rows);
    struct row *row = &x->rows[x->count++];
    row->key = arena_copy(rq->arena, key);
    row->entry = *entry;
    row->entry.value = arena_copy(rq->arena, entry->value);
    return OK;
}

static enum err read_entries(struct request *rq, struct swap *s, struct entries *x)
{
    struct scan_range range = {.is_undivided = true, .with_values = true};
    struct engine_scan *scan = NULL;
    struct slice key = {0};
    struct entry entry;
    engine_range_below(rq->arena, x->database, slice_of(NULL, 0), &range.start, &range.end);
    enum err r = engine_scan_open(rq->env->db->engine, rq->overlay, &range, &scan, &rq->error);
    while (r == OK) {
        r = engine_scan_next(scan, &key, &entry, rq->waiter, &rq->error);
        if (r != OK || key.len == 0) break;
        r = add(rq, s, x, key, &entry);
    }
    if (r == OK) depends_raise(&rq->depends, engine_scan_depends(scan));
    engine_scan_close(scan);
    return r;
}

/* What makes the entries of x those of `other`: a set for each of these, a delete for each of x
 * that is not there. */
static struct database_ops ops_of(struct request *rq, const struct entries *x,
                                  const struct entries *other)
{
    struct database_ops out = {.database = x->database};
    size_t at = 0;
    out.ops = arena_alloc(rq->arena, (x->count + other->count + 1) * sizeof *out.ops);
    for (size_t i = 0; i < other->count; i++) {
        struct slice tuple = engine_key_tuple(other->rows[i].key);
        for (; at < x->count; at++) {
            int order = slice_cmp(engine_key_tuple(x->rows[at].key), tuple);
            if (order > 0) break;
            if (order == 0) continue;
            out.ops[out.count++] = (struct op){.kind = OP_DELETE, .key = x->rows[at].key};
        }
        struct slice key = key_in(rq, other->rows[i].key, x->database);
        out.ops[out.count++] = copy_of(rq, &other->rows[i].entry, other->rows[i].key, key);
    }
    for (; at < x->count; at++) {
        out.ops[out.count++] = (struct op){.kind = OP_DELETE, .key = x->rows[at].key};
    }
    return out;
}

struct swapdb {
    struct slice first, second;
};

/* Both databases are read and written, all keys of them. */
static void swapdb_subjects(struct subjects *s, const void *bound)
{
    const struct swapdb *a = bound;
    subjects_database(s, a->first);
    subjects_database(s, a->second);
    subjects_all_keys(s, ACCESS_READ | ACCESS_WRITE);
}

ARGUMENTS_WITH(swapdb_arguments, struct swapdb, "index1 index2", WITH(.subjects = swapdb_subjects),
               ARG_WORD(struct swapdb, first, "index1"), ARG_WORD(struct swapdb, second, "index2"));

/* Redis's words for what is no number, and no name either. */
static enum err find(struct request *rq, struct slice word, const char *which, struct entries *x)
{
    int64_t number = 0;
    enum err r = other_database(rq, word, &x->database);
    if (r != ERR_SYNTAX || slice_to_i64(word, &number)) return r;
    return error_set(&rq->error, ERR_SYNTAX, "invalid %s DB index", which);
}

static enum err swapdb_run(struct request *rq)
{
    const struct swapdb *a = rq->bound;
    const struct engine_options *limits = engine_limits(rq->env->db->engine);
    struct swap s = {.keys_max = limits->ops_max / 2, .bytes_max = limits->txn_bytes_max};
    enum err r = find(rq, a->first, "first", &s.of[0]);
    if (r == OK) r = find(rq, a->second, "second", &s.of[1]);
    if (r == OK && s.of[0].database == s.of[1].database) {
        resp_simple(rq->w, "OK");
        return OK;
    }
    if (r == OK) r = read_entries(rq, &s, &s.of[0]);
    if (r == OK) r = read_entries(rq, &s, &s.of[1]);
    if (r != OK) return r;
    struct database_ops ops[] = {ops_of(rq, &s.of[0], &s.of[1]), ops_of(rq, &s.of[1], &s.of[0])};
    r = commit_across(rq, ops, 2);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}

const struct command cmd_swapdb = {
    .name = "swapdb",
    .flags = CMD_KEYSPACE | CMD_WRITE | CMD_FAST | CMD_DANGEROUS | CMD_ALL_KEYS,
    .group = "server",
    .summary = "Swaps the entries of two databases in one transaction.",
    .arguments = &swapdb_arguments,
    .run = swapdb_run,
};
