/* origin: which pages of a browser may talk to the server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "http/origin.h"

/* A request as a browser, or something else, makes it. NULL = the header is not there. */
struct asked {
    const char *host, *origin, *site, *referer, *authorization, *mode, *dest;
    enum http_method method; /* 0 = GET */
    bool is_secure, is_open, may_act, is_static;
};

static struct origin_rules rules;
static char cors_text[100];

static void add(struct http_message *m, const char *name, const char *value)
{
    if (value == NULL) return;
    m->headers[m->header_count++] = (struct http_header){slice_str(name), slice_str(value)};
}

/* The status; cors_text is the origin that may read the answer, "" = none. */
static int status_of(const struct asked *a)
{
    struct http_message m = {.method = a->method != 0 ? a->method : HTTP_GET};
    struct slice cors;
    add(&m, "Origin", a->origin);
    add(&m, "Sec-Fetch-Site", a->site);
    add(&m, "Referer", a->referer);
    add(&m, "Authorization", a->authorization);
    add(&m, "Sec-Fetch-Mode", a->mode);
    add(&m, "Sec-Fetch-Dest", a->dest);
    struct origin_asked asked = {.message = &m,
                                 .host = a->host == NULL ? slice_of(NULL, 0) : slice_str(a->host),
                                 .is_secure = a->is_secure,
                                 .is_open = a->is_open,
                                 .may_act = a->may_act,
                                 .is_static = a->is_static};
    struct http_refusal no = origin_check(&rules, &asked, &cors);
    assert_int_equal(no.status == 0, no.text == NULL);
    snprintf(cors_text, sizeof cors_text, "%.*s", (int)cors.len, (const char *)cors.data);
    if (no.status != 0) return no.status;
    return 0;
}

#define STATUS(...) status_of(&(struct asked){__VA_ARGS__})

static int set_rules(void **state)
{
    rules = (struct origin_rules){.allowed_hosts = "db.example.com  other.example:8080",
                                  .allowed_origins = "https://app.example.com http://x:1",
                                  .own_name = "machine"};
    return 0;
}

static void a_list_has_whole_words(void **state)
{
    assert_true(origin_list_has("a bc\td", slice_str("BC")));
    assert_true(origin_list_has("  a ", slice_str("a")));
    assert_true(origin_list_has("a d", slice_str("d")));
    assert_false(origin_list_has("a bc", slice_str("b")));
    assert_false(origin_list_has("a bc", slice_str("a bc")));
    assert_false(origin_list_has("", slice_str("")));
    assert_false(origin_list_has("a  b", slice_str("")));
}

static void only_known_hosts_are_served(void **state)
{
    static const char *const good[] = {"127.0.0.1",
                                       "127.0.0.1:80",
                                       "10.1.2.3:4512",
                                       "[::1]:4512",
                                       "[::1]",
                                       "localhost",
                                       "LocalHost:4512",
                                       "machine",
                                       "MACHINE:1",
                                       "db.example.com",
                                       "db.example.com:4512",
                                       "DB.EXAMPLE.COM",
                                       "other.example:8080"};
    static const char *const bad[] = {"evil.example",
                                      "evil.example:4512",
                                      "",
                                      ":80",
                                      "localhost.evil.example",
                                      "evil-localhost",
                                      "127.0.0.1.evil.example",
                                      "machine.evil",
                                      "xdb.example.com",
                                      "db.example.com.evil",
                                      "other.example",
                                      "other.example:80",
                                      "[::1",
                                      "[evil]",
                                      "[]",
                                      "1.2.3",
                                      "2130706433",
                                      "0x7f.1"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (STATUS(.host = good[i]) != 0) fail_msg("%s is refused", good[i]);
        if (STATUS(.host = good[i], .method = HTTP_POST) != 0) fail_msg("%s is refused", good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (STATUS(.host = bad[i]) != 421) fail_msg("%s is not refused", bad[i]);
        if (STATUS(.host = bad[i], .is_static = true) != 421) fail_msg("%s: static", bad[i]);
        if (STATUS(.host = bad[i], .is_open = true) != 0) fail_msg("%s: open", bad[i]);
    }
    assert_int_equal(STATUS(.host = NULL), 0); /* HTTP/1.0: no browser */
}

/* A machine without a name is not called "". */
static void no_name_is_nobodys(void **state)
{
    rules.own_name = "";
    assert_int_equal(STATUS(.host = ""), 421);
    assert_int_equal(STATUS(.host = ":80"), 421);
}

static void the_servers_own_pages_may(void **state)
{
    static const enum http_method methods[] = {HTTP_GET, HTTP_POST, HTTP_DELETE, HTTP_OPTIONS};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(STATUS(.host = "localhost:4512", .origin = "http://localhost:4512",
                                .site = "same-origin", .method = methods[i], .may_act = true),
                         0);
        assert_string_equal(cors_text, "");
    }
    assert_int_equal(STATUS(.host = "localhost", .origin = "https://localhost", .is_secure = true),
                     0);
    assert_int_equal(STATUS(.host = "localhost", .origin = "HTTP://LOCALHOST"), 0);
}

static void other_pages_may_not(void **state)
{
    static const char *const others[] = {"http://evil.example",
                                         "http://localhost:1",
                                         "http://localhost",
                                         "https://localhost:4512",
                                         "localhost:4512",
                                         "http://",
                                         "null",
                                         "NULL",
                                         "",
                                         "http://localhost:45122",
                                         "https://app.example.co",
                                         "https://app.example.com:1",
                                         "http://app.example.com"};
    static const enum http_method methods[] = {HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_OPTIONS};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        for (size_t k = 0; k < 4; k++) {
            int status = STATUS(.host = "localhost:4512", .origin = others[i], .method = methods[k],
                                .authorization = "Bearer x");
            if (status != 403) fail_msg("%s: %d", others[i], status);
            assert_string_equal(cors_text, "");
        }
    }
    assert_int_equal(STATUS(.host = "localhost", .origin = "http://localhost", .is_secure = true),
                     403);
}

static void listed_origins_may_read(void **state)
{
    assert_int_equal(STATUS(.host = "localhost", .origin = "https://app.example.com",
                            .site = "cross-site", .method = HTTP_POST),
                     0);
    assert_string_equal(cors_text, "https://app.example.com");
    assert_int_equal(STATUS(.host = "localhost", .origin = "HTTP://X:1", .may_act = true), 0);
    assert_string_equal(cors_text, "HTTP://X:1");
    assert_int_equal(STATUS(.host = "evil", .origin = "https://app.example.com"), 421);
}

static void a_star_lists_all_but_null(void **state)
{
    rules.allowed_origins = "*";
    assert_int_equal(STATUS(.host = "localhost", .origin = "http://any", .site = "cross-site"), 0);
    assert_string_equal(cors_text, "http://any");
    assert_int_equal(STATUS(.host = "localhost", .origin = "null"), 403);
    assert_int_equal(STATUS(.host = "localhost", .origin = "Null"), 403);
    rules.allowed_origins = "null";
    assert_int_equal(STATUS(.host = "localhost", .origin = "null"), 403);
    /* Without an Origin there is no page that could be allowed. */
    rules.allowed_origins = "*";
    assert_int_equal(STATUS(.host = "localhost", .site = "cross-site"), 403);
}

static void requests_of_another_site_are_refused(void **state)
{
    assert_int_equal(STATUS(.host = "localhost", .site = "cross-site"), 403);
    assert_int_equal(STATUS(.host = "localhost", .site = "Cross-Site", .method = HTTP_POST), 403);
    assert_int_equal(STATUS(.host = "localhost", .site = "cross-site", .is_static = true), 0);
    assert_int_equal(
        STATUS(.host = "localhost", .site = "cross-site", .is_static = true, .method = HTTP_HEAD),
        0);
    assert_int_equal(
        STATUS(.host = "localhost", .site = "cross-site", .is_static = true, .method = HTTP_POST),
        403);
    assert_int_equal(STATUS(.host = "localhost", .site = "cross-site", .is_open = true), 0);
    assert_int_equal(STATUS(.host = "localhost", .site = "same-site"), 0);
    assert_int_equal(STATUS(.host = "localhost", .site = "none"), 0);
}

/* An image of a foreign page is a GET without Origin. */
static void a_get_that_acts_must_not_be_what_a_page_embeds(void **state)
{
    assert_int_equal(STATUS(.host = "localhost", .may_act = true), 0);
    assert_int_equal(STATUS(.host = "localhost", .may_act = true, .site = "same-origin"), 0);
    assert_int_equal(STATUS(.host = "localhost", .may_act = true, .site = "none"), 0);
    assert_int_equal(STATUS(.host = "localhost", .may_act = true, .site = "same-site"), 403);
    assert_int_equal(STATUS(.host = "localhost", .may_act = true, .site = ""), 403);
    assert_int_equal(STATUS(.host = "localhost", .may_act = true, .referer = "http://evil/"), 403);
    assert_int_equal(STATUS(.host = "localhost", .may_act = true, .mode = "no-cors"), 403);
    assert_int_equal(STATUS(.host = "localhost", .may_act = true, .dest = "image"), 403);
    assert_int_equal(STATUS(.host = "localhost", .may_act = true, .referer = "http://localhost/",
                            .site = "same-origin"),
                     0);
    assert_int_equal(STATUS(.host = "localhost", .may_act = true, .referer = "http://localhost/",
                            .method = HTTP_HEAD),
                     403);
    assert_int_equal(STATUS(.host = "localhost", .may_act = true, .site = "same-site",
                            .authorization = "Bearer x"),
                     0);
    assert_int_equal(STATUS(.host = "localhost", .may_act = false, .site = "same-site"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_has_whole_words),
        cmocka_unit_test_setup(only_known_hosts_are_served, set_rules),
        cmocka_unit_test_setup(no_name_is_nobodys, set_rules),
        cmocka_unit_test_setup(the_servers_own_pages_may, set_rules),
        cmocka_unit_test_setup(other_pages_may_not, set_rules),
        cmocka_unit_test_setup(listed_origins_may_read, set_rules),
        cmocka_unit_test_setup(a_star_lists_all_but_null, set_rules),
        cmocka_unit_test_setup(requests_of_another_site_are_refused, set_rules),
        cmocka_unit_test_setup(a_get_that_acts_must_not_be_what_a_page_embeds, set_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
