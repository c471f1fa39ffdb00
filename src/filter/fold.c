/* fold: see fold_int.h. One character may fold to several, so the comparison goes by folded bytes
 * and notes when it ends inside of a character. A suffix is looked for in the last characters only.
 */
#include "filter/fold_int.h"

#include <utf8proc.h>

#include "base/buf.h"
#include "codec/utf8.h"

#define FOLDED_BYTES 32 /* of one character: Unicode has at most 3 code points for it */

static uint8_t fold_ascii(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* Folds the character at *at, which is not ASCII, and moves past it; bytes written. */
static size_t fold_character(const uint8_t **at, const uint8_t *end, uint8_t out[FOLDED_BYTES])
{
    utf8proc_int32_t code = 0, codes[FOLDED_BYTES / 4];
    utf8proc_ssize_t used = utf8proc_iterate(*at, end - *at, &code);
    if (used < 1) { /* not UTF-8: as it is */
        out[0] = *(*at)++;
        return 1;
    }
    *at += used;
    int boundary = 0;
    utf8proc_ssize_t count = utf8proc_decompose_char(code, codes, FOLDED_BYTES / 4,
                                                     UTF8PROC_CASEFOLD, &boundary);
    if (count < 1 || count > FOLDED_BYTES / 4) {
        codes[0] = code;
        count = 1;
    }
    size_t len = 0;
    for (utf8proc_ssize_t i = 0; i < count; i++) len += utf8_encode((uint32_t)codes[i], out + len);
    return len;
}

static size_t fold_next(const uint8_t **at, const uint8_t *end, uint8_t out[FOLDED_BYTES])
{
    if (**at >= 0x80) return fold_character(at, end, out);
    out[0] = fold_ascii(*(*at)++);
    return 1;
}

bool fold_build(struct slice text, struct arena *arena, struct fold *out)
{
    struct buf folded;
    buf_init(&folded);
    const uint8_t *at = text.data, *end = at + text.len;
    while (at < end) {
        uint8_t *to = buf_reserve(&folded, FOLDED_BYTES);
        if (to == NULL) break;
        folded.len += fold_next(&at, end, to);
    }
    uint8_t *copy = arena_alloc_try(arena, folded.len);
    uint32_t *failures = arena_alloc_try(arena, folded.len * sizeof *failures);
    bool ok = !folded.is_failed && copy != NULL && failures != NULL;
    if (ok) {
        if (folded.data != NULL) memcpy(copy, folded.data, folded.len);
        failures[0] = 0;
        for (size_t i = 1, same = 0; i < folded.len; i++) {
            while (same > 0 && copy[i] != copy[same]) same = failures[same - 1];
            if (copy[i] == copy[same]) same++;
            failures[i] = (uint32_t)same;
        }
        *out = (struct fold){.text = slice_of(copy, folded.len), .failures = failures};
    }
    buf_fini(&folded);
    return ok;
}

/* How far `text` goes along with all of f: moves *at. True: f has ended, and a character too. */
static bool go_along(const struct fold *f, const uint8_t **at, const uint8_t *end, bool *is_inside)
{
    const uint8_t *want = f->text.data, *want_end = want + f->text.len;
    uint8_t piece[FOLDED_BYTES];
    *is_inside = false;
    while (want < want_end) {
        if (*at == end) return false;
        size_t len = fold_next(at, end, piece);
        size_t rest = (size_t)(want_end - want);
        *is_inside = len > rest;
        if (memcmp(piece, want, *is_inside ? rest : len) != 0) return false;
        want += *is_inside ? rest : len;
    }
    return true;
}

bool fold_is_prefix(const struct fold *f, struct slice text)
{
    const uint8_t *at = text.data;
    bool is_inside = false;
    return go_along(f, &at, at + text.len, &is_inside);
}

bool fold_is_equal(const struct fold *f, struct slice text)
{
    const uint8_t *at = text.data, *end = at + text.len;
    bool is_inside = false;
    return go_along(f, &at, end, &is_inside) && at == end && !is_inside;
}

/* How much of f has been seen, after one more byte. Precondition: seen < f->text.len. */
static inline size_t step(const struct fold *f, size_t seen, uint8_t byte)
{
    const uint8_t *want = f->text.data;
    while (seen > 0 && want[seen] != byte) seen = f->failures[seen - 1];
    return want[seen] == byte ? seen + 1 : seen;
}

bool fold_is_inside(const struct fold *f, struct slice text)
{
    const uint8_t *at = text.data, *end = at + text.len;
    size_t seen = 0, len = f->text.len;
    if (len == 0) return true;
    uint8_t first = f->text.data[0];
    while (at < end) {
        if (seen == 0) { /* what cannot begin a match */
            while (at < end && *at < 0x80 && fold_ascii(*at) != first) at++;
            if (at == end) return false;
        }
        uint8_t piece[FOLDED_BYTES];
        size_t count = fold_next(&at, end, piece);
        for (size_t i = 0; i < count; i++) {
            seen = step(f, seen, piece[i]);
            if (seen == len) return true;
        }
    }
    return false;
}

bool fold_is_suffix(const struct fold *f, struct slice text)
{
    const uint8_t *at = text.data, *end = at + text.len;
    size_t seen = 0, len = f->text.len;
    if (len == 0) return true;
    /* No character is folded to nothing: only as many as f has bytes can matter. */
    const uint8_t *from = end;
    for (size_t i = 0; i < len && from > at; i++) {
        do from--;
        while (from > at && (*from & 0xc0) == 0x80);
    }
    for (at = from; at < end;) {
        uint8_t piece[FOLDED_BYTES];
        size_t count = fold_next(&at, end, piece);
        for (size_t i = 0; i < count; i++) {
            if (seen == len) seen = f->failures[len - 1];
            seen = step(f, seen, piece[i]);
        }
    }
    return seen == len;
}
