/* hash_int: what the files of the hash commands share. */
#ifndef COMMAND_HASH_HASH_INT_H
#define COMMAND_HASH_HASH_INT_H

#include "request/args.h"
#include "request/elements.h"
#include "request/keys.h"
#include "request/shapes.h"
#include "request/table.h"

#define HASH_COMMAND(...) TYPE_COMMAND("hash", __VA_ARGS__)

struct key_field {
    struct slice key, field;
};
extern const struct arguments key_field_arguments; /* "key field" */

struct key_fields {
    struct slice key;
    struct slices fields;
};
extern const struct arguments key_fields_arguments; /* "key field [field ...]" */

/* FIELDS numfields field ...: the count, and Redis's words for what is wrong with it. */
#define FIELDS_MISMATCH "The `numfields` parameter must match the number of arguments"
#define NUMFIELDS                                                                                  \
    ARG_COUNT_ALWAYS("numfields", 1, INT64_MAX, "Parameter `numFields` should be greater than 0",  \
                     FIELDS_MISMATCH)
#define FIELDS_WORDS "FIELDS numfields field [field ...]"

/* In a transaction. */
ERR_MUST_USE enum err hash_open(struct request *rq, struct view *v, struct slice key,
                                struct collection *c);
/* The time that n units mean, of the clock or from now on, in ms of the clock. ERR_SYNTAX. */
ERR_MUST_USE enum err hash_time(struct request *rq, int64_t n, int64_t unit_ms, bool is_at,
                                int64_t *ms);
/* The field of the hash at the key, in the reading command's view. */
ERR_MUST_USE enum err hash_read(struct request *rq, struct slice key, struct slice field,
                                bool *found, struct element *out);

#endif
