/* journal_format: the bytes of a journal segment. Little-endian, as the machines it runs on.
 *
 *   segment   header (64 bytes), then batches one after the other, each padded to 8 bytes; one that
 *             was written while the one before it was not on disk yet begins at the next block of
 *             4096, and zeros are between (file_journal.c). After the last one zeros (the space is
 *             reserved and written beforehand) or what a power failure left
 *   header    magic "TUPLEDJ\n", format u32, timeline u32, number u64, version_before u64 (the last
 *             version in the journal before this segment), database id 16 bytes, checksum u64, pad
 *   batch     magic u32, payload bytes u32, checksum u64, first version u64, last version u64,
 *             durable version u64, time ms i64, transactions u32, reserved u32; payload
 *   payload   transactions (backend/txn.h)
 *
 * The checksum of a batch (XXH3, everything but magic, length and itself) is seeded with the
 * database id and the segment's number: what an earlier use of the same disk blocks left behind
 * never passes. `durable version` is what was known to be synced when the batch was written: damage
 * at or below the highest one found is loss, damage above it is a tail that was not acknowledged.
 */
#ifndef BACKEND_LOCAL_JOURNAL_FORMAT_H
#define BACKEND_LOCAL_JOURNAL_FORMAT_H

#include "backend/txn.h"

#define JOURNAL_FORMAT 4
/* That is read: 3 leaves no blocks free, 2 has no patches (backend/patch.h) either. */
#define JOURNAL_FORMAT_OLDEST 2
#define JOURNAL_HEADER_BYTES 64
#define JOURNAL_BATCH_BYTES 56
#define DATABASE_ID_BYTES 16
#define DATABASE_ID_TEXT (2 * DATABASE_ID_BYTES + 1) /* in hex, NUL-ended */

void database_id_format(const uint8_t *id, char out[DATABASE_ID_TEXT]);
/* False when it is none. */
bool database_id_read(struct slice text, uint8_t *id);

struct segment_id {
    uint8_t database_id[DATABASE_ID_BYTES];
    uint64_t number;
};

struct segment_header {
    struct segment_id id;
    uint32_t format;
    uint32_t timeline; /* archive_manifest.h; 0 = written before there were any */
    uint64_t version_before;
};

struct batch_header {
    uint32_t payload_bytes;
    uint64_t first_version; /* last_version + 1 when the batch holds no transaction */
    uint64_t last_version;
    uint64_t durable_version;
    int64_t time_ms;
    uint32_t transactions;
};

void segment_header_write(const struct segment_header *h, uint8_t out[JOURNAL_HEADER_BYTES]);
/* ERR_CORRUPT when it is no header, ERR_FORMAT when it is a newer one. */
ERR_MUST_USE enum err segment_header_read(const uint8_t in[JOURNAL_HEADER_BYTES],
                                          struct segment_header *h, struct error *e);

/* `batch` points to JOURNAL_BATCH_BYTES followed by the payload: fills the header in. */
void batch_seal(uint8_t *batch, const struct batch_header *h, const struct segment_id *id);
/* The fixed part; false when it cannot be a batch that fits into `room` bytes. */
bool batch_peek(const uint8_t *in, size_t room, struct batch_header *h);
/* True when header and payload are as they were sealed. */
bool batch_verify(const uint8_t *batch, const struct batch_header *h, const struct segment_id *id);
/* Length of a batch in the segment, header and padding included. */
size_t batch_bytes(uint32_t payload_bytes);
/* The batch that comes next, whole, where `last` is the version of those before: at *at, or *at
 * moves to the next block, where only the one that follows without a gap counts: what is between
 * may be missing. False: none is there. */
bool batch_next(struct slice segment, size_t *at, uint64_t last, const struct segment_id *id,
                struct batch_header *h);
/* The next block, if that is elsewhere; 0 = it is not. */
size_t batch_other_place(size_t at);

#endif
