/* index_int: what the files of this folder share. */
#ifndef INDEX_INDEX_INT_H
#define INDEX_INDEX_INT_H

#include "base/sparse.h"
#include "codec/key.h"
#include "engine/start.h"
#include "index/index.h"

/* Of a database that has, or had, indexes. */
struct index_database {
    struct index *list; /* by name; owned */
    size_t count;
    uint32_t next_id; /* as its row says; 0 = none was given */
    uint64_t version; /* of the newest commit that changed a definition */
};

struct indexes {
    struct engine *engine;
    struct sparse databases;      /* of struct index_database; owned */
    struct indexes_totals totals; /* is_reading is not kept */
    bool has_work;                /* something may be to be filled */
    size_t create_rows;           /* entries filled in by the creation itself */
    size_t batch_rows;            /* ... and in one turn */
    struct waiter waiter;         /* of the work */
    struct arena arena;           /* of the work */
};

static inline struct index *index_list(const struct indexes *ix, uint16_t database)
{
    const struct index_database *d = sparse_get(&ix->databases, database);
    return d == NULL ? NULL : d->list;
}

static inline size_t index_count(const struct indexes *ix, uint16_t database)
{
    const struct index_database *d = sparse_get(&ix->databases, database);
    return d == NULL ? 0 : d->count;
}

/* Does the index hold entries with this data key? */
static inline bool index_covers(const struct index *x, struct slice key)
{
    return key_is_below(engine_key_tuple(key), x->definition.prefix);
}

/* entries.c */
/* The owner that a row of a unique index names: a tuple. */
struct slice index_row_tuple(struct slice value);

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
};

/* ERR_DUPLICATE: a row of a unique index has another living owner, *owner is its tuple. */
ERR_MUST_USE enum err maintain_put(struct view *v, const struct put *p, struct slice *owner,
                                   struct error *e);

/* fill.c */
void index_write_next_id(struct view *v, uint32_t id);
void fill_work(struct indexes *ix);

#endif
