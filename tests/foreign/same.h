/* same: are two stored values the same, when one has been in another system's form? Written apart
 * from the converters: encodings may differ, and what that form cannot tell (the rules) does too. */
#ifndef TESTS_FOREIGN_SAME_H
#define TESTS_FOREIGN_SAME_H

#include "base/slice.h"

struct same_rules {
    bool is_v8; /* ids are others; shared scalars are copies; only JavaScript's Errors; bytes are
                       a Uint8Array */
    bool has_stack; /* Errors have their stack */
    bool has_maps;  /* a Map is no object, also when all its keys are strings */
};

/* `a` was converted to that form, and `b` is what was made of it. */
bool same_values(struct slice a, struct slice b, const struct same_rules *rules);

/* Has it, somewhere, a Map with keys that are no strings, which JavaScript may take for equal? */
bool same_has_odd_keys(struct slice value);

#endif
