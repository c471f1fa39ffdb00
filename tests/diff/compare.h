/* compare: are two replies the same, as far as they must be? What is known to differ is in a table
 * of deviations, each with its reason.
 */
#ifndef TESTS_DIFF_COMPARE_H
#define TESTS_DIFF_COMPARE_H

#include "diff/peer.h"
#include "diff/sequence.h"

enum rule {
    RULE_EXACT,
    RULE_ANY_ORDER, /* of the elements */
    RULE_ANY_PAIRS, /* of pairs of elements */
    RULE_SCAN,
    RULE_SCAN_SCORES,
    /* of ZSCAN: members with scores */ /* of the elements in the second element; the cursor is 0 */
    RULE_SCORES,                        /* numbers in texts are compared as doubles */
    RULE_TIME,                          /* may differ by what a machine may take */
    RULE_ENCODING,                      /* names of a type's own encodings */
};

enum rule rule_of(const struct call *c);

enum verdict {
    REPLY_SAME,
    REPLY_KNOWN,       /* they differ as the table of deviations says */
    REPLY_ROLLED_BACK, /* likewise: ours has done nothing, Redis may have done something */
    REPLY_APART,       /* likewise: from now on the servers may have different entries */
    REPLY_DIFFERS,
};

/* To one command. Sorts the elements of both replies where they may have any order. */
enum verdict compare_replies(const struct call *c, struct reply *ours, struct reply *redis);
/* To EXEC of these calls. */
enum verdict compare_exec(const struct call *const *queued, size_t count, struct reply *ours,
                          struct reply *redis);
/* By this rule alone. */
bool replies_are_same(enum rule rule, struct reply *ours, struct reply *redis);

/* The table: how often each was met, a line each. */
void deviations_show(FILE *to);

#endif
