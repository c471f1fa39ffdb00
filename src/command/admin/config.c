/* config: CONFIG, about the settings that `server` holds, and about settings of Redis that tools
 * ask for and that have one meaning here.
 */
#include "base/glob.h"
#include "command/admin/redis_settings.h"
#include "request/args.h"
#include "request/shapes.h"
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
    size_t count = env->server.ops->config_count(env->server.arg);
    for (size_t i = 0; i < count; i++) {
        if (is_name(name, env->server.ops->config_name(env->server.arg, i))) return i;
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
    env->server.ops->config_value(env->server.arg, find(env, slice_str("durability")), rq->scratch);
    struct slice durability = buf_slice(rq->scratch);
    if (is_name(durability, "always")) return "always";
    return is_name(durability, "never") ? "no" : "everysec";
}

/* ---- GET ---- */

#define PATTERNS_MAX 256 /* of one CONFIG GET */

static const char *name_of(const struct env *env, size_t i)
{
    size_t count = env->server.ops->config_count(env->server.arg);
    return i < count ? env->server.ops->config_name(env->server.arg, i)
                     : redis_settings[i - count].name;
}

static bool is_shown(const struct env *env, size_t i)
{
    size_t count = env->server.ops->config_count(env->server.arg);
    return i < count || redis_settings[i - count].value != NULL;
}

/* Which settings match one of the patterns, and how many. */
static size_t find_matches(struct request *rq, const struct slices *patterns, bool *is_wanted,
                           size_t total)
{
    size_t found = 0;
    for (size_t i = 0; i < patterns->count; i++) {
        struct glob glob;
        glob_init(&glob, patterns->items[i], true);
        for (size_t k = 0; k < total; k++) {
            if (is_wanted[k] || !is_shown(rq->env, k)) continue;
            if (!glob_fits(&glob, slice_str(name_of(rq->env, k)))) continue;
            is_wanted[k] = true;
            found++;
        }
    }
    return found;
}

static enum err check_patterns(struct request *rq, size_t count)
{
    if (count <= PATTERNS_MAX) return OK;
    return error_set(&rq->error, ERR_LIMIT, "%zu patterns; one CONFIG GET may have %d", count,
                     PATTERNS_MAX);
}

ARGUMENTS(get_arguments, struct many_words, "parameter [parameter ...]",
          {ARG_MANY(struct many_words, words, struct slice, "parameter", arg_kind_pattern),
           .fits = check_patterns});

static enum err get_run(struct request *rq)
{
    const struct many_words *a = rq->bound;
    struct env *env = rq->env;
    size_t count = env->server.ops->config_count(env->server.arg);
    size_t total = count + redis_setting_count;
    bool *is_wanted = arena_alloc(rq->arena, total * sizeof *is_wanted);
    memset(is_wanted, 0, total * sizeof *is_wanted);
    resp_map(rq->w, find_matches(rq, &a->words, is_wanted, total));
    for (size_t i = 0; i < total; i++) {
        if (!is_wanted[i]) continue;
        resp_bulk_str(rq->w, name_of(env, i));
        if (i >= count) {
            resp_bulk_str(rq->w, fixed_value(rq, &redis_settings[i - count]));
            continue;
        }
        struct resp_mark mark = resp_bulk_begin(rq->w, 10);
        env->server.ops->config_value(env->server.arg, i, rq->w->out);
        resp_bulk_end(rq->w, mark);
    }
    return OK;
}

static const struct command sub_get = {
    .name = "get",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NODE,
    .group = "server",
    .summary = "Returns the settings that match glob patterns.",
    .arguments = &get_arguments,
    .run = get_run,
};

/* ---- SET ---- */

static enum err refuse(struct request *rq, struct slice name, const char *why)
{
    return error_set(
        &rq->error, ERR_SYNTAX, "CONFIG SET failed (possibly related to argument '%.*s') - %s",
        (int)(name.len < SHOWN_BYTES ? name.len : SHOWN_BYTES), (const char *)name.data, why);
}

struct named {
    struct slice name, value;
};
/* In Redis's words when a name is the last one. */
ARGUMENTS(named_arguments, struct named, "parameter value",
          ARG_WORD(struct named, name, "parameter"),
          {ARG_ONE(struct named, value, struct slice, "value", arg_kind_word),
           .missing = "syntax error"});

struct set {
    struct {
        struct named *items;
        size_t count;
    } pairs;
};
ARGUMENTS(set_arguments, struct set, "pair [pair ...]",
          ARG_LIST(struct set, pairs, "pair", named_arguments, NULL));

/* Which settings the names mean. Errors come in Redis's order: names before values. */
static enum err set_names(struct request *rq, const struct set *a, size_t *settings, size_t pairs)
{
    struct env *env = rq->env;
    size_t count = env->server.ops->config_count(env->server.arg);
    for (size_t i = 0; i < pairs; i++) {
        struct slice name = a->pairs.items[i].name;
        size_t found = settings[i] = find(env, name);
        if (found == SIZE_MAX) {
            return error_set(&rq->error, ERR_SYNTAX,
                             "Unknown option or number of arguments for CONFIG SET - '%.*s'",
                             (int)(name.len < SHOWN_BYTES ? name.len : SHOWN_BYTES),
                             (const char *)name.data);
        }
        if (found < count && !env->server.ops->config_is_mutable(env->server.arg, found)) {
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
    const struct set *a = rq->bound;
    struct env *env = rq->env;
    size_t own = env->server.ops->config_count(env->server.arg);
    size_t pairs = a->pairs.count;
    /* One more than there are: the names are found to be double before it matters. */
    if (pairs > own + redis_setting_count + 1) pairs = own + redis_setting_count + 1;
    size_t *settings = arena_alloc(rq->arena, pairs * sizeof *settings);
    enum err r = set_names(rq, a, settings, pairs);
    if (r != OK) return r;
    struct config_change *changes = arena_alloc(rq->arena, pairs * sizeof *changes);
    size_t *named = arena_alloc(rq->arena, pairs * sizeof *named);
    size_t count = 0;
    for (size_t i = 0; i < pairs; i++) {
        const struct named *x = &a->pairs.items[i];
        if (settings[i] < own) {
            named[count] = i;
            changes[count++] = (struct config_change){.setting = settings[i], .value = x->value};
            continue;
        }
        const struct redis_setting *f = &redis_settings[settings[i] - own];
        const char *is = fixed_value(rq, f);
        if (!is_name(x->value, is)) return refuse(rq, x->name, f->why);
    }
    size_t failed = 0;
    struct error why = {.text = ""};
    if (count > 0) {
        r = env->server.ops->config_set(env->server.arg, changes, count, &failed, rq->waiter, &why);
    }
    if (r == ERR_WAIT) return r;
    if (r != OK) return refuse(rq, a->pairs.items[named[failed]].name, why.text);
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
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_AUDITED | CMD_NODE,
    .group = "server",
    .summary = "Changes settings of the running server. After an error, none has changed.",
    .arguments = &set_arguments,
    .run = set_run,
    .is_secret = set_is_secret,
    .names_before_values = true,
};

/* ---- REWRITE ---- */

static enum err rewrite_run(struct request *rq)
{
    struct env *env = rq->env;
    struct error why = {.text = ""};
    if (env->server.about.config_file[0] == '\0') {
        return error_set(&rq->error, ERR_SYNTAX, "The server is running without a config file");
    }
    enum err r = env->server.ops->config_rewrite(env->server.arg, &why);
    if (r != OK) return error_set(&rq->error, r, "Rewriting config file: %s", why.text);
    resp_simple(rq->w, "OK");
    return OK;
}

static const struct command sub_rewrite = {
    .name = "rewrite",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_NODE,
    .group = "server",
    .summary = "Writes the current settings to the configuration file.",
    .arguments = &no_arguments,
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
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_NODE,
    .group = "server",
    .summary = "Resets the counters of INFO: commands, errors, connections, traffic.",
    .arguments = &no_arguments,
    .run = resetstat_run,
};

COMMAND_HELP("server", 0);

static const struct command *const config_subcommands[] = {
    &sub_get, &sub_help, &sub_resetstat, &sub_rewrite, &sub_set, NULL,
};

const struct command cmd_config = {
    .name = "config",
    .group = "server",
    .summary = "A container for commands about the configuration.",
    .arguments = &container_arguments,
    .subcommands = config_subcommands,
};
