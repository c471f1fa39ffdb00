/* start: see start.h. One scan at a time, one slice in each tick. A commit may come between two
 * slices: a flush makes the rest of the scan untrue, so its rows are not given on; other changes
 * the layer already knows from its own on_commit. What could not be read goes to the end of a list
 * and is tried again. */
#include "engine/start.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/engine_int.h"

#define AGAIN_US 1000000
#define READ_ROWS 5000   /* in one tick */
#define READ_DATABASE 25 /* a database costs as much as so many rows, whatever is in it */

struct start_failure {
    struct start_failure *next;
    size_t space; /* index into start.spaces */
    uint16_t database;
    struct error error;
};

/* ---- what is read next ---- */

static size_t index_of(const struct start *s, enum space space)
{
    size_t i = 0;
    while (i < s->count && s->spaces[i].space != space) i++;
    return i;
}

static struct start_failure *const *failure_of(const struct start *s, size_t space,
                                               uint16_t database)
{
    struct start_failure *const *at = &s->failures;
    while (*at != NULL && ((*at)->space != space || (*at)->database != database)) {
        at = &(*at)->next;
    }
    return at;
}

static void failure_unlink(struct start *s, struct start_failure *f)
{
    struct start_failure **at = &s->failures;
    while (*at != f) at = &(*at)->next;
    *at = f->next;
}

/* Of what has not been read yet, or, later, of what could not be. False: nothing is to be read now.
 */
static bool choose(struct start *s)
{
    struct backend *b = s->engine->backend;
    while (s->at < s->count) {
        if (backend_database_next(b, s->next_database, &s->database)) {
            s->next_database = (uint32_t)s->database + 1;
            s->space = s->at;
            return true;
        }
        s->at++;
        s->next_database = 0;
        waiter_wake_all(&s->pending);
    }
    if (s->failures == NULL || clock_mono_us() < s->again_us) return false;
    s->space = s->failures->space;
    s->database = s->failures->database;
    return true;
}

/* ---- one database ---- */

static enum err read_open(struct start *s, struct error *e)
{
    struct backend *b = s->engine->backend;
    uint8_t space = (uint8_t)s->spaces[s->space].space;
    uint8_t start[KEY_HEAD_BYTES] = {KEY_HEAD(s->database, space)};
    uint8_t end[KEY_HEAD_BYTES] = {KEY_HEAD(s->database, space + 1)};
    struct scan_range range = {.start = slice_of(start, sizeof start),
                               .end = slice_of(end, sizeof end),
                               .with_values = true};
    s->is_flushed = false;
    return backend_scan_open(b, &range, &s->scan, e);
}

/* Up to *rows of them, which it counts down. *is_done: the database has no more. */
static enum err read_slice(struct start *s, unsigned *rows, bool *is_done, struct error *e)
{
    const struct start_space *x = &s->spaces[s->space];
    *is_done = false;
    for (; *rows > 0; --*rows) {
        struct slice key;
        struct entry entry;
        enum err r = backend_scan_next(s->scan, &key, &entry, &s->waiter, e);
        if (r != OK) return r;
        if (key.len == 0) {
            *is_done = true;
            return OK;
        }
        if (!s->is_flushed) r = x->row(x->arg, key, &entry, e);
        if (r != OK) return r;
    }
    return backend_scan_pause(s->scan, e);
}

static void read_failed(struct start *s, const struct error *why)
{
    const char *what = s->spaces[s->space].what;
    struct start_failure *f = *failure_of(s, s->space, s->database);
    if (f == NULL) {
        f = mem_new(sizeof *f);
        f->space = s->space;
        f->database = s->database;
        if (why->code != ERR_BEHIND) {
            log_warning("cannot read the %s of database %u: %s; commands that need them return "
                        "this error",
                        what, s->database, why->text);
        }
    } else {
        failure_unlink(s, f);
    }
    /* The last of them: others are tried before it is again. */
    struct start_failure **at = &s->failures;
    while (*at != NULL) at = &(*at)->next;
    f->next = NULL;
    *at = f;
    f->error = *why;
    s->again_us = clock_mono_us() + AGAIN_US;
}

static void read_succeeded(struct start *s)
{
    struct start_failure *f = *failure_of(s, s->space, s->database);
    if (f == NULL) return;
    if (f->error.code != ERR_BEHIND) {
        log_notice("the %s of database %u are readable again", s->spaces[s->space].what,
                   s->database);
    }
    failure_unlink(s, f);
    mem_free(f);
}

/* The database's rows, or a part of them: false when the rest must wait. */
static bool read_database(struct start *s, unsigned *rows)
{
    struct error e;
    bool is_done = false;
    enum err r = s->scan != NULL ? OK : read_open(s, &e);
    if (r == OK) r = read_slice(s, rows, &is_done, &e);
    if (r == ERR_WAIT || (r == OK && !is_done)) return false;
    const struct start_space *x = &s->spaces[s->space];
    backend_scan_close(s->scan);
    s->scan = NULL;
    if (x->done != NULL) x->done(x->arg, s->database, r == OK);
    if (r == OK) {
        read_succeeded(s);
    } else {
        read_failed(s, &e);
    }
    return true;
}

void start_tick(struct start *s)
{
    unsigned rows = READ_ROWS;
    if (s->at == s->count && s->failures == NULL) return;
    if (s->waiter.next != NULL) return; /* a page is being fetched */
    while (rows > 0 && (s->scan != NULL || choose(s))) {
        if (!read_database(s, &rows)) return;
        rows -= rows < READ_DATABASE ? rows : READ_DATABASE;
    }
}

/* ---- for the layers ---- */

void engine_read_at_start(struct engine *g, const struct start_space *x)
{
    struct start *s = &g->start;
    size_t at = s->count;
    INVARIANT(s->count < START_SPACES_MAX && s->at == 0 && s->scan == NULL);
    for (; at > 0 && s->spaces[at - 1].rank > x->rank; at--) s->spaces[at] = s->spaces[at - 1];
    s->spaces[at] = *x;
    s->count++;
}

enum err engine_start_check(struct engine *g, enum space space, uint16_t database, struct waiter *w,
                            struct error *e)
{
    struct start *s = &g->start;
    if (s->at == s->count && s->failures == NULL) return OK;
    size_t i = index_of(s, space);
    INVARIANT(i < s->count);
    const struct start_failure *f = *failure_of(s, i, database);
    if (f != NULL) {
        return error_set(e, f->error.code, "cannot read the %s of database %u: %s",
                         s->spaces[i].what, database, f->error.text);
    }
    if (i < s->at) return OK;
    waiter_add(&s->pending, w);
    return error_set(e, ERR_WAIT, "the %s are being read", s->spaces[i].what);
}

bool engine_start_is_read(const struct engine *g, enum space space, uint16_t database)
{
    const struct start *s = &g->start;
    if (s->at == s->count && s->failures == NULL) return true;
    size_t i = index_of(s, space);
    return i < s->at && *failure_of(s, i, database) == NULL;
}

bool engine_start_is_begun(const struct engine *g, enum space space, uint16_t database)
{
    const struct start *s = &g->start;
    if (engine_start_is_read(g, space, database)) return true;
    size_t i = index_of(s, space);
    if (s->scan != NULL && s->space == i && s->database == database) return true;
    if (*failure_of(s, i, database) != NULL) return false;
    return i == s->at && database < s->next_database;
}

bool engine_start_is_over(const struct engine *g, enum space space)
{
    return index_of(&g->start, space) < g->start.at;
}

bool engine_is_started(const struct engine *g)
{
    return g->start.at == g->start.count;
}

/* ---- life ---- */

static void on_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct start *s = arg;
    (void)version;
    if (s->scan == NULL) return;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        /* What the scan still has of the database is no more. */
        if (mu->kind == MUTATION_FLUSH && key_database(mu->key) == s->database) {
            s->is_flushed = true;
        }
    }
}

static void nothing_ready(struct waiter *w)
{
    /* The next tick looks again. */
    (void)w;
}

void start_init(struct start *s, struct engine *g)
{
    struct layer layer = {.kinds = LAYER_FLUSH, .on_commit = on_commit, .arg = s};
    *s = (struct start){.engine = g, .waiter = {.ready = nothing_ready}};
    waiter_list_init(&s->pending);
    engine_add_layer(g, &layer);
}

void start_fini(struct start *s)
{
    waiter_cancel(&s->waiter);
    if (s->scan != NULL) backend_scan_close(s->scan);
    while (s->failures != NULL) {
        struct start_failure *next = s->failures->next;
        mem_free(s->failures);
        s->failures = next;
    }
}
