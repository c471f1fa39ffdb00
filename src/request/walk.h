/* walk: over the steps of a plan and the words of a command at once. What is done with each word is
 * the caller's: bind.c makes structs of them, keys.c looks which are keys.
 *
 *   options    in any order, each once, as long as one of them takes the word; one that may be
 *              given several times, TOKEN word [TOKEN word ...], need not be given in one place
 *   optional   taken when more words are left than what follows needs
 *   list       as many as its count says; or up to what follows needs, or to a word of an option
 *   one of     the one whose token it is; else the one without a token
 */
#ifndef REQUEST_WALK_H
#define REQUEST_WALK_H

#include "request/plan.h"

/* What is wrong with the words, from w->at on; WRONG_NOTHING: an error that the caller made. */
enum wrong {
    WRONG_NOTHING,
    WRONG_MISSING,    /* there is no word, or fewer than a count says */
    WRONG_UNEXPECTED, /* nothing takes it; not NULL: `step` has a token that must be there */
    WRONG_NO_CHOICE,  /* none of the alternatives of `step` takes it */
    WRONG_REPEATED,   /* the option `step` was there before, or another one of its alternatives */
};

struct walk {
    const struct walk_ops *ops;
    void *arg; /* the caller's */
    const struct slice *argv;
    size_t argc, at;
    struct arena *arena; /* of structs and lists; NULL = nothing is bound, there are none */
    /* What the walk itself keeps. */
    const struct arguments *of;   /* the innermost that has a hint; of the command, at first */
    const char *token;            /* the last one taken; NULL = none */
    int64_t counted;              /* what a count said; -1 = none did */
    const struct argument *count; /* that one */
    /* Of one that failed. */
    enum wrong wrong;
    const struct step *step;
    const struct argument *wanted;                   /* whose word is missing; NULL = none */
    const struct argument *wrong_count, *wrong_item; /* the count, the list it is in; NULL = none */
    size_t item_number;                              /* in that list, from 0 */
};

/* OK, or an error that ends the walk. */
struct walk_ops {
    /* The word at w->at is this argument, whose member is at `to`. */
    enum err (*word)(struct walk *w, const struct argument *a, void *to);
    /* Words of `a`, which stay as they came (is_as_it_came), need not be told one by one. NULL =
     * they must. */
    bool (*passes)(const struct walk *w, const struct argument *a);
    /* It is a count: sets w->counted. */
    enum err (*count)(struct walk *w, const struct argument *a);
    /* The list `a` gets so many items. NULL = it may. */
    enum err (*fits)(struct walk *w, const struct argument *a, size_t items);
    /* What is inside of `a` comes now. NULL = nothing is done. */
    void (*inside)(struct walk *w, const struct argument *a);
    /* All of it has been bound. NULL = nothing is done. */
    enum err (*end)(struct walk *w, const struct arguments *of, void *base);
};

/* All words from w->at on. ERR_SYNTAX: w->wrong says why. */
ERR_MUST_USE enum err walk_words(struct walk *w, const struct arguments *of, void *base);
/* An op `count` for words that are not bound: sets w->counted, or ERR_SYNTAX. */
enum err walk_count(struct walk *w, const struct argument *a);
/* What the members are before words are read; the struct is all zero. */
void walk_begin(const struct plan *p, uint8_t *base);

#endif
