/* where: WHERE of a command: a compiled filter, as scans take it. */
#ifndef REQUEST_WHERE_H
#define REQUEST_WHERE_H

#include "request/command.h"

/* The filter of the JSON text, with transaction time for $now. The caller has one reference; scans
 * take their own. */
ERR_MUST_USE enum err arg_where(struct request *rq, struct slice json, struct row_filter **out);
/* Does the entry match, as things are now? */
ERR_MUST_USE enum err where_now(struct request *rq, const struct row_filter *f, struct slice key,
                                struct slice value, bool *matches);
/* What arg_where compiled, borrowed. */
const struct filter *where_filter(const struct row_filter *f);
void where_unref(struct row_filter *f); /* may be NULL */

#endif
