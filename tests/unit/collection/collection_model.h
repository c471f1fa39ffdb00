/* collection_model: what a few keys with collections must be after each operation, and what time
 * makes of them: plain arrays, nothing of the store. An operation is drawn, done to the model and
 * to the collections, whose answers must be the same; what is read back must be the model.
 */
#ifndef TESTS_UNIT_COLLECTION_COLLECTION_MODEL_H
#define TESTS_UNIT_COLLECTION_COLLECTION_MODEL_H

#include "base/random.h"
#include "collection/collection.h"
#include "unit/collection/stream_model.h"

#define CMODEL_KEYS 4
#define CMODEL_NAMES 130 /* the last ones are long */
#define CMODEL_ITEMS 200 /* of a list at most */
#define CMODEL_PLAIN COLLECTION_KINDS

struct cmodel_key {
    unsigned kind;           /* enum collection_kind; 0 = absent; CMODEL_PLAIN = another value */
    int64_t expiry_ms;       /* its own; 0 = never */
    unsigned count;          /* of a list */
    int items[CMODEL_ITEMS]; /* of a list the values; else by name: value, 1, number of the score,
                              * each + 1; 0 = none */
    int64_t expiries[CMODEL_NAMES]; /* of fields */
    struct smodel stream;
};

struct cmodel {
    struct cmodel_key keys[CMODEL_KEYS];
};

enum cmodel_what {
    CMODEL_PUT,    /* elements, or at an end of a list */
    CMODEL_REMOVE, /* elements, or off an end of a list */
    CMODEL_SET_AT, /* of a list, as those that follow */
    CMODEL_REMOVE_VALUE,
    CMODEL_INSERT,
    CMODEL_TRIM,
    CMODEL_STREAM, /* what `stream` says */
    CMODEL_EXPIRE, /* of any, as those that follow */
    CMODEL_DELETE,
    CMODEL_SET_PLAIN,
    CMODEL_STORE,
    CMODEL_RENAME,
    CMODEL_COPY,
};

#define CMODEL_OP_ITEMS 80
#define CMODEL_STREAM_OPS 12

struct cmodel_op {
    enum cmodel_what what;
    unsigned key, other;
    enum collection_kind kind;
    unsigned count;
    unsigned names[CMODEL_OP_ITEMS];
    int values[CMODEL_OP_ITEMS]; /* or numbers of scores */
    int64_t expiries[CMODEL_OP_ITEMS];
    unsigned at, upto;
    bool is_head;
    int64_t expiry_ms;
    struct smodel_op stream[CMODEL_STREAM_OPS]; /* one after the other */
};

/* What has expired by now goes. */
void cmodel_advance(struct cmodel *m, int64_t now_ms);
bool cmodel_same(const struct cmodel *a, const struct cmodel *b);
/* What differs, for a message; good until the next call. */
const char *cmodel_difference(const struct cmodel *found, const struct cmodel *wanted);
void cmodel_draw(struct rng *g, const struct cmodel *m, int64_t now_ms, struct cmodel_op *out);

/* The data keys of the model, in a database. */
struct cmodel_place {
    struct collections *all;
    uint16_t database;
};
struct slice cmodel_key_of(struct arena *arena, const struct cmodel_place *p, unsigned key);
/* Does it to both. ERR_WAIT: to be begun anew, the model too. Other errors fail the test. */
ERR_MUST_USE enum err cmodel_do(const struct cmodel_place *p, struct view *v,
                                const struct cmodel_op *op, struct cmodel *m);
/* ERR_WAIT: again, from the start; others as they are. */
ERR_MUST_USE enum err cmodel_read(const struct cmodel_place *p, struct view *v, struct cmodel *out,
                                  struct error *e);

#endif
