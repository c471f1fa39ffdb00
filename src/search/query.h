/* query: what a person types into KV.SEARCH, made into an expression for SQLite's FTS5. Every word
 * of the person's ends up between FTS5's quotes, every operator is one that this file wrote: no
 * input is ever read as FTS5 syntax or as a column name.
 *
 *   query  = any { "OR" any }                   OR binds least ...
 *   any    = all { "NOT" all }                  ... then NOT: "what is left of it, but not" ...
 *   all    = item { ["AND"] item }              ... then AND, which need not be written
 *   item   = [path ":"] ( word | word"*" | "phrase" | "phrase"* | "(" query ")" | near )
 *   near   = "NEAR(" (word | "phrase") { word | "phrase" } ["," n] ")"     n: default 10
 *
 * Operators are upper-case; `path` is one of the index's, as it was given when the index was made.
 */
#ifndef SEARCH_QUERY_H
#define SEARCH_QUERY_H

#include "base/buf.h"
#include "base/err.h"

#define QUERY_BYTES_MAX 4096
#define QUERY_DEPTH_MAX 32
#define QUERY_WORDS_MAX 128

/* Appends the expression, with columns named c0, c1, ... in the order of `paths`. ERR_SYNTAX
 * "query: <what, at which offset>"; then `out` is as before. */
ERR_MUST_USE enum err query_to_fts5(struct slice query, const struct slice *paths,
                                    size_t path_count, struct buf *out, struct error *e);

#endif
