#include "unit/backend/local_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"

#define KEYS 16
#define KEY_BYTES 128

/* ---- the rig ---- */

static void rig_wake(void *arg)
{
    struct rig *r = arg;
    sem_post(&r->wakes);
}

static void rig_fatal(void *arg, const struct error *e)
{
    struct rig *r = arg;
    r->is_fatal = true;
    r->fatal = *e;
}

static void rig_durable(void *arg, uint64_t version)
{
    struct rig *r = arg;
    assert_true(version > r->durable);
    r->durable = version;
}

static void rig_ready(struct waiter *w)
{
    struct rig *r = (struct rig *)((char *)w - offsetof(struct rig, waiter));
    r->is_ready = true;
}

void rig_init(struct rig *r)
{
    log_set_level(LOG_LEVEL_NOTHING);
    fault_set_reads_wait(true);
    *r = (struct rig){.waiter.ready = rig_ready};
    snprintf(r->dir, sizeof r->dir, "/tmp/test_local.XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    assert_int_equal(sem_init(&r->wakes, 0, 0), 0);
    r->local = (struct local_options){.dir = r->dir,
                                      .durability = DURABILITY_ALWAYS,
                                      .segment_bytes = 64 * 1024,
                                      .retention_ms = -1,
                                      .retention_bytes = 0,
                                      .store_cache_bytes = 1 << 20};
    r->options = (struct pipeline_options){.memtable_bytes = 1 << 20,
                                           .memtable_age_ms = 1000000,
                                           .write_buffer_bytes = 64 << 20,
                                           .cache_bytes = 1 << 20,
                                           .query_threads = 2,
                                           .scan_ms_max = 600000,
                                           .is_inline = true,
                                           .wake = rig_wake,
                                           .on_fatal = rig_fatal,
                                           .arg = r};
}

void rig_fini(struct rig *r)
{
    char command[128];
    rig_abandon(r);
    clock_set_fake_ms(0);
    fault_arm("", 0, false);
    fault_set_reads_wait(false);
    sem_destroy(&r->wakes);
    snprintf(command, sizeof command, "rm -rf '%s'", r->dir);
    assert_int_equal(system(command), 0);
}

enum err rig_try_open(struct rig *r, struct error *e)
{
    assert_null(r->b);
    struct store *store = NULL;
    enum err result = r->open != NULL ? r->open(r, &r->journal, &store, e)
                                      : local_open(&r->local, &r->journal, &store, e);
    struct journal *journal = r->journal;
    if (r->late != NULL) {
        r->options.pick = late_pick;
        r->options.pick_arg = r->late;
        if (result == OK) late_wrap(r->late, &journal, &store);
    }
    if (result == OK) result = pipeline_open(&r->options, journal, store, &r->b, e);
    if (result != OK) {
        assert_null(r->b);
        return result;
    }
    r->b->on_durable = rig_durable;
    r->b->on_durable_arg = r;
    r->durable = backend_version_durable(r->b);
    r->is_fatal = false;
    return OK;
}

void rig_open(struct rig *r)
{
    struct error e = {.text = ""};
    enum err result = rig_try_open(r, &e);
    if (result != OK) print_error("open: %s\n", e.text);
    assert_int_equal(result, OK);
}

void rig_close(struct rig *r)
{
    struct error e = {.text = ""};
    struct backend *b = r->b;
    r->b = NULL;
    waiter_cancel(&r->waiter);
    enum err result = backend_close(b, &e);
    if (result != OK) print_error("close: %s\n", e.text);
    assert_int_equal(result, OK);
}

void rig_abandon(struct rig *r)
{
    if (r->b == NULL) return;
    waiter_cancel(&r->waiter);
    pipeline_abandon(r->b);
    r->b = NULL;
}

enum err rig_set_options(struct rig *r, struct error *e)
{
    local_set_options(r->journal, &r->local);
    return pipeline_set_options(r->b, &r->options, &r->waiter, e);
}

void rig_crash(struct rig *r)
{
    rig_abandon(r);
    rig_open(r);
}

void rig_step(struct rig *r)
{
    backend_turn_end(r->b);
    if (!r->options.is_inline) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 10000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        (void)sem_timedwait(&r->wakes, &until);
    }
    backend_poll(r->b);
    backend_tick(r->b);
}

void rig_settle(struct rig *r)
{
    for (int i = 0; r->durable < backend_version_newest(r->b); i++) {
        /* The newest version after a start may be one that was only reserved: nothing to wait for.
         */
        if (pipeline_of(r->b)->log.version_told == backend_version_newest(r->b)) return;
        assert_true(i < STEPS_MAX && !r->is_fatal);
        rig_step(r);
    }
}

void rig_apply(struct rig *r)
{
    struct pipeline *l = pipeline_of(r->b);
    rig_settle(r);
    pipeline_freeze(l);
    for (int i = 0; l->newest.frozen_count > 0 || l->newest.retiring != NULL; i++) {
        assert_true(i < STEPS_MAX && !r->is_fatal);
        rig_step(r);
    }
}

void rig_mark(struct rig *r)
{
    struct backend_stats before;
    struct backend_stats after;
    rig_settle(r);
    backend_stats(r->b, &before);
    int64_t now_ms = clock_wall_ms();
    for (int i = 0; i < 10; i++) {
        clock_set_fake_ms(now_ms += 60);
        rig_step(r);
    }
    backend_stats(r->b, &after);
    assert_int_equal(after.journal_batches, before.journal_batches + 1);
}

/* ---- keys ---- */

struct slice key_of(unsigned database, const char *format, ...)
{
    static char keys[KEYS][KEY_BYTES];
    static unsigned next;
    char *key = keys[next++ % KEYS];
    char *rest = (char *)key_head_write((uint8_t *)key, (uint16_t)database, 1);
    va_list args;
    va_start(args, format);
    int len = vsnprintf(rest, KEY_BYTES - KEY_HEAD_BYTES, format, args);
    va_end(args);
    assert_true(len >= 0 && len < KEY_BYTES - KEY_HEAD_BYTES);
    return slice_of(key, (size_t)len + KEY_HEAD_BYTES);
}

struct slice key_low(unsigned database)
{
    return slice_of(key_of(database, "%s", "").data, 2);
}

struct slice key_high(unsigned database)
{
    return key_low(database + 1);
}

/* ---- writing ---- */

static void rig_wait(struct rig *r)
{
    for (int i = 0; !r->is_ready; i++) {
        assert_true(i < STEPS_MAX);
        rig_step(r);
    }
}

enum err rig_try_commit(struct rig *r, const struct mutation *items, size_t count,
                        uint64_t *version, struct error *e)
{
    struct batch batch = {.items = items, .count = count, .time_ms = backend_time_ms(r->b)};
    uint64_t before = backend_version_newest(r->b);
    for (int i = 0; i < STEPS_MAX && !r->is_fatal; i++) {
        r->is_ready = false;
        enum err result = backend_commit(r->b, &batch, version, &r->waiter, e);
        if (result == OK) assert_true(*version > before);
        if (result != ERR_WAIT) return result;
        rig_wait(r);
    }
    return error_set(e, ERR_IO, "the journal failed");
}

static uint64_t rig_write(struct rig *r, struct mutation mu)
{
    struct error e = {.text = ""};
    uint64_t version = 0;
    enum err result = rig_try_commit(r, &mu, 1, &version, &e);
    if (result != OK) print_error("commit: %s\n", e.text);
    assert_int_equal(result, OK);
    return version;
}

uint64_t rig_set(struct rig *r, struct slice key, struct slice value)
{
    return rig_write(r, (struct mutation){.kind = MUTATION_SET, .key = key, .value = value});
}

uint64_t rig_delete(struct rig *r, struct slice key)
{
    return rig_write(r, (struct mutation){.kind = MUTATION_DELETE, .key = key});
}

uint64_t rig_flush(struct rig *r, uint16_t database)
{
    const uint8_t head[] = {KEY_HEAD(database, 0)};
    return rig_write(r,
                     (struct mutation){.kind = MUTATION_FLUSH, .key = slice_of(head, sizeof head)});
}

/* ---- reading ---- */

enum err rig_try_load(struct rig *r, struct slice key, struct entry *out, struct error *e)
{
    for (int i = 0; i < 100; i++) {
        r->is_ready = false;
        enum err result = backend_load(r->b, key, out, &r->waiter, e);
        if (result != ERR_WAIT) return result;
        rig_wait(r);
    }
    fail_msg("a load never came to an end");
    return ERR_IO;
}

void rig_load(struct rig *r, struct slice key, struct entry *out)
{
    struct error e = {.text = ""};
    enum err result = rig_try_load(r, key, out, &e);
    if (result != OK) print_error("load: %s\n", e.text);
    assert_int_equal(result, OK);
}

void rig_expect(struct rig *r, struct slice key, const char *value)
{
    struct entry entry;
    rig_load(r, key, &entry);
    assert_int_equal(entry.exists, value != NULL);
    if (value == NULL) return;
    assert_int_equal(entry.value.len, strlen(value));
    assert_memory_equal(entry.value.data, value, entry.value.len);
}

bool rig_scan_next(struct rig *r, struct scan *s, struct slice *key, struct entry *out)
{
    struct error e = {.text = ""};
    for (int i = 0; i < STEPS_MAX; i++) {
        r->is_ready = false;
        enum err result = backend_scan_next(s, key, out, &r->waiter, &e);
        if (result == OK) return key->len > 0;
        if (result != ERR_WAIT) print_error("scan: %s\n", e.text);
        assert_int_equal(result, ERR_WAIT);
        rig_wait(r);
    }
    fail_msg("a scan never came to an end");
    return false;
}

void rig_scan_text(struct rig *r, struct slice start, struct slice end, bool is_reverse,
                   struct buf *out)
{
    struct scan_range range = {
        .start = start, .end = end, .is_reverse = is_reverse, .with_values = true};
    struct scan *s = NULL;
    struct slice key;
    struct entry entry;
    assert_int_equal(backend_scan_open(r->b, &range, &s, NULL), OK);
    buf_clear(out, SIZE_MAX);
    while (rig_scan_next(r, s, &key, &entry)) {
        if (out->len > 0) buf_append_byte(out, ' ');
        buf_append(out, key.data + KEY_HEAD_BYTES, key.len - KEY_HEAD_BYTES);
    }
    buf_append_byte(out, '\0');
    backend_scan_close(s);
}

/* ---- history ---- */

static void on_changes(struct changes_request *q)
{
    struct rig *r = q->arg;
    r->is_told = true;
}

void rig_changes_begin(struct rig *r, struct changes_request *q, uint64_t after, size_t rows_max)
{
    static const uint8_t start[] = {0, 0, 1};
    static const uint8_t end[] = {0, 0, 2};
    r->is_told = false;
    q->after = after;
    q->until = 0;
    q->start = slice_of(start, sizeof start);
    q->end = slice_of(end, sizeof end);
    q->rows_max = rows_max;
    q->bytes_max = SIZE_MAX;
    q->done = on_changes;
    q->arg = r;
    arena_reset(&q->arena);
}

enum err rig_changes_end(struct rig *r, struct changes_request *q)
{
    for (int i = 0; !r->is_told; i++) {
        assert_true(i < STEPS_MAX);
        rig_step(r);
    }
    return q->result;
}

enum err rig_changes(struct rig *r, struct changes_request *q, uint64_t after, size_t rows_max)
{
    rig_changes_begin(r, q, after, rows_max);
    backend_changes(r->b, q);
    return rig_changes_end(r, q);
}

/* ---- files ---- */

const char *rig_path(const struct rig *r, const char *name)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/%s", r->dir, name);
    return path;
}

struct found {
    uint64_t *numbers;
    size_t count, max;
};

static void found_add(void *arg, const char *name)
{
    struct found *f = arg;
    uint64_t number = 0;
    if (!journal_number(name, &number)) return;
    assert_true(f->count < f->max);
    size_t at = f->count++;
    while (at > 0 && f->numbers[at - 1] > number) {
        f->numbers[at] = f->numbers[at - 1];
        at--;
    }
    f->numbers[at] = number;
}

size_t rig_segments(const struct rig *r, uint64_t *numbers, size_t max)
{
    struct found f = {.numbers = numbers, .max = max};
    assert_int_equal(dir_list(r->dir, found_add, &f, NULL), OK);
    return f.count;
}

const char *rig_segment_path(const struct rig *r, uint64_t number)
{
    char name[48];
    snprintf(name, sizeof name, "journal-%020llu.log", (unsigned long long)number);
    return rig_path(r, name);
}

uint64_t backend_entries(struct backend *b, unsigned database)
{
    struct backend_count count;
    backend_count(b, (uint16_t)database, &count);
    return count.entries;
}
