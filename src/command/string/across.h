/* across: one transaction in several databases: of COPY, MOVE and SWAPDB. */
#ifndef COMMAND_STRING_ACROSS_H
#define COMMAND_STRING_ACROSS_H

#include "request/args.h"

/* By number or, as SELECT, by name. ERR_SYNTAX, in Redis's words; ERR_WAIT. */
ERR_MUST_USE enum err other_database(struct request *rq, struct slice word, uint16_t *out);
/* The same tuple in another database, in the arena. */
struct slice key_in(struct request *rq, struct slice key, uint16_t database);
/* Sets `key` to what the entry is, which is at `from`, with its expiry: a collection is copied. */
struct op copy_of(struct request *rq, const struct entry *entry, struct slice from,
                  struct slice key);

struct database_ops {
    uint16_t database;
    struct op *ops; /* their keys are of that database */
    size_t count;
};

/* All of them, or an error and none; within EXEC and scripts, as a part of their transaction. */
ERR_MUST_USE enum err commit_across(struct request *rq, struct database_ops *all, size_t databases);

#endif
