/* describe: one table gives each flag of a command its words in COMMAND INFO and its ACL category;
 * where Redis's own lists differ from that, the functions below it say how. */
#include "request/describe.h"

#include <stdio.h>

#include "request/keys.h"

/* In the order of Redis's own replies. */
static const struct {
    unsigned flag;
    const char *name;     /* among the flags of COMMAND INFO; NULL = none */
    const char *category; /* NULL = none */
} flag_words[] = {
    {CMD_WRITE, "write", "@write"},        {CMD_READ, "readonly", "@read"},
    {CMD_KEYSPACE, NULL, "@keyspace"},     {CMD_STRING, NULL, "@string"},
    {CMD_ADMIN, "admin", "@admin"},        {CMD_DANGEROUS, NULL, "@dangerous"},
    {CMD_PUBSUB, "pubsub", "@pubsub"},     {CMD_BLOCKING, "blocking", "@blocking"},
    {CMD_CONNECTION, NULL, "@connection"}, {CMD_TRANSACTION, NULL, "@transaction"},
    {CMD_FAST, "fast", "@fast"},           {CMD_NO_AUTH, "no_auth", NULL},
    {CMD_NO_MULTI, "no_multi", NULL},      {CMD_QUEUE, NULL, "@queue"},
    {CMD_INDEX, NULL, "@index"},           {CMD_WATCHES, NULL, "@watch"},
    {CMD_BITMAP, NULL, "@bitmap"},
};
#define FLAG_COUNT (sizeof flag_words / sizeof flag_words[0])

static void words_add(struct words *w, const char *word)
{
    INVARIANT(w->count < WORDS_MAX);
    w->items[w->count++] = word;
}

const char *command_full_name(const struct command *parent, const struct command *c,
                              struct arena *arena)
{
    if (parent == NULL) return c->name;
    size_t size = strlen(parent->name) + strlen(c->name) + 2;
    char *name = arena_alloc(arena, size);
    snprintf(name, size, "%s|%s", parent->name, c->name);
    return name;
}

const char *command_module(const struct command *parent, const struct command *c,
                           struct arena *arena)
{
    const char *name = parent != NULL ? parent->name : c->name;
    const char *dot = strchr(name, '.');
    if (dot == NULL) return NULL;
    size_t len = (size_t)(dot - name);
    char *module = arena_alloc(arena, len + 1);
    memcpy(module, name, len);
    module[len] = '\0';
    return module;
}

size_t subcommand_count(const struct command *c)
{
    size_t n = 0;
    while (c->subcommands != NULL && c->subcommands[n] != NULL) n++;
    return n;
}

int command_arity(const struct command *c)
{
    bool takes_more = (c->flags & (CMD_IDEM | CMD_FORMAT)) != 0;
    int own = command_arity_own(c);
    return takes_more && own > 0 ? -own : own;
}

void command_flag_words(const struct command *parent, const struct command *c,
                        const struct syntax_args *args, struct words *out)
{
    const char *name = parent != NULL ? parent->name : c->name;
    *out = (struct words){0};
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        if ((c->flags & flag_words[i].flag) == 0 || flag_words[i].name == NULL) continue;
        words_add(out, flag_words[i].name);
    }
    if (strchr(name, '.') != NULL) words_add(out, "module");
    if (command_has_keys(c) && keys_are_optional(args)) words_add(out, "no_mandatory_keys");
    if (keys_are_movable(c)) words_add(out, "movablekeys");
}

/* The category of a group of COMMAND DOCS that is a type of values; NULL = it is none. */
static const char *type_category(const char *group)
{
    static const struct {
        const char *group, *category;
    } types[] = {{"hash", "@hash"},     {"list", "@list"},
                 {"set", "@set"},       {"sorted-set", "@sortedset"},
                 {"stream", "@stream"}, {"hyperloglog", "@hyperloglog"},
                 {"geo", "@geo"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].group, group) == 0) return types[i].category;
    }
    return NULL;
}

void command_categories(const struct command *parent, const struct command *c, struct arena *arena,
                        struct words *out)
{
    const char *module = command_module(parent, c, arena);
    const char *type = c->subcommands == NULL ? type_category(c->group) : NULL;
    bool is_of_type = type != NULL || c->categories != NULL;
    unsigned flags = c->flags;
    /* What is about keys of any kind, about bits, about JSON or about a type of its own is no
     * string command in Redis, though words name the keys. */
    if ((flags & (CMD_KEYSPACE | CMD_BITMAP)) != 0 || module != NULL || is_of_type) {
        flags &= ~(unsigned)CMD_STRING;
    }
    *out = (struct words){0};
    for (size_t i = 0; c->categories != NULL && c->categories[i] != NULL; i++) {
        words_add(out, c->categories[i]);
    }
    if (type != NULL) words_add(out, type);
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        if ((flags & flag_words[i].flag) == 0 || flag_words[i].category == NULL) continue;
        words_add(out, flag_words[i].category);
    }
    if ((flags & CMD_FAST) == 0) words_add(out, "@slow");
    bool is_container = c->subcommands != NULL;
    if (!is_container && strcmp(c->group, "scripting") == 0) words_add(out, "@scripting");
    if (module != NULL) {
        size_t size = strlen(module) + 2;
        char *category = arena_alloc(arena, size);
        snprintf(category, size, "@%s", module);
        words_add(out, category);
    }
}

const char *category_name(size_t i)
{
    static const char *const names[] = {
        "keyspace", "read",   "write",       "set",       "sortedset",  "list",        "hash",
        "string",   "bitmap", "hyperloglog", "geo",       "stream",     "pubsub",      "admin",
        "fast",     "slow",   "blocking",    "dangerous", "connection", "transaction", "scripting",
        "kv",       "queue",  "index",       "watch",     "json",
    };
    return i < sizeof names / sizeof names[0] ? names[i] : NULL;
}

bool command_is_in(const struct command *parent, const struct command *c, size_t category)
{
    struct arena arena;
    struct words w;
    bool is_in = false;
    arena_init(&arena, 256);
    command_categories(parent, c, &arena, &w);
    for (size_t i = 0; i < w.count; i++) {
        is_in = is_in || strcmp(w.items[i] + 1, category_name(category)) == 0;
    }
    arena_fini(&arena);
    return is_in;
}
