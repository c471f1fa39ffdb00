/* node_help: a node of three, without a network: n1 is the one that is tested, n2 is another one
 * that is up, and n3 one that is not and says little.
 */
#ifndef TESTS_UNIT_NODE_HELP_H
#define TESTS_UNIT_NODE_HELP_H

#include "access/users.h"
#include "node/node.h"

struct nodes_bench {
    struct env env;
    struct node node;
    struct buf out; /* replies; ends with a NUL that is not counted */
};

/* cmocka's setup and teardown; *state is a struct nodes_bench. The user default has no password,
 * and there is bob, with the password `secret`. */
int nodes_enter(void **state);
int nodes_leave(void **state);
void nodes_user(struct nodes_bench *t, const char *name, const char *rules);
/* n2 leads, with this epoch. */
void nodes_follow(struct nodes_bench *t, uint64_t epoch);

/* The words of a text with blanks between them, each in `words`; how many. */
size_t nodes_split(char *text, struct slice *words, size_t max);
/* What is in `out` is that; then it is empty. */
void nodes_replied(struct nodes_bench *t, const char *wanted);
/* It begins with that. */
void nodes_replied_with(struct nodes_bench *t, const char *begin);

#endif
