/* placeholder: what {"$uuidv7":n} and {"$versionstamp":true} in a transaction's JSON stand for.
 * The codec only finds them; the owner of the transaction says what they are. Both become strings.
 */
#ifndef CODEC_PLACEHOLDER_H
#define CODEC_PLACEHOLDER_H

#include "codec/json_lex.h"

#define UUID_BYTES 16
#define UUID_CHARS 36
#define VERSIONSTAMP_CHARS 20
#define UUID_NUMBERS 10000 /* n is below */

struct placeholders {
    /* The same n, the same text, for the whole transaction. */
    void (*uuid)(void *arg, unsigned n, char out[UUID_CHARS]);
    /* That of the transaction's commit. */
    void (*versionstamp)(void *arg, char out[VERSIONSTAMP_CHARS]);
    void *arg;
};

/* At the value of the tag (a number, or `true`): takes it and writes the text; *len its length.
 * `p` NULL = there is no transaction: an error. False: the error is set. */
bool placeholder_read(struct json *j, const struct placeholders *p, bool is_uuid,
                      char out[UUID_CHARS], size_t *len);

/* State of a generator of UUIDs that only grow: version 7 of RFC 9562 with a 74-bit counter that
 * begins at a random number every millisecond (method 2 of its section 6.2). */
struct uuid_clock {
    int64_t time_ms;
    uint16_t high; /* 12 bits */
    uint64_t low;  /* 62 bits */
};

/* `random`: 10 unpredictable bytes. A clock that steps back is not followed. */
void uuid_next(struct uuid_clock *c, int64_t now_ms, const uint8_t random[10],
               uint8_t out[UUID_BYTES]);
void uuid_format(const uint8_t uuid[UUID_BYTES], char out[UUID_CHARS]);

#endif
