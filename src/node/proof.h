/* proof: that a node knows the engine's secret, without saying it: HMAC-SHA256 (RFC 2104) over what
 * is said and over what both sides have made up for this connection alone; under TLS also over what
 * only its two ends have in common (RFC 9266), which excludes a man in the middle. The secret is in
 * PostgreSQL: a client that can read it there could change the data too.
 */
#ifndef NODE_PROOF_H
#define NODE_PROOF_H

#include "base/slice.h"

#define PROOF_NONCE_CHARS 32
#define PROOF_CHARS 64

struct node;

/* Lower-case hexadecimal, without a NUL. */
void proof_nonce(char out[PROOF_NONCE_CHARS]);
/* Of these words, in this order. Hexadecimal likewise. */
void proof_make(const struct node *n, const struct slice *words, size_t count,
                char out[PROOF_CHARS]);
/* In constant time. */
bool proof_is(const struct node *n, const struct slice *words, size_t count, struct slice proof);

#endif
