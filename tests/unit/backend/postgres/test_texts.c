/* PostgreSQL: text indexes, in a file of this machine: it is gone on with only when it says what is
 * in PostgreSQL; else it is filled in again, and no search answers before that is done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/local/local.h"
#include "backend/postgres/pg_store_int.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/htab.h"
#include "filter/path.h"
#include "search/text.h"
#include "search/text_ops.h"
#include "unit/backend/postgres/pg_server.h"

#define MANY 2500 /* more than one slice of the filling */

static char dir[] = "/tmp/tupled-texts.XXXXXX";
static char path[64];

struct bench {
    int64_t id;
    struct term *term;
    struct store *store;
    struct store_reader *reader;
    struct memtable *m; /* to be applied next */
    uint64_t version;
    bool is_filling;
};

static int start(void **state)
{
    (void)pg_shared_start(state);
    if (mkdtemp(dir) == NULL) return 1;
    snprintf(path, sizeof path, "%s/texts.db", dir);
    return 0;
}

static void remove_one(void *arg, const char *name)
{
    char file[200];
    (void)arg;
    snprintf(file, sizeof file, "%s/%s", dir, name);
    (void)remove(file);
}

static void empty_dir(void)
{
    struct error e;
    assert_int_equal(dir_list(dir, remove_one, NULL, &e), OK);
}

static int stop(void **state)
{
    (void)pg_shared_stop(state);
    empty_dir();
    (void)rmdir(dir);
    return 0;
}

static void lead(struct bench *b)
{
    struct error e;
    struct store_progress p;
    struct term_options o = {.url = pg_shared.url,
                             .id = b->id,
                             .name = "test",
                             .address = "",
                             .lease_ms = 10000,
                             .call_ms = 10000,
                             .durability = TERM_PROVIDER};
    assert_int_equal(term_open(&o, &b->term, &e), OK);
    assert_int_equal(term_try(b->term, &e), OK);
    struct pg_store_options s = {
        .term = b->term, .nearby = &local_nearby, .text_ops = &search_text_ops, .texts_path = path};
    assert_int_equal(pg_store_open(&s, &b->store, &e), OK);
    assert_int_equal(store_reader_open(b->store, &b->reader, &e), OK);
    b->store->ops->state(b->store, &p);
    b->is_filling = p.is_filling;
    store_progress_fini(&p);
}

static void leave(struct bench *b)
{
    store_reader_close(b->reader);
    store_close(b->store);
    term_hand_over(b->term);
    term_free(b->term);
}

static void init(struct bench *b)
{
    static int64_t id = 2000;
    if (!pg_server_can()) skip();
    empty_dir();
    *b = (struct bench){.id = ++id, .m = memtable_new(0)};
    lead(b);
}

static void fini(struct bench *b)
{
    leave(b);
    memtable_free(b->m);
}

static struct slice key(uint8_t space, unsigned n)
{
    static uint8_t bytes[KEY_HEAD_BYTES + 4];
    (void)key_head_write(bytes, 0, space);
    put_u32(bytes + KEY_HEAD_BYTES, n);
    return slice_of(bytes, sizeof bytes);
}

static void put(struct bench *b, struct slice k, const struct slice *value)
{
    struct mutation mu = {.kind = value != NULL ? MUTATION_SET : MUTATION_DELETE, .key = k};
    if (value != NULL) mu.value = *value;
    (void)memtable_database(b->m, 0);
    memtable_put(b->m, hash_bytes(k), &mu, ++b->version);
}

/* NULL = deleted. A word of less than 32 bytes. */
static void put_word(struct bench *b, unsigned n, const char *word)
{
    char text[40];
    int len = snprintf(text, sizeof text, "%c%s", word == NULL ? 0 : (int)(0xa0 + strlen(word)),
                       word == NULL ? "" : word);
    struct slice value = slice_of(text, (size_t)len);
    put(b, key(STORE_SPACE_COUNTED, n), word == NULL ? NULL : &value);
}

/* An index of all entries. */
static void define(struct bench *b, unsigned id)
{
    struct arena arena;
    struct buf spec = {0};
    struct text_spec s = {.path_count = 1};
    struct error e;
    arena_init(&arena, 1024);
    assert_int_equal(path_compile(slice_str("$"), &arena, &s.paths[0], &e), OK);
    text_spec_write(&s, &spec);
    struct slice value = buf_slice(&spec);
    put(b, key(BACKEND_SPACE_TEXT, id), &value);
    buf_fini(&spec);
    arena_fini(&arena);
}

static enum err try_apply(struct bench *b)
{
    struct store_progress p;
    struct error e;
    if (b->m->state == MEM_ACTIVE) memtable_move(b->m, MEM_FROZEN);
    enum err r = store_apply(b->store, b->m, &p, &e);
    b->is_filling = p.is_filling;
    store_progress_fini(&p);
    return r;
}

static void apply(struct bench *b)
{
    assert_int_equal(try_apply(b), OK);
    memtable_free(b->m);
    b->m = memtable_new(0);
}

static void fill(struct bench *b)
{
    struct error e;
    for (int i = 0; i < 100 && b->is_filling; i++) {
        if (store_fill(b->store, &b->is_filling, &e) != OK) fail_msg("%s", e.text);
    }
    assert_false(b->is_filling);
}

static enum err search(struct bench *b, unsigned id, const char *word, size_t *count,
                       struct error *e)
{
    struct text_request q = {.id = id, .limit = 100000, .bytes_max = SIZE_MAX, .column_count = 1};
    q.expression = slice_str(word);
    arena_init(&q.arena, 4096);
    assert_int_equal(store_pin(b->reader, e), OK);
    b->reader->ops->search(b->reader, &q, clock_mono_us() + 60000000);
    store_unpin(b->reader);
    *count = q.count;
    if (q.result != OK) *e = q.error;
    arena_fini(&q.arena);
    return q.result;
}

static void finds(struct bench *b, unsigned id, const char *word, size_t wanted)
{
    struct error e;
    size_t count = 0;
    if (search(b, id, word, &count, &e) != OK) fail_msg("%s: %s", word, e.text);
    assert_int_equal(count, wanted);
}

static void refuses(struct bench *b, unsigned id, enum err wanted, const char *text)
{
    struct error e;
    size_t count = 0;
    assert_int_equal(search(b, id, "any", &count, &e), wanted);
    if (strstr(e.text, text) == NULL) fail_msg("it says: %s", e.text);
}

static void run_sql(struct bench *b, const char *format, unsigned long long n)
{
    struct error e;
    char sql[400];
    struct pg *c = term_connect(b->term, "test", TERM_WRITE);
    snprintf(sql, sizeof sql, format, (long long)b->id, n);
    if (pg_script(c, sql, &e) != OK) fail_msg("%s", e.text);
    pg_free(c);
}

/* ---- one leader ------------------------------------------------------------------------------ */

static void what_is_applied_is_found(void **state)
{
    struct bench b;
    (void)state;
    init(&b);
    put_word(&b, 1, "old");
    apply(&b);
    assert_false(file_exists(path)); /* it is not needed yet */
    define(&b, 7);
    put_word(&b, 2, "new");
    apply(&b);
    assert_false(b.is_filling); /* there is little */
    finds(&b, 7, "old", 1);
    finds(&b, 7, "new", 1);
    put_word(&b, 1, "new");
    put_word(&b, 3, "new");
    put_word(&b, 2, NULL);
    apply(&b);
    finds(&b, 7, "old", 0);
    finds(&b, 7, "new", 2);
    define(&b, 8); /* another one */
    apply(&b);
    finds(&b, 8, "new", 2);
    put(&b, key(BACKEND_SPACE_TEXT, 7), NULL);
    apply(&b);
    put_word(&b, 4, "new");
    apply(&b);
    finds(&b, 8, "new", 3);
    fini(&b);
}

static void much(struct bench *b, const char *word)
{
    for (unsigned i = 0; i < MANY; i++) put_word(b, 100 + i, word);
}

static void an_index_is_filled_in_while_others_write(void **state)
{
    struct bench b;
    (void)state;
    init(&b);
    much(&b, "many");
    apply(&b);
    define(&b, 1);
    apply(&b);
    assert_true(b.is_filling);
    refuses(&b, 1, ERR_INDEXING, "40"); /* of a hundred */
    put_word(&b, 100, "first");
    put_word(&b, 100 + MANY - 1, NULL);
    put_word(&b, 50000, "last");
    apply(&b);
    fill(&b);
    finds(&b, 1, "many", MANY - 2);
    finds(&b, 1, "first", 1);
    finds(&b, 1, "last", 1);
    fini(&b);
}

static void what_was_flushed_is_not_filled_in(void **state)
{
    struct bench b;
    (void)state;
    init(&b);
    much(&b, "many");
    define(&b, 1);
    apply(&b);
    fill(&b);
    finds(&b, 1, "many", MANY);
    memtable_flush(b.m, 0, ++b.version);
    define(&b, 1);
    put_word(&b, 1, "new");
    apply(&b);
    fill(&b);
    finds(&b, 1, "many", 0);
    finds(&b, 1, "new", 1);
    fini(&b);
}

static void what_is_pinned_stays_as_it_was(void **state)
{
    struct bench b;
    struct error e;
    (void)state;
    init(&b);
    define(&b, 1);
    put_word(&b, 1, "old");
    apply(&b);
    assert_int_equal(store_pin(b.reader, &e), OK);
    put_word(&b, 1, "new");
    apply(&b);
    struct text_request q = {
        .id = 1, .limit = 10, .bytes_max = SIZE_MAX, .expression = slice_str("old")};
    arena_init(&q.arena, 4096);
    b.reader->ops->search(b.reader, &q, clock_mono_us() + 60000000);
    assert_int_equal(q.result, OK);
    assert_int_equal(q.count, 1);
    arena_fini(&q.arena);
    store_unpin(b.reader);
    finds(&b, 1, "new", 1);
    fini(&b);
}

/* ---- one leader after another ---------------------------------------------------------------- */

static void begin_two(struct bench *b)
{
    init(b);
    much(b, "many");
    define(b, 1);
    apply(b);
    fill(b);
    put_word(b, 1, "one");
    apply(b);
    leave(b);
}

static void a_file_that_is_current_is_gone_on_with(void **state)
{
    struct bench b;
    (void)state;
    begin_two(&b);
    lead(&b);
    assert_false(b.is_filling);
    finds(&b, 1, "many", MANY);
    put_word(&b, 1, "two");
    apply(&b);
    finds(&b, 1, "one", 0);
    finds(&b, 1, "two", 1);
    fini(&b);
}

/* It is filled in, with all that there is. */
static void expect_anew(struct bench *b)
{
    assert_true(b->is_filling);
    refuses(b, 1, ERR_INDEXING, "0");
    fill(b);
    finds(b, 1, "many", MANY);
    fini(b);
}

/* Another node, whose file is elsewhere. */
static void a_file_that_lacks_something_is_not(void **state)
{
    struct bench b;
    (void)state;
    begin_two(&b);
    path[strlen(path) - 1]++;
    lead(&b);
    fill(&b);
    put_word(&b, 1, "two");
    apply(&b);
    leave(&b);
    path[strlen(path) - 1]--;
    lead(&b);
    refuses(&b, 1, ERR_INDEXING, "0");
    fill(&b);
    finds(&b, 1, "two", 1);
    finds(&b, 1, "one", 0);
    finds(&b, 1, "many", MANY);
    fini(&b);
}

/* What it has more is in the journal, and comes again. */
static void a_file_that_has_more_is_if_the_journal_has_it(void **state)
{
    struct bench b;
    (void)state;
    begin_two(&b);
    lead(&b);
    uint64_t epoch = term_epoch(b.term);
    put_word(&b, 1, "two");
    apply(&b);
    run_sql(&b, "UPDATE tupled_applied SET applied = applied - 1 WHERE id = %lld + 0 * %llu", 0);
    run_sql(&b,
            "INSERT INTO tupled_log SELECT %lld, 1, 0, 1, %llu, applied, applied + 1, 0, 0, '' "
            "FROM tupled_applied WHERE id = (SELECT max(id) FROM tupled_applied)",
            epoch);
    leave(&b);
    lead(&b);
    assert_false(b.is_filling);
    finds(&b, 1, "many", MANY);
    fini(&b);
}

static void a_file_that_has_what_was_lost_is_not(void **state)
{
    struct bench b;
    (void)state;
    begin_two(&b);
    lead(&b);
    uint64_t epoch = term_epoch(b.term);
    put_word(&b, 1, "two");
    apply(&b);
    run_sql(&b, "UPDATE tupled_applied SET applied = applied - 1 WHERE id = %lld + 0 * %llu", 0);
    /* A batch of another leader, whose versions go on above. */
    run_sql(&b,
            "INSERT INTO tupled_log SELECT %lld, 1, 0, 1, %llu, applied, applied + 1000, 0, 0, '' "
            "FROM tupled_applied WHERE id = (SELECT max(id) FROM tupled_applied)",
            epoch + 1);
    leave(&b);
    lead(&b);
    expect_anew(&b);
}

static void a_file_of_other_tables_is_not(void **state)
{
    struct bench b;
    (void)state;
    begin_two(&b);
    lead(&b);
    assert_false(b.is_filling);
    run_sql(&b, "INSERT INTO tupled_secret VALUES (%lld, 'new' || %llu::text::bytea)", 1);
    leave(&b);
    lead(&b);
    expect_anew(&b);
}

static void a_file_of_another_timeline_is_not(void **state)
{
    struct bench b;
    struct error e;
    (void)state;
    begin_two(&b);
    lead(&b);
    /* As it will be found, by a leader that finds another one. */
    run_sql(&b, "UPDATE tupled_leader SET timeline = 'other' WHERE id = %lld + 0 * %llu", 0);
    struct pg_store *s = pg_store_of(b.store);
    pg_texts_close(s);
    s->texts = (struct pg_texts){0};
    assert_int_equal(pg_texts_open(s, path, &e), OK);
    b.is_filling = s->texts.is_filling;
    expect_anew(&b);
}

static void a_file_that_is_none_is_made_again(void **state)
{
    struct bench b;
    struct error e;
    (void)state;
    begin_two(&b);
    assert_int_equal(file_write_all(path, slice_str("no database"), &e), OK);
    lead(&b);
    expect_anew(&b);
}

static void without_an_index_there_is_no_file(void **state)
{
    struct bench b;
    (void)state;
    begin_two(&b);
    lead(&b);
    put(&b, key(BACKEND_SPACE_TEXT, 1), NULL);
    apply(&b);
    leave(&b);
    assert_true(file_exists(path));
    lead(&b);
    assert_false(file_exists(path));
    fini(&b);
}

/* ---- what fails ------------------------------------------------------------------------------ */

static void a_file_that_cannot_be_made_stops_nothing_else(void **state)
{
    struct bench b;
    struct error e;
    struct entry x;
    char lost[80];
    (void)state;
    if (!pg_server_can()) skip();
    snprintf(lost, sizeof lost, "%s.lost", dir);
    init(&b);
    assert_int_equal(rename(dir, lost), 0);
    define(&b, 1);
    much(&b, "many");
    apply(&b);
    assert_true(b.is_filling);
    refuses(&b, 1, ERR_IO, "have failed");
    assert_int_equal(store_get(b.reader, key(STORE_SPACE_COUNTED, 100), true, &x, &e), OK);
    assert_true(x.exists);
    store_get_end(b.reader);
    assert_int_not_equal(store_fill(b.store, &b.is_filling, &e), OK);
    put_word(&b, 1, "one");
    apply(&b);
    assert_int_equal(rename(lost, dir), 0);
    assert_int_equal(store_fill(b.store, &b.is_filling, &e), OK);
    refuses(&b, 1, ERR_INDEXING, "");
    fill(&b);
    finds(&b, 1, "many", MANY);
    finds(&b, 1, "one", 1);
    fini(&b);
}

/* Nothing is filled in from a store that has a part of a memtable; it comes again, to the file
 * too. */
static void an_apply_that_failed_is_repeated(void **state)
{
    struct bench b;
    struct error e;
    (void)state;
    init(&b);
    much(&b, "many");
    define(&b, 1);
    apply(&b);
    fill(&b);
    memtable_flush(b.m, 0, ++b.version);
    define(&b, 1);
    put_word(&b, 1, "one");
    run_sql(&b, "ALTER TABLE tupled_entry RENAME TO tupled_away /* %lld %llu */", 0);
    assert_int_not_equal(try_apply(&b), OK);
    assert_true(b.is_filling);
    assert_int_not_equal(store_fill(b.store, &b.is_filling, &e), OK);
    run_sql(&b, "ALTER TABLE tupled_away RENAME TO tupled_entry /* %lld %llu */", 0);
    apply(&b);
    fill(&b);
    finds(&b, 1, "many", 0);
    finds(&b, 1, "one", 1);
    fini(&b);
}

static void two_processes_do_not_have_one_file(void **state)
{
    struct bench b;
    struct error e;
    struct store *other = NULL;
    struct buf origin = {0};
    (void)state;
    begin_two(&b);
    lead(&b);
    const struct nearby_texts texts = {.path = path, .text_ops = &search_text_ops, .is_new = true};
    assert_int_equal(local_nearby.texts_open(&texts, &origin, &other, &e), ERR_LOCKED);
    assert_int_equal(local_nearby.texts_remove(path, &e), ERR_LOCKED);
    finds(&b, 1, "many", MANY);
    fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_applied_is_found),
        cmocka_unit_test(an_index_is_filled_in_while_others_write),
        cmocka_unit_test(what_was_flushed_is_not_filled_in),
        cmocka_unit_test(what_is_pinned_stays_as_it_was),
        cmocka_unit_test(a_file_that_is_current_is_gone_on_with),
        cmocka_unit_test(a_file_that_lacks_something_is_not),
        cmocka_unit_test(a_file_that_has_more_is_if_the_journal_has_it),
        cmocka_unit_test(a_file_that_has_what_was_lost_is_not),
        cmocka_unit_test(a_file_of_other_tables_is_not),
        cmocka_unit_test(a_file_of_another_timeline_is_not),
        cmocka_unit_test(a_file_that_is_none_is_made_again),
        cmocka_unit_test(without_an_index_there_is_no_file),
        cmocka_unit_test(a_file_that_cannot_be_made_stops_nothing_else),
        cmocka_unit_test(an_apply_that_failed_is_repeated),
        cmocka_unit_test(two_processes_do_not_have_one_file),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
