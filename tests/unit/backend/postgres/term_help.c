/* term_help: see term_help.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/backend/postgres/term_help.h"

int64_t term_fresh_id(void)
{
    static int64_t id = 1000; /* pg_rig_fresh counts from 1 */
    if (!pg_server_can()) skip();
    return ++id;
}

struct term *term_node_at(const char *url, int64_t id, const char *name)
{
    struct error e;
    struct term *t = NULL;
    enum err r = term_open(&(struct term_options){.url = url,
                                                  .id = id,
                                                  .name = name,
                                                  .address = "127.0.0.1:1",
                                                  .lease_ms = LEASE_MS,
                                                  .call_ms = 60000,
                                                  .durability = TERM_PROVIDER},
                           &t, &e);
    if (r != OK) fail_msg("%s", e.text);
    return t;
}

struct term *term_node(int64_t id, const char *name)
{
    return term_node_at(pg_shared.url, id, name);
}

void term_expect_leads(struct term *t)
{
    struct error e;
    enum err r = term_try(t, &e);
    if (r != OK) fail_msg("%s", e.text);
    assert_true(term_has_lease(t));
}
