/* V8's bytes and stored values, into each other.
 *   - What v8_to_value takes passes value_check, is written by value_to_v8, and is then read as the
 *     same bytes.
 *   - What value_check lets in is written for V8, unless JavaScript has no such value, and is then
 *     read as the same value (tests/foreign/same.h, which was written apart). */
#include <stdlib.h>
#include <string.h>

#include "../foreign/same.h"
#include "codec/value.h"
#include "foreign/v8.h"

static struct buf value, v8, again;

static void check(bool holds)
{
    if (!holds) abort();
}

static void read_again(void)
{
    struct error e;
    again.len = 0;
    check(v8_to_value(buf_slice(&v8), &again, &e) == OK);
    check(value_check(buf_slice(&again), &e) == OK);
}

static void from_v8(struct slice in)
{
    struct error e;
    value.len = v8.len = 0;
    if (v8_to_value(in, &value, &e) != OK) {
        check(value.len == 0 && strncmp(e.text, "invalid V8 value: ", 18) == 0);
        return;
    }
    check(value.len <= 12 * in.len + 16);
    check(value_check(buf_slice(&value), &e) == OK);
    check(value_to_v8(buf_slice(&value), &v8, &e) == OK);
    read_again();
    check(slice_eq(buf_slice(&value), buf_slice(&again)));
}

static void from_value(struct slice in)
{
    static const struct same_rules rules = {.is_v8 = true, .has_stack = true, .has_maps = true};
    struct error e;
    v8.len = 0;
    if (value_check(in, &e) != OK) return;
    if (value_to_v8(in, &v8, &e) != OK) {
        check(v8.len == 0);
        check(strstr(e.text, "JavaScript") != NULL || strstr(e.text, "itself") != NULL ||
              strstr(e.text, "copies") != NULL);
        return;
    }
    read_again();
    const char *type = value_type_name(in);
    if (strcmp(type, "v8") == 0 || strcmp(type, "u64") == 0) return;
    bool is_kept = strcmp(value_type_name(buf_slice(&again)), "v8") == 0;
    check(is_kept ? same_has_odd_keys(in) : same_values(in, buf_slice(&again), &rules));
    value.len = 0;
    buf_append(&value, again.data, again.len);
    v8.len = 0;
    check(value_to_v8(buf_slice(&value), &v8, &e) == OK);
    read_again();
    check(slice_eq(buf_slice(&value), buf_slice(&again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_of(data, size);
    if (size > 0 && data[0] == 0xff) { /* as a value, the number -1 */
        from_v8(in);
    } else {
        from_value(in);
    }
    return 0;
}
