/* store_text: text indexes in the store, as FTS5 tables that are written in the transaction that
 * writes the entries. Of an index (database d, id i) there are
 *
 *   text_n          fts5(c0, c1, ...): the texts; rowid is that of
 *   doc_n           (id INTEGER PRIMARY KEY, k BLOB UNIQUE): which entry it is
 *   text            one row of each: (d, i, n, spec, position, filled, is_complete,
 *                   version)
 *
 * n is its own number: those who are gone are in `dropped` (n, is_damaged) until their tables are
 * removed too (store_dropped.c).
 *
 * The texts are kept (FTS5's own content): what is to be removed is known without asking what a
 * value was, and highlighting needs no value. An entry without text has no row.
 *
 * A new index is filled from kv in slices, in key order; meanwhile every entry that is written is
 * indexed too, wherever the filling is, and the filling passes over entries that are there already.
 *
 * An index that another version of the program made of other texts (text_ops) is filled anew when
 * the store is opened: it is a new one, and the tables of the old are removed.
 *
 * Where the entries are elsewhere (nearby.c), kv has only those that an index covers, and the
 * filling reads them from there.
 *
 * Store thread, but for store_text_open, which is part of opening.
 */
#ifndef BACKEND_LOCAL_STORE_TEXT_H
#define BACKEND_LOCAL_STORE_TEXT_H

#include "backend/local/store_int.h"
#include "backend/text.h"

enum text_stmt {
    STMT_DOC_FIND,
    STMT_DOC_ADD,
    STMT_DOC_DELETE,
    STMT_TEXT_ADD,
    STMT_TEXT_DELETE,
    STMT_COUNT,
};

struct text_table {
    struct text_table *next;
    uint16_t database;
    uint32_t id;
    long long number;   /* in the names of its tables; of no other one */
    struct arena arena; /* of the definition and the spec */
    struct slice spec;
    struct text_definition definition;
    uint8_t space;       /* of the rows that it is of: data, or texts of hashes ... */
    struct slice prefix; /* ... whose keys lie below this, behind the head */
    sqlite3_stmt *stmts[STMT_COUNT];
    struct buf position; /* key of the last entry that was filled in; empty = none */
    uint64_t filled;     /* entries looked at */
    bool is_complete;
    unsigned version; /* of text_ops when it was made */
};

/* Is the entry of this internal key one of the index, or what it has of a hash? */
bool store_text_covers(const struct text_table *t, struct slice key);
/* Is the entry to be written? With a source of its own (backend/nearby.h): if an index covers it.
 * */
bool store_text_wants(const struct sqlite_store *s, struct slice key);
/* The texts of a value, column by column, to be freed by the caller; false when it has none. */
bool store_text_of(const struct sqlite_store *s, const struct text_table *t, struct slice value,
                   struct buf texts[TEXT_COLUMNS_MAX]);
/* Reads which indexes there are. */
ERR_MUST_USE enum err store_text_open(struct sqlite_store *s, struct error *e);
void store_text_close(struct sqlite_store *s);
/* The database is empty: its indexes are gone. In a transaction. */
ERR_MUST_USE enum err store_text_flush(struct sqlite_store *s, uint16_t database, struct error *e);
/* A row of BACKEND_SPACE_TEXT: `spec` NULL = removed. In a transaction. */
ERR_MUST_USE enum err store_text_define(struct sqlite_store *s, struct slice key,
                                        const struct slice *spec, struct error *e);
/* An entry of the data space is written; `value` NULL = removed. In its transaction. */
ERR_MUST_USE enum err store_text_entry(struct sqlite_store *s, struct slice key,
                                       const struct slice *value, struct error *e);
/* Is there an index that is not filled in yet? */
bool store_text_is_filling(const struct sqlite_store *s);
/* Fills in the next slice of it, in a transaction of its own. */
ERR_MUST_USE enum err store_text_fill(struct sqlite_store *s, struct error *e);
/* Internal keys: from the first that is not filled in, to the end of what the index covers. */
void store_text_bounds(const struct text_table *t, struct buf *start, struct buf *end);
/* Are the indexes known? After a rollback that could not read them again this tries once more. */
ERR_MUST_USE enum err store_text_found(struct sqlite_store *s, struct error *e);
/* Takes back the transaction under way, and what it made of the indexes. */
void store_text_rollback(struct sqlite_store *s);

#endif
