/* commands: every `const struct command`, by file. table.c lists them. */
#ifndef COMMAND_COMMANDS_H
#define COMMAND_COMMANDS_H

#include "command/args.h"
#include "command/command.h"
#include "watch/watch.h"

/* block.c */
/* The command waits, 0 = for ever, for what rq->waiter was put into a list of, or for a later call
 * of client_block_stop: always ERR_WAIT. The deadline is that of the first call. */
ERR_MUST_USE enum err client_block(struct request *rq, int64_t timeout_ms);
/* A long command lets others run and is run again in the next turn: ERR_WAIT. `scan` (may be NULL)
 * is paused until then; its errors. */
ERR_MUST_USE enum err client_yield(struct request *rq, struct engine_scan *scan);
/* Why it is run again; BLOCK_GOES_ON also when it was never blocked. */
enum block_end client_block_end(const struct client *c);
/* CLIENT UNBLOCK; false when it is not blocked. */
bool client_block_stop(struct client *c, bool is_error);
/* The command has its reply, or the client is gone. */
void client_block_clear(struct client *c, struct env *env);
void clients_pause(struct env *env, int64_t ms, bool is_write);
void clients_unpause(struct env *env);
/* The command must wait for the end of a pause: rq->waiter was taken. A pause of all holds whatever
 * can run, from whoever, but CLIENT UNPAUSE. */
bool pause_holds(struct request *rq);
extern const struct command cmd_wait;
/* backup.c */
extern const struct command cmd_bgsave, cmd_save, cmd_lastsave;
/* watch.c: channels of the server's own among those of SUBSCRIBE and PSUBSCRIBE */
struct watch_target {
    enum watch_kind kind;
    struct slice name;  /* as watch_add wants it */
    struct entry entry; /* WATCH_KEY: as it is now */
};
/* False: an ordinary channel or pattern. */
bool watch_is_channel(struct slice name, bool is_pattern);
/* What it watches, in the selected database. ERR_WAIT: the entry is being read. */
ERR_MUST_USE enum err watch_parse(struct request *rq, struct slice name, bool is_pattern,
                                  struct watch_target *t);
void watch_subscribe(struct request *rq, struct slice name, const struct watch_target *t);
/* Appends the first message of a watched key, its current state; after all confirmations of its
 * SUBSCRIBE. */
void watch_reply_first(struct request *rq, struct slice name, const struct watch_target *t);
/* Harmless when it is none of the server's own. */
void watch_unsubscribe(struct env *env, struct client *c, struct slice name, bool is_pattern);
/* Nothing is told to it from now on. Frees at most *work of its notes and channels, which are taken
 * from it; true when none is left. */
bool watches_end(struct env *env, struct client *c, size_t *work);
/* Bytes of what is noted for it; of what it watches. */
size_t watches_note_bytes(const struct client *c);
size_t watches_channel_bytes(const struct client *c);
/* Every 10 ms or so: sends what slow subscribers have room for. */
void watches_tick(struct env *env);
/* queue.c, queue_receipt.c, queue_admin.c, queue_dead.c */
/* The reply ended before `end`: what came after was dropped. */
void unsent_cut(struct client *c, uint64_t end);
/* The client is gone: what it has not been sent is taken back. */
void unsent_end(struct env *env, struct client *c);
extern const struct command kv_enqueue, kv_dequeue, kv_ack, kv_nack, kv_extend, kv_queue, kv_dlq;
/* queue_push.c: channels kv:queue:<name> among those of SUBSCRIBE */
bool queue_is_channel(struct slice name);
ERR_MUST_USE enum err queue_check_channel(struct request *rq, struct slice name);
void queue_subscribe(struct request *rq, struct slice name);
/* Harmless when it does not listen. What it has not acknowledged is given back, uncounted. */
void queue_unsubscribe(struct client *c, struct slice name);
/* is_lost: its connection broke, what it had been sent counts an attempt. */
void queue_unsubscribe_all(struct client *c, bool is_lost);
extern const struct command queue_prefetch;
/* kv_index.c, kv_find.c, kv_search.c */
extern const struct command kv_index, kv_find, kv_search;
/* kv_poll.c, kv_changes.c */
extern const struct command kv_poll, kv_changes;
/* pubsub.c */
static inline struct client *client_of_subscriber(struct subscriber *s)
{
    return (struct client *)(void *)((char *)s - offsetof(struct client, subscriber));
}
/* Is the name of a channel short enough? */
ERR_MUST_USE enum err check_channel(struct request *rq, struct slice name);
extern const struct command cmd_subscribe, cmd_psubscribe, cmd_ssubscribe, cmd_unsubscribe,
    cmd_punsubscribe, cmd_sunsubscribe, cmd_pubsub;
/* publish.c */
struct publications *publications_new(void);
/* What is still to be sent is not. */
void publications_free(struct env *env);
/* Goes on with what is being sent to many. True when there is more. */
bool publications_turn(struct env *env);
/* For one attempt of EXEC. *counts, owned by the caller, is kept for the next one. */
struct exec_messages *exec_messages_new(struct arena *arena, struct exec_counts **counts);
void exec_counts_free(struct exec_counts *c); /* may be NULL */
/* After the commit: sends rq->messages in their order; rq->depends is what they depend on. */
void exec_messages_send(struct request *rq);
extern const struct command cmd_publish, cmd_spublish;
/* transaction.c */
bool multi_queues(const struct request *rq);
ERR_MUST_USE enum err multi_queue(struct request *rq);
void multi_abort(struct multi *m);
/* Does a queued command write, or publish? m may be NULL. */
bool multi_may_write(const struct multi *m);
size_t multi_count(const struct multi *m);
size_t multi_bytes(const struct multi *m);
size_t client_watched_count(const struct client *c);
/* As DISCARD; harmless when there is none. */
void client_end_transaction(struct client *c);
extern const struct command cmd_multi, cmd_exec, cmd_discard, cmd_watch, cmd_unwatch;
/* idem.c */
struct uuid_table *uuid_table_new(struct arena *arena);
struct placeholders request_placeholders(struct request *rq);
/* Takes IDEM and its id off the arguments into rq->idem. False: rq->error says what is wrong. */
bool idem_take(struct request *rq);
ERR_MUST_USE enum err idem_run(struct request *rq);
/* format.c */
/* Takes FORMAT and its word off the arguments, IDEM being off already: rq->format, rq->has_format.
 */
void format_take(struct request *rq);
extern const struct command kv_format;
/* The subcommand HELP of a container: a struct of its own, so that it is counted apart. */
#define COMMAND_HELP(of_group)                                                                     \
    static const struct command sub_help = {                                                       \
        .name = "help",                                                                            \
        .arity = 2,                                                                                \
        .group = of_group,                                                                         \
        .since = "0.1.0",                                                                          \
        .summary = "The subcommands.",                                                             \
        .syntax = "",                                                                              \
        .run = command_help_run,                                                                   \
    }

/* kv_read.c */
extern const struct command kv_get, kv_mget, kv_exists, kv_ttl, kv_pttl;
/* kv_write.c */
extern const struct command kv_set, kv_del, kv_expire, kv_pexpire, kv_expireat, kv_pexpireat,
    kv_persist, kv_sum, kv_min, kv_max, kv_append, kv_prepend;
/* CLAMP lo hi or RANGE lo hi, if they come next; KV.ATOMIC's SUM has them too. */
ERR_MUST_USE enum err parse_arith_bounds(struct options *o, struct arith *a);
/* The string view runs these too: with plain words for keys (CMD_STRING). */
enum err kv_del_run(struct request *rq);
enum err kv_expire_run(struct request *rq);
enum err kv_pexpire_run(struct request *rq);
enum err kv_expireat_run(struct request *rq);
enum err kv_pexpireat_run(struct request *rq);
enum err kv_persist_run(struct request *rq);
enum err kv_ttl_run(struct request *rq);
enum err kv_pttl_run(struct request *rq);
/* string.c, string_keys.c, string_scan.c: the string view */
extern const struct command cmd_get, cmd_set, cmd_setnx, cmd_setex, cmd_psetex, cmd_getset,
    cmd_getdel, cmd_mget, cmd_mset, cmd_incr, cmd_decr, cmd_incrby, cmd_decrby, cmd_append,
    cmd_strlen;
extern const struct command cmd_del, cmd_unlink, cmd_exists, cmd_type, cmd_ttl, cmd_pttl,
    cmd_expire, cmd_pexpire, cmd_expireat, cmd_pexpireat, cmd_persist;
struct scan_cursors *scan_cursors_new(void);
void scan_cursors_free(struct scan_cursors *t); /* may be NULL */
extern const struct command cmd_scan, cmd_keys, cmd_randomkey;
/* The bytes of a value that is bytes; false for any other. */
bool string_of(struct slice value, struct slice *bytes);
/* kv_atomic.c */
extern const struct command kv_atomic;
/* kv_range.c, kv_delrange.c */
#define LIST_LIMIT_MAX 10000
#define LIST_PAGE_BYTES_MAX (16u << 20)
extern const struct command kv_list, kv_count, kv_delrange;
/* kv_meta.c */
extern const struct command kv_version, kv_limits;
extern const struct command kv_verify; /* verify.c */
/* What HELLO and INFO call the version of Redis that libraries may take this server for: those that
 * gate features by it find what they expect. */
#define REDIS_COMPATIBLE_VERSION "7.0.15"

/* connection.c */
ERR_MUST_USE enum err client_set_name(struct request *rq, struct slice name);
extern const struct command cmd_auth, cmd_hello, cmd_ping, cmd_echo, cmd_quit, cmd_reset,
    cmd_select;
/* client.c */
extern const struct command cmd_client;
/* client_control.c */
extern const struct command client_reply, client_pause, client_unpause, client_unblock,
    client_no_evict;
/* introspect.c */
extern const struct command cmd_command;
/* debug.c, latency.c, memory.c, monitor.c, slowlog.c */
extern const struct command cmd_debug, cmd_latency, cmd_memory, cmd_monitor, cmd_slowlog;
/* fixed.c */
extern const struct command cmd_asking, cmd_cluster, cmd_lolwut, cmd_module, cmd_readonly,
    cmd_readwrite, cmd_role;
/* config.c, info.c, server.c */
extern const struct command cmd_config, cmd_info, cmd_dbsize, cmd_flushdb, cmd_flushall, cmd_time,
    cmd_shutdown;

#endif
