/* faults: a fixed little workload in which the 1st, 2nd, ... nth call of a kind fails, until none
 * is hit. After each: every answer was right or a listed error, and when the fault is over a start
 * finds every acknowledged commit, each whole, none without those before it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "unit/backend/local_help.h"

#define START_MS 1700000000000
#define COMMITS 40
#define BEFORE 5 /* commits in the directory before the faults begin */

struct work {
    struct rig rig;
    int64_t now_ms;
    uint64_t versions[COMMITS]; /* 0 = refused */
    unsigned done;              /* commits made */
    unsigned *acknowledged;     /* of these; in memory shared with a child */
};

static void expect_listed(enum err code)
{
    switch (code) {
    case ERR_IO:
    case ERR_DISK_FULL:
    case ERR_NOMEM:
    case ERR_CORRUPT: /* a read of SQLite that comes back short */
    case ERR_TRYAGAIN: return;
    default: fail_msg("%d is no error that a fault explains", (int)code);
    }
}

static void work_init(struct work *w, unsigned *acknowledged)
{
    *w = (struct work){.now_ms = START_MS, .acknowledged = acknowledged};
    *acknowledged = 0;
    clock_set_fake_ms(w->now_ms);
    rig_init(&w->rig);
    w->rig.local.segment_bytes = 16 * 1024;
    w->rig.options.cache_bytes = 4096;
}

static void note_acknowledged(struct work *w)
{
    while (*w->acknowledged < w->done && w->versions[*w->acknowledged] <= w->rig.durable) {
        ++*w->acknowledged;
    }
}

static void steps(struct work *w, unsigned count)
{
    for (unsigned i = 0; i < count && !w->rig.is_fatal; i++) {
        clock_set_fake_ms(w->now_ms += 20);
        rig_step(&w->rig);
    }
    note_acknowledged(w);
}

/* Commit i writes the key i, some padding, and `last`; it deletes what commit i-1 had as `only`. */
static enum err commit_one(struct work *w, unsigned i)
{
    static uint8_t padding[1500];
    char text[16];
    snprintf(text, sizeof text, "%u", i);
    struct mutation mu[4] = {
        {.kind = MUTATION_SET, .key = key_of(0, "%03u", i), .value = slice_str(text)},
        {.kind = MUTATION_SET, .key = key_of(0, "last"), .value = slice_str(text)},
        {.kind = MUTATION_DELETE, .key = key_of(1, "%03u", i - 1)},
        {.kind = MUTATION_SET, .key = key_of(1, "%03u", i), .value = slice_of(padding, 1500)}};
    struct batch batch = {.items = mu, .count = 4, .time_ms = w->now_ms};
    enum err r = ERR_WAIT;
    for (unsigned turns = 0; r == ERR_WAIT && turns < 200; turns++) {
        struct error e = {.text = ""};
        waiter_cancel(&w->rig.waiter);
        r = backend_commit(w->rig.b, &batch, &w->versions[i], &w->rig.waiter, &e);
        if (r == ERR_WAIT || r == ERR_DISK_FULL) {
            r = ERR_WAIT;
            steps(w, 10);
            if (w->rig.is_fatal) return ERR_IO;
        }
    }
    waiter_cancel(&w->rig.waiter);
    if (r != OK) expect_listed(r);
    return r;
}

/* A load says the truth of the newest commit, or an error. */
static void check_load(struct work *w, unsigned i)
{
    struct entry entry;
    struct error e;
    enum err r = ERR_WAIT;
    for (unsigned turns = 0; r == ERR_WAIT && turns < 50; turns++) {
        waiter_cancel(&w->rig.waiter);
        r = backend_load(w->rig.b, key_of(1, "%03u", i), &entry, &w->rig.waiter, &e);
        if (r == ERR_WAIT) steps(w, 1);
        if (w->rig.is_fatal) break;
    }
    waiter_cancel(&w->rig.waiter);
    if (w->rig.is_fatal) return;
    if (r != OK) {
        expect_listed(r);
        return;
    }
    assert_int_equal(entry.exists, i + 1 == w->done);
    if (entry.exists) assert_int_equal(entry.value.len, 1500);
}

/* Scans the data: all of it in order, or an error. */
static void check_scan(struct work *w, bool is_paused)
{
    struct scan_range range = {.start = key_low(0), .end = key_high(0), .with_values = true};
    struct scan *s = NULL;
    struct error e;
    struct slice key;
    struct entry entry;
    unsigned rows = 0;
    enum err r = backend_scan_open(w->rig.b, &range, &s, &e);
    if (r == OK && is_paused) r = backend_scan_pause(s, &e);
    for (unsigned turns = 0; r == OK && turns < 1000; turns++) {
        r = backend_scan_next(s, &key, &entry, &w->rig.waiter, &e);
        if (r == ERR_WAIT) {
            steps(w, 1);
            waiter_cancel(&w->rig.waiter);
            if (w->rig.is_fatal) break;
            r = OK;
            continue;
        }
        if (r != OK || key.len == 0) break;
        struct slice want = rows < w->done ? key_of(0, "%03u", rows) : key_of(0, "last");
        assert_true(slice_eq(key, want));
        rows++;
    }
    if (s != NULL) backend_scan_close(s);
    if (w->rig.is_fatal) return;
    if (r == OK) {
        assert_int_equal(rows, w->done + (w->done > 0));
    } else {
        expect_listed(r);
    }
}

static bool try_open(struct work *w)
{
    struct error e = {.text = ""};
    enum err r = rig_try_open(&w->rig, &e);
    if (r == OK) return true;
    assert_true(e.text[0] != '\0');
    expect_listed(r);
    return false;
}

/* Ends early when the process would have. */
static void workload(struct work *w)
{
    struct error e = {.text = ""};
    if (!try_open(w)) return;
    for (unsigned i = w->done; i < COMMITS; i++) {
        if (commit_one(w, i) != OK) return;
        w->done++;
        if (i % 3 == 0) steps(w, 3);
        if (i % 10 == 4) check_load(w, i / 2);
        if (i % 10 == 6) check_scan(w, i > 20);
        if (i == 15 || i == 28) {
            pipeline_freeze(pipeline_of(w->rig.b));
            steps(w, 30);
        }
        if (w->rig.is_fatal) return;
    }
    steps(w, 20);
    if (w->rig.is_fatal) return;
    check_load(w, 3);
    check_load(w, w->done - 1);
    check_scan(w, false);
    check_scan(w, true);
    if (w->rig.is_fatal) return;
    struct backend *b = w->rig.b;
    w->rig.b = NULL;
    enum err r = backend_close(b, &e);
    if (r != OK) expect_listed(r);
    if (!try_open(w)) return;
    check_load(w, w->done - 1);
}

/* Without faults: a prefix of the commits is there, with all acknowledged ones. */
static void check_recovered(struct work *w)
{
    struct entry entry;
    rig_abandon(&w->rig);
    rig_open(&w->rig);
    rig_load(&w->rig, key_of(0, "last"), &entry);
    unsigned found = 0;
    if (entry.exists) {
        char text[16];
        snprintf(text, sizeof text, "%.*s", (int)entry.value.len, (const char *)entry.value.data);
        found = (unsigned)strtoul(text, NULL, 10) + 1;
    }
    assert_in_range(found, *w->acknowledged, COMMITS);
    for (unsigned i = 0; i < COMMITS; i++) {
        rig_load(&w->rig, key_of(0, "%03u", i), &entry);
        assert_int_equal(entry.exists, i < found);
        rig_load(&w->rig, key_of(1, "%03u", i), &entry);
        assert_int_equal(entry.exists, i + 1 == found);
    }
    rig_apply(&w->rig);
    assert_int_equal(backend_entries(w->rig.b, 0), found + (found > 0));
    assert_int_equal(backend_entries(w->rig.b, 1), found > 0);
    rig_close(&w->rig);
}

static void prepare(struct work *w, unsigned *acknowledged)
{
    work_init(w, acknowledged);
    rig_open(&w->rig);
    for (; w->done < BEFORE; w->done++) assert_int_equal(commit_one(w, w->done), OK);
    steps(w, 20);
    assert_int_equal(*acknowledged, BEFORE);
    rig_abandon(&w->rig);
}

static void fail_each_call(const char *prefix, bool is_sticky, unsigned stride)
{
    bool was_hit = true;
    unsigned hits = 0;
    for (unsigned nth = 1; was_hit; nth += stride) {
        struct work w;
        unsigned acknowledged = 0;
        prepare(&w, &acknowledged);
        fault_arm(prefix, nth, is_sticky);
        workload(&w);
        was_hit = fault_was_hit();
        hits += was_hit;
        fault_arm("", 0, false);
        check_recovered(&w);
        if (!was_hit) assert_int_equal(acknowledged, COMMITS);
        rig_fini(&w.rig);
    }
    print_message("%s: %u calls failed\n", prefix, hits);
    assert_true(hits > 3);
}

static void any_one_file_operation_may_fail(void **state)
{
    fail_each_call("file.", false, 1);
}

static void file_operations_may_fail_for_good(void **state)
{
    fail_each_call("file.", true, 5);
}

static void any_one_operation_of_sqlite_may_fail(void **state)
{
    fail_each_call("vfs.write", false, 3);
    fail_each_call("vfs.sync", false, 1);
    fail_each_call("vfs.read", false, 1);
}

static void operations_of_sqlite_may_fail_for_good(void **state)
{
    fail_each_call("vfs.write", true, 11);
    fail_each_call("vfs.sync", true, 2);
    fail_each_call("vfs.read", true, 2);
}

/* In a child, because a lost small allocation ends the process: that must be with a message and
 * never with a wrong answer or a lost commit. */
static void any_one_allocation_may_fail(void **state)
{
    unsigned *acknowledged = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                  -1, 0);
    assert_true(acknowledged != MAP_FAILED);
    unsigned aborted = 0;
    unsigned answered = 0;
    for (unsigned nth = 1;; nth++) {
        struct work w;
        prepare(&w, acknowledged);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            fault_arm("mem.try", nth, false);
            workload(&w);
            _exit(fault_was_hit() ? 10 : 11);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        bool was_aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        assert_true(was_aborted || code == 10 || code == 11);
        aborted += was_aborted;
        answered += code == 10;
        check_recovered(&w);
        rig_fini(&w.rig);
        if (code == 11) break;
    }
    print_message("allocations: %u aborted, %u answered\n", aborted, answered);
    assert_true(aborted + answered > 5);
    munmap(acknowledged, 4096);
}

/* ---- disk full ---- */

static void a_start_on_a_full_disk_reads_and_writes_when_there_is_space(void **state)
{
    struct rig r;
    struct error e = {.text = ""};
    uint64_t version = 0;
    clock_set_fake_ms(START_MS);
    rig_init(&r);
    r.local.retention_ms = 3600000; /* the file that is there is not used again */
    r.local.retention_bytes = 1 << 20;
    rig_open(&r);
    uint64_t before = rig_set(&r, key_of(0, "a"), slice_str("1"));
    rig_settle(&r);
    rig_abandon(&r);
    fault_arm("file.reserve", 1, true);
    rig_open(&r);
    rig_expect(&r, key_of(0, "a"), "1");
    struct mutation mu = {.kind = MUTATION_SET, .key = key_of(0, "b"), .value = slice_str("2")};
    struct batch batch = {.items = &mu, .count = 1, .time_ms = START_MS};
    for (int i = 0; i < 10; i++) rig_step(&r);
    assert_int_equal(backend_commit(r.b, &batch, &version, &r.waiter, &e), ERR_DISK_FULL);
    assert_non_null(strstr(e.text, "disk full"));
    rig_crash(&r); /* and again, still full */
    rig_expect(&r, key_of(0, "a"), "1");
    fault_arm("", 0, false);
    clock_set_fake_ms(START_MS + 1100);
    for (int i = 0; i < 10; i++) rig_step(&r);
    assert_true(rig_set(&r, key_of(0, "b"), slice_str("2")) > before);
    rig_settle(&r);
    rig_crash(&r);
    rig_expect(&r, key_of(0, "a"), "1");
    rig_expect(&r, key_of(0, "b"), "2");
    rig_close(&r);
    rig_fini(&r);
    clock_set_fake_ms(0);
}

static void a_full_disk_refuses_writes_and_nothing_else_and_passes(void **state)
{
    struct rig r;
    struct error e = {.text = ""};
    struct backend_stats stats;
    static uint8_t value[5000];
    int64_t now_ms = START_MS;
    clock_set_fake_ms(now_ms);
    rig_init(&r);
    rig_open(&r);
    rig_set(&r, key_of(0, "a"), slice_str("1"));
    for (int i = 0; i < 10; i++) rig_step(&r);
    fault_arm("file.reserve", 1, true);
    enum err result = OK;
    unsigned writes = 0;
    while (result == OK || result == ERR_WAIT) {
        struct mutation mu = {
            .kind = MUTATION_SET, .key = key_of(0, "%03u", writes), .value = slice_of(value, 5000)};
        struct batch batch = {.items = &mu, .count = 1, .time_ms = now_ms};
        uint64_t version = 0;
        waiter_cancel(&r.waiter);
        result = backend_commit(r.b, &batch, &version, &r.waiter, &e);
        writes += result == OK;
        assert_true(writes < 100);
        rig_step(&r);
    }
    assert_int_equal(result, ERR_DISK_FULL);
    assert_non_null(strstr(e.text, "disk full"));
    assert_true(writes > 10);
    rig_settle(&r);
    backend_stats(r.b, &stats);
    assert_true(stats.is_disk_full);
    rig_expect(&r, key_of(0, "a"), "1");
    struct entry entry;
    rig_load(&r, key_of(0, "%03u", writes - 1), &entry);
    assert_true(entry.exists);
    /* It is tried again once a second; as long as it fails nothing changes. */
    clock_set_fake_ms(now_ms += 1100);
    for (int i = 0; i < 10; i++) rig_step(&r);
    backend_stats(r.b, &stats);
    assert_true(stats.is_disk_full);
    assert_true(fault_calls() >= 2);
    fault_arm("", 0, false);
    clock_set_fake_ms(now_ms += 1100);
    for (int i = 0; i < 10; i++) rig_step(&r);
    backend_stats(r.b, &stats);
    assert_false(stats.is_disk_full);
    rig_set(&r, key_of(0, "b"), slice_of(value, 5000));
    rig_settle(&r);
    rig_crash(&r);
    rig_load(&r, key_of(0, "b"), &entry);
    assert_true(entry.exists);
    rig_close(&r);
    rig_fini(&r);
}

static void a_store_that_cannot_write_keeps_the_data_and_goes_on_later(void **state)
{
    struct rig r;
    struct backend_stats stats;
    struct error e;
    int64_t now_ms = START_MS;
    clock_set_fake_ms(now_ms);
    rig_init(&r);
    rig_open(&r);
    for (int i = 0; i < 50; i++) rig_set(&r, key_of(0, "%02d", i), slice_str("x"));
    rig_settle(&r);
    uint64_t written = backend_version_newest(r.b);
    assert_int_equal(backend_settle(r.b, written, &r.waiter, &e), ERR_WAIT);
    fault_arm("vfs.write", 1, true);
    pipeline_freeze(pipeline_of(r.b));
    for (int i = 0; i < 50; i++) {
        clock_set_fake_ms(now_ms += 1000);
        rig_step(&r);
        rig_expect(&r, key_of(0, "%02d", i), "x");
    }
    backend_stats(r.b, &stats);
    assert_true(stats.is_store_failing);
    assert_int_equal(stats.applies, 0);
    assert_null(r.waiter.next); /* nothing waits for what does not come */
    assert_int_equal(backend_settle(r.b, written, &r.waiter, &e), ERR_DISK_FULL);
    assert_non_null(strstr(e.text, "disk full"));
    rig_set(&r, key_of(0, "more"), slice_str("y"));
    fault_arm("", 0, false);
    clock_set_fake_ms(now_ms += 6000);
    rig_apply(&r);
    backend_stats(r.b, &stats);
    assert_false(stats.is_store_failing);
    assert_int_equal(backend_settle(r.b, written, &r.waiter, &e), OK);
    assert_int_equal(backend_entries(r.b, 0), 51);
    rig_close(&r);
    rig_fini(&r);
}

/* A write that failed is done again: nothing of what is stored is damaged. */
static void a_failed_write_is_no_damage(void **state)
{
    struct rig r;
    struct backend_stats stats;
    int64_t now_ms = START_MS;
    clock_set_fake_ms(now_ms);
    rig_init(&r);
    rig_open(&r);
    for (int i = 0; i < 50; i++) rig_set(&r, key_of(0, "%02d", i), slice_str("x"));
    rig_settle(&r);
    fault_arm("vfs.sync", 1, true);
    pipeline_freeze(pipeline_of(r.b));
    for (int i = 0; i < 10; i++) {
        clock_set_fake_ms(now_ms += 1000);
        rig_step(&r);
    }
    backend_stats(r.b, &stats);
    assert_true(stats.is_store_failing);
    assert_int_equal(pipeline_of(r.b)->apply.error.code, ERR_IO);
    fault_arm("", 0, false);
    clock_set_fake_ms(now_ms += 6000);
    rig_apply(&r);
    backend_stats(r.b, &stats);
    assert_false(stats.is_store_failing);
    assert_int_equal(stats.damaged_reads, 0);
    rig_close(&r);
    rig_fini(&r);
}

static void after_a_failed_sync_nothing_is_acknowledged_and_a_close_ends(void **state)
{
    for (int is_early = 0; is_early < 2; is_early++) {
        struct rig r;
        struct error e = {.text = ""};
        rig_init(&r);
        rig_open(&r);
        rig_set(&r, key_of(0, "a"), slice_str("1"));
        rig_settle(&r);
        for (int i = 0; i < 10; i++) rig_step(&r); /* spares are ready, nothing else syncs */
        uint64_t durable = r.durable;
        uint64_t lost = rig_set(&r, key_of(0, "b"), slice_str("1"));
        fault_arm("file.sync", 1, false);
        for (int i = 0; i < 10 && is_early; i++) rig_step(&r);
        assert_int_equal(r.is_fatal, is_early);
        struct backend *b = r.b;
        if (is_early) {
            struct mutation mu = {.kind = MUTATION_DELETE, .key = key_of(0, "a")};
            struct batch batch = {.items = &mu, .count = 1};
            assert_int_equal(backend_commit(b, &batch, &lost, &r.waiter, &e), ERR_IO);
        }
        r.b = NULL;
        assert_int_equal(backend_close(b, &e), ERR_IO);
        assert_true(r.is_fatal);
        assert_non_null(strstr(r.fatal.text, "sync"));
        assert_int_equal(r.durable, durable);
        fault_arm("", 0, false);
        rig_open(&r);
        rig_expect(&r, key_of(0, "a"), "1");
        assert_true(rig_set(&r, key_of(0, "c"), slice_str("1")) > lost);
        rig_close(&r);
        rig_fini(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_failed_sync_nothing_is_acknowledged_and_a_close_ends),
        cmocka_unit_test(a_start_on_a_full_disk_reads_and_writes_when_there_is_space),
        cmocka_unit_test(a_full_disk_refuses_writes_and_nothing_else_and_passes),
        cmocka_unit_test(a_store_that_cannot_write_keeps_the_data_and_goes_on_later),
        cmocka_unit_test(a_failed_write_is_no_damage),
        cmocka_unit_test(any_one_file_operation_may_fail),
        cmocka_unit_test(file_operations_may_fail_for_good),
        cmocka_unit_test(any_one_operation_of_sqlite_may_fail),
        cmocka_unit_test(operations_of_sqlite_may_fail_for_good),
        cmocka_unit_test(any_one_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
