/* unknown: replies about commands and subcommands that do not exist: Redis's words, then what was
 * probably meant, or where to look.
 */
#ifndef REQUEST_UNKNOWN_H
#define REQUEST_UNKNOWN_H

#include "request/command.h"

/* argv[0] is no command. */
void reply_unknown(struct request *rq);
/* argv[1] is no subcommand of it. */
void reply_unknown_subcommand(struct request *rq, const struct command *parent);
/* Appends "; did you mean KV.GET?", "; it is a command of Redis ...", or nothing. */
void unknown_hint(struct slice name, struct buf *out);

#endif
