/* Whatever bytes arrive as a key: no crash, nothing but canonical encodings comes out, and every
 * form of what came out leads back to the same bytes. As stored bytes: key_check accepts exactly
 * what the writers can write. */
#include <stdlib.h>

#include "codec/key.h"

static void check(bool holds)
{
    if (!holds) abort();
}

/* Writes the parts that the reader finds once more: equal bytes, or the encoding was not canonical.
 */
static void rewrite(struct slice key)
{
    struct buf json, again;
    struct error e;
    buf_init(&json);
    buf_init(&again);
    key_to_json(key, &json);
    check(key_from_json(buf_slice(&json), true, NULL, &again, &e) == OK);
    check(slice_eq(key, buf_slice(&again)));
    json.len = again.len = 0;
    key_to_bare_json(key, &json);
    check(key_from_bare_arg(buf_slice(&json), true, NULL, &again, &e) == OK);
    check(slice_eq(key, buf_slice(&again)));
    json.len = again.len = 0;
    key_to_msgpack(key, &json);
    check(key_from_msgpack(buf_slice(&json), true, &again, &e) == OK);
    check(slice_eq(key, buf_slice(&again)));
    json.len = again.len = 0;
    key_to_path(key, &json);
    for (size_t i = 0; i < json.len; i++) check(json.data[i] > 0x20 && json.data[i] < 0x7f);
    check(key_from_path(buf_slice(&json), true, &again, &e) == OK);
    check(slice_eq(key, buf_slice(&again)));
    buf_fini(&json);
    buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_of(data, size);
    struct buf out;
    struct error e;
    buf_init(&out);
    buf_append_byte(&out, 'x'); /* what was there before must stay */
    if (key_from_arg(in, true, NULL, &out, &e) == OK) {
        struct slice key = slice_of(out.data + 1, out.len - 1);
        check(key_check(key, &e) == OK);
        rewrite(key);
    } else {
        check(out.len == 1 && e.text[0] != '\0');
    }
    check(out.data[0] == 'x');
    out.len = 0;
    if (key_from_path(in, true, &out, &e) == OK) {
        check(key_check(buf_slice(&out), &e) == OK);
        rewrite(buf_slice(&out));
    }
    if (key_check(in, &e) == OK) rewrite(in);
    buf_fini(&out);
    return 0;
}
