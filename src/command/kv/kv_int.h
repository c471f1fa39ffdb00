/* kv_int: what the commands about single keys share. */
#ifndef COMMAND_KV_KV_INT_H
#define COMMAND_KV_KV_INT_H

#include "request/args.h"

/* write.c */
/* CLAMP lo hi or RANGE lo hi, if they come next; KV.ATOMIC's SUM has them too. */
ERR_MUST_USE enum err parse_arith_bounds(struct options *o, struct arith *a);
/* plain_keys.c runs these too: with plain words for keys (CMD_STRING). */
enum err kv_del_run(struct request *rq);
enum err kv_expire_run(struct request *rq);
enum err kv_pexpire_run(struct request *rq);
enum err kv_expireat_run(struct request *rq);
enum err kv_pexpireat_run(struct request *rq);
enum err kv_persist_run(struct request *rq);

/* read.c */
enum err kv_ttl_run(struct request *rq);
enum err kv_pttl_run(struct request *rq);

#endif
