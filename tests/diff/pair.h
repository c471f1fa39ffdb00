/* pair: both servers, with the same connections to each, which are sent the same commands. */
#ifndef TESTS_DIFF_PAIR_H
#define TESTS_DIFF_PAIR_H

#include "diff/compare.h"
#include "diff/peer.h"
#include "diff/sequence.h"

#define PAIR_CLIENTS 5 /* that may wait, on the connections after the first */
#define PAIR_CONNECTIONS (1 + PAIR_CLIENTS)

struct side {
    struct peer *control; /* asks the server about the others */
    struct peer *peers[PAIR_CONNECTIONS];
    struct slice ids[PAIR_CONNECTIONS]; /* of the clients, as CLIENT ID says them; owned */
    bool is_waiting[PAIR_CONNECTIONS];  /* a command was sent that is not answered yet */
};

struct pair {
    struct side ours, redis;
    bool has_waiting;           /* pair_run leaves clients waiting, and looks who is served */
    struct arena arena;         /* of the replies of the running batch */
    struct arena lasting;       /* of ids */
    bool is_lost;               /* a server has closed a connection, or does not answer */
    unsigned long long replies; /* compared so far */
};

/* What replies to EXEC are compared by. */
#define PAIR_QUEUED_MAX 64
struct run {
    struct pair *pair;
    const struct sequence *s;
    const struct call *queued[PAIR_CONNECTIONS][PAIR_QUEUED_MAX];
    size_t queued_count[PAIR_CONNECTIONS];
    bool is_multi[PAIR_CONNECTIONS];
    enum verdict worst; /* since that was last set to REPLY_SAME */
    size_t base;        /* the first call since both had no keys */
    bool *is_undone;    /* by call: it has happened on neither, or not for long */
};

struct difference {
    size_t at;    /* the call to which the replies differ */
    char type[2]; /* of the replies; 0 = closed, or the client waits */
    char *ours;   /* readable; owned */
    char *redis;
};

/* False, and a line on stderr, when one cannot be reached. */
bool pair_open(struct pair *p, int port, const char *redis_path, int protocol);
void pair_close(struct pair *p);
/* Both servers without keys, and no transaction begun. */
void pair_reset(struct pair *p);
/* Sends all calls to both. False at the first difference, which *d then has. */
bool pair_run(struct pair *p, const struct sequence *s, struct difference *d);
void difference_fini(struct difference *d);

/* Calls of `s` that are enough for a difference like *d, by which *d is replaced. False when it
 * does not come again on empty servers: `s` is as it was then, else it is spent. */
bool pair_shrink(struct pair *p, struct sequence *s, struct difference *d, struct sequence *out);

/* Redis as it was before the call `at`, a transaction or a script, by all calls again that have
 * happened; where these are many, both without keys. */
void run_restore(struct run *x, size_t at);
/* For pair.c and waiting.c: the replies to call number `at`, either of which may be NULL; if they
 * differ, *d is set unless it has one already. */
void run_compare(struct run *x, size_t at, struct reply *ours, struct reply *redis,
                 struct difference *d);
/* As pair_run, of a pair that has_waiting. */
bool waiting_run(struct run *x, struct difference *d);
/* No client waits any more. */
void waiting_end(struct pair *p);

#endif
