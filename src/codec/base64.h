/* base64: the standard alphabet, padded, or the URL alphabet without padding, nothing else: no
 * blanks, no mixture, the unused bits of the last digit zero. So text and bytes are one to one.
 */
#ifndef CODEC_BASE64_H
#define CODEC_BASE64_H

#include "base/buf.h"

/* Bytes that `text` will decode to if it is valid. */
size_t base64_decoded_bytes(struct slice text);
/* Appends the decoded bytes. False (out as before) when text is not strict base64. Memory: sticky.
 */
bool base64_decode(struct slice text, struct buf *out);
void base64_encode(struct slice bytes, struct buf *out);

/* With - and _ for + and /, no padding (RFC 4648, 5). False: text is none; out has a part of it. */
bool base64url_decode(struct slice text, struct buf *out);
void base64url_encode(struct slice bytes, struct buf *out);

#endif
