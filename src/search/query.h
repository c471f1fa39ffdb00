/* query: what a person types into KV.SEARCH, made into an expression for SQLite's FTS5. Every word
 * of the person's ends up between FTS5's quotes, every operator is one that this file wrote: no
 * input is ever read as FTS5 syntax or as a column name.
 *
 *   query  = any { "OR" any }                   OR binds least ...
 *   any    = all { "NOT" all }                  ... then NOT: "what is left of it, but not" ...
 *   all    = item { ["AND"] item }              ... then AND, which need not be written
 *   item   = [path ":"] ( word | word"*" | "phrase" | "phrase"* | "(" query ")" | near )
 *   near   = "NEAR(" phrase { phrase } ["," n] ")"     phrases or words, with or without "*";
 *                                                      n: at most 6 digits, default 10
 *
 * Operators are upper-case; `path` is one of the index's, as it was given when the index was made;
 * of several that fit, the longest. Inside of the parentheses after a path there is no other path.
 * A word ends at a blank, a quote or a parenthesis (in NEAR at a comma too); other characters are
 * part of it, and if the tokenizer cuts it up it is a phrase. A word with a colon that is no path
 * is an error. A quote inside of a phrase is written twice.
 *
 * Symbols, which are words of ASCII punctuation alone and phrases of blanks, are ignored; a query
 * of nothing else is an error. Other words in which the tokenizer finds no token (a lone dash of
 * typography, for trigram what is shorter than three characters) are ignored by FTS5 beside words
 * and phrases; alone, or beside parentheses alone, they match nothing.
 */
#ifndef SEARCH_QUERY_H
#define SEARCH_QUERY_H

#include "base/buf.h"
#include "base/err.h"

#define QUERY_BYTES_MAX 4096
#define QUERY_DEPTH_MAX 10 /* parentheses inside one another; query.c says why no more */
#define QUERY_PREFIXES_MAX 16
#define QUERY_WORDS_MAX 128 /* and phrases; those in NEAR and symbols count too */

/* Appends the expression, with columns named c0, c1, ... in the order of `paths`; FTS5 accepts it,
 * whatever the tokenizer. ERR_SYNTAX "query: <what> at offset <byte>", ERR_LIMIT "query: ...",
 * ERR_NOMEM; then `out` is as before. */
ERR_MUST_USE enum err query_to_fts5(struct slice query, const struct slice *paths,
                                    size_t path_count, struct buf *out, struct error *e);

#endif
