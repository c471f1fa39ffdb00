/* acl_int: what the commands about users share. */
#ifndef COMMAND_ACCESS_ACL_INT_H
#define COMMAND_ACCESS_ACL_INT_H

#include "request/command.h"

/* acl_log.c */
extern const struct command acl_log;

/* acl_change.c: `change` does to `all` what the words say; *count: how many it was done to.
 * With the users there are; as a command's run, ERR_WAIT too. */
struct users;
ERR_MUST_USE enum err acl_change(struct request *rq,
                                 enum err (*change)(struct request *rq, struct users *all,
                                                    int64_t *count),
                                 int64_t *count);

#endif
