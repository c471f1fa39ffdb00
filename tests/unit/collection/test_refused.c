/* What is refused: elements and transactions that are too large, another kind, and what is damaged,
 * which is told and never taken for something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collection/copy.h"
#include "collection/list.h"
#include "collection/pick.h"
#include "unit/collection/collection_help.h"

struct filling {
    struct slice key;
    enum collection_kind kind;
    unsigned count;
    size_t bytes; /* of each */
};

static enum err fill(struct cbench *t, struct view *v, void *arg)
{
    const struct filling *f = arg;
    struct collection c;
    enum err r = collection_open(t->all, v, f->key, f->kind, &c, &t->e);
    for (unsigned i = 0; i < f->count && r == OK; i++) {
        struct element x = {.name = cbench_long(t, f->bytes, i), .score = i};
        bool was_there = false;
        if (f->kind == COLLECTION_HASH) {
            x.value = x.name;
            x.name = cbench_text(t, "%u", i);
        }
        r = f->kind == COLLECTION_LIST ? list_push(&c, true, x.name, &t->e)
                                       : collection_put(&c, &x, &was_there, NULL, &t->e);
    }
    return r == OK ? collection_save(&c, &t->e) : r;
}

static void an_element_larger_than_a_value_may_be_is_refused(void **state)
{
    struct cbench t;
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    for (enum collection_kind kind = COLLECTION_HASH; kind <= COLLECTION_ZSET; kind++) {
        struct filling f = {
            .key = cbench_key(&t, 0, "k"), .kind = kind, .count = 1, .bytes = 100001};
        assert_int_equal(cbench_commit(&t, fill, &f), ERR_LIMIT);
        assert_string_equal(t.e.text, "an element of 100001 bytes is larger than max-value-size "
                                      "(100000)");
        assert_false(cbench_stored(&t, f.key).exists);
        f.bytes = 100000;
        assert_int_equal(cbench_commit(&t, fill, &f), OK);
        assert_int_equal(cbench_audit(&t), 1);
        assert_int_equal(cbench_flush(&t, 0, false), OK);
    }
    cbench_close(&t);
}

static void a_transaction_that_writes_too_many_rows_is_refused(void **state)
{
    struct cbench t;
    struct filling f = {.kind = COLLECTION_ZSET, .count = 50001, .bytes = 6};
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    f.key = cbench_key(&t, 0, "k");
    assert_int_equal(cbench_commit(&t, fill, &f), ERR_LIMIT);
    assert_non_null(strstr(t.e.text, "changes more than 100000 rows of collections"));
    assert_false(cbench_stored(&t, f.key).exists);
    assert_int_equal(cbench_audit_clean(&t), 0);
    f.count = 50000;
    assert_int_equal(cbench_commit(&t, fill, &f), OK);
    assert_int_equal(cbench_audit_clean(&t), 1);
    cbench_close(&t);
}

/* By what the head says, before anything is read. */
static void a_copy_of_more_than_a_transaction_is_refused(void **state)
{
    struct cbench t;
    struct filling f = {.kind = COLLECTION_HASH, .count = 100, .bytes = 2000};
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    f.key = cbench_key(&t, 0, "k");
    assert_int_equal(cbench_commit(&t, fill, &f), OK);
    struct engine_options limits = *engine_limits(t.g);
    limits.txn_bytes_max = 200189;
    engine_set_limits(t.g, &limits);
    struct collection_copy x = {.all = t.all,
                                .from = f.key,
                                .to = cbench_key(&t, 0, "to"),
                                .entry = cbench_stored(&t, f.key)};
    struct op op = collection_copy_op(&x);
    assert_int_equal(cbench_run(&t, 0, &op, 1), ERR_LIMIT);
    assert_string_equal(t.e.text,
                        "a collection of 200190 bytes exceeds max-transaction-size (200189)");
    cbench_close(&t);
}

/* ---- another kind ---- */

struct opening {
    struct slice key;
    enum collection_kind kind;
};

static enum err open_it(struct cbench *t, struct view *v, void *arg)
{
    const struct opening *o = arg;
    struct collection c;
    return collection_open(t->all, v, o->key, o->kind, &c, &t->e);
}

static enum err look_at_it(struct cbench *t, struct view *v, void *arg)
{
    const struct opening *o = arg;
    struct collection c;
    bool is_one = false;
    enum err r = collection_look(t->all, v, o->key, &c, &is_one, &t->e);
    assert_true(r != OK || !is_one);
    return r;
}

static void another_kind_is_told_in_redis_words(void **state)
{
    struct cbench t;
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    struct slice plain = cbench_key(&t, 0, "plain");
    struct op set = {.kind = OP_SET, .key = plain, .value = slice_str("\x01")};
    assert_int_equal(cbench_run(&t, 0, &set, 1), OK);
    for (enum collection_kind kind = COLLECTION_HASH; kind <= COLLECTION_ZSET; kind++) {
        struct opening o = {.key = plain, .kind = kind};
        assert_int_equal(cbench_read(&t, open_it, &o), ERR_TYPE);
        assert_string_equal(t.e.text, "Operation against a key holding the wrong kind of value");
        assert_int_equal(cbench_read(&t, look_at_it, &o), OK);
        o.key = cbench_key(&t, 0, collection_kind_name(kind));
        cbench_fill(&t, o.key, kind, 0, 3);
        for (o.kind = COLLECTION_HASH; o.kind <= COLLECTION_ZSET; o.kind++) {
            assert_int_equal(cbench_read(&t, open_it, &o), o.kind == kind ? OK : ERR_TYPE);
        }
    }
    cbench_close(&t);
}

/* ---- damage ---- */

static void put_raw(struct cbench *t, struct slice key, struct slice value)
{
    struct op set = {.kind = OP_SET, .key = key, .value = value};
    assert_int_equal(cbench_run(t, 0, &set, 1), OK);
}

static void a_damaged_head_is_told_and_can_be_deleted(void **state)
{
    struct cbench t;
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    struct opening o = {.key = cbench_key(&t, 0, "k"), .kind = COLLECTION_HASH};
    cbench_fill(&t, o.key, COLLECTION_HASH, 0, 3);
    struct slice good = cbench_stored(&t, o.key).value;
    uint8_t *bad = arena_alloc(&t.arena, good.len);
    memcpy(bad, good.data, good.len);
    bad[good.len - 2] = 0xff; /* the length of the last value */
    put_raw(&t, o.key, slice_of(bad, good.len));
    assert_int_equal(cbench_read(&t, open_it, &o), ERR_CORRUPT);
    assert_string_equal(t.e.text, "a damaged hash");
    bad[3] = 9; /* the format */
    put_raw(&t, o.key, slice_of(bad, good.len));
    assert_int_equal(cbench_read(&t, open_it, &o), ERR_CORRUPT);
    assert_int_equal(cbench_read(&t, look_at_it, &o), ERR_CORRUPT);
    assert_string_equal(t.e.text, "a damaged collection");
    struct op away = {.kind = OP_DELETE, .key = o.key, .counts_live = true};
    assert_int_equal(cbench_run(&t, 0, &away, 1), OK);
    assert_int_equal(cbench_read(&t, open_it, &o), OK);
    cbench_close(&t);
}

/* The head says that there is more than there are rows. */
static enum err take_a_row(struct cbench *t, struct view *v, void *arg)
{
    const struct opening *o = arg;
    struct collection c;
    enum err r = collection_open(t->all, v, o->key, o->kind, &c, &t->e);
    if (r != OK) return r;
    struct element_rows rows = collection_rows(&c);
    if (o->kind == COLLECTION_LIST) {
        view_delete(v, row_of_position(v->arena, &rows, c.head.first));
    } else {
        view_delete(v, row_of_name(v->arena, &rows, ROW_MEMBER, slice_str("0")));
    }
    return OK;
}

static enum err read_all(struct cbench *t, struct view *v, void *arg)
{
    const struct opening *o = arg;
    struct collection c;
    struct element out;
    struct slice value;
    uint64_t last = 0;
    enum err r = collection_open(t->all, v, o->key, o->kind, &c, &t->e);
    if (r != OK) return r;
    last = c.head.count - 1;
    if (o->kind == COLLECTION_LIST) return list_get(&c, 0, &value, &t->e);
    return pick_ranks(&c, true, &last, 1, &out, &t->e);
}

static void a_missing_row_is_told(void **state)
{
    static const enum collection_kind kinds[] = {COLLECTION_LIST, COLLECTION_SET, COLLECTION_ZSET};
    struct cbench t;
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    for (size_t i = 0; i < 3; i++) {
        struct opening o = {.key = cbench_key(&t, 0, collection_kind_name(kinds[i])),
                            .kind = kinds[i]};
        cbench_fill(&t, o.key, kinds[i], 0, 100);
        assert_int_equal(cbench_read(&t, read_all, &o), OK);
        assert_int_equal(cbench_commit(&t, take_a_row, &o), OK);
        assert_int_equal(cbench_read(&t, read_all, &o), ERR_CORRUPT);
    }
    cbench_close(&t);
}

/* ---- dumps ---- */

static enum err restore(struct cbench *t, const struct collection_head *h, struct element x)
{
    struct buf out;
    buf_init(&out);
    collection_head_write(h, &x, &out);
    struct collection_restore restored = {
        .all = t->all, .to = cbench_key(t, 0, "to"), .head = buf_slice(&out)};
    struct op op = collection_restore_op(&restored);
    enum err r = cbench_run(t, 0, &op, 1);
    buf_fini(&out);
    return r;
}

/* A client that can make a checksum can make any bytes. */
static void a_dump_of_what_cannot_be_is_refused(void **state)
{
    struct cbench t;
    struct collection_head zset = {.kind = COLLECTION_ZSET, .count = 1};
    struct collection_head hash = {.kind = COLLECTION_HASH, .count = 1};
    struct collection_head stream = {.kind = COLLECTION_STREAM, .count = 1};
    struct collection_head none = {.kind = COLLECTION_SET};
    struct collection_head spread = {.kind = COLLECTION_SET, .is_spread = true, .count = 1};
    struct element x = {.name = slice_str("x"), .value = slice_str("y")};
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    assert_int_equal(restore(&t, &zset, (struct element){.score = __builtin_nan("")}), ERR_VALUE);
    assert_int_equal(restore(&t, &stream, x), ERR_VALUE);
    assert_int_equal(restore(&t, &none, x), ERR_VALUE);
    assert_int_equal(restore(&t, &spread, x), ERR_VALUE);
    x.expiry_ms = -1;
    assert_int_equal(restore(&t, &hash, x), ERR_VALUE);
    x.expiry_ms = START_MS + 1;
    assert_int_equal(restore(&t, &hash, x), OK);
    cbench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_element_larger_than_a_value_may_be_is_refused),
        cmocka_unit_test(a_transaction_that_writes_too_many_rows_is_refused),
        cmocka_unit_test(a_copy_of_more_than_a_transaction_is_refused),
        cmocka_unit_test(another_kind_is_told_in_redis_words),
        cmocka_unit_test(a_damaged_head_is_told_and_can_be_deleted),
        cmocka_unit_test(a_missing_row_is_told),
        cmocka_unit_test(a_dump_of_what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
