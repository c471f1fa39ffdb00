/* pack: the MessagePack wire format, one item at a time, both ways. Writers append the smallest
 * encoding. Nothing here knows what an extension means.
 *
 * A container whose size is known only at its end is written with pack_open (which leaves room for
 * a head) and pack_close (which puts the head there and moves the content when the guess was
 * wrong).
 */
#ifndef CODEC_PACK_H
#define CODEC_PACK_H

#include "base/buf.h"

enum pack_type {
    PACK_NIL,
    PACK_BOOL,
    PACK_UINT,  /* u */
    PACK_INT,   /* below zero: i */
    PACK_FLOAT, /* f */
    PACK_STR,   /* body */
    PACK_BIN,   /* body */
    PACK_EXT,   /* ext, body */
    PACK_ARRAY, /* count items follow */
    PACK_MAP    /* 2 * count items follow */
};

struct pack_item {
    enum pack_type type;
    bool boolean;
    int8_t ext;
    uint32_t count;
    uint64_t u;
    int64_t i;
    double f;
    struct slice body; /* borrowed from the input */
};

enum pack_result { PACK_OK, PACK_TRUNCATED, PACK_INVALID };

/* Reads one item at *at (head and, but for arrays and maps, body) and moves *at past it. Only the
 * members of its type are set. */
enum pack_result pack_read_slow(const uint8_t **at, const uint8_t *end, struct pack_item *item);

static inline enum pack_result pack_read(const uint8_t **at, const uint8_t *end,
                                         struct pack_item *item)
{
    const uint8_t *p = *at;
    if (p == end) return PACK_TRUNCATED;
    if (*p < 0x80) { /* the two kinds that most items are */
        item->type = PACK_UINT;
        item->u = *p;
        *at = p + 1;
        return PACK_OK;
    }
    size_t len = *p & 31u;
    if ((*p & 0xe0) == 0xa0 && (size_t)(end - p) > len) {
        item->type = PACK_STR;
        item->body = slice_of(p + 1, len);
        *at = p + 1 + len;
        return PACK_OK;
    }
    return pack_read_slow(at, end, item);
}

/* The whole of `s` is one extension. */
bool pack_whole_ext(struct slice s, int8_t *ext, struct slice *body);

void pack_uint(struct buf *out, uint64_t u);
void pack_int(struct buf *out, int64_t i);
/* float32 when that loses nothing, else float64. */
void pack_float(struct buf *out, double d);
/* An integer when d is one within +-(2^53-1), else as pack_float. */
void pack_number(struct buf *out, double d);
void pack_str(struct buf *out, struct slice s);
void pack_bin(struct buf *out, struct slice s);
void pack_ext(struct buf *out, int8_t ext, struct slice s);

/* Heads alone, into at most PACK_HEAD_BYTES at `to`; bytes written. */
#define PACK_HEAD_BYTES 6
size_t pack_head(enum pack_type type, int8_t ext, size_t n, uint8_t *to);

/* Leaves `room` bytes for a head; the offset that pack_close wants. */
size_t pack_open(struct buf *out, size_t room);
void pack_close(struct buf *out, size_t opened, size_t room, const uint8_t *head, size_t head_len);

#endif
