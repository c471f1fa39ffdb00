/* index_int: what the files of this folder share. */
#ifndef INDEX_INDEX_INT_H
#define INDEX_INDEX_INT_H

#include "base/sparse.h"
#include "codec/key.h"
#include "engine/start.h"
#include "index/index.h"

enum part_tag {
    PART_BYTES = 0x01,
    PART_STRING = 0x02,
    PART_NUMBER = 0x15,
    PART_DATE = 0x19,
    PART_FALSE = 0x26,
    PART_TRUE = 0x27,
};
#define PART_END_BYTES 2 /* after the body of one that is whole */

/* Of a database that has, or had, indexes. */
struct index_database {
    struct index *list; /* by name; owned */
    size_t count;
    uint32_t next_id; /* as its row says; 0 = none was given */
    uint64_t version; /* of the newest commit that changed a definition */
};

struct indexes {
    struct engine *engine;
    struct hash_reader hashes;
    struct sparse databases;      /* of struct index_database; owned */
    struct indexes_totals totals; /* is_reading is not kept */
    bool has_work;                /* something may be to be filled */
    size_t max;                   /* in one database */
    size_t create_rows;           /* entries filled in by the creation itself */
    size_t batch_rows;            /* ... and in one turn */
    struct waiter waiter;         /* of the work */
    struct arena arena;           /* of the work */
};

static inline size_t index_count(const struct indexes *ix, uint16_t database)
{
    const struct index_database *d = sparse_get(&ix->databases, database);
    return d == NULL ? 0 : d->count;
}

static inline struct index *index_of_database(const struct indexes *ix, uint16_t database)
{
    const struct index_database *d = sparse_get(&ix->databases, database);
    return d == NULL ? NULL : d->list;
}

/* entries.c */
/* The owner that a row of a unique index names: a tuple. */
struct slice index_row_tuple(struct slice value);

/* hashes.c */
bool index_hash_row_leads(const struct index *x, struct slice row, const struct scan_range *range);

/* maintain.c */
bool maintain_is_idle(const void *arg, const struct view *v);
enum err maintain_derive(void *arg, struct view *v, struct data_change *changes, size_t count,
                         struct error *e);
/* Rows of an entry that are to be written. */
struct put {
    struct put *next;
    const struct index *index;
    struct slice key; /* of the entry */
    struct index_rows rows;
    int64_t expiry_ms;
    bool has_list;      /* of a spread hash: the list of the rows is written too */
    struct slice texts; /* INDEX_TEXT: what is written instead of rows; len 0 = nothing */
};

/* The rows of the value that the entry has now: fills in p's rows and has_list; p->expiry_ms is
 * that of the entry before and of the rows afterwards. ERR_TYPE: it cannot be indexed. */
ERR_MUST_USE enum err maintain_rows(struct indexes *ix, struct view *v, struct slice value,
                                    struct put *p, struct error *e);
/* ERR_DUPLICATE: a row of a unique index has another living owner, *owner is its tuple. */
ERR_MUST_USE enum err maintain_put(struct view *v, const struct put *p, struct slice *owner,
                                   struct error *e);

/* fill.c */
void index_write_next_id(struct view *v, uint32_t id);
void fill_work(struct indexes *ix);

#endif
