/* light: a connection that reads replies of RESP2 and RESP3 and keeps none of them, so that reading
 * 500,000 elements takes little time. Whatever goes wrong is printed and ends the program with
 * status 1.
 */
#ifndef TESTS_BENCH_LIGHT_H
#define TESTS_BENCH_LIGHT_H

#include <stddef.h>

#include "base/buf.h"

struct light;

/* To this port of this machine. */
struct light *light_open(const char *port);
void light_close(struct light *l);
int light_fd(const struct light *l);
/* All of it. */
void light_send(struct light *l, const struct buf *out);
/* Reads so many replies; pushes between them are passed over and not counted. */
void light_take(struct light *l, long count);
/* The first error since light_send, also within an array; "" = none. Borrowed. */
const char *light_error(const struct light *l);

#endif
