/* txn: see txn.h. Reading checks every length against what is left, since the bytes may come from a
 * damaged disk. */
#include "backend/txn.h"
#include "base/bytes.h"

size_t txn_bytes(const struct batch *batch)
{
    size_t bytes = TXN_BYTES;
    for (size_t i = 0; i < batch->count; i++) {
        bytes += TXN_MUTATION_BYTES + batch->items[i].key.len + batch->items[i].value.len;
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
    put_u32_little(p + 20, (uint32_t)(bytes - TXN_BYTES));
    p += TXN_BYTES;
    for (size_t i = 0; i < batch->count; i++) {
        const struct mutation *mu = &batch->items[i];
        uint16_t key_len = (uint16_t)mu->key.len;
        p[0] = (uint8_t)mu->kind;
        p[1] = 0;
        memcpy(p + 2, &key_len, sizeof key_len);
        put_u32_little(p + 4, (uint32_t)mu->value.len);
        put_u64_little(p + 8, (uint64_t)mu->expiry_ms);
        p += TXN_MUTATION_BYTES;
        memcpy(p, mu->key.data, mu->key.len);
        p += mu->key.len;
        if (mu->value.len > 0) memcpy(p, mu->value.data, mu->value.len);
        p += mu->value.len;
    }
    out->len += bytes;
}

bool txn_read(struct slice *bytes, struct txn_view *txn)
{
    if (bytes->len < TXN_BYTES) return false;
    const uint8_t *p = bytes->data;
    txn->version = get_u64_little(p);
    txn->time_ms = (int64_t)get_u64_little(p + 8);
    txn->mutations = get_u32_little(p + 16);
    size_t len = get_u32_little(p + 20);
    if (len > bytes->len - TXN_BYTES) return false;
    txn->bytes = slice_of(p + TXN_BYTES, len);
    *bytes = slice_of(p + TXN_BYTES + len, bytes->len - TXN_BYTES - len);
    return true;
}

bool mutation_read(struct slice *bytes, struct mutation *mu)
{
    if (bytes->len < TXN_MUTATION_BYTES) return false;
    const uint8_t *p = bytes->data;
    uint16_t key_len;
    memcpy(&key_len, p + 2, sizeof key_len);
    size_t value_len = get_u32_little(p + 4);
    size_t left = bytes->len - TXN_MUTATION_BYTES;
    if (key_len > left || value_len > left - key_len) return false;
    if (p[0] < MUTATION_SET || p[0] > MUTATION_FORGET || key_len == 0) return false;
    mu->kind = (enum mutation_kind)p[0];
    mu->cause = 0;
    mu->expiry_ms = (int64_t)get_u64_little(p + 8);
    mu->key = slice_of(p + TXN_MUTATION_BYTES, key_len);
    mu->value = slice_of(mu->key.data + key_len, value_len);
    *bytes = slice_of(mu->value.data + value_len, left - key_len - value_len);
    return true;
}
