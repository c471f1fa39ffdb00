/* txn: the bytes of transactions, as every journal holds them. Little-endian, as the machines it
 * runs on.
 *
 *   transaction  version u64, time ms i64, mutations u32, bytes u32; mutations
 *   mutation     kind u8, pad u8, key bytes u16, value bytes u32, expiry ms i64, key, value
 */
#ifndef BACKEND_TXN_H
#define BACKEND_TXN_H

#include "backend/backend.h"

#define TXN_BYTES 24
#define TXN_MUTATION_BYTES 16

struct txn_view {
    uint64_t version;
    int64_t time_ms;
    uint32_t mutations;
    struct slice bytes; /* of the mutations */
};

/* Appends one transaction. */
void txn_write(struct buf *out, uint64_t version, const struct batch *batch);
/* Bytes txn_write will append. */
size_t txn_bytes(const struct batch *batch);
/* Takes the first transaction, or mutation, off `bytes`; false at the end or on damage. */
bool txn_read(struct slice *bytes, struct txn_view *txn);
bool mutation_read(struct slice *bytes, struct mutation *mu);

#endif
