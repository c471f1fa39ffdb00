/* collection: the hash, list, set, sorted set or stream at a key, as a command of a transaction
 * reads and changes it. Small ones are whole in the entry of the key ("packed"), larger ones have a
 * row for each element ("spread"); which of the two it is, is known here and in the files beside,
 * not to commands.
 *
 *   collection_open --- find, put, remove, walks (walk.h), lists (list.h) --- collection_save
 *
 *   absent --first element--> packed --too many, too long--> spread
 *      ^                        |                               |
 *      +------- last element removed, or the key overwritten ---+
 *
 * Invariants:
 *   1. a collection that is there has an element, but for streams; saving one that has none
 *      deletes the key
 *   2. head.count is the number of elements: of items when packed, of rows when spread
 *   3. every transaction that changes an element writes the head, so that its version is that of
 *      the last change: for WATCH, checks, watches, tracking and the change feed
 *   4. a spread collection has its rows under one incarnation, which no other head in any database
 *      has, and one owner row; when the key holds it no longer, both are forgotten (layer.c)
 *   5. spread never becomes packed again: an absent key does
 */
#ifndef COLLECTION_COLLECTION_H
#define COLLECTION_COLLECTION_H

#include "codec/collection.h"
#include "collection/rows.h"
#include "engine/engine.h"

/* A collection with more elements, or with more bytes than pack_bytes, is spread. */
#define PACK_ELEMENTS_MAX 64
#define PACK_BYTES_DEFAULT 1024
#define COUNTED_BYTES_DEFAULT (64u << 20)
/* Elements that one command may read or write in its turn of the loop. */
#define COLLECTION_ROWS_MAX 100000
#define LIST_STEP (1ULL << 20) /* between the positions of a list that has no holes */

struct collections;

struct collections_options {
    struct engine *engine;
    size_t pack_bytes;    /* of the elements of a packed one; 0 = none is packed */
    size_t counted_bytes; /* memory of counted indexes (index.h) */
    bool is_following;    /* commits are another node's: no indexes */
};

/* The layer: forgets the rows of collections whose key is overwritten or deleted by whatever
 * command. */
struct collections *collections_new(const struct collections_options *o);
void collections_free(struct collections *x);
/* What may change: pack_bytes and counted_bytes of these. */
void collections_set_options(struct collections *x, const struct collections_options *o);
/* At the end of a turn; true when there is more to do at once. */
bool collections_turn(struct collections *x);
/* Spread collections there are, and bytes of memory that knowing their keys takes: for INFO. */
size_t collections_spread(const struct collections *x, size_t *memory);

/* Bytes of the counted indexes, and how many there are: for INFO. */
size_t collections_counted(const struct collections *x, size_t *count);

struct collection {
    struct collections *all;
    struct view *view;
    struct slice key;  /* internal, of the data space; borrowed */
    bool exists;       /* it was there when it was opened; one that is not has no element */
    bool is_changed;   /* to be saved */
    bool has_expired;  /* packed: fields that have expired were left out */
    int64_t expiry_ms; /* of the key; 0 = never */
    struct collection_head head;
    struct element *items; /* packed: head.count of them, in the arena; of a sorted set in its
                            * order, of others in that in which they came */
    size_t items_cap;
    size_t packed_bytes; /* of items, at most */
};

/* The collection at the key, which there need not be. ERR_TYPE in Redis's words when something else
 * is there. What it holds is borrowed until the end of the turn; `view` must stay as long. */
ERR_MUST_USE enum err collection_open(struct collections *all, struct view *v, struct slice key,
                                      enum collection_kind kind, struct collection *out,
                                      struct error *e);
/* As it is shown: of any kind; *is_one false: something else is there, or nothing. */
ERR_MUST_USE enum err collection_look(struct collections *all, struct view *v, struct slice key,
                                      struct collection *out, bool *is_one, struct error *e);
/* Elements that are alive. `work_left` as struct walk_range has it. */
ERR_MUST_USE enum err collection_length(struct collection *c, size_t *work_left, uint64_t *out,
                                        struct error *e);
/* The rows of fields that have expired and are not swept, of which head.count has to be lessened
 * then; NULL = there are none. `is_divided` as struct walk_range has it. */
ERR_MUST_USE enum err collection_ended(struct collection *c, bool is_divided, size_t *work_left,
                                       struct engine_scan **out, struct error *e);

/* Of hashes, sets and sorted sets. */
ERR_MUST_USE enum err collection_find(struct collection *c, struct slice name, bool *found,
                                      struct element *out, struct error *e);
/* Adds or replaces the element of that name; *old (may be NULL) is what was there. Its slices must
 * live as long as the arena of the view. */
ERR_MUST_USE enum err collection_put(struct collection *c, const struct element *x, bool *was_there,
                                     struct element *old, struct error *e);
ERR_MUST_USE enum err collection_remove(struct collection *c, struct slice name, bool *was_there,
                                        struct element *old, struct error *e);

/* The changes become part of the transaction. */
ERR_MUST_USE enum err collection_save(struct collection *c, struct error *e);
/* Nothing is left of it: a command that replaces it begins with this. It keeps its kind and loses
 * its expiry. */
void collection_clear(struct collection *c);
/* One that takes the place of what the key holds, whatever that is (*STORE), when it is saved with
 * collection_replace. One without elements deletes the key. */
ERR_MUST_USE enum err collection_replace(struct collection *c, struct error *e);
void collection_begin(struct collections *all, struct view *v, struct slice key,
                      enum collection_kind kind, struct collection *out);
/* What was begun becomes what an entry with a head says, which the key held or holds: its rows are
 * still there in the transaction that lets go of them. */
ERR_MUST_USE enum err collection_read(struct collection *c, const struct entry *entry,
                                      struct error *e);

/* Of the files of this folder. */
struct element_rows collection_rows(const struct collection *c);
/* It was spread by this transaction: what the transaction has not written of its rows is not
 * there. They must not be read: another attempt has another incarnation. */
bool collection_is_new(const struct collection *c);
/* The row, expired or not, as the transaction has it. */
ERR_MUST_USE enum err collection_row(struct collection *c, struct slice key, struct entry *out,
                                     struct error *e);
ERR_MUST_USE enum err collection_damaged(const struct collection *c, struct error *e);
/* ERR_LIMIT: it is too large for an element. */
ERR_MUST_USE enum err collection_fits(const struct collection *c, struct slice bytes,
                                      struct error *e);
/* Counts the row among those that the transaction writes. ERR_LIMIT. */
ERR_MUST_USE enum err collection_writes(struct collection *c, struct error *e);
/* Room for one more item at `at`, which is to be filled in. */
struct element *collection_insert(struct collection *c, size_t at);
void collection_take_out(struct collection *c, size_t at);
/* Spread from now on when it has grown too large to be packed. */
ERR_MUST_USE enum err collection_grown(struct collection *c, struct error *e);
/* Spread, with an incarnation of its own and no element. */
void collection_become_spread(struct collection *c);
/* Of a hash: removes what has expired, some of it when it is much. For the sweeper. */
ERR_MUST_USE enum err collection_fields_due(struct collections *all, struct view *v,
                                            struct slice key, struct due_parts *parts,
                                            struct error *e);
/* A spread hash came to the key with fields that expire. */
void collection_fields_came(struct view *v, struct slice key);

#endif
