/* script: SCRIPT LOAD, EXISTS, FLUSH, KILL. */
#include "command/script/long.h"
#include "request/keys.h"
#include "request/table.h"

static enum err load_run(struct request *rq)
{
    struct scripts *x = rq->env->scripts;
    struct script *s = NULL;
    int ref = 0;
    enum err r = script_add(x, rq->argv[2], &s, &rq->error);
    if (r == OK) r = scripts_sandbox(x, &rq->error);
    if (r != OK) return r;
    struct program p = {.code = s->body, .script = s};
    r = program_compile(x, &p, &ref, &rq->error);
    if (r != OK) {
        script_forget(x, s);
        return r;
    }
    resp_bulk(rq->w, s->key);
    return OK;
}

static enum err exists_run(struct request *rq)
{
    resp_array(rq->w, rq->argc - 2);
    for (size_t i = 2; i < rq->argc; i++) {
        resp_int(rq->w, script_find(rq->env->scripts, rq->argv[i]) != NULL);
    }
    return OK;
}

static enum err flush_run(struct request *rq)
{
    bool is_known = rq->argc == 2 || (rq->argc == 3 && (slice_is_word(rq->argv[2], "SYNC") ||
                                                        slice_is_word(rq->argv[2], "ASYNC")));
    if (!is_known) {
        return error_set(&rq->error, ERR_SYNTAX, "SCRIPT FLUSH only support SYNC|ASYNC option");
    }
    scripts_forget(rq->env->scripts);
    resp_simple(rq->w, "OK");
    return OK;
}

static enum err kill_run(struct request *rq)
{
    if (long_kill(rq->env->scripts, false) == 0) {
        return error_set(&rq->error, ERR_NOTBUSY, "No scripts in execution right now.");
    }
    resp_simple(rq->w, "OK");
    return OK;
}

#define SCRIPT_SUB(word, count, text, arguments)                                                   \
    static const struct command sub_##word = {                                                     \
        .name = #word,                                                                             \
        .arity = count,                                                                            \
        .flags = 0,                                                                                \
        .group = "scripting",                                                                      \
        .since = "0.1.0",                                                                          \
        .summary = text,                                                                           \
        .syntax = arguments,                                                                       \
        .run = word##_run,                                                                         \
    }

SCRIPT_SUB(load, 3, "Knows a script from now on, without running it; its SHA1.", "script");
SCRIPT_SUB(exists, -3, "For each SHA1 whether the server knows the script: 1 or 0.",
           "sha1 [sha1 ...]");
SCRIPT_SUB(flush, -2, "Forgets all scripts.", "[ASYNC | SYNC]");
SCRIPT_SUB(kill, 2,
           "Ends the scripts that run longer than a turn; nothing that they did has happened.", "");
COMMAND_HELP("scripting", 0);

static const struct command *const subcommands[] = {&sub_exists, &sub_flush, &sub_help,
                                                    &sub_kill,   &sub_load,  NULL};

const struct command cmd_script = {
    .name = "script",
    .arity = -2,
    .group = "scripting",
    .since = "0.1.0",
    .summary = "Scripts that the server knows.",
    .syntax = "",
    .subcommands = subcommands,
};
