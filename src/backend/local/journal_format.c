#include "backend/local/journal_format.h"
#include "base/bytes.h"

#include <xxhash.h>

#define BATCH_MAGIC 0x42a7c31eu
#define CHECKED_FROM 16 /* first byte of a batch that its checksum covers */

static const char header_magic[8] = "TUPLEDJ\n";

static uint64_t segment_seed(const struct segment_id *id)
{
    return XXH3_64bits_withSeed(id->database_id, DATABASE_ID_BYTES, id->number);
}

void segment_header_write(const struct segment_header *h, uint8_t out[JOURNAL_HEADER_BYTES])
{
    memset(out, 0, JOURNAL_HEADER_BYTES);
    memcpy(out, header_magic, 8);
    put_u32_little(out + 8, h->format);
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
                         "journal format %u is newer than format %d, the newest that this program "
                         "reads; start a newer tupled",
                         h->format, JOURNAL_FORMAT);
    }
    if (h->format < JOURNAL_FORMAT) {
        return error_set(e, ERR_FORMAT,
                         "journal format %u is of a development version; this program reads format "
                         "%d. Start the version that wrote it",
                         h->format, JOURNAL_FORMAT);
    }
    if (get_u64_little(in + 48) != XXH3_64bits(in, 48)) {
        return error_set(e, ERR_CORRUPT, "damaged journal segment header");
    }
    h->id.number = get_u64_little(in + 16);
    h->version_before = get_u64_little(in + 24);
    memcpy(h->id.database_id, in + 32, DATABASE_ID_BYTES);
    return OK;
}

size_t txn_bytes(const struct batch *batch)
{
    size_t bytes = JOURNAL_TXN_BYTES;
    for (size_t i = 0; i < batch->count; i++) {
        bytes += JOURNAL_MUTATION_BYTES + batch->items[i].key.len + batch->items[i].value.len;
    }
    return bytes;
}

void txn_write(struct buf *out, uint64_t version, const struct batch *batch)
{
    size_t bytes = txn_bytes(batch);
    uint8_t *p = buf_reserve(out, bytes);
    if (p == NULL) return;
    put_u64_little(p, version);
    put_u64_little(p + 8, (uint64_t)batch->time_ms);
    put_u32_little(p + 16, (uint32_t)batch->count);
    put_u32_little(p + 20, (uint32_t)(bytes - JOURNAL_TXN_BYTES));
    p += JOURNAL_TXN_BYTES;
    for (size_t i = 0; i < batch->count; i++) {
        const struct mutation *mu = &batch->items[i];
        uint16_t key_len = (uint16_t)mu->key.len;
        p[0] = (uint8_t)mu->kind;
        p[1] = 0;
        memcpy(p + 2, &key_len, sizeof key_len);
        put_u32_little(p + 4, (uint32_t)mu->value.len);
        put_u64_little(p + 8, (uint64_t)mu->expiry_ms);
        p += JOURNAL_MUTATION_BYTES;
        memcpy(p, mu->key.data, mu->key.len);
        p += mu->key.len;
        if (mu->value.len > 0) memcpy(p, mu->value.data, mu->value.len);
        p += mu->value.len;
    }
    out->len += bytes;
}

bool txn_read(struct slice *bytes, struct txn_view *txn)
{
    if (bytes->len < JOURNAL_TXN_BYTES) return false;
    const uint8_t *p = bytes->data;
    txn->version = get_u64_little(p);
    txn->time_ms = (int64_t)get_u64_little(p + 8);
    txn->mutations = get_u32_little(p + 16);
    size_t len = get_u32_little(p + 20);
    if (len > bytes->len - JOURNAL_TXN_BYTES) return false;
    txn->bytes = slice_of(p + JOURNAL_TXN_BYTES, len);
    *bytes = slice_of(p + JOURNAL_TXN_BYTES + len, bytes->len - JOURNAL_TXN_BYTES - len);
    return true;
}

bool mutation_read(struct slice *bytes, struct mutation *mu)
{
    if (bytes->len < JOURNAL_MUTATION_BYTES) return false;
    const uint8_t *p = bytes->data;
    uint16_t key_len;
    memcpy(&key_len, p + 2, sizeof key_len);
    size_t value_len = get_u32_little(p + 4);
    size_t left = bytes->len - JOURNAL_MUTATION_BYTES;
    if (key_len > left || value_len > left - key_len) return false;
    if (p[0] < MUTATION_SET || p[0] > MUTATION_FORGET || key_len == 0) return false;
    mu->kind = (enum mutation_kind)p[0];
    mu->expiry_ms = (int64_t)get_u64_little(p + 8);
    mu->key = slice_of(p + JOURNAL_MUTATION_BYTES, key_len);
    mu->value = slice_of(mu->key.data + key_len, value_len);
    *bytes = slice_of(mu->value.data + value_len, left - key_len - value_len);
    return true;
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
