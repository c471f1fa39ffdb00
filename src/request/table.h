/* table: the names of all commands and features: src/command/table.c makes its tables of them. A
 * command is a `const struct command` above its function, in a file of its family; what is defined
 * and is not here cannot be called.
 */
#ifndef REQUEST_TABLE_H
#define REQUEST_TABLE_H

#include "request/command.h"
#include "request/feature.h"

#define COMMANDS(X)                                                                                \
    X(cmd_acl)                                                                                     \
    X(cmd_append)                                                                                  \
    X(cmd_asking)                                                                                  \
    X(cmd_auth)                                                                                    \
    X(cmd_bgsave)                                                                                  \
    X(cmd_bitcount)                                                                                \
    X(cmd_bitfield)                                                                                \
    X(cmd_bitfield_ro)                                                                             \
    X(cmd_bitop)                                                                                   \
    X(cmd_bitpos)                                                                                  \
    X(cmd_client)                                                                                  \
    X(cmd_cluster)                                                                                 \
    X(cmd_command)                                                                                 \
    X(cmd_config)                                                                                  \
    X(cmd_copy)                                                                                    \
    X(cmd_dbsize)                                                                                  \
    X(cmd_debug)                                                                                   \
    X(cmd_decr)                                                                                    \
    X(cmd_decrby)                                                                                  \
    X(cmd_del)                                                                                     \
    X(cmd_discard)                                                                                 \
    X(cmd_dump)                                                                                    \
    X(cmd_echo)                                                                                    \
    X(cmd_eval)                                                                                    \
    X(cmd_eval_ro)                                                                                 \
    X(cmd_evalsha)                                                                                 \
    X(cmd_evalsha_ro)                                                                              \
    X(cmd_exec)                                                                                    \
    X(cmd_exists)                                                                                  \
    X(cmd_expire)                                                                                  \
    X(cmd_expireat)                                                                                \
    X(cmd_expiretime)                                                                              \
    X(cmd_fcall)                                                                                   \
    X(cmd_fcall_ro)                                                                                \
    X(cmd_flushall)                                                                                \
    X(cmd_flushdb)                                                                                 \
    X(cmd_function)                                                                                \
    X(cmd_get)                                                                                     \
    X(cmd_getbit)                                                                                  \
    X(cmd_getdel)                                                                                  \
    X(cmd_getex)                                                                                   \
    X(cmd_getrange)                                                                                \
    X(cmd_getset)                                                                                  \
    X(cmd_hello)                                                                                   \
    X(cmd_incr)                                                                                    \
    X(cmd_incrby)                                                                                  \
    X(cmd_incrbyfloat)                                                                             \
    X(cmd_info)                                                                                    \
    X(cmd_json_arrappend)                                                                          \
    X(cmd_json_arrlen)                                                                             \
    X(cmd_json_debug)                                                                              \
    X(cmd_json_del)                                                                                \
    X(cmd_json_forget)                                                                             \
    X(cmd_json_get)                                                                                \
    X(cmd_json_mget)                                                                               \
    X(cmd_json_numincrby)                                                                          \
    X(cmd_json_objkeys)                                                                            \
    X(cmd_json_objlen)                                                                             \
    X(cmd_json_set)                                                                                \
    X(cmd_json_strlen)                                                                             \
    X(cmd_json_type)                                                                               \
    X(cmd_keys)                                                                                    \
    X(kv_ack)                                                                                      \
    X(kv_append)                                                                                   \
    X(kv_archive)                                                                                  \
    X(kv_atomic)                                                                                   \
    X(kv_changes)                                                                                  \
    X(kv_connect)                                                                                  \
    X(kv_count)                                                                                    \
    X(kv_db)                                                                                       \
    X(kv_del)                                                                                      \
    X(kv_delrange)                                                                                 \
    X(kv_dequeue)                                                                                  \
    X(kv_dlq)                                                                                      \
    X(kv_enqueue)                                                                                  \
    X(kv_exists)                                                                                   \
    X(kv_expire)                                                                                   \
    X(kv_expireat)                                                                                 \
    X(kv_extend)                                                                                   \
    X(kv_find)                                                                                     \
    X(kv_format)                                                                                   \
    X(kv_get)                                                                                      \
    X(kv_index)                                                                                    \
    X(kv_limits)                                                                                   \
    X(kv_list)                                                                                     \
    X(kv_load)                                                                                     \
    X(kv_max)                                                                                      \
    X(kv_mget)                                                                                     \
    X(kv_min)                                                                                      \
    X(kv_nack)                                                                                     \
    X(kv_persist)                                                                                  \
    X(kv_pexpire)                                                                                  \
    X(kv_pexpireat)                                                                                \
    X(kv_poll)                                                                                     \
    X(kv_prepend)                                                                                  \
    X(kv_pttl)                                                                                     \
    X(kv_queue)                                                                                    \
    X(kv_search)                                                                                   \
    X(kv_set)                                                                                      \
    X(kv_sum)                                                                                      \
    X(kv_ttl)                                                                                      \
    X(kv_verify)                                                                                   \
    X(kv_version)                                                                                  \
    X(cmd_lastsave)                                                                                \
    X(cmd_latency)                                                                                 \
    X(cmd_lcs)                                                                                     \
    X(cmd_lolwut)                                                                                  \
    X(cmd_memory)                                                                                  \
    X(cmd_mget)                                                                                    \
    X(cmd_module)                                                                                  \
    X(cmd_monitor)                                                                                 \
    X(cmd_move)                                                                                    \
    X(cmd_mset)                                                                                    \
    X(cmd_msetnx)                                                                                  \
    X(cmd_multi)                                                                                   \
    X(cmd_object)                                                                                  \
    X(cmd_persist)                                                                                 \
    X(cmd_pexpire)                                                                                 \
    X(cmd_pexpireat)                                                                               \
    X(cmd_pexpiretime)                                                                             \
    X(cmd_ping)                                                                                    \
    X(cmd_psetex)                                                                                  \
    X(cmd_psubscribe)                                                                              \
    X(cmd_pttl)                                                                                    \
    X(cmd_publish)                                                                                 \
    X(cmd_pubsub)                                                                                  \
    X(cmd_punsubscribe)                                                                            \
    X(cmd_quit)                                                                                    \
    X(cmd_randomkey)                                                                               \
    X(cmd_readonly)                                                                                \
    X(cmd_readwrite)                                                                               \
    X(cmd_rename)                                                                                  \
    X(cmd_renamenx)                                                                                \
    X(cmd_reset)                                                                                   \
    X(cmd_restore)                                                                                 \
    X(cmd_role)                                                                                    \
    X(cmd_save)                                                                                    \
    X(cmd_scan)                                                                                    \
    X(cmd_script)                                                                                  \
    X(cmd_select)                                                                                  \
    X(cmd_set)                                                                                     \
    X(cmd_setbit)                                                                                  \
    X(cmd_setex)                                                                                   \
    X(cmd_setnx)                                                                                   \
    X(cmd_setrange)                                                                                \
    X(cmd_shutdown)                                                                                \
    X(cmd_slowlog)                                                                                 \
    X(cmd_spublish)                                                                                \
    X(cmd_ssubscribe)                                                                              \
    X(cmd_strlen)                                                                                  \
    X(cmd_subscribe)                                                                               \
    X(cmd_substr)                                                                                  \
    X(cmd_sunsubscribe)                                                                            \
    X(cmd_swapdb)                                                                                  \
    X(cmd_time)                                                                                    \
    X(cmd_touch)                                                                                   \
    X(cmd_ttl)                                                                                     \
    X(cmd_type)                                                                                    \
    X(cmd_unlink)                                                                                  \
    X(cmd_unsubscribe)                                                                             \
    X(cmd_unwatch)                                                                                 \
    X(cmd_wait)                                                                                    \
    X(cmd_watch)

#define FEATURES(X)                                                                                \
    X(backup_feature)                                                                              \
    X(channels_feature)                                                                            \
    X(latency_feature)                                                                             \
    X(monitor_feature)                                                                             \
    X(notify_feature)                                                                              \
    X(push_feature)                                                                                \
    X(scan_feature)                                                                                \
    X(script_feature)                                                                              \
    X(slowlog_feature)                                                                             \
    X(tracking_feature)                                                                            \
    X(unsent_feature)                                                                              \
    X(watch_feature)

#define DECLARE_COMMAND(name) extern const struct command name;
COMMANDS(DECLARE_COMMAND)
#undef DECLARE_COMMAND

#define DECLARE_FEATURE(name) extern const struct feature name;
FEATURES(DECLARE_FEATURE)
#undef DECLARE_FEATURE

#endif
