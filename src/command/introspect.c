/* introspect: COMMAND and its subcommands, told from the one table that dispatches. */
#include <stdio.h>

#include "command/commands.h"

static const struct {
    unsigned flag;
    const char *name;     /* in COMMAND INFO's flags; NULL = none */
    const char *category; /* ACL category */
} flag_names[] = {
    {CMD_READ, "readonly", "@read"},     {CMD_WRITE, "write", "@write"},
    {CMD_ADMIN, "admin", "@admin"},      {CMD_FAST, "fast", "@fast"},
    {CMD_NO_AUTH, "no_auth", NULL},      {CMD_CONNECTION, NULL, "@connection"},
    {CMD_DANGEROUS, NULL, "@dangerous"}, {CMD_KEYSPACE, NULL, "@keyspace"},
};
#define FLAG_COUNT (sizeof flag_names / sizeof flag_names[0])

static void reply_flags(struct request *rq, const struct command *c)
{
    size_t count = 0;
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        count += (c->flags & flag_names[i].flag) != 0 && flag_names[i].name != NULL;
    }
    resp_set(rq->w, count);
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        if ((c->flags & flag_names[i].flag) == 0 || flag_names[i].name == NULL) continue;
        resp_simple(rq->w, flag_names[i].name);
    }
}

static void reply_categories(struct request *rq, const struct command *c)
{
    bool is_kv = strcmp(c->group, "kv") == 0;
    bool is_slow = (c->flags & CMD_FAST) == 0;
    size_t count = is_kv + (size_t)is_slow;
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        count += (c->flags & flag_names[i].flag) != 0 && flag_names[i].category != NULL;
    }
    resp_set(rq->w, count);
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        if ((c->flags & flag_names[i].flag) == 0 || flag_names[i].category == NULL) continue;
        resp_simple(rq->w, flag_names[i].category);
    }
    if (is_slow) resp_simple(rq->w, "@slow");
    if (is_kv) resp_simple(rq->w, "@kv");
}

static void full_name(const struct command *parent, const struct command *c, char out[80])
{
    snprintf(out, 80, "%s%s%s", parent != NULL ? parent->name : "", parent != NULL ? "|" : "",
             c->name);
}

static size_t subcommand_count(const struct command *c)
{
    size_t n = 0;
    while (c->subcommands != NULL && c->subcommands[n] != NULL) n++;
    return n;
}

/* The ten elements of a COMMAND INFO entry. */
static void reply_info(struct request *rq, const struct command *parent, const struct command *c)
{
    char name[80];
    full_name(parent, c, name);
    resp_array(rq->w, 10);
    resp_bulk_str(rq->w, name);
    resp_int(rq->w, c->arity);
    reply_flags(rq, c);
    resp_int(rq->w, c->first_key);
    resp_int(rq->w, c->last_key);
    resp_int(rq->w, c->key_step);
    reply_categories(rq, c);
    resp_array(rq->w, 0); /* tips */
    resp_array(rq->w, 0); /* key specifications */
    resp_array(rq->w, subcommand_count(c));
    for (size_t i = 0; i < subcommand_count(c); i++) reply_info(rq, c, c->subcommands[i]);
}

static enum err command_all_run(struct request *rq)
{
    resp_array(rq->w, command_count());
    for (size_t i = 0; i < command_count(); i++) reply_info(rq, NULL, command_table[i]);
    return OK;
}

static enum err count_run(struct request *rq)
{
    resp_int(rq->w, (int64_t)command_count());
    return OK;
}

static enum err info_run(struct request *rq)
{
    if (rq->argc == 2) return command_all_run(rq);
    resp_array(rq->w, rq->argc - 2);
    for (size_t i = 2; i < rq->argc; i++) {
        const struct command *parent = NULL;
        const struct command *c = command_find_full(rq->argv[i], &parent);
        if (c == NULL) {
            resp_nil_array(rq->w);
        } else {
            reply_info(rq, parent, c);
        }
    }
    return OK;
}

static void reply_docs(struct request *rq, const struct command *parent, const struct command *c)
{
    char name[80];
    size_t subs = subcommand_count(c);
    full_name(parent, c, name);
    resp_bulk_str(rq->w, name);
    resp_map(rq->w, 3 + (subs > 0));
    resp_bulk_str(rq->w, "summary");
    resp_bulk_str(rq->w, c->summary);
    resp_bulk_str(rq->w, "since");
    resp_bulk_str(rq->w, c->since);
    resp_bulk_str(rq->w, "group");
    resp_bulk_str(rq->w, strcmp(c->group, "kv") == 0 ? "module" : c->group);
    if (subs == 0) return;
    resp_bulk_str(rq->w, "subcommands");
    resp_map(rq->w, subs);
    for (size_t i = 0; i < subs; i++) reply_docs(rq, c, c->subcommands[i]);
}

static enum err docs_run(struct request *rq)
{
    if (rq->argc == 2) {
        resp_map(rq->w, command_count());
        for (size_t i = 0; i < command_count(); i++) reply_docs(rq, NULL, command_table[i]);
        return OK;
    }
    size_t found = 0;
    const struct command *parent = NULL;
    for (size_t i = 2; i < rq->argc; i++) found += command_find_full(rq->argv[i], &parent) != NULL;
    resp_map(rq->w, found);
    for (size_t i = 2; i < rq->argc; i++) {
        const struct command *c = command_find_full(rq->argv[i], &parent);
        if (c != NULL) reply_docs(rq, parent, c);
    }
    return OK;
}

static enum err list_run(struct request *rq)
{
    if (rq->argc != 2 && !(rq->argc == 5 && slice_is_word(rq->argv[2], "FILTERBY"))) {
        return error_set(&rq->error, ERR_SYNTAX, "syntax error");
    }
    if (rq->argc == 5 && slice_is_word(rq->argv[3], "MODULE")) {
        resp_array(rq->w, 0);
        return OK;
    }
    if (rq->argc == 5) {
        return error_set(&rq->error, ERR_SYNTAX, "syntax error: only FILTERBY MODULE is known");
    }
    resp_array(rq->w, command_count());
    for (size_t i = 0; i < command_count(); i++) resp_bulk_str(rq->w, command_table[i]->name);
    return OK;
}

#define COMMAND_SUB(id, word, words, text, arguments, function)                                    \
    static const struct command sub_##id = {                                                       \
        .name = word,                                                                              \
        .arity = words,                                                                            \
        .group = "server",                                                                         \
        .since = "0.1.0",                                                                          \
        .summary = text,                                                                           \
        .syntax = arguments,                                                                       \
        .run = function,                                                                           \
    }

COMMAND_SUB(count, "count", 2, "The number of commands.", "", count_run);
COMMAND_SUB(info, "info", -2, "Arity, flags and key positions.", "[command-name ...]", info_run);
COMMAND_SUB(docs, "docs", -2, "What commands do.", "[command-name ...]", docs_run);
COMMAND_SUB(list, "list", -2, "The names of commands.", "[FILTERBY MODULE module-name]", list_run);

COMMAND_HELP("server");

static const struct command *const command_subcommands[] = {&sub_count, &sub_docs, &sub_help,
                                                            &sub_info,  &sub_list, NULL};

const struct command cmd_command = {
    .name = "command",
    .arity = -1,
    .group = "server",
    .since = "0.1.0",
    .summary = "All commands; its subcommands tell more.",
    .syntax = "",
    .run = command_all_run,
    .subcommands = command_subcommands,
};
