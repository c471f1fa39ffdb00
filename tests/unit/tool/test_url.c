/* url: where a server is, and what is no URL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tool/wire.h"

static struct arena arena;
static struct wire_options o;
static struct error e;

static enum err read_url(const char *url)
{
    arena_reset(&arena);
    o = (struct wire_options){.host = NULL};
    e.text[0] = '\0';
    return wire_url_read(url, &arena, &o, &e);
}

static void is_at(const char *url, const char *place)
{
    char got[WIRE_WHY_BYTES];
    assert_int_equal(read_url(url), OK);
    wire_place(&o, got);
    assert_string_equal(got, place);
}

static void refused(const char *url, const char *why)
{
    assert_int_equal(read_url(url), ERR_SYNTAX);
    assert_non_null(strstr(e.text, why));
}

static void a_host_and_a_port(void **state)
{
    is_at("redis://db.example:7000", "db.example:7000");
    is_at("redis://db.example", "db.example:6379");
    is_at("redis://", "127.0.0.1:6379");
    is_at("REDIS://:7000", "127.0.0.1:7000");
    is_at("redis://db.example:7000/", "db.example:7000");
    assert_null(o.database);
    assert_false(o.is_tls);
    is_at("rediss://db.example", "db.example:6379");
    assert_true(o.is_tls);
}

static void an_address_of_ipv6(void **state)
{
    is_at("redis://[::1]", "[::1]:6379");
    is_at("redis://[fe80::2]:7000/3", "[fe80::2]:7000");
    assert_string_equal(o.host, "fe80::2");
    assert_string_equal(o.database, "3");
    refused("redis://[::1", "without a ]");
    refused("redis://[::1]7000", "after its ]");
}

static void a_user_and_a_password(void **state)
{
    is_at("redis://ann:s3cret@h/shop", "h:6379");
    assert_string_equal(o.user, "ann");
    assert_string_equal(o.password, "s3cret");
    assert_string_equal(o.database, "shop");
    is_at("redis://:s3cret@h", "h:6379");
    assert_null(o.user);
    assert_string_equal(o.password, "s3cret");
    is_at("redis://ann@h", "h:6379");
    assert_null(o.password);
    is_at("redis://ann:@h", "h:6379");
    assert_string_equal(o.password, "");
    /* Of several @ and :, the last and the first count. */
    is_at("redis://ann:a@b:c@h:1", "h:1");
    assert_string_equal(o.password, "a@b:c");
}

static void bytes_in_hex(void **state)
{
    is_at("redis://a%6En:%40%2f%3A%25@h", "h:6379");
    assert_string_equal(o.user, "ann");
    assert_string_equal(o.password, "@/:%");
    refused("redis://:a%4@h", "password");
    refused("redis://:a%@h", "password");
    refused("redis://:a%zz@h", "password");
    refused("redis://:a%00b@h", "password");
    refused("redis://%g0:a@h", "user");
    refused("redis://h/%x1", "database");
    refused("redis://%h", "host");
}

static void a_unix_socket(void **state)
{
    is_at("unix:///run/tupled.sock", "/run/tupled.sock");
    assert_null(o.database);
    is_at("unix:///run/a%20b?db=shop", "/run/a b");
    assert_string_equal(o.database, "shop");
    is_at("unix://ann:pw@/run/s", "/run/s");
    assert_string_equal(o.user, "ann");
    refused("unix://run/s", "path");
    refused("unix://", "path");
    refused("unix:///run/s?base=1", "after its ?");
    refused("unix:///run/s?db=", "after its ?");
}

static void what_is_none(void **state)
{
    refused("", "does not begin");
    refused("localhost:6379", "does not begin");
    refused("http://localhost", "does not begin");
    refused("redis://h:0", "port");
    refused("redis://h:65536", "port");
    refused("redis://h:6379x", "port");
    refused("redis://h:-1", "port");
}

static int set_up(void **state)
{
    arena_init(&arena, 1024);
    return 0;
}

static int tear_down(void **state)
{
    arena_fini(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_and_a_port),     cmocka_unit_test(an_address_of_ipv6),
        cmocka_unit_test(a_user_and_a_password), cmocka_unit_test(bytes_in_hex),
        cmocka_unit_test(a_unix_socket),         cmocka_unit_test(what_is_none),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
