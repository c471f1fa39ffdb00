/* token: what Deno shows with each request in place of a password. It names a user and a database,
 * and is signed with the secret of the catalog (database/database.h), so it is good on after a
 * restart. It ends after CONNECT_TOKEN_MS, when the user is changed, or when the database is
 * another.
 *
 *   base64url of: format 1, expiry (8 bytes, Unix ms), database (2 bytes), its creation (8 bytes),
 *   the first 8 bytes of SHA-256 of what the user may do; the name; HMAC-SHA-256 of all of it
 */
#ifndef COMMAND_CONNECT_TOKEN_H
#define COMMAND_CONNECT_TOKEN_H

#include "request/command.h"

#define CONNECT_TOKEN_MS (3600LL * 1000)
#define CONNECT_UUID_CHARS 36

/* Of the client's user and the database; there is a secret. Appended. */
void connect_token_make(struct env *env, const struct user *u, const struct database *d,
                        int64_t until_ms, struct buf *out);

struct connect_token {
    struct user *user;
    uint16_t database;
    int64_t until_ms; /* Unix time */
    bool is_ours;     /* made with the secret, and not over yet */
};

/* False: it is none of ours, or no longer good. `out` is made of zeros; is_ours is set anyway. */
bool connect_token_read(struct env *env, struct slice text, struct connect_token *out);

/* The database as Deno knows it: another one after it was dropped and made anew. */
void connect_uuid(const struct env *env, const struct database *d, char out[CONNECT_UUID_CHARS]);

#endif
