/* syntax: see syntax.h. Two steps: what is written becomes parts (recursive descent); then tokens
 * are given the parts they belong to (fold). */
#include "request/syntax.h"

#include "request/plan.h"

#include <ctype.h>
#include <stdio.h>

#define NAME_BYTES_MAX 48 /* of a made-up name; longer ones become "oneof" or "block" */
#define DEPTH_MAX 16

/* ---- types ---- */

/* All other names are strings, but where the command's rows say an integer (set_integers). */
static const struct {
    const char *name;
    enum syntax_type type;
} name_types[] = {
    {"key", SYNTAX_KEY},
    {"destkey", SYNTAX_KEY},
    {"source", SYNTAX_KEY},
    {"destination", SYNTAX_KEY},
    {"newkey", SYNTAX_KEY},
    {"src", SYNTAX_KEY},
    {"dst", SYNTAX_KEY},
    {"key1", SYNTAX_KEY},
    {"key2", SYNTAX_KEY},
    {"start", SYNTAX_INTEGER},
    {"stop", SYNTAX_INTEGER},
    {"score", SYNTAX_DOUBLE},
    {"weight", SYNTAX_DOUBLE},
    {"rank", SYNTAX_INTEGER},
    {"bit", SYNTAX_INTEGER},
    {"ttl", SYNTAX_INTEGER},
    {"seconds", SYNTAX_INTEGER},
    {"milliseconds", SYNTAX_INTEGER},
    {"unix-time-seconds", SYNTAX_UNIX_TIME},
    {"unix-time-milliseconds", SYNTAX_UNIX_TIME},
    {"count", SYNTAX_INTEGER},
    {"limit", SYNTAX_INTEGER},
    {"offset", SYNTAX_INTEGER},
    {"index", SYNTAX_INTEGER},
    {"increment", SYNTAX_INTEGER},
    {"decrement", SYNTAX_INTEGER},
    {"timeout", SYNTAX_INTEGER},
    {"number", SYNTAX_INTEGER},
    {"numkeys", SYNTAX_INTEGER},
    {"client-id", SYNTAX_INTEGER},
    {"protover", SYNTAX_INTEGER},
    {"version", SYNTAX_INTEGER},
    {"duration", SYNTAX_DOUBLE},
    {"pattern", SYNTAX_PATTERN},
};

static enum syntax_type type_of(const char *name)
{
    for (size_t i = 0; i < sizeof name_types / sizeof name_types[0]; i++) {
        if (strcmp(name, name_types[i].name) == 0) return name_types[i].type;
    }
    return SYNTAX_STRING;
}

const char *syntax_type_name(enum syntax_type type)
{
    switch (type) {
    case SYNTAX_STRING: return "string";
    case SYNTAX_KEY: return "key";
    case SYNTAX_INTEGER: return "integer";
    case SYNTAX_DOUBLE: return "double";
    case SYNTAX_PATTERN: return "pattern";
    case SYNTAX_UNIX_TIME: return "unix-time";
    case SYNTAX_TOKEN: return "pure-token";
    case SYNTAX_ONEOF: return "oneof";
    case SYNTAX_BLOCK: break;
    }
    return "block";
}

/* ---- building ---- */

struct parser {
    const char *text;
    size_t at;
    unsigned depth;
    struct arena *arena;
    struct error *e;
};

static const char *copy_text(struct arena *arena, struct slice s)
{
    char *p = arena_alloc(arena, s.len + 1);
    if (s.len > 0) memcpy(p, s.data, s.len);
    p[s.len] = '\0';
    return p;
}

static const char *copy_lower(struct arena *arena, const char *text)
{
    size_t len = strlen(text);
    char *p = arena_alloc(arena, len + 1);
    for (size_t i = 0; i <= len; i++) p[i] = (char)tolower((unsigned char)text[i]);
    return p;
}

static void args_add(struct syntax_args *list, struct syntax_arg *arg)
{
    arg->next = NULL;
    if (list->last == NULL) {
        list->first = arg;
    } else {
        list->last->next = arg;
    }
    list->last = arg;
    list->count++;
}

static struct syntax_arg *args_take(struct syntax_args *list)
{
    struct syntax_arg *arg = list->first;
    list->first = arg->next;
    if (list->first == NULL) list->last = NULL;
    list->count--;
    arg->next = NULL;
    return arg;
}

static struct syntax_arg *arg_new(struct arena *arena, enum syntax_type type, const char *name)
{
    struct syntax_arg *arg = arena_alloc(arena, sizeof *arg);
    *arg = (struct syntax_arg){.type = type, .name = name, .key_spec = -1};
    return arg;
}

/* A oneof or a block, named for what is in it, as Redis does: nx_xx. */
static struct syntax_arg *group_new(struct arena *arena, enum syntax_type type,
                                    const struct syntax_args *children)
{
    char name[NAME_BYTES_MAX + 1];
    size_t len = 0;
    for (const struct syntax_arg *a = children->first; a != NULL; a = a->next) {
        size_t n = strlen(a->name);
        if (len + 1 + n > NAME_BYTES_MAX) {
            len = 0;
            break;
        }
        if (len > 0) name[len++] = '_';
        memcpy(name + len, a->name, n);
        len += n;
    }
    struct slice made = len > 0 ? slice_of(name, len) : slice_str(syntax_type_name(type));
    struct syntax_arg *arg = arg_new(arena, type, copy_text(arena, made));
    arg->children = *children;
    return arg;
}

/* One argument of what is one, a block of more. */
static struct syntax_arg *as_one(struct arena *arena, const struct syntax_args *list)
{
    return list->count == 1 ? list->first : group_new(arena, SYNTAX_BLOCK, list);
}

/* A token that has nothing yet. */
static bool is_bare_token(const struct syntax_arg *a)
{
    return a->type == SYNTAX_TOKEN && !a->is_optional && !a->is_multiple;
}

static struct syntax_arg *token_give(struct arena *arena, struct syntax_arg *token,
                                     struct syntax_args *to)
{
    struct syntax_arg *arg = to->first;
    if (arg == NULL) return token;
    /* Optional parts stay parts of a block: the token alone is then a complete argument. */
    bool is_plain = to->count == 1 && arg->token == NULL && !arg->is_optional;
    if (!is_plain) arg = group_new(arena, SYNTAX_BLOCK, to);
    arg->token = token->token;
    if (arg->type == SYNTAX_ONEOF || arg->type == SYNTAX_BLOCK) arg->name = token->name;
    return arg;
}

/* Gives tokens what belongs to them. `is_group`: the list is an alternative or in brackets, not the
 * whole command. */
static void fold(struct arena *arena, struct syntax_args *list, bool is_group)
{
    struct syntax_args in = *list;
    size_t tokens = 0;
    for (const struct syntax_arg *a = in.first; a != NULL; a = a->next) tokens += is_bare_token(a);
    bool takes_all = is_group && tokens == 1 && is_bare_token(in.first);
    *list = (struct syntax_args){0};
    while (in.first != NULL) {
        struct syntax_arg *arg = args_take(&in);
        if (is_bare_token(arg)) {
            struct syntax_args own = {0};
            while (in.first != NULL &&
                   (takes_all || (!is_bare_token(in.first) && !in.first->is_optional))) {
                args_add(&own, args_take(&in));
            }
            arg = token_give(arena, arg, &own);
        }
        args_add(list, arg);
    }
}

/* ---- reading ---- */

static enum err fail(const struct parser *p, const char *why)
{
    (void)error_set(p->e, ERR_SYNTAX, "syntax '%s', offset %zu: %s", p->text, p->at, why);
    return ERR_SYNTAX;
}

static bool is_next(const struct parser *p, const char *text)
{
    return strncmp(p->text + p->at, text, strlen(text)) == 0;
}

static bool skip(struct parser *p, const char *text)
{
    if (!is_next(p, text)) return false;
    p->at += strlen(text);
    return true;
}

static bool is_word_byte(char c, bool is_token)
{
    if (c >= '0' && c <= '9') return true;
    if (c == '-') return true;
    return is_token ? c >= 'A' && c <= 'Z' : (c >= 'a' && c <= 'z') || c == ':';
}

/* Tokens of one sign, and what Redis calls them. */
static const struct {
    char sign;
    const char *name;
} signs[] = {{'=', "equal"}, {'~', "approximately"}, {'*', "auto-id"}, {'$', "new-id"}};

static bool read_sign(struct parser *p, struct syntax_args *list)
{
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (p->text[p->at] != signs[i].sign) continue;
        struct syntax_arg *arg = arg_new(p->arena, SYNTAX_TOKEN, signs[i].name);
        arg->token = copy_text(p->arena, slice_of(p->text + p->at++, 1));
        args_add(list, arg);
        return true;
    }
    return false;
}

static enum err read_word(struct parser *p, struct syntax_args *list)
{
    if (read_sign(p, list)) return OK;
    bool is_token = isupper((unsigned char)p->text[p->at]) != 0;
    size_t start = p->at;
    if (!is_token && islower((unsigned char)p->text[p->at]) == 0) {
        return fail(p, "a TOKEN, a name, [ or < expected");
    }
    while (is_word_byte(p->text[p->at], is_token)) p->at++;
    const char *word = copy_text(p->arena, slice_of(p->text + start, p->at - start));
    const char *name = is_token ? copy_lower(p->arena, word) : word;
    struct syntax_arg *arg = arg_new(p->arena, is_token ? SYNTAX_TOKEN : type_of(word), name);
    if (is_token) arg->token = word;
    args_add(list, arg);
    return OK;
}

static enum err read_sequence(struct parser *p, struct syntax_args *list);

/* Alternatives up to the closing bracket; `parts` is then one argument. *is_repeat: it is a
 * sequence that ended with "...". */
static enum err read_choice(struct parser *p, struct syntax_args *parts, bool *is_repeat)
{
    struct syntax_args choices = {0};
    *is_repeat = false;
    for (;;) {
        struct syntax_args sequence = {0};
        enum err r = read_sequence(p, &sequence);
        if (r != OK) return r;
        fold(p->arena, &sequence, true);
        *is_repeat = skip(p, " ...");
        if (*is_repeat && choices.count > 0) return fail(p, "put <> around what is repeated");
        args_add(&choices, as_one(p->arena, &sequence));
        if (*is_repeat || !skip(p, " | ")) break;
    }
    args_add(parts,
             choices.count == 1 ? choices.first : group_new(p->arena, SYNTAX_ONEOF, &choices));
    return OK;
}

/* `x [x ...]`: the same words stand before the bracket at `open`. The parts they became are taken
 * off the list again. */
static bool take_repeated(const struct parser *p, size_t open, size_t end, const size_t *starts,
                          struct syntax_args *list)
{
    size_t len = end - open - 1;
    if (open < len + 1) return false;
    size_t before = open - 1 - len;
    if (memcmp(p->text + before, p->text + open + 1, len) != 0) return false;
    struct syntax_args kept = {0};
    size_t i = 0;
    while (i < list->count && starts[i] != before) i++;
    if (i == list->count) return false; /* the words begin inside a part */
    while (i-- > 0) args_add(&kept, args_take(list));
    *list = kept;
    return true;
}

static enum err read_brackets(struct parser *p, const size_t *starts, struct syntax_args *list)
{
    struct syntax_args parts = {0};
    size_t open = p->at;
    bool is_repeat = false;
    bool is_angle = p->text[p->at++] == '<';
    if (++p->depth > DEPTH_MAX) return fail(p, "too deep");
    enum err r = read_choice(p, &parts, &is_repeat);
    if (r != OK) return r;
    if (!skip(p, is_angle ? ">" : "]")) return fail(p, "closing bracket expected");
    p->depth--;
    struct syntax_arg *arg = parts.first;
    if (is_angle && (is_repeat || arg->type != SYNTAX_ONEOF)) return fail(p, "<> is for A | B");
    if (is_repeat) {
        size_t end = p->at - strlen(" ...]");
        if (arg->is_optional || arg->is_multiple) return fail(p, "repetition of an option");
        arg->is_multiple = true;
        arg->has_multiple_token = arg->token != NULL;
        arg->is_optional = !take_repeated(p, open, end, starts, list);
    } else if (!is_angle) {
        arg->is_optional = true;
    }
    args_add(list, arg);
    return OK;
}

#define PARTS_MAX 32

static enum err read_sequence(struct parser *p, struct syntax_args *list)
{
    size_t starts[PARTS_MAX];
    do {
        if (list->count == PARTS_MAX) return fail(p, "too long");
        starts[list->count] = p->at;
        char c = p->text[p->at];
        enum err r = c == '[' || c == '<' ? read_brackets(p, starts, list) : read_word(p, list);
        if (r != OK) return r;
    } while (!is_next(p, " ...") && !is_next(p, " | ") && skip(p, " "));
    return OK;
}

enum err syntax_parse(const char *text, struct arena *arena, struct syntax_args *out,
                      struct error *e)
{
    struct parser p = {.text = text, .arena = arena, .e = e};
    *out = (struct syntax_args){0};
    if (text[0] == '\0') return OK;
    enum err r = read_sequence(&p, out);
    if (r != OK) return r;
    if (text[p.at] != '\0') return fail(&p, "blank or end expected");
    fold(arena, out, false);
    return OK;
}

/* ---- of a command ---- */

/* BARE, which may follow JSON, is left out: it would make every reply of COMMAND DOCS deeper than
 * hiredis 0.14 reads, and every hint longer. The introduction of docs/commands.md has it. */
const char *command_syntax(const struct command *c, struct arena *arena)
{
    bool has_idem = (c->flags & CMD_IDEM) != 0;
    bool is_first = (c->flags & CMD_IDEM_FIRST) != 0;
    const char *parts[] = {
        has_idem && is_first ? "[IDEM id]" : "",
        arguments_syntax(c->arguments, arena),
        (c->flags & CMD_FORMAT) != 0 ? "[FORMAT <JSON | MSGPACK>]" : "",
        has_idem && !is_first ? "[IDEM id]" : "",
    };
    const size_t count = sizeof parts / sizeof parts[0];
    size_t size = 1;
    size_t len = 0;
    for (size_t i = 0; i < count; i++) size += strlen(parts[i]) + 1;
    char *text = arena_alloc(arena, size);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (parts[i][0] == '\0') continue;
        len += (size_t)snprintf(text + len, size - len, "%s%s", len > 0 ? " " : "", parts[i]);
    }
    return text;
}

/* The row that reads the word, by its token or its name; NULL = none says so. */
static const struct argument *row_of(const struct arguments *of, const struct syntax_arg *a)
{
    const struct argument *found = NULL;
    if (of == NULL) return NULL;
    for (const struct argument *row = of->rows; found == NULL && row->name != NULL; row++) {
        bool is_it = strcmp(row->name, a->name) == 0 ||
                     (a->token != NULL && strcmp(row->name, a->token) == 0);
        found = is_it ? row : row_of(row->inside, a);
    }
    return found;
}

static void set_integers(const struct arguments *of, struct syntax_args *args)
{
    for (struct syntax_arg *a = args->first; a != NULL; a = a->next) {
        set_integers(of, &a->children);
        const struct argument *row = a->type == SYNTAX_STRING ? row_of(of, a) : NULL;
        if (row != NULL && row->kind->type == WORD_INTEGER) a->type = SYNTAX_INTEGER;
    }
}

static void parse_own(const char *text, struct arena *arena, struct syntax_args *out)
{
    struct error e = {0};
    enum err r = syntax_parse(text, arena, out, &e);
    INVARIANT(r == OK);
}

void command_arguments(const struct command *c, struct arena *arena, struct syntax_args *out)
{
    parse_own(command_syntax(c, arena), arena, out);
    set_integers(c->arguments, out);
}

void command_hint(const struct command *c, struct arena *arena, struct syntax_args *out)
{
    if (c->brief == NULL) {
        command_arguments(c, arena, out);
    } else {
        parse_own(c->brief, arena, out);
    }
}
