/* PostgreSQL: the store by itself: snapshots of pinned readers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/postgres/postgres.h"
#include "base/htab.h"
#include "unit/backend/postgres/pg_server.h"

struct bench {
    struct term *term;
    struct store *store;
    struct store_reader *reader;
    uint64_t version;
};

static struct slice key(void)
{
    static const uint8_t bytes[] = {KEY_HEAD(0, STORE_SPACE_COUNTED), 'k'};
    return slice_of(bytes, sizeof bytes);
}

/* One memtable with the key, applied. */
static void apply(struct bench *b, const char *value)
{
    struct store_progress p;
    struct error e;
    struct memtable *m = memtable_new(0);
    struct mutation mu = {.kind = MUTATION_SET, .key = key(), .value = slice_str(value)};
    memtable_put(m, hash_bytes(key()), &mu, ++b->version);
    memtable_move(m, MEM_FROZEN);
    assert_int_equal(store_apply(b->store, m, &p, &e), OK);
    assert_int_equal(p.applied, b->version);
    store_progress_fini(&p);
    assert_true(memtable_unref(m));
    memtable_free(m);
}

/* The value that the reader finds. */
static void expect(struct bench *b, const char *value)
{
    struct store_chunk chunk;
    struct error e;
    static const uint8_t end[] = {KEY_HEAD(0, STORE_SPACE_COUNTED + 1)};
    struct store_fetch f = {.start = key(),
                            .end = slice_of(end, sizeof end),
                            .with_values = true,
                            .may_wait = true,
                            .rows_max = 10};
    store_chunk_init(&chunk);
    assert_int_equal(store_fetch(b->reader, &f, &chunk, &e), OK);
    assert_int_equal(chunk.count, 1);
    assert_true(slice_eq(chunk.rows[0].value, slice_str(value)));
    assert_true(chunk.is_last);
    store_chunk_fini(&chunk);
}

static void init(struct bench *b)
{
    static int64_t id;
    struct error e;
    if (!pg_server_can()) skip();
    *b = (struct bench){0};
    struct term_options o = {.url = pg_shared.url,
                             .id = ++id,
                             .name = "test",
                             .address = "",
                             .lease_ms = 10000,
                             .call_ms = 10000,
                             .durability = TERM_PROVIDER};
    assert_int_equal(term_open(&o, &b->term, &e), OK);
    assert_int_equal(term_try(b->term, &e), OK);
    struct pg_store_options s = {.term = b->term};
    assert_int_equal(pg_store_open(&s, &b->store, &e), OK);
    assert_int_equal(store_reader_open(b->store, &b->reader, &e), OK);
}

static void fini(struct bench *b)
{
    store_reader_close(b->reader);
    store_close(b->store);
    term_free(b->term);
}

static void a_pinned_reader_that_has_not_read_yet_sees_what_was_there(void **state)
{
    struct bench b;
    struct error e;
    (void)state;
    init(&b);
    apply(&b, "one");
    assert_int_equal(store_pin(b.reader, &e), OK);
    apply(&b, "two");
    apply(&b, "three");
    expect(&b, "one");
    apply(&b, "four");
    expect(&b, "one");
    store_unpin(b.reader);
    expect(&b, "four");
    assert_int_equal(store_pin(b.reader, &e), OK);
    expect(&b, "four");
    apply(&b, "five");
    expect(&b, "four");
    store_unpin(b.reader);
    fini(&b);
}

static void a_snapshot_that_is_lost_is_not_replaced(void **state)
{
    struct bench b;
    struct error e;
    struct store_chunk chunk;
    struct store_fetch f = {
        .start = key(), .end = key(), .with_values = true, .may_wait = true, .rows_max = 1};
    (void)state;
    init(&b);
    apply(&b, "one");
    assert_int_equal(store_pin(b.reader, &e), OK);
    expect(&b, "one");
    apply(&b, "two");
    pg_server_kill(&pg_shared);
    pg_server_start(&pg_shared);
    store_chunk_init(&chunk);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_fetch(b.reader, &f, &chunk, &e), ERR_TRYAGAIN);
    }
    store_chunk_fini(&chunk);
    store_unpin(b.reader);
    expect(&b, "two");
    apply(&b, "three");
    expect(&b, "three");
    fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pinned_reader_that_has_not_read_yet_sees_what_was_there),
        cmocka_unit_test(a_snapshot_that_is_lost_is_not_replaced),
    };
    return cmocka_run_group_tests(tests, pg_shared_start, pg_shared_stop);
}
