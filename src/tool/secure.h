/* secure: TLS for a library that knows plain sockets only. A thread carries bytes between the
 * server's connection, which is encrypted, and one end of a pair of sockets; the other end is the
 * plain connection that the rest of the program uses.
 *
 *   wire --plain-- pair --plain-- thread --TLS-- server
 */
#ifndef TOOL_SECURE_H
#define TOOL_SECURE_H

#include "tool/wire.h"

struct secure;

/* The handshake on `sock`, a connected socket that does not block, until `until_us` of
 * clock_mono_us; certificate and host name are checked unless o->is_insecure. *plain is then the
 * caller's to close. On failure `why` says what and what to do; `sock` is closed in any case. */
enum tool_status secure_open(const struct wire_options *o, int sock, int64_t until_us,
                             struct secure **out, int *plain, char why[WIRE_WHY_BYTES]);
/* After the plain end was closed. s may be NULL. */
void secure_close(struct secure *s);

#endif
