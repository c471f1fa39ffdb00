/* journal_format: headers and batches into bytes and back, with their checksums. */
#include "backend/local/journal_format.h"
#include "base/bytes.h"
#include "base/file.h"

#include <stdio.h>
#include <xxhash.h>

#define BATCH_MAGIC 0x42a7c31eu
#define CHECKED_FROM 16 /* first byte of a batch that its checksum covers */

static const char header_magic[8] = "TUPLEDJ\n";

void database_id_format(const uint8_t *id, char out[DATABASE_ID_TEXT])
{
    for (size_t i = 0; i < DATABASE_ID_BYTES; i++) snprintf(out + 2 * i, 3, "%02x", id[i]);
}

bool database_id_read(struct slice text, uint8_t *id)
{
    static const char digits[] = "0123456789abcdef";
    if (text.len != DATABASE_ID_TEXT - 1) return false;
    memset(id, 0, DATABASE_ID_BYTES);
    for (size_t i = 0; i < text.len; i++) {
        const char *digit = text.data[i] == 0 ? NULL : strchr(digits, text.data[i]);
        if (digit == NULL) return false;
        id[i / 2] = (uint8_t)(id[i / 2] << 4 | (digit - digits));
    }
    return true;
}

static uint64_t segment_seed(const struct segment_id *id)
{
    return XXH3_64bits_withSeed(id->database_id, DATABASE_ID_BYTES, id->number);
}

void segment_header_write(const struct segment_header *h, uint8_t out[JOURNAL_HEADER_BYTES])
{
    memset(out, 0, JOURNAL_HEADER_BYTES);
    memcpy(out, header_magic, 8);
    put_u32_little(out + 8, h->format);
    put_u32_little(out + 12, h->timeline);
    put_u64_little(out + 16, h->id.number);
    put_u64_little(out + 24, h->version_before);
    memcpy(out + 32, h->id.database_id, DATABASE_ID_BYTES);
    put_u64_little(out + 48, XXH3_64bits(out, 48));
}

enum err segment_header_read(const uint8_t in[JOURNAL_HEADER_BYTES], struct segment_header *h,
                             struct error *e)
{
    if (memcmp(in, header_magic, 8) != 0) {
        return error_set(e, ERR_CORRUPT, "not a journal segment header");
    }
    h->format = get_u32_little(in + 8);
    if (h->format > JOURNAL_FORMAT) {
        return error_set(e, ERR_FORMAT,
                         "journal format %u is not supported (the newest is %d); use a newer "
                         "version of tupled",
                         h->format, JOURNAL_FORMAT);
    }
    if (h->format < JOURNAL_FORMAT_OLDEST) {
        return error_set(e, ERR_FORMAT,
                         "journal format %u is that of a development version; this program "
                         "supports formats from %d on. Use the version that wrote it",
                         h->format, JOURNAL_FORMAT_OLDEST);
    }
    if (get_u64_little(in + 48) != XXH3_64bits(in, 48)) {
        return error_set(e, ERR_CORRUPT, "damaged journal segment header");
    }
    h->timeline = get_u32_little(in + 12);
    h->id.number = get_u64_little(in + 16);
    h->version_before = get_u64_little(in + 24);
    memcpy(h->id.database_id, in + 32, DATABASE_ID_BYTES);
    return OK;
}

size_t batch_bytes(uint32_t payload_bytes)
{
    return JOURNAL_BATCH_BYTES + (((size_t)payload_bytes + 7) & ~(size_t)7);
}

static uint64_t batch_checksum(const uint8_t *batch, uint32_t payload_bytes,
                               const struct segment_id *id)
{
    size_t len = JOURNAL_BATCH_BYTES - CHECKED_FROM + payload_bytes;
    return XXH3_64bits_withSeed(batch + CHECKED_FROM, len, segment_seed(id));
}

void batch_seal(uint8_t *batch, const struct batch_header *h, const struct segment_id *id)
{
    put_u32_little(batch, BATCH_MAGIC);
    put_u32_little(batch + 4, h->payload_bytes);
    put_u64_little(batch + 16, h->first_version);
    put_u64_little(batch + 24, h->last_version);
    put_u64_little(batch + 32, h->durable_version);
    put_u64_little(batch + 40, (uint64_t)h->time_ms);
    put_u32_little(batch + 48, h->transactions);
    put_u32_little(batch + 52, 0);
    put_u64_little(batch + 8, batch_checksum(batch, h->payload_bytes, id));
}

bool batch_peek(const uint8_t *in, size_t room, struct batch_header *h)
{
    if (room < JOURNAL_BATCH_BYTES || get_u32_little(in) != BATCH_MAGIC) return false;
    h->payload_bytes = get_u32_little(in + 4);
    h->first_version = get_u64_little(in + 16);
    h->last_version = get_u64_little(in + 24);
    h->durable_version = get_u64_little(in + 32);
    h->time_ms = (int64_t)get_u64_little(in + 40);
    h->transactions = get_u32_little(in + 48);
    return batch_bytes(h->payload_bytes) <= room;
}

bool batch_verify(const uint8_t *batch, const struct batch_header *h, const struct segment_id *id)
{
    uint64_t stored = get_u64_little(batch + 8);
    return stored == batch_checksum(batch, h->payload_bytes, id);
}

size_t batch_other_place(size_t at)
{
    size_t over = at % FILE_BLOCK_BYTES;
    return over > 0 ? at + FILE_BLOCK_BYTES - over : 0;
}

static bool is_whole(struct slice segment, size_t at, const struct segment_id *id,
                     struct batch_header *h)
{
    if (at >= segment.len) return false;
    const uint8_t *batch = segment.data + at;
    return batch_peek(batch, segment.len - at, h) && batch_verify(batch, h, id);
}

bool batch_next(struct slice segment, size_t *at, uint64_t last, const struct segment_id *id,
                struct batch_header *h)
{
    if (is_whole(segment, *at, id, h)) return true;
    size_t other = batch_other_place(*at);
    if (other == 0 || !is_whole(segment, other, id, h)) return false;
    if (h->transactions == 0 || h->first_version != last + 1) return false;
    *at = other;
    return true;
}
