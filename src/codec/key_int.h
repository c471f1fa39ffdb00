/* key_int: what the files of `key` share: the end of every conversion into a key. */
#ifndef CODEC_KEY_INT_H
#define CODEC_KEY_INT_H

#include "codec/key.h"

#define KEY_BIGINT_BYTES_MAX 255
#define KEY_BIGINT_DIGITS_MAX 615

/* A conversion under way: where it began in out, how many parts it has. */
struct key_writer {
    struct buf *out;
    size_t from;
    size_t parts;
    const struct placeholders *placeholders; /* NULL = none are allowed */
    bool takes_bare;                         /* integer literals beyond +-(2^53-1) are bigints */
    struct error *e;
};

/* A JSON array, into an empty writer. */
ERR_MUST_USE enum err key_writer_json(struct key_writer *w, struct slice text, bool allow_empty);

/* ERR_LIMIT as soon as one part or byte too many was written. */
ERR_MUST_USE enum err key_writer_check(const struct key_writer *w);
/* The last step: emptiness and memory; on any error (also one passed in) cuts out back to `from`.
 */
ERR_MUST_USE enum err key_writer_end(const struct key_writer *w, bool allow_empty, enum err err);

/* Part of a bigint from decimal digits. False when it has more than 255 bytes or is no number. */
bool key_add_decimal(struct buf *out, bool is_negative, struct slice digits);

/* Escapes every 00 in out from offset `from` on (it becomes 00 ff) and ends the part. */
void key_end_text(struct buf *out, size_t from);

/* Appends part->bytes without the escapes of the stored form; for bigint: the plain magnitude. */
void key_part_plain(const struct key_part *part, struct buf *out);

#endif
