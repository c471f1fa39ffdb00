/* text: text indexes as the backend has them: text search is part of the seam. Above it
 * a text index is a row of BACKEND_SPACE_TEXT: id (4 bytes, big-endian) -> spec; below it, whatever
 * finds words. What a spec means, and the text of a value, is known to text_ops: the backend knows
 * neither paths nor tokenizers' names.
 */
#ifndef BACKEND_TEXT_H
#define BACKEND_TEXT_H

#include "backend/backend.h"

#define BACKEND_SPACE_TEXT 13
/* What an index of hashes has of one: id (4 bytes, big-endian), tuple -> an object of its texts.
 * Above the seam it is kept with the hash; for an index of values entries are what it is of. */
#define BACKEND_SPACE_HASH_TEXT 17
#define TEXT_COLUMNS_MAX 16

/* A spec, read. */
struct text_definition {
    struct slice prefix; /* of the tuples it covers */
    bool is_of_hashes;   /* it is of its rows of BACKEND_SPACE_HASH_TEXT */
    size_t column_count;
    const char
        *tokenize; /* the argument of FTS5's option of that name, to stand between quotes; `folded`,
                             with another after it, folds the text first (local/tokenizer.h) */
    const void *spec; /* for `column` */
};

/* Pure functions, for any thread. */
struct text_ops {
    /* Of what `read` and `column` make of the same input. An index of another version is filled
     * anew: so a change of theirs comes with the next number. */
    unsigned version;
    /* Everything of it in the arena. ERR_CORRUPT. */
    enum err (*read)(struct slice spec, struct arena *arena, struct text_definition *out,
                     struct error *e);
    /* Appends the text of the i-th column of a value; false: it has none. */
    bool (*column)(const struct text_definition *d, size_t i, struct slice value, struct buf *out);
    /* Makes text as it was stored fit to be shown; in place. */
    void (*show)(struct buf *text);
};

struct text_hit {
    struct slice key;
    struct slice value;
    uint64_t version;
    double score;        /* higher is better */
    struct slice *texts; /* column_count of them; data NULL = nothing was found in it */
};

/* A search: sees everything that was committed before it. Owned by the caller until done(), which
 * always comes. */
struct text_request {
    uint16_t database;
    uint32_t id;             /* of the index */
    struct slice start, end; /* all data keys that it covers; borrowed */
    struct slice expression; /* of FTS5, columns c0, c1 ...; borrowed. len 0: only tell the state */
    struct row_filter *filter; /* referenced meanwhile; NULL = every entry */
    uint64_t offset, limit;
    size_t bytes_max; /* of keys, values and texts: the answer ends after the hit with them */
    int64_t now_ms;   /* entries that expired by then are no hits */
    size_t column_count;
    bool with_texts;
    struct slice open, close;             /* around what was found; borrowed */
    unsigned snippet_words;               /* 0 = the whole text */
    bool is_cancelled;                    /* atomic: the caller has lost interest */
    void (*done)(struct text_request *q); /* on the loop thread, never inside the call */
    void *arg;
    struct arena arena; /* of the hits; the caller's to init, reset and free */
    /* results */
    struct text_hit *hits;
    size_t count;
    unsigned percent; /* with ERR_INDEXING: how much is filled in */
    enum err result;  /* ERR_INDEXING; ERR_LIMIT: it took too long */
    struct error error;
};

#endif
