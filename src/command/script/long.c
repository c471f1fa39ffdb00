/* long: see long.h. The thread hands words over by moving to CALLING and waits on a condition; the
 * loop answers by moving back. Each looks for the other for a moment before it sleeps (spin_while).
 * To end a script the loop sets `stop`, which only the first reason does, and wakes the thread. An
 * abandoned run belongs to its job, which frees it in job_done, on the loop thread. */
#include "command/script/long_int.h"

#include "base/clock.h"
#include "base/give_way.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/resources.h"
#include "command/script/library.h"
#include "command/script/rerun.h"
#include "request/exclusive.h"
#include "request/publication.h"

#define THREADS 4
#define NICE 5 /* the loop comes first */
#define TRIES 3
#define ARENA_BYTES (16u << 10)
/* In one turn it runs commands for so long; then others come. */
#define SERVE_US 300
/* How long one side looks for the other before it sleeps, with some pauses between two looks; after
 * it was in vain, so many commands sleep at once. */
#define SPIN_US 20
#define SPIN_PAUSES 8
#define SPINS_LEFT_OUT 16

static const struct machine long_machine = {
    .name = "script",
    .states = {"queued", "running", "calling", "ended", "abandoned"},
    .allowed =
        {
            [LONG_QUEUED] = TO(LONG_RUNNING) | TO(LONG_ABANDONED),
            [LONG_RUNNING] = TO(LONG_CALLING) | TO(LONG_ENDED) | TO(LONG_ABANDONED),
            [LONG_CALLING] = TO(LONG_RUNNING) | TO(LONG_ABANDONED),
            [LONG_ENDED] = TO(LONG_QUEUED),
            [LONG_ABANDONED] = 0,
        },
};

static struct long_run *run_of(struct job *job)
{
    return (struct long_run *)(void *)((char *)job - offsetof(struct long_run, job));
}

static enum long_state state_of(struct long_run *run)
{
    pthread_mutex_lock(&run->lock);
    enum long_state state = run->state;
    pthread_mutex_unlock(&run->lock);
    return state;
}

static void stop_run(struct long_run *run, enum long_stop why)
{
    int goes_on = LONG_GOES_ON;
    (void)__atomic_compare_exchange_n(&run->stop, &goes_on, (int)why, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
}

static inline void spin_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* One side waits for the other to end `state`, at first without sleeping: most commands, and most
 * of what scripts do between two, take less time than a wake-up. *in_vain is the side's own. */
static void spin_while(struct long_run *run, enum long_state state, unsigned *in_vain)
{
    if (run->scripts->processors < 2) return;
    if (*in_vain > 0) {
        --*in_vain;
        return;
    }
    int64_t end_us = clock_mono_us() + SPIN_US;
    while (state_of(run) == state && long_stop_of(run) == LONG_GOES_ON) {
        for (unsigned i = 0; i < SPIN_PAUSES; i++) spin_pause();
        if (clock_mono_us() < end_us) continue;
        *in_vain = SPINS_LEFT_OUT;
        return;
    }
}

/* ---- on the thread ---- */

static bool on_goes_on(void *arg, size_t bytes)
{
    struct long_run *run = arg;
    int64_t now_us = clock_mono_us();
    (void)bytes;
    __atomic_store_n(&run->bytes, sandbox_bytes(run->sandbox), __ATOMIC_RELAXED);
    give_way();
    if (now_us - long_began_us(run) > run->max_us) stop_run(run, LONG_TOO_LONG);
    return long_stop_of(run) == LONG_GOES_ON;
}

/* Hands the words to the loop and waits for what it says. */
static bool ask_loop(struct long_run *run, enum long_ask ask, struct slice *argv, size_t argc)
{
    run->ask = ask;
    run->argv = argv;
    run->argc = argc;
    pthread_mutex_lock(&run->lock);
    if (run->state == LONG_RUNNING) {
        MACHINE_MOVE(&long_machine, run, state, LONG_CALLING);
        run->wake(run->wake_arg);
    }
    pthread_mutex_unlock(&run->lock);
    spin_while(run, LONG_CALLING, &run->thread_in_vain);
    pthread_mutex_lock(&run->lock);
    while (run->state == LONG_CALLING && long_stop_of(run) == LONG_GOES_ON) {
        pthread_cond_wait(&run->answered, &run->lock);
    }
    if (run->state == LONG_CALLING) MACHINE_MOVE(&long_machine, run, state, LONG_RUNNING);
    pthread_mutex_unlock(&run->lock);
    return long_stop_of(run) == LONG_GOES_ON;
}

static bool on_call(void *arg, struct slice *argv, size_t argc, int proto, struct slice *reply)
{
    struct long_run *run = arg;
    run->argv_proto = proto;
    bool goes_on = ask_loop(run, ASK_CALL, argv, argc);
    *reply = buf_slice(&run->reply);
    return goes_on;
}

static bool on_may(void *arg, struct slice *argv, size_t argc, bool *is_known)
{
    struct long_run *run = arg;
    bool goes_on = ask_loop(run, ASK_MAY, argv, argc);
    *is_known = goes_on && run->is_known;
    return goes_on && run->may;
}

static void on_log(void *arg, int level, struct slice text)
{
    const struct long_run *run = arg;
    script_log(run->scripts, level, text);
}

static const struct sandbox_ops long_ops = {
    .call = on_call, .may = on_may, .log = on_log, .goes_on = on_goes_on};

static enum err compile(struct long_run *run)
{
    const struct program *p = &run->program;
    enum err r = OK;
    if (run->is_compiled) return OK;
    if (p->script != NULL || p->function.data == NULL) {
        r = sandbox_compile(run->sandbox, p->code, &long_ops, run, &run->ref, &run->error);
    } else {
        r = library_function(run->sandbox, p, &run->ref, &run->error);
    }
    run->is_compiled = r == OK;
    return r;
}

static void run_job(struct job *job)
{
    struct long_run *run = run_of(job);
    struct sandbox_call call = {.name = run->program.name,
                                .is_function = run->program.function.data != NULL,
                                .keys = run->program.keys,
                                .key_count = run->program.key_count,
                                .args = run->program.args,
                                .arg_count = run->program.arg_count,
                                .ops = &long_ops,
                                .arg = run,
                                .proto = run->proto};
    pthread_mutex_lock(&run->lock);
    bool is_wanted = run->state == LONG_QUEUED;
    if (is_wanted) MACHINE_MOVE(&long_machine, run, state, LONG_RUNNING);
    pthread_mutex_unlock(&run->lock);
    if (!is_wanted) return;
    __atomic_store_n(&run->began_us, clock_mono_us(), __ATOMIC_RELAXED);
    if (compile(run) != OK) {
        stop_run(run, LONG_REFUSED);
        run->end = SANDBOX_STOPPED;
        return;
    }
    call.ref = run->ref;
    run->end = sandbox_run(run->sandbox, &call, &run->out, &run->is_error, &run->line);
}

/* ---- beginning, ending ---- */

static void run_free(struct long_run *run)
{
    struct scripts *x = run->scripts;
    if (x->runs == run) x->runs = run->next != run ? run->next : NULL;
    RING_UNLINK(run, next, prev);
    if (run->overlay != NULL) engine_discard(run->overlay);
    sandbox_free(run->sandbox);
    exec_counts_free(run->counts);
    buf_fini(&run->reply);
    buf_fini(&run->out);
    buf_fini(&run->line);
    arena_fini(&run->arena);
    arena_fini(&run->words);
    pthread_cond_destroy(&run->answered);
    pthread_mutex_destroy(&run->lock);
    mem_free(run);
}

/* The thread has left it. */
static void job_done(struct job *job)
{
    struct long_run *run = run_of(job);
    if (run->state == LONG_ABANDONED) {
        run_free(run);
        return;
    }
    MACHINE_MOVE(&long_machine, run, state, LONG_ENDED);
    waiter_wake_all(&run->waiting);
}

static struct slice *copy_words(struct arena *a, const struct slice *words, size_t count)
{
    struct slice *copy = arena_alloc(a, (count + 1) * sizeof *copy);
    for (size_t i = 0; i < count; i++) copy[i] = arena_copy(a, words[i]);
    return copy;
}

static void copy_program(struct long_run *run, const struct program *p)
{
    struct arena *a = &run->words;
    char *name = arena_alloc(a, strlen(p->name) + 1);
    memcpy(name, p->name, strlen(p->name) + 1);
    run->program = *p;
    run->program.name = name;
    run->program.code = arena_copy(a, p->code);
    if (p->function.data != NULL) run->program.function = arena_copy(a, p->function);
    run->program.keys = copy_words(a, p->keys, p->key_count);
    run->program.args = copy_words(a, p->args, p->arg_count);
    run->program.script = NULL;
}

static struct worker *threads(struct env *env)
{
    struct scripts *x = env->families.scripts;
    if (x->worker != NULL || env->server.wake == NULL) return x->worker;
    struct worker_options options = {.name = "script",
                                     .threads = THREADS,
                                     .nice = NICE,
                                     .wake = env->server.wake,
                                     .arg = env->server.wake_arg};
    x->worker = worker_new(&options);
    x->processors = processors_limit();
    return x->worker;
}

/* From its start, over a new overlay. */
static void try_begin(struct request *rq, struct long_run *run)
{
    if (run->overlay != NULL) engine_discard(run->overlay);
    arena_reset(&run->arena);
    random_system(&run->stand_in, sizeof run->stand_in);
    run->stand_in |= UINT64_C(1) << 63; /* above any that is given */
    run->overlay = script_overlay(rq, &run->arena);
    engine_keep(run->overlay, run->stand_in);
    calling_init(&run->calling, rq, &run->arena, run->overlay);
    run->calling.is_readonly = run->program.is_readonly;
    run->calling.messages = exec_messages_new(&run->arena, &run->counts);
    run->calls_us = 0;
    run->was_exclusive = false;
    run->out.len = run->line.len = 0;
    run->job = (struct job){.run = run_job, .done = job_done};
}

enum err long_begin(struct request *rq, const struct program *p, struct long_run **out)
{
    struct scripts *x = rq->env->families.scripts;
    struct worker *worker = threads(rq->env);
    if (worker == NULL) {
        return error_set(&rq->error, ERR_LIMIT,
                         "the script takes longer than %d ms, and no thread is available for it",
                         SHORT_US / 1000);
    }
    struct sandbox *sandbox = sandbox_new(rq->env->settings.script_memory_max);
    if (sandbox == NULL) return error_set(&rq->error, ERR_NOMEM, "out of memory for the script");
    struct long_run *run = mem_new(sizeof *run);
    run->scripts = x;
    run->env = rq->env;
    run->client = rq->client;
    run->sandbox = sandbox;
    run->wake = rq->env->server.wake;
    run->wake_arg = rq->env->server.wake_arg;
    run->max_us = rq->env->settings.script_time_ms * 1000;
    run->memory_max = rq->env->settings.script_memory_max;
    run->proto = rq->w->proto;
    waiter_list_init(&run->waiting);
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->answered, NULL);
    arena_init(&run->words, ARENA_BYTES);
    arena_init(&run->arena, ARENA_BYTES);
    RING_ADD(x->runs, run, next, prev);
    copy_program(run, p);
    try_begin(rq, run);
    rq->env->stats.scripts_long++;
    worker_post(worker, &run->job);
    *out = run;
    return OK;
}

/* It is to end, whatever it does. */
static void end_run(struct long_run *run, enum long_stop why)
{
    pthread_mutex_lock(&run->lock);
    stop_run(run, why);
    pthread_cond_signal(&run->answered);
    pthread_mutex_unlock(&run->lock);
}

void long_abandon(struct long_run *run)
{
    if (run == NULL) return;
    waiter_drop_all(&run->waiting);
    exclusive_end(run->env, run->client);
    if (state_of(run) == LONG_ENDED) { /* the thread has left it */
        run_free(run);
        return;
    }
    pthread_mutex_lock(&run->lock);
    stop_run(run, LONG_KILLED);
    MACHINE_MOVE(&long_machine, run, state, LONG_ABANDONED);
    pthread_cond_signal(&run->answered);
    pthread_mutex_unlock(&run->lock);
}

size_t long_bytes(const struct long_run *run)
{
    return __atomic_load_n(&run->bytes, __ATOMIC_RELAXED) + run->words.held_bytes +
           run->arena.held_bytes + run->reply.cap;
}

/* ---- its commands ---- */

static void answer(struct long_run *run)
{
    pthread_mutex_lock(&run->lock);
    if (run->state == LONG_CALLING) MACHINE_MOVE(&long_machine, run, state, LONG_RUNNING);
    pthread_cond_signal(&run->answered);
    pthread_mutex_unlock(&run->lock);
}

/* The last try reads nothing that others change then, unless a try took too long for that. False:
 * another client has a database for itself. */
static bool begin_exclusive(struct request *rq, struct long_run *run)
{
    if (run->tries < TRIES - 1 || run->is_slow || run->was_exclusive) return true;
    if (!exclusive_begin(rq, rq->env->settings.script_exclusive_ms)) return false;
    run->was_exclusive = true;
    rq->env->stats.scripts_exclusive++;
    /* Its time has not begun while it waited; it has read nothing yet. */
    __atomic_store_n(&run->began_us, clock_mono_us(), __ATOMIC_RELAXED);
    return true;
}

/* What the thread waits for. */
static enum err serve(struct request *rq, struct long_run *run)
{
    enum err r = OK;
    if (!begin_exclusive(rq, run)) return ERR_WAIT;
    run->calling.rq = rq;
    if (run->ask == ASK_MAY) {
        run->may = calling_may(&run->calling, run->argv, run->argc, &run->is_known);
        answer(run);
        return OK;
    }
    int64_t begun_us = clock_thread_us();
    r = calling_run(&run->calling, run->argv, run->argc, run->argv_proto, &run->reply);
    run->calls_us += clock_thread_us() - begun_us;
    if (r == ERR_WAIT || r == ERR_BEHIND) {
        rq->error = run->calling.error;
        return r;
    }
    if (r == OK) again_note(run->calling.newest, &run->reply);
    /* They run again in one turn. */
    int64_t max_us = (int64_t)script_calls_max(rq) * SCRIPT_CALL_US;
    if (r == OK && run->calls_us > max_us) {
        r = error_set(&run->calling.error, ERR_LIMIT,
                      "the commands of a script may use %lld ms of processor time in total: %d us "
                      "for each that max-transaction-ops allows",
                      (long long)(max_us / 1000), SCRIPT_CALL_US);
    }
    size_t max = 2 * (size_t)engine_limits(rq->env->db->engine)->txn_bytes_max;
    if (r == OK && run->arena.held_bytes > max) {
        r = error_set(&run->calling.error, ERR_LIMIT, "the script reads and writes too much");
    }
    if (r != OK) {
        run->error = run->calling.error;
        end_run(run, LONG_REFUSED);
        return OK;
    }
    answer(run);
    return OK;
}

/* ---- turns ---- */

/* Something that it read has changed. */
static enum err conflict(struct request *rq, struct long_run *run)
{
    rq->env->stats.scripts_stale++;
    if (++run->tries == TRIES) {
        return error_set(&rq->error, ERR_TRYAGAIN,
                         "other clients changed what the script had read, %d times", TRIES);
    }
    int64_t took_us = clock_mono_us() - long_began_us(run);
    if (took_us > rq->env->settings.script_exclusive_ms * 1000) run->is_slow = true;
    if (sandbox_is_spent(run->sandbox)) {
        sandbox_free(run->sandbox);
        run->sandbox = sandbox_new(run->memory_max);
        run->is_compiled = false;
        if (run->sandbox == NULL)
            return error_set(&rq->error, ERR_NOMEM, "out of memory for a script");
    }
    MACHINE_MOVE(&long_machine, run, state, LONG_QUEUED);
    try_begin(rq, run);
    worker_post(rq->env->families.scripts->worker, &run->job);
    waiter_add(&run->waiting, rq->waiter);
    return ERR_WAIT;
}

static enum err finish(struct request *rq, struct long_run *run)
{
    bool is_stale = false;
    enum err r = long_end(rq, run, &is_stale);
    return r == OK && is_stale ? conflict(rq, run) : r;
}

static enum err serve_turn(struct request *rq, struct long_run *run)
{
    int64_t end_us = clock_mono_us() + SERVE_US;
    for (;;) {
        enum long_state state = state_of(run);
        if (state == LONG_ENDED) return finish(rq, run);
        bool is_asked = state == LONG_CALLING && long_stop_of(run) == LONG_GOES_ON;
        if (!is_asked || clock_mono_us() > end_us) {
            waiter_add(&run->waiting, rq->waiter);
            return ERR_WAIT;
        }
        enum err r = serve(rq, run);
        if (r != OK) return r;
        spin_while(run, LONG_RUNNING, &run->loop_in_vain);
    }
}

enum err long_step(struct request *rq, struct long_run *run)
{
    enum err r = serve_turn(rq, run);
    if (r != ERR_WAIT) exclusive_end(rq->env, rq->client);
    return r;
}

/* ---- all of them ---- */

void long_turn(struct scripts *x)
{
    if (x->worker == NULL) return;
    (void)worker_poll(x->worker);
    if (x->runs == NULL) return;
    struct long_run *run = x->runs;
    do {
        if (state_of(run) == LONG_CALLING) waiter_wake_all(&run->waiting);
        run = run->next;
    } while (run != x->runs);
}

size_t long_kill(const struct scripts *x, bool is_function)
{
    size_t count = 0;
    struct long_run *run = x->runs;
    if (run == NULL) return 0;
    do {
        enum long_state state = state_of(run);
        if ((run->program.function.data != NULL) == is_function && state != LONG_ENDED &&
            state != LONG_ABANDONED) {
            end_run(run, LONG_KILLED);
            count++;
        }
        run = run->next;
    } while (run != x->runs);
    return count;
}

const char *long_running(const struct scripts *x, bool is_function, int64_t *ms)
{
    const struct long_run *run = x->runs;
    if (run == NULL) return NULL;
    do {
        if ((run->program.function.data != NULL) == is_function) {
            *ms = (clock_mono_us() - long_began_us(run)) / 1000;
            return run->program.name;
        }
        run = run->next;
    } while (run != x->runs);
    return NULL;
}

void long_fini(struct scripts *x)
{
    if (x->worker == NULL) return;
    worker_free(x->worker); /* clients are gone: each run was abandoned, its thread ends */
    x->worker = NULL;
    INVARIANT(x->runs == NULL);
}
