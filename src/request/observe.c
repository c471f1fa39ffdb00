/* observe: see observe.h. The statistics get every command; features that watch commands are called
 * only when one of them could want it, so that most commands cost three comparisons more. */
#include "request/observe.h"

#include "base/clock.h"
#include "request/command.h"
#include "request/feature.h"

void observe_init(struct env *env)
{
    env->command_stats = stats_new();
    env->now_us = clock_mono_us();
}

void observe_fini(struct env *env)
{
    stats_free(env->command_stats);
    env->command_stats = NULL;
}

int64_t observe_lap(struct env *env)
{
    int64_t before_us = env->now_us;
    env->now_us = clock_mono_us();
    return env->now_us - before_us;
}

void observe_ran(struct request *rq, enum err result)
{
    int64_t took_us = observe_lap(rq->env) + rq->client->run.spent_us;
    rq->client->run.spent_us = 0;
    observe_done(rq, took_us, result);
}

static void observe_one(struct request *rq, int64_t took_us, enum err result)
{
    struct env *env = rq->env;
    stats_add(env, rq->command, took_us, result != OK);
    if (result != OK) stats_error(env, result);
    bool is_slow = env->settings.slowlog_slower_than_us >= 0 &&
                   took_us >= env->settings.slowlog_slower_than_us;
    bool is_late = env->settings.latency_threshold_ms != 0 &&
                   took_us >= (int64_t)env->settings.latency_threshold_ms * 1000;
    if (!is_slow && !is_late && env->families.monitors == NULL) return;
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->command_done != NULL) (*f)->command_done(rq, took_us);
    }
}

void observe_done(struct request *rq, int64_t took_us, enum err result)
{
    observe_one(rq, took_us, result);
    for (const struct ran *ran = rq->ran; ran != NULL; ran = ran->next) {
        struct request inner = *rq;
        request_be(&inner, ran->command, ran->argv, ran->argc);
        inner.is_ran = ran;
        observe_one(&inner, ran->took_us, ran->result);
    }
}

/* Of one that blocks, which may wait for ever: as Redis does, MONITOR shows it at once. */
static void show_blocked(struct request *rq)
{
    struct client *c = rq->client;
    if (rq->env->families.monitors == NULL || c->run.is_shown || c->block.waiter == NULL) return;
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->command_blocks != NULL) (*f)->command_blocks(rq);
    }
    c->run.is_shown = true;
}

void observe_parked(struct request *rq)
{
    rq->client->run.spent_us += observe_lap(rq->env);
    show_blocked(rq);
}

void observe_turn(struct env *env, double seconds)
{
    int64_t took_us = (int64_t)(seconds * 1e6);
    if (env->settings.latency_threshold_ms == 0) return;
    if (took_us < (int64_t)env->settings.latency_threshold_ms * 1000) return;
    for (const struct feature *const *f = feature_table; *f != NULL; f++) {
        if ((*f)->turn_was_long != NULL) (*f)->turn_was_long(env, took_us);
    }
}

struct slice observe_word(const struct request *rq, size_t i)
{
    const struct command *c = rq->command;
    bool is_secret = c->is_secret != NULL && c->is_secret(rq->argv, rq->argc, i);
    return is_secret ? slice_str("(redacted)") : rq->argv[i];
}
