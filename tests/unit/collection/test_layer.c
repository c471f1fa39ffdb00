/* layer: whatever overwrites or deletes the key of a spread collection, its rows and its owner row
 * go with it, and nothing else does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "collection/copy.h"
#include "collection/list.h"
#include "engine/start.h"
#include "unit/collection/collection_help.h"

#define MANY 100 /* elements: more than a packed one has */

static const enum collection_kind kinds[] = {COLLECTION_HASH, COLLECTION_LIST, COLLECTION_SET,
                                             COLLECTION_ZSET};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* ---- the doors ---- */

struct door {
    struct slice key, other; /* `other`: a spread collection too, or what becomes one */
    enum collection_kind kind;
};

static struct op set_op(struct slice key)
{
    return (struct op){.kind = OP_SET, .key = key, .value = slice_str("\x01")};
}

static void by_set(struct cbench *t, struct door *d)
{
    struct op op = set_op(d->key);
    assert_int_equal(cbench_run(t, 0, &op, 1), OK);
}

static void by_set_if_present(struct cbench *t, struct door *d)
{
    struct op op = set_op(d->key);
    op.condition = IF_PRESENT;
    assert_int_equal(cbench_run(t, 0, &op, 1), OK);
    assert_true(op.is_met);
}

static void by_delete(struct cbench *t, struct door *d)
{
    struct op op = {.kind = OP_DELETE, .key = d->key, .counts_live = true};
    assert_int_equal(cbench_run(t, 0, &op, 1), OK);
    assert_true(op.is_met);
}

static void by_blind_delete(struct cbench *t, struct door *d)
{
    struct op op = {.kind = OP_DELETE, .key = d->key};
    assert_int_equal(cbench_run(t, 0, &op, 1), OK);
}

static void by_expire_in_the_past(struct cbench *t, struct door *d)
{
    struct op op = {.kind = OP_EXPIRE, .key = d->key, .ttl = TTL_AFTER, .ttl_ms = -1};
    assert_int_equal(cbench_run(t, 0, &op, 1), OK);
}

static void by_expiry(struct cbench *t, struct door *d)
{
    struct op op = {.kind = OP_EXPIRE, .key = d->key, .ttl = TTL_AT, .ttl_ms = START_MS + 10};
    assert_int_equal(cbench_run(t, 0, &op, 1), OK);
    cbench_at(t, 11);
    assert_false(cbench_stored(t, d->key).exists);
}

/* It has expired and is there still when another takes its place. */
static void by_another_after_expiry(struct cbench *t, struct door *d)
{
    struct op op = {.kind = OP_EXPIRE, .key = d->key, .ttl = TTL_AT, .ttl_ms = START_MS + 10};
    engine_set_active_expire(t->g, false);
    assert_int_equal(cbench_run(t, 0, &op, 1), OK);
    cbench_at(t, 11);
    assert_true(cbench_stored(t, d->key).exists);
    cbench_fill(t, d->key, COLLECTION_SET, 0, 2);
    engine_set_active_expire(t->g, true);
}

static enum err offer(struct cbench *t, struct view *v, void *arg)
{
    struct door *d = arg;
    (void)t;
    view_offer(v, d->key, slice_str("\x02"));
    return OK;
}

static void by_an_offer(struct cbench *t, struct door *d)
{
    assert_int_equal(cbench_commit(t, offer, d), OK);
    assert_int_equal(cbench_stored(t, d->key).value.len, 1);
}

static void by_flush(struct cbench *t, struct door *d)
{
    (void)d;
    assert_int_equal(cbench_flush(t, 0, false), OK);
}

static void by_drop(struct cbench *t, struct door *d)
{
    (void)d;
    assert_int_equal(cbench_flush(t, 0, true), OK);
}

static enum err clear(struct cbench *t, struct view *v, void *arg)
{
    struct door *d = arg;
    struct collection c;
    enum err r = collection_open(t->all, v, d->key, d->kind, &c, &t->e);
    if (r != OK) return r;
    collection_clear(&c);
    return collection_save(&c, &t->e);
}

static void by_clear(struct cbench *t, struct door *d)
{
    assert_int_equal(cbench_commit(t, clear, d), OK);
    assert_false(cbench_stored(t, d->key).exists);
}

static enum err store(struct cbench *t, struct view *v, void *arg)
{
    struct door *d = arg;
    struct collection c;
    enum err r = OK;
    collection_begin(t->all, v, d->key, COLLECTION_ZSET, &c);
    for (unsigned i = 0; i < MANY && r == OK; i++) {
        struct element x = {.name = cbench_text(t, "s%u", i), .score = i};
        bool was_there = false;
        r = collection_put(&c, &x, &was_there, NULL, &t->e);
    }
    return r == OK ? collection_replace(&c, &t->e) : r;
}

static void by_store(struct cbench *t, struct door *d)
{
    assert_int_equal(cbench_commit(t, store, d), OK);
}

static enum err store_nothing(struct cbench *t, struct view *v, void *arg)
{
    struct door *d = arg;
    struct collection c;
    collection_begin(t->all, v, d->key, COLLECTION_SET, &c);
    return collection_replace(&c, &t->e);
}

static void by_store_of_nothing(struct cbench *t, struct door *d)
{
    assert_int_equal(cbench_commit(t, store_nothing, d), OK);
    assert_false(cbench_stored(t, d->key).exists);
}

/* RENAME: what is at `other` comes to the key. */
static void by_rename(struct cbench *t, struct door *d)
{
    struct entry there = cbench_stored(t, d->other);
    struct op ops[] = {{.kind = OP_SET, .key = d->key, .value = there.value},
                       {.kind = OP_DELETE, .key = d->other}};
    assert_int_equal(cbench_run(t, 0, ops, 2), OK);
}

static void by_copy(struct cbench *t, struct door *d)
{
    struct collection_copy x = {
        .all = t->all, .from = d->other, .to = d->key, .entry = cbench_stored(t, d->other)};
    struct op op = collection_copy_op(&x);
    assert_int_equal(cbench_run(t, 0, &op, 1), OK);
    assert_true(op.is_met);
}

static enum err dump(struct cbench *t, struct view *v, void *arg)
{
    struct door *d = arg;
    struct collection c;
    struct buf out;
    bool is_one = false;
    enum err r = collection_look(t->all, v, d->other, &c, &is_one, &t->e);
    buf_init(&out);
    if (r == OK) r = collection_dump(&c, &out, &t->e);
    if (r == OK) d->other = arena_copy(&t->arena, buf_slice(&out));
    buf_fini(&out);
    return r;
}

static void by_restore(struct cbench *t, struct door *d)
{
    assert_int_equal(cbench_read(t, dump, d), OK);
    struct collection_restore x = {.all = t->all, .to = d->key, .head = d->other};
    struct op op = collection_restore_op(&x);
    assert_int_equal(cbench_run(t, 0, &op, 1), OK);
}

static void by_several_operations(struct cbench *t, struct door *d)
{
    struct op ops[] = {{.kind = OP_DELETE, .key = d->key},
                       set_op(d->key),
                       {.kind = OP_DELETE, .key = d->key},
                       set_op(d->key)};
    assert_int_equal(cbench_run(t, 0, ops, 4), OK);
}

static enum err delete_key(struct cbench *t, struct view *v, void *arg)
{
    struct door *d = arg;
    (void)t;
    view_delete(v, d->key);
    return OK;
}

/* In one EXEC: away, another there, away, another there. */
static enum err again_and_again(struct cbench *t, struct overlay *o, void *arg)
{
    enum err r = OK;
    for (int i = 0; i < 2 && r == OK; i++) {
        r = cbench_evaluate(t, o, 0, delete_key, arg);
        if (r == OK) r = cbench_evaluate(t, o, 0, store, arg);
    }
    return r;
}

static void by_several_in_one_transaction(struct cbench *t, struct door *d)
{
    assert_int_equal(cbench_transact(t, again_and_again, d), OK);
}

/* MOVE: its rows are made again in another database. */
static enum err move(struct cbench *t, struct overlay *o, void *arg)
{
    struct door *d = arg;
    struct entry there = cbench_stored(t, d->key);
    struct collection_copy x = {
        .all = t->all, .from = d->key, .to = cbench_key(t, 1, "moved"), .entry = there};
    struct op copy = collection_copy_op(&x);
    struct op away = {.kind = OP_DELETE, .key = d->key};
    struct txn to = {.overlay = o, .database = 1, .ops = &copy, .count = 1, .arena = &t->arena};
    struct txn from = {.overlay = o, .database = 0, .ops = &away, .count = 1, .arena = &t->arena};
    struct waiter w = {0};
    enum err r = engine_commit(t->g, &to, &w, &t->e);
    return r == OK ? engine_commit(t->g, &from, &w, &t->e) : r;
}

static void by_move(struct cbench *t, struct door *d)
{
    assert_int_equal(cbench_transact(t, move, d), OK);
    struct collection_head h;
    assert_true(cbench_is_spread(t, cbench_key(t, 1, "moved"), &h));
    assert_int_equal(cbench_flush(t, 1, false), OK);
}

static const struct {
    const char *name;
    void (*open)(struct cbench *t, struct door *d);
    unsigned spread; /* collections that are spread afterwards, with `other` */
} doors[] = {
    {"SET", by_set, 1},
    {"SET XX", by_set_if_present, 1},
    {"DEL", by_delete, 1},
    {"KV.DEL", by_blind_delete, 1},
    {"EXPIRE in the past", by_expire_in_the_past, 1},
    {"expiry", by_expiry, 1},
    {"another after expiry", by_another_after_expiry, 1},
    {"UNDELIVERED", by_an_offer, 1},
    {"FLUSHDB", by_flush, 0},
    {"drop", by_drop, 0},
    {"the last element", by_clear, 1},
    {"STORE", by_store, 2},
    {"STORE of nothing", by_store_of_nothing, 1},
    {"RENAME", by_rename, 1},
    {"COPY", by_copy, 2},
    {"RESTORE", by_restore, 2},
    {"several operations", by_several_operations, 1},
    {"EXEC", by_several_in_one_transaction, 2},
    {"MOVE", by_move, 1},
};
#define DOORS (sizeof doors / sizeof doors[0])

enum when { AT_ONCE, AFTER_RESTART, AFTER_CRASH, BEFORE_OWNERS_ARE_READ, WHENS };

static void come_back(struct cbench *t, enum when when)
{
    if (when == AFTER_RESTART || when == BEFORE_OWNERS_ARE_READ) cbench_restart(t);
    if (when == AFTER_CRASH) cbench_crash(t);
    if (when != BEFORE_OWNERS_ARE_READ) cbench_settle(t);
}

static void try_door(size_t door, enum collection_kind kind, enum when when)
{
    struct cbench t;
    struct collection_head h;
    size_t memory = 0;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    struct door d = {
        .key = cbench_key(&t, 0, "k"), .other = cbench_key(&t, 0, "other"), .kind = kind};
    cbench_fill(&t, d.key, kind, 0, MANY);
    cbench_fill(&t, d.other, kind, 50, MANY);
    assert_true(cbench_is_spread(&t, d.key, &h));
    assert_int_equal(cbench_audit(&t), 2);
    come_back(&t, when);
    doors[door].open(&t, &d);
    size_t spread = cbench_audit_clean(&t);
    if (spread != doors[door].spread) {
        fail_msg("%s of a %s leaves %zu", doors[door].name, collection_kind_name(kind), spread);
    }
    cbench_restart(&t);
    assert_int_equal(cbench_audit_clean(&t), spread);
    assert_int_equal(collections_spread(t.all, &memory), spread);
    cbench_close(&t);
}

static void nothing_stays_of_a_collection_by_whatever_door_it_goes(void **state)
{
    (void)state;
    for (size_t door = 0; door < DOORS; door++) {
        for (size_t k = 0; k < KINDS; k++) try_door(door, kinds[k], AT_ONCE);
    }
}

static void nor_after_a_start_or_a_crash_or_before_the_owners_are_known(void **state)
{
    (void)state;
    for (size_t door = 0; door < DOORS; door++) {
        for (enum when when = AFTER_RESTART; when < WHENS; when++) {
            try_door(door, kinds[(door + when) % KINDS], when);
        }
    }
}

/* ---- what is known of keys ---- */

static void only_keys_of_spread_collections_may_have_one(void **state)
{
    struct cbench t;
    size_t memory = 0;
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    cbench_settle(&t);
    struct slice spread = cbench_key(&t, 0, "spread");
    struct slice packed = cbench_key(&t, 0, "packed");
    struct slice elsewhere = cbench_key(&t, 1, "spread");
    assert_false(collections_may_be_spread(t.all, spread));
    cbench_fill(&t, spread, COLLECTION_SET, 0, MANY);
    cbench_fill(&t, packed, COLLECTION_SET, 0, 3);
    for (int i = 0; i < 3; i++) {
        assert_true(collections_may_be_spread(t.all, spread));
        assert_false(collections_may_be_spread(t.all, packed));
        assert_false(collections_may_be_spread(t.all, elsewhere));
        assert_int_equal(collections_spread(t.all, &memory), 1);
        assert_true(memory > 0);
        if (i == 0) cbench_restart(&t);
        if (i == 1) cbench_crash(&t);
        cbench_settle(&t);
    }
    cbench_restart(&t);
    assert_true(collections_may_be_spread(t.all, packed)); /* nothing is known yet */
    assert_true(collections_may_be_spread(t.all, spread));
    cbench_settle(&t);
    assert_int_equal(cbench_flush(&t, 1, false), OK);
    assert_int_equal(collections_spread(t.all, &memory), 1);
    assert_int_equal(cbench_flush(&t, 0, false), OK);
    assert_false(collections_may_be_spread(t.all, spread));
    assert_int_equal(collections_spread(t.all, &memory), 0);
    assert_int_equal(memory, 0);
    cbench_close(&t);
}

/* The head moves, its rows stay where they are. */
static void a_rename_keeps_the_incarnation(void **state)
{
    struct cbench t;
    struct collection_head before;
    struct collection_head after;
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    cbench_settle(&t);
    struct door d = {.key = cbench_key(&t, 0, "to"), .other = cbench_key(&t, 0, "from")};
    cbench_fill(&t, d.other, COLLECTION_ZSET, 0, MANY);
    assert_true(cbench_is_spread(&t, d.other, &before));
    by_rename(&t, &d);
    assert_true(cbench_is_spread(&t, d.key, &after));
    assert_memory_equal(before.incarnation, after.incarnation, INCARNATION_ID_BYTES);
    assert_false(collections_may_be_spread(t.all, d.other));
    assert_int_equal(cbench_audit_clean(&t), 1);
    cbench_fill(&t, d.key, COLLECTION_ZSET, MANY, 10);
    assert_int_equal(cbench_audit_clean(&t), 1);
    cbench_close(&t);
}

/* SWAPDB, RENAME in a circle: two keys change what they hold in one transaction. */
static void two_keys_may_change_places(void **state)
{
    struct cbench t;
    struct collection_head a;
    struct collection_head b;
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    struct slice first = cbench_key(&t, 0, "first");
    struct slice second = cbench_key(&t, 0, "second");
    cbench_fill(&t, first, COLLECTION_SET, 0, MANY);
    cbench_fill(&t, second, COLLECTION_SET, 0, 2 * MANY);
    struct op ops[] = {{.kind = OP_SET, .key = first, .value = cbench_stored(&t, second).value},
                       {.kind = OP_SET, .key = second, .value = cbench_stored(&t, first).value}};
    assert_int_equal(cbench_run(&t, 0, ops, 2), OK);
    assert_true(cbench_is_spread(&t, first, &a) && cbench_is_spread(&t, second, &b));
    assert_int_equal(a.count, 2 * MANY);
    assert_int_equal(b.count, MANY);
    assert_int_equal(cbench_audit_clean(&t), 2);
    cbench_close(&t);
}

/* KV.LOAD: the key is loaded again in the same operation, as a reading that began anew says it. */
static void what_a_key_held_in_between_is_forgotten(void **state)
{
    enum { TIMES = 3 };
    struct cbench t;
    struct element elements[MANY];
    struct collection_load loads[TIMES];
    struct op ops[TIMES];
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    struct slice key = cbench_key(&t, 0, "k");
    for (unsigned i = 0; i < MANY; i++) {
        elements[i] = (struct element){.name = cbench_text(&t, "m%u", i)};
    }
    for (size_t i = 0; i < TIMES; i++) {
        loads[i] = (struct collection_load){
            .all = t.all, .to = key, .kind = COLLECTION_SET, .elements = {elements, MANY}};
        ops[i] = collection_load_op(&loads[i]);
    }
    for (int round = 0; round < 2; round++) { /* nothing is there; a spread one is */
        assert_int_equal(cbench_run(&t, 0, ops, TIMES), OK);
        assert_int_equal(cbench_audit_clean(&t), 1);
    }
    ops[TIMES - 1] = set_op(key);
    assert_int_equal(cbench_run(&t, 0, ops, TIMES), OK);
    assert_int_equal(cbench_audit_clean(&t), 0);
    cbench_close(&t);
}

static enum err rename_to(struct cbench *t, struct overlay *o, const char *from, const char *to)
{
    struct waiter w = {0};
    struct op get = {.kind = OP_EXPIRE, .key = cbench_key(t, 0, from), .ttl = TTL_NONE};
    struct entry entry;
    enum err r = engine_get(t->g, o, get.key, &entry, &w, &t->e);
    if (r != OK) return r;
    struct op ops[] = {{.kind = OP_SET, .key = cbench_key(t, 0, to), .value = entry.value},
                       {.kind = OP_DELETE, .key = get.key}};
    struct txn txn = {.overlay = o, .ops = ops, .count = 2, .arena = &t->arena};
    return engine_commit(t->g, &txn, &w, &t->e);
}

static enum err there_and_back(struct cbench *t, struct overlay *o, void *arg)
{
    struct door d = {.key = cbench_key(t, 0, "k"), .kind = COLLECTION_ZSET};
    (void)arg;
    enum err r = rename_to(t, o, "y", "k");
    if (r == OK) r = rename_to(t, o, "k", "z");
    if (r == OK) r = cbench_evaluate(t, o, 0, store, &d);
    return r == OK ? rename_to(t, o, "z", "k") : r;
}

/* A key that a collection came to and left again in one transaction holds another at its end. */
static void a_key_that_holds_one_is_known_whatever_passed_through_it(void **state)
{
    struct cbench t;
    size_t memory = 0;
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    cbench_settle(&t);
    cbench_fill(&t, cbench_key(&t, 0, "y"), COLLECTION_SET, 0, MANY);
    assert_int_equal(cbench_transact(&t, there_and_back, NULL), OK);
    assert_true(collections_may_be_spread(t.all, cbench_key(&t, 0, "k")));
    assert_int_equal(collections_spread(t.all, &memory), 1);
    assert_int_equal(cbench_audit_clean(&t), 1);
    struct op away = {.kind = OP_DELETE, .key = cbench_key(&t, 0, "k")};
    assert_int_equal(cbench_run(&t, 0, &away, 1), OK);
    assert_int_equal(collections_spread(t.all, &memory), 0);
    assert_int_equal(cbench_audit_clean(&t), 0);
    cbench_close(&t);
}

/* Before the owner rows are read, and after the first of them were. */
static void what_changes_while_owners_are_read_is_counted_once(void **state)
{
    enum { BEFORE = 6000 }; /* more than are read in one turn */
    struct cbench t;
    size_t memory = 0;
    (void)state;
    cbench_open(&t, 0); /* each is spread */
    struct element one = {.name = slice_str("one")};
    struct collection_load *loads = arena_alloc(&t.arena, BEFORE * sizeof *loads);
    struct op *ops = arena_alloc(&t.arena, BEFORE * sizeof *ops);
    for (int i = 0; i < BEFORE; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        loads[i] = (struct collection_load){.all = t.all,
                                            .to = cbench_key(&t, 0, name),
                                            .kind = COLLECTION_SET,
                                            .elements = {&one, 1}};
        ops[i] = collection_load_op(&loads[i]);
    }
    assert_int_equal(cbench_run(&t, 0, ops, BEFORE / 2), OK);
    assert_int_equal(cbench_run(&t, 0, ops + BEFORE / 2, BEFORE / 2), OK);
    cbench_restart(&t);
    for (int turn = 0; turn < 2; turn++) {
        cbench_fill(&t, cbench_key(&t, 0, turn == 0 ? "first" : "second"), COLLECTION_SET, 0, 1);
        struct op away[] = {
            {.kind = OP_DELETE, .key = cbench_key(&t, 0, turn == 0 ? "k0" : "k1")},
            {.kind = OP_DELETE, .key = cbench_key(&t, 0, turn == 0 ? "k5998" : "k5999")}};
        assert_int_equal(cbench_run(&t, 0, away, 2), OK);
        assert_false(engine_start_is_read(t.g, SPACE_COLLECTION, 0));
        cbench_turn(&t);
    }
    cbench_settle(&t);
    assert_true(engine_start_is_read(t.g, SPACE_COLLECTION, 0));
    assert_int_equal(collections_spread(t.all, &memory), BEFORE - 2);
    assert_false(collections_may_be_spread(t.all, cbench_key(&t, 0, "k5999")));
    assert_true(collections_may_be_spread(t.all, cbench_key(&t, 0, "second")));
    assert_int_equal(cbench_audit_clean(&t), BEFORE - 2);
    cbench_close(&t);
}

/* ---- what is new ---- */

static enum err fill_and_walk(struct cbench *t, struct view *v, void *arg)
{
    struct walk_range all = {.is_reverse = false};
    struct element_walk w;
    struct collection c;
    struct element x;
    unsigned *attempts = arg;
    bool is_end = false;
    bool was_there = false;
    ++*attempts;
    enum err r = collection_open(t->all, v, cbench_key(t, 0, "k"), COLLECTION_SET, &c, &t->e);
    for (unsigned i = 0; i < MANY && r == OK; i++) {
        x = (struct element){.name = cbench_text(t, "m%u", i)};
        r = collection_put(&c, &x, &was_there, NULL, &t->e);
    }
    for (unsigned i = 0; i < MANY && r == OK; i++) {
        r = collection_find(&c, cbench_text(t, "other%u", i), &was_there, &x, &t->e);
        assert_false(was_there);
    }
    if (r == OK) r = element_walk_begin(&w, &c, &all, &t->e);
    if (r != OK) return r;
    for (unsigned i = 0; r == OK && !is_end; i++) {
        r = element_walk_next(&w, &x, &is_end, &t->e);
        if (r == OK && is_end) assert_int_equal(i, MANY);
    }
    element_walk_end(&w);
    return r == OK ? collection_save(&c, &t->e) : r;
}

/* Each attempt of a transaction makes another incarnation where others commit in between: if its
 * rows had to be read, it would never end. */
static void what_a_transaction_made_itself_is_not_read(void **state)
{
    struct cbench t;
    struct late_options late = {.seed = 1, .wait_percent = 100};
    unsigned attempts = 0;
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    cbench_settle(&t);
    t.rig.late = late_new(&late);
    cbench_restart(&t);
    assert_int_equal(cbench_commit(&t, fill_and_walk, &attempts), OK);
    assert_in_range(attempts, 1, 3);
    assert_int_equal(cbench_audit_clean(&t), 1);
    struct late *l = t.rig.late;
    cbench_close(&t);
    late_free(l);
}

/* ---- dumps ---- */

static enum err restore(struct cbench *t, struct slice key, struct slice head)
{
    struct collection_restore x = {.all = t->all, .to = key, .head = head};
    struct op op = collection_restore_op(&x);
    return cbench_run(t, 0, &op, 1);
}

static void a_dump_that_is_damaged_restores_nothing(void **state)
{
    struct cbench t;
    (void)state;
    cbench_open(&t, PACK_BYTES_DEFAULT);
    struct slice to = cbench_key(&t, 0, "to");
    for (size_t k = 0; k < KINDS; k++) {
        struct door d = {.other = cbench_key(&t, 0, collection_kind_name(kinds[k]))};
        cbench_fill(&t, d.other, kinds[k], 0, 3);
        struct entry entry = cbench_stored(&t, d.other);
        for (size_t len = 0; len < entry.value.len; len++) {
            assert_int_equal(restore(&t, to, slice_of(entry.value.data, len)), ERR_VALUE);
        }
        assert_int_equal(restore(&t, to, entry.value), OK);
        assert_true(slice_eq(cbench_stored(&t, to).value, entry.value));
        struct op away = {.kind = OP_DELETE, .key = to};
        assert_int_equal(cbench_run(&t, 0, &away, 1), OK);
        cbench_fill(&t, d.other, kinds[k], 3, MANY);
        assert_int_equal(restore(&t, to, cbench_stored(&t, d.other).value), ERR_VALUE);
        assert_false(cbench_stored(&t, to).exists);
    }
    cbench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_stays_of_a_collection_by_whatever_door_it_goes),
        cmocka_unit_test(nor_after_a_start_or_a_crash_or_before_the_owners_are_known),
        cmocka_unit_test(only_keys_of_spread_collections_may_have_one),
        cmocka_unit_test(a_rename_keeps_the_incarnation),
        cmocka_unit_test(two_keys_may_change_places),
        cmocka_unit_test(what_a_key_held_in_between_is_forgotten),
        cmocka_unit_test(a_key_that_holds_one_is_known_whatever_passed_through_it),
        cmocka_unit_test(what_changes_while_owners_are_read_is_counted_once),
        cmocka_unit_test(what_a_transaction_made_itself_is_not_read),
        cmocka_unit_test(a_dump_that_is_damaged_restores_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
