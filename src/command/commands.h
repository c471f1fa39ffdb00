/* commands: every `const struct command`, by file. table.c lists them. */
#ifndef COMMAND_COMMANDS_H
#define COMMAND_COMMANDS_H

#include "command/args.h"
#include "command/command.h"

/* kv_read.c */
extern const struct command kv_get, kv_mget, kv_ttl, kv_pttl;
/* kv_write.c */
extern const struct command kv_set, kv_del, kv_expire, kv_pexpire, kv_expireat, kv_pexpireat,
    kv_persist, kv_sum, kv_min, kv_max, kv_append, kv_prepend;
/* CLAMP lo hi or RANGE lo hi, if they come next; KV.ATOMIC's SUM has them too. */
ERR_MUST_USE enum err parse_arith_bounds(struct options *o, struct arith *a);
/* kv_atomic.c */
extern const struct command kv_atomic;
/* kv_range.c, kv_delrange.c */
#define LIST_LIMIT_MAX 10000
#define LIST_PAGE_BYTES_MAX (16u << 20)
extern const struct command kv_list, kv_count, kv_delrange;
/* kv_meta.c */
extern const struct command kv_format, kv_version, kv_limits;
/* What HELLO and INFO call the version of Redis that libraries may take this server for: those that
 * gate features by it find what they expect. */
#define REDIS_COMPATIBLE_VERSION "7.0.15"

/* connection.c */
ERR_MUST_USE enum err client_set_name(struct request *rq, struct slice name);
extern const struct command cmd_auth, cmd_hello, cmd_ping, cmd_echo, cmd_quit, cmd_reset,
    cmd_select;
/* client.c */
extern const struct command cmd_client;
/* introspect.c */
extern const struct command cmd_command;
/* config.c, info.c, server.c */
extern const struct command cmd_config, cmd_info, cmd_dbsize, cmd_flushdb, cmd_flushall, cmd_time,
    cmd_shutdown, cmd_debug;

#endif
