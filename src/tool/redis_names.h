/* redis_names: names of keys, by database, each once, oldest first. Pure.
 */
#ifndef TOOL_REDIS_NAMES_H
#define TOOL_REDIS_NAMES_H

#include "base/htab.h"

struct redis_name {
    struct slice key; /* first: the table's */
    struct redis_name *next, *prev;
    int64_t at_us; /* when it was added */
    uint8_t bytes[];
};

/* Of one database. */
struct redis_names_of {
    uint32_t database;
    struct htab table;
    struct redis_name *first, *last; /* oldest first; owned */
};

struct redis_names {
    struct redis_names_of *all; /* owned; one for each database that had any */
    size_t databases;
    size_t count; /* of all databases */
};

void redis_names_fini(struct redis_names *n);
/* at_us: now. A name that is there stays as it is. */
void redis_names_add(struct redis_names *n, uint32_t database, struct slice name, int64_t at_us);
bool redis_names_has(const struct redis_names *n, uint32_t database, struct slice name);
/* If it is there. */
void redis_names_forget(struct redis_names *n, uint32_t database, struct slice name);
/* The oldest of some database, which is `*database` if that one has any; NULL: there is none. */
const struct redis_name *redis_names_first(const struct redis_names *n, uint32_t *database);
/* When the oldest of all was added; 0 = there is none. */
int64_t redis_names_since_us(const struct redis_names *n);
/* All of `from` into `n`, as of at_us. */
void redis_names_join(struct redis_names *n, const struct redis_names *from, int64_t at_us);

#endif
