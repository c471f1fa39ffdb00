/* stream_model: what a stream and its consumer groups must be after each operation: plain arrays.
 * A part of collection_model.h, which draws the operations and says at which key.
 */
#ifndef TESTS_UNIT_COLLECTION_STREAM_MODEL_H
#define TESTS_UNIT_COLLECTION_STREAM_MODEL_H

#include "base/random.h"
#include "collection/stream.h"

#define SMODEL_IDS 160 /* ids are 1-1, 2-1, ...; then nothing more is added */
#define SMODEL_GROUPS 2
#define SMODEL_CONSUMERS 3
#define SMODEL_COUNT_MAX 12 /* of entries of one operation */

/* Bytes only, so that equal ones have equal bytes. */
struct smodel_group {
    uint8_t exists, last;                /* the newest id that was delivered */
    uint8_t consumers[SMODEL_CONSUMERS]; /* 1 = it is there */
    uint8_t owners[SMODEL_IDS];          /* of what is pending: its consumer + 1 */
    uint8_t deliveries[SMODEL_IDS];
};

struct smodel {
    uint8_t last, deleted;      /* ids; deleted: the greatest that was, but by a trim */
    uint8_t values[SMODEL_IDS]; /* + 1; 0 = there is no such entry */
    struct smodel_group groups[SMODEL_GROUPS];
};

enum smodel_what {
    SMODEL_ADD,
    SMODEL_REMOVE,
    SMODEL_TRIM,
    SMODEL_GROUP, /* is made, or destroyed */
    SMODEL_DELIVER,
    SMODEL_ACKNOWLEDGE,
    SMODEL_CLAIM,
    SMODEL_CONSUMER, /* is made, or removed */
};

struct smodel_op {
    enum smodel_what what;
    unsigned count, at; /* entries; the first id of them, or how much is left of a trim */
    unsigned group, consumer;
    uint8_t value;
    bool by_id; /* of a trim */
};

void smodel_draw(struct rng *g, struct smodel_op *out);
/* Of an open collection, which exists unless the operation adds. Answers are compared with the
 * model's. ERR_WAIT: to be begun anew, the model too. */
ERR_MUST_USE enum err smodel_do(struct collection *c, const struct smodel_op *op, struct smodel *m,
                                struct error *e);
/* Reads all of it by every way that there is, which must agree. */
ERR_MUST_USE enum err smodel_read(struct collection *c, struct smodel *out, struct error *e);

#endif
