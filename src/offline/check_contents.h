/* check_contents: what is in the pages of a data directory: a copy of it is replayed as a start
 * does, and each entry looked at. It runs in a process of its own, for what is damaged may well end
 * it; that is then a line too.
 */
#ifndef OFFLINE_CHECK_CONTENTS_H
#define OFFLINE_CHECK_CONTENTS_H

#include "backend/local/store_check.h"
#include "base/arena.h"
#include "codec/collection.h"
#include "offline/check_int.h"

struct content_index;
struct content_queue;

struct contents {
    struct check *k;
    struct store *store;         /* of the copy */
    struct store_reader *reader; /* pinned */
    uint64_t applied;
    int64_t now_ms;
    struct arena arena; /* of the entry being looked at */
    /* Of the database whose entries come now. */
    bool has_database;
    uint16_t database;
    bool is_in_catalog;                        /* or it was told that it is not */
    struct arena own;                          /* what it has, until the next one */
    struct content_index *indexes;             /* check_indexes.c */
    bool has_unknown_index;                    /* a definition is damaged: told */
    struct htab queues;                        /* check_queues.c: struct content_queue, by name */
    uint8_t incarnation[INCARNATION_ID_BYTES]; /* check_collections.c: of the rows that come now */
    bool has_incarnation;
    bool has_aside;     /* told: what is looked up may be there */
    bool is_unreadable; /* told: an entry could not be looked up */
};

/* check_copy.c. From one directory to another; k->scratch_bytes grows. */
#define CHECK_STORE "tupled.db"
struct check_copy {
    struct check *k;
    const char *from, *to;
};
/* tupled.db, its logs, and the file `versions`. */
ERR_MUST_USE enum err check_copy_store(struct check_copy *x, struct error *e);
/* The segments that a start would read of a store that has `applied`. */
ERR_MUST_USE enum err check_copy_segments(struct check_copy *x, uint64_t applied, struct error *e);

/* A line of damage at the internal key. */
void contents_say(struct contents *c, const char *part, struct slice key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Where it is, for people: "kv, database 0, entry [\"a\"]". */
void contents_place(const char *table, struct slice key, struct buf *out);
/* The entry, its value in c->arena. False: it cannot be read, so nothing is to be said of it. */
bool contents_get(struct contents *c, struct slice key, struct entry *out);
/* Its value in this one. */
bool contents_get_in(struct contents *c, struct arena *arena, struct slice key, struct entry *out);
/* Calls `each` for the rows of [start, end); they are borrowed until it returns. What cannot be
 * read ends it. */
void contents_range(struct contents *c, struct slice start, struct slice end,
                    void (*each)(void *arg, const struct store_row *row), void *arg);
/* A row of the store, in the order of keys. */
void contents_row(void *arg, const struct store_row *row);
/* After the last row. */
void contents_end(struct contents *c);

/* check_indexes.c. At the first row of a database; an entry; a row of an index; after the last. */
void check_indexes_begin(struct contents *c);
void check_indexes_entry(struct contents *c, const struct store_row *entry);
void check_indexes_row(struct contents *c, const struct store_row *row);
void check_indexes_definition(struct contents *c, const struct store_row *row);
void check_indexes_text(struct contents *c, const struct store_row *row);
void check_indexes_end(struct contents *c);

/* check_collections.c. An entry that is a head (false: it cannot be read); a row of an element; an
 * owner row. */
bool check_collections_entry(struct contents *c, const struct store_row *entry);
void check_collections_row(struct contents *c, const struct store_row *row);
void check_collections_owner(struct contents *c, const struct store_row *row);

/* check_queues.c. A row of SPACE_QUEUE to SPACE_DEDUP; after the last row of a database. */
void check_queues_row(struct contents *c, const struct store_row *row);
void check_queues_end(struct contents *c);

#endif
