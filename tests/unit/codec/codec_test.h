/* codec_test: what the tests of the codecs share: hex, a seeded generator, results as text. */
#ifndef CODEC_TEST_H
#define CODEC_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"

/* The same numbers for the same seed; TEST_SEED in the environment repeats a run. */
static uint64_t random_state;

__attribute__((unused)) static void random_seed(void)
{
    const char *text = getenv("TEST_SEED");
    random_state = text != NULL ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    printf("TEST_SEED=%llu\n", (unsigned long long)random_state);
    random_state |= 1;
}

__attribute__((unused)) static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

__attribute__((unused)) static size_t random_below(size_t n)
{
    return (size_t)((random_u64() >> 16) % n);
}

/* Hex with blanks allowed -> bytes. */
__attribute__((unused)) static void hex_to(const char *hex, struct buf *out)
{
    out->len = 0;
    for (const char *p = hex; *p != '\0';) {
        unsigned byte = 0;
        int used = 0;
        if (*p == ' ') {
            p++;
            continue;
        }
        assert_int_equal(1, sscanf(p, "%2x%n", &byte, &used));
        assert_int_equal(2, used);
        buf_append_byte(out, (uint8_t)byte);
        p += 2;
    }
}

/* Bytes -> hex, NUL-ended, good until the fourth next call. */
__attribute__((unused)) static const char *to_hex(struct slice s)
{
    static char rooms[4][8192];
    static unsigned turn;
    char *room = rooms[turn++ % 4];
    room[0] = '\0';
    for (size_t i = 0; i < s.len && i < 4000; i++) snprintf(room + 2 * i, 3, "%02x", s.data[i]);
    return room;
}

/* What was appended, as a C string. */
__attribute__((unused)) static const char *text_of(struct buf *b)
{
    *buf_reserve(b, 1) = '\0';
    return (const char *)b->data;
}

#endif
