/* history: what clients of a cluster asked and heard, and what the cluster says at the end that
 * happened; as lines of text, one for each, words between blanks:
 *
 *   write <name> <begun> <ended> <outcome> <effect>...   a transaction
 *   read <name> <begun> <ended> [<key> <n> <version>]... all as of one moment; n may be *: not said
 *   look <name> <begun> <ended> <connection> [<key> <n> <version>]...   by a node that stands by
 *   take <name> <begun> <ended> <message> <attempt>      a message that was delivered
 *   feed <version> <key> <n>                             a row of KV.CHANGES, in its order
 *   final <key> <n> <version>                            an entry at the end
 *   stop <time>                                          when the clients ended
 *   queue <enqueued> <acked> <left> <dead>               the queue's figures at the end
 *
 * Times are microseconds of one monotonic clock. An outcome is a versionstamp, ? when no reply
 * came, or ! when the reply was an error. Effects:
 *
 *   mark <key>            sets the key, which is this write's own, to 1
 *   set <key> <n>         del <key>
 *   add <key> <n> <sum>   sum: what was replied, or ?
 *   check <key> <version> the key had this version
 *   enqueue <message>     ack <message>
 *
 * Where n is nil the key is not there, and its version is 0. A message is a number of its own.
 */
#ifndef CAMPAIGN_HISTORY_H
#define CAMPAIGN_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HISTORY_NIL INT64_MIN       /* not there */
#define HISTORY_ANY (INT64_MIN + 1) /* not said */

enum history_kind { HISTORY_WRITE, HISTORY_READ, HISTORY_LOOK, HISTORY_TAKE };
enum history_outcome { HISTORY_DONE, HISTORY_UNKNOWN, HISTORY_REFUSED };
enum history_effect_kind {
    HISTORY_MARK,
    HISTORY_SET,
    HISTORY_DEL,
    HISTORY_ADD,
    HISTORY_CHECK,
    HISTORY_ENQUEUE,
    HISTORY_ACK,
    HISTORY_SEEN, /* one key of a read */
};

struct history_effect {
    enum history_effect_kind kind;
    size_t key;       /* number of the key */
    int64_t n;        /* the value, what is added, the message */
    int64_t sum;      /* ADD: what was replied, or HISTORY_ANY */
    uint64_t version; /* CHECK, SEEN; 0 = not there */
};

struct history_op {
    enum history_kind kind;
    enum history_outcome outcome;
    char name[24];
    int64_t begun_us, ended_us; /* UNKNOWN: ended_us is INT64_MAX */
    uint64_t version;           /* of a write that is DONE */
    int64_t message, attempt;   /* of TAKE */
    int64_t connection;         /* of LOOK: its number, 0 and up */
    size_t first, count;        /* its effects */
};

struct history_row {
    uint64_t version;
    size_t key;
    int64_t n;
};

struct history_list {
    void *items; /* owned */
    size_t count, room, item_bytes;
};

struct history {
    struct history_list ops, effects, feed, finals, keys; /* keys: char *, owned */
    size_t *slots;                                        /* of keys, by hash; owned */
    size_t slot_count;
    bool has_queue;
    int64_t enqueued, acked, left, dead;
    int64_t stop_us; /* INT64_MAX: not said */
};

void history_init(struct history *h);
void history_fini(struct history *h);

/* Takes in one line; false: it cannot be read. */
bool history_take_line(struct history *h, const char *line);
/* Takes in a file. 0: all read; else the number of the first line that cannot be read. */
size_t history_take_file(struct history *h, FILE *f);

/* Borrowed, good as long as nothing is taken in. */
struct history_op *history_ops(const struct history *h);
struct history_effect *history_effects(const struct history *h, const struct history_op *op);
const char *history_key(const struct history *h, size_t key);

/* A new item of zeros at the end of the list. */
void *history_add(struct history_list *l);

#endif
