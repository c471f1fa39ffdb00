/* filter_test: values and filters as JSON text. */
#ifndef FILTER_TEST_H
#define FILTER_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "codec/value.h"
#include "filter/filter.h"

/* Text with ' for " (a test is easier to read so); good until the eighth next call. */
__attribute__((unused)) static const char *quoted(const char *text)
{
    static char rooms[8][4096];
    static unsigned turn;
    char *room = rooms[turn++ % 8];
    snprintf(room, sizeof rooms[0], "%s", text);
    for (char *p = room; *p != '\0'; p++) {
        if (*p == '\'') *p = '"';
    }
    return room;
}

/* The stored bytes of a value, appended. */
__attribute__((unused)) static void pack_json(const char *json, struct buf *out)
{
    struct error e;
    if (value_from_json(slice_str(json), NULL, out, &e) != OK) fail_msg("%s: %s", json, e.text);
    assert_int_equal(OK, value_check(buf_slice(out), &e));
}

/* Hex with blanks allowed -> stored bytes, appended. */
__attribute__((unused)) static void pack_hex(const char *hex, struct buf *out)
{
    struct error e;
    for (const char *p = hex; *p != '\0';) {
        char digits[3] = {0};
        if (*p == ' ') {
            p++;
            continue;
        }
        memcpy(digits, p, 2);
        buf_append_byte(out, (uint8_t)strtoul(digits, NULL, 16));
        p += 2;
    }
    if (value_check(buf_slice(out), &e) != OK) fail_msg("%s: %s", hex, e.text);
}

#define NOW_MS INT64_C(1700000000000)

__attribute__((unused)) static struct error e;

__attribute__((unused)) static struct filter *compile_text(struct slice text)
{
    struct filter *f = NULL;
    e.text[0] = '\0';
    enum err err = filter_compile(text, NOW_MS, &f, &e);
    if (err == OK) return f;
    assert_null(f);
    assert_int_equal(err, e.code);
    assert_true(strncmp(e.text, "where: ", 7) == 0);
    return NULL;
}

__attribute__((unused)) static const char *ask(struct slice where, struct slice value)
{
    struct filter *f = compile_text(where);
    if (f == NULL) return e.text;
    bool is_match = filter_matches(f, value);
    filter_unref(f);
    return is_match ? "yes" : "no";
}

/* "yes", "no" or the error; both texts with ' for ". */
__attribute__((unused)) static const char *match(const char *value, const char *where)
{
    struct buf packed = {0};
    pack_json(quoted(value), &packed);
    const char *answer = ask(slice_str(quoted(where)), buf_slice(&packed));
    buf_fini(&packed);
    return answer;
}

__attribute__((unused)) static const char *match_hex(const char *hex, const char *where)
{
    struct buf packed = {0};
    pack_hex(hex, &packed);
    const char *answer = ask(slice_str(quoted(where)), buf_slice(&packed));
    buf_fini(&packed);
    return answer;
}

/* What the filter and its $not say: "yes", "no", or "unknown" when neither matches. */
__attribute__((unused)) static const char *truth(const char *value, const char *where)
{
    char negated[4096];
    snprintf(negated, sizeof negated, "{'$not':%s}", where);
    const char *plain = match(value, where), *other = match(value, negated);
    if (strcmp(plain, "no") == 0 && strcmp(other, "no") == 0) return "unknown";
    if (strcmp(plain, "no") == 0) assert_string_equal("yes", other);
    if (strcmp(plain, "yes") == 0) assert_string_equal("no", other);
    return plain;
}

#define YES(value, where) assert_string_equal("yes", truth(value, where))
#define NO(value, where) assert_string_equal("no", truth(value, where))
#define UNKNOWN(value, where) assert_string_equal("unknown", truth(value, where))
#define ERROR(text, where) assert_string_equal("where: " text, match("{}", where))

#endif
