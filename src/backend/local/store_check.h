/* store_check: looks at every table of a store that has no writer: what is in rows whose pages are
 * good, as far as the store knows what they mean. What keys and values mean is for the caller,
 * which is given each entry.
 *
 *   sqlite    SQLite's own check of its trees; the tables that there should be
 *   entries   kv: forms and versions; large: each value has one row of kv; counts; meta, places,
 *             forgotten, aside, dropped
 *   indexes   text, doc_n, text_n: against the entries, both ways; FTS5's own check
 *
 * The store is there for this alone: FTS5's check is a write, though one that changes nothing.
 */
#ifndef BACKEND_LOCAL_STORE_CHECK_H
#define BACKEND_LOCAL_STORE_CHECK_H

#include "backend/store.h"

struct store_check_line {
    bool is_damage; /* false: something could not be looked at, for damage told elsewhere */
    const char *part;
    const char *table;
    struct slice key; /* an internal key; len 0 = it is about no entry */
    const char *text;
};

struct store_check {
    struct store *store; /* borrowed */
    void (*found)(void *arg, const struct store_check_line *line);
    /* An entry that the store reads, in the order of keys; borrowed until it returns. */
    void (*entry)(void *arg, const struct store_row *row);
    void (*progress)(void *arg, uint64_t done, uint64_t total);
    void *arg;
    /* results */
    uint64_t applied;
    bool is_cut; /* not all entries could be read */
};

/* OK: it was looked at, whatever was found. */
ERR_MUST_USE enum err store_check_run(struct store_check *k, struct error *e);

#endif
