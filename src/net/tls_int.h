/* tls_int: one connection's TLS, on a socket that does not block; of net alone. The calls have the
 * shape of recv and send, so that a connection differs in one branch.
 */
#ifndef NET_TLS_INT_H
#define NET_TLS_INT_H

#include <sys/types.h>

#include "net/link.h"
#include "net/tls.h"

struct tls;
struct ssl_ctx_st;

/* Made by tls_context.c, constant from then on. */
struct tls_context {
    struct ssl_ctx_st *ctx; /* owned */
    enum tls_user user;
    int64_t begin_s; /* when the last of its certificates begins; unix time, as the next */
    int64_t end_s;   /* ... and the first one ends */
    int64_t ca_end_s;
};

/* The oldest error that the library keeps for this thread, in words; it forgets all of them. */
#define TLS_REASON_BYTES 128
void tls_reason(char out[TLS_REASON_BYTES]);

enum tls_step { TLS_STEP_DONE, TLS_STEP_READ, TLS_STEP_WRITE, TLS_STEP_FAILED };

/* What the library holds for an idle connection, about; and for one with half a record. */
#define TLS_IDLE_BYTES (size_t)(15 * 1024)
#define TLS_RECORD_BYTES (size_t)(17 * 1024)

/* NULL: there is no memory. The socket stays the caller's. `alpn`: as struct protocol has it. */
struct tls *tls_new(struct tls_context *c, int fd, const char *alpn);
/* Of a connection that this side begins: with the first read or write it begins the handshake, and
 * both say EAGAIN until that is done. The peer's certificate is judged as a client's would be. */
struct tls *tls_new_outgoing(struct tls_context *c, int fd);
/* Says goodbye to the peer, if that can be done at once, and frees. */
void tls_free(struct tls *t);

/* Goes on with the handshake; READ, WRITE: again when the socket is readable, writable. */
enum tls_step tls_handshake(struct tls *t);
/* After the handshake: the name of the user that the client's certificate says, as
 * tls_options.user; NULL = none. Borrowed. */
const char *tls_user_name(const struct tls *t);
/* "TLSv1.3" */
const char *tls_version(const struct tls *t);
/* After the handshake: what both ends of this connection have in common, and of no other one ("tls-
 * exporter", RFC 9266). */
void tls_channel(const struct tls *t, uint8_t out[LINK_CHANNEL_BYTES]);

/* As recv: bytes; 0 = the peer has ended; -1 with errno: EAGAIN = not now, else it is broken. */
ssize_t tls_read(struct tls *t, void *out, size_t size);
/* As send, at most one record. What was not taken must be the beginning of what is given next. */
ssize_t tls_write(struct tls *t, const void *bytes, size_t size);
/* Would tls_read find something that is not in the socket any more: bytes, the end, an error? The
 * socket does not become readable for that. */
bool tls_has_more(const struct tls *t);
/* After EAGAIN: does the read wait for the socket to be writable, the write for it to be readable?
 * Both happen only when the peer changes keys. */
bool tls_read_wants_write(const struct tls *t);
bool tls_write_wants_read(const struct tls *t);
/* For a write that wants to read while no data may be delivered: takes what is no data. */
void tls_poke(struct tls *t);
/* Why it is broken. */
const char *tls_error(const struct tls *t);
/* Bytes that the library holds for it, about. */
size_t tls_held_bytes(const struct tls *t);

#endif
