/* field: fields with a time to live are gone in time for every reader, the key goes with the last
 * of them, and its own expiry is another thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collection/copy.h"
#include "collection/pick.h"
#include "collection/walk.h"
#include "unit/collection/collection_help.h"

/* Field `number` gets an expiry in ms after START_MS; 0 = none, below 0 = the field goes. */
struct set {
    struct slice key;
    unsigned from, upto;
    int64_t expiry_ms;
    int64_t each_ms; /* each so much later than the one before */
};

static enum err set_fields(struct cbench *t, struct view *v, void *arg)
{
    const struct set *s = arg;
    struct collection c;
    enum err r = collection_open(t->all, v, s->key, COLLECTION_HASH, &c, &t->e);
    for (unsigned i = s->from; i < s->upto && r == OK; i++) {
        struct element x = {.name = cbench_text(t, "%u", i), .value = slice_str("value")};
        bool was_there = false;
        if (s->expiry_ms > 0) x.expiry_ms = START_MS + s->expiry_ms + s->each_ms * (i - s->from);
        r = s->expiry_ms < 0 ? collection_remove(&c, x.name, &was_there, NULL, &t->e)
                             : collection_put(&c, &x, &was_there, NULL, &t->e);
    }
    return r == OK ? collection_save(&c, &t->e) : r;
}

static void set(struct cbench *t, struct slice key, unsigned from, unsigned upto, int64_t expiry_ms)
{
    struct set s = {.key = key, .from = from, .upto = upto, .expiry_ms = expiry_ms};
    if (cbench_commit(t, set_fields, &s) != OK) fail_msg("%s", t->e.text);
}

struct look {
    struct slice key;
    uint64_t length;
    unsigned walked, found; /* fields by a walk, and of the first hundred by name */
    size_t picked;
    bool exists;
    int64_t expiry_ms; /* of the key, after START_MS */
};

static enum err look_at(struct cbench *t, struct view *v, void *arg)
{
    struct look *l = arg;
    struct collection c;
    struct walk_range range = {.is_reverse = false};
    struct element_walk w = {0};
    struct element x;
    struct entry entry;
    bool is_end = false;
    l->walked = l->found = 0;
    enum err r = view_get(v, l->key, &entry, &t->e);
    if (r != OK) return r;
    l->exists = entry.exists;
    l->expiry_ms = entry.expiry_ms == 0 ? 0 : entry.expiry_ms - START_MS;
    r = collection_open(t->all, v, l->key, COLLECTION_HASH, &c, &t->e);
    if (r == OK) r = collection_length(&c, NULL, &l->length, &t->e);
    for (unsigned i = 0; i < 100 && r == OK; i++) {
        bool found = false;
        r = collection_find(&c, cbench_text(t, "%u", i), &found, &x, &t->e);
        l->found += found;
    }
    if (r == OK && c.head.count > 0) r = element_walk_begin(&w, &c, &range, &t->e);
    while (r == OK && c.head.count > 0) {
        r = element_walk_next(&w, &x, &is_end, &t->e);
        if (r != OK || is_end) break;
        l->walked++;
    }
    element_walk_end(&w);
    struct pick k = {.count = 1000};
    if (r == OK) r = pick_random(&c, &k, &t->e);
    l->picked = k.picked;
    return r;
}

/* So many fields by every way of looking; the expiry of the key. */
static void expect(struct cbench *t, struct slice key, unsigned fields, int64_t expiry_ms)
{
    struct look l = {.key = key};
    if (cbench_read(t, look_at, &l) != OK) fail_msg("%s", t->e.text);
    assert_int_equal(l.length, fields);
    assert_int_equal(l.walked, fields);
    assert_int_equal(l.found, fields);
    assert_int_equal(l.picked, fields);
    assert_int_equal(l.exists, fields > 0);
    assert_int_equal(l.expiry_ms, expiry_ms);
    cbench_audit(t);
}

static void with_each_form(void (*test)(struct cbench *t, struct slice key))
{
    static const size_t pack_bytes[] = {PACK_BYTES_DEFAULT, 0};
    for (size_t i = 0; i < 2; i++) {
        struct cbench t;
        cbench_open(&t, pack_bytes[i]);
        test(&t, cbench_key(&t, 0, "hash"));
        cbench_audit_clean(&t);
        cbench_close(&t);
    }
}

static void some_expire(struct cbench *t, struct slice key)
{
    set(t, key, 0, 5, 0);
    set(t, key, 5, 8, 100);
    set(t, key, 8, 10, 200);
    expect(t, key, 10, 0);
    cbench_at(t, 99);
    expect(t, key, 10, 0);
    cbench_at(t, 100);
    expect(t, key, 7, 0);
    set(t, key, 5, 6, 300); /* again */
    expect(t, key, 8, 0);
    cbench_at(t, 250);
    expect(t, key, 6, 0);
    set(t, key, 6, 7, -1); /* what has expired is not there */
    expect(t, key, 6, 0);
    set(t, key, 5, 6, 0); /* for ever */
    cbench_at(t, 1000);
    expect(t, key, 6, 0);
}

static void fields_expire_for_every_reader(void **state)
{
    (void)state;
    with_each_form(some_expire);
}

static void all_expire(struct cbench *t, struct slice key)
{
    set(t, key, 0, 5, 100);
    expect(t, key, 5, 0);
    set(t, key, 5, 10, 300);
    expect(t, key, 10, 0);
    set(t, key, 10, 11, 0);
    expect(t, key, 11, 0);
    set(t, key, 10, 11, -1);
    expect(t, key, 10, 0);
    cbench_at(t, 100);
    expect(t, key, 5, 0);
    set(t, key, 5, 10, 200); /* earlier than before */
    expect(t, key, 5, 0);
    cbench_at(t, 200);
    expect(t, key, 0, 0);
    cbench_audit_clean(t);
    set(t, key, 0, 1, 0); /* another, with nothing of the first */
    expect(t, key, 1, 0);
}

static void the_key_goes_with_its_last_field(void **state)
{
    (void)state;
    with_each_form(all_expire);
}

static void expire(struct cbench *t, struct slice key, int64_t ms)
{
    struct op op = {.kind = OP_EXPIRE, .key = key, .ttl = TTL_AT, .ttl_ms = START_MS + ms};
    assert_int_equal(cbench_run(t, 0, &op, 1), OK);
    assert_true(op.is_met);
}

static void the_own_one_stays(struct cbench *t, struct slice key)
{
    set(t, key, 0, 3, 0);
    expire(t, key, 5000);
    expect(t, key, 3, 5000);
    set(t, key, 0, 3, 1000);
    expect(t, key, 3, 5000);
    set(t, key, 3, 4, 0);
    expect(t, key, 4, 5000);
    set(t, key, 3, 4, 9000); /* the own one is earlier */
    expect(t, key, 4, 5000);
    cbench_at(t, 1000);
    expect(t, key, 1, 5000);
    cbench_at(t, 5000);
    expect(t, key, 0, 0);
}

static void the_own_expiry_of_the_key_stays_what_it_was(void **state)
{
    (void)state;
    with_each_form(the_own_one_stays);
}

static void overwritten(struct cbench *t, struct slice key)
{
    set(t, key, 0, 70, 100);
    cbench_at(t, 150);
    expect(t, key, 0, 0);
    set(t, key, 0, 5, 0);
    expect(t, key, 5, 0);
    set(t, key, 5, 9, 500);
    set(t, key, 5, 9, 400);
    set(t, key, 5, 9, 600); /* its rows of time are as many as its fields (audit) */
    expect(t, key, 9, 0);
    cbench_at(t, 599);
    expect(t, key, 9, 0);
    cbench_restart(t);
    cbench_at(t, 600);
    expect(t, key, 5, 0);
}

static void a_new_time_takes_the_place_of_the_old_one(void **state)
{
    (void)state;
    with_each_form(overwritten);
}

/* EXPIRE, PERSIST of a key whose fields expire all. */
static void changed_from_outside(struct cbench *t, struct slice key)
{
    set(t, key, 0, 5, 100);
    expire(t, key, 5000);
    cbench_at(t, 100);
    expect(t, key, 0, 0);
    set(t, key, 0, 5, 200);
    struct op persist = {.kind = OP_EXPIRE, .key = key, .ttl = TTL_NONE};
    assert_int_equal(cbench_run(t, 0, &persist, 1), OK);
    cbench_at(t, 200);
    expect(t, key, 0, 0);
}

static void a_key_without_fields_is_gone_whatever_its_own_expiry(void **state)
{
    (void)state;
    with_each_form(changed_from_outside);
}

/* RENAME: the head moves when it is spread; else the hash is made again. */
static void renamed(struct cbench *t, struct slice key)
{
    struct collection_head h;
    struct slice to = cbench_key(t, 0, "to");
    set(t, key, 0, 5, 100);
    struct entry entry = cbench_stored(t, key);
    struct collection_copy x = {.all = t->all, .from = key, .to = to, .entry = entry};
    struct op ops[] = {{.kind = OP_SET, .key = to, .value = entry.value},
                       {.kind = OP_DELETE, .key = key}};
    if (!cbench_is_spread(t, key, &h)) ops[0] = collection_copy_op(&x);
    assert_int_equal(cbench_run(t, 0, ops, 2), OK);
    expect(t, to, 5, 0);
    cbench_at(t, 99);
    expect(t, to, 5, 0);
    cbench_at(t, 100);
    expect(t, to, 0, 0);
    expect(t, key, 0, 0);
}

static void fields_expire_at_another_key_too(void **state)
{
    (void)state;
    with_each_form(renamed);
}

/* A dump of fields [0, upto), of which those from `ended` on have expired meanwhile. */
static struct slice dump(struct cbench *t, unsigned ended, unsigned upto)
{
    struct collection_head h = {.kind = COLLECTION_HASH, .count = upto};
    struct element *items = arena_alloc(&t->arena, upto * sizeof *items);
    struct buf out;
    for (unsigned i = 0; i < upto; i++) {
        items[i] = (struct element){.name = cbench_text(t, "%u", i), .value = slice_str("value")};
        if (i >= ended) items[i].expiry_ms = START_MS - 1;
    }
    buf_init(&out);
    collection_head_write(&h, items, &out);
    struct slice kept = arena_copy(&t->arena, buf_slice(&out));
    buf_fini(&out);
    return kept;
}

struct restoring {
    struct slice key, dump;
};

static enum err restore_and_set(struct cbench *t, struct overlay *o, void *arg)
{
    const struct restoring *x = arg;
    struct collection_restore restore = {.all = t->all, .to = x->key, .head = x->dump};
    struct op op = collection_restore_op(&restore);
    struct txn txn = {.overlay = o, .ops = &op, .count = 1, .arena = &t->arena};
    struct set s = {.key = x->key, .from = 3, .upto = 4};
    enum err r = engine_commit(t->g, &txn, NULL, &t->e);
    return r == OK ? cbench_evaluate(t, o, 0, set_fields, &s) : r;
}

static void restored(struct cbench *t, struct slice key)
{
    struct restoring x = {.key = key, .dump = dump(t, 2, 5)};
    struct collection_restore restore = {.all = t->all, .to = key, .head = x.dump};
    struct op op = collection_restore_op(&restore);
    assert_int_equal(cbench_run(t, 0, &op, 1), OK);
    expect(t, key, 2, 0);
    assert_int_equal(cbench_transact(t, restore_and_set, &x), OK);
    expect(t, key, 3, 0); /* that field is counted once */
    cbench_at(t, 10);
    expect(t, key, 3, 0);
    restore.head = dump(t, 0, 5);
    op = collection_restore_op(&restore);
    assert_int_equal(cbench_run(t, 0, &op, 1), OK);
    expect(t, key, 0, 0);
}

static void what_has_expired_is_not_restored(void **state)
{
    (void)state;
    with_each_form(restored);
}

/* ---- many at once ---- */

enum { MANY_FIELDS = 6000, COMMIT_ROWS_MAX = 5000 };

/* Commits of rows of elements. */
struct commits {
    size_t count, rows, rows_max;
};

static void count_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct commits *x = arg;
    (void)version;
    x->count++;
    x->rows += ws->count;
    if (ws->count > x->rows_max) x->rows_max = ws->count;
}

/* All but two have expired. */
static void many_expire(int64_t each_ms, bool is_renamed)
{
    struct cbench t;
    struct commits x = {0};
    struct layer counting = {
        .kinds = LAYER_SPACE(SPACE_ELEMENT), .on_commit = count_commit, .arg = &x};
    cbench_open(&t, 0);
    engine_add_layer(t.g, &counting);
    struct engine_options limits = *engine_limits(t.g);
    limits.expire_batch = 1000;
    engine_set_limits(t.g, &limits);
    struct slice key = cbench_key(&t, 0, "hash");
    struct set s = {
        .key = key, .from = 2, .upto = 2 + MANY_FIELDS, .expiry_ms = 1000, .each_ms = each_ms};
    assert_int_equal(cbench_commit(&t, set_fields, &s), OK);
    set(&t, key, 0, 2, 0);
    if (is_renamed) {
        struct slice to = cbench_key(&t, 0, "to");
        struct op ops[] = {{.kind = OP_SET, .key = to, .value = cbench_stored(&t, key).value},
                           {.kind = OP_DELETE, .key = key}};
        assert_int_equal(cbench_run(&t, 0, ops, 2), OK);
        key = to;
    }
    x = (struct commits){0};
    for (int i = 0; i < 10; i++) cbench_at(&t, 1000 + each_ms * MANY_FIELDS + i);
    expect(&t, key, 2, 0);
    struct collection_head h;
    assert_true(cbench_is_spread(&t, key, &h));
    assert_int_equal(h.expiring, 0);
    assert_int_equal(h.count, 2);
    assert_in_range(x.rows_max, 1, COMMIT_ROWS_MAX);
    assert_in_range(x.rows, 2 * MANY_FIELDS, 3 * MANY_FIELDS + 4 * x.count);
    cbench_audit_clean(&t);
    cbench_close(&t);
}

static void many_fields_are_removed_in_transactions_of_some(void **state)
{
    (void)state;
    many_expire(0, false);
    many_expire(1, false);
    many_expire(0, true);
    many_expire(1, true);
}

/* A row of times alone, of a field "0" and a time at which the sweeper looks. */
struct planting {
    struct slice key, row;
    int64_t time_ms;
};

static enum err plant(struct cbench *t, struct view *v, void *arg)
{
    struct planting *p = arg;
    struct collection c;
    enum err r = collection_open(t->all, v, p->key, COLLECTION_HASH, &c, &t->e);
    struct element_rows rows = collection_rows(&c);
    p->row = row_of_expiry(&t->arena, &rows, START_MS + p->time_ms, slice_str("0"));
    view_set(v, p->row, slice_of(NULL, 0));
    view_due_at(v, p->key, START_MS + p->time_ms);
    c.head.expiring++;
    c.is_changed = true;
    return r == OK ? collection_save(&c, &t->e) : r;
}

static void only_what_has_expired_is_removed(void **state)
{
    struct cbench t;
    (void)state;
    cbench_open(&t, 0);
    struct planting p = {.key = cbench_key(&t, 0, "hash"), .time_ms = 100};
    set(&t, p.key, 0, 3, 0);
    assert_int_equal(cbench_commit(&t, plant, &p), OK);
    cbench_at(&t, 200);
    expect(&t, p.key, 3, 0);
    assert_false(cbench_stored(&t, p.row).exists);
    cbench_audit_clean(&t);
    cbench_close(&t);
}

/* What is planted before the place is not met again. */
static void a_look_goes_on_where_the_last_one_ended(void **state)
{
    struct cbench t;
    struct collection_head h;
    (void)state;
    cbench_open(&t, 0);
    struct slice key = cbench_key(&t, 0, "hash");
    set(&t, key, 1, 1601, 100);
    set(&t, key, 0, 1, 0);
    clock_set_fake_ms(START_MS + 100);
    for (int i = 0; i < STEPS_MAX; i++) {
        assert_true(cbench_is_spread(&t, key, &h));
        if (h.count < 1601) break;
        cbench_turn(&t);
    }
    assert_int_equal(h.count, 601); /* a thousand of them are gone */
    struct element_rows rows = {.database = 0, .incarnation = h.incarnation};
    struct mutation mu = {.kind = MUTATION_SET,
                          .key = row_of_expiry(&t.arena, &rows, START_MS + 100, slice_str("0"))};
    struct batch batch = {.items = &mu, .count = 1, .time_ms = START_MS + 100};
    uint64_t version = 0;
    assert_int_equal(backend_commit(t.rig.b, &batch, &version, NULL, &t.e), OK);
    cbench_at(&t, 100);
    assert_true(cbench_is_spread(&t, key, &h));
    assert_int_equal(h.count, 1);
    assert_true(cbench_stored(&t, mu.key).exists);
    cbench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_expire_for_every_reader),
        cmocka_unit_test(the_key_goes_with_its_last_field),
        cmocka_unit_test(the_own_expiry_of_the_key_stays_what_it_was),
        cmocka_unit_test(a_new_time_takes_the_place_of_the_old_one),
        cmocka_unit_test(a_key_without_fields_is_gone_whatever_its_own_expiry),
        cmocka_unit_test(fields_expire_at_another_key_too),
        cmocka_unit_test(what_has_expired_is_not_restored),
        cmocka_unit_test(only_what_has_expired_is_removed),
        cmocka_unit_test(many_fields_are_removed_in_transactions_of_some),
        cmocka_unit_test(a_look_goes_on_where_the_last_one_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
