/* wrapped: see wrapped.h. KV.DO is taken off before anything else looks at the words. So
 * permissions, MULTI, scripts, keys, statistics and the slow log know the command that runs, and
 * nothing here runs it. The id is kept, and a repeat answered, by idem. */
#include "request/wrapped.h"

#include "request/idem.h"
#include "request/shapes.h"

/* What may be done again: a write that a transaction may hold. EXEC is none of these, as its
 * repeat would have to recognise all that is queued; KV.ATOMIC is the transaction with an id. */
static bool may_be_wrapped(const struct command *c)
{
    unsigned never = CMD_ADMIN | CMD_NO_MULTI | CMD_UNQUEUED | CMD_SUBSCRIBED | CMD_RUNS_QUEUE |
                     CMD_CONNECTION | CMD_PUBSUB;
    return c != &kv_do && (c->flags & never) == 0 && (c->flags & (CMD_WRITE | CMD_PUBLISHES)) != 0;
}

/* Takes KV.DO, IDEM and its id off. */
static enum err unwrap(struct request *rq)
{
    size_t first = 1;
    if (slice_is_word(rq->argv[1], "IDEM")) {
        if (rq->argc < 4) {
            return error_set(&rq->error, ERR_SYNTAX,
                             "syntax error: KV.DO IDEM needs an id and a command");
        }
        rq->idem = rq->argv[2];
        first = 3;
    }
    rq->argv += first;
    rq->argc -= first;
    return rq->idem.data == NULL ? OK : idem_check(rq);
}

enum err wrapped_find(struct request *rq, const struct command **out, const struct command **parent)
{
    rq->idem = slice_of(NULL, 0);
    *out = command_of_words(rq->argv, rq->argc, parent);
    if (*out != &kv_do || rq->argc == 1) return OK;
    enum err r = unwrap(rq);
    if (r != OK) return r;
    const struct command *inner = command_of_words(rq->argv, rq->argc, parent);
    if (inner != NULL && !may_be_wrapped(inner)) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "KV.DO runs commands that write and are allowed in a transaction, not "
                         "'%s'",
                         inner->name);
    }
    *out = inner;
    return OK;
}

/* Only KV.DO alone gets as far as a command's number of words. */
static enum err do_run(struct request *rq)
{
    return error_set(&rq->error, ERR_SYNTAX, "KV.DO needs a command");
}

ARGUMENTS_WITH(do_arguments, struct many_words, "word [word ...]",
               WITH(.shown = "command [argument ...]", .words_least = 1),
               ARG_WORDS(struct many_words, words, "word"));

const struct command kv_do = {
    .name = "kv.do",
    .flags = CMD_WRITE | CMD_IDEM | CMD_IDEM_FIRST,
    .group = "transactions",
    .since = "0.2.0",
    .summary =
        "Runs a command that writes. With IDEM, a repetition of the id has no effect and gets the "
        "first reply.",
    .arguments = &do_arguments,
    .reply = "The reply of the command.",
    .run = do_run,
};
