/* deno_record: what Deno KV has, as records of import (source.h): entries, and messages of its
 * queue. Keys are its bytes, values its data and encoding (foreign/deno.h); what comes out is
 * MessagePack, as of an export.
 */
#ifndef TOOL_DENO_RECORD_H
#define TOOL_DENO_RECORD_H

#include "tool/source.h"

#define DENO_STAMP_BYTES 10
#define DENO_QUEUE "deno" /* where messages of Deno's clients are (docs/deno.md) */

/* What the newest record borrows from. Zeroed is good; deno_record_fini in the end. */
struct deno_record {
    struct buf key, value, message;
    struct arena arena; /* with begun */
    bool begun;
    char stamp[2 * DENO_STAMP_BYTES + 1];
};

struct deno_entry {
    const char *where; /* the input, for errors */
    struct slice key, data;
    int64_t encoding;
    uint8_t stamp[DENO_STAMP_BYTES];
    int64_t expires_ms; /* 0 and less: never */
};

struct deno_message {
    const char *where;
    struct slice id;          /* any text that no other message has */
    struct slice data;        /* of V8 */
    int64_t due_ms;           /* Unix time */
    int64_t attempts;         /* that were begun */
    struct slice backoff;     /* JSON: a list of ms; null, or empty: as always */
    struct slice undelivered; /* JSON: a list of keys, each a list of its bytes; likewise none */
};

void deno_record_fini(struct deno_record *d);
/* *out is good until the next call. What is wrong is said, with the key or the id. */
ERR_MUST_USE enum tool_status deno_record_entry(struct deno_record *d, const struct deno_entry *x,
                                                struct record *out);
/* The id that it gets is made of its own, so that a second import finds it there. */
ERR_MUST_USE enum tool_status deno_record_message(struct deno_record *d,
                                                  const struct deno_message *x, struct record *out);

/* Places of import: bytes as hex digits, and back. */
void deno_record_hex(struct slice bytes, struct buf *out);
/* False: these are no hex digits, or not in pairs. */
bool deno_record_unhex(struct slice text, struct buf *out);
/* The bounds of what lies below a prefix (empty: of everything): keys from *start up to *end, which
 * is excluded. */
void deno_record_range(struct slice prefix, struct buf *start, struct buf *end);

#endif
