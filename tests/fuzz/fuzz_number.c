/* As a number of JSON: it is read as strtod reads it, and so is a value that is only this number. As
 * the 8 bytes of a double: it is printed as printf and strtod say it has to be, and read back. */
#include <stdlib.h>

#include "codec/json_lex.h"
#include "codec/number.h"
#include "codec/value.h"
#include "number_oracle.h"

static void check(bool holds)
{
    if (!holds) abort();
}

static bool is_same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* The text has NUL after it. */
static bool read_number(const char *text, size_t len, double *d)
{
    struct json j = {.code = ERR_VALUE, .subject = "invalid number"};
    struct json_number n;
    j.start = j.at = (const uint8_t *)text;
    j.end = j.start + len;
    if (len == 0 || (*text != '-' && (*text < '0' || *text > '9'))) return false;
    if (!json_number_scan(&j, &n) || j.at != j.end) return false;
    *d = json_number_double(&n);
    return true;
}

static void check_value(const char *text, size_t len, double d)
{
    struct buf packed, json;
    char expected[ORACLE_BYTES];
    struct error e;
    bool is_integer = strpbrk(text, ".eE") == NULL; /* a large one is a bigint */
    if (isinf(d) || d == 0 || is_integer) return;
    buf_init(&packed);
    buf_init(&json);
    check(value_from_json(slice_of(text, len), NULL, &packed, &e) == OK);
    value_to_json(buf_slice(&packed), &json);
    oracle_format(d, expected);
    check(slice_eq(buf_slice(&json), slice_str(expected)));
    buf_fini(&packed);
    buf_fini(&json);
}

static void check_double(double d)
{
    char text[NUMBER_TEXT_BYTES + 1], expected[ORACLE_BYTES];
    double again = 0;
    if (!isfinite(d) || (d == 0 && signbit(d))) return;
    size_t len = number_format(d, text);
    text[len] = '\0';
    oracle_format(d, expected);
    check(strcmp(text, expected) == 0);
    check(read_number(text, len, &again) && is_same(d, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    double d = 0;
    char *text = malloc(size + 1);
    check(text != NULL);
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    if (read_number(text, size, &d)) {
        check(is_same(d, strtod(text, NULL)));
        check_value(text, size, d);
    }
    free(text);
    if (size == sizeof d) {
        memcpy(&d, data, sizeof d);
        check_double(d);
    }
    return 0;
}
