/* check_contents: see check_contents.h. A child process copies, replays and looks, and writes what
 * it finds into a pipe as messages; the caller reads them, and adds a line when the child dies. The
 * copy is removed by the caller, whatever happens to the child. */
#include "offline/check_contents.h"

#include <limits.h>
#include <stdlib.h>

#include "backend/local/local.h"
#include "backend/local/sqlite_store.h"
#include "backend/pipeline.h"
#include "base/bytes.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "search/text_ops.h"

#define PART "copy"
#define CACHE_BYTES (64u << 20)
#define MEMTABLE_BYTES (64u << 20)
#define SEGMENT_BYTES (1u << 20)
#define ARENA_BYTES (64u << 10)
#define TEMPLATE "XXXXXX"

/* ---- what the child says ---- */

/* Figures of struct check. */
struct figures {
    uint64_t damaged, notes, entries, index_rows, messages, scratch_bytes;
};

/* First byte of a message. LINE: then its kind, and part, place and text, each NUL-ended. */
enum message_kind {
    MESSAGE_LINE = 'l',
    MESSAGE_PROGRESS = 'p',
    MESSAGE_END = 'e',
    MESSAGE_FAILED = 'f'
};

struct progress_message {
    uint64_t done, total;
};

struct failure {
    enum err code;
    char text[ERROR_TEXT_BYTES];
};

/* Of the caller. */
struct hearing {
    struct check *k;
    uint64_t damaged, notes; /* before */
    struct failure failure;  /* code OK: none */
};

/* Of the child: what check_run is for the caller. */
struct looking {
    struct check inner; /* told by `out` */
    const struct check *outer;
    const char *dir; /* the scratch directory */
    int out;
    struct hearing hearing;
};

static void say(const struct looking *x, enum message_kind kind, const void *bytes, size_t len)
{
    struct buf m;
    buf_init(&m);
    buf_append_byte(&m, (uint8_t)kind);
    buf_append(&m, bytes, len);
    buf_require(&m);
    child_say(x->out, buf_slice(&m));
    buf_fini(&m);
}

static void line_say(void *arg, const struct check_line *l)
{
    struct buf m;
    buf_init(&m);
    buf_append_byte(&m, (uint8_t)l->kind);
    buf_append(&m, l->part, strlen(l->part) + 1);
    buf_append(&m, l->place, strlen(l->place) + 1);
    buf_append(&m, l->text, strlen(l->text) + 1);
    buf_require(&m);
    say(arg, MESSAGE_LINE, m.data, m.len);
    buf_fini(&m);
}

static void progress_say(void *arg, const char *part, uint64_t done, uint64_t total)
{
    struct progress_message p = {.done = done, .total = total};
    struct buf m;
    buf_init(&m);
    buf_append(&m, &p, sizeof p);
    buf_append(&m, part, strlen(part) + 1);
    buf_require(&m);
    say(arg, MESSAGE_PROGRESS, m.data, m.len);
    buf_fini(&m);
}

/* ---- the same, heard ---- */

static void line_hear(struct hearing *h, const char *bytes)
{
    struct check_line l = {.kind = bytes[0] == CHECK_DAMAGE ? CHECK_DAMAGE : CHECK_NOTE};
    l.part = bytes + 1;
    l.place = l.part + strlen(l.part) + 1;
    l.text = l.place + strlen(l.place) + 1;
    *(l.kind == CHECK_DAMAGE ? &h->k->damaged : &h->k->notes) += 1;
    h->k->found(h->k->arg, &l);
}

static void end_hear(struct hearing *h, const void *bytes)
{
    struct figures f;
    memcpy(&f, bytes, sizeof f);
    h->k->damaged = h->damaged + f.damaged;
    h->k->notes = h->notes + f.notes;
    h->k->entries = f.entries;
    h->k->index_rows = f.index_rows;
    h->k->messages = f.messages;
    h->k->scratch_bytes = f.scratch_bytes;
}

static void hear(void *arg, struct slice message)
{
    struct hearing *h = &((struct looking *)arg)->hearing;
    const char *bytes = (const char *)message.data + 1;
    struct progress_message p;
    switch ((enum message_kind)message.data[0]) {
    case MESSAGE_LINE: line_hear(h, bytes); break;
    case MESSAGE_END: end_hear(h, bytes); break;
    case MESSAGE_FAILED: memcpy(&h->failure, bytes, sizeof h->failure); break;
    case MESSAGE_PROGRESS:
        memcpy(&p, bytes, sizeof p);
        check_progress(h->k, bytes + sizeof p, p.done, p.total);
        break;
    }
}

/* ---- replaying it ---- */

static enum err copy_open(const struct looking *x, struct store **store, struct error *e)
{
    struct buf path;
    buf_init(&path);
    check_path(&path, x->dir, CHECK_STORE);
    struct sqlite_options options = {.path = (const char *)path.data,
                                     .cache_bytes = CACHE_BYTES,
                                     .reader_cache_bytes = CACHE_BYTES / 4,
                                     .text_ops = &search_text_ops};
    enum err r = sqlite_open(&options, store, e);
    buf_fini(&path);
    return r;
}

static enum err applied_read(const struct looking *x, uint64_t *applied, struct error *e)
{
    struct store *store = NULL;
    struct store_progress state = {0};
    enum err r = copy_open(x, &store, e);
    if (r != OK) return r;
    store->ops->state(store, &state);
    *applied = state.applied;
    store_progress_fini(&state);
    store_close(store);
    return OK;
}

static void on_wake(void *arg)
{
    (void)arg;
}

__attribute__((noreturn)) static void on_fatal(void *arg, const struct error *e)
{
    (void)arg;
    die("%s", e->text);
}

/* As a start and a clean stop. */
static enum err replay(const struct looking *x, struct error *e)
{
    struct local_options local = {.dir = x->dir,
                                  .durability = DURABILITY_NEVER,
                                  .segment_bytes = SEGMENT_BYTES,
                                  .store_cache_bytes = CACHE_BYTES,
                                  .text_ops = &search_text_ops};
    struct pipeline_options options = {.memtable_bytes = MEMTABLE_BYTES,
                                       .memtable_age_ms = INT32_MAX,
                                       .write_buffer_bytes = 4ULL * MEMTABLE_BYTES,
                                       .query_threads = 1,
                                       .scan_ms_max = INT32_MAX,
                                       .wake = on_wake,
                                       .on_fatal = on_fatal};
    struct journal *journal = NULL;
    struct store *store = NULL;
    struct backend *b = NULL;
    enum err r = local_open(&local, &journal, &store, e);
    if (r == OK) r = pipeline_open(&options, journal, store, &b, e);
    return r == OK ? backend_close(b, e) : r;
}

/* ---- looking at it ---- */

static void store_line(void *arg, const struct store_check_line *line)
{
    struct contents *c = arg;
    struct buf place;
    buf_init(&place);
    contents_place(line->table, line->key, &place);
    check_say(c->k, line->is_damage ? CHECK_DAMAGE : CHECK_NOTE, line->part,
              (const char *)place.data, "%s", line->text);
    buf_fini(&place);
}

static void store_progress(void *arg, uint64_t done, uint64_t total)
{
    const struct contents *c = arg;
    check_progress(c->k, "entries", done, total);
}

static void entry_take(void *arg, const struct store_row *row)
{
    contents_row(arg, row);
}

static void aside_count(void *arg, const struct mutation *mu, uint64_t version)
{
    (void)mu;
    (void)version;
    ++*(uint64_t *)arg;
}

/* What lies in damaged pages has newer entries elsewhere, which are not looked up here. */
static enum err aside_look(struct contents *c, struct error *e)
{
    uint64_t count = 0;
    enum err r = c->store->ops->aside_read(c->store, aside_count, &count, e);
    c->has_aside = count > 0;
    if (r != OK || count == 0) return r;
    check_say(c->k, CHECK_NOTE, "entries", "aside",
              "%llu entries cannot be placed because pages are damaged: entries, indexes and "
              "queues were not compared",
              (unsigned long long)count);
    return OK;
}

static enum err contents_look(struct looking *x, struct store *store, struct error *e)
{
    struct contents c = {.k = &x->inner, .store = store, .now_ms = clock_wall_ms()};
    struct store_progress state = {0};
    struct store_check k = {.store = store,
                            .found = store_line,
                            .entry = entry_take,
                            .progress = store_progress,
                            .arg = &c};
    store->ops->state(store, &state);
    c.applied = state.applied;
    store_progress_fini(&state);
    arena_init(&c.arena, ARENA_BYTES);
    arena_init(&c.own, ARENA_BYTES);
    htab_init(&c.queues);
    enum err r = store_reader_open(store, &c.reader, e);
    if (r == OK) r = store_pin(c.reader, e);
    if (r == OK) r = aside_look(&c, e);
    if (r == OK) r = store_check_run(&k, e);
    c.is_unreadable = c.is_unreadable || k.is_cut;
    contents_end(&c);
    if (c.reader != NULL) store_unpin(c.reader);
    store_reader_close(c.reader);
    htab_fini(&c.queues);
    arena_fini(&c.own);
    arena_fini(&c.arena);
    return r;
}

/* A start would be refused: that is damage, unless it comes of some that was told. Where the copy
 * finds no room, the directory is not to blame. */
static enum err refused(struct looking *x, enum err r, const struct error *e)
{
    bool is_known = x->outer->damaged > 0;
    if (r == OK || r == ERR_DISK_FULL || r == ERR_NOMEM) return r;
    check_say(&x->inner, is_known ? CHECK_NOTE : CHECK_DAMAGE, PART, CHECK_STORE,
              "its contents were not checked, because a server would not start: %.180s", e->text);
    return OK;
}

/* On a disk that is nearly full a start goes on in memory; but what is looked at is on it. */
static enum err is_whole(const struct looking *x, struct store *store, struct error *e)
{
    struct store_progress state = {0};
    store->ops->state(store, &state);
    uint64_t applied = state.applied;
    store_progress_fini(&state);
    if (applied >= x->outer->newest || x->outer->damaged > 0) return OK;
    return error_set(e, ERR_IO,
                     "the copy was replayed up to version %llu of %llu only: is the disk full?",
                     (unsigned long long)applied, (unsigned long long)x->outer->newest);
}

static enum err copied(struct looking *x, struct check_copy *copy, uint64_t applied,
                       struct error *e)
{
    struct store *store = NULL;
    uint64_t end = x->outer->versions_end;
    if (end > 0 && applied >= end) {
        check_say(&x->inner, CHECK_DAMAGE, "entries", "meta",
                  "it has version %llu, which according to the file versions was not used yet",
                  (unsigned long long)applied);
    }
    enum err r = check_copy_segments(copy, applied, e);
    if (r != OK) return r;
    r = replay(x, e);
    if (r == OK) r = copy_open(x, &store, e);
    if (r != OK) return refused(x, r, e);
    r = is_whole(x, store, e);
    if (r == OK) r = contents_look(x, store, e);
    store_close(store);
    return r;
}

static enum err all(struct looking *x, struct error *e)
{
    uint64_t applied = 0;
    struct check_copy copy = {.k = &x->inner, .from = x->outer->dir, .to = x->dir};
    enum err r = check_copy_store(&copy, e);
    if (r != OK) return r;
    r = applied_read(x, &applied, e);
    return r == OK ? copied(x, &copy, applied, e) : refused(x, r, e);
}

static void run(void *arg, int out)
{
    struct looking *x = arg;
    struct failure failure = {.code = OK};
    struct error e;
    x->out = out;
    log_set_level(LOG_LEVEL_NOTHING); /* of this process: lines are what is printed here */
    x->inner = (struct check){.dir = x->dir, .found = line_say, .progress = progress_say, .arg = x};
    enum err r = all(x, &e);
    const struct check *k = &x->inner;
    struct figures f = {.damaged = k->damaged,
                        .notes = k->notes,
                        .entries = k->entries,
                        .index_rows = k->index_rows,
                        .messages = k->messages,
                        .scratch_bytes = k->scratch_bytes};
    if (r != OK) {
        failure.code = r;
        memcpy(failure.text, e.text, sizeof failure.text);
        say(x, MESSAGE_FAILED, &failure, sizeof failure);
    }
    say(x, MESSAGE_END, &f, sizeof f);
}

/* ---- in the caller ---- */

/* "dir.check-XXXXXX", or in the directory for scratch, which must be another: nothing is written to
 * the one that is looked at. */
static enum err scratch_make(const struct check *k, struct buf *out, struct error *e)
{
    char real[PATH_MAX];
    char place[PATH_MAX];
    struct error why;
    const char *dir = realpath(k->dir, real) != NULL ? real : k->dir;
    if (k->scratch == NULL) {
        buf_printf(out, "%s.check-" TEMPLATE, dir);
    } else if (realpath(k->scratch, place) != NULL && strcmp(place, dir) == 0) {
        return error_set(e, ERR_IO,
                         "%s is being checked and must not be written: --scratch must be another "
                         "directory",
                         dir);
    } else {
        buf_printf(out, "%s/tupled-check-" TEMPLATE, k->scratch);
    }
    buf_append_byte(out, '\0');
    buf_require(out);
    enum err r = dir_make_unique((char *)out->data, &why);
    if (r == OK) return OK;
    return error_set(
        e, r,
        "no space for the copy that is needed to check the contents: %.100s; --scratch DIR sets "
        "another directory, --files skips this check",
        why.text);
}

/* A child that died is damage too: of a kind that nothing else saw. */
static enum err result_of(struct looking *x, enum err r, struct error *e)
{
    struct check *k = x->hearing.k;
    if (r == ERR_CORRUPT) {
        check_say(k, CHECK_DAMAGE, PART, CHECK_STORE,
                  "the check of the contents did not finish: %.180s", e->text);
        return OK;
    }
    if (r != OK || x->hearing.failure.code == OK) return r;
    return error_set(e, x->hearing.failure.code, "%s", x->hearing.failure.text);
}

enum err check_contents(struct check *k, struct error *e)
{
    struct looking x = {.outer = k, .hearing = {.k = k, .damaged = k->damaged, .notes = k->notes}};
    struct child child = {.run = run, .take = hear, .arg = &x};
    struct buf scratch;
    struct error ignored;
    buf_init(&scratch);
    child_hold(&child);
    enum err r = scratch_make(k, &scratch, e);
    if (r == OK) {
        x.dir = (const char *)scratch.data;
        r = result_of(&x, child_run(&child, e), e);
        enum err removed = dir_remove(x.dir, r == OK ? e : &ignored);
        if (r == OK) r = removed;
    }
    buf_fini(&scratch);
    child_release(&child);
    return r;
}
