/* view: how the commands of the string view (CMD_STRING) name keys for a client, and what they call
 * the kinds of values.
 *
 *   plain    a word is the key of that one string part, or of one bytes part when it is not UTF-8;
 *            longer tuples are not seen
 *   tuples   a word is a key in path form (codec/key.h), and every tuple is seen; a value that is
 *            not bytes is what Redis's JSON module calls it. For tools that show keys, since these
 *            know nothing of tuples.
 *
 * A client has the view of its user (ACL SETUSER ... view=tuples) until it says CLIENT VIEW.
 */
#ifndef REQUEST_VIEW_H
#define REQUEST_VIEW_H

#include "request/command.h"

bool view_is_tuples(const struct client *c);

/* Appends what the client calls the key (internal, of the data space). Errors are sticky in out. */
void view_name(const struct client *c, struct slice key, struct buf *out);
/* TYPE of a value: "string" is bytes. */
const char *view_type(const struct client *c, struct slice value);

#endif
