/* reply_json: a reply of a command as JSON. Pure functions. */
#ifndef HTTP_REPLY_JSON_H
#define HTTP_REPLY_JSON_H

#include "base/buf.h"
#include "base/err.h"

/* Appends one reply in RESP: nil is null; a set or a push is an array, a map an object whose names
 * are texts. is_base64: every text but OK in base64. ERR_VALUE: a text is not UTF-8 and base64 was
 * not asked for; what was appended is taken off. The reply is no error. */
ERR_MUST_USE enum err reply_to_json(struct slice reply, bool is_base64, struct buf *out,
                                    struct error *e);
/* The text of a reply that is an error ("NOPERM ..."); false when it is none. */
bool reply_is_error(struct slice reply, struct slice *text);
/* The text of a bulk or line; data NULL of anything else, nil too. */
struct slice reply_text(struct slice reply);

#endif
