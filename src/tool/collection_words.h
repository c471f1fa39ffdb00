/* collection_words: a record of a collection (docs/export.md) as words of KV.LOAD.
 */
#ifndef TOOL_COLLECTION_WORDS_H
#define TOOL_COLLECTION_WORDS_H

#include "tool/source.h"

struct collection_words {
    struct slice *items; /* in the arena */
    size_t count, cap;
};

/* The words after COLLECTION and the key. NULL; or what is wrong with the record. */
const char *collection_words_make(const struct record *r, struct arena *a,
                                  struct collection_words *out);

#endif
