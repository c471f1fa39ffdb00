/* rows: how queues lie in the ordered keyspace, and what ids and receipts look like.
 *
 *   key: database, space, queue length (1 byte), queue, then ...       value
 *   QUEUE                                       the figures of the queue (struct counts)
 *   MESSAGE   incarnation, id                   what never changes: options and value
 *   READY     incarnation, due ms, id           attempts so far, last error: waits for delivery
 *   STATE     incarnation, id                   a lease, or a dead letter: struct state
 *   LEASE     incarnation, lease end ms, id     nothing: leases in the order of their ends
 *   DEAD      failed-at ms, id                  attempts, last error
 *   DEDUP     dedup id                          time ms
 *
 * Numbers are big-endian. An id is the version of the commit that enqueued the message (8 bytes)
 * and a number within it (4): unique for ever, and in the order of enqueueing. A message has
 * exactly one of READY, STATE + LEASE, STATE + DEAD.
 *
 * Messages that are loaded (load.c, ids.c) keep ids that another server gave, and these may be of
 * versions that are still to come here. So what is added to the version for an id (8 bytes, 0 at
 * first) grows with them. It is one row for all databases: QUEUE of IDS_DATABASE, of the queue with
 * an empty name, which no queue has.
 */
#ifndef QUEUE_ROWS_H
#define QUEUE_ROWS_H

#include "base/bytes.h"
#include "engine/engine.h"

#define QUEUE_NAME_BYTES_MAX 255
#define ID_BYTES 12
#define ID_CHARS (2 * ID_BYTES)
#define SLOT_BYTES (8 + ID_BYTES) /* a time and an id: the end of the keys in order of time */
#define INCARNATION_BYTES 8
#define INCARNATION_DEAD 0
#define IDS_DATABASE 65535          /* the catalog's (database/database.h), which nothing flushes */
#define ID_VERSION_MAX (1ULL << 62) /* ids that are loaded are below: there is always another */

struct message_id {
    uint8_t bytes[ID_BYTES];
};

struct slot {
    uint8_t bytes[SLOT_BYTES];
};

/* The figures of a queue. Every transaction that touches the queue writes them. */
struct counts {
    uint64_t incarnation;
    struct slot split; /* messages up to here are `ready`, later ones `delayed` */
    uint64_t ready, delayed, leased, dead;
    uint64_t enqueued, delivered, acked, nacked, expired; /* since the queue was first used */
};

#define COUNTS_BYTES (INCARNATION_BYTES + SLOT_BYTES + 9 * 8)

enum state_kind { STATE_LEASED = 1, STATE_DEAD = 2 };

/* Of a message that does not wait. A delivery is told from every other by its version and attempt.
 */
struct state {
    enum state_kind kind;
    int64_t time_ms;         /* the end of the lease; when it died */
    uint64_t version;        /* of the delivery's commit */
    uint32_t attempt;        /* of the delivery, from 1 */
    int64_t due_ms;          /* what the message was due when it was delivered */
    struct slice last_error; /* of the attempt before; borrowed */
};

/* What a message was enqueued with. Slices borrow from the row or from the command. */
struct message {
    size_t backoff_count;
    const uint8_t *backoff; /* backoff_count numbers of 4 bytes: message_backoff reads them */
    size_t undelivered_count;
    const uint8_t *undelivered; /* as many times length (2 bytes), tuple */
    size_t undelivered_bytes;
    struct slice value;
    struct slice row; /* all of it, when it was read from its row */
};

struct receipt {
    struct slice queue; /* in the arena */
    struct message_id id;
    uint64_t version;
    uint32_t attempt;
};

/* Which rows of a queue: the incarnation counts only in the spaces whose keys have one. */
struct row_place {
    uint16_t database;
    struct slice queue;
    uint64_t incarnation;
};

/* Keys, in the arena. `rest` may be empty: then it is the prefix of the rows there. */
struct slice row_key(struct arena *arena, const struct row_place *place, enum space space,
                     struct slice rest);
/* The first key after all rows there in the space. */
struct slice row_key_end(struct arena *arena, const struct row_place *place, enum space space);
/* Takes a key of one of the spaces apart; false when it is too short for what it says. */
bool row_split(struct slice key, struct row_place *place, struct slice *rest);

struct slot slot_of(int64_t time_ms, const struct message_id *id);
/* After every slot of that time. */
struct slot slot_end(int64_t time_ms);
int64_t slot_time_ms(const struct slot *s);
struct message_id slot_id(const struct slot *s);
static inline int slot_cmp(const struct slot *a, const struct slot *b)
{
    return memcmp(a->bytes, b->bytes, SLOT_BYTES);
}

struct message_id id_of(uint64_t version, uint32_t number);
void id_format(const struct message_id *id, char out[ID_CHARS]);
/* False when the text is no id. */
bool id_parse(struct slice text, struct message_id *out);

struct slice counts_row(struct arena *arena, const struct counts *c);
void counts_read(struct slice row, struct counts *c);
struct slice state_row(struct arena *arena, const struct state *s);
/* ERR_CORRUPT. */
ERR_MUST_USE enum err state_read(struct slice row, struct state *s, struct error *e);
/* Attempts and a text: the rows READY and DEAD. */
struct slice attempts_row(struct arena *arena, uint32_t attempts, struct slice error);
void attempts_read(struct slice row, uint32_t *attempts, struct slice *error);
struct slice message_row(struct arena *arena, const struct message *m);
ERR_MUST_USE enum err message_read(struct slice row, struct message *m, struct error *e);
/* The delay in ms before retry number i, from 0. */
uint32_t message_backoff(const struct message *m, size_t i);

/* URL-safe text, in the arena. */
struct slice receipt_format(struct arena *arena, const struct receipt *r);
/* False when the text was never a receipt. */
bool receipt_parse(struct arena *arena, struct slice text, struct receipt *out);

#endif
