#include "unit/backend/postgres/pg_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"

#define TRIES 500

/* Who was abandoned did not hand over: its lease must end first. */
static enum err lead(struct pg_rig *p, struct error *e)
{
    int64_t lease_ms = p->lease_ms != 0 ? p->lease_ms : 60;
    struct term_options o = {.url = p->server->url,
                             .id = p->id,
                             .name = "test",
                             .address = "",
                             .lease_ms = lease_ms,
                             .call_ms = 60000,
                             .durability = p->is_quorum ? TERM_QUORUM : TERM_PROVIDER};
    enum err r = term_open(&o, &p->term, e);
    for (int i = 0; r == OK && i < TRIES; i++) {
        r = term_try(p->term, e);
        if (r != ERR_WAIT) return r;
        r = OK;
        clock_sleep_us(lease_ms * 100);
    }
    return r;
}

static enum err pg_rig_open(struct rig *r, struct journal **journal, struct store **store,
                            struct error *e)
{
    struct pg_rig *p = r->open_arg;
    enum err result = lead(p, e);
    struct postgres_options o = {.term = p->term,
                                 .lease_ms = p->lease_ms != 0 ? p->lease_ms : 60,
                                 .retention_ms = p->retention_ms,
                                 .retention_bytes = p->retention_bytes,
                                 .batch_bytes = p->batch_bytes,
                                 .slice_bytes = p->slice_bytes,
                                 .nearby = &local_nearby,
                                 .text_ops = r->local.text_ops};
    return result == OK ? postgres_open(&o, journal, store, e) : result;
}

void pg_rig_init(struct rig *r, struct pg_rig *p)
{
    rig_init(r);
    r->open = pg_rig_open;
    r->open_arg = p;
}

struct pg_rig pg_rig_fresh(void)
{
    static int64_t id;
    if (!pg_server_can()) skip();
    return (struct pg_rig){.server = &pg_shared, .id = ++id};
}
