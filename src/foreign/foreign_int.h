/* foreign_int: what the converters share. */
#ifndef FOREIGN_FOREIGN_INT_H
#define FOREIGN_FOREIGN_INT_H

#include "base/buf.h"
#include "codec/pack.h"

/* Appends a bigint in the smallest stored form. The magnitude is big-endian and may have zeros in
 * front. Memory: sticky. */
void foreign_pack_bigint(struct buf *out, bool is_negative, struct slice magnitude);
/* Appends a number; there is one NaN. */
void foreign_pack_number(struct buf *out, double d);

/* Appends the Date that JavaScript makes of so many milliseconds: whole ones, in its range, else
 * the invalid one. */
void foreign_pack_date(struct buf *out, double ms);

/* Typed arrays: the code of the stored form for the kind of a view in V8's, and back; -1 and 0 when
 * there is none. */
#define FOREIGN_UINT8 1
#define FOREIGN_BUFFER 16
int foreign_code_of_view(uint8_t kind);
uint8_t foreign_view_of_code(uint8_t code);

/* Flags of a RegExp, in the order in which JavaScript writes them. */
#define FOREIGN_FLAGS 8
struct foreign_flag {
    char letter;
    unsigned bit; /* in V8's number */
};
extern const struct foreign_flag foreign_flags[FOREIGN_FLAGS];

/* Appends a str of Latin-1. */
void foreign_pack_latin1(struct buf *out, struct slice latin1);
/* Appends a str of UTF-16, little-endian. False: it has half of a pair; nothing is appended. */
bool foreign_pack_utf16(struct buf *out, struct slice units);

/* What UTF-8 is in other forms. */
struct foreign_text {
    size_t units; /* of UTF-16 */
    bool is_latin1;
};
struct foreign_text foreign_measure(struct slice utf8);
/* Writes `units` bytes. */
void foreign_to_latin1(struct slice utf8, uint8_t *to);
/* Writes 2 * `units` bytes, little-endian. */
void foreign_to_utf16(struct slice utf8, uint8_t *to);

/* Room for the head of an extension around what is made of so many bytes. A wrong guess moves the
 * content; so it is long when that is long. */
static inline size_t foreign_room(size_t input_bytes)
{
    return input_bytes > 60000 ? PACK_HEAD_BYTES : 3;
}

/* Ends an extension that pack_open began: its head, then the head of an array of `count` items that
 * its content is; `count` SIZE_MAX: no such head. */
void foreign_close_ext(struct buf *out, size_t opened, size_t room, int8_t ext, size_t count);

#endif
