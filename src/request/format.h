/* format: keys and values in the forms that clients send and get. */
#ifndef REQUEST_FORMAT_H
#define REQUEST_FORMAT_H

#include "request/command.h"

/* A key argument in either form, as key_from_arg; the format says what large integers mean. */
ERR_MUST_USE enum err format_read_key(enum format format, struct slice arg, bool allow_empty,
                                      const struct placeholders *p, struct buf *out,
                                      struct error *e);
/* Appends an encoded key, or a stored value, in the format. */
void format_write_key(enum format format, struct slice tuple, struct buf *out);
void format_write_value(enum format format, struct slice value, struct buf *out);

/* Takes FORMAT and its word off the arguments, IDEM being off already: rq->format, rq->has_format.
 */
void format_take(struct request *rq);

#endif
