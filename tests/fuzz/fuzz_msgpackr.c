/* msgpackr's bytes and stored values, into each other. The first byte says what the others are: 0
 * and 1 msgpackr's with records and with maps, 2 and 3 a value that is written so.
 *   - What msgpackr_to_value takes passes value_check, is written by value_to_msgpackr, and is then
 *     read as the same bytes.
 *   - What value_check lets in is written, and then read as the same value (tests/foreign/same.h,
 *     which was written apart). */
#include <stdlib.h>
#include <string.h>

#include "../foreign/same.h"
#include "codec/value.h"
#include "foreign/msgpackr.h"

#define BYTES_MAX ((size_t)1 << 20)

static struct buf value, packed, again;

static void check(bool holds)
{
    if (!holds) abort();
}

static enum err read_again(enum msgpackr_mode mode, struct error *e)
{
    again.len = 0;
    check(!packed.is_failed);
    enum err err = msgpackr_to_value(buf_slice(&packed), mode, 16 * BYTES_MAX, &again, e);
    if (err == OK) check(value_check(buf_slice(&again), e) == OK);
    return err;
}

static void from_packed(struct slice in, enum msgpackr_mode mode)
{
    struct error e;
    value.len = packed.len = 0;
    enum err err = msgpackr_to_value(in, mode, BYTES_MAX, &value, &e);
    if (err != OK) {
        check(value.len == 0);
        if (err != ERR_LIMIT) check(strncmp(e.text, "invalid msgpackr value: ", 24) == 0);
        return;
    }
    check(value.len <= BYTES_MAX);
    check(value_check(buf_slice(&value), &e) == OK);
    value_to_msgpackr(buf_slice(&value), mode, &packed);
    check(read_again(mode, &e) == OK);
    check(slice_eq(buf_slice(&value), buf_slice(&again)));
}

static void from_value(struct slice in, enum msgpackr_mode mode)
{
    const struct same_rules rules = {.has_maps = mode == MSGPACKR_RECORDS};
    struct error e;
    packed.len = 0;
    if (value_check(in, &e) != OK) return;
    value_to_msgpackr(in, mode, &packed);
    if (read_again(mode, &e) != OK) {
        check(strstr(e.text, "duplicate key") != NULL && same_has_odd_keys(in));
        return;
    }
    check(same_values(in, buf_slice(&again), &rules));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    struct slice in = slice_of(data + 1, size - 1);
    enum msgpackr_mode mode = data[0] % 2 == 0 ? MSGPACKR_RECORDS : MSGPACKR_MAPS;
    if (data[0] % 4 < 2) {
        from_packed(in, mode);
    } else {
        from_value(in, mode);
    }
    return 0;
}
