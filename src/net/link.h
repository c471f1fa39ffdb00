/* link: what is known of a connection from outside. It is kept by net for connections from sockets,
 * by the engine's host for others. Commands show it (CLIENT LIST) and go by it.
 */
#ifndef NET_LINK_H
#define NET_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_ADDRESS_MAX 128
#define LINK_CHANNEL_BYTES 32

struct link {
    char address[LINK_ADDRESS_MAX]; /* host:port, or path:0 of a Unix socket */
    char local_address[LINK_ADDRESS_MAX];
    bool is_local; /* from this machine: loopback or Unix socket */
    bool is_unix;
    int fd;            /* -1 = none */
    struct peer *peer; /* of net: connections of its address; NULL = they are not counted */
    bool is_tls;
    const char *certificate_user;        /* the user that the client's certificate names
                                   * (tls-auth-clients-user); borrowed; NULL = none */
    uint8_t channel[LINK_CHANNEL_BYTES]; /* under TLS: both ends of this connection have the same,
                                          * and no other connection has it (RFC 9266) */
    size_t transport_bytes;              /* that TLS holds for it, about */
    int64_t created_ms;
    int64_t active_ms;                /* when it last had something to run */
    size_t input_bytes, output_bytes; /* received and not yet run; not yet sent */
    /* Offsets in the stream of all that it was ever sent: of the first byte that is in the output
     * now, and of the end of what was written to the socket. */
    uint64_t stream_base, stream_sent;
};

/* Since the start, or since their owner made them 0. */
struct net_counts {
    uint64_t connections; /* accepted, with those that were refused then */
    uint64_t rejected;
    uint64_t turns;      /* of the loop */
    uint64_t looks;      /* at connections, to see what is due (attend.c) */
    int64_t wait_max_us; /* the longest that a connection with something to run had to wait */
    uint64_t in_bytes, out_bytes; /* under TLS what was in it */
    uint64_t drafts_written;      /* parts of output that were written when they were sent */
    uint64_t helped_reads,
        helped_writes; /* times that another thread than the loop received, sent */
    /* Of TLS: those that were done, that failed, that took too long, and that had to make room. */
    uint64_t handshakes, handshakes_failed, handshakes_timed_out, handshakes_cut;
};

#endif
