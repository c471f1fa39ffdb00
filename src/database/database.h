/* database: databases with names and limits, as a layer. Every key begins with the number of its
 * database; what a number is called and may hold are rows of the catalog, which is the database
 * DATABASE_CATALOG: nothing flushes it, no client selects it.
 *
 *   head (DATABASE_CATALOG, SPACE_DATABASE), number (2 bytes, big-endian) -> MessagePack array:
 *     format 2, name, comment, bytes_max, entries_max, rate, created (version), created (ms),
 *     keep, is_left_out (format 1: without these two)
 *   ..., DATABASE_CATALOG -> the newest number that was given (2 bytes, big-endian)
 *   ..., DATABASE_CATALOG, 's' -> DATABASE_SECRET_BYTES, the secret (databases_secret)
 *
 * The numbers below `fixed` are always there and have a row only when something was said of them.
 * Numbers are given in ascending order and come again only after the highest: then no client has
 * selected them, and the feed passes over what is older than the database.
 *
 * Limits (quota.c): what would add to a database that is full is refused with ERR_QUOTA; so that
 * the figures are exact, each entry that is written in a database with limits is looked up before.
 * Rates: a token bucket of a tenth of a second; commands wait for their turn.
 */
#ifndef DATABASE_DATABASE_H
#define DATABASE_DATABASE_H

#include "engine/engine.h"

#define DATABASE_CATALOG 65535
#define DATABASE_NAME_MAX 64
#define DATABASE_COMMENT_MAX 256
#define DATABASE_FIXED_MAX 16

struct database_limits {
    uint64_t bytes_max, entries_max; /* 0 = none */
    uint64_t rate;                   /* operations per second; 0 = any number */
    uint64_t keep;                   /* base backups that are kept at least; 0 = as others say */
    bool is_left_out;                /* base backups have nothing of it */
};

struct database {
    uint16_t number;
    struct slice name, comment; /* in `texts` */
    uint8_t *texts;             /* owned */
    struct database_limits limits;
    uint64_t created;   /* version; 0 = it was always there */
    int64_t created_ms; /* Unix time; 0 = it was always there */
    bool has_row;
    /* Since the start. */
    uint64_t operations;     /* commands */
    uint64_t throttled;      /* of them, those that had to wait for the rate */
    int64_t free_us;         /* monotonic: when the bucket is full again ... */
    uint64_t free_rest;      /* ... and this part of a us later, in units of 1 / limits.rate */
    uint64_t exact_from;     /* its figures are exact once this version is in the store */
    struct waiter_list late; /* commands that wait for the rate */
};

/* A row of the catalog; false: it is damaged. The texts are of the row. */
bool database_row_read(struct slice bytes, struct database *d);

struct databases;

/* Adds its layer to the engine, which must be freed after it. `fixed`: as many are there from the
 * start. */
struct databases *databases_new(struct engine *g, unsigned fixed);
void databases_free(struct databases *x);
/* Every 10 ms or so: wakes who waited for a rate. */
void databases_tick(struct databases *x);
/* Whether a transaction waits for the rate of its database. */
bool databases_have_late(const struct databases *x);

/* ERR_WAIT until the catalog is read. */
ERR_MUST_USE enum err databases_ready(struct databases *x, struct waiter *w, struct error *e);
/* The database; NULL when there is none of the number. Good until the next commit. */
struct database *database_get(struct databases *x, uint16_t number);
/* By name, or by number written in digits; NULL = there is none. */
struct database *database_find(struct databases *x, struct slice name);
/* The next one from *at on, which *at then is; NULL at the end. Those that have always been there
 * are among them. */
struct database *database_next(struct databases *x, uint32_t *at);

struct databases_totals {
    bool is_reading; /* the catalog is still being read: there may be more */
    size_t count;
    uint64_t operations, throttled; /* of all that there are */
};

/* O(1). */
void databases_totals(const struct databases *x, struct databases_totals *out);
/* A command waits for the rate of d for the first time. */
void database_count_throttled(struct databases *x, struct database *d);

/* Is there room in its rate for `cost` commands? Then they are taken from it. ERR_WAIT: `w` will be
 * woken. */
ERR_MUST_USE enum err database_take(struct databases *x, struct database *d, uint64_t cost,
                                    struct waiter *w, struct error *e);

/* ---- the secret ---- */

#define DATABASE_SECRET_BYTES 32

/* A secret, the same for all databases and after each start; what is signed with it was signed
 * here. NULL: there is none yet, so nothing was ever signed, or the catalog is still being read. */
const uint8_t *databases_secret(const struct databases *x);
struct database_secret_op {
    struct layer_op base; /* first */
    struct databases *databases;
};

/* Makes it, if there is none. */
struct op database_secret_op(struct database_secret_op *x);

/* ---- changes: operations of one transaction each ---- */

enum database_change {
    DATABASE_CREATE, /* name, limits, comment; `number` is the result */
    DATABASE_LIMIT,  /* number, limits, comment: all of them as they shall be */
    DATABASE_RENAME, /* number, name */
    DATABASE_DROP,   /* number; its rows go by txn.has_flush and txn.is_drop */
};

struct database_op {
    struct layer_op base; /* database_op's; first */
    struct databases *databases;
    enum database_change change;
    uint16_t number;
    struct slice name, comment;
    struct database_limits limits;
    /* Whether a client still has the number selected. Asked before a number is given again. */
    bool (*is_used)(void *arg, uint16_t number);
    void *arg;
};

/* ERR_SYNTAX: the name is taken or wrong, or the change is not for this database. ERR_LIMIT: there
 * are too many. */
struct op database_op(struct database_op *x);

#endif
