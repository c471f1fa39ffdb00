/* patches in the journal: random changes of long values, over crashes, closes and new segments;
 * what is there and what the history says is what a model says. And that there are patches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/random.h"
#include "unit/backend/local_help.h"

#define KEYS 4
#define VALUE_MAX (200u << 10)
#define COMMITS_MAX 4000
#define ALWAYS_MS 1000000000

/* What one key was given by one commit. */
struct given {
    uint64_t version;
    unsigned key;
    bool is_set;
    uint64_t hash;
};

struct test {
    struct rig rig;
    struct rng rng;
    struct buf value[KEYS]; /* as it is */
    bool exists[KEYS];
    struct given *given; /* owned */
    size_t count;
    uint64_t written; /* bytes of all values */
    struct changes_request q;
};

static struct slice key(unsigned i)
{
    return key_of(0, "k%u", i);
}

static void test_init(struct test *t, uint64_t seed, uint64_t segment_bytes)
{
    *t = (struct test){.q = {.count = 0}};
    rng_init(&t->rng, seed);
    t->given = mem_alloc(COMMITS_MAX * KEYS * sizeof *t->given);
    rig_init(&t->rig);
    t->rig.local.segment_bytes = segment_bytes;
    t->rig.local.retention_ms = ALWAYS_MS;
    t->rig.local.retention_bytes = UINT64_MAX;
    t->rig.local.long_sync_us = seed % 2 == 0 ? -1 : 0; /* -1: two syncs under way */
    arena_init(&t->q.arena, 4096);
    rig_open(&t->rig);
}

static void test_fini(struct test *t)
{
    for (unsigned i = 0; i < KEYS; i++) buf_fini(&t->value[i]);
    mem_free(t->given);
    arena_fini(&t->q.arena);
    rig_fini(&t->rig);
}

/* ---- changes ---- */

static void anew(struct test *t, struct buf *value, size_t len)
{
    buf_clear(value, SIZE_MAX);
    for (size_t i = 0; i < len; i++) buf_append_byte(value, (uint8_t)rng_next(&t->rng));
    buf_require(value);
}

static void change_bytes(struct test *t, struct buf *value)
{
    size_t at = rng_below(&t->rng, (uint32_t)value->len);
    size_t n = 1 + rng_below(&t->rng, 20);
    if (n > value->len - at) n = value->len - at;
    for (size_t i = 0; i < n; i++) value->data[at + i] = (uint8_t)rng_next(&t->rng);
}

/* Of one key; a value of the model becomes another, or none. */
static void change(struct test *t, unsigned i)
{
    struct buf *value = &t->value[i];
    uint32_t what = t->exists[i] && value->len > 100 ? rng_below(&t->rng, 40) : 39;
    t->exists[i] = true;
    if (what < 20) {
        change_bytes(t, value);
    } else if (what < 28 && value->len + 100 <= VALUE_MAX) {
        buf_append_str(value, "a line that is appended\n");
    } else if (what < 33) {
        buf_shift(value, rng_below(&t->rng, 50));
    } else if (what < 35) {
        value->len -= rng_below(&t->rng, 50);
    } else if (what == 35) {
        anew(t, value, rng_below(&t->rng, 200));
    } else if (what == 36) {
        t->exists[i] = false;
    } else if (what >= 38) {
        anew(t, value, (60u << 10) + rng_below(&t->rng, 40u << 10)); /* some are not long */
    }                                                                /* else: as it was */
}

/* A commit of one key, or several. */
static void commit(struct test *t)
{
    struct mutation items[KEYS];
    struct error e;
    uint64_t version = 0;
    size_t count = 0;
    size_t first = t->count;
    unsigned only = rng_below(&t->rng, 8);
    for (unsigned i = 0; i < KEYS; i++) {
        if (only < KEYS && i != only) continue;
        change(t, i);
        items[count++] = (struct mutation){.kind = t->exists[i] ? MUTATION_SET : MUTATION_DELETE,
                                           .key = key(i)};
        if (t->exists[i]) items[count - 1].value = buf_slice(&t->value[i]);
        t->written += t->exists[i] ? t->value[i].len : 0;
        t->given[t->count++] = (struct given){
            .key = i, .is_set = t->exists[i], .hash = hash_bytes(buf_slice(&t->value[i]))};
    }
    assert_int_equal(rig_try_commit(&t->rig, items, count, &version, &e), OK);
    for (size_t i = first; i < t->count; i++) t->given[i].version = version;
}

static void read_before(struct test *t)
{
    for (unsigned i = 0; i < KEYS; i++) {
        struct entry entry;
        rig_load(&t->rig, key(i), &entry);
        assert_int_equal(entry.exists, t->exists[i]);
        if (entry.exists) assert_true(slice_eq(entry.value, buf_slice(&t->value[i])));
    }
}

/* ---- the history ---- */

static void ask(struct test *t, uint64_t after, size_t rows_max, size_t bytes_max)
{
    rig_changes_begin(&t->rig, &t->q, after, rows_max);
    t->q.bytes_max = bytes_max;
    backend_changes(t->rig.b, &t->q);
    assert_int_equal(rig_changes_end(&t->rig, &t->q), OK);
}

/* From a commit on, in pages of some size, all that was given. */
static void follow(struct test *t, size_t from)
{
    size_t rows_max = 1 + rng_below(&t->rng, 100);
    while (from > 0 && t->given[from - 1].version == t->given[from].version) from--;
    uint64_t after = from == 0 ? 0 : t->given[from - 1].version;
    do {
        ask(t, after, rows_max, 1u << (15 + rng_below(&t->rng, 10)));
        for (size_t i = 0; i < t->q.count; i++, from++) {
            const struct changes_row *row = &t->q.rows[i];
            assert_true(from < t->count);
            assert_int_equal(row->version, t->given[from].version);
            assert_true(slice_eq(row->mutation.key, key(t->given[from].key)));
            assert_int_equal(row->mutation.kind,
                             t->given[from].is_set ? MUTATION_SET : MUTATION_DELETE);
            if (!t->given[from].is_set) continue;
            assert_int_equal(hash_bytes(row->mutation.value), t->given[from].hash);
        }
        after = t->q.next;
    } while (!t->q.is_end);
    assert_int_equal(from, t->count);
}

/* ---- tests ---- */

static uint64_t journal_written(struct test *t)
{
    struct journal_stats stats;
    rig_settle(&t->rig);
    t->rig.journal->ops->stats(t->rig.journal, &stats);
    return stats.written_bytes;
}

static void run(uint64_t seed, unsigned commits, uint64_t segment_bytes)
{
    struct test t;
    test_init(&t, seed, segment_bytes);
    for (unsigned n = 0; n < commits; n++) {
        uint32_t what = rng_below(&t.rng, 100);
        commit(&t);
        if (what >= 20) journal_submit(t.rig.journal);
        if (what < 50) read_before(&t);
        if (what < 5) rig_apply(&t.rig);
        if (what == 6) {
            rig_settle(&t.rig);
            rig_crash(&t.rig);
        }
        if (what == 7) {
            rig_close(&t.rig);
            rig_open(&t.rig);
        }
        if (what >= 8 && what < 11) {
            rig_settle(&t.rig);
            follow(&t, rng_below(&t.rng, (uint32_t)t.count));
        }
    }
    rig_settle(&t.rig);
    rig_crash(&t.rig);
    read_before(&t);
    follow(&t, 0);
    test_fini(&t);
}

static void all_is_as_it_was_given(void **state)
{
    for (uint64_t seed = 1; seed <= 3; seed++) run(seed, 200, 4u << 20);
}

static void also_in_small_segments(void **state)
{
    for (uint64_t seed = 11; seed <= 12; seed++) run(seed, 200, 900u << 10);
}

static void the_journal_has_what_changed(void **state)
{
    struct test t;
    test_init(&t, 5, 64u << 20);
    t.exists[0] = true;
    anew(&t, &t.value[0], VALUE_MAX);
    (void)rig_set(&t.rig, key(0), buf_slice(&t.value[0]));
    uint64_t before = journal_written(&t);
    for (unsigned n = 0; n < 500; n++) {
        change_bytes(&t, &t.value[0]);
        (void)rig_set(&t.rig, key(0), buf_slice(&t.value[0]));
    }
    assert_in_range(journal_written(&t) - before, 500 * 32, 500 * 300);
    rig_crash(&t.rig);
    read_before(&t);
    test_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_as_it_was_given),
        cmocka_unit_test(also_in_small_segments),
        cmocka_unit_test(the_journal_has_what_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
