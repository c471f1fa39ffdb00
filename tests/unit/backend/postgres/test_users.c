/* Users in PostgreSQL: one text, which only the node that leads writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "backend/postgres/pg_users.h"
#include "unit/backend/postgres/pg_server.h"

static struct term *leader(int64_t id)
{
    struct error e;
    struct term *t = NULL;
    if (!pg_server_can()) skip();
    struct term_options o = {.url = pg_shared.url,
                             .id = id,
                             .name = "test",
                             .address = "",
                             .lease_ms = 60000,
                             .call_ms = 5000,
                             .durability = TERM_PROVIDER};
    if (term_open(&o, &t, &e) != OK) fail_msg("%s", e.text);
    if (term_try(t, &e) != OK) fail_msg("%s", e.text);
    return t;
}

static void expect_text(struct pg_users *u, uint64_t *generation, const char *wanted)
{
    struct buf text;
    struct error e;
    buf_init(&text);
    assert_int_equal(pg_users_read(u, generation, &text, &e), OK);
    assert_int_equal(text.len, strlen(wanted));
    if (text.len > 0) assert_memory_equal(text.data, wanted, text.len);
    buf_fini(&text);
}

static void the_first_text_stays_until_it_is_changed(void **state)
{
    struct term *t = leader(1);
    struct pg_users *u = pg_users_new(t);
    uint64_t generation = 0;
    struct error e;
    (void)state;
    expect_text(u, &generation, "");
    assert_int_equal(generation, 0);
    assert_int_equal(pg_users_fill(u, slice_str("first"), &e), OK);
    assert_int_equal(pg_users_fill(u, slice_str("second"), &e), OK);
    expect_text(u, &generation, "first");
    uint64_t before = generation;
    expect_text(u, &generation, ""); /* nothing new */
    assert_int_equal(generation, before);
    assert_int_equal(pg_users_write(u, slice_str("third"), &e), OK);
    expect_text(u, &generation, "third");
    assert_true(generation > before);
    pg_users_free(u);
    term_free(t);
}

static void who_was_followed_writes_nothing(void **state)
{
    struct term *a = leader(2);
    struct pg_users *of_a = pg_users_new(a);
    uint64_t generation = 0;
    struct error e;
    (void)state;
    assert_int_equal(pg_users_fill(of_a, slice_str("of a"), &e), OK);
    term_hand_over(a);
    struct term *b = leader(2);
    struct pg_users *of_b = pg_users_new(b);
    assert_int_equal(pg_users_write(of_b, slice_str("of b"), &e), OK);
    assert_int_equal(pg_users_write(of_a, slice_str("of a again"), &e), ERR_TRYAGAIN);
    expect_text(of_a, &generation, "of b");
    pg_users_free(of_a);
    pg_users_free(of_b);
    term_free(a);
    term_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_text_stays_until_it_is_changed),
        cmocka_unit_test(who_was_followed_writes_nothing),
    };
    return cmocka_run_group_tests(tests, pg_shared_start, pg_shared_stop);
}
