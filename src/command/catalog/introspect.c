/* introspect: COMMAND and its subcommands, taken from the one table that dispatches. */
#include <strings.h>

#include "base/glob.h"
#include "command/catalog/docs.h"
#include "request/describe.h"
#include "request/format.h"
#include "request/idem.h"
#include "request/keys.h"
#include "request/shapes.h"
#include "request/table.h"
#include "request/wrapped.h"

/* ---- COMMAND, COMMAND INFO ---- */

static void reply_words(struct resp_writer *w, const struct words *words)
{
    resp_set(w, words->count);
    for (size_t i = 0; i < words->count; i++) resp_simple(w, words->items[i]);
}

static void reply_key_flags(struct resp_writer *w, unsigned flags, bool is_incomplete)
{
    size_t count = is_incomplete;
    unsigned flag = 0;
    for (size_t i = 0; key_flag_name(i, &flag) != NULL; i++) count += (flags & flag) != 0;
    resp_set(w, count);
    for (size_t i = 0; key_flag_name(i, &flag) != NULL; i++) {
        if ((flags & flag) != 0) resp_simple(w, key_flag_name(i, &flag));
    }
    if (is_incomplete) resp_simple(w, "incomplete");
}

/* "type", its name, "spec": the caller adds the map of it. */
static void reply_spec_type(struct resp_writer *w, const char *part, const char *type)
{
    resp_bulk_str(w, part);
    resp_map(w, 2);
    resp_bulk_str(w, "type");
    resp_bulk_str(w, type);
    resp_bulk_str(w, "spec");
}

static void reply_number(struct resp_writer *w, const char *name, int value)
{
    resp_bulk_str(w, name);
    resp_int(w, value);
}

/* `limit`: of all words, one in so many is looked at. */
static void reply_find_range(struct resp_writer *w, int last, int step, int limit)
{
    reply_spec_type(w, "find_keys", "range");
    resp_map(w, 3);
    reply_number(w, "lastkey", last);
    reply_number(w, "keystep", step);
    reply_number(w, "limit", limit);
}

static void reply_find_counted(struct resp_writer *w, int step)
{
    reply_spec_type(w, "find_keys", "keynum");
    resp_map(w, 3);
    reply_number(w, "keynumidx", 0);
    reply_number(w, "firstkey", 1);
    reply_number(w, "keystep", step);
}

static void reply_begin_index(struct resp_writer *w, int index)
{
    reply_spec_type(w, "begin_search", "index");
    resp_map(w, 1);
    reply_number(w, "index", index);
}

static void reply_key_spec(struct resp_writer *w, const struct key_spec *s)
{
    resp_map(w, 3);
    resp_bulk_str(w, "flags");
    reply_key_flags(w, s->flags, s->place == KEYS_UNKNOWN);
    if (s->place == KEYS_FIXED) {
        reply_begin_index(w, s->first);
        reply_find_range(w, s->last < 0 ? s->last : s->last - s->first, s->step, 0);
    } else if (s->place == KEYS_COUNTED) {
        reply_begin_index(w, s->first);
        reply_find_counted(w, s->step);
    } else if (s->place == KEYS_KEYWORD) {
        reply_spec_type(w, "begin_search", "keyword");
        resp_map(w, 2);
        resp_bulk_str(w, "keyword");
        resp_bulk_str(w, s->keyword);
        reply_number(w, "startfrom", s->first);
        reply_find_range(w, s->is_multiple ? -1 : 0, 1, s->is_half ? 2 : 0);
    } else {
        reply_spec_type(w, "begin_search", "unknown");
        resp_map(w, 0);
        reply_spec_type(w, "find_keys", "unknown");
        resp_map(w, 0);
    }
}

/* The ten elements of a COMMAND INFO entry. */
static void reply_info(struct request *rq, const struct command *parent, const struct command *c)
{
    struct resp_writer *w = rq->w;
    struct syntax_args args;
    struct words words;
    struct key_spec specs[KEY_SPECS_MAX];
    int first = 0;
    int last = 0;
    int step = 0;
    command_arguments(c, rq->arena, &args);
    resp_array(w, 10);
    resp_bulk_str(w, command_full_name(parent, c, rq->arena));
    resp_int(w, command_arity(c));
    command_flag_words(parent, c, &args, &words);
    reply_words(w, &words);
    keys_fixed(c, &first, &last, &step);
    resp_int(w, first);
    resp_int(w, last);
    resp_int(w, step);
    command_categories(parent, c, rq->arena, &words);
    reply_words(w, &words);
    resp_array(w, 0); /* tips: there is no cluster to be told how to spread it */
    size_t count = key_specs(c, &args, specs);
    resp_array(w, count);
    for (size_t i = 0; i < count; i++) reply_key_spec(w, &specs[i]);
    resp_array(w, subcommand_count(c));
    for (size_t i = 0; i < subcommand_count(c); i++) reply_info(rq, c, c->subcommands[i]);
}

static enum err command_all_run(struct request *rq)
{
    resp_array(rq->w, command_count());
    for (size_t i = 0; i < command_count(); i++) reply_info(rq, NULL, command_table[i]);
    return OK;
}

ARGUMENTS(names_arguments, struct many_words, "[command-name ...]",
          ARG_WORDS(struct many_words, words, "command-name"));

static enum err info_run(struct request *rq)
{
    const struct slices *names = &((const struct many_words *)rq->bound)->words;
    if (names->count == 0) return command_all_run(rq);
    resp_array(rq->w, names->count);
    for (size_t i = 0; i < names->count; i++) {
        const struct command *parent = NULL;
        const struct command *c = command_find_full(names->items[i], &parent);
        if (c == NULL) {
            resp_nil(rq->w); /* a missing bulk, not array: as Redis 7.0 */
        } else {
            reply_info(rq, parent, c);
        }
    }
    return OK;
}

static enum err count_run(struct request *rq)
{
    resp_int(rq->w, (int64_t)command_count());
    return OK;
}

/* ---- COMMAND LIST ---- */

struct filter {
    struct slice module, category, pattern; /* one of them at most */
    struct glob *glob;                      /* of the pattern */
};
ARGUMENTS(list_arguments, struct filter,
          "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
          ARG_WORD(struct filter, module, "MODULE"), ARG_WORD(struct filter, category, "ACLCAT"),
          ARG_PATTERN(struct filter, pattern, "PATTERN"));

/* `lower` in any case. */
static bool word_is(struct slice word, const char *lower)
{
    size_t len = strlen(lower);
    return word.len == len && strncasecmp((const char *)word.data, lower, len) == 0;
}

static bool is_in_category(struct slice category, struct arena *arena, const struct command *parent,
                           const struct command *c)
{
    struct words words;
    command_categories(parent, c, arena, &words);
    for (size_t i = 0; i < words.count; i++) {
        if (word_is(category, words.items[i] + 1)) return true;
    }
    return false;
}

static bool filter_fits(const struct filter *f, struct arena *arena, const struct command *parent,
                        const struct command *c)
{
    if (f->module.data != NULL) {
        const char *module = command_module(parent, c, arena);
        return module != NULL && slice_eq(slice_str(module), f->module);
    }
    if (f->category.data != NULL) return is_in_category(f->category, arena, parent, c);
    return f->glob == NULL || glob_fits(f->glob, slice_str(command_full_name(parent, c, arena)));
}

/* Writes those that fit, or only counts them. */
static size_t list_names(struct request *rq, const struct filter *f, bool writes)
{
    size_t count = 0;
    for (size_t i = 0; i < command_count(); i++) {
        const struct command *parent = command_table[i];
        if (filter_fits(f, rq->arena, NULL, parent)) {
            count++;
            if (writes) resp_bulk_str(rq->w, parent->name);
        }
        for (size_t k = 0; k < subcommand_count(parent); k++) {
            const struct command *c = parent->subcommands[k];
            if (!filter_fits(f, rq->arena, parent, c)) continue;
            count++;
            if (writes) resp_bulk_str(rq->w, command_full_name(parent, c, rq->arena));
        }
    }
    return count;
}

static enum err list_run(struct request *rq)
{
    struct filter f = *(const struct filter *)rq->bound;
    if (f.pattern.data != NULL) {
        f.glob = arena_alloc(rq->arena, sizeof *f.glob);
        glob_init(f.glob, f.pattern, true);
    }
    resp_array(rq->w, list_names(rq, &f, false));
    list_names(rq, &f, true);
    return OK;
}

/* ---- COMMAND GETKEYS ---- */

ARGUMENTS_WITH(getkeys_arguments, struct many_words, "word [word ...]",
               WITH(.shown = "command argument [argument ...]", .words_least = 2),
               ARG_WORDS(struct many_words, words, "word"));

/* The keys of the command that the request's arguments are; in Redis's words when there are none.
 */
static enum err find_keys(struct request *rq, struct key_uses *out)
{
    const struct many_words *a = rq->bound;
    const struct command *parent = NULL;
    struct request asked = *rq;
    asked.argv = a->words.items;
    asked.argc = a->words.count;
    if (wrapped_find(&asked, &asked.command, &parent) != OK) {
        rq->error = asked.error;
        return rq->error.code;
    }
    if (asked.command == NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "Invalid command specified");
    }
    if (!command_has_keys(asked.command)) {
        return error_set(&rq->error, ERR_SYNTAX, "The command has no key arguments");
    }
    asked.words_before = parent != NULL ? 2 : 1;
    bool is_good = (asked.command->flags & CMD_IDEM) == 0 || idem_take(&asked);
    format_take(&asked);
    if (is_good && !request_arity_fits(&asked)) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "Invalid number of arguments specified for command");
    }
    is_good = is_good && command_keys(asked.command, asked.argv, asked.argc, out);
    if (!is_good) {
        return error_set(&rq->error, ERR_SYNTAX, "Invalid arguments specified for command");
    }
    return OK;
}

static enum err getkeys_run(struct request *rq)
{
    struct key_uses uses = {.arena = rq->arena};
    enum err r = find_keys(rq, &uses);
    if (r != OK) return r;
    resp_array(rq->w, uses.count);
    for (size_t i = 0; i < uses.count; i++) resp_bulk(rq->w, uses.items[i].word);
    return OK;
}

static enum err getkeysandflags_run(struct request *rq)
{
    struct key_uses uses = {.arena = rq->arena};
    enum err r = find_keys(rq, &uses);
    if (r != OK) return r;
    resp_array(rq->w, uses.count);
    for (size_t i = 0; i < uses.count; i++) {
        resp_array(rq->w, 2);
        resp_bulk(rq->w, uses.items[i].word);
        reply_key_flags(rq->w, uses.items[i].flags, false);
    }
    return OK;
}

/* ---- the commands ---- */

#define COMMAND_SUB(id, text, of, function)                                                        \
    static const struct command sub_##id = {                                                       \
        .name = #id,                                                                               \
        .flags = CMD_CONNECTION | CMD_NODE,                                                        \
        .group = "server",                                                                         \
        .summary = text,                                                                           \
        .arguments = &(of),                                                                        \
        .run = function,                                                                           \
    }

COMMAND_SUB(count, "Returns the number of commands.", no_arguments, count_run);
COMMAND_SUB(docs, "Returns documentation of commands and their arguments.", names_arguments,
            command_docs_run);
COMMAND_SUB(getkeys, "Extracts the keys from the arguments of a command.", getkeys_arguments,
            getkeys_run);
COMMAND_SUB(getkeysandflags,
            "Extracts the keys from the arguments of a command, with how it accesses each.",
            getkeys_arguments, getkeysandflags_run);
COMMAND_SUB(info, "Returns the arity, flags, key positions and ACL categories of commands.",
            names_arguments, info_run);
COMMAND_SUB(list, "Lists the names of commands and subcommands.", list_arguments, list_run);

COMMAND_HELP("server", CMD_CONNECTION);

static const struct command *const command_subcommands[] = {
    &sub_count, &sub_docs, &sub_getkeys, &sub_getkeysandflags,
    &sub_help,  &sub_info, &sub_list,    NULL};

const struct command cmd_command = {
    .name = "command",
    .flags = CMD_CONNECTION | CMD_NODE,
    .group = "server",
    .summary = "Returns information about all commands.",
    .arguments = &any_words_arguments,
    .run = command_all_run,
    .subcommands = command_subcommands,
};
