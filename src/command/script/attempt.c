/* attempt: a script within one turn of the loop, as EXEC is: over one overlay, committed at its end
 * or dropped. When one of its commands must wait, the attempt is dropped and the script runs again
 * later, from its start; the keys that it named are read together then.
 */
#include "base/clock.h"
#include "command/script/script_int.h"
#include "request/observe.h"
#include "request/publication.h"

#define LOOK_US 200 /* its commands take as long between two looks at the time */
#define STEPS_IN_US 1000

struct attempt {
    struct request *rq;
    const struct program *program;
    struct overlay *own; /* NULL: it runs over that of EXEC */
    struct calling calling;
    struct buf reply; /* owned: of the command that ran last */
    struct buf line;  /* owned: the error that the script ended with */
    size_t mark;      /* where its reply begins */
    bool is_error;    /* its reply is one */
    int64_t end_us;   /* processor time, counted from the first look on; 0 = none yet */
    int64_t calls_us; /* elapsed: of its commands since the last look */
    enum err stop;    /* why it must end; OK = it takes too long */
};

/* The first look finds time that commands have taken already. */
static bool may_go_on(struct attempt *a)
{
    int64_t now_us = clock_thread_us();
    if (a->end_us == 0) a->end_us = now_us + SHORT_US - a->calls_us;
    a->calls_us = 0;
    return now_us < a->end_us;
}

static bool on_call(void *arg, struct slice *argv, size_t argc, int proto, struct slice *reply)
{
    struct attempt *a = arg;
    a->stop = calling_run(&a->calling, argv, argc, proto, &a->reply);
    *reply = buf_slice(&a->reply);
    if (a->stop != OK) return false;
    a->calls_us += a->calling.newest->took_us;
    return a->calls_us < LOOK_US || may_go_on(a);
}

static bool on_may(void *arg, struct slice *argv, size_t argc, bool *is_known)
{
    struct attempt *a = arg;
    return calling_may(&a->calling, argv, argc, is_known);
}

static void on_log(void *arg, int level, struct slice text)
{
    const struct attempt *a = arg;
    script_log(a->rq->env->families.scripts, level, text);
}

static bool on_goes_on(void *arg, size_t bytes)
{
    return bytes <= SHORT_CHARGE_BYTES && may_go_on(arg);
}

static const struct sandbox_ops attempt_ops = {
    .call = on_call, .may = on_may, .log = on_log, .goes_on = on_goes_on};

static void ignore_ready(struct waiter *w)
{
    (void)w;
}

/* The keys that the script names are going to be read: all at once, so that it is not run again for
 * each. */
static void prefetch(struct request *rq, const struct program *p)
{
    for (size_t i = 0; i < p->key_count && i < 64; i++) {
        struct waiter w = {.ready = ignore_ready, .keep_for = rq->waiter};
        struct slice key;
        struct entry entry;
        struct error e;
        if (arg_any_key(rq, p->keys[i], &key) != OK) continue;
        (void)(engine_get(rq->env->db->engine, NULL, key, &entry, &w, &e) == OK);
        waiter_cancel(&w);
    }
}

struct slice script_error_text(struct slice reply)
{
    INVARIANT(reply.len > 0 && reply.data[0] == '-');
    return slice_of(reply.data + 1, reply.len - 1);
}

enum err script_failed(struct request *rq, struct slice line)
{
    while (line.len > 0 && line.data[line.len - 1] <= ' ') line.len--;
    if (rq->overlay != NULL) { /* EXEC makes a reply of it, or of its own */
        return error_set(&rq->error, ERR_SCRIPT, "%.*s",
                         (int)(line.len < ERROR_TEXT_BYTES ? line.len : ERROR_TEXT_BYTES - 1),
                         (const char *)line.data);
    }
    struct slice text = arena_copy(rq->arena, line);
    char *end = arena_alloc(rq->arena, text.len + 1);
    memcpy(end, text.data, text.len);
    end[text.len] = '\0';
    for (size_t i = 0; i < text.len; i++) {
        if (end[i] == '\0') end[i] = ' ';
    }
    resp_error_line(rq->w, end);
    stats_error(rq->env, ERR_SYNTAX);
    return OK;
}

/* The script is done: what it wrote is committed, unless it runs in EXEC. */
static enum err commit(struct attempt *a)
{
    struct request *rq = a->rq;
    uint64_t version = 0;
    if (a->own == NULL) return OK;
    enum err r = engine_end(a->own, &version, rq->waiter, &rq->error);
    depends_raise(&rq->depends, version);
    if (r != OK) return r;
    rq->messages = a->calling.messages;
    exec_messages_send(rq);
    rq->messages = NULL;
    return OK;
}

static enum err stopped(struct attempt *a, bool *is_long)
{
    if (a->stop == OK) {
        *is_long = true;
        return OK;
    }
    a->rq->error = a->calling.error;
    if (a->stop == ERR_WAIT) prefetch(a->rq, a->program);
    return a->stop;
}

/* What became of the run. The overlay is committed or dropped. */
static enum err ended(struct attempt *a, enum sandbox_end end, bool *is_long)
{
    struct request *rq = a->rq;
    depends_raise(&rq->depends, a->calling.depends);
    if (end == SANDBOX_DONE && !a->is_error) {
        enum err r = commit(a);
        if (r == OK) calling_tell(&a->calling, true);
        return r;
    }
    engine_discard(a->own);
    if (end == SANDBOX_MEMORY) a->stop = OK;
    if (end == SANDBOX_MEMORY || end == SANDBOX_STOPPED) return stopped(a, is_long);
    calling_tell(&a->calling, false);
    if (end == SANDBOX_FAILED) return script_failed(rq, buf_slice(&a->line));
    if (rq->overlay == NULL) {
        stats_error(rq->env, ERR_SYNTAX);
        return OK;
    }
    size_t len = rq->w->out->len - a->mark;
    struct slice reply = arena_copy(rq->arena, slice_of(rq->w->out->data + a->mark, len));
    rq->w->out->len = a->mark;
    return script_failed(rq, script_error_text(reply));
}

/* In EXEC a script takes steps as other commands do (engine_take_steps), by its time: less those
 * that its own commands have taken. */
static enum sandbox_end run(struct attempt *a, const struct sandbox_call *call)
{
    struct request *rq = a->rq;
    struct sandbox *s = rq->env->families.scripts->sandbox;
    bool is_in_exec = a->own == NULL;
    int64_t begun_us = is_in_exec ? clock_thread_us() : 0;
    uint64_t before = is_in_exec ? engine_steps(rq->overlay) : 0;
    if (is_in_exec) a->end_us = begun_us + SHORT_IN_EXEC_US;
    enum sandbox_end end = sandbox_run(s, call, rq->w->out, &a->is_error, &a->line);
    if (!is_in_exec) return end;
    uint64_t took = (uint64_t)(clock_thread_us() - begun_us) * STEPS_IN_US;
    uint64_t counted = engine_steps(rq->overlay) - before;
    if (took > counted) engine_count_steps(rq->overlay, took - counted);
    return end;
}

enum err script_attempt(struct request *rq, const struct program *p, struct exec_counts **counts,
                        bool *is_long)
{
    struct scripts *x = rq->env->families.scripts;
    struct attempt a = {.rq = rq, .program = p, .mark = rq->w->out->len};
    struct sandbox_call call = {.name = p->name,
                                .is_function = p->script == NULL,
                                .keys = p->keys,
                                .key_count = p->key_count,
                                .args = p->args,
                                .arg_count = p->arg_count,
                                .ops = &attempt_ops,
                                .arg = &a,
                                .proto = rq->w->proto};
    enum err r = request_take_steps(rq, 0);
    if (r == OK) r = scripts_sandbox(x, &rq->error);
    if (r == OK) r = program_compile(x, p, &call.ref, &rq->error);
    *is_long = r == ERR_LIMIT && rq->overlay == NULL; /* a thread has more memory */
    if (r != OK) return *is_long ? OK : r;
    if (rq->overlay == NULL) a.own = script_overlay(rq, rq->arena);
    calling_init(&a.calling, rq, rq->arena, a.own != NULL ? a.own : rq->overlay);
    if (a.own != NULL) a.calling.messages = exec_messages_new(rq->arena, counts);
    a.calling.is_readonly = p->is_readonly;
    a.calling.is_admitted = a.own == NULL; /* EXEC was */
    buf_init(&a.line);
    enum sandbox_end end = run(&a, &call);
    r = ended(&a, end, is_long);
    buf_fini(&a.line);
    buf_fini(&a.reply);
    return r;
}
