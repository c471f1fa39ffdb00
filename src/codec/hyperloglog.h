/* hyperloglog: how many different elements were added, about, in at most 12 KB: the value that the
 * commands PFADD, PFCOUNT and PFMERGE work on. Its bytes are those of Redis, so that a value can be
 * moved from and to a Redis. Pure functions over bytes, which may be anything that a client has
 * set.
 *
 * An element is hashed to 64 bits. The lower 14 say which of 16384 registers it belongs to. Its
 * rank (1 to 51) is the place of the lowest 1 among the other 50. A register has the greatest rank
 * that it has seen. Of many different elements high ranks are likely: from the
 * registers follows the estimate, with a standard error of 0.81 %.
 *
 *   head     "HYLL", encoding (1 byte: 0 dense, 1 sparse), zeros (3), the last estimate (8, little
 *            endian; its highest bit is set when the registers have changed since)
 *   dense    16384 registers of 6 bits, from the lowest bit of the first byte on
 *   sparse   runs of equal registers:
 *            00nnnnnn              n + 1 registers that are 0
 *            01nnnnnn nnnnnnnn     n + 1 registers that are 0
 *            1vvvvvnn              n + 1 registers that are v + 1
 *
 * A new one is sparse. It becomes dense, for ever, when a rank is above 32, or when it would get
 * longer than 3000 bytes.
 */
#ifndef CODEC_HYPERLOGLOG_H
#define CODEC_HYPERLOGLOG_H

#include "base/slice.h"

#define HYPERLOGLOG_REGISTERS 16384
#define HYPERLOGLOG_HEAD_BYTES 16
#define HYPERLOGLOG_DENSE_BYTES (HYPERLOGLOG_HEAD_BYTES + HYPERLOGLOG_REGISTERS * 6 / 8)
#define HYPERLOGLOG_SPARSE_BYTES_MAX 3000

/* One that is changed, in memory of the caller. */
struct hyperloglog {
    uint8_t *data; /* hyperloglog_room of it */
    size_t len;
};

/* Has it the head of one? The registers are checked when they are read. */
bool hyperloglog_is(struct slice bytes);

/* The bytes that one which begins with these may come to. */
size_t hyperloglog_room(struct slice bytes);
/* A copy of the bytes in `room`; a new one when there are none. False: they are more than one can
 * have, so that it is damaged. */
bool hyperloglog_begin(struct hyperloglog *h, uint8_t *room, struct slice bytes);
/* *is_changed is set when a register changed; the kept estimate stays as it is. False: it is
 * damaged, and what was added is not to be used. */
bool hyperloglog_add(struct hyperloglog *h, const struct slice *elements, size_t count,
                     bool *is_changed);
/* Raises its registers to these; dense when it is, or is to be. False: it is damaged. */
bool hyperloglog_raise(struct hyperloglog *h, const uint8_t registers[HYPERLOGLOG_REGISTERS],
                       bool is_dense);
bool hyperloglog_is_dense(struct slice bytes);

/* Raises the registers to those that it has. False: it is damaged. */
bool hyperloglog_merge(uint8_t registers[HYPERLOGLOG_REGISTERS], struct slice bytes);
/* About how many elements were added. */
uint64_t hyperloglog_estimate(const uint8_t registers[HYPERLOGLOG_REGISTERS]);

/* The estimate that is kept in it. False: the registers have changed since. */
bool hyperloglog_kept(struct slice bytes, uint64_t *estimate);
void hyperloglog_keep(struct hyperloglog *h, uint64_t estimate);
/* The estimate that is kept is no longer right. */
void hyperloglog_forget(struct hyperloglog *h);

#endif
