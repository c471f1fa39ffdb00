/* table: every command, sorted by name (a test checks it). */
#include "command/commands.h"

const struct command *const command_table[] = {
    &cmd_auth,  &cmd_client,   &cmd_command,  &cmd_config,   &cmd_dbsize, &cmd_debug,
    &cmd_echo,  &cmd_flushall, &cmd_flushdb,  &cmd_hello,    &cmd_info,   &kv_append,
    &kv_atomic, &kv_count,     &kv_del,       &kv_delrange,  &kv_expire,  &kv_expireat,
    &kv_format, &kv_get,       &kv_limits,    &kv_list,      &kv_max,     &kv_mget,
    &kv_min,    &kv_persist,   &kv_pexpire,   &kv_pexpireat, &kv_prepend, &kv_pttl,
    &kv_set,    &kv_sum,       &kv_ttl,       &kv_version,   &cmd_ping,   &cmd_quit,
    &cmd_reset, &cmd_select,   &cmd_shutdown, &cmd_time,     NULL,
};
