/* kept_users: with `backend postgresql`, the users: one text in PostgreSQL for all nodes
 * (backend/postgres/pg_users.h). What is configured fills it once, by the first node that leads.
 *
 * A node has none at first: a client must wait or try again, and what is configured lets none in.
 * Nodes that stand by look for another text when they look who leads. At the leader a change is
 * written before it is taken (struct users_change).
 */
#ifndef SERVER_KEPT_USERS_H
#define SERVER_KEPT_USERS_H

#include <pthread.h>

#include "backend/postgres/pg_users.h"
#include "backend/worker.h"
#include "server/server_int.h"

struct kept_users {
    struct server *server;
    struct worker *worker;   /* the cluster's; one thread */
    struct buf configured;   /* constant from kept_users_open on */
    struct pg_users *stored; /* the thread's */
    bool is_known;           /* env->users are those of PostgreSQL */
    pthread_mutex_t lock;    /* guards is_known and known against kept_users_hand_over */
    struct buf known;        /* env->users as a text */

    /* The thread's, while the cluster looks; then the loop's. */
    uint64_t generation;
    struct buf found; /* not empty: another text */

    /* A change under way: the thread's, while is_changing. */
    struct job job;
    bool is_changing;
    struct buf wanted;
    enum err result;
    struct error error;
    struct users_change *change; /* its owner's; NULL = the owner is gone */
    struct waiter_list waiters;
};

/* No client can log in until the users are known. */
void kept_users_open(struct kept_users *k, struct server *s, struct worker *worker);
/* On the cluster's thread. leads: this node is to begin to; then it must know them: ERR_IO. Blocks
 * until PostgreSQL answers. */
ERR_MUST_USE enum err kept_users_look(struct kept_users *k, bool leads, struct error *e);
/* After that. */
void kept_users_take(struct kept_users *k);
/* The thread has ended. */
void kept_users_close(struct kept_users *k);

/* The process is about to start its program anew: what is known is found there by kept_users_open.
 * Any thread. */
void kept_users_hand_over(struct kept_users *k);
/* As server_ops.users_keep. */
enum err kept_users_change(struct kept_users *k, struct slice text, struct users_change *c,
                           struct waiter *w, struct error *e);

#endif
