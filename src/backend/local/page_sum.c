/* page_sum: the sum of a page, and SQLite's own sum of a frame of the write-ahead log, which is
 * computed here again in the byte order that the log's header names. */
#include "backend/local/page_sum.h"
#include "base/bytes.h"

#include <string.h>
#include <xxhash.h>

#define SUMMED_BYTES (PAGE_BYTES - PAGE_SUM_BYTES)
_Static_assert(PAGE_SUM_BYTES == sizeof(uint64_t), "a checksum has one operand");

bool page_is_blank(const uint8_t *page)
{
    return page[0] == 0 && memcmp(page, page + 1, PAGE_BYTES - 1) == 0;
}

static uint64_t sum_of(const uint8_t *page, uint32_t number)
{
    return XXH3_64bits_withSeed(page, SUMMED_BYTES, number);
}

void page_sum_put(uint8_t *page, uint32_t number)
{
    put_u64_little(page + SUMMED_BYTES, sum_of(page, number));
}

enum page_state page_sum_check(const uint8_t *page, uint32_t number)
{
    uint64_t sum = get_u64_little(page + SUMMED_BYTES);
    if (sum == sum_of(page, number)) return PAGE_GOOD;
    return page_is_blank(page) ? PAGE_BLANK : PAGE_DAMAGED;
}

/* ---- the write-ahead log ---- */

/* The magic number in the log's header: its last bit is set where words are big-endian. */
#define MAGIC_LAST_BYTE 3
#define HEADER_SUM_AT 24
#define FRAME_SUM_AT 16
#define FRAME_SUMMED_BYTES 8

struct wal_sum {
    uint32_t s0, s1;
};

static void wal_add_little(struct wal_sum *s, const uint8_t *p, size_t len)
{
    for (const uint8_t *end = p + len; p < end; p += 8) {
        s->s0 += get_u32_little(p) + s->s1;
        s->s1 += get_u32_little(p + 4) + s->s0;
    }
}

static void wal_add_big(struct wal_sum *s, const uint8_t *p, size_t len)
{
    for (const uint8_t *end = p + len; p < end; p += 8) {
        s->s0 += get_u32(p) + s->s1;
        s->s1 += get_u32(p + 4) + s->s0;
    }
}

bool wal_frame_is_good(const uint8_t *header, const uint8_t *before, const uint8_t *frame,
                       const uint8_t *page)
{
    bool is_big = header[MAGIC_LAST_BYTE] & 1;
    const uint8_t *from = before == NULL ? header + HEADER_SUM_AT : before + FRAME_SUM_AT;
    struct wal_sum s = {.s0 = get_u32(from), .s1 = get_u32(from + 4)};
    void (*add)(struct wal_sum *, const uint8_t *, size_t) = is_big ? wal_add_big : wal_add_little;
    add(&s, frame, FRAME_SUMMED_BYTES);
    add(&s, page, PAGE_BYTES);
    return s.s0 == get_u32(frame + FRAME_SUM_AT) && s.s1 == get_u32(frame + FRAME_SUM_AT + 4);
}

uint32_t wal_frame_page(const uint8_t *frame)
{
    return get_u32(frame);
}
