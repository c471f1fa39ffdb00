/* term: who leads an engine. One row of tupled_leader says it; its `epoch` rises with each
 * take-over, its `beat` is another one with each renewal. tests/model/term.pml is a model of this.
 *
 *   TERM_FOLLOWING --the same beat for 1.1 x lease, or handed over--> TERM_LEADING
 *        ^                                                                |
 *        |                                       another epoch in the row |
 *        +--- the owner makes a new term --- TERM_LOST <------------------+
 *
 * No two clocks are compared. A leader's lease counts from before it sent the renewal that
 * succeeded, less a margin; a node that wants to take over waits for longer than that, by its own
 * clock, since it first had the answer with this beat. So the old lease is over before the new
 * leader begins, provided that no clock runs more than a tenth faster than another. The clock is
 * CLOCK_BOOTTIME: it goes on while the machine sleeps.
 *
 * A lease that has run out may be renewed under the same epoch: no other node led meanwhile. Until
 * then nothing may be answered (term_has_lease).
 *
 * Every write is fenced: it is done where the epoch is still the writer's, or not at all. So
 * TERM_LOST is final, and what was evaluated and is not durable never will be.
 *
 * A term has one server (pg_proof.h). PostgreSQL may fail over to one that has less than was
 * acknowledged, or be restored to an older point, at any moment, also while nothing is written. A
 * leader knows it by each of these, gives the lead up at once, and says so in the row:
 *
 *   1. a new connection is to another server
 *   2. the row's beat is none of this leader's last two
 *   3. what comes before an append is not there (pg_append.c)
 *   4. a write of the store does not find the step of the last one (pg_apply.c)
 *
 * Nodes that follow remember the highest epoch and version that they saw. A node that takes over
 * where the row says such a thing, or after it has seen more itself, or at another server than the
 * last leader, goes on with versions that are TERM_JUMP higher.
 *
 * Invariants:
 *   1. The epoch that it leads with is above all that it has seen, and stays.
 *   2. It has a lease only while TERM_LEADING: the lease begins with the take-over, each renewal
 *      moves its end, and no renewal does after is_over.
 *   3. The row has `beat`, or next_beat when an answer did not come: no third one is its own.
 *   4. What it is lost for is said once, before it is TERM_LOST.
 *
 * Threads: term_try and term_renew by one thread at a time; term_has_lease, term_epoch, term_lost,
 * term_state and term_why by any.
 */
#ifndef BACKEND_POSTGRES_TERM_H
#define BACKEND_POSTGRES_TERM_H

#include "backend/postgres/pg.h"

/* What PostgreSQL's commits are to mean. */
enum term_durability {
    TERM_QUORUM,   /* standbys have them; while none are configured, there is no lease */
    TERM_PROVIDER, /* the operator of PostgreSQL sees to it, below SQL */
    TERM_ASYNC,    /* this one server has them */
};

struct term_options {
    const char *url;     /* of PostgreSQL; copied, as all texts here */
    int64_t id;          /* of the engine */
    const char *name;    /* of the node; what is shown to people */
    const char *address; /* where the node is reached, for clients; "" = it does not say */
    int64_t lease_ms;
    int64_t call_ms; /* deadline of a statement */
    enum term_durability durability;
    int64_t format;  /* of the tables, the newest that it knows; 0 = SCHEMA_FORMAT; for tests */
    int *host_turns; /* pg_options; outlives the term; NULL = its own */
};

enum term_state { TERM_FOLLOWING, TERM_LEADING, TERM_LOST };

struct term;

/* Makes the tables if they are missing. Blocks. ERR_FORMAT, ERR_IO. */
ERR_MUST_USE enum err term_open(const struct term_options *options, struct term **out,
                                struct error *e);
/* Neither it nor a connection of it is in use any more. NULL is none. */
void term_free(struct term *t);

/* Looks at the row and takes over if it may. OK: this node leads now; ERR_WAIT: another one does,
 * ask again after a tenth of the lease; ERR_IO. Blocks. */
ERR_MUST_USE enum err term_try(struct term *t, struct error *e);
/* Renews the lease. ERR_TRYAGAIN: lost; others: not renewed, ask again. Blocks. */
ERR_MUST_USE enum err term_renew(struct term *t, struct error *e);
/* A node that waits may take over at once. What was appended is settled. Blocks. */
void term_hand_over(struct term *t);

/* May what is durable be told now? To be asked right before it is. */
bool term_has_lease(const struct term *t);
enum term_state term_state(const struct term *t);
/* A fenced write was not done. `missing` is what PostgreSQL had committed and does not have any
 * more; NULL: the row says whether that is so or another node leads. The first who says it gives
 * the lead up, on a connection of its own. ERR_TRYAGAIN, with the reason. Blocks. */
ERR_MUST_USE enum err term_lost(struct term *t, const char *missing, struct error *e);
/* Why it is lost: ERR_TRYAGAIN. */
ERR_MUST_USE enum err term_why(struct term *t, struct error *e);
uint64_t term_epoch(const struct term *t);
int64_t term_id(const struct term *t);
int64_t term_lease_ms(const struct term *t);
bool term_is_quorum(const struct term *t); /* TERM_QUORUM */
/* Of this node. */
const char *term_name(const struct term *t);
const char *term_address(const struct term *t);
/* Its name, and a number that no other process has. */
const char *term_process(const struct term *t);
/* Standbys of PostgreSQL that have each commit, as it was last configured there; 0 = this node does
 * not ask. Any thread. */
unsigned term_quorum(const struct term *t);
/* Of a value of synchronous_standby_names (PostgreSQL's manual): "ANY 2 (a, b, c)", "FIRST 2 (a,
 * b)" and "2 (a, b)" are 2, "a, b" is 1, "" is 0. */
unsigned term_quorum_of(struct slice text);
/* The versions below it may have been given by leaders before: also by those of whom PostgreSQL has
 * lost something. */
#define TERM_JUMP ((uint64_t)1 << 40)
uint64_t term_versions(const struct term *t);
/* The leader as of the last look: "" = none. Borrowed until the next call; not while leading. */
const char *term_holder(const struct term *t);
const char *term_holder_address(const struct term *t);
uint64_t term_holder_epoch(const struct term *t);
/* At the last look that PostgreSQL answered it had not renewed its lease for longer than others
 * wait. */
bool term_holder_is_silent(const struct term *t);
/* What made a node give the lead up, last, and when: a text; "" = nothing. Borrowed likewise.
 */
const char *term_noticed(const struct term *t);

/* What the nodes of this engine prove to each other that they know; made once, of random bytes.
 * ERR_IO, ERR_CORRUPT. Blocks, and is of the thread of term_try. */
#define TERM_SECRET_BYTES 32
ERR_MUST_USE enum err term_secret(struct term *t, uint8_t out[TERM_SECRET_BYTES], struct error *e);

/* Connections of this term are made with it: `name` is for people. */
enum term_use {
    TERM_WRITE,
    TERM_SIGN, /* writes what may be lost: its commits do not wait for standbys */
    TERM_READ,
};
struct pg *term_connect(struct term *t, const char *name, enum term_use use);
/* All calls of its connections end, now and later. Any thread. */
void term_give_up(struct term *t);

#endif
