/* text: the tokenizers, the spec as bytes and back, the text of a value by one walk over it, cut at
 * TEXT_BYTES_MAX, and the gaps as people see them. */
#include "search/text.h"

#include <math.h>

#include "base/bytes.h"
#include "codec/bigint.h"
#include "codec/number.h"
#include "codec/pack.h"
#include "codec/value.h"
#include "filter/path.h"

#define SPEC_OF_VALUES 1
#define SPEC_OF_HASHES 2
#define SPEC_MEMBERS 4

/* ---- tokenizers ---- */

/* Marks are part of a word: the signs of vowels in Hindi, say. */
#define UNICODE61 "unicode61 remove_diacritics 2 categories ''L* N* Co M*''"

/* Another option here is another version of texts (text_ops.c). */
static const struct {
    const char *name;
    const char *word; /* the name in upper-case */
    const char *option;
} tokenizers[] = {
    [TOKENIZE_UNICODE61] = {"unicode61", "UNICODE61", "folded " UNICODE61},
    [TOKENIZE_PORTER] = {"porter", "PORTER", "folded porter " UNICODE61},
    [TOKENIZE_ASCII] = {"ascii", "ASCII", "ascii"},
    [TOKENIZE_TRIGRAM] = {"trigram", "TRIGRAM", "folded trigram"},
};

bool text_tokenizer_find(struct slice name, enum text_tokenizer *out)
{
    for (size_t i = 0; i < sizeof tokenizers / sizeof *tokenizers; i++) {
        if (!slice_is_word(name, tokenizers[i].word)) continue;
        *out = (enum text_tokenizer)i;
        return true;
    }
    return false;
}

const char *text_tokenizer_name(enum text_tokenizer t)
{
    return tokenizers[t].name;
}

const char *text_tokenizer_option(enum text_tokenizer t)
{
    return tokenizers[t].option;
}

/* ---- the spec as bytes ---- */

static void write_array(struct buf *out, size_t count)
{
    uint8_t head[PACK_HEAD_BYTES];
    buf_append(out, head, pack_head(PACK_ARRAY, 0, count, head));
}

void text_spec_write(const struct text_spec *spec, struct buf *out)
{
    INVARIANT(spec->path_count >= 1 && spec->path_count <= TEXT_PATHS_MAX);
    write_array(out, SPEC_MEMBERS);
    pack_uint(out, spec->is_of_hashes ? SPEC_OF_HASHES : SPEC_OF_VALUES);
    pack_bin(out, spec->prefix);
    pack_str(out, slice_str(text_tokenizer_name(spec->tokenizer)));
    write_array(out, spec->path_count);
    for (size_t i = 0; i < spec->path_count; i++) pack_str(out, path_text(spec->paths[i]));
}

struct spec_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool is_bad; /* an item that was not there, or of another type */
};

static struct pack_item read_item(struct spec_reader *r, enum pack_type type)
{
    struct pack_item item = {0};
    if (r->is_bad || pack_read(&r->at, r->end, &item) != PACK_OK || item.type != type) {
        r->is_bad = true;
        return (struct pack_item){0};
    }
    return item;
}

enum err text_spec_read(struct slice bytes, struct arena *arena, struct text_spec *out,
                        struct error *e)
{
    struct spec_reader r = {.at = bytes.data, .end = bytes.data + bytes.len};
    uint32_t members = read_item(&r, PACK_ARRAY).count;
    uint64_t format = read_item(&r, PACK_UINT).u;
    if (!r.is_bad && format > SPEC_OF_HASHES) {
        return error_set(e, ERR_FORMAT,
                         "text index: its format is newer than this version supports");
    }
    struct slice prefix = read_item(&r, PACK_BIN).body;
    struct slice tokenizer = read_item(&r, PACK_STR).body;
    uint32_t path_count = read_item(&r, PACK_ARRAY).count;
    if (r.is_bad || members != SPEC_MEMBERS || format == 0) {
        return error_set(e, ERR_CORRUPT, "text index: its description is damaged");
    }
    if (!text_tokenizer_find(tokenizer, &out->tokenizer)) {
        return error_set(e, ERR_CORRUPT, "text index: its tokenizer is unknown");
    }
    if (path_count < 1 || path_count > TEXT_PATHS_MAX) {
        return error_set(e, ERR_CORRUPT, "text index: it has %u paths", path_count);
    }
    out->path_count = path_count;
    out->is_of_hashes = format == SPEC_OF_HASHES;
    for (uint32_t i = 0; i < path_count; i++) {
        struct slice path = read_item(&r, PACK_STR).body;
        struct error why;
        if (r.is_bad || path_compile(path, arena, &out->paths[i], &why) != OK) {
            return error_set(e, ERR_CORRUPT, "text index: a path is damaged");
        }
    }
    if (r.at != r.end) return error_set(e, ERR_CORRUPT, "text index: bytes after its description");
    out->prefix = arena_copy(arena, prefix);
    return OK;
}

/* ---- the text of a value ---- */

struct gather {
    struct buf *out;
    size_t from;  /* where the text of this path begins in `out` */
    bool is_full; /* TEXT_BYTES_MAX was reached: nothing more is read */
};

static void gather_text(struct gather *g, struct slice s)
{
    size_t used = g->out->len - g->from, gap = used > 0 ? strlen(TEXT_GAP) : 0;
    size_t room = used + gap < TEXT_BYTES_MAX ? TEXT_BYTES_MAX - used - gap : 0;
    if (s.len == 0) return;
    if (s.len > room) {
        g->is_full = true;
        s.len = room;
        while (s.len > 0 && (s.data[s.len] & 0xc0) == 0x80) s.len--;
        if (s.len == 0) return;
    }
    buf_append(g->out, TEXT_GAP, gap);
    size_t at = g->out->len;
    buf_append(g->out, s.data, s.len);
    if (g->out->is_failed) {
        g->is_full = true;
        return;
    }
    /* SQLite's functions would end the text there. */
    uint8_t *end = g->out->data + g->out->len, *nul = g->out->data + at;
    while ((nul = memchr(nul, 0, (size_t)(end - nul))) != NULL) *nul = ' ';
}

static void gather_integer(struct gather *g, bool is_negative, uint64_t magnitude)
{
    char text[21] = "-";
    size_t len = is_negative ? 1 : 0;
    len += u64_format(magnitude, text + len);
    gather_text(g, slice_of(text, len));
}

static void gather_float(struct gather *g, double d)
{
    char text[NUMBER_TEXT_BYTES];
    if (isnan(d)) {
        gather_text(g, slice_str("NaN"));
    } else if (isinf(d)) {
        gather_text(g, slice_str(d < 0 ? "-Infinity" : "Infinity"));
    } else {
        gather_text(g, slice_of(text, number_format(d, text)));
    }
}

static void gather_bigint(struct gather *g, struct slice twos)
{
    struct buf digits;
    buf_init(&digits);
    bigint_twos_to_text(twos, &digits);
    if (digits.is_failed) g->out->is_failed = g->is_full = true;
    gather_text(g, buf_slice(&digits));
    buf_fini(&digits);
}

static void gather_value(struct gather *g, const uint8_t **at, const uint8_t *end);

static void gather_items(struct gather *g, uint64_t count, const uint8_t **at, const uint8_t *end)
{
    for (; count > 0 && !g->is_full; count--) gather_value(g, at, end);
}

static void skip_value(const uint8_t **at, const uint8_t *end)
{
    *at += value_length(slice_of(*at, (size_t)(end - *at)));
}

/* Names of objects and keys of Maps are no text. */
static void gather_members(struct gather *g, uint64_t count, const uint8_t **at, const uint8_t *end)
{
    for (; count > 0 && !g->is_full; count--) {
        skip_value(at, end);
        gather_value(g, at, end);
    }
}

static void gather_ext(struct gather *g, int8_t ext, struct slice body)
{
    const uint8_t *at = body.data, *end = at + body.len;
    struct pack_item head = {0};
    switch (ext) {
    case EXT_BIGINT: gather_bigint(g, body); return;
    case EXT_U64: gather_integer(g, false, get_uint(body.data, body.len)); return;
    case EXT_ID:
    case EXT_MAP:
    case EXT_SET: break;
    default: return;
    }
    if (pack_read(&at, end, &head) != PACK_OK) return;
    if (ext == EXT_MAP) {
        gather_members(g, head.count / 2, &at, end);
    } else if (ext == EXT_SET) {
        gather_items(g, head.count, &at, end);
    } else {
        skip_value(&at, end);
        gather_value(g, &at, end);
    }
}

/* Calls itself once for each level of the value, of which value_check lets VALUE_DEPTH_MAX pass. */
static void gather_value(struct gather *g, const uint8_t **at, const uint8_t *end)
{
    struct pack_item item;
    if (pack_read(at, end, &item) != PACK_OK) return; /* no checked value comes here */
    switch (item.type) {
    case PACK_STR: gather_text(g, item.body); break;
    case PACK_UINT: gather_integer(g, false, item.u); break;
    case PACK_INT: gather_integer(g, true, 0 - (uint64_t)item.i); break;
    case PACK_FLOAT: gather_float(g, item.f); break;
    case PACK_BOOL: gather_text(g, slice_str(item.boolean ? "true" : "false")); break;
    case PACK_ARRAY: gather_items(g, item.count, at, end); break;
    case PACK_MAP: gather_members(g, item.count, at, end); break;
    case PACK_EXT: gather_ext(g, item.ext, item.body); break;
    case PACK_NIL:
    case PACK_BIN: break;
    }
}

bool text_of_path(const struct text_spec *spec, size_t i, struct slice value, struct buf *out)
{
    struct slice found;
    struct gather g = {.out = out, .from = out->len};
    INVARIANT(i < spec->path_count);
    if (!path_find(spec->paths[i], value, &found)) return false;
    const uint8_t *at = found.data;
    gather_value(&g, &at, at + found.len);
    return out->len > g.from;
}

/* ---- for people ---- */

/* A snippet may begin or end inside of a gap: a blank on one side is enough. */
void text_show_gaps(struct buf *text)
{
    struct slice mark = slice_str(TEXT_GAP_MARK);
    size_t to = 0;
    for (size_t at = 0; at < text->len;) {
        struct slice rest = slice_of(text->data + at, text->len - at);
        bool is_after_blank = to > 0 && text->data[to - 1] == ' ';
        bool is_before_blank = rest.len > mark.len && rest.data[mark.len] == ' ';
        if (slice_has_prefix(rest, mark) && (is_after_blank || is_before_blank)) {
            to -= is_after_blank;
            text->data[to++] = ',';
            text->data[to++] = ' ';
            at += mark.len + is_before_blank;
        } else {
            text->data[to++] = text->data[at++];
        }
    }
    text->len = to;
}
