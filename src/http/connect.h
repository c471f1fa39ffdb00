/* connect: KV Connect, the protocol by which Deno uses a database: what its files share. */
#ifndef HTTP_CONNECT_H
#define HTTP_CONNECT_H

#include <datapath.pb-c.h>

#include "http/rest.h"
#include "http/route.h"

/* 400 and other refusals are text: Deno shows it as the error's message. */
void connect_fail(struct exchange *x, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The reply of a command is an error: answers it, true. */
bool connect_fails(struct exchange *x);
/* A message of the body, in the exchange's arena; NULL: it is none, which was answered. */
ProtobufCMessage *connect_message(struct exchange *x, const ProtobufCMessageDescriptor *type);
/* The slice, borrowed, in a message that is written. */
ProtobufCBinaryData connect_binary(struct slice s);
/* Appends the message to `out`. */
void connect_pack(const ProtobufCMessage *m, struct buf *out);

#endif
