/* literal: a value that a filter compares with, as a tree that is ready for it, and sets of such
 * values.
 *
 * Equality is deep. Objects (and Errors) are equal whatever the order of their names; their names
 * are sorted here, so that a stored object of n names takes n binary searches. Arrays, Sets and
 * Maps are equal when they have equal items in the same order. Numbers, bigints and u64 are equal
 * by value, strings by their characters, Dates by their instant, bytes, RegExps, typed arrays and
 * what is kept as V8 writes it by kind and content; null is equal to undefined. NaN and the invalid
 * Date are equal to nothing. A shared value is what is in it; a reference is equal to a reference
 * with that id.
 */
#ifndef FILTER_LITERAL_INT_H
#define FILTER_LITERAL_INT_H

#include "base/arena.h"
#include "filter/stored_int.h"

struct literal {
    struct stored value;   /* its body borrowed from the bytes it was built of */
    struct literal *items; /* of containers; of objects name, value, name, .. sorted by name */
    bool has_other_keys;   /* of Maps: not all are strings */
};

/* `packed` has passed value_check and outlives the literal. False: no memory. */
bool literal_build(struct slice packed, struct arena *arena, struct literal *out);

/* NULL: the value at `at` is not equal. Else what follows it. */
const uint8_t *literal_match(const struct literal *l, const uint8_t *at, const uint8_t *end);

/* Values of which one is to be found. */
struct literal_set {
    struct literal *list; /* first those that stored_compare can order, sorted; then the others */
    size_t count;         /* without null */
    size_t sorted_count;
    bool has_null;
};

/* Takes `list`, whose nulls leave it. */
void literal_set_init(struct literal_set *set, struct literal *list, size_t count);
/* `s` is what stored_read made of the value. */
bool literal_set_has(const struct literal_set *set, const struct stored *s);

#endif
