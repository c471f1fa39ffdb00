/* string_bitfield: BITFIELD and BITFIELD_RO: integers of any width at any place of a value. The
 * highest bit comes first. All operations of a command are one transaction; a value is made as
 * long as the furthest of them needs, once.
 */
#include "command/string/bits.h"
#include "request/keys.h"
#include "request/table.h"

enum field_kind { FIELD_GET, FIELD_SET, FIELD_INCRBY };
enum field_overflow { FIELD_WRAP, FIELD_SAT, FIELD_FAIL };

struct field {
    enum field_kind kind;
    enum field_overflow overflow;
    bool is_signed;
    unsigned bits;
    uint64_t at;
    int64_t number; /* of SET and INCRBY; an unsigned one's bits */
};

struct fields {
    struct field *items; /* in the arena */
    size_t count;
    uint64_t end; /* bytes that those which write need */
    bool writes;
};

/* ---- words ---- */

static enum err parse_type(struct request *rq, struct slice word, struct field *f)
{
    int64_t bits = 0;
    uint8_t sign = word.len > 1 ? word.data[0] : 0;
    f->is_signed = sign == 'i';
    if ((sign != 'i' && sign != 'u') ||
        !slice_to_i64(slice_of(word.data + 1, word.len - 1), &bits) || bits < 1 ||
        bits > (f->is_signed ? 64 : 63)) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "Invalid bitfield type. Use something like i16 u8. Note that u64 is not "
                         "supported but i64 is.");
    }
    f->bits = (unsigned)bits;
    return OK;
}

static enum err parse_place(struct request *rq, struct slice word, struct field *f)
{
    bool is_counted = word.len > 0 && word.data[0] == '#'; /* in fields of this width */
    if (is_counted) word = slice_of(word.data + 1, word.len - 1);
    return bits_offset(rq, word, is_counted ? f->bits : 1, &f->at);
}

static enum err parse_overflow(struct request *rq, struct slice word, enum field_overflow *out)
{
    static const char *const words[] = {"WRAP", "SAT", "FAIL"};
    unsigned i = 0;
    while (i < 3 && !slice_is_word(word, words[i])) i++;
    if (i == 3) return error_set(&rq->error, ERR_SYNTAX, "Invalid OVERFLOW type specified");
    *out = (enum field_overflow)i;
    return OK;
}

/* The operation whose first word is at *at. */
static enum err parse_field(struct request *rq, const struct slices *words, size_t *at,
                            struct field *f)
{
    static const char *const names[] = {"GET", "SET", "INCRBY"};
    const struct slice *word = words->items + *at;
    size_t left = words->count - *at - 1;
    unsigned i = 0;
    while (i < 3 && !slice_is_word(word[0], names[i])) i++;
    if (i == 3 || left < (i == FIELD_GET ? 2u : 3u)) return string_syntax(rq);
    f->kind = (enum field_kind)i;
    enum err r = parse_type(rq, word[1], f);
    if (r == OK) r = parse_place(rq, word[2], f);
    if (r == OK && f->kind != FIELD_GET) r = string_integer(rq, word[3], &f->number);
    *at += f->kind == FIELD_GET ? 3 : 4;
    return r;
}

static enum err parse_fields(struct request *rq, const struct slices *words, bool is_read_only,
                             struct fields *out)
{
    enum field_overflow overflow = FIELD_WRAP;
    *out = (struct fields){.items = arena_alloc(rq->arena, words->count * sizeof *out->items)};
    for (size_t at = 0; at < words->count;) {
        enum err r = OK;
        if (slice_is_word(words->items[at], "OVERFLOW") && at + 1 < words->count) {
            r = parse_overflow(rq, words->items[at + 1], &overflow);
            if (r != OK) return r;
            at += 2;
            continue;
        }
        struct field *f = &out->items[out->count++];
        *f = (struct field){.overflow = overflow};
        r = parse_field(rq, words, &at, f);
        if (r != OK) return r;
        if (f->kind == FIELD_GET) continue;
        uint64_t end = (f->at + f->bits + 7) / 8;
        if (end > out->end) out->end = end;
        out->writes = true;
    }
    if (is_read_only && out->writes) {
        return error_set(&rq->error, ERR_SYNTAX, "BITFIELD_RO only supports the GET subcommand");
    }
    return OK;
}

/* ---- numbers in bits ---- */

static uint64_t field_read(struct slice bytes, const struct field *f)
{
    uint64_t n = 0;
    INVARIANT(f->bits >= 1 && f->bits <= 64);
    for (unsigned i = 0; i < f->bits; i++) {
        uint64_t at = f->at + i;
        unsigned byte = at >> 3 < bytes.len ? bytes.data[at >> 3] : 0;
        n = n << 1 | (byte >> (7 - (at & 7)) & 1);
    }
    if (f->is_signed && f->bits < 64 && (n >> (f->bits - 1) & 1) != 0) n |= ~0ull << f->bits;
    return n;
}

static void field_write(uint8_t *to, const struct field *f, uint64_t n)
{
    INVARIANT(to != NULL && f->bits <= 64);
    for (unsigned i = 0; i < f->bits; i++) {
        uint64_t at = f->at + i;
        uint8_t bit = (uint8_t)(0x80u >> (at & 7));
        bool is_on = (n >> (f->bits - 1 - i) & 1) != 0;
        to[at >> 3] = (uint8_t)(is_on ? to[at >> 3] | bit : to[at >> 3] & ~bit);
    }
}

/* The number of the field's width that `wanted` comes to; false: OVERFLOW FAIL forbids it. */
static bool field_fit(const struct field *f, __int128 wanted, uint64_t *out)
{
    INVARIANT(f->bits >= 1 && f->bits <= 64);
    __int128 one = 1;
    __int128 max = (one << (f->is_signed ? f->bits - 1 : f->bits)) - 1;
    __int128 min = f->is_signed ? -max - 1 : 0;
    *out = (uint64_t)wanted;
    if (wanted >= min && wanted <= max) return true;
    if (f->overflow == FIELD_FAIL) return false;
    if (f->overflow == FIELD_SAT) {
        *out = (uint64_t)(wanted < min ? min : max);
    } else if (f->bits < 64) {
        uint64_t mask = (1ull << f->bits) - 1;
        *out &= mask;
        if (f->is_signed && (*out >> (f->bits - 1) & 1) != 0) *out |= ~mask;
    }
    return true;
}

/* One that writes: its reply. An unsigned field takes the argument of SET as 64 bits without a
 * sign. */
static void field_change(struct request *rq, uint8_t *to, struct slice bytes, const struct field *f)
{
    uint64_t old = field_read(bytes, f);
    uint64_t now = 0;
    __int128 before = f->is_signed ? (__int128)(int64_t)old : (__int128)old;
    __int128 wanted = f->kind == FIELD_INCRBY ? before + f->number
                      : f->is_signed          ? (__int128)f->number
                                              : (__int128)(uint64_t)f->number;
    if (!field_fit(f, wanted, &now)) {
        resp_nil(rq->w);
        return;
    }
    field_write(to, f, now);
    resp_int(rq->w, (int64_t)(f->kind == FIELD_INCRBY ? now : old));
}

/* ---- BITFIELD, BITFIELD_RO ---- */

static enum err run_fields(struct request *rq, bool is_read_only)
{
    const struct key_and_words *a = rq->bound;
    struct fields fields;
    struct slice bytes = {0};
    struct slice value = {0};
    bool exists = false;
    uint8_t *to = NULL;
    enum err r = parse_fields(rq, &a->words, is_read_only, &fields);
    if (r == OK) r = string_read(rq, a->key, &exists, &bytes);
    if (r != OK) return r;
    if (fields.writes) {
        r = bits_lengthen(rq, bytes, fields.end, &to, &value);
        if (r != OK) return r;
        bytes = slice_of(to, bytes.len > fields.end ? bytes.len : (size_t)fields.end);
    }
    resp_array(rq->w, fields.count);
    for (size_t i = 0; i < fields.count; i++) {
        const struct field *f = &fields.items[i];
        if (f->kind == FIELD_GET) {
            resp_int(rq->w, (int64_t)field_read(bytes, f));
        } else {
            field_change(rq, to, bytes, f);
        }
    }
    return fields.writes ? string_replace(rq, a->key, value) : OK;
}

ARGUMENTS(bitfield_arguments, struct key_and_words, "key [operation ...]",
          ARG_KEY(struct key_and_words, key, "key", 0),
          ARG_WORDS(struct key_and_words, words, "operation"));

static enum err bitfield_run(struct request *rq)
{
    return run_fields(rq, false);
}

/* With GET alone nothing is written. */
static unsigned bitfield_key_flags(const struct slice *argv, size_t argc)
{
    for (size_t i = 2; i < argc; i++) {
        if (slice_is_word(argv[i], "SET") || slice_is_word(argv[i], "INCRBY")) {
            return KEY_RW | KEY_ACCESS | KEY_UPDATE;
        }
    }
    return KEY_RO | KEY_ACCESS;
}

const struct command cmd_bitfield = {
    .name = "bitfield",
    .flags = CMD_STRING | CMD_BITMAP | CMD_WRITE,
    .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE | KEY_VARIABLE,
    .key_flags_of = bitfield_key_flags,
    .group = "string",
    .summary = "Reads and changes integers of any width in the bits of a value.",
    .arguments = &bitfield_arguments,
    .reply =
        "An array with an element for each operation except OVERFLOW. The operations are `GET "
        "encoding offset`, `SET encoding offset value` (returns the previous value), `INCRBY "
        "encoding offset increment` (returns the sum) and `OVERFLOW <WRAP | SAT | FAIL>`, which "
        "applies to the operations after it; with FAIL, a number that does not fit is nil. An "
        "encoding is `u8`, `i16` and so on. An offset counts bits, or integers of the encoding if "
        "it begins with `#`.",
    .run = bitfield_run,
};

static enum err bitfield_ro_run(struct request *rq)
{
    return run_fields(rq, true);
}
BITS_COMMAND(bitfield_ro, "bitfield_ro", CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Reads integers of any width from the bits of a value.", bitfield_arguments,
             bitfield_ro_run);
