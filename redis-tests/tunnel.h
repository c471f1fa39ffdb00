/* tunnel: a client's TLS for libraries that have none: a thread carries bytes between a socket that
 * the test speaks to in plain text and a TLS connection to the server.
 */
#ifndef REDIS_TESTS_TUNNEL_H
#define REDIS_TESTS_TUNNEL_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>

struct tunnel;

/* All of it may be zero. */
struct tunnel_options {
    const char *cert, *key;   /* files; NULL = no certificate */
    const char *ca;           /* who must have signed the server's; NULL = it is not looked at */
    int version_min;          /* TLS1_2_VERSION, ...; 0 = 1.2 */
    int version_max;          /* 0 = 1.3 */
    const char *ciphers;      /* of TLS 1.2; NULL = the default */
    size_t piece_bytes;       /* at most so many are written to the server at a time; 0 = any */
    unsigned key_update_each; /* after so many records of its own it asks for new keys; 0 = never */
};

/* NULL when the handshake fails on this side. o may be NULL. */
struct tunnel *tunnel_open(int port, const struct tunnel_options *o);
/* tunnel_open in two steps: connects and says the first words; goes on with the handshake until it
 * is done, or false. There is no tunnel then but a connection, for tunnel_close. */
struct tunnel *tunnel_begin(int port, const struct tunnel_options *o);
bool tunnel_go_on(struct tunnel *t);
/* The test's end. */
int tunnel_fd(const struct tunnel *t);
/* A hiredis connection on it; freed by redisFree, before tunnel_close. */
redisContext *tunnel_redis(struct tunnel *t);
/* The common name of the server's certificate. */
const char *tunnel_server_name(const struct tunnel *t);
const char *tunnel_cipher(const struct tunnel *t);
/* Closes what is open of it. t may be NULL. */
void tunnel_close(struct tunnel *t);

/* A connection, as testserver_connect; the tunnel is closed at the end of the program or by
 * tunnels_close. Fails the test when there is no handshake. */
redisContext *tunnel_connect(int port, const struct tunnel_options *o);
void tunnels_close(void);
/* Does a client with these options get an answer to PING? */
bool tunnel_is_served(int port, const struct tunnel_options *o);

#endif
