/* Typed JSON: what is read is a valid value whose canonical text is read as the same bytes. Oracle:
 * jansson, where it can follow:
 *   - it refuses, we accept: integers beyond 64 bits (bigints here), depth above its 2048 is above
 *     ours, real numbers that underflow are fine with both;
 *   - it accepts, we refuse: only for what typed JSON adds (tags, depth, Map keys). */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "codec/value.h"

static void check(bool holds)
{
    if (!holds) abort();
}

static bool is_ours(const char *text)
{
    static const char *const words[] = {"$",
                                        "deeper than 128",
                                        "u64",
                                        "V8",
                                        "an id",
                                        "id used twice",
                                        "reference to",
                                        "typed array",
                                        "placeholders",
                                        "expected",
                                        "duplicate key",
                                        "more than 1024 bytes"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(text, words[i]) != NULL) return true;
    }
    return false;
}

static void compare(struct slice in, bool is_accepted, const struct error *e)
{
    json_error_t error;
    size_t flags = JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    json_t *theirs = json_loadb((const char *)in.data, in.len, flags, &error);
    bool has_tag = memchr(in.data, '$', in.len) != NULL ||
                   memmem(in.data, in.len, "0024", 4) != NULL;
    if (is_accepted && theirs == NULL) {
        enum json_error_code code = json_error_code(&error);
        /* It has no NUL in names of members. */
        check(code == json_error_numeric_overflow || code == json_error_null_byte_in_key);
    }
    if (!is_accepted && theirs != NULL) {
        check(is_ours(e->text));
        /* "expected.." and "duplicate.." can only be ours inside a tag. */
        if (strstr(e->text, "deeper") == NULL && strstr(e->text, "1024") == NULL) check(has_tag);
    }
    json_decref(theirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_of(data, size);
    struct buf packed, json, again;
    struct error e;
    buf_init(&packed);
    buf_init(&json);
    buf_init(&again);
    buf_append_byte(&packed, 'x');
    bool is_accepted = value_from_json(in, NULL, &packed, &e) == OK;
    check(packed.data[0] == 'x');
    /* jansson takes a NUL for the end of the text. */
    if (size > 0 && memchr(data, 0, size) == NULL) compare(in, is_accepted, &e);
    if (is_accepted) {
        struct slice value = slice_of(packed.data + 1, packed.len - 1);
        check(value_check(value, &e) == OK);
        value_to_json(value, &json);
        check(value_from_json(buf_slice(&json), NULL, &again, &e) == OK);
        check(slice_eq(value, buf_slice(&again)));
        again.len = 0;
        value_to_json(value, &again);
        check(slice_eq(buf_slice(&json), buf_slice(&again)));
        json.len = again.len = 0;
        value_to_bare_json(value, &json);
        check(value_from_json(buf_slice(&json), NULL, &again, &e) == OK);
        check(slice_eq(value, buf_slice(&again)));
    } else {
        check(packed.len == 1 && strncmp(e.text, "invalid value: ", 15) == 0);
    }
    buf_fini(&packed);
    buf_fini(&json);
    buf_fini(&again);
    return 0;
}
