#include "request/keys.h"

#define KEY_USE_KINDS (KEY_RO | KEY_RW | KEY_OW | KEY_RM)

void key_uses_add(struct key_uses *u, struct slice word, unsigned flags)
{
    if (u->count == u->cap && u->arena == NULL) return;
    if (u->count == u->cap) {
        size_t cap = u->cap == 0 ? 8 : u->cap * 2;
        struct key_use *items = arena_alloc(u->arena, cap * sizeof *items);
        if (u->count > 0) memcpy(items, u->items, u->count * sizeof *items);
        u->items = items;
        u->cap = cap;
    }
    u->items[u->count++] = (struct key_use){.word = word, .flags = flags};
}

/* ---- finding ---- */

bool keys_of_range(const struct slice *argv, size_t argc, struct key_uses *out)
{
    static const struct {
        const char *word;
        bool has_argument;
        unsigned key;
    } options[] = {
        {"PREFIX", true, KEY_PREFIX}, {"START", true, KEY_START}, {"END", true, KEY_END},
        {"LIMIT", true, 0},           {"CURSOR", true, 0},        {"WHERE", true, 0},
        {"REVERSE", false, 0},        {"KEYSONLY", false, 0},     {"ALL", false, 0},
        {"WITHEXPIRY", false, 0},
    };
    const size_t count = sizeof options / sizeof options[0];
    unsigned seen = 0;
    out->is_open = true;
    for (size_t at = 1; at < argc; at++) {
        size_t i = 0;
        while (i < count && !slice_is_word(argv[at], options[i].word)) i++;
        if (i == count || (options[i].has_argument && at + 1 == argc)) return false;
        if (options[i].key != 0) key_uses_add(out, argv[at + 1], options[i].key);
        seen |= options[i].key;
        at += options[i].has_argument;
    }
    bool is_bounded = (seen & KEY_START) != 0 && (seen & KEY_END) != 0;
    out->is_open = (seen & KEY_PREFIX) == 0 && !is_bounded;
    return true;
}

bool command_has_keys(const struct command *c)
{
    return c->first_key != 0 || c->keys != NULL;
}

bool command_keys(const struct command *c, const struct slice *argv, size_t argc,
                  struct key_uses *out)
{
    bool is_good = true;
    size_t before = out->count;
    if (c->keys != NULL) is_good = c->keys(argv, argc, out);
    if (c->first_key != 0) {
        int last = c->last_key < 0 ? (int)argc + c->last_key : c->last_key;
        for (int i = c->first_key; i <= last && (size_t)i < argc; i += c->key_step) {
            key_uses_add(out, argv[i], i == c->other_key ? c->other_key_flags : 0);
        }
    }
    unsigned flags = c->key_flags_of != NULL ? c->key_flags_of(argv, argc) : c->key_flags;
    for (size_t i = before; i < out->count; i++) {
        if ((out->items[i].flags & KEY_USE_KINDS) == 0) out->items[i].flags |= flags;
    }
    return is_good;
}

/* ---- telling ---- */

struct numbering {
    const struct command *command;
    struct key_spec *specs;
    size_t count;
    int keys; /* in fixed places, so far */
};

static int spec_number(struct numbering *n, enum key_place place, const char *keyword,
                       bool is_multiple)
{
    size_t i = 0;
    for (; i < n->count; i++) {
        const struct key_spec *s = &n->specs[i];
        if (s->place != place) continue;
        if (place != KEYS_KEYWORD || strcmp(s->keyword, keyword) == 0) return (int)i;
    }
    INVARIANT(i < KEY_SPECS_MAX);
    n->specs[n->count++] = (struct key_spec){
        .place = place, .keyword = keyword, .is_multiple = is_multiple};
    return (int)i;
}

/* `token` is that of a block, for its first argument; is_repeated: within something that is. */
static void number_keys(struct numbering *n, const struct syntax_args *args, const char *token,
                        bool is_repeated)
{
    for (struct syntax_arg *a = args->first; a != NULL; a = a->next) {
        const char *own = a->token != NULL ? a->token : token;
        token = NULL;
        if (a->type == ARG_BLOCK || a->type == ARG_ONEOF) {
            number_keys(n, &a->children, own, is_repeated || a->is_multiple);
        } else if (a->type == ARG_KEY && own == NULL && n->command->first_key != 0) {
            const struct command *c = n->command;
            bool is_other = c->other_key != 0 && n->keys++ == c->other_key - c->first_key;
            a->key_spec = spec_number(n, is_other ? KEYS_OTHER : KEYS_FIXED, NULL, false);
        } else if (a->type == ARG_KEY && own != NULL && !is_repeated) {
            a->key_spec = spec_number(n, KEYS_KEYWORD, own, a->is_multiple);
        } else if (a->type == ARG_KEY) {
            a->key_spec = spec_number(n, KEYS_UNKNOWN, NULL, false);
        }
    }
}

size_t key_specs(const struct command *c, struct syntax_args *args,
                 struct key_spec specs[KEY_SPECS_MAX])
{
    struct numbering n = {.command = c, .specs = specs};
    /* Its keys have other names than `key`, if any. */
    if (c->first_key != 0) (void)spec_number(&n, KEYS_FIXED, NULL, false);
    number_keys(&n, args, NULL, false);
    if (n.count == 0 && c->keys != NULL) (void)spec_number(&n, KEYS_UNKNOWN, NULL, false);
    return n.count;
}

struct key_words key_words(const struct command *c, enum key_place place)
{
    int other = c->other_key;
    if (place == KEYS_OTHER) return (struct key_words){other, other};
    return (struct key_words){other != 0 && other == c->first_key ? other + 1 : c->first_key,
                              other != 0 && other == c->last_key ? other - 1 : c->last_key};
}

static void count_keys(const struct syntax_args *args, bool is_optional, size_t *keys,
                       size_t *needed)
{
    for (const struct syntax_arg *a = args->first; a != NULL; a = a->next) {
        bool may_miss = is_optional || a->is_optional;
        *keys += a->type == ARG_KEY;
        *needed += a->type == ARG_KEY && !may_miss;
        count_keys(&a->children, may_miss || a->type == ARG_ONEOF, keys, needed);
    }
}

bool keys_are_optional(const struct syntax_args *args)
{
    size_t keys = 0;
    size_t needed = 0;
    count_keys(args, false, &keys, &needed);
    return keys > 0 && needed == 0;
}

bool keys_are_movable(const struct command *c)
{
    /* The words of IDEM and FORMAT come after the last key, when they come. */
    return c->keys != NULL || ((c->flags & (CMD_IDEM | CMD_FORMAT)) != 0 && c->last_key < 0);
}

const char *key_flag_name(size_t i, unsigned *flag)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {
        {KEY_RO, "RO"},         {KEY_RW, "RW"},         {KEY_OW, "OW"},
        {KEY_RM, "RM"},         {KEY_ACCESS, "access"}, {KEY_UPDATE, "update"},
        {KEY_INSERT, "insert"}, {KEY_DELETE, "delete"}, {KEY_VARIABLE, "variable_flags"},
    };
    if (i >= sizeof names / sizeof names[0]) return NULL;
    *flag = names[i].flag;
    return names[i].name;
}
