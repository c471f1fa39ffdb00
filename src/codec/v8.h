/* v8: the wire format of V8's serialization (what Deno KV, node:v8 and structuredClone for storage
 * write), one item at a time, and the scan that says whether bytes are well-formed. Nothing here
 * knows what a value of ours is; src/foreign/v8.h converts.
 *
 *   ff version  value              versions 13 to 16; what follows the value is ignored
 *
 * A value is a tag (enum v8_tag) and what belongs to it; 00 before a tag is padding. Lengths are
 * LEB128 ("varint"), doubles and elements of arrays little-endian. Objects are numbered from 0 in
 * the order in which they begin, and `^ number` is that object again: also one that is not finished
 * yet, so values can be circular. A view (typed array) follows its buffer and has a number too.
 *
 * The scan takes memory in proportion to the input (4 bytes for each object) and goes at most
 * V8_DEPTH_MAX levels deep.
 */
#ifndef CODEC_V8_H
#define CODEC_V8_H

#include "base/buf.h"
#include "base/err.h"

#define V8_VERSION_MIN 13
#define V8_VERSION_MAX 16
/* More than VALUE_DEPTH_MAX (codec/value.h): what is deeper than that has no form of ours, but is
 * kept as it is. It bounds the stack that the scan takes. */
#define V8_DEPTH_MAX 512

enum v8_tag {
    V8_PADDING = 0,
    V8_VERSION = 0xff,
    V8_UNDEFINED = '_',
    V8_NULL = '0',
    V8_TRUE = 'T',
    V8_FALSE = 'F',
    V8_INT = 'I',    /* zigzag varint of 32 bits */
    V8_UINT = 'U',   /* varint of 32 bits */
    V8_DOUBLE = 'N', /* 8 bytes */
    V8_BIGINT = 'Z', /* varint: bytes * 2 + 1 when negative; magnitude, little-endian */
    V8_LATIN1 = '"', /* varint, bytes */
    V8_UTF16 = 'c',  /* varint of bytes, code units */
    V8_UTF8 = 'S',   /* varint, bytes; read only */
    V8_COUNT = '?',  /* varint without meaning, then a value */
    V8_AGAIN = '^',  /* varint: the number of an object that came before */
    V8_OBJECT = 'o', /* (key, value)*, then V8_OBJECT_END, varint of pairs */
    V8_OBJECT_END = '{',
    V8_DENSE = 'A', /* array: varint, values or V8_HOLE, properties, V8_DENSE_END, two varints */
    V8_DENSE_END = '$',
    V8_HOLE = '-',
    V8_SPARSE =
        'a', /* array: varint, properties, V8_SPARSE_END, varints of properties and length */
    V8_SPARSE_END = '@',
    V8_MAP = ';', /* (key, value)*, then V8_MAP_END, varint 2 * pairs */
    V8_MAP_END = ':',
    V8_SET = '\'', /* values, then V8_SET_END, varint */
    V8_SET_END = ',',
    V8_DATE = 'D',         /* double: ms */
    V8_REGEXP = 'R',       /* string, varint of flags */
    V8_ERROR = 'r',        /* enum v8_error_tag .., V8_ERROR_END */
    V8_BUFFER = 'B',       /* varint, bytes */
    V8_RESIZABLE = '~',    /* varint, varint of the most there can be, bytes */
    V8_VIEW = 'V',         /* kind, varints: offset, bytes, and from version 14 on flags */
    V8_BOXED_NUMBER = 'n', /* 8 bytes */
    V8_BOXED_TRUE = 'y',
    V8_BOXED_FALSE = 'x',
    V8_BOXED_STRING = 's', /* string */
    V8_BOXED_BIGINT = 'z', /* as V8_BIGINT */
    V8_HOST = '\\' /* varint, and what the host makes of it: V8_HOST_DENO, or a view of Node's */
};

/* Of an Error: in its place, each once at most; V8_ERROR_END follows. */
enum v8_error_tag {
    V8_ERROR_MESSAGE = 'm', /* string */
    V8_ERROR_STACK = 's',   /* string */
    V8_ERROR_CAUSE = 'c',   /* value */
    V8_ERROR_END = '.'
};

#define V8_HOST_DENO 0xffffffff /* an object that says what it is follows: Blob, CryptoKey, .. */
#define V8_HOST_BUFFER 10       /* Node's Buffer: varint, bytes */

struct v8_reader {
    const uint8_t *start, *at, *end; /* borrowed */
    uint32_t version;
    const char *why; /* NULL until something is wrong; then constant text .. */
    size_t where;    /* .. and its offset */
    bool is_nomem;   /* `why` is that there is no memory */
};

/* False, and the first call of all says what is wrong. */
bool v8_fail(struct v8_reader *r, const uint8_t *where, const char *why);

/* All that follow: false when it is not there; that is noted. */
bool v8_begin(struct v8_reader *r, struct slice bytes); /* the head, too */
bool v8_tag(struct v8_reader *r, uint8_t *tag);         /* past padding; V8_COUNT is passed over */
bool v8_varint(struct v8_reader *r, uint64_t most, uint64_t *n);
bool v8_take(struct v8_reader *r, uint64_t len, struct slice *bytes);
/* A varint and that many bytes. */
bool v8_sized(struct v8_reader *r, struct slice *bytes);
bool v8_double(struct v8_reader *r, double *d);
/* After the tag; the magnitude is little-endian. */
bool v8_bigint(struct v8_reader *r, bool *is_negative, struct slice *magnitude);

/* The next tag, past padding, without taking it; V8_PADDING at the end. */
static inline uint8_t v8_peek(struct v8_reader *r)
{
    while (r->at < r->end && *r->at == V8_PADDING) r->at++;
    return r->at < r->end ? *r->at : (uint8_t)V8_PADDING;
}

/* Bytes of one element of a view of this kind; 0 when there is none. */
size_t v8_view_element(uint8_t kind);
/* The kind of view that has this index in what Node writes; 0 when there is none. */
uint8_t v8_host_view(uint64_t index);
/* 'R' of "RangeError"; 'E' 'F' 'S' 'T' 'U'; NULL: no such error. */
const char *v8_error_name(uint8_t prototype);

/* Is it well-formed? If so *objects has 32 bits about every object, by number (get_u32_little), and
 * `r` has read all of it. If not, r->why. */
#define V8_IS_BUFFER 0x80000000u     /* the low bits are its bytes */
#define V8_IS_RESIZABLE 0x40000000u  /* likewise */
#define V8_IS_USED_AGAIN 0x20000000u /* by V8_AGAIN */
#define V8_LOW_BITS 0x1fffffffu
bool v8_scan(struct v8_reader *r, struct slice bytes, struct buf *objects);

#endif
