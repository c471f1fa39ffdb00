/* long_end: a long script has ended (long.h): whether it would do the same within this turn; its
 * commit, and its reply. */
#include "command/script/long_int.h"
#include "command/script/rerun.h"
#include "request/exclusive.h"
#include "request/publication.h"

/* Its commands once more, over again->overlay. *holds: the script would do the same now. */
static enum err run_again(struct request *rq, struct long_run *run, struct calling *again,
                          bool *holds)
{
    struct overlay *o = script_overlay(rq, rq->arena);
    engine_tell_time_of(o, run->overlay);
    calling_init(again, rq, rq->arena, o);
    again->is_readonly = run->program.is_readonly;
    again->uuids = run->calling.uuids;
    again->messages = exec_messages_new(rq->arena, &run->counts);
    struct again_run had = {.first = run->calling.first,
                            .stand_in = run->stand_in,
                            .began_us = long_began_us(run),
                            .reply = &run->reply};
    enum err r = again_run(again, &had, holds);
    if (r != OK) rq->error = again->error;
    depends_raise(&rq->depends, again->depends);
    return r;
}

static enum err commit(struct request *rq, struct long_run *run, struct calling *again)
{
    uint64_t stamp = engine_version_next(rq->env->db->engine);
    uint64_t version = 0;
    enum err r = engine_end(again->overlay, &version, rq->waiter, &rq->error);
    depends_raise(&rq->depends, version);
    if (r != OK) return r;
    rq->messages = again->messages;
    exec_messages_send(rq);
    rq->messages = NULL;
    calling_tell(again, true);
    size_t mark = rq->w->out->len;
    buf_append(rq->w->out, run->out.data, run->out.len);
    if (!rq->w->out->is_failed) {
        again_restamp(rq->w->out->data + mark, run->out.len, run->stand_in, stamp);
    }
    return OK;
}

/* It failed: nothing of it happens. */
static enum err failed(struct request *rq, struct long_run *run, struct calling *again)
{
    engine_discard(again->overlay);
    if (run->end == SANDBOX_MEMORY) {
        return error_set(&rq->error, ERR_LIMIT, "the script exceeds script-memory-limit (%zu)",
                         run->memory_max);
    }
    calling_tell(again, false);
    if (run->end == SANDBOX_FAILED) return script_failed(rq, buf_slice(&run->line));
    return script_failed(rq, script_error_text(buf_slice(&run->out)));
}

static enum err refused(struct request *rq, struct long_run *run)
{
    switch (long_stop_of(run)) {
    case LONG_KILLED:
        return error_set(&rq->error, ERR_SYNTAX, "Script killed by user with %s KILL. script: %s",
                         run->program.function.data != NULL ? "FUNCTION" : "SCRIPT",
                         run->program.name);
    case LONG_TOO_LONG:
        return error_set(&rq->error, ERR_LIMIT,
                         "the script exceeded script-time-limit (%lld ms) and was rolled back",
                         (long long)(run->max_us / 1000));
    case LONG_REFUSED:
    case LONG_GOES_ON: break;
    }
    rq->error = run->error;
    return run->error.code;
}

/* An error is the script's only when all that it read was of one moment, as its commit is. */
enum err long_end(struct request *rq, struct long_run *run, bool *is_stale)
{
    struct calling again;
    bool holds = false;
    depends_raise(&rq->depends, run->calling.depends);
    if (run->end == SANDBOX_STOPPED) return refused(rq, run);
    if (!run->program.is_readonly && exclusive_holds(rq)) return ERR_WAIT;
    enum err r = run_again(rq, run, &again, &holds);
    if (r != OK || !holds) {
        engine_discard(again.overlay);
        *is_stale = r == OK;
        return r;
    }
    if (run->end != SANDBOX_DONE || run->is_error) return failed(rq, run, &again);
    return commit(rq, run, &again);
}
