#include "unit/resp/resp_help.h"

#include "base/random.h"
#include "resp/reader.h"

#define PEEKED_WORDS 2

/* Looks at all commands that are there; gives the words of the next one. */
static size_t peek(const struct resp_reader *r, struct slice words[PEEKED_WORDS])
{
    struct slice ignored;
    size_t at = 0;
    size_t count = resp_reader_peek(r, &at, words, PEEKED_WORDS);
    while (resp_reader_peek(r, &at, &ignored, 1) > 0) INVARIANT(at <= resp_reader_rest(r).len);
    return count;
}

/* False when the connection ended. */
static bool take_commands(struct resp_reader *r, struct buf *out)
{
    for (;;) {
        struct slice *argv = NULL;
        size_t argc = 0;
        struct error e = {.text = ""};
        struct slice words[PEEKED_WORDS];
        size_t peeked = peek(r, words);
        enum resp_result result = resp_reader_next(r, &argv, &argc, &e);
        INVARIANT(result != RESP_MORE || peeked == 0 || r->is_closed);
        if (result == RESP_MORE) return !r->is_closed;
        if (result == RESP_BROKEN) {
            INVARIANT(e.code == ERR_PROTOCOL);
            buf_printf(out, "!%s\n", e.text);
            return false;
        }
        INVARIANT(argc > 0 && peeked <= argc);
        for (size_t i = 0; i < peeked; i++) INVARIANT(slice_eq(words[i], argv[i]));
        for (size_t i = 0; i < argc; i++) {
            buf_printf(out, "(%zu:", argv[i].len);
            buf_append(out, argv[i].data, argv[i].len);
            buf_append_byte(out, ')');
        }
        buf_append_byte(out, '\n');
    }
}

/* As if another reader had used them. */
static void spoil(struct resp_spares *s)
{
    for (size_t i = 0; i < s->count; i++) {
        memset(s->items[i].in.data, '$', s->items[i].in.cap);
        if (s->items[i].args_cap == 0) continue;
        memset(s->items[i].args, 0x7f, s->items[i].args_cap * sizeof *s->items[i].args);
        memset(s->items[i].argv, 0x7f, s->items[i].args_cap * sizeof *s->items[i].argv);
    }
}

void resp_transcript(struct slice input, size_t piece, uint64_t seed, size_t bulk_bytes_max,
                     struct buf *out)
{
    struct resp_reader r;
    struct resp_spares spares = {.count = 0};
    struct rng rng;
    rng_init(&rng, seed);
    resp_reader_init(&r, bulk_bytes_max);
    while (input.len > 0) {
        size_t room = 0;
        size_t n = piece > 0 ? piece : 1 + rng_below(&rng, 1 + rng_below(&rng, 40));
        if (n > input.len) n = input.len;
        resp_reader_take(&r, &spares);
        uint8_t *p = resp_reader_room(&r, n, &room);
        INVARIANT(p != NULL && room >= n);
        memcpy(p, input.data, n);
        resp_reader_fed(&r, n);
        input = slice_of(input.data + n, input.len - n);
        if (!take_commands(&r, out)) break;
        INVARIANT(resp_reader_missing(&r) <= bulk_bytes_max + 2);
        if (seed % 2 == 1) {
            resp_reader_give(&r, &spares);
            spoil(&spares);
        }
    }
    resp_reader_fini(&r);
    resp_spares_fini(&spares);
}
