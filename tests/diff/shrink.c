/* Few commands that show a difference: parts of the sequence are left out as long as the same
 * command is still answered with replies of the same two types that differ; of errors, with the
 * same two.
 */
#include <stdlib.h>

#include "diff/pair.h"

#define TRIES_MAX 3000
#define LONG_BYTES 30

struct shrinking {
    struct pair *pair;
    struct sequence *kept; /* shows the difference */
    struct difference *difference;
    struct sequence trial;
    unsigned tries;
};

static bool is_like(const struct sequence *s, const struct difference *a, const struct sequence *t,
                    const struct difference *b)
{
    const struct call *x = &s->calls[a->at];
    const struct call *y = &t->calls[b->at];
    if (x->count == 0 || y->count == 0 || !slice_eq(x->words[0], y->words[0])) return false;
    if (memcmp(a->type, b->type, sizeof a->type) != 0) return false;
    bool are_errors = a->type[0] == '-' && a->type[1] == '-' && !call_is(x, "EVAL");
    return !are_errors || (strcmp(a->ours, b->ours) == 0 && strcmp(a->redis, b->redis) == 0);
}

static void take(struct sequence *to, const struct sequence *from, size_t count)
{
    to->count = 0;
    for (size_t i = 0; i < count; i++) *sequence_add(to, 0) = from->calls[i];
}

/* Runs the trial; where it differs alike, it is what is kept. */
static bool try(struct shrinking *x)
{
    struct difference d;
    if (x->tries++ >= TRIES_MAX || x->pair->is_lost) return false;
    pair_reset(x->pair);
    bool is_same = pair_run(x->pair, &x->trial, &d);
    bool is_shorter = !is_same && is_like(x->kept, x->difference, &x->trial, &d);
    if (!is_shorter) {
        difference_fini(&d);
        return false;
    }
    difference_fini(x->difference);
    *x->difference = d;
    take(x->kept, &x->trial, d.at + 1);
    return true;
}

/* Leaves out `size` calls at a time; the last is the one that differs. */
static void without_calls(struct shrinking *x, size_t size)
{
    for (size_t end = x->kept->count - 1; end > 0;) {
        size_t from = end > size ? end - size : 0;
        take(&x->trial, x->kept, from);
        for (size_t i = end; i < x->kept->count; i++)
            *sequence_add(&x->trial, 0) = x->kept->calls[i];
        try(x);
        end = from < x->kept->count - 1 ? from : x->kept->count - 1;
    }
}

/* Leaves out one word, or two in a row. */
static void without_words(struct shrinking *x, size_t at, size_t size)
{
    for (size_t w = 2; at < x->kept->count && w + size <= x->kept->calls[at].count;) {
        struct call c = x->kept->calls[at];
        if (c.is_whole) return;
        struct slice *words = arena_alloc(&x->trial.arena, c.count * sizeof *words);
        memcpy(words, c.words, w * sizeof *words);
        memcpy(words + w, c.words + w + size, (c.count - w - size) * sizeof *words);
        c.words = words;
        c.count -= size;
        take(&x->trial, x->kept, x->kept->count);
        x->trial.calls[at] = c;
        if (!try(x)) w++;
    }
}

/* Long words are shown only where they must be long. */
static void with_short_words(struct shrinking *x, size_t at)
{
    for (size_t w = 1; at < x->kept->count && w < x->kept->calls[at].count; w++) {
        struct call c = x->kept->calls[at];
        if (c.words[w].len <= LONG_BYTES || call_is(&c, "EVAL")) continue;
        struct slice *words = arena_alloc(&x->trial.arena, c.count * sizeof *words);
        memcpy(words, c.words, c.count * sizeof *words);
        words[w].len = 3;
        c.words = words;
        take(&x->trial, x->kept, x->kept->count);
        x->trial.calls[at] = c;
        try(x);
    }
}

bool pair_shrink(struct pair *p, struct sequence *s, struct difference *d, struct sequence *out)
{
    struct shrinking x = {.pair = p, .kept = s, .difference = d};
    sequence_init(&x.trial);
    take(&x.trial, s, d->at + 1);
    bool comes_again = try(&x);
    for (size_t size = s->count / 2; comes_again && size > 0; size /= 2) without_calls(&x, size);
    for (size_t i = 0; comes_again && i < s->count; i++) {
        without_words(&x, i, 2);
        without_words(&x, i, 1);
        with_short_words(&x, i);
    }
    if (comes_again) without_calls(&x, 1);
    out->count = 0;
    for (size_t i = 0; i < s->count && i <= d->at; i++) {
        struct call *c = sequence_add(out, s->calls[i].connection);
        c->has_mistake = s->calls[i].has_mistake;
        for (size_t w = 0; w < s->calls[i].count; w++) sequence_word(out, s->calls[i].words[w]);
    }
    sequence_fini(&x.trial);
    return comes_again;
}
