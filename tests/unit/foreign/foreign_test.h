/* foreign_test: what the tests of src/foreign and tests/foreign share: files of vectors, values by hex and JSON. */
#ifndef FOREIGN_TEST_H
#define FOREIGN_TEST_H

#include "../codec/codec_test.h"
#include "base/fault.h"
#include "codec/value.h"
#include "foreign/msgpackr.h"
#include "foreign/v8.h"

#define COLUMNS_MAX 6

/* The next line that has columns, cut at its tabs; how many. 0 at the end. */
__attribute__((unused)) static size_t next_row(FILE *file, char **columns)
{
    static char line[8192];
    size_t count = 0;
    if (fgets(line, sizeof line, file) == NULL) return 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at != NULL && count < COLUMNS_MAX;) {
        columns[count++] = at;
        at = strchr(at, '\t');
        if (at != NULL) *at++ = '\0';
    }
    return count;
}

/* Typed JSON -> the stored form, in `value`, checked. */
__attribute__((unused)) static void value_of(const char *json, struct buf *value)
{
    struct error e = {0};
    value->len = 0;
    if (value_from_json(slice_str(json), NULL, value, &e) != OK) fail_msg("%s: %s", json, e.text);
    assert_int_equal(OK, value_check(buf_slice(value), &e));
}

__attribute__((unused)) static const char *json_of(const struct buf *value, struct buf *text)
{
    text->len = 0;
    value_to_json(buf_slice(value), text);
    return text_of(text);
}

#endif
