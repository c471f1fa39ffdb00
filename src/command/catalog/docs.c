/* docs: the reply of COMMAND DOCS, written from the table of commands and the syntax of each one's
 * arguments (request/syntax.h). redis-cli is strict about the types of its parts. */
#include "command/catalog/docs.h"

#include "request/describe.h"
#include "request/keys.h"
#include "request/shapes.h"

static void reply_pair(struct resp_writer *w, const char *name, const char *text)
{
    resp_bulk_str(w, name);
    resp_bulk_str(w, text);
}

static void reply_argument_flags(struct resp_writer *w, const struct syntax_arg *a)
{
    resp_bulk_str(w, "flags");
    resp_set(w, (size_t)a->is_optional + (size_t)a->is_multiple + (size_t)a->has_multiple_token);
    if (a->is_optional) resp_simple(w, "optional");
    if (a->is_multiple) resp_simple(w, "multiple");
    if (a->has_multiple_token) resp_simple(w, "multiple_token");
}

/* redis-cli ends its life over a status where Redis has a bulk string, and the other way round. */
static void reply_arguments(struct resp_writer *w, const struct syntax_args *args)
{
    resp_bulk_str(w, "arguments");
    resp_array(w, args->count);
    for (const struct syntax_arg *a = args->first; a != NULL; a = a->next) {
        bool has_flags = a->is_optional || a->is_multiple;
        resp_map(w, 2 + (size_t)(a->key_spec >= 0) + (size_t)(a->token != NULL) +
                        (size_t)has_flags + (size_t)(a->children.count > 0));
        reply_pair(w, "name", a->name);
        reply_pair(w, "type", syntax_type_name(a->type));
        if (a->key_spec >= 0) {
            resp_bulk_str(w, "key_spec_index");
            resp_int(w, a->key_spec);
        }
        if (a->token != NULL) reply_pair(w, "token", a->token);
        if (has_flags) reply_argument_flags(w, a);
        if (a->children.count > 0) reply_arguments(w, &a->children);
    }
}

static void reply_docs(struct request *rq, const struct command *parent, const struct command *c)
{
    struct syntax_args args;
    struct key_spec specs[KEY_SPECS_MAX];
    const char *module = command_module(parent, c, rq->arena);
    size_t subs = subcommand_count(c);
    command_hint(c, rq->arena, &args);
    key_specs(c, &args, specs);
    resp_bulk_str(rq->w, command_full_name(parent, c, rq->arena));
    resp_map(rq->w, 3 + (size_t)(module != NULL) + (size_t)(args.count > 0) + (size_t)(subs > 0));
    reply_pair(rq->w, "summary", c->summary);
    reply_pair(rq->w, "since", command_since(c));
    /* Not "module", as modules of Redis have it: `help @kv` of redis-cli goes by the group. */
    reply_pair(rq->w, "group", module != NULL ? module : c->group);
    if (module != NULL) reply_pair(rq->w, "module", module);
    if (args.count > 0) reply_arguments(rq->w, &args);
    if (subs == 0) return;
    resp_bulk_str(rq->w, "subcommands");
    resp_map(rq->w, subs);
    for (size_t i = 0; i < subs; i++) reply_docs(rq, c, c->subcommands[i]);
}

enum err command_docs_run(struct request *rq)
{
    const struct slices *names = &((const struct many_words *)rq->bound)->words;
    if (names->count == 0) {
        resp_map(rq->w, command_count());
        for (size_t i = 0; i < command_count(); i++) reply_docs(rq, NULL, command_table[i]);
        return OK;
    }
    size_t found = 0;
    const struct command *parent = NULL;
    for (size_t i = 0; i < names->count; i++) {
        found += command_find_full(names->items[i], &parent) != NULL;
    }
    resp_map(rq->w, found);
    for (size_t i = 0; i < names->count; i++) {
        const struct command *c = command_find_full(names->items[i], &parent);
        if (c != NULL) reply_docs(rq, parent, c);
    }
    return OK;
}
