/* proof: HMAC-SHA256 over words, each with its length before it, as hexadecimal; compared in
 * constant time. */
#include "node/proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/random.h"
#include "node/node.h"

static void write_hex(const uint8_t *bytes, size_t count, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
}

void proof_nonce(char out[PROOF_NONCE_CHARS])
{
    uint8_t bytes[PROOF_NONCE_CHARS / 2];
    random_system(bytes, sizeof bytes);
    write_hex(bytes, sizeof bytes, out);
}

void proof_make(const struct node *n, const struct slice *words, size_t count,
                char out[PROOF_CHARS])
{
    uint8_t mac[PROOF_CHARS / 2];
    struct buf all;
    buf_init(&all);
    /* With their lengths: no two lists of words are the same bytes. */
    for (size_t i = 0; i < count; i++) {
        uint8_t len[8];
        put_u64(len, words[i].len);
        buf_append(&all, len, sizeof len);
        buf_append(&all, words[i].data, words[i].len);
    }
    buf_require(&all);
    const uint8_t *made = HMAC(EVP_sha256(), n->secret, NODE_SECRET_BYTES, all.data, all.len, mac,
                               NULL);
    INVARIANT(made != NULL);
    buf_fini(&all);
    write_hex(mac, sizeof mac, out);
}

bool proof_is(const struct node *n, const struct slice *words, size_t count, struct slice proof)
{
    char own[PROOF_CHARS];
    proof_make(n, words, count, own);
    return proof.len == PROOF_CHARS && CRYPTO_memcmp(own, proof.data, PROOF_CHARS) == 0;
}
