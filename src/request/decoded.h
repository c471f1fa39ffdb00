/* decoded: keys and values of commands that have come and are not run yet, decoded by a thread
 * that has time for it (src/session/ahead.h). It is a hint: a command that reads a word (args.h)
 * takes what is there if it was decoded in the same format, database and view; else it decodes the
 * word itself. What is wrong is not in it, so that errors come when the command is run, in its
 * order.
 */
#ifndef REQUEST_DECODED_H
#define REQUEST_DECODED_H

#include "request/command.h"

enum decoded_kind {
    DECODED_TUPLE, /* a key in JSON or MessagePack */
    DECODED_PLAIN, /* a key of the string view */
    DECODED_VALUE,
};

struct decoded_word {
    const uint8_t *word; /* where it is in the client's input; they ascend */
    size_t at, len;      /* in struct decoded's bytes; len 0 = the word is its own stored form */
    enum decoded_kind kind;
    enum format format;
};

/* Of one client. Zero: nothing is decoded. */
struct decoded {
    struct buf bytes;           /* owned: internal keys and stored values */
    struct decoded_word *words; /* owned */
    size_t count, cap;
    size_t next;        /* the one that is probably asked for next */
    size_t fetched;     /* those before it have been fetched from memory */
    const uint8_t *end; /* of the input that was looked at */
    uint16_t database;
    bool is_tuples; /* view.h */
};

/* Forgets all, and gives the memory back; may be used again. */
void decoded_fini(struct decoded *d);
/* Before the input moves, or other bytes come to where it was: forgets all. */
void decoded_clear(struct decoded *d);
size_t decoded_held(const struct decoded *d); /* bytes allocated */

/* Decodes a word of rq's and keeps it, if it is good, for the format of rq, and the database and
 * the view of its client. A placeholder is not good: what it stands for is known when the command
 * is run: rq->placeholders is NULL. Uses nothing else of rq: any thread that has the client for
 * itself. */
void decoded_add(struct decoded *d, const struct request *rq, struct slice word,
                 enum decoded_kind kind);
/* What the word means to rq's client, if it was decoded: good until the command of rq has run. */
bool decoded_find(struct request *rq, struct slice word, enum decoded_kind kind, struct slice *out);
/* The key, or value, at i < count. */
struct slice decoded_at(const struct decoded *d, size_t i);

/* Appends the internal key that a word means to rq's client, in the format of rq and with its
 * placeholders. */
ERR_MUST_USE enum err decode_tuple(const struct request *rq, struct slice word, bool allow_empty,
                                   struct buf *out, struct error *e);
ERR_MUST_USE enum err decode_plain(const struct client *c, struct slice word, struct buf *out,
                                   struct error *e);

#endif
