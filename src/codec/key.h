/* key: tuple keys. The stored form is byte-identical to Deno KV's (a subset of FoundationDB's tuple
 * layer): parts one after the other, no length, no terminator, and memcmp order is key order.
 *
 *   bytes   01 data 00        (every 00 inside is written 00 ff)
 *   string  02 utf-8 00       (likewise)
 *   bigint  0b..1d ...        (14 = zero; reference in docs/formats.md)
 *   number  21 8 bytes        (IEEE double, big-endian; all bits inverted when the sign bit is set,
 *                              else the sign bit flipped)
 *   false   26    true  27
 *
 * Pure functions over bytes: no I/O, no globals, any thread. docs/formats.md has every text
 * form. All writers append to a `struct buf` and leave it as it was when they fail.
 */
#ifndef CODEC_KEY_H
#define CODEC_KEY_H

#include "base/buf.h"
#include "base/err.h"
#include "codec/placeholder.h"

#define KEY_BYTES_MAX 2048 /* encoded */
#define KEY_PARTS_MAX 64

enum key_part_type { KEY_BYTES = 1, KEY_STRING, KEY_BIGINT, KEY_NUMBER, KEY_BOOL };

struct key_part {
    enum key_part_type type;
    bool boolean;
    bool is_negative; /* bigint */
    double number;
    /* bytes, string: still escaped, as stored, without the end mark; bigint: magnitude, big-endian,
     * minimal, as stored (inverted if negative) */
    struct slice bytes;
};

/* A key argument as a client sends it: JSON text (first byte '[') or a MessagePack array. Appends
 * the encoding. `allow_empty` permits the empty tuple (only as a prefix). ERR_KEY: "invalid key:
 * <what is wrong and where>"; ERR_LIMIT for more than KEY_PARTS_MAX parts or KEY_BYTES_MAX bytes.
 */
ERR_MUST_USE enum err key_from_arg(struct slice arg, bool allow_empty, const struct placeholders *p,
                                   struct buf *out, struct error *e);
/* The same, but in JSON an integer literal beyond +-(2^53-1) is a bigint, not an error. */
ERR_MUST_USE enum err key_from_bare_arg(struct slice arg, bool allow_empty,
                                        const struct placeholders *p, struct buf *out,
                                        struct error *e);
/* `p` NULL: placeholders are an error. */
ERR_MUST_USE enum err key_from_json(struct slice text, bool allow_empty,
                                    const struct placeholders *p, struct buf *out, struct error *e);
ERR_MUST_USE enum err key_from_msgpack(struct slice bytes, bool allow_empty, struct buf *out,
                                       struct error *e);
/* The path form (`users/#42/profile`); printable ASCII only. */
ERR_MUST_USE enum err key_from_path(struct slice path, bool allow_empty, struct buf *out,
                                    struct error *e);
/* As a person types it: of a string only `/`, `%` and a leading `#`, `&` or `!` must be escaped. */
ERR_MUST_USE enum err key_from_loose_path(struct slice path, struct buf *out, struct error *e);

/* An encoded key in each of its forms; canonical. `key` must be valid (a stored key is): these
 * never fail but for memory (sticky in out). */
void key_to_json(struct slice key, struct buf *out);
/* With bigints beyond +-(2^53-1) as integer literals; those within keep their tag. */
void key_to_bare_json(struct slice key, struct buf *out);
void key_to_msgpack(struct slice key, struct buf *out);
void key_to_path(struct slice key, struct buf *out);

/* ERR_KEY unless `key` is the canonical encoding of 0..KEY_PARTS_MAX parts within KEY_BYTES_MAX. */
ERR_MUST_USE enum err key_check(struct slice key, struct error *e);

/* Does the encoded key lie below the prefix, by whole parts? Not the prefix itself; everything but
 * the empty key lies below the empty one. Both must be valid. */
bool key_is_below(struct slice key, struct slice prefix);

/* Reads the next part at *at (an offset, moved past it). False at the end or on damage. */
bool key_next(struct slice key, size_t *at, struct key_part *part);

/* Writers of one part, canonical; sticky errors in out. bigint: big-endian magnitude, any leading
 * zeros, at most 255 significant bytes (longer: out->is_failed). */
void key_add_bytes(struct buf *out, struct slice bytes);
void key_add_string(struct buf *out, struct slice utf8);
void key_add_bigint(struct buf *out, bool is_negative, struct slice magnitude);
void key_add_number(struct buf *out, double number);
void key_add_bool(struct buf *out, bool value);

#endif
