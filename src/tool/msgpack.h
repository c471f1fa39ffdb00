/* msgpack: MessagePack in tupledctl. msgpack-c packs and unpacks it; here is what it needs around
 * it: lengths that are looked at first, and a struct buf to pack into.
 *
 * msgpack-c gets no bytes that were not measured. Version 4.0.0 (Debian 12) allocates what the head
 * of an array or a map announces before it looks for the items: gigabytes for five bytes. To the
 * length of an extension it adds 1 in 32 bits: c9 ff ff ff ff 01, which lacks 2^32-1 bytes, is not
 * cut short to it. And it goes 32 levels deep, but a value 128, so what is unpacked is what has no
 * items; keys and values are passed on as they stand.
 */
#ifndef TOOL_MSGPACK_H
#define TOOL_MSGPACK_H

#include <msgpack.h>

#include "base/buf.h"

/* More than a record with the deepest value has (VALUE_DEPTH_MAX). */
#define MP_DEPTH_MAX 256

/* ---- reading ---- */

enum mp_state {
    MP_WHOLE,
    MP_TRUNCATED, /* more bytes are needed */
    MP_INVALID,   /* c1, which is no MessagePack */
    MP_DEEP       /* more than MP_DEPTH_MAX levels */
};

enum mp_kind { MP_PLAIN, MP_ARRAY, MP_MAP };

struct mp_head {
    enum mp_kind kind;
    size_t bytes;   /* of the item, without the items in it */
    uint64_t items; /* that follow: of a map twice its members */
};

/* The head of the item at the start of `bytes`. MP_WHOLE: all `h->bytes` are there. */
enum mp_state mp_head(struct slice bytes, struct mp_head *h);
/* The length of the item at the start of `bytes`, with all that is in it. No memory, and no more
 * work than there are bytes, whatever heads announce. */
enum mp_state mp_measure(struct slice bytes, size_t *len);
/* What the item is. False: it is not exactly one item without items in it. Text, bytes and
 * extensions borrow from it. */
bool mp_unpack(struct slice item, msgpack_object *out);

/* ---- writing: appended in the smallest encoding; memory is sticky in out ---- */

void mp_add_str(struct buf *out, struct slice text);
void mp_add_bin(struct buf *out, struct slice bytes);
void mp_add_i64(struct buf *out, int64_t value);
void mp_add_f64(struct buf *out, double value);
void mp_add_true(struct buf *out);
/* Heads: so many items, or members, follow. */
void mp_add_array(struct buf *out, size_t count);
void mp_add_map(struct buf *out, size_t count);
/* Another count, at most 15, for a map of at most 15 whose head is at `at`. */
void mp_set_map(struct buf *out, size_t at, size_t count);

#endif
