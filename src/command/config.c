/* config: CONFIG GET, from the settings that `server` holds. */
#include <fnmatch.h>

#include "command/commands.h"

/* Settings of Redis that tools ask for and that have one fixed meaning here. */
static const struct {
    const char *name;
    const char *value;
} fixed[] = {
    {"save", ""},
    {"appendonly", "yes"},
    {"appendfsync", "always"},
    {"maxmemory", "0"},
    {"maxmemory-policy", "noeviction"},
};
#define FIXED_COUNT (sizeof fixed / sizeof fixed[0])

static bool matches_any(struct request *rq, const char *name)
{
    for (size_t i = 2; i < rq->argc; i++) {
        struct slice pattern = rq->argv[i];
        char *text = arena_alloc(rq->arena, pattern.len + 1);
        for (size_t k = 0; k < pattern.len; k++) {
            uint8_t c = pattern.data[k];
            text[k] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        }
        text[pattern.len] = '\0';
        if (fnmatch(text, name, 0) == 0) return true;
    }
    return false;
}

static enum err get_run(struct request *rq)
{
    struct env *env = rq->env;
    size_t count = env->config_count(env->server);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found += matches_any(rq, env->config_name(env->server, i));
    for (size_t i = 0; i < FIXED_COUNT; i++) found += matches_any(rq, fixed[i].name);
    resp_map(rq->w, found);
    for (size_t i = 0; i < count; i++) {
        if (!matches_any(rq, env->config_name(env->server, i))) continue;
        resp_bulk_str(rq->w, env->config_name(env->server, i));
        struct resp_mark mark = resp_bulk_begin(rq->w, 10);
        env->config_value(env->server, i, rq->w->out);
        resp_bulk_end(rq->w, mark);
    }
    for (size_t i = 0; i < FIXED_COUNT; i++) {
        if (!matches_any(rq, fixed[i].name)) continue;
        resp_bulk_str(rq->w, fixed[i].name);
        resp_bulk_str(rq->w, fixed[i].value);
    }
    return OK;
}

static const struct command sub_get = {
    .name = "get",
    .arity = -3,
    .flags = CMD_ADMIN | CMD_DANGEROUS,
    .group = "server",
    .since = "0.1.0",
    .summary = "Settings whose names match a glob pattern, with their values.",
    .syntax = "parameter [parameter ...]",
    .run = get_run,
};

static const struct command *const config_subcommands[] = {&sub_get, NULL};

const struct command cmd_config = {
    .name = "config",
    .arity = -2,
    .flags = CMD_ADMIN | CMD_DANGEROUS,
    .group = "server",
    .since = "0.1.0",
    .summary = "Commands about the configuration.",
    .syntax = "",
    .subcommands = config_subcommands,
};
