#include "backend/local/page_sum.h"

#include <string.h>
#include <xxhash.h>

#define SUMMED_BYTES (PAGE_BYTES - PAGE_SUM_BYTES)

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
    uint64_t sum = sum_of(page, number);
    for (int i = 0; i < PAGE_SUM_BYTES; i++) page[SUMMED_BYTES + i] = (uint8_t)(sum >> (8 * i));
}

enum page_state page_sum_check(const uint8_t *page, uint32_t number)
{
    uint64_t sum = 0;
    for (int i = 0; i < PAGE_SUM_BYTES; i++) sum |= (uint64_t)page[SUMMED_BYTES + i] << (8 * i);
    if (sum == sum_of(page, number)) return PAGE_GOOD;
    return page_is_blank(page) ? PAGE_BLANK : PAGE_DAMAGED;
}

/* ---- the write-ahead log ---- */

/* The magic number in the log's header: its last bit is set where words are big-endian. */
#define MAGIC_LAST_BYTE 3
#define HEADER_SUM_AT 24
#define FRAME_SUM_AT 16
#define FRAME_SUMMED_BYTES 8

static uint32_t word_big(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t word_little(const uint8_t *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

struct wal_sum {
    uint32_t s0, s1;
};

static void wal_add_little(struct wal_sum *s, const uint8_t *p, size_t len)
{
    for (const uint8_t *end = p + len; p < end; p += 8) {
        s->s0 += word_little(p) + s->s1;
        s->s1 += word_little(p + 4) + s->s0;
    }
}

static void wal_add_big(struct wal_sum *s, const uint8_t *p, size_t len)
{
    for (const uint8_t *end = p + len; p < end; p += 8) {
        s->s0 += word_big(p) + s->s1;
        s->s1 += word_big(p + 4) + s->s0;
    }
}

bool wal_frame_is_good(const uint8_t *header, const uint8_t *before, const uint8_t *frame,
                       const uint8_t *page)
{
    bool is_big = header[MAGIC_LAST_BYTE] & 1;
    const uint8_t *from = before == NULL ? header + HEADER_SUM_AT : before + FRAME_SUM_AT;
    struct wal_sum s = {.s0 = word_big(from), .s1 = word_big(from + 4)};
    void (*add)(struct wal_sum *, const uint8_t *, size_t) = is_big ? wal_add_big : wal_add_little;
    add(&s, frame, FRAME_SUMMED_BYTES);
    add(&s, page, PAGE_BYTES);
    return s.s0 == word_big(frame + FRAME_SUM_AT) && s.s1 == word_big(frame + FRAME_SUM_AT + 4);
}

uint32_t wal_frame_page(const uint8_t *frame)
{
    return word_big(frame);
}
