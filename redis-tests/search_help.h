/* search_help: what tests of KV.SEARCH and WHERE ask and how answers are compared: by the last
 * parts of the keys found.
 */
#ifndef REDIS_TESTS_SEARCH_HELP_H
#define REDIS_TESTS_SEARCH_HELP_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>

/* The text with " for '. Good until the 8th next call. */
const char *with_quotes(const char *text);
/* The last part of each key in a reply of KV.SEARCH, with blanks between and ' for "; an error's
 * text. Frees the reply; good until the next call. */
const char *key_tails(redisReply *r, bool is_sorted);
/* KV.SEARCH with these arguments (as in client.h) finds the entries whose keys end so: in any
 * order, or `ranks`: the best first. Or it ends with this error. */
#define finds(c, wanted, ...) finds_at(__FILE__, __LINE__, (c), (wanted), __VA_ARGS__)
#define ranks(c, wanted, ...) ranks_at(__FILE__, __LINE__, (c), (wanted), __VA_ARGS__)
void finds_at(const char *file, int line, redisContext *c, const char *wanted, const char *format,
              ...);
void ranks_at(const char *file, int line, redisContext *c, const char *wanted, const char *format,
              ...);
/* A member of a hit; fails the test when it has fewer, or there are fewer hits. Borrowed. */
const redisReply *hit_member(const redisReply *r, size_t hit, size_t i);

/* Sets ['b',n], JSON with ' for ". */
void put_text(redisContext *c, int n, const char *json);
/* KV.INDEX CREATE with these arguments, the name first, and waits until it is complete. */
void create_index(redisContext *c, const char *args);
void wait_for_index(redisContext *c, const char *index);
/* Until all that was written is in the store. */
void wait_until_applied(redisContext *c);
/* A flush leaves definitions: this drops them. */
void drop_indexes(redisContext *c);
/* Seven entries below ['b'] and the text index b on title, tags and author.name. */
void shelve_books(redisContext *c);

#endif
