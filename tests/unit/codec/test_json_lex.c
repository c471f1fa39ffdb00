/* json_lex: strings of every length, with each byte that matters at each place: where words of 4, 8
 * and 16 bytes meet, nothing is overlooked and nothing beyond the text is looked at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/json_lex.h"

#define LENGTH_MAX 80

/* The bytes in memory of exactly that size, so that a sanitizer sees who reads beyond. */
static struct slice exactly(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len > 0 ? len : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    return slice_of(copy, len);
}

static void forget(struct slice s)
{
    free(bytes_unconst(s.data));
}

/* What RFC 8259 wants, byte by byte. */
static size_t quoted(const uint8_t *p, size_t len, char *out)
{
    size_t at = 0;
    out[at++] = '"';
    for (size_t i = 0; i < len; i++) {
        if (p[i] == '"' || p[i] == '\\') out[at++] = '\\';
        if (p[i] == '\n') {
            memcpy(out + at, "\\n", 2);
            at += 2;
        } else if (p[i] < 0x20) {
            at += (size_t)sprintf(out + at, "\\u%04x", p[i]);
        } else {
            out[at++] = (char)p[i];
        }
    }
    out[at++] = '"';
    return at;
}

static void check_write(const uint8_t *text, size_t len)
{
    char wanted[LENGTH_MAX * 6 + 3];
    struct buf out;
    size_t size = quoted(text, len, wanted);
    struct slice s = exactly(text, len);
    buf_init(&out);
    buf_append_str(&out, "x");
    json_string_write(s, &out);
    assert_int_equal(out.len, size + 1);
    assert_memory_equal(out.data + 1, wanted, size);
    buf_fini(&out);
    forget(s);
}

static const uint8_t bytes_that_matter[] = {'"', '\\', 0x00, '\n', 0x1f, ' ',
                                            '!', '#',  '[',  ']',  0x7f};

static void strings_are_written(void **state)
{
    uint8_t text[LENGTH_MAX];
    (void)state;
    for (size_t len = 0; len <= LENGTH_MAX; len++) {
        for (size_t i = 0; i < len; i++) text[i] = (uint8_t)('a' + i % 26);
        check_write(text, len);
        for (size_t place = 0; place < len; place++) {
            uint8_t before = text[place];
            for (size_t b = 0; b < sizeof bytes_that_matter; b++) {
                text[place] = bytes_that_matter[b];
                check_write(text, len);
            }
            text[place] = before;
        }
    }
}

/* A string whose quote, or what may not be in it, is at each place. */
static void strings_are_read(void **state)
{
    uint8_t text[LENGTH_MAX + 2];
    (void)state;
    for (size_t len = 0; len <= LENGTH_MAX; len++) {
        for (size_t after = 0; after < 20 && len + after <= LENGTH_MAX; after++) {
            memset(text, 'a', sizeof text);
            text[0] = '"';
            text[len + 1] = '"';
            struct slice s = exactly(text, len + 2 + (len + 2 + after <= sizeof text ? after : 0));
            struct error e;
            struct json j = {.start = s.data,
                             .at = s.data,
                             .end = s.data + s.len,
                             .code = ERR_VALUE,
                             .subject = "invalid value",
                             .e = &e};
            struct slice raw;
            bool has_escape = true;
            assert_true(json_string_scan(&j, &raw, &has_escape));
            assert_false(has_escape);
            assert_int_equal(raw.len, len);
            assert_ptr_equal(j.at, s.data + len + 2);
            forget(s);
        }
    }
}

static void what_may_not_be_in_a_string_is_found(void **state)
{
    static const struct {
        uint8_t byte;
        const char *what;
    } cases[] = {{0x1f, "control character"},
                 {0x00, "control character"},
                 {0xff, "not UTF-8"},
                 {0x80, "not UTF-8"}};
    uint8_t text[LENGTH_MAX + 2];
    (void)state;
    for (size_t len = 1; len <= LENGTH_MAX; len++) {
        for (size_t place = 0; place < len; place++) {
            for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
                memset(text, 'a', sizeof text);
                text[0] = text[len + 1] = '"';
                text[place + 1] = cases[k].byte;
                struct slice s = exactly(text, len + 2);
                struct error e = {0};
                struct json j = {.start = s.data,
                                 .at = s.data,
                                 .end = s.data + s.len,
                                 .code = ERR_VALUE,
                                 .subject = "invalid value",
                                 .e = &e};
                struct slice raw;
                bool has_escape = false;
                char where[32];
                assert_false(json_string_scan(&j, &raw, &has_escape));
                assert_non_null(strstr(e.text, cases[k].what));
                snprintf(where, sizeof where, "at offset %zu", place + 1);
                assert_non_null(strstr(e.text, where));
                forget(s);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_written),
        cmocka_unit_test(strings_are_read),
        cmocka_unit_test(what_may_not_be_in_a_string_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
