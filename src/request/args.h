/* args: reading the arguments of a command. Every error names the word that is wrong. */
#ifndef REQUEST_ARGS_H
#define REQUEST_ARGS_H

#include "request/command.h"

/* A key in JSON or MessagePack, or, for a command of the string view, as arg_string_key; *key is
 * the internal data key, good until the command has run. */
ERR_MUST_USE enum err arg_key(struct request *rq, struct slice arg, struct slice *key);
/* A key as the client's view has it (view.h). Plain: of that one string part, or, when it is not
 * UTF-8, of that one bytes part. Tuples: of its path form. */
ERR_MUST_USE enum err arg_string_key(struct request *rq, struct slice arg, struct slice *key);
/* Any form: JSON and MessagePack by their first byte, every other word as arg_string_key. */
ERR_MUST_USE enum err arg_any_key(struct request *rq, struct slice arg, struct slice *key);
/* As arg_key, but the empty key too: of PREFIX. */
ERR_MUST_USE enum err arg_prefix(struct request *rq, struct slice arg, struct slice *key);
/* A value in the format of the request; *value is its stored form, good until the command has run.
 */
ERR_MUST_USE enum err arg_value(struct request *rq, struct slice arg, struct slice *value);
/* A decimal integer within [min, max]; `what` names it in the error, which has Redis's words alone
 * when it is NULL. */
ERR_MUST_USE enum err arg_integer(struct request *rq, struct slice arg, const char *what,
                                  int64_t min, int64_t max, int64_t *out);
/* Errors about the words of the request have Redis's words alone, as programs compare those of its
 * commands. */
bool arg_is_terse(const struct request *rq);
/* A glob pattern: ERR_LIMIT when it is longer than one may be (base/glob.h). Every pattern of a
 * client goes through here. */
ERR_MUST_USE enum err arg_pattern(struct request *rq, struct slice arg);
ERR_MUST_USE enum err arg_stamp(struct request *rq, struct slice arg, struct expected *out);

/* The error for the word at `at`, which nothing takes: unknown, or given twice. */
ERR_MUST_USE enum err arg_unexpected(struct request *rq, size_t at);

/* The time that n units mean, in ms; false when it is beyond the clock (as Redis sees it). */
bool ttl_fits(struct request *rq, enum op_ttl ttl, int64_t n, int64_t unit_ms, int64_t *ms);
/* The live entry as the transaction of the request sees it; raises rq->depends. */
ERR_MUST_USE enum err request_get(struct request *rq, struct slice key, struct entry *out);

/* Likewise; it is counted as a read, a hit or a miss. */
ERR_MUST_USE enum err request_read(struct request *rq, struct slice key, struct entry *out);
/* ERR_TYPE, in Redis's words. */
enum err string_wrong_type(struct error *e);

/* Operations of one transaction, in the connection's database; raises rq->depends. */
ERR_MUST_USE enum err request_commit(struct request *rq, struct op *ops, size_t count);

/* ERR_LIMIT, before anything is done, when a command of so many keys is more than a transaction may
 * have. */
ERR_MUST_USE enum err check_ops(struct request *rq, size_t keys);

/* Before work that grows with sizes: as engine_take_steps, of the request's transaction. */
static inline enum err request_take_steps(struct request *rq, uint64_t steps)
{
    return engine_take_steps(rq->overlay, steps, &rq->error);
}

/* ---- replies ---- */

void reply_stamp(struct request *rq, uint64_t version);
/* `key` internal. */
void reply_key(struct resp_writer *w, enum format format, struct slice key);
void reply_value(struct resp_writer *w, enum format format, struct slice value);
/* [k, v, vs] */
void reply_entry(struct resp_writer *w, enum format format, struct slice key,
                 const struct entry *entry);

#endif
