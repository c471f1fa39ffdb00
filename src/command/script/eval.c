/* eval: EVAL, EVALSHA and their read-only forms. */
#include "base/mem.h"
#include "command/script/library.h"
#include "command/script/long.h"
#include "request/exclusive.h"
#include "request/feature.h"
#include "request/publication.h"
#include "request/table.h"

/* A script whose attempts had to wait so often goes on as a long run: it does not begin anew then.
 */
#define ATTEMPTS_MAX 32
/* One that was long is not tried within a turn the next times. */
#define LONG_FOR 15

/* What is kept of a script from one call of its command to the next. */
struct evaluating {
    struct pending base; /* first */
    struct exec_counts *counts;
    unsigned attempts;
    struct long_run *run; /* NULL: it is still tried within a turn */
};

static void evaluating_free(struct pending *p)
{
    struct evaluating *v = (struct evaluating *)p;
    long_abandon(v->run);
    exec_counts_free(v->counts);
    mem_free(v);
}

static size_t evaluating_bytes(const struct pending *p)
{
    const struct evaluating *v = (const struct evaluating *)p;
    return v->run != NULL ? long_bytes(v->run) : 0;
}

static struct evaluating *evaluating_of(struct request *rq)
{
    struct evaluating *v = (struct evaluating *)rq->client->run.pending;
    if (v != NULL) return v;
    v = mem_new(sizeof *v);
    v->base.free = evaluating_free;
    v->base.bytes = evaluating_bytes;
    rq->client->run.pending = &v->base;
    return v;
}

/* Is it one that takes long? Now and then it is tried. */
static bool was_long(const struct program *p)
{
    if (p->script == NULL || p->script->long_left == 0) return false;
    p->script->long_left--;
    return true;
}

static enum err run_long(struct request *rq, const struct program *p)
{
    struct long_run *run = NULL;
    if (p->script != NULL && p->script->long_left == 0) p->script->long_left = LONG_FOR;
    enum err r = long_begin(rq, p, &run);
    if (r != OK) return r;
    struct evaluating *v = evaluating_of(rq);
    v->run = run;
    v->base.is_long = true;
    return long_step(rq, run);
}

/* In EXEC, and of KV.DO with an id, it must end within the turn. */
static enum err run_in_exec(struct request *rq, const struct program *p)
{
    struct exec_counts *none = NULL;
    bool is_long = false;
    enum err r = script_attempt(rq, p, &none, &is_long);
    if (r != OK || !is_long) return r;
    return error_set(
        &rq->error, ERR_LIMIT,
        "between MULTI and EXEC, and with IDEM, a script may use %d ms and %u MB of memory",
        SHORT_IN_EXEC_US / 1000, SHORT_MEMORY_BYTES >> 20);
}

enum err program_run(struct request *rq, const struct program *p)
{
    if (rq->overlay != NULL) return run_in_exec(rq, p);
    struct evaluating *v = (struct evaluating *)rq->client->run.pending;
    struct exec_counts *counts = NULL;
    bool is_long = false;
    if (v != NULL && v->run != NULL) return long_step(rq, v->run);
    if (v == NULL) {
        rq->env->stats.scripts++;
        is_long = was_long(p);
    } else {
        counts = v->counts;
        v->counts = NULL;
        is_long = v->attempts == ATTEMPTS_MAX;
    }
    enum err r = OK;
    if (!is_long && !p->is_readonly && exclusive_holds(rq)) {
        r = ERR_WAIT;
    } else if (!is_long) {
        r = script_attempt(rq, p, &counts, &is_long);
    }
    if (r == ERR_WAIT) {
        v = evaluating_of(rq);
        v->counts = counts;
        v->attempts++;
        return ERR_WAIT;
    }
    exec_counts_free(counts);
    return r == OK && is_long ? run_long(rq, p) : r;
}

/* ---- the words: what is run, numkeys, keys, arguments ---- */

static enum err read_word(struct request *rq, const struct argument *a, struct slice word, void *to)
{
    (void)rq;
    (void)a;
    memcpy(to, &word, sizeof word);
    return OK;
}
/* No permission is asked for them: each command of the program is asked for when it runs. */
const struct argument_kind program_key_kind = {
    .read = read_word, .is_key = true, .is_as_it_came = true};

void program_words(struct request *rq, struct program *p)
{
    const struct program_words *a = rq->bound;
    p->keys = a->keys.items;
    p->key_count = a->keys.count;
    p->args = a->args.items;
    p->arg_count = a->args.count;
}

PROGRAM_ARGUMENTS(script_arguments, "script", arg_kind_word, ARG_NOT_INTEGER);
PROGRAM_ARGUMENTS(sha_arguments, "sha1", arg_kind_word, ARG_NOT_INTEGER);

static struct slice what_runs(const struct request *rq)
{
    return ((const struct program_words *)rq->bound)->what;
}

static enum err run_script(struct request *rq, struct script *s, bool is_readonly)
{
    struct program p = {.name = s->sha,
                        .code = s->body,
                        .script = s,
                        .flags = s->head.flags,
                        .is_readonly = is_readonly || (s->head.flags & SCRIPT_NO_WRITES) != 0};
    program_words(rq, &p);
    return program_run(rq, &p);
}

static enum err eval(struct request *rq, bool is_readonly)
{
    struct script *s = NULL;
    enum err r = script_add(rq->env->families.scripts, what_runs(rq), &s, &rq->error);
    return r == OK ? run_script(rq, s, is_readonly) : r;
}

static enum err evalsha(struct request *rq, bool is_readonly)
{
    struct script *s = script_find(rq->env->families.scripts, what_runs(rq));
    if (s == NULL) {
        return error_set(&rq->error, ERR_NOSCRIPT, "No matching script. Please use EVAL.");
    }
    return run_script(rq, s, is_readonly);
}

static enum err eval_run(struct request *rq)
{
    return eval(rq, false);
}

static enum err eval_ro_run(struct request *rq)
{
    return eval(rq, true);
}

static enum err evalsha_run(struct request *rq)
{
    return evalsha(rq, false);
}

static enum err evalsha_ro_run(struct request *rq)
{
    return evalsha(rq, true);
}

#define EVAL_COMMAND(word, more, uses, text, of)                                                   \
    const struct command cmd_##word = {                                                            \
        .name = #word,                                                                             \
        .flags = (more),                                                                           \
        .key_flags = (uses),                                                                       \
        .group = "scripting",                                                                      \
        .summary = text,                                                                           \
        .arguments = &(of),                                                                        \
        .run = word##_run,                                                                         \
    }

EVAL_COMMAND(eval, CMD_PUBLISHES, KEY_RW | KEY_ACCESS | KEY_UPDATE,
             "Runs a Lua script as one transaction and returns its result.", script_arguments);
EVAL_COMMAND(eval_ro, 0, KEY_RO | KEY_ACCESS,
             "Runs a Lua script that only reads and returns its result.", script_arguments);
EVAL_COMMAND(evalsha, CMD_PUBLISHES, KEY_RW | KEY_ACCESS | KEY_UPDATE,
             "Runs a loaded Lua script, named by its SHA1, as EVAL does.", sha_arguments);
EVAL_COMMAND(evalsha_ro, 0, KEY_RO | KEY_ACCESS,
             "Runs a loaded Lua script, named by its SHA1, as EVAL_RO does.", sha_arguments);

/* ---- the feature ---- */

static void open_scripts(struct env *env)
{
    struct scripts *x = mem_new(sizeof *x);
    RING_INIT(&x->newest, next, prev);
    htab_init(&x->by_sha);
    htab_init(&x->by_text);
    env->families.scripts = x;
    env->families.script_counts = &x->counts;
    log_limit_init(&x->log_limit, SCRIPT_LOG_LINES);
    libraries_open(x);
    if (env->settings.script_time_ms == 0) env->settings.script_time_ms = 5000;
    if (env->settings.script_exclusive_ms == 0) env->settings.script_exclusive_ms = EXCLUSIVE_MS;
    if (env->settings.script_memory_max == 0) env->settings.script_memory_max = 64u << 20;
}

static void close_scripts(struct env *env)
{
    struct scripts *x = env->families.scripts;
    long_fini(x);
    libraries_close(x);
    scripts_forget(x);
    htab_fini(&x->by_sha);
    htab_fini(&x->by_text);
    sandbox_free(x->sandbox);
    script_log_tick(x);
    log_limit_fini(&x->log_limit);
    mem_free(x);
    env->families.scripts = NULL;
    env->families.script_counts = NULL;
}

static bool turn_scripts(struct env *env)
{
    long_turn(env->families.scripts);
    return false;
}

static void tick_scripts(struct env *env)
{
    struct scripts *x = env->families.scripts;
    x->counts.compiled_bytes = x->sandbox != NULL ? sandbox_bytes(x->sandbox) : 0;
    script_log_tick(x);
}

const struct feature script_feature = {
    .open = open_scripts, .close = close_scripts, .turn = turn_scripts, .tick = tick_scripts};
