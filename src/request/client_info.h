/* client_info: what CLIENT LIST and others say of a client. */
#ifndef REQUEST_CLIENT_INFO_H
#define REQUEST_CLIENT_INFO_H

#include "request/command.h"

/* Appends one line, without its end, in the fields of Redis; those that mean nothing here are 0, so
 * that parsers find them. */
void client_info_write(const struct client *c, struct buf *out);

#endif
