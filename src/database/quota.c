/* quota: MAXBYTES and MAXENTRIES. What a write set would add to a database is known once every
 * entry that it writes was looked up; the backend then counts exactly (batch.before).
 *
 * Refused is what makes user data, messages or index rows more than they were while the database
 * is over a limit, or would be. Rows that only say how far a message is (taken, acknowledged) may
 * come: a full queue can be worked off. So may what the server itself does (write_set.is_exempt):
 * dead letters, index filling.
 */
#include <stdio.h>

#include "database/database_int.h"

struct sum {
    int64_t entries; /* of user data */
    int64_t bytes;   /* of all rows */
    int64_t added;   /* bytes of those that count as adding */
    bool is_flushed;
};

static bool is_adding(uint8_t space)
{
    return space == SPACE_DATA || space == SPACE_MESSAGE || space == SPACE_INDEX_ENTRY ||
           space == SPACE_HASH_TEXT || space == SPACE_IDEM;
}

static struct database *limited(struct databases *x, struct slice key)
{
    struct database *d = sparse_get(&x->numbers, key_database(key));
    return d != NULL && has_quota(d) ? d : NULL;
}

/* Figures are exact once all that was written without a look is in the store. */
static enum err settle(struct databases *x, struct database *d, struct waiter *w, struct error *e)
{
    struct backend *b = engine_backend(x->engine);
    if (d->exact_from == 0) return OK;
    enum err r = backend_settle(b, d->exact_from, w, e);
    if (r == OK) d->exact_from = 0;
    return r;
}

/* Flushes are the first of their database in a set. */
static bool is_flushed(const struct write_set *ws, uint16_t number)
{
    for (size_t i = 0; i < ws->count && ws->items[i].kind == MUTATION_FLUSH; i++) {
        if (key_database(ws->items[i].key) == number) return true;
    }
    return false;
}

/* Looks up what the set writes in databases with limits. All look-ups are begun before it waits. */
static enum err look_up(struct databases *x, struct write_set *ws, struct entry *before,
                        struct waiter *w, struct error *e)
{
    struct backend *b = engine_backend(x->engine);
    enum err waits = OK;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        struct database *d = limited(x, mu->key);
        if (d == NULL || mu->kind == MUTATION_FORGET || mu->kind == MUTATION_FLUSH) continue;
        before[i] = (struct entry){0};
        ws->before[i] = &before[i];
        if (is_flushed(ws, key_database(mu->key))) continue;
        waiter_cancel(w); /* of the look-up before: it waits for the last of them */
        enum err r = settle(x, d, w, e);
        if (r == OK) r = backend_load(b, mu->key, &before[i], w, e);
        if (r == ERR_CORRUPT) r = OK; /* counted as if it were not there */
        if (r != OK && r != ERR_WAIT) return r;
        if (r == ERR_WAIT) waits = r;
    }
    if (waits == OK) waiter_cancel(w);
    return waits;
}

static int64_t bytes_of(struct slice key, struct slice value)
{
    return (int64_t)(key.len - KEY_HEAD_BYTES + value.len);
}

static void add(struct sum *s, const struct mutation *mu, const struct entry *before)
{
    bool is_set = mu->kind == MUTATION_SET;
    bool was_there = before->exists && !s->is_flushed;
    int64_t bytes = is_set ? bytes_of(mu->key, mu->value) : 0;
    if (was_there) bytes -= bytes_of(mu->key, before->value);
    s->bytes += bytes;
    if (is_adding(key_space(mu->key))) s->added += bytes;
    if (key_space(mu->key) == SPACE_DATA) s->entries += is_set - was_there;
}

static void size_text(char out[32], uint64_t n)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    double value = (double)n;
    size_t i = 0;
    for (; value >= 1024 && i + 1 < sizeof units / sizeof units[0]; i++) value /= 1024;
    snprintf(out, 32, i == 0 ? "%.0f %s" : "%.1f %s", value, units[i]);
}

static enum err check(struct databases *x, const struct database *d, const struct sum *s,
                      struct error *e)
{
    struct backend *b = engine_backend(x->engine);
    struct backend_count now = {0};
    const struct database_limits *l = &d->limits;
    if (!s->is_flushed) backend_count(b, d->number, &now);
    bool is_full = l->entries_max != 0 && s->entries > 0 &&
                   (int64_t)now.entries + s->entries > (int64_t)l->entries_max;
    if (is_full) {
        return error_set(e, ERR_QUOTA, "database '%.*s' has %llu of %llu entries", (int)d->name.len,
                         (const char *)d->name.data, (unsigned long long)now.entries,
                         (unsigned long long)l->entries_max);
    }
    is_full = l->bytes_max != 0 && s->added > 0 &&
              (int64_t)now.bytes + s->bytes > (int64_t)l->bytes_max;
    if (!is_full) return OK;
    char held[32];
    char max[32];
    size_text(held, now.bytes);
    size_text(max, l->bytes_max);
    return error_set(e, ERR_QUOTA, "database '%.*s' has %s of %s, and this would exceed the limit",
                     (int)d->name.len, (const char *)d->name.data, held, max);
}

/* One database's part of the set, which begins at `from`; the others are judged on their own. */
static enum err judge(struct databases *x, const struct write_set *ws, size_t from, struct error *e)
{
    struct database *d = limited(x, ws->items[from].key);
    uint16_t number = key_database(ws->items[from].key);
    struct sum s = {0};
    for (size_t i = 0; i < from; i++) {
        if (key_database(ws->items[i].key) == number) return OK; /* was judged */
    }
    for (size_t i = from; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        if (key_database(mu->key) != number) continue;
        if (mu->kind == MUTATION_FLUSH) s.is_flushed = true;
        if (ws->before[i] != NULL) add(&s, mu, ws->before[i]);
    }
    return check(x, d, &s, e);
}

enum err quota_admit(void *arg, struct write_set *ws, struct waiter *w, struct error *e)
{
    struct databases *x = arg;
    bool has_any = false;
    if (!x->is_read) {
        enum err r = databases_ready(x, w, e);
        if (r == ERR_WAIT) return ws->is_exempt ? OK : r;
        if (r != OK) return OK; /* a catalog that cannot be read stops no writer */
    }
    if (x->limited == 0) return OK;
    for (size_t i = 0; i < ws->count && !has_any; i++) has_any = limited(x, ws->items[i].key);
    if (!has_any) return OK;
    struct entry *before = arena_alloc(ws->arena, ws->count * sizeof *before);
    ws->before = arena_alloc(ws->arena, ws->count * sizeof(struct entry *));
    for (size_t i = 0; i < ws->count; i++) ws->before[i] = NULL;
    enum err r = look_up(x, ws, before, w, e);
    uint16_t last = 0;
    bool has_last = false;
    for (size_t i = 0; i < ws->count && r == OK && !ws->is_exempt; i++) {
        uint16_t number = key_database(ws->items[i].key);
        if (limited(x, ws->items[i].key) == NULL || (has_last && number == last)) continue;
        last = number;
        has_last = true;
        r = judge(x, ws, i, e);
    }
    if (r != OK) ws->before = NULL;
    return r;
}
