/* peer: a connection to a server, in RESP2 or RESP3, and replies as trees. Replies of RESP3 keep
 * their types, which the client library of the other tests does not know.
 */
#ifndef TESTS_DIFF_PEER_H
#define TESTS_DIFF_PEER_H

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"

struct reply {
    char type;            /* the byte it begins with: + - : $ * _ , # % ~ > = ( */
    bool is_nil;          /* $-1, *-1, _ */
    struct slice text;    /* of a number too, as it was sent */
    struct reply **items; /* of an array, a set, a push; of a map: key, value, key, value ... */
    size_t count;
};

struct peer;

/* NULL, and a line on stderr, when nothing listens there. Both speak RESP2 at first. */
struct peer *peer_open_port(int port);
struct peer *peer_open_path(const char *path);
void peer_close(struct peer *p); /* may be NULL */

/* The words as one command, appended to `out`. */
void peer_put(struct buf *out, const struct slice *words, size_t count);
/* False when the connection is closed. */
bool peer_send(struct peer *p, struct slice bytes);
/* The next reply, in the arena; NULL when the connection is closed, or nothing comes for a minute.
 */
struct reply *peer_next(struct peer *p, struct arena *arena);
/* Words separated by blanks: sends them, and what comes next. NULL as peer_next. */
struct reply *peer_ask(struct peer *p, struct arena *arena, const char *words);
/* Is there something to read now? */
bool peer_has_more(const struct peer *p);

bool reply_says_error(const struct reply *r);
/* Does the text begin so? */
bool reply_begins(const struct reply *r, const char *prefix);
/* Its value where it is a number; else 0. */
long long reply_integer(const struct reply *r);
/* Readable, on one line. NULL is a closed connection. */
void reply_show(FILE *to, const struct reply *r);
/* Some order, for replies that have none: <0, 0, >0. */
int reply_order(const struct reply *a, const struct reply *b);

#endif
