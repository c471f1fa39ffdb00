/* query_int: the words and signs of a query, one at a time: what query_read.c finds and query.c
 * builds a tree of. The first error ends the text: from then on every token is TOKEN_END.
 */
#ifndef SEARCH_QUERY_INT_H
#define SEARCH_QUERY_INT_H

#include "search/query.h"

enum token {
    TOKEN_END,
    TOKEN_WORD,   /* body, is_prefix */
    TOKEN_PHRASE, /* body, is_prefix */
    TOKEN_PATH,   /* path; the colon is part of it */
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_NEAR,  /* the parenthesis is part of it */
    TOKEN_COMMA, /* inside of NEAR only */
    TOKEN_AND,   /* the operators are the last */
    TOKEN_OR,
    TOKEN_NOT
};

struct query_reader {
    struct slice text;         /* borrowed */
    const struct slice *paths; /* borrowed */
    size_t path_count;
    size_t at;       /* offset of the next byte to read */
    bool is_in_near; /* set by the parser: a comma ends a word, and there are no paths */

    enum token token;  /* the last one that was read */
    size_t token_at;   /* its offset */
    struct slice body; /* without quotes and '*'; in a phrase, quotes are doubled */
    bool is_prefix;    /* there was a '*' */
    size_t path;       /* index in `paths` */
    enum token before; /* the operator just before this token, or TOKEN_END */
    size_t before_at;  /* its offset */
    unsigned word_count, prefix_count;

    enum err err; /* the first error */
    struct error *e;
};

/* Reads the next token into *r. */
void query_next(struct query_reader *r);
/* An error, if it is the first: "query: <what> at offset <at>". */
void query_bad(struct query_reader *r, enum err code, size_t at, const char *what);
/* True when this word or phrase cannot be meant to be searched for: a word without ASCII letters
 * and digits and without anything that is not ASCII; a phrase of blanks. */
bool query_is_symbol(const struct query_reader *r);

#endif
