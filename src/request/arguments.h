/* arguments: what a command takes, said once. A `struct arguments` is a text in the notation of
 * syntax.h and, for each name and token in it, a row that says what it is and which member of a C
 * struct it becomes:
 *
 *   struct lease {
 *       struct slice queue;
 *       int64_t count;
 *       bool is_quiet;
 *   };
 *   ARGUMENTS(lease_arguments, struct lease, "queue [COUNT count] [QUIET]",
 *             ARG_WORD(struct lease, queue, "queue"),
 *             ARG_INTEGER(struct lease, count, "COUNT", 1, 100, 10),
 *             ARG_FLAG(struct lease, is_quiet, "QUIET"));
 *
 * From it come the number of words, the keys among them, what permission is asked for, and the
 * struct itself, which the command finds at rq->bound (bind.h). A row has the name of an argument,
 * or that of the token before it. Every argument and every token of the text has a row.
 *
 * Options, which begin with a token and are in brackets, come in any order, each of them once, or
 * several times where the text says so ([TOKEN word [TOKEN word ...]]). What
 * stands for several words has arguments of its own (ARG_INSIDE, ARG_ALSO); so has what is repeated
 * and is more than a word.
 */
#ifndef REQUEST_ARGUMENTS_H
#define REQUEST_ARGUMENTS_H

#include "request/command.h"

struct argument;
struct step;
struct members;
struct plan_set;
struct plan_end;

/* What a word says, for callers that have JSON in its place (members.h). */
enum word_type {
    WORD_TEXT,
    WORD_VALUE,
    WORD_NUMBER, /* a value that is one, or a bigint */
    WORD_ARRAY,  /* a value likewise */
    WORD_INTEGER,
    WORD_TTL,
    WORD_FILTER,
    WORD_VERSION
};

/* What a word may be. */
struct argument_kind {
    /* The word becomes the member at `to`. ERR_WAIT as a command's. */
    enum err (*read)(struct request *rq, const struct argument *a, struct slice word, void *to);
    /* What permission must be had for (subjects.h); NULL = nothing. */
    void (*subjects)(struct subjects *s, const struct argument *a, const void *from);
    const char *syntax;  /* how it is written where that is not its name; NULL = by that */
    bool is_key;         /* its words are keys: a->flags */
    bool is_value;       /* its words are values in the format of the request */
    bool is_as_it_came;  /* a list of it is where the words are: nothing is read */
    enum word_type type; /* of one that is no key */
};

struct choice {
    const char *token;
    int value;
};

struct argument {
    const char *name; /* NULL ends the rows */
    const struct argument_kind *kind;
    uint16_t at;   /* of the member in the struct ... */
    uint16_t size; /* ... and its bytes; of a list, those of an item */
    bool is_list;
    bool is_half;   /* of a list: it has half of the words that are left */
    unsigned flags; /* of a key: enum key_flag, 0 = as the command has it; of others: as the kind */
    int64_t min, max, otherwise;    /* of an integer; `otherwise`: when it is left out */
    const struct arguments *inside; /* of arg_inside */
    const struct command *as; /* permission for it is asked as for this one; NULL = the outer one */
    enum err (*fits)(struct request *rq,
                     size_t count); /* of a list: may it be so long? NULL: yes */
    const char *item;               /* what errors call an item of a list; NULL = they do not */
    /* Of a count, for a hint, NULL = there is none; `what` with COUNT_SAYS_WHAT: Redis's words for
     * one that is no number. */
    const char *what, *example;
    /* Redis's words in place of the usual ones, NULL = these: of an integer, or a count, that is
     * none or out of range; of a word that is missing, or of fewer words than a count says. */
    const char *wrong, *missing;
    const struct choice *choices; /* of arg_choice; ended by one without a token */
};

#define WORDS_ANY UINT16_MAX

/* One word of a row. */
struct row_word {
    enum err (*read)(struct request *rq, const struct argument *a, struct slice word, void *to);
    const struct argument *argument;
    size_t at; /* in the struct */
};

/* What plan.c makes of a text and its rows, before main. */
struct plan {
    /* What most commands have, and many others when no option is given: words one after another. */
    const struct row_word *row;
    uint16_t row_words;
    bool is_row;    /* all but these may be left out */
    bool is_filled; /* these are the whole struct, and nothing more is done */
    bool is_choice; /* one of several, and no more: the steps are that one */
    bool has_keys, is_made;
    /* All keys and values are among the first of `row`: so many words; WORDS_ANY = others too. */
    uint16_t decoded_words;
    uint16_t decoded;              /* rows of keys and values, with those inside of others */
    uint16_t words_min, words_max; /* WORDS_ANY = any number */
    uint16_t count, set_count, end_count;
    const struct members *members; /* members.c; NULL = nothing has asked for them yet */
    const struct step *steps;
    const struct plan_set *sets; /* what the struct has before words are read; all else is 0 */
    const struct plan_end *ends;
};

struct arguments {
    const char *name; /* its own, for a message when it contradicts itself */
    const char *syntax;
    const char *shown;    /* in its place where people read it; NULL = the same, all told */
    unsigned words_least; /* fewest words, when the text does not say it; else 0 */
    size_t size;          /* of the struct */
    const struct argument *rows;
    /* What the text cannot say; it may change what is bound. NULL = nothing. */
    enum err (*check)(struct request *rq, void *bound);
    /* What permission must be had for beside what its kinds say. NULL = nothing. */
    void (*subjects)(struct subjects *s, const void *bound);
    const char *usage; /* of a command: how it is written, for its errors; NULL = the words do */
    /* Names in JSON (members.h) for tokens and arguments, "PX expiresIn KEEPTTL keepTtl"; - is
     * none, NULL = the usual ones. */
    const char *members;
    const char *refusal; /* of a word that nothing takes, {} being the word; NULL = the usual */
    /* Says more in rq->error about a word that nothing takes; false = it cannot. */
    bool (*hint)(struct request *rq, struct slice word);
    struct plan *plan;
};

/* A list: any struct of a pointer and a count. Items are in the request's arena. */
struct argument_list {
    void *items;
    size_t count;
};
struct slices {
    struct slice *items;
    size_t count;
};
struct integers {
    int64_t *items;
    size_t count;
};

#define ARGUMENTS(id, in, text, ...) ARGUMENTS_WITH(id, in, text, WITH(.check = NULL), __VA_ARGS__)
/* `more`: WITH(members of struct arguments). */
#define ARGUMENTS_WITH(id, in, text, more, ...)                                                    \
    static struct plan id##_plan; /* constant after plans_make */                                  \
    static const struct argument id##_rows[] = {__VA_ARGS__, {.name = NULL}};                      \
    static const struct arguments id = {.name = #id,                                               \
                                        .syntax = text,                                            \
                                        .size = sizeof(in),                                        \
                                        .rows = id##_rows,                                         \
                                        .plan = &id##_plan,                                        \
                                        more}
/* Those that a header declares. */
#define SHARED_ARGUMENTS(id, in, text, ...)                                                        \
    SHARED_ARGUMENTS_WITH(id, in, text, WITH(.check = NULL), __VA_ARGS__)
#define SHARED_ARGUMENTS_WITH(id, in, text, more, ...)                                             \
    static struct plan id##_plan;                                                                  \
    static const struct argument id##_rows[] = {__VA_ARGS__, {.name = NULL}};                      \
    const struct arguments id = {.name = #id,                                                      \
                                 .syntax = text,                                                   \
                                 .size = sizeof(in),                                               \
                                 .rows = id##_rows,                                                \
                                 .plan = &id##_plan,                                               \
                                 more}
#define WITH(...) __VA_ARGS__

/* ---- kinds: kinds.c; others are where what they read belongs ---- */

extern const struct argument_kind arg_kind_key, arg_kind_any_key, arg_kind_key_word,
    arg_kind_prefix, arg_kind_bound, arg_kind_word, arg_kind_filter, arg_kind_value,
    arg_kind_number, arg_kind_array, arg_kind_integer, arg_kind_stamp, arg_kind_pattern,
    arg_kind_timeout, arg_kind_database;
/* These walk.c knows itself. */
extern const struct argument_kind arg_kind_flag, arg_kind_choice, arg_kind_count, arg_kind_inside,
    arg_kind_made, arg_kind_fixed;

/* 0 if what is in the member has the type; else it does not compile. */
#define ARG_IS(what, type)                                                                         \
    (0 * sizeof(char[__builtin_types_compatible_p(__typeof__(what), type) ? 1 : -1]))
#define ARG_ONE(in, member, type, label, of)                                                       \
    .name = (label), .kind = &(of), .size = sizeof(type),                                          \
    .at = offsetof(in, member) + ARG_IS(((in *)0)->member, type)
/* Of a list in which each item is one word. */
#define ARG_MANY(in, member, type, label, of)                                                      \
    .name = (label), .kind = &(of), .size = sizeof(type), .is_list = true,                         \
    .at = offsetof(in, member) + ARG_IS(((in *)0)->member.count, size_t) +                         \
          ARG_IS(*((in *)0)->member.items, type)

/* clang-format off */

/* In the format of the request, or as words, as the command has them (args.h); internal. */
#define ARG_KEY(in, member, label, uses)                                                           \
    {ARG_ONE(in, member, struct slice, label, arg_kind_key), .flags = (uses)}
#define ARG_KEYS(in, member, label, uses)                                                          \
    {ARG_MANY(in, member, struct slice, label, arg_kind_key), .flags = (uses)}
/* In any form (arg_any_key). */
#define ARG_ANY_KEY(in, member, label, uses)                                                       \
    {ARG_ONE(in, member, struct slice, label, arg_kind_any_key), .flags = (uses)}
/* As it came; for lists of any length, which are read in parts. */
#define ARG_KEY_WORDS(in, member, label, uses)                                                     \
    {ARG_MANY(in, member, struct slice, label, arg_kind_key_word), .flags = (uses)}
/* The same as ARG_KEY, and the empty one too. */
#define ARG_PREFIX(in, member, label, uses)                                                        \
    {ARG_ONE(in, member, struct slice, label, arg_kind_prefix), .flags = (uses)}
/* The bound of a range: what permission must be had for is known when all of them are. */
#define ARG_BOUND(in, member, label, uses)                                                         \
    {ARG_ONE(in, member, struct slice, label, arg_kind_bound), .flags = (uses)}
/* As it came. */
#define ARG_WORD(in, member, label) {ARG_ONE(in, member, struct slice, label, arg_kind_word)}
#define ARG_WORDS(in, member, label) {ARG_MANY(in, member, struct slice, label, arg_kind_word)}
/* A filter (where.h), as it came. */
#define ARG_FILTER(in, member, label) {ARG_ONE(in, member, struct slice, label, arg_kind_filter)}
/* In the format of the request; stored form. */
#define ARG_VALUE(in, member, label) {ARG_ONE(in, member, struct slice, label, arg_kind_value)}
/* The same, of which the command asks for a number, or an array. */
#define ARG_NUMBER(in, member, label) {ARG_ONE(in, member, struct slice, label, arg_kind_number)}
#define ARG_ARRAY(in, member, label) {ARG_ONE(in, member, struct slice, label, arg_kind_array)}
#define ARG_INTEGER(in, member, label, least, most, left_out)                                      \
    {ARG_ONE(in, member, int64_t, label, arg_kind_integer),                                        \
     .min = (least), .max = (most), .otherwise = (left_out)}
#define ARG_INTEGERS(in, member, label, least, most)                                               \
    {ARG_MANY(in, member, int64_t, label, arg_kind_integer), .min = (least), .max = (most)}
/* With Redis's words for one that is none, or out of range. */
#define ARG_NOT_INTEGER "value is not an integer or out of range"
#define ARG_INTEGER_OR(in, member, label, least, most, left_out, text)                             \
    {ARG_ONE(in, member, int64_t, label, arg_kind_integer),                                        \
     .min = (least), .max = (most), .otherwise = (left_out), .wrong = (text)}
#define ARG_STAMP(in, member, label)                                                               \
    {ARG_ONE(in, member, struct expected, label, arg_kind_stamp)}
#define ARG_PATTERN(in, member, label) {ARG_ONE(in, member, struct slice, label, arg_kind_pattern)}
/* Milliseconds to wait; 0 = without an end. */
#define ARG_TIMEOUT(in, member, label) {ARG_ONE(in, member, int64_t, label, arg_kind_timeout)}
/* The number or the name of a database, as it came. */
#define ARG_DATABASE(in, member, label)                                                            \
    {ARG_ONE(in, member, struct slice, label, arg_kind_database)}
/* Of a kind that the command has for itself. */
#define ARG_OF(in, member, type, label, of) {ARG_ONE(in, member, type, label, of)}
/* The token is there. */
#define ARG_FLAG(in, member, token) {ARG_ONE(in, member, bool, token, arg_kind_flag)}
/* Which of several tokens: {"NX", IF_ABSENT}, ... The member is an int or an enum. */
#define ARG_CHOICE(in, member, ...)                                                                \
    {.name = #member, .kind = &arg_kind_choice, .at = offsetof(in, member),                        \
     .size = sizeof(((in *)0)->member), .choices = (const struct choice[]){__VA_ARGS__, {NULL, 0}}}
/* No word: the member has this value whenever these arguments are there. */
#define ARG_FIXED(in, member, fixed)                                                               \
    {.name = "=" #member, .kind = &arg_kind_fixed, .at = offsetof(in, member),                     \
     .size = sizeof(((in *)0)->member), .otherwise = (fixed)}
/* How many words the list after it has. */
#define ARG_COUNT(label, least, most, of, such_as)                                                 \
    {.name = (label), .kind = &arg_kind_count, .min = (least), .max = (most), .what = (of),        \
     .example = (such_as)}
/* Likewise, with Redis's words for one below `least`, and for fewer words than it says. */
#define ARG_COUNT_OR(label, least, most, too_low, too_few)                                         \
    {.name = (label), .kind = &arg_kind_count, .min = (least), .max = (most), .wrong = (too_low),  \
     .missing = (too_few)}
/* Likewise, with the same words for one that is no number. */
#define COUNT_SAYS_ONE 1u
#define ARG_COUNT_ALWAYS(label, least, most, wrong_one, too_few)                                   \
    {.name = (label), .kind = &arg_kind_count, .min = (least), .max = (most),                      \
     .wrong = (wrong_one), .missing = (too_few), .flags = COUNT_SAYS_ONE}
/* Likewise, with words of their own for one that is no number. */
#define COUNT_SAYS_WHAT 2u
#define ARG_COUNT_EACH(label, least, most, no_number, too_low, too_few)                            \
    {.name = (label), .kind = &arg_kind_count, .min = (least), .max = (most), .what = (no_number), \
     .wrong = (too_low), .missing = (too_few), .flags = COUNT_SAYS_WHAT}
/* Arguments of their own, in a member; ... */
#define ARG_INSIDE(in, member, label, of)                                                          \
    {.name = (label), .kind = &arg_kind_inside, .at = offsetof(in, member), .inside = &(of)}
/* ... in the same struct; ... */
#define ARG_ALSO(label, of) {.name = (label), .kind = &arg_kind_inside, .inside = &(of)}
/* ... which are those of a command of their own; ... */
#define ARG_AS(label, of, command)                                                                 \
    {.name = (label), .kind = &arg_kind_inside, .inside = &(of), .as = &(command)}
/* ... in a struct that is made for it, to which the member points; ... */
#define ARG_MADE(in, member, label, of)                                                            \
    {.name = (label), .kind = &arg_kind_made, .at = offsetof(in, member), .size = sizeof(void *),  \
     .inside = &(of)}
/* ... for each item of a list. */
#define ARG_LIST(in, member, label, of, may_be, ...)                                               \
    {.name = (label), .kind = &arg_kind_inside, .is_list = true, .fits = (may_be), ##__VA_ARGS__,  \
     .at = offsetof(in, member) + ARG_IS(((in *)0)->member.count, size_t), .inside = &(of)}

/* clang-format on */

#endif
