/* patterns: the keys or channels of a selector. A list of globs, each for reading, writing or
 * both; those that are literal text and a star at the end are also in a sorted table, so that a
 * hundred of them cost a key no more than one does.
 */
#ifndef ACCESS_PATTERNS_H
#define ACCESS_PATTERNS_H

#include "base/buf.h"
#include "base/slice.h"

enum access_need { ACCESS_READ = 1, ACCESS_WRITE = 2, ACCESS_BOTH = 3 };

struct access_pattern {
    uint8_t *bytes;    /* owned */
    struct slice text; /* these */
    unsigned needs;    /* enum access_need */
    bool is_prefix;    /* literal text, then one star */
};

/* For one need. */
struct access_prefixes {
    struct slice *items; /* sorted; none is a beginning of another; texts of the patterns */
    size_t count;
};

struct patterns {
    bool allows_all;
    struct access_pattern *items; /* owned, in the order given */
    size_t count, cap;
    uint32_t *places; /* owned, 2 * cap of them: place in items + 1, by hash; 0 = free */
    struct access_prefixes prefixes[ACCESS_BOTH + 1]; /* by need */
};

void patterns_init(struct patterns *p);
void patterns_fini(struct patterns *p);
void patterns_copy(struct patterns *to, const struct patterns *from);
/* Forgets all of them, and that all are allowed. */
void patterns_reset(struct patterns *p);
/* One that is there already gets the needs beside its own. */
void patterns_add(struct patterns *p, struct slice text, unsigned needs);

/* After the last change, before anything is asked. */
void patterns_ready(struct patterns *p);

/* Does one pattern allow the name with all of `needs`? */
bool patterns_match(const struct patterns *p, struct slice name, unsigned needs);
/* Does one pattern allow, by its form, every name that begins with `text`: literal text, which is a
 * beginning of it, and a star? */
bool patterns_cover(const struct patterns *p, struct slice text, unsigned needs);
/* Is the text one of the patterns, as it stands? */
bool patterns_have(const struct patterns *p, struct slice text, unsigned needs);

#endif
