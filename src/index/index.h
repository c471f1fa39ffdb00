/* index: secondary and text indexes as a layer over the engine. Of both kinds the
 * definitions live here; the entries of a secondary index are rows (rows.h) that every transaction
 * adds and removes together with the data (maintain.c); what a text index holds is the backend's
 * business, which reads its row of SPACE_TEXT.
 *
 *   create --> FILLING --every entry was looked at--> READY
 *                 |
 *                 +--an entry cannot be indexed, a value has two owners--> FAILED
 *   drop, from any state: the definition goes at once, the rows in the background (fill.c)
 *
 * From the creation on every transaction keeps the index (and a unique one refuses); filling adds
 * what was there before, a batch a turn of the loop, each one transaction that reads the newest
 * state: it never sees an entry that maintenance would contradict. Its position is in the
 * definition, so a start goes on where it was.
 *
 * A flush of the database empties indexes; their definitions stay.
 *
 * Definitions are kept in memory, changed only by commits, and read after a start; who writes waits
 * for that. Everything belongs to the loop thread.
 */
#ifndef INDEX_INDEX_H
#define INDEX_INDEX_H

#include "base/glob.h"
#include "codec/collection.h"
#include "filter/path.h"
#include "index/rows.h"

#define INDEXES_DEFAULT 64      /* in one database: settings say otherwise */
#define INDEX_ELEMENTS_MAX 1000 /* rows of one entry in one index */

struct indexes;

/* An index as its definition says; changes and goes with commits. */
struct index {
    struct index *next; /* in its database, by name */
    uint16_t database;
    struct definition definition; /* slices into `row` and `name` */
    struct buf row;
    const struct path *paths[INDEX_PATHS_MAX];
    struct slice fields[INDEX_PATHS_MAX]; /* of hashes: the field of each path */
    struct glob *glob;                    /* of hashes: names of their keys; owned */
    struct arena arena;                   /* of paths, name and glob's pattern */
};

/* The fields of the hash that an entry with this value is, as the transaction of the view has them;
 * one that is not there has no name. What is no hash has none. */
struct hash_reader {
    enum err (*fields)(struct view *v, uint16_t database, struct slice value,
                       const struct field_names *names, struct element *out, struct error *e);
    /* Has the transaction written one of them? `value` is a spread hash. */
    bool (*are_written)(struct view *v, uint16_t database, struct slice value,
                        const struct field_names *names);
};

/* Adds its layer to the engine, which must be freed after it. */
struct indexes *indexes_new(struct engine *g, const struct hash_reader *hashes);
void indexes_free(struct indexes *ix);
/* So many in one database may be made: INDEXES_DEFAULT until it is said. Those that are there stay.
 */
void indexes_set_max(struct indexes *ix, size_t max);
size_t indexes_max(const struct indexes *ix);
/* At the end of a turn of the loop, before what was committed goes to the journal. */
void indexes_turn(struct indexes *ix);
/* ERR_WAIT until the definitions are read; another error: those of the database cannot be. */
ERR_MUST_USE enum err indexes_ready(struct indexes *ix, uint16_t database, struct waiter *w,
                                    struct error *e);
/* The newest commit that changed a definition of the database: what is said about definitions
 * depends on it. */
uint64_t indexes_version(const struct indexes *ix, uint16_t database);
/* NULL when there is none. Good until the next commit. */
const struct index *index_find(const struct indexes *ix, uint16_t database, struct slice name);
/* How many the database has. */
size_t indexes_count(const struct indexes *ix, uint16_t database);
/* The first of the database; the others by `next`. */
const struct index *index_first(const struct indexes *ix, uint16_t database);
/* The first index of the next database from *at on that has one; *at is then the database. NULL at
 * the end. */
const struct index *indexes_next(const struct indexes *ix, uint32_t *at);
/* Of all databases; how far a text index is, only the backend knows. */
struct indexes_totals {
    bool is_reading; /* the definitions are still being read: there may be more */
    size_t value, text;
    size_t filling, failed; /* filling: of those whose rows are kept here */
};

/* O(1). */
void indexes_totals(const struct indexes *ix, struct indexes_totals *out);
/* How much of a secondary index is filled in, 0..100, by entries: an estimate. */
unsigned index_percent(struct indexes *ix, const struct index *x);

/* ---- operations: fill in, make an op of it, commit the transaction ---- */

struct index_create {
    struct layer_op base;
    struct indexes *indexes;
    struct definition definition; /* all but id, state, position, filled, note */
    struct slice text_spec;       /* INDEX_TEXT */
};

struct index_drop {
    struct layer_op base;
    struct indexes *indexes;
    struct slice name;
};

/* ERR_SYNTAX: there is one of that name; a path is wrong. ERR_LIMIT: too many. What was there
 * before is filled in at once when it is little: then ERR_DUPLICATE and ERR_TYPE tell why it cannot
 * be. */
struct op index_create_op(struct index_create *x);
/* Not met: there is none. */
struct op index_drop_op(struct index_drop *x);

/* ---- finding ---- */

struct index_query {
    const struct slice *values; /* stored values, of the leading paths */
    size_t value_count;
    struct slice from, to; /* of the next path; data NULL = none; [from, to) */
};

/* The range of rows that answers it; bounds in the arena. ERR_SYNTAX names the value that no index
 * holds. */
ERR_MUST_USE enum err index_bounds(const struct index *x, const struct index_query *q,
                                   struct arena *arena, struct slice *start, struct slice *end,
                                   struct error *e);
/* The data key of a row, in the arena; *is_multi: the entry has other rows in this index. False
 * when the row is damaged. */
bool index_row_owner(const struct index *x, struct slice key, struct slice value,
                     struct arena *arena, struct slice *owner, bool *is_multi);
/* Is `row` the first (or, in reverse, the last) row of the entry within [start, end)? So that an
 * entry with several rows in a range is shown once. */
bool index_row_leads(const struct index *x, struct slice owner, struct slice value,
                     struct slice row, const struct scan_range *range);

/* ---- single indexes, without a layer ---- */

/* An index of that definition, owned by the caller. ERR_SYNTAX: a path is wrong. */
ERR_MUST_USE enum err index_new(uint16_t database, struct slice name, struct slice row,
                                struct index **out, struct error *e);
void index_free(struct index *x);

/* The rows of one entry in one index, sorted, each once. */
struct index_rows {
    struct slice *keys; /* in the arena */
    size_t count;
};

/* ERR_TYPE: the entry cannot be indexed. */
ERR_MUST_USE enum err index_rows(const struct index *x, struct slice key, struct slice value,
                                 struct arena *arena, struct index_rows *out, struct error *e);
/* The same of an index of hashes; fields[i] is that of x->fields[i]. */
void index_hash_rows(const struct index *x, struct slice key, const struct element *fields,
                     struct arena *arena, struct index_rows *out);
/* When its rows expire: with the entry (0 = never), or a field before that. */
int64_t index_hash_expiry(const struct index *x, const struct element *fields, int64_t expiry_ms);
/* INDEX_TEXT: an object of those fields, in the arena; len 0 = it has none of them. */
struct slice index_hash_texts(const struct index *x, const struct element *fields,
                              struct arena *arena);
/* The list of the rows of a spread hash (rows.h), in the arena, and what it says. False: it is
 * damaged. */
struct slice index_list(const struct index_rows *rows, int64_t expiry_ms, struct arena *arena);
bool index_list_read(const struct index *x, struct slice list, struct arena *arena,
                     struct index_rows *out, int64_t *expiry_ms);
/* Are its rows kept here? Of a text index of values they are the backend's business. */
static inline bool index_has_rows(const struct index *x)
{
    return x->definition.kind == INDEX_VALUE || definition_is_of_hashes(&x->definition);
}

/* All data keys that it may hold, in the arena. */
void index_range(const struct index *x, struct arena *arena, struct slice *start,
                 struct slice *end);
/* Does the index hold entries with this data key? */
bool index_covers(const struct index *x, struct slice key);
/* What such a row holds. */
struct slice index_row_value(const struct index *x, struct slice key, bool is_multi,
                             struct arena *arena);

#endif
