/* text_fold: a text is cut into clusters, a character with what belongs to it, and each is folded
 * for itself: decomposed, marks in order, its case folded, marks removed, composed again.
 */
#include "backend/local/text_fold.h"

#include <utf8proc.h>

#include "codec/utf8.h"

/* A character and the marks on it; of more marks than fit the rest is a cluster of its own. */
#define CODES_MAX 64
#define CODES_OF_ONE 4 /* that one code point becomes: canonically 4 at most, 3 by its case */
#define ZERO_WIDTH_SPACE 0x200b

struct cluster {
    utf8proc_int32_t codes[CODES_MAX * CODES_OF_ONE];
    size_t count;
};

/* ---- what characters are ---- */

static const struct {
    utf8proc_int32_t first, last;
} removable[] = {
    {0x0300, 0x036f}, /* combining diacritical marks */
    {0x0483, 0x0487}, /* of Old Church Slavonic */
    {0x0591, 0x05bd}, {0x05bf, 0x05bf}, {0x05c1, 0x05c2},
    {0x05c4, 0x05c5}, {0x05c7, 0x05c7}, /* Hebrew points */
    {0x0610, 0x061a}, {0x064b, 0x065f}, {0x0670, 0x0670},
    {0x06d6, 0x06dc}, {0x06df, 0x06e4}, /* Arabic ... */
    {0x06e7, 0x06e8}, {0x06ea, 0x06ed}, /* ... vowel signs, and those of the Quran */
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff},
    {0xfe20, 0xfe2f}, /* more like the first */
};

static bool is_removable(utf8proc_int32_t code)
{
    for (size_t i = 0; i < sizeof removable / sizeof removable[0]; i++) {
        if (code >= removable[i].first && code <= removable[i].last) return true;
    }
    return false;
}

static bool is_mark(utf8proc_int32_t code)
{
    utf8proc_category_t c = utf8proc_category(code);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

/* Vowels and final consonants of Hangul, written one by one. */
static bool is_hangul_part(utf8proc_int32_t code)
{
    return (code >= 0x1160 && code <= 0x11ff) || (code >= 0xd7b0 && code <= 0xd7ff);
}

/* Does it belong to the character before? */
static bool goes_on(utf8proc_int32_t code)
{
    if (code < 0xad || code == ZERO_WIDTH_SPACE) return false;
    return is_mark(code) || is_hangul_part(code) || utf8proc_get_property(code)->ignorable;
}

/* Latin and Greek, which lose all marks; a mark without a letter too. */
static bool loses_marks(utf8proc_int32_t code)
{
    return code < 0x400 || (code >= 0x1d00 && code < 0x2000) || is_mark(code);
}

/* ---- one cluster ---- */

static void add_code(struct cluster *k, utf8proc_int32_t code, utf8proc_option_t how)
{
    int boundary = 0;
    utf8proc_int32_t *to = k->codes + k->count;
    utf8proc_ssize_t count = utf8proc_decompose_char(
        code, to, CODES_OF_ONE, how | UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, &boundary);
    if (count >= 0 && count <= CODES_OF_ONE) k->count += (size_t)count;
}

/* Marks in canonical order: stable, by their combining classes. */
static void sort_marks(struct cluster *k)
{
    for (size_t i = 1; i < k->count; i++) {
        utf8proc_int32_t code = k->codes[i];
        utf8proc_propval_t class = utf8proc_get_property(code)->combining_class;
        size_t to = i;
        while (class > 0 && to > 0 &&
               utf8proc_get_property(k->codes[to - 1])->combining_class > class) {
            k->codes[to] = k->codes[to - 1];
            to--;
        }
        k->codes[to] = code;
    }
}

/* Of what is decomposed and in order: what is folded may be a letter where a mark was (U+0345). */
static void fold_case(struct cluster *k)
{
    struct cluster from;
    from.count = k->count;
    memcpy(from.codes, k->codes, k->count * sizeof k->codes[0]);
    k->count = 0;
    for (size_t i = 0; i < from.count; i++) {
        if (from.codes[i] == ZERO_WIDTH_SPACE) { /* it ends a word */
            k->codes[k->count++] = from.codes[i];
        } else {
            add_code(k, from.codes[i], UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);
        }
    }
}

static void compose(struct cluster *k)
{
    sort_marks(k);
    utf8proc_ssize_t count = utf8proc_normalize_utf32(k->codes, (utf8proc_ssize_t)k->count,
                                                      UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (count >= 0) k->count = (size_t)count;
}

static void remove_marks(struct cluster *k)
{
    size_t kept = 0;
    for (size_t i = 0; i < k->count; i++) {
        if (!is_removable(k->codes[i])) k->codes[kept++] = k->codes[i];
    }
    k->count = kept;
}

static void cluster_fold(struct cluster *k)
{
    sort_marks(k);
    fold_case(k);
    if (k->count == 0) return;
    if (loses_marks(k->codes[0])) {
        remove_marks(k);
        compose(k);
    } else {
        compose(k);
        remove_marks(k);
    }
}

/* ---- the text ---- */

/* The cluster at *at, which is not at the end; moves past it. False: it is a byte that is no UTF-8,
 * and not moved past. */
static bool cluster_read(const uint8_t **at, const uint8_t *end, struct cluster *k)
{
    k->count = 0;
    for (bool is_first = true; *at < end && k->count + CODES_OF_ONE <= CODES_MAX;
         is_first = false) {
        utf8proc_int32_t code = 0;
        utf8proc_ssize_t bytes = utf8proc_iterate(*at, end - *at, &code);
        if (bytes < 1) return !is_first;
        if (!is_first && !goes_on(code)) return true;
        *at += bytes;
        add_code(k, code, 0);
        if (code == ZERO_WIDTH_SPACE) return true;
    }
    return true;
}

static void append(struct text_fold *f, const uint8_t *bytes, size_t count, uint32_t cluster)
{
    buf_append(&f->folded, bytes, count);
    for (size_t i = 0; i < count; i++) buf_append(&f->clusters, &cluster, sizeof cluster);
}

static void fold_all(struct text_fold *f, struct slice input)
{
    const uint8_t *at = input.data, *end = at + input.len;
    while (at < end && !f->folded.is_failed && !f->clusters.is_failed) {
        const uint8_t *from = at;
        uint32_t cluster = (uint32_t)(from - input.data);
        struct cluster k;
        uint8_t bytes[CODES_MAX * CODES_OF_ONE * 4];
        size_t count = 0;
        if (*at < 0x80 && (at + 1 == end || at[1] < 0x80)) {
            append(f, at++, 1, cluster);
            continue;
        }
        if (!cluster_read(&at, end, &k)) {
            append(f, at++, 1, cluster);
            continue;
        }
        cluster_fold(&k);
        for (size_t i = 0; i < k.count; i++) {
            count += utf8_encode((uint32_t)k.codes[i], bytes + count);
        }
        append(f, bytes, count, cluster);
    }
}

static bool is_ascii(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] >= 0x80) return false;
    }
    return true;
}

bool text_fold_init(struct text_fold *f, struct slice input)
{
    *f = (struct text_fold){.text = input, .input_bytes = input.len};
    buf_init(&f->folded);
    buf_init(&f->clusters);
    if (is_ascii(input)) return true;
    fold_all(f, input);
    f->text = buf_slice(&f->folded);
    return !f->folded.is_failed && !f->clusters.is_failed;
}

void text_fold_fini(struct text_fold *f)
{
    buf_fini(&f->folded);
    buf_fini(&f->clusters);
}

static uint32_t cluster_at(const struct text_fold *f, size_t i)
{
    uint32_t cluster;
    memcpy(&cluster, f->clusters.data + i * sizeof cluster, sizeof cluster);
    return cluster;
}

void text_fold_source(const struct text_fold *f, size_t start, size_t end, size_t *input_start,
                      size_t *input_end)
{
    *input_start = start;
    *input_end = end;
    if (f->clusters.len == 0) return;
    /* Of what was one character all of it. */
    while (end < f->text.len && cluster_at(f, end) == cluster_at(f, end - 1)) end++;
    *input_start = cluster_at(f, start);
    *input_end = end < f->text.len ? cluster_at(f, end) : f->input_bytes;
}
