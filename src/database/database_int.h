/* database_int: what the files of this folder share. */
#ifndef DATABASE_DATABASE_INT_H
#define DATABASE_DATABASE_INT_H

#include "base/sparse.h"
#include "database/database.h"
#include "engine/start.h"

struct databases {
    struct engine *engine;
    struct sparse numbers; /* of struct database; owned */
    unsigned fixed;
    uint16_t last_number;           /* that was given; 0 = none was */
    struct databases_totals totals; /* count: but for the fixed ones */
    size_t limited;                 /* databases with MAXBYTES or MAXENTRIES */
    bool has_late;                  /* a command waits, or has waited, for a rate */
    bool is_read;                   /* the catalog is */
    bool has_secret;
    uint8_t secret[DATABASE_SECRET_BYTES];
};

static inline bool has_quota(const struct database *d)
{
    return d->limits.bytes_max != 0 || d->limits.entries_max != 0;
}

/* secret.c: a row of the catalog; false: it is another. */
bool secret_take(struct databases *x, struct slice key, const struct slice *value);

/* quota.c, as struct layer has it: may the write set be committed? Fills ws->before. */
ERR_MUST_USE enum err quota_admit(void *arg, struct write_set *ws, struct waiter *w,
                                  struct error *e);

#endif
