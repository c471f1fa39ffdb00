/* session_int: what session.c and passing.c share: a session, and what all of them share.
 */
#ifndef SESSION_SESSION_INT_H
#define SESSION_SESSION_INT_H

#include "base/arena.h"
#include "node/accept.h"
#include "node/node.h"
#include "request/decoded.h"
#include "request/runner.h"
#include "resp/reader.h"
#include "session/session.h"

/* Commands are taken from what came while its runner is free (request/runner.h), and the stream's
 * own states say whether it goes on at all. */
struct session {
    struct client client; /* first */
    struct stream *stream;
    struct sessions *shared;
    struct runner runner;
    struct resp_reader reader;
    struct resp_writer writer;
    struct slice *argv; /* of the command being run or parked */
    size_t argc;
    struct decoded decoded;   /* of commands to come, and of the one being run (ahead.h) */
    bool is_command_waiting;  /* argv is to be run again */
    int64_t no_user_ms;       /* since when it has no user, as seen by session_check; 0 = it has */
    struct buf behind;        /* owned; messages that come after the reply being made ... */
    uint64_t behind_version;  /* ... and need this version */
    struct node_pass pass;    /* to the node that leads */
    struct node_offer *offer; /* owned: of a node that may pass a client on; NULL = none */
};

struct sessions {
    struct env *env;
    struct session_options options;
    struct arena arena; /* of the request being run */
    struct buf scratch;
    struct resp_spares spares; /* of the readers */
};

/* passing.c: of several nodes (node/node.h) */
/* A client that comes before the users are known waits for them. False: x waits. After too long its
 * command is run, and is told. */
bool passing_knows_users(struct session *x);
/* Is the command the leader's, and not one that each node answers for itself? */
bool passing_is_wanted(struct session *x);
/* Passes the connection on to the leader. False: x waits, or is no more. */
bool passing_go(struct session *x);
/* Another node asks to pass a client on. False: x is no more. */
bool passing_accept(struct session *x);

#endif
