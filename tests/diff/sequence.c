#include "diff/sequence.h"

#include <ctype.h>

#include "base/mem.h"

#define CHUNK_BYTES (256 * 1024)

void sequence_init(struct sequence *s)
{
    *s = (struct sequence){0};
    arena_init(&s->arena, CHUNK_BYTES);
}

void sequence_fini(struct sequence *s)
{
    mem_free(s->calls);
    arena_fini(&s->arena);
}

void sequence_clear(struct sequence *s)
{
    s->count = 0;
    arena_reset(&s->arena);
}

struct call *sequence_add(struct sequence *s, unsigned connection)
{
    if (s->count == s->cap) {
        s->cap = s->cap == 0 ? 64 : s->cap * 2;
        s->calls = mem_resize(s->calls, s->cap * sizeof *s->calls);
    }
    struct call *c = &s->calls[s->count++];
    *c = (struct call){.connection = connection};
    return c;
}

/* Room for words doubles at each power of two. */
void sequence_word(struct sequence *s, struct slice word)
{
    struct call *c = &s->calls[s->count - 1];
    if ((c->count & (c->count - 1)) == 0) {
        size_t cap = c->count == 0 ? 1 : c->count * 2;
        struct slice *more = arena_alloc(&s->arena, cap * sizeof *more);
        if (c->count > 0) memcpy(more, c->words, c->count * sizeof *more);
        c->words = more;
    }
    c->words[c->count++] = arena_copy(&s->arena, word);
}

void sequence_say(struct sequence *s, unsigned connection, const char *words)
{
    struct slice rest = slice_str(words);
    sequence_add(s, connection);
    while (rest.len > 0) sequence_word(s, slice_take(&rest, ' '));
}

bool call_is(const struct call *c, const char *upper)
{
    return c->count > 0 && slice_is_word(c->words[0], upper);
}

static bool is_plain(struct slice word)
{
    for (size_t i = 0; i < word.len; i++) {
        if (!isgraph(word.data[i]) || strchr("\"'\\#", word.data[i]) != NULL) return false;
    }
    return word.len > 0;
}

void call_show(FILE *to, const struct call *c)
{
    if (c->connection > 0) fprintf(to, "%u> ", c->connection + 1);
    for (size_t i = 0; i < c->count; i++) {
        struct slice w = c->words[i];
        if (i > 0) fputc(' ', to);
        if (is_plain(w)) {
            fwrite(w.data, 1, w.len, to);
            continue;
        }
        fputc('"', to);
        for (size_t k = 0; k < w.len; k++) {
            if (w.data[k] == '"' || w.data[k] == '\\')
                fprintf(to, "\\%c", w.data[k]);
            else if (isprint(w.data[k]))
                fputc(w.data[k], to);
            else
                fprintf(to, "\\x%02x", w.data[k]);
        }
        fputc('"', to);
    }
}
