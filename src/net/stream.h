/* stream: a connection as its protocol sees it. net reads, writes, holds output back until what it
 * depends on is durable, and shares the turns of the loop among connections; a protocol finds the
 * requests in what came, runs them, and appends replies. Everything here is for the loop thread.
 *
 *   STREAM_HANDSHAKE   of TLS: the protocol does not know of it yet (handshake.c)
 *        |        |
 *        |        +-- failed, too slow, cut for others ----------+
 *        v conn_begin                                            v stream_kill, always
 *   STREAM_OPEN --stream_drain--> STREAM_DRAINING --all sent--> STREAM_DEAD --conn_free--> gone
 *        |                                                       ^
 *        +---------- peer gone, stream_kill, over a limit -------+
 *
 * Invariants:
 *   1. `begin` of the protocol is called as it becomes open, `end` once as it dies, then `forget`;
 *      none of them for a connection that dies in its handshake.
 *   2. Of a dead one nothing is received, run, sent, held or looked at, and no watcher is active.
 *   3. It is freed when no queue has it any more, and no thread a draft of it.
 *   4. Output is held (waits for a version) only while there is some.
 *   5. While a thread receives or sends, the stream is that thread's, and the loop waits.
 */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include "base/slice.h"
#include "net/link.h"
#include "net/output.h"

struct net;
struct stream;

/* With so much unsent, protocols run nothing, and what comes meanwhile stays in the socket. */
#define STREAM_PAUSE_BYTES (1u << 20)
/* Of stream_input. */
#define STREAM_INPUT_BYTES ((size_t)64 * 1024)

enum stream_state { STREAM_HANDSHAKE, STREAM_OPEN, STREAM_DRAINING, STREAM_DEAD };

struct protocol {
    const char *name;
    /* What is sent to a connection that is refused: too many of them; protected mode. */
    const char *full, *denied;
    /* What a client may choose under TLS, in the form of ALPN (RFC 7301); NULL = nothing. */
    const char *alpn;
    /* A new connection; its session. `arg` is the listener's (struct net_listen). */
    void *(*begin)(void *arg, struct stream *s);
    /* May more be received now? While not, net looks only whether the peer has ended, and looks
     * again after run. */
    bool (*wants_input)(const struct stream *s);
    /* Where what comes may be put: *size bytes, at least 1. It is not shared until `received` has
     * returned, as several streams are received from at once: stream_input gives such room, for a
     * protocol that keeps nothing of it. NULL: the stream was killed. */
    uint8_t *(*room)(struct stream *s, size_t *size);
    /* `bytes` have come there. run is called next. */
    void (*received)(struct stream *s, size_t bytes);
    /* Called instead of it when what was received of several connections is run later: by any
     * thread, which has the stream for itself while the loop waits. NULL: received is called. */
    void (*received_ahead)(struct stream *s, size_t bytes);
    /* Runs what has come, until it has to wait, is at the end, has STREAM_PAUSE_BYTES unsent (it is
     * called again when there is room), or net_turn_is_full: then it calls stream_queue. Also
     * called when there is nothing to do. */
    void (*run)(struct stream *s);
    /* The peer has closed its side while there was nothing to be received. Also called again. */
    void (*peer_ended)(struct stream *s);
    /* The server stops: begins with no further request, and drains the stream when what is under
     * way is answered. What is not after a second is cut. NULL: nothing more is read. */
    void (*stop)(struct stream *s);
    /* Now and then, and within about a second after something has happened: kills it when it was
     * idle too long, gives memory back. The result: in how many ms it wants to be called again if
     * nothing happens, to a tenth of a second; 0 = nothing is due. */
    int64_t (*check)(struct stream *s, int64_t now_ms);
    /* Of its output; may change. */
    const struct output_limit *(*output_limit)(const struct stream *s);
    /* The stream is dead: nothing more is sent or received. */
    void (*end)(struct stream *s);
    /* Frees the session, at most *work of it, and counts that down; true when all of it is. */
    bool (*forget)(struct stream *s, size_t *work);
};

struct stream {
    const struct protocol *protocol;
    void *session; /* the protocol's */
    struct net *net;
    struct link link;
    enum stream_state state;
    size_t pause_bytes; /* run is called when less than this is unsent again; STREAM_PAUSE_BYTES,
                         * until `begin` of the protocol says otherwise */
    bool has_eof;       /* the peer has closed its side; what it sent before is still answered */
    /* To be appended to (output.bytes), then stream_mark before anything else is called. */
    struct output output;
};

/* Nothing more of it runs than what is queued here: run is called in this turn or a later one. */
void stream_queue(struct stream *s);
/* STREAM_INPUT_BYTES, for `room`: the stream's own until `received` has returned. */
uint8_t *stream_input(struct stream *s);
/* For drafts of output.bytes (base/drafts.h), written by the thread that sends them, or, when they
 * are long, by one of their own. *bytes_min: what is shorter is better written at once. */
struct drafts *stream_drafts(struct stream *s, size_t *bytes_min);
/* All that was appended since the last mark may leave when `version` is durable; 0: at once. */
void stream_mark(struct stream *s, uint64_t version);
/* Likewise, and it depends on nothing that was evaluated: it leaves also while hooks.may_send says
 * no, unless something else is before it. */
void stream_mark_own(struct stream *s, uint64_t version);
/* Either of the two. */
static inline void stream_mark_reply(struct stream *s, uint64_t version, bool is_evaluated)
{
    (is_evaluated ? stream_mark : stream_mark_own)(s, version);
}
/* Appends a whole message, with its mark; sent at the end of the turn. Everything before it must
 * have been marked. Never kills the stream inside the call: see stream_overrun. */
void stream_append(struct stream *s, struct slice bytes, uint64_t version);
/* Likewise, with stream_mark_own. */
void stream_append_own(struct stream *s, struct slice bytes);
/* Of one that this side began under TLS, when something has come of it: as link.channel. Zeros:
 * there is no TLS. */
void stream_channel(const struct stream *s, uint8_t out[LINK_CHANNEL_BYTES]);
/* Bytes that are not sent yet. */
size_t stream_pending(const struct stream *s);
/* Would it be over its hard limit with `more` bytes? */
bool stream_would_overrun(const struct stream *s, size_t more);
/* Something for it was dropped: it gets nothing more and is killed at the end of the turn. `why`:
 * for the log; NULL = its output is over the limit. Constant text. */
void stream_overrun(struct stream *s, const char *why);
bool stream_is_overrun(const struct stream *s);
/* Kills it if what it has to send is over its limit. False when it did. */
bool stream_check_output(struct stream *s);
/* Its session ends, and another begins, of another protocol, with `arg`. What was received and not
 * yet used is gone with the old one: the caller gives it to the new one. From within run of the old
 * one: the session is freed before this returns. */
void stream_become(struct stream *s, const struct protocol *protocol, void *arg);
/* It is looked at (check) in the next tenth of a second. */
void stream_check_soon(struct stream *s);
/* Whether the end of the peer is noticed by itself; not when something that it sent is left in the
 * socket. */
bool stream_sees_end(const struct stream *s);
/* Nothing more is read or run; it ends when all is sent. */
void stream_drain(struct stream *s);
/* When all is sent: the peer is told that nothing more comes, what it sends is still received. */
void stream_shut(struct stream *s);
/* Nothing more is read or sent. Its memory stays until the end of the turn at least. */
void stream_kill(struct stream *s);

/* Has this turn done so much that the rest is for the next? */
bool net_turn_is_full(const struct net *n);
/* A request was run: so many bytes were read or made, and the time is now_us (monotonic). */
void net_turn_spent(struct net *n, size_t bytes, int64_t now_us);

#endif
