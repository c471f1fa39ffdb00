#include "unit/database/database_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"
#include "codec/key.h"
#include "unit/db/db_help.h"

static void catalog_engine(struct catalog *t)
{
    struct engine_options options = small_engine(t->rig.b);
    t->g = engine_new(&options);
    t->x = databases_new(t->g, FIXED);
}

int catalog_enter(void **state)
{
    static struct catalog bench;
    bench = (struct catalog){.e = {.text = ""}};
    clock_set_fake_ms(START_MS);
    rig_init(&bench.rig);
    rig_open(&bench.rig);
    arena_init(&bench.arena, 4096);
    catalog_engine(&bench);
    *state = &bench;
    return 0;
}

static void catalog_end(struct catalog *t)
{
    databases_free(t->x);
    engine_free(t->g);
    rig_close(&t->rig);
}

int catalog_leave(void **state)
{
    struct catalog *t = *state;
    catalog_end(t);
    rig_fini(&t->rig);
    arena_fini(&t->arena);
    clock_set_fake_ms(0);
    return 0;
}

void catalog_restart(struct catalog *t)
{
    catalog_end(t);
    rig_open(&t->rig);
    catalog_engine(t);
}

void catalog_tick(struct catalog *t)
{
    engine_tick(t->g);
    databases_tick(t->x);
    rig_step(&t->rig);
}

static void on_ready(struct waiter *w)
{
    (void)w;
}

enum err catalog_commit(struct catalog *t, struct txn *txn)
{
    struct waiter w = {.ready = on_ready};
    txn->arena = &t->arena;
    for (int i = 0; i < STEPS_MAX; i++) {
        enum err r = engine_commit(t->g, txn, &w, &t->e);
        waiter_cancel(&w);
        if (r != ERR_WAIT) {
            backend_run_over(t->rig.b, &w);
            return r;
        }
        catalog_tick(t);
    }
    fail_msg("it waits for ever: %s", t->e.text);
    return ERR_WAIT;
}

enum err catalog_change(struct catalog *t, struct database_op *o)
{
    struct op op = database_op(o);
    struct txn txn = {.database = DATABASE_CATALOG, .ops = &op, .count = 1};
    o->databases = t->x;
    return catalog_commit(t, &txn);
}

uint16_t catalog_create(struct catalog *t, const char *name, struct database_limits limits)
{
    struct database_op o = {.change = DATABASE_CREATE, .name = slice_str(name), .limits = limits};
    if (catalog_change(t, &o) != OK) fail_msg("%s", t->e.text);
    return o.number;
}

enum err catalog_rename(struct catalog *t, uint16_t number, const char *name)
{
    struct database_op o = {.change = DATABASE_RENAME, .number = number, .name = slice_str(name)};
    return catalog_change(t, &o);
}

enum err catalog_drop(struct catalog *t, uint16_t number)
{
    struct database_op o = {.change = DATABASE_DROP, .number = number};
    return catalog_change(t, &o);
}

enum err catalog_put(struct catalog *t, uint16_t database, const char *key, const char *value)
{
    struct buf at = {0};
    engine_key_begin(&at, database);
    key_add_string(&at, slice_str(key));
    struct op op = {.kind = value != NULL ? OP_SET : OP_DELETE,
                    .key = arena_copy(&t->arena, buf_slice(&at))};
    struct txn txn = {.database = database, .ops = &op, .count = 1};
    if (value != NULL) op.value = slice_str(value);
    buf_fini(&at);
    return catalog_commit(t, &txn);
}
