/* kv_int: what the commands about single keys share. */
#ifndef COMMAND_KV_KV_INT_H
#define COMMAND_KV_KV_INT_H

#include "request/args.h"
#include "request/arguments.h"

/* write.c */
/* plain_keys.c runs these too: with plain words for keys (CMD_STRING). */
extern const struct arguments del_arguments, expire_arguments, pexpire_arguments,
    expireat_arguments, pexpireat_arguments, persist_arguments;
enum err kv_del_run(struct request *rq);
enum err kv_expire_run(struct request *rq);
enum err kv_pexpire_run(struct request *rq);
enum err kv_persist_run(struct request *rq);

/* read.c */
enum err kv_ttl_run(struct request *rq);
enum err kv_pttl_run(struct request *rq);

#endif
