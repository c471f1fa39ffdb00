/* table: every command, sorted by name (a test checks it). */
#include "command/commands.h"

const struct command *const command_table[] = {
    &cmd_append,     &cmd_asking,    &cmd_auth,      &cmd_bgsave,       &cmd_client,
    &cmd_cluster,    &cmd_command,   &cmd_config,    &cmd_dbsize,       &cmd_debug,
    &cmd_decr,       &cmd_decrby,    &cmd_del,       &cmd_discard,      &cmd_echo,
    &cmd_exec,       &cmd_exists,    &cmd_expire,    &cmd_expireat,     &cmd_flushall,
    &cmd_flushdb,    &cmd_get,       &cmd_getdel,    &cmd_getset,       &cmd_hello,
    &cmd_incr,       &cmd_incrby,    &cmd_info,      &cmd_keys,         &kv_ack,
    &kv_append,      &kv_atomic,     &kv_changes,    &kv_count,         &kv_del,
    &kv_delrange,    &kv_dequeue,    &kv_dlq,        &kv_enqueue,       &kv_exists,
    &kv_expire,      &kv_expireat,   &kv_extend,     &kv_find,          &kv_format,
    &kv_get,         &kv_index,      &kv_limits,     &kv_list,          &kv_max,
    &kv_mget,        &kv_min,        &kv_nack,       &kv_persist,       &kv_pexpire,
    &kv_pexpireat,   &kv_poll,       &kv_prepend,    &kv_pttl,          &kv_queue,
    &kv_search,      &kv_set,        &kv_sum,        &kv_ttl,           &kv_verify,
    &kv_version,     &cmd_lastsave,  &cmd_latency,   &cmd_lolwut,       &cmd_memory,
    &cmd_mget,       &cmd_module,    &cmd_monitor,   &cmd_mset,         &cmd_multi,
    &cmd_persist,    &cmd_pexpire,   &cmd_pexpireat, &cmd_ping,         &cmd_psetex,
    &cmd_psubscribe, &cmd_pttl,      &cmd_publish,   &cmd_pubsub,       &cmd_punsubscribe,
    &cmd_quit,       &cmd_randomkey, &cmd_readonly,  &cmd_readwrite,    &cmd_reset,
    &cmd_role,       &cmd_save,      &cmd_scan,      &cmd_select,       &cmd_set,
    &cmd_setex,      &cmd_setnx,     &cmd_shutdown,  &cmd_slowlog,      &cmd_spublish,
    &cmd_ssubscribe, &cmd_strlen,    &cmd_subscribe, &cmd_sunsubscribe, &cmd_time,
    &cmd_ttl,        &cmd_type,      &cmd_unlink,    &cmd_unsubscribe,  &cmd_unwatch,
    &cmd_wait,       &cmd_watch,     NULL,
};
