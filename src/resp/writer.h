/* writer: the reply side of RESP, for both protocols: says what is meant, writes what the client
 * speaks. Appends to a buf with sticky errors. Nothing here knows sockets or commands.
 */
#ifndef RESP_WRITER_H
#define RESP_WRITER_H

#include "base/buf.h"
#include "base/drafts.h"
#include "base/err.h"

struct resp_writer {
    struct buf *out; /* borrowed */
    int proto;       /* 2 or 3 */
    /* Borrowed; of out. NULL: all is written at once; a caller that looks at what was written sets
     * this before anything is. */
    struct drafts *drafts;
    size_t draft_bytes_min; /* shorter ones are written at once */
};

void resp_simple(struct resp_writer *w, const char *text);
/* "-<prefix of code> <text>". */
void resp_error(struct resp_writer *w, const struct error *e);
/* "-<line>": prefix included; control bytes become blanks. */
void resp_error_line(struct resp_writer *w, const char *line);
void resp_int(struct resp_writer *w, int64_t value);
void resp_bulk(struct resp_writer *w, struct slice bytes);
void resp_bulk_str(struct resp_writer *w, const char *text);
void resp_bulk_u64(struct resp_writer *w, uint64_t value);
/* A missing scalar; a missing aggregate. The same in RESP3. */
void resp_nil(struct resp_writer *w);
void resp_nil_array(struct resp_writer *w);
void resp_array(struct resp_writer *w, size_t count);
/* `pairs` names with values: a map in RESP3, a flat array in RESP2. */
void resp_map(struct resp_writer *w, size_t pairs);
/* A set in RESP3, an array in RESP2. */
void resp_set(struct resp_writer *w, size_t count);
/* A push in RESP3 (message kind and its parts), an array in RESP2. */
void resp_push(struct resp_writer *w, size_t count);
/* A double in RESP3, a bulk in RESP2; of 15 digits when they read back as the same, else 17. */
void resp_double(struct resp_writer *w, double value);
/* A boolean in RESP3, 0 or 1 in RESP2. */
void resp_bool(struct resp_writer *w, bool value);
/* Text for people (INFO, CLIENT LIST): verbatim in RESP3, bulk in RESP2. */
void resp_text(struct resp_writer *w, struct slice text);

/* A whole reply that was written with proto 2, in the protocol of `w`. Of what the commands write,
 * only the nils differ: there must be no map, set or text in it. */
void resp_replay(struct resp_writer *w, struct slice reply);

/* A part of the reply that may be written when it is sent: at once when it is short, or there are
 * no drafts. What it becomes is at least a byte. Not within a bulk. */
void resp_draft(struct resp_writer *w, struct slice draft, draft_write *writes);
/* What was written after the first `len` bytes of out is dropped. */
void resp_cut(struct resp_writer *w, size_t len);

/* A bulk whose length is not known yet: begin with a guess of its bytes, append to w->out, end with
 * what begin gave. A guess with another number of digits costs a move of the content, no more. */
struct resp_mark {
    size_t at;           /* of the header in w->out */
    size_t header_bytes; /* left free for it */
};
struct resp_mark resp_bulk_begin(struct resp_writer *w, size_t bytes_guess);
void resp_bulk_end(struct resp_writer *w, struct resp_mark mark);

#endif
