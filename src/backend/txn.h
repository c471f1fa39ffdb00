/* txn: the bytes of transactions, as every journal holds them. Little-endian, as the machines it
 * runs on.
 *
 *   transaction  version u64, time ms i64, mutations u32, bytes u32; mutations
 *   mutation     kind u8, pad u8, key bytes u16, value bytes u32, expiry ms i64, key, value
 */
#ifndef BACKEND_TXN_H
#define BACKEND_TXN_H

#include "backend/patch.h"

#define TXN_BYTES 24
#define TXN_MUTATION_BYTES 16
#define TXN_PATCHES_MAX 16

struct txn_view {
    uint64_t version;
    int64_t time_ms;
    uint32_t mutations;
    struct slice bytes; /* of the mutations */
};

/* Which mutations of a batch are written as patches, in their order. */
struct txn_patches {
    size_t count;
    struct txn_patch {
        size_t item;
        struct patch patch;
    } of[TXN_PATCHES_MAX];
};

/* Appends one transaction. `patches` may be NULL. */
void txn_write(struct buf *out, uint64_t version, const struct batch *batch,
               const struct txn_patches *patches);
/* Bytes txn_write will append, at most: those without patches. */
size_t txn_bytes(const struct batch *batch);
/* Takes the first transaction, or mutation, off `bytes`; false at the end or on damage. */
bool txn_read(struct slice *bytes, struct txn_view *txn);
bool mutation_read(struct slice *bytes, struct mutation *mu);
/* Takes its long values and patches (patch_values_take). */
ERR_MUST_USE enum err txn_values(struct patch_values *v, const struct txn_view *txn,
                                 struct error *e);

#endif
