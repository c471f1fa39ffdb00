/* http_help: what the reader of HTTP/1 makes of some bytes, fed in pieces, as text, and a request
 * written again in one plain form. Shared by the unit tests and the fuzz target.
 */
#ifndef TESTS_UNIT_HTTP_HELP_H
#define TESTS_UNIT_HTTP_HELP_H

#include "http/http1_reader.h"

/* Feeds `input` in pieces of `piece` bytes (0 = of random lengths, by `seed`) and appends to `out`
 * for every request that came as a whole
 *
 *   <version> <method> <host> <path>?<query> [<name>:<value>|..] {<body>} keep|close\n
 *
 * with `-` for a host, query or body that is not there, and at the end of all "!<status>\n" if one
 * is refused, or "~\n" if part of a request is left. */
void http1_transcript(struct slice input, size_t piece, uint64_t seed, uint64_t body_max,
                      struct buf *out);
/* The line above, of one request; without the headers that say how it was framed if `is_plain`. */
void http1_describe(const struct http1_reader *r, bool is_plain, struct buf *out);
/* The request, with its host and the length of its body said plainly. False when such a form would
 * be over a limit. */
bool http1_write_plain(const struct http1_reader *r, struct buf *out);
/* Feeds all of it at once. */
void http1_feed(struct http1_reader *r, struct slice input);

#endif
