/* config: CONFIG, about the settings that `server` holds, and about settings of Redis that tools
 * ask for and that have one meaning here.
 */
#include "base/glob.h"
#include "command/admin/redis_settings.h"
#include "request/args.h"
#include "request/stats.h"
#include "request/table.h"

#define SHOWN_BYTES 128 /* of a name, in an error */

/* In any case; `name` is lower case. */
static bool is_name(struct slice given, const char *name)
{
    for (size_t i = 0; i < given.len; i++) {
        uint8_t c = given.data[i];
        if (c >= 'A' && c <= 'Z') c = (uint8_t)(c + ('a' - 'A'));
        if (name[i] == '\0' || c != (uint8_t)name[i]) return false;
    }
    return name[given.len] == '\0';
}

/* Settings and fixed ones have one row of numbers: fixed ones follow. */
static size_t find(const struct env *env, struct slice name)
{
    size_t count = env->server_ops->config_count(env->server);
    for (size_t i = 0; i < count; i++) {
        if (is_name(name, env->server_ops->config_name(env->server, i))) return i;
    }
    const struct redis_setting *fixed = redis_setting_find(name);
    if (fixed == NULL || fixed->value == NULL) return SIZE_MAX;
    return count + (size_t)(fixed - redis_settings);
}

static const char *fixed_value(struct request *rq, const struct redis_setting *f)
{
    if (f->value != REDIS_BY_DURABILITY) return f->value;
    struct env *env = rq->env;
    buf_clear(rq->scratch, SIZE_MAX);
    env->server_ops->config_value(env->server, find(env, slice_str("durability")), rq->scratch);
    struct slice durability = buf_slice(rq->scratch);
    if (is_name(durability, "always")) return "always";
    return is_name(durability, "never") ? "no" : "everysec";
}

/* ---- GET ---- */

#define PATTERNS_MAX 256 /* of one CONFIG GET */

static const char *name_of(const struct env *env, size_t i)
{
    size_t count = env->server_ops->config_count(env->server);
    return i < count ? env->server_ops->config_name(env->server, i)
                     : redis_settings[i - count].name;
}

static bool is_shown(const struct env *env, size_t i)
{
    size_t count = env->server_ops->config_count(env->server);
    return i < count || redis_settings[i - count].value != NULL;
}

/* Which settings match one of the patterns, and how many. */
static size_t find_matches(struct request *rq, bool *is_wanted, size_t total)
{
    size_t found = 0;
    for (size_t i = 2; i < rq->argc; i++) {
        struct glob glob;
        glob_init(&glob, rq->argv[i], true);
        for (size_t k = 0; k < total; k++) {
            if (is_wanted[k] || !is_shown(rq->env, k)) continue;
            if (!glob_fits(&glob, slice_str(name_of(rq->env, k)))) continue;
            is_wanted[k] = true;
            found++;
        }
    }
    return found;
}

static enum err get_run(struct request *rq)
{
    struct env *env = rq->env;
    size_t count = env->server_ops->config_count(env->server);
    size_t total = count + redis_setting_count;
    if (rq->argc - 2 > PATTERNS_MAX) {
        return error_set(&rq->error, ERR_LIMIT, "%zu patterns; %d are allowed in one CONFIG GET",
                         rq->argc - 2, PATTERNS_MAX);
    }
    for (size_t i = 2; i < rq->argc; i++) {
        enum err r = arg_pattern(rq, rq->argv[i]);
        if (r != OK) return r;
    }
    bool *is_wanted = arena_alloc(rq->arena, total * sizeof *is_wanted);
    memset(is_wanted, 0, total * sizeof *is_wanted);
    resp_map(rq->w, find_matches(rq, is_wanted, total));
    for (size_t i = 0; i < total; i++) {
        if (!is_wanted[i]) continue;
        resp_bulk_str(rq->w, name_of(env, i));
        if (i >= count) {
            resp_bulk_str(rq->w, fixed_value(rq, &redis_settings[i - count]));
            continue;
        }
        struct resp_mark mark = resp_bulk_begin(rq->w, 10);
        env->server_ops->config_value(env->server, i, rq->w->out);
        resp_bulk_end(rq->w, mark);
    }
    return OK;
}

static const struct command sub_get = {
    .name = "get",
    .arity = -3,
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NODE,
    .group = "server",
    .since = "0.1.0",
    .summary = "Settings whose names match a glob pattern, with their values.",
    .syntax = "parameter [parameter ...]",
    .run = get_run,
};

/* ---- SET ---- */

static enum err refuse(struct request *rq, struct slice name, const char *why)
{
    return error_set(
        &rq->error, ERR_SYNTAX, "CONFIG SET failed (possibly related to argument '%.*s') - %s",
        (int)(name.len < SHOWN_BYTES ? name.len : SHOWN_BYTES), (const char *)name.data, why);
}

/* Which settings the names mean. Errors come in Redis's order: names before values. */
static enum err set_names(struct request *rq, size_t *settings, size_t pairs)
{
    struct env *env = rq->env;
    size_t count = env->server_ops->config_count(env->server);
    for (size_t i = 0; i < pairs; i++) {
        struct slice name = rq->argv[2 + 2 * i];
        size_t found = settings[i] = find(env, name);
        if (found == SIZE_MAX) {
            return error_set(&rq->error, ERR_SYNTAX,
                             "Unknown option or number of arguments for CONFIG SET - '%.*s'",
                             (int)(name.len < SHOWN_BYTES ? name.len : SHOWN_BYTES),
                             (const char *)name.data);
        }
        if (found < count && !env->server_ops->config_is_mutable(env->server, found)) {
            return refuse(rq, name, "can't set immutable config");
        }
        for (size_t k = 0; k < i; k++) {
            if (settings[k] == found) return refuse(rq, name, "duplicate parameter");
        }
    }
    return OK;
}

static enum err set_run(struct request *rq)
{
    struct env *env = rq->env;
    if (rq->argc % 2 != 0) return error_set(&rq->error, ERR_SYNTAX, "syntax error");
    size_t pairs = (rq->argc - 2) / 2;
    size_t most = env->server_ops->config_count(env->server) + redis_setting_count;
    /* One more than there are: the names are found to be double before it matters. */
    if (pairs > most + 1) pairs = most + 1;
    size_t *settings = arena_alloc(rq->arena, pairs * sizeof *settings);
    enum err r = set_names(rq, settings, pairs);
    if (r != OK) return r;
    struct config_change *changes = arena_alloc(rq->arena, pairs * sizeof *changes);
    size_t *named = arena_alloc(rq->arena, pairs * sizeof *named);
    size_t count = 0;
    for (size_t i = 0; i < pairs; i++) {
        struct slice value = rq->argv[3 + 2 * i];
        if (settings[i] < env->server_ops->config_count(env->server)) {
            named[count] = 2 + 2 * i;
            changes[count++] = (struct config_change){.setting = settings[i], .value = value};
            continue;
        }
        const struct redis_setting *f =
            &redis_settings[settings[i] - env->server_ops->config_count(env->server)];
        const char *is = fixed_value(rq, f);
        if (!is_name(value, is)) return refuse(rq, rq->argv[2 + 2 * i], f->why);
    }
    size_t failed = 0;
    struct error why = {.text = ""};
    if (count > 0) {
        r = env->server_ops->config_set(env->server, changes, count, &failed, rq->waiter, &why);
    }
    if (r == ERR_WAIT) return r;
    if (r != OK) return refuse(rq, rq->argv[named[failed]], why.text);
    resp_simple(rq->w, "OK");
    return OK;
}

/* The values of passwords. */
static bool set_is_secret(const struct slice *argv, size_t argc, size_t i)
{
    static const char *const names[] = {"requirepass", "masterauth", "tls-key-file-pass"};
    (void)argc;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        if (i >= 3 && is_name(argv[i - 1], names[k])) return true;
    }
    return false;
}

static const struct command sub_set = {
    .name = "set",
    .arity = -4,
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_AUDITED | CMD_NODE,
    .group = "server",
    .since = "0.1.0",
    .summary = "Changes settings of the running server, all of them or none.",
    .syntax = "parameter value [parameter value ...]",
    .run = set_run,
    .is_secret = set_is_secret,
    .names_before_values = true,
};

/* ---- REWRITE ---- */

static enum err rewrite_run(struct request *rq)
{
    struct env *env = rq->env;
    struct error why = {.text = ""};
    if (env->about.config_file[0] == '\0') {
        return error_set(&rq->error, ERR_SYNTAX, "The server is running without a config file");
    }
    enum err r = env->server_ops->config_rewrite(env->server, &why);
    if (r != OK) return error_set(&rq->error, r, "Rewriting config file: %s", why.text);
    resp_simple(rq->w, "OK");
    return OK;
}

static const struct command sub_rewrite = {
    .name = "rewrite",
    .arity = 2,
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_NODE,
    .group = "server",
    .since = "0.1.0",
    .summary = "Writes the settings in force into the config file.",
    .syntax = "",
    .run = rewrite_run,
};

/* ---- RESETSTAT ---- */

static enum err resetstat_run(struct request *rq)
{
    stats_reset(rq->env);
    resp_simple(rq->w, "OK");
    return OK;
}

static const struct command sub_resetstat = {
    .name = "resetstat",
    .arity = 2,
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_NODE,
    .group = "server",
    .since = "0.1.0",
    .summary = "Sets the counters of INFO to zero: commands, errors, connections, traffic.",
    .syntax = "",
    .run = resetstat_run,
};

COMMAND_HELP("server", 0);

static const struct command *const config_subcommands[] = {
    &sub_get, &sub_help, &sub_resetstat, &sub_rewrite, &sub_set, NULL,
};

const struct command cmd_config = {
    .name = "config",
    .arity = -2,
    .group = "server",
    .since = "0.1.0",
    .summary = "Commands about the configuration.",
    .syntax = "",
    .subcommands = config_subcommands,
};
