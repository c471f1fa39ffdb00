/* range: PREFIX key, START key, END key: which entries KV.LIST, KV.COUNT, KV.DELRANGE and their
 * like are about.
 */
#ifndef REQUEST_RANGE_H
#define REQUEST_RANGE_H

#include "request/args.h"
#include "request/arguments.h"

struct range {
    struct slice prefix, start, end; /* internal keys; data NULL = not given */
};
extern const struct arguments range_arguments;  /* [PREFIX key] [START key] [END key] */
extern const struct arguments prefix_arguments; /* [PREFIX key] */
/* A member `hint` of arguments that have one: how a range is said. */
bool range_hint(struct request *rq, struct slice word);
/* The internal range they mean; ERR_SYNTAX when they contradict each other. */
ERR_MUST_USE enum err range_resolve(struct request *rq, const struct range *range,
                                    struct slice *start, struct slice *end);

#endif
