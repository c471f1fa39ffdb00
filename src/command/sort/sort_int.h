/* sort_int: what the files of SORT share. */
#ifndef COMMAND_SORT_SORT_INT_H
#define COMMAND_SORT_SORT_INT_H

#include "request/args.h"
#include "request/elements.h"
#include "request/keys.h"
#include "request/table.h"

/* What BY and GET say: a key, in which * stands for the element, or a field of the hash there.
 *
 *   weight_*        before "weight_"
 *   user:*->name    before "user:", field "name"
 *   #               the element itself
 */
struct sort_pattern {
    struct slice before, after, field; /* field: data NULL = the key's own value */
    bool is_element;
    bool is_constant; /* there is no *: no key is meant */
};

struct sort_item {
    struct slice element;
    struct slice weight; /* with BY: data NULL = there is none */
    double number;       /* that it is sorted by, unless by text */
    size_t at;           /* in the order in which they came */
};

struct sort_items {
    struct sort_item *items;
    size_t count;
};

struct sort_patterns {
    struct sort_pattern *items;
    size_t count;
};

/* What the words are bound to, and what comes of it. */
struct sort {
    struct slice key, to; /* to: data NULL = nothing is stored */
    struct slice by;      /* data NULL = without */
    struct sort_patterns gets;
    struct sort_limit {
        int64_t offset, count;
        int is_given;
    } limit;
    int is_descending;
    bool is_text; /* ALPHA */
    /* The result: what is told or stored, in the arena; data NULL = nil. */
    struct slice *values;
    size_t value_count;
};

/* lookup.c */
struct sort_pattern sort_pattern_of(struct slice word);
/* What the patterns mean for each of the items, in the arena, those of an item one after another;
 * data NULL: there is no such value. ERR_WAIT; ERR_LIMIT. */
ERR_MUST_USE enum err sort_look_up(struct request *rq, struct view *v,
                                   const struct sort_patterns *patterns,
                                   const struct sort_items *of, struct slice **out);

/* order.c */
/* Sorts by number, or by text: that of `weight` with `by_weight`. ERR_SYNTAX: no number. */
ERR_MUST_USE enum err sort_order(struct request *rq, const struct sort *a, bool by_weight,
                                 const struct sort_items *of);

#endif
