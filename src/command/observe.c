#include "command/observe.h"

#include "base/clock.h"
#include "command/commands.h"

void observe_init(struct env *env)
{
    env->command_stats = stats_new();
    env->slowlog = slowlog_new();
    env->latency = latency_new();
    env->now_us = clock_mono_us();
}

void observe_fini(struct env *env)
{
    stats_free(env->command_stats);
    slowlog_free(env->slowlog);
    latency_free(env->latency);
    env->command_stats = NULL;
    env->slowlog = NULL;
    env->latency = NULL;
}

int64_t observe_lap(struct env *env)
{
    int64_t before_us = env->now_us;
    env->now_us = clock_mono_us();
    return env->now_us - before_us;
}

void observe_ran(struct request *rq, enum err result)
{
    int64_t took_us = observe_lap(rq->env) + rq->client->spent_us;
    rq->client->spent_us = 0;
    observe_done(rq, took_us, result);
}

void observe_done(struct request *rq, int64_t took_us, enum err result)
{
    struct env *env = rq->env;
    stats_add(env, rq->command, took_us, result != OK);
    if (result != OK) stats_error(env, result);
    if (env->slowlog_slower_than_us >= 0 && took_us >= env->slowlog_slower_than_us) {
        slowlog_add(rq, took_us);
    }
    if (env->latency_threshold_ms != 0) {
        bool is_fast = (rq->command->flags & CMD_FAST) != 0;
        latency_add(env, is_fast ? LATENCY_FAST_COMMAND : LATENCY_COMMAND, took_us);
    }
    if (env->monitors != NULL && (rq->command->flags & CMD_ADMIN) == 0) monitor_feed(rq);
}

void observe_parked(struct request *rq)
{
    rq->client->spent_us += observe_lap(rq->env);
}

void observe_turn(struct env *env, double seconds)
{
    if (env->latency_threshold_ms == 0) return;
    latency_add(env, LATENCY_LOOP_TURN, (int64_t)(seconds * 1e6));
}

/* Of AUTH every word; of HELLO the two after AUTH, whatever else is wrong with it. */
static bool word_is_secret(const struct request *rq, size_t i)
{
    if (rq->command == &cmd_auth) return i >= 1;
    if (rq->command != &cmd_hello) return false;
    return (i >= 3 && slice_is_word(rq->argv[i - 1], "AUTH")) ||
           (i >= 4 && slice_is_word(rq->argv[i - 2], "AUTH"));
}

struct slice observe_word(const struct request *rq, size_t i)
{
    return word_is_secret(rq, i) ? slice_str("(redacted)") : rq->argv[i];
}
