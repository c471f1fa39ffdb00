/* turn: what each turn of the loop costs in processor time, which is how long all others had to
 * wait for it at least. INFO shows the longest (loop_turn_max_usec). With a bound, which tests set,
 * a turn that is over it is logged together with its most costly command.
 *
 * Processor time and not time of day: a crowded machine does not make a turn long. Asking for it is
 * a system call, so turns that were short by the time of day are not looked at one by one.
 */
#include "base/clock.h"
#include "base/log.h"
#include "request/multi.h"
#include "request/observe.h"

#define SMALL_PERCENT 40 /* of the bound, for turns of small work */
#define LOOK_US 200      /* of the time of day: such a turn is looked at */
#define PASSED_US 500    /* of turns that were not, all together: those with the next are */

void turn_begin(struct env *env)
{
    env->turn.begin_us = clock_thread_us();
}

void turn_command(struct env *env, const struct request *rq)
{
    struct turn *t = &env->turn;
    if (t->bound_us == 0) return;
    int64_t now_us = clock_thread_us();
    if (rq == NULL) {
        t->command_us = now_us;
        return;
    }
    t->commands++;
    for (size_t i = 0; i < rq->argc; i++) t->bytes += rq->argv[i].len;
    if (now_us - t->command_us < t->longest_us) return;
    t->longest_us = now_us - t->command_us;
    t->longest = rq->command;
    t->longest_parent = rq->client->run.last_parent;
}

void turn_exec(struct env *env, const struct multi *m)
{
    env->turn.queued += multi_count(m);
    env->turn.bytes += multi_bytes(m);
}

/* A turn has room for work at the limits of a transaction; where no command needs so much, less. */
static int64_t bound_us(const struct env *env, size_t bytes)
{
    const struct turn *t = &env->turn;
    bool is_large = engine_take_large(env->db->engine) || t->queued > ENGINE_SMALL_OPS ||
                    bytes + t->bytes > ENGINE_SMALL_BYTES;
    return is_large ? t->bound_us : t->bound_us * SMALL_PERCENT / 100;
}

/* The processor time of the turn; -1: it was a short one. */
static int64_t took(struct turn *t, int64_t lasted_us)
{
    t->passed_us += lasted_us;
    if (t->bound_us == 0 && lasted_us < LOOK_US && t->passed_us < PASSED_US) return -1;
    int64_t now_us = clock_thread_us();
    int64_t took_us = now_us - t->begin_us;
    t->begin_us = now_us;
    t->passed_us = 0;
    return took_us < lasted_us ? took_us : lasted_us;
}

void turn_end(struct env *env, size_t bytes, double seconds)
{
    struct turn *t = &env->turn;
    int64_t took_us = took(t, (int64_t)(seconds * 1e6));
    if (took_us > env->stats.turn_max_us) env->stats.turn_max_us = took_us;
    if (t->bound_us == 0) return;
    int64_t max_us = bound_us(env, bytes);
    if (took_us > max_us) {
        const struct command *c = t->longest;
        const struct command *parent = c != NULL ? t->longest_parent : NULL;
        log_warning("a turn of the event loop took %lld ms of processor time, more than %lld: %u "
                    "commands, the longest %s%s%s with %lld ms",
                    (long long)took_us / 1000, (long long)max_us / 1000, t->commands,
                    parent != NULL ? parent->name : "", parent != NULL ? "|" : "",
                    c != NULL ? c->name : "none", (long long)t->longest_us / 1000);
    }
    t->commands = 0;
    t->bytes = t->queued = 0;
    t->longest_us = 0;
    t->longest = NULL;
}
