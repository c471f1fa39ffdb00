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

/* What is left of a patch's value. */
static size_t bytes_spared(const struct batch *batch, const struct txn_patches *patches)
{
    size_t bytes = 0;
    for (size_t i = 0; patches != NULL && i < patches->count; i++) {
        const struct txn_patch *p = &patches->of[i];
        bytes += batch->items[p->item].value.len - patch_bytes(&p->patch);
    }
    return bytes;
}

static uint8_t *write_mutation(uint8_t *p, const struct mutation *mu, const struct patch *patch)
{
    uint16_t key_len = (uint16_t)mu->key.len;
    size_t value_len = patch != NULL ? patch_bytes(patch) : mu->value.len;
    p[0] = (uint8_t)(patch != NULL ? MUTATION_PATCH : mu->kind);
    p[1] = 0;
    memcpy(p + 2, &key_len, sizeof key_len);
    put_u32_little(p + 4, (uint32_t)value_len);
    put_u64_little(p + 8, (uint64_t)mu->expiry_ms);
    p += TXN_MUTATION_BYTES;
    memcpy(p, mu->key.data, mu->key.len);
    p += mu->key.len;
    if (patch != NULL) {
        patch_write(patch, p);
    } else if (value_len > 0) {
        memcpy(p, mu->value.data, value_len);
    }
    return p + value_len;
}

void txn_write(struct buf *out, uint64_t version, const struct batch *batch,
               const struct txn_patches *patches)
{
    size_t bytes = txn_bytes(batch) - bytes_spared(batch, patches);
    size_t patches_left = patches != NULL ? patches->count : 0;
    uint8_t *p = buf_reserve(out, bytes);
    if (p == NULL) return;
    put_u64_little(p, version);
    put_u64_little(p + 8, (uint64_t)batch->time_ms);
    put_u32_little(p + 16, (uint32_t)batch->count);
    put_u32_little(p + 20, (uint32_t)(bytes - TXN_BYTES));
    p += TXN_BYTES;
    for (size_t i = 0; i < batch->count; i++) {
        const struct txn_patch *next = patches_left > 0
                                           ? &patches->of[patches->count - patches_left]
                                           : NULL;
        bool is_patch = next != NULL && next->item == i;
        p = write_mutation(p, &batch->items[i], is_patch ? &next->patch : NULL);
        patches_left -= is_patch;
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
    if (p[0] < MUTATION_SET || p[0] > MUTATION_PATCH || key_len == 0) return false;
    mu->kind = (enum mutation_kind)p[0];
    mu->cause = 0;
    mu->expiry_ms = (int64_t)get_u64_little(p + 8);
    mu->key = slice_of(p + TXN_MUTATION_BYTES, key_len);
    mu->value = slice_of(mu->key.data + key_len, value_len);
    *bytes = slice_of(mu->value.data + value_len, left - key_len - value_len);
    return true;
}

enum err txn_values(struct patch_values *v, const struct txn_view *txn, struct error *e)
{
    struct slice rest = txn->bytes;
    struct mutation mu;
    enum err r = OK;
    while (r == OK && mutation_read(&rest, &mu)) r = patch_values_take(v, txn->version, &mu, e);
    return r;
}
