/* MessagePack values: what value_check lets in can be shown as JSON, and that JSON is read again as
 * the same value. Oracle: msgpack-c, which knows the wire format but not our extensions:
 *   - it refuses, we accept: only when deeper than its 32 levels;
 *   - it accepts, we refuse: only for a reason that is ours (listed below), never "truncated" in
 *     the outer value, "byte c1" or "bytes after the end". */
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "codec/value.h"

static void check(bool holds)
{
    if (!holds) abort();
}

static bool is_listed(const char *text)
{
    static const char *const ours[] = {
        "not UTF-8",    "duplicate key", "deeper than 128", "u64",
        "extension",    "malformed",     "bigint",          "typed array",
        "Map with",     "Error",         "RegExp",          "V8",
        "shared value", "id used twice", "an id is",        "reference to",
        "a collection",
    };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (strstr(text, ours[i]) != NULL) return true;
    }
    return false;
}

/* msgpack-c allocates what a head announces, before it looks for the items: gigabytes for five
 * bytes. */
static bool is_bomb(struct slice in)
{
    for (size_t i = 0; i + 1 < in.len; i++) {
        bool is_long = in.data[i] == 0xdd || in.data[i] == 0xdf;
        if (is_long && (in.data[i + 1] != 0 || in.len < i + 5 || in.data[i + 2] > 15)) return true;
    }
    return false;
}

static void compare(struct slice in, bool is_accepted, const struct error *e)
{
    if (is_bomb(in)) return;
    msgpack_zone zone;
    msgpack_object object;
    size_t at = 0;
    check(msgpack_zone_init(&zone, 8192));
    msgpack_unpack_return result = msgpack_unpack((const char *)in.data, in.len, &at, &zone,
                                                  &object);
    bool theirs = result == MSGPACK_UNPACK_SUCCESS && at == in.len;
    msgpack_zone_destroy(&zone);
    if (is_accepted && !theirs) {
        /* Its stack is 32 deep and an empty container on top of it counts: look for nesting. */
        size_t heads = 0;
        for (size_t i = 0; i < in.len; i++) {
            heads += (in.data[i] >= 0x80 && in.data[i] <= 0x9f) || in.data[i] >= 0xdc;
        }
        check(heads > 30);
    }
    /* The inside of an extension may be truncated or hold c1; msgpack-c does not look there. */
    bool has_nesting_ext = false;
    for (size_t i = 0; i < in.len; i++) has_nesting_ext |= strchr("SMEIPR", in.data[i]) != NULL;
    if (theirs && !is_accepted) check(is_listed(e->text) || has_nesting_ext);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_of(data, size);
    struct buf json, packed, again;
    struct error e;
    bool is_accepted = value_check(in, &e) == OK;
    compare(in, is_accepted, &e);
    if (!is_accepted) {
        check(strncmp(e.text, "invalid value: ", 15) == 0);
        return 0;
    }
    check(value_length(in) == size);
    check(value_type_name(in) != NULL);
    buf_init(&json);
    buf_init(&packed);
    buf_init(&again);
    value_to_json(in, &json);
    check(!json.is_failed);
    if (value_from_json(buf_slice(&json), NULL, &packed, &e) == OK) {
        check(value_check(buf_slice(&packed), &e) == OK);
        value_to_json(buf_slice(&packed), &again);
        check(slice_eq(buf_slice(&json), buf_slice(&again)));
    } else {
        /* Map keys that differ in encoding only (1 and 1.0) are equal in JSON. */
        check(strstr(e.text, "duplicate key") != NULL);
        check(memmem(json.data, json.len, "\"$map\"", 6) != NULL);
    }
    buf_fini(&json);
    buf_fini(&packed);
    buf_fini(&again);
    return 0;
}
