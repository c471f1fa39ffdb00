/* term_int: what term.c (life, taking over, leading), term_look.c (the row as it is seen, and what
 * this node knows) and term_lost.c (the end of a term) share.
 */
#ifndef BACKEND_POSTGRES_TERM_INT_H
#define BACKEND_POSTGRES_TERM_INT_H

#include <pthread.h>

#include "backend/postgres/pg_proof.h"
#include "backend/postgres/term.h"
#include "base/machine.h"

#define TERM_TEXT_BYTES 256

struct term {
    struct term_options options;
    char *url, *name, *address;   /* owned */
    char holder[TERM_TEXT_BYTES]; /* its own: the name, and a number that no other process has */
    struct pg_breaker breaker;
    int own_turns; /* if the options give none */
    struct pg *pg; /* for the row */
    int state;     /* enum term_state; atomic */
    uint64_t epoch;
    uint64_t versions;
    unsigned quorum;      /* atomic */
    int64_t lease_end_us; /* atomic */
    /* The only server that it may be connected to; "" = any. Set before it takes over. */
    char server[PG_SERVER_BYTES];
    /* While leading: the row has one of them. */
    int64_t beat, next_beat;
    /* The row as it was last seen. */
    int64_t seen_epoch, seen_beat, seen_us, seen_format;
    int64_t looked_us;
    char seen_holder[TERM_TEXT_BYTES], seen_address[TERM_TEXT_BYTES], noticed[TERM_TEXT_BYTES];
    /* The highest that was seen. PostgreSQL has less, if is_less. */
    int64_t known_epoch, known_version;
    bool is_less;
    /* The end. */
    pthread_mutex_t lock; /* guards why */
    int is_over;          /* atomic: it gives the lead up */
    struct error why;     /* code OK = not lost */
};

extern const struct machine term_machine;

/* Another one each time. A count would not do: one that is lost when PostgreSQL fails over would
 * come again, and a node that had seen it would take the new one for the old. */
int64_t term_new_beat(void);
int64_t term_now_us(void);

/* term_look.c: asks for the row; makes it if it is not there. ERR_IO. */
ERR_MUST_USE enum err term_look(struct term *t, struct error *e);

/* term_lost.c: of all connections but those that give the lead up; pg_options.prove. */
ERR_MUST_USE enum err term_prove(void *term, const char *server, struct error *e);
/* One that no server is refused to. */
struct pg *term_connect_anywhere(struct term *t, const char *name);

#endif
