/* session_int: what the commands about connections share. */
#ifndef COMMAND_SESSION_SESSION_INT_H
#define COMMAND_SESSION_SESSION_INT_H

#include "request/shapes.h"

/* connection.c */
ERR_MUST_USE enum err client_set_name(struct request *rq, struct slice name);

/* A subcommand of CLIENT, which id##_run carries out. Of the file alone with `static` before it. */
#define CLIENT_FIELDS(id, word, more, text, of)                                                    \
    .name = word, .flags = CMD_CONNECTION | (more), .group = "connection", .summary = text,        \
    .arguments = &(of), .run = id##_run

#define CLIENT_SUB(id, ...) const struct command client_##id = {CLIENT_FIELDS(id, __VA_ARGS__)}
/* About the connections that the node has: any node answers it of itself, at any time. */
#define CLIENT_OWN_SUB(id, ...)                                                                    \
    const struct command client_##id = {CLIENT_FIELDS(id, __VA_ARGS__), .is_own = true}

/* client_control.c: subcommands of CLIENT */
extern const struct command client_reply, client_pause, client_unpause, client_unblock,
    client_exec_on_error, client_no_evict;
/* client_tracking.c: likewise */
extern const struct command client_tracking, client_trackinginfo, client_caching, client_getredir;

#endif
