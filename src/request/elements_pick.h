/* elements_pick: HRANDFIELD, SRANDMEMBER, ZRANDMEMBER: random elements of a collection. */
#ifndef REQUEST_ELEMENTS_PICK_H
#define REQUEST_ELEMENTS_PICK_H

#include "request/elements.h"

struct elements_pick {
    struct slice key;
    struct elements_pick_words {
        int64_t count; /* below 0: so many, which may repeat */
        bool has_more; /* WITHVALUES, WITHSCORES */
        bool is_given; /* else one is replied by itself */
    } words;
};

/* "key [count [more]]", where `more` is a token: WITHVALUES, ... */
#define ELEMENTS_PICK_ARGUMENTS(id, more)                                                          \
    ARGUMENTS(id##_words, struct elements_pick_words, "count [" more "]",                          \
              ARG_INTEGER_OR(struct elements_pick_words, count, "count", INT64_MIN, INT64_MAX, 1,  \
                             ARG_NOT_INTEGER),                                                     \
              ARG_FLAG(struct elements_pick_words, has_more, more),                                \
              ARG_FIXED(struct elements_pick_words, is_given, 1));                                 \
    ARGUMENTS(id##_arguments, struct elements_pick, "key [words]",                                 \
              ARG_KEY(struct elements_pick, key, "key", 0),                                        \
              ARG_INSIDE(struct elements_pick, words, "words", id##_words))

/* A command whole: `reply` writes an array of what was picked. */
ERR_MUST_USE enum err elements_pick_run(
    struct request *rq, enum collection_kind kind, const struct elements_pick *a,
    void (*reply)(struct resp_writer *w, const struct element *items, size_t count, bool has_more));

#endif
