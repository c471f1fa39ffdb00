/* acl_int: what the commands about users share. */
#ifndef COMMAND_ACCESS_ACL_INT_H
#define COMMAND_ACCESS_ACL_INT_H

#include "request/command.h"

/* acl_log.c */
extern const struct command acl_log;

#endif
