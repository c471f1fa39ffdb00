/* plan: what is made of the arguments of every command before main: steps that bind.c walks. Text,
 * rows and struct are compared there; what does not fit ends the program.
 */
#ifndef REQUEST_PLAN_H
#define REQUEST_PLAN_H

#include "request/arguments.h"

struct step {
    const struct arguments *of;     /* which have it in their text */
    const char *token;              /* comes first; NULL = none */
    const struct argument *row;     /* NULL = it is its token, or its parts, and no more */
    const struct argument *which;   /* the choice that its token makes; NULL = none ... */
    int value;                      /* ... which is this */
    const struct arguments *inside; /* the row's: its plan is walked; NULL = none */
    const struct step *parts;       /* of a block, or alternatives */
    uint16_t count;
    uint16_t words_min;   /* when it is there */
    uint16_t words_after; /* at least, of the steps after it */
    uint16_t words_each;  /* of each item of a list, when all have as many; else 0 */
    uint16_t base;        /* where members of the rows begin in the struct */
    uint16_t options;     /* from here on, one after another; 0 = it is none */
    /* word_start of each token that it may begin with, and of each that those options may. */
    uint32_t starts, options_start;
    bool is_optional, is_multiple;
    bool repeats_token; /* of a list: the token comes before each item */
    bool is_oneof;      /* one of its parts */
    bool has_token;     /* it always begins with a token */
    bool is_option;     /* optional, and known by its first word */
    bool is_word;       /* just one, which is read */
};

struct plan_set {
    uint16_t at, size;
    int64_t value;
};

/* Arguments that are complete when all steps are done: their check, their subjects. */
struct plan_end {
    const struct arguments *of;
    uint16_t base;
};

/* A copy for ever. */
const void *plan_copy(const void *from, size_t bytes);
/* Makes the plan of arguments that no command in the table has; for tests. */
void plan_make(const struct arguments *of);
/* One bit, by the first byte of the word in either case; words of different bits are different. */
static inline uint32_t word_start(struct slice word)
{
    return word.len > 0 ? 1u << (word.data[0] & 31) : 0;
}
/* Whether the step begins with the word, which has the start. Only of one that begins with a token.
 */
bool step_takes(const struct step *s, struct slice word, uint32_t start);

/* How it is written, with what is inside of it; in the arena. */
const char *arguments_syntax(const struct arguments *of, struct arena *arena);

#endif
