/* token: see token.h. The signature is compared first, in constant time; what a token says is
 * looked at only then. connect_uuid is made of the same secret, so it stays the same and cannot be
 * guessed. */
#include "command/connect/token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "access/user.h"
#include "access/users.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "codec/base64.h"

#define FORMAT 1
#define CHECK_BYTES 8
#define MAC_BYTES 32
#define HEAD_BYTES (1 + 8 + 2 + 8 + CHECK_BYTES)
#define TOKEN_CHARS_MAX 4096

static void sign(const struct env *env, struct slice bytes, uint8_t mac[MAC_BYTES])
{
    const uint8_t *secret = databases_secret(env->db->databases);
    INVARIANT(secret != NULL);
    const uint8_t *made = HMAC(EVP_sha256(), secret, DATABASE_SECRET_BYTES, bytes.data, bytes.len,
                               mac, NULL);
    INVARIANT(made != NULL);
}

/* Changes when the user's passwords or rights do. */
static void user_check(const struct user *u, uint8_t check[CHECK_BYTES])
{
    uint8_t hash[SHA256_DIGEST_LENGTH];
    struct buf text;
    buf_init(&text);
    user_describe(u, &text);
    buf_require(&text);
    SHA256(text.data, text.len, hash);
    memcpy(check, hash, CHECK_BYTES);
    buf_fini(&text);
}

void connect_token_make(struct env *env, const struct user *u, const struct database *d,
                        int64_t until_ms, struct buf *out)
{
    uint8_t head[HEAD_BYTES] = {FORMAT};
    uint8_t mac[MAC_BYTES];
    struct buf bytes;
    put_u64(head + 1, (uint64_t)until_ms);
    put_u16(head + 9, d->number);
    put_u64(head + 11, d->created);
    user_check(u, head + 19);
    buf_init(&bytes);
    buf_append(&bytes, head, sizeof head);
    buf_append(&bytes, u->name.data, u->name.len);
    buf_require(&bytes);
    sign(env, buf_slice(&bytes), mac);
    buf_append(&bytes, mac, sizeof mac);
    buf_require(&bytes);
    base64url_encode(buf_slice(&bytes), out);
    buf_fini(&bytes);
}

static bool is_ours(const struct env *env, struct slice bytes)
{
    uint8_t mac[MAC_BYTES];
    if (bytes.len < HEAD_BYTES + MAC_BYTES || bytes.data[0] != FORMAT) return false;
    struct slice signed_part = slice_of(bytes.data, bytes.len - MAC_BYTES);
    sign(env, signed_part, mac);
    return CRYPTO_memcmp(mac, bytes.data + signed_part.len, MAC_BYTES) == 0;
}

static bool is_good(struct env *env, struct slice bytes, struct connect_token *out)
{
    uint8_t check[CHECK_BYTES];
    if (!is_ours(env, bytes)) return false;
    struct slice name = slice_of(bytes.data + HEAD_BYTES, bytes.len - HEAD_BYTES - MAC_BYTES);
    out->until_ms = (int64_t)get_u64(bytes.data + 1);
    out->database = get_u16(bytes.data + 9);
    out->user = users_find(env->users.all, name);
    const struct database *d = database_get(env->db->databases, out->database);
    out->is_ours = clock_wall_ms() < out->until_ms;
    if (out->user == NULL || !out->user->is_on || d == NULL) return false;
    if (!out->is_ours || d->created != get_u64(bytes.data + 11)) return false;
    user_check(out->user, check);
    return CRYPTO_memcmp(check, bytes.data + 19, CHECK_BYTES) == 0;
}

bool connect_token_read(struct env *env, struct slice text, struct connect_token *out)
{
    struct buf bytes;
    if (databases_secret(env->db->databases) == NULL || text.len > TOKEN_CHARS_MAX) return false;
    buf_init(&bytes);
    bool is_read = base64url_decode(text, &bytes) && !bytes.is_failed &&
                   is_good(env, buf_slice(&bytes), out);
    buf_fini(&bytes);
    return is_read;
}

void connect_uuid(const struct env *env, const struct database *d, char out[CONNECT_UUID_CHARS])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t what[11] = {'d'};
    uint8_t mac[MAC_BYTES];
    put_u16(what + 1, d->number);
    put_u64(what + 3, d->created);
    sign(env, slice_of(what, sizeof what), mac);
    mac[6] = (uint8_t)((mac[6] & 0x0f) | 0x80); /* version 8 of RFC 9562: of our own making */
    mac[8] = (uint8_t)((mac[8] & 0x3f) | 0x80);
    for (size_t i = 0, at = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) out[at++] = '-';
        out[at++] = digits[mac[i] >> 4];
        out[at++] = digits[mac[i] & 15];
    }
}
