/* turns: what bench_turns measures, and the words that it sends.
 *
 * A text is one or more commands, each on a line of its own. Blanks separate words, ' stands for ",
 * and:
 *
 *   20x SET ...            the line twenty times
 *   {500 k:# v# }          the words within, 500 times; # is the number of the repetition, which
 *                          goes on from line to line where the line is repeated
 *   % and ^                in such a group: # with six digits, and 2,000 bytes
 *   @object:1300000        a word of so many items (turns_words.c has the list)
 *   @receipts:1000         words that the server is asked for first (likewise)
 *
 * Whatever goes wrong is printed and ends the program with status 1.
 */
#ifndef TESTS_BENCH_TURNS_H
#define TESTS_BENCH_TURNS_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct turns_row {
    const char *command; /* as COMMAND LIST names it; several: with blanks between them */
    const char *given;   /* in words, for the table */
    const char *text;
    const char *before; /* what is said before each measurement, not measured; NULL = nothing */
    const char *crowd;  /* what each client of a crowd has said before; NULL = there is none */
    int crowd_clients;  /* connections that do nothing else but read what comes */
    int crowd_replies;  /* to that; 0 = one to each line; -1 = none: they wait */
    int replies;        /* to the text; 0 = one to each line */
    int settle_ms;      /* the longest turn is asked for so long after the reply; 0 = 10 */
    int clients;        /* that send the text, all at once; 0 = 1 */
    bool is_once;       /* in one round only: it takes long */
    const char *fills;  /* the name of an index that is being filled afterwards; NULL = none */
    bool is_error;      /* the reply is an error */
};

/* The command, what it is given, the text; then what else the row needs. */
#define ROW(c, g, t, ...)                                                                          \
    {                                                                                              \
        .command = (c), .given = (g), .text = (t), __VA_ARGS__                                     \
    }
#define ROWS(list) (list), sizeof(list) / sizeof(list)[0]

struct turns_group {
    const char *title;
    const char *before; /* makes what the rows read; the databases are empty then */
    const struct turns_row *rows;
    size_t row_count;
};

/* A command that takes O(1) of small words, or that cannot be measured here. */
struct turns_small {
    const char *commands; /* as COMMAND LIST names them, blanks between */
    const char *why;
};

extern const struct turns_group turns_groups[]; /* turns_rows.c */
extern const size_t turns_group_count;
extern const struct turns_group turns_types[]; /* turns_types.c */
extern const size_t turns_type_count;
extern const struct turns_small turns_small[];
extern const size_t turns_small_count;

/* The text as RESP, into an empty buf; the number of commands. `side` is asked for words. */
long turns_render(struct buf *out, const char *text, redisContext *side);

#endif
