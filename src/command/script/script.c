/* script: SCRIPT LOAD, EXISTS, FLUSH, KILL. */
#include "command/script/long.h"
#include "request/shapes.h"
#include "request/table.h"

ARGUMENTS(load_arguments, struct one_word, "script", ARG_WORD(struct one_word, word, "script"));

static enum err load_run(struct request *rq)
{
    struct slice body = ((const struct one_word *)rq->bound)->word;
    struct scripts *x = rq->env->families.scripts;
    struct script *s = NULL;
    int ref = 0;
    enum err r = script_add(x, body, &s, &rq->error);
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

ARGUMENTS(exists_arguments, struct many_words, "sha1 [sha1 ...]",
          ARG_WORDS(struct many_words, words, "sha1"));

static enum err exists_run(struct request *rq)
{
    const struct slices *sums = &((const struct many_words *)rq->bound)->words;
    resp_array(rq->w, sums->count);
    for (size_t i = 0; i < sums->count; i++) {
        resp_int(rq->w, script_find(rq->env->families.scripts, sums->items[i]) != NULL);
    }
    return OK;
}

ARGUMENTS_WITH(flush_arguments, struct flush_words, "[ASYNC | SYNC]",
               WITH(.refusal = "SCRIPT FLUSH only support SYNC|ASYNC option"),
               ARG_CHOICE(struct flush_words, is_async, {"ASYNC", true}, {"SYNC", false}));

static enum err flush_run(struct request *rq)
{
    scripts_forget(rq->env->families.scripts);
    resp_simple(rq->w, "OK");
    return OK;
}

static enum err kill_run(struct request *rq)
{
    if (long_kill(rq->env->families.scripts, false) == 0) {
        return error_set(&rq->error, ERR_NOTBUSY, "No scripts in execution right now.");
    }
    resp_simple(rq->w, "OK");
    return OK;
}

#define SCRIPT_SUB(word, text, of)                                                                 \
    static const struct command sub_##word = {                                                     \
        .name = #word,                                                                             \
        .flags = 0,                                                                                \
        .group = "scripting",                                                                      \
        .summary = text,                                                                           \
        .arguments = &(of),                                                                        \
        .run = word##_run,                                                                         \
    }

SCRIPT_SUB(load, "Loads a script without running it and returns its SHA1.", load_arguments);
SCRIPT_SUB(exists, "Tests whether scripts are loaded, by their SHA1: 1 or 0 for each.",
           exists_arguments);
SCRIPT_SUB(flush, "Removes all loaded scripts.", flush_arguments);
SCRIPT_SUB(kill,
           "Terminates the scripts that run for longer than a turn. Their writes are rolled back.",
           no_arguments);
COMMAND_HELP("scripting", 0);

static const struct command *const subcommands[] = {&sub_exists, &sub_flush, &sub_help,
                                                    &sub_kill,   &sub_load,  NULL};

const struct command cmd_script = {
    .name = "script",
    .group = "scripting",
    .summary = "A container for commands about Lua scripts.",
    .arguments = &container_arguments,
    .subcommands = subcommands,
};
