/* What the judge's files share. */
#ifndef CAMPAIGN_JUDGE_INT_H
#define CAMPAIGN_JUDGE_INT_H

#include "campaign/judge.h"

#define NO_OP SIZE_MAX

struct judge_commit {
    uint64_t version;
    size_t first, count; /* rows of the feed */
    size_t op;           /* whose it is, or NO_OP */
};

struct judge {
    const struct history *h;
    FILE *out;
    struct judge_result result;
    struct history_list commits; /* struct judge_commit, by version */
    size_t *commit_of;           /* of each operation: its commit + 1, or 0; owned */
    size_t *row_start, *rows;    /* the rows of a key: rows[row_start[key]...]; owned */
};

__attribute__((format(printf, 2, 3))) void judge_problem(struct judge *j, const char *format, ...);
void *judge_room(size_t count, size_t bytes);

const struct history_row *judge_row(const struct judge *j, size_t i);
struct judge_commit *judge_commit(const struct judge *j, size_t i);
/* The commit of this version, or NULL. */
struct judge_commit *judge_find_commit(const struct judge *j, uint64_t version);
/* The last row of the key that is not after the version, or NULL. */
const struct history_row *judge_state(const struct judge *j, size_t key, uint64_t version);
/* The first one after it, or NULL. */
const struct history_row *judge_next(const struct judge *j, size_t key, uint64_t version);

/* Rules 1 and 2: whose is which commit. */
void judge_owners(struct judge *j);
/* Rules 3 and 5. */
void judge_replay(struct judge *j);
/* Rule 4. */
void judge_order(struct judge *j);
/* Rule 6. */
void judge_queue(struct judge *j);

#endif
