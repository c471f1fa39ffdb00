/* follower: a node that stands by reads what the leader commits into a database of its own, so
 * that it can answer those who said READONLY (request/following.h). It begins at the start
 * (node-follows), or when a client says so.
 *
 *   env.db has nothing --made by the cluster's thread, opened--> catching up --end of the log-->
 *   there --silence, something lost, this node leads--> env.db has nothing again
 *
 * Clients that read from it are closed when it goes, because they may hold pages of it. All calls
 * but follower_make come from the loop.
 */
#ifndef SERVER_FOLLOWER_H
#define SERVER_FOLLOWER_H

#include "backend/postgres/postgres.h"
#include "server/server_int.h"

struct follower {
    struct server *server;
    struct db *db;      /* env.db while it is not NULL */
    bool is_lost;       /* told within a call of the database: it ends after that */
    int64_t again_us;   /* monotonic; it is not made before */
    uint64_t version;   /* that those who wait were told of */
    struct error error; /* why it went, or was not made */
    struct error told;  /* the last that was logged, and when */
    int64_t told_us;
    int64_t woken_us;

    /* The cluster's thread's, while it looks; then the loop's. */
    bool is_wanted;
    struct journal *journal; /* made, and nothing is opened on them; NULL = none */
    struct store *store;
    enum err made;
};

/* On the cluster's thread: makes what the database stands on, when that is wanted. Blocks. */
void follower_make(struct follower *f, const struct term_options *options);
/* After that: opens it; says whether one is wanted. */
void follower_take(struct follower *f);
/* In the loop's wake. */
void follower_poll(struct follower *f);
void follower_tick(struct follower *f);
/* This node leads: env.db has nothing again. */
void follower_end(struct follower *f);
/* When all connections are closed. */
void follower_close(struct follower *f);

#endif
