/* filter_compile: the text of a filter into nodes: objects, $and, $or, $not and fields. What is
 * after a field is read in filter_operand.c. The text is read with the lexer of typed JSON, so
 * that it is as strict as values are.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "filter/filter_int.h"
#include "filter/path_int.h"

#define CHUNK_BYTES 2048 /* of a filter's arena: most fit */

bool compile_fail(struct compile *c, enum err code, const char *format, ...)
{
    char what[ERROR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    struct slice field = path_shown(c->field);
    const char *op = c->op_name != NULL ? c->op_name : "";
    c->j.code = error_set(c->j.e, code, "where: %.*s%s%s%s%s%s", (int)field.len,
                          (const char *)field.data, field.len < c->field.len ? ".." : "",
                          field.len > 0 ? ": " : "", op, *op != '\0' ? " " : "", what);
    return false;
}

bool compile_count(struct compile *c)
{
    if (++c->conditions <= FILTER_CONDITIONS_MAX) return true;
    c->field = (struct slice){0};
    c->op_name = NULL;
    return compile_fail(c, ERR_LIMIT, "more than %d conditions", FILTER_CONDITIONS_MAX);
}

bool compile_open(struct compile *c, char open, bool *more)
{
    if (!json_expect(&c->j, open)) return false;
    uint8_t close = open == '{' ? '}' : ']';
    *more = json_peek(&c->j) != close;
    if (!*more) c->j.at++;
    return true;
}

bool compile_next(struct compile *c, char close, bool *more)
{
    uint8_t next = json_peek(&c->j);
    *more = next == ',';
    if (next == ',' || next == (uint8_t)close) {
        c->j.at++;
        return true;
    }
    const char *what = close == '}' ? "object" : "array";
    if (next == 0) return json_fail(&c->j, c->j.at, "the %s is not closed", what);
    return json_fail(&c->j, c->j.at, "expected ',' or '%c'", close);
}

bool compile_name(struct compile *c, struct slice *raw, bool *has_escape)
{
    uint8_t next = json_peek(&c->j);
    if (next == 0) return json_fail(&c->j, c->j.at, "the object is not closed");
    if (next != '"') return json_fail(&c->j, c->j.at, "expected a name");
    return json_string_scan(&c->j, raw, has_escape) && json_expect(&c->j, ':');
}

bool compile_skip(struct compile *c)
{
    struct json *j = &c->j;
    size_t depth = 0;
    do {
        uint8_t next = json_peek(j);
        struct slice raw = {0};
        bool has_escape = false;
        if (next == '"') {
            if (!json_string_scan(j, &raw, &has_escape)) return false;
        } else if (next == '{' || next == '[') {
            j->at++;
            depth++;
        } else if (depth > 0 && (next == '}' || next == ']')) {
            j->at++;
            depth--;
        } else if (depth > 0 && (next == ',' || next == ':')) {
            j->at++;
        } else if (next == 0) {
            return json_fail(j, j->at, "expected a value before the end of the text");
        } else {
            const uint8_t *from = j->at;
            while (j->at != j->end && memchr(" \t\r\n\"{}[],:", *j->at, 11) == NULL) j->at++;
            if (j->at == from) return json_fail(j, j->at, "expected a value");
        }
    } while (depth > 0);
    return true;
}

/* These return NULL after an error. */
static struct node *read_filter(struct compile *c);

static struct node *new_node(struct compile *c, enum node_kind kind)
{
    struct node *node = arena_alloc(c->arena, sizeof *node);
    *node = (struct node){.kind = kind};
    return node;
}

struct nodes {
    struct node *first;
    struct node *last;
};

static void append(struct nodes *list, struct node *node)
{
    if (list->last == NULL) {
        list->first = node;
    } else {
        list->last->next = node;
    }
    list->last = node;
}

/* What a list of children comes to: nothing more than the child, when there is one. */
static struct node *join(struct compile *c, enum node_kind kind, struct node *first)
{
    if (first != NULL && first->next == NULL) return first;
    if (first == NULL && !compile_count(c)) return NULL;
    struct node *node = new_node(c, kind);
    node->children = first;
    return node;
}

/* The array after $and or $or. */
static struct node *read_alternatives(struct compile *c, enum node_kind kind)
{
    static const char what[] = "takes an array of one or more objects";
    const char *name = kind == NODE_AND ? "$and" : "$or";
    struct nodes list = {0};
    bool more = json_peek(&c->j) == '[';
    if (more && !compile_open(c, '[', &more)) return NULL;
    if (!more) {
        c->op_name = name;
        (void)compile_fail(c, ERR_SYNTAX, what);
        return NULL;
    }
    while (more) {
        c->op_name = name;
        if (json_peek(&c->j) != '{') {
            (void)compile_fail(c, ERR_SYNTAX, what);
            return NULL;
        }
        struct node *child = read_filter(c);
        if (child == NULL || !compile_next(c, ']', &more)) return NULL;
        append(&list, child);
    }
    return join(c, kind, list.first);
}

static struct node *read_not(struct compile *c)
{
    if (json_peek(&c->j) != '{') {
        c->op_name = "$not";
        (void)compile_fail(c, ERR_SYNTAX, "takes an object");
        return NULL;
    }
    struct node *child = read_filter(c);
    if (child == NULL) return NULL;
    struct node *node = new_node(c, NODE_NOT);
    node->children = child;
    return node;
}

static struct node *read_logical(struct compile *c, struct slice raw, bool has_escape)
{
    bool is_and = json_string_is(raw, has_escape, "$and");
    bool is_not = json_string_is(raw, has_escape, "$not");
    if (!is_and && !is_not && !json_string_is(raw, has_escape, "$or")) {
        struct slice shown = path_shown(raw);
        (void)compile_fail(c, ERR_SYNTAX,
                           "unknown operator %.*s; besides fields, $and, $or and $not are allowed",
                           (int)shown.len, (const char *)shown.data);
        return NULL;
    }
    if (++c->depth > FILTER_DEPTH_MAX) {
        (void)compile_fail(c, ERR_LIMIT, "deeper than %d levels of $and, $or and $not",
                           FILTER_DEPTH_MAX);
        return NULL;
    }
    if (!compile_count(c)) return NULL;
    struct node *node = is_not ? read_not(c) : read_alternatives(c, is_and ? NODE_AND : NODE_OR);
    c->depth--;
    return node;
}

static struct node *read_field(struct compile *c, struct slice name)
{
    struct error e;
    struct node *node = new_node(c, NODE_FIELD);
    if (path_compile(name, c->arena, &node->path, &e) != OK) {
        (void)compile_fail(c, e.code, "%s", e.text);
        return NULL;
    }
    c->field = path_text(node->path);
    if (!compile_conditions(c, &node->conditions)) return NULL;
    c->field = (struct slice){0};
    return node;
}

/* One name and what is after it. `from`: where the names of this object begin. */
static struct node *read_member(struct compile *c, size_t from)
{
    struct slice raw = {0};
    bool has_escape = false;
    json_skip_blanks(&c->j);
    const uint8_t *where = c->j.at;
    if (!compile_name(c, &raw, &has_escape)) return NULL;
    size_t at = c->text.len;
    (void)buf_reserve(&c->text, raw.len + 1); /* also for a name of nothing: it has a place */
    if (has_escape) {
        json_string_unescape(raw, &c->text);
    } else {
        buf_append(&c->text, raw.data, raw.len);
    }
    if (c->text.is_failed) {
        (void)compile_fail(c, ERR_NOMEM, "out of memory");
        return NULL;
    }
    struct slice name = slice_of(c->text.data + at, c->text.len - at);
    size_t offset = (size_t)(where - c->j.start);
    if (!names_add(&c->names, from, c->text.data, at, name.len * 2 + 1, offset)) {
        (void)json_fail(&c->j, where, "duplicate key");
        return NULL;
    }
    bool is_operator = name.len > 0 && name.data[0] == '$';
    if (is_operator && (name.len == 1 || name.data[1] == '.' || name.data[1] == '[')) {
        is_operator = false; /* the whole value, or a path that begins there */
    }
    return is_operator ? read_logical(c, raw, has_escape) : read_field(c, name);
}

static struct node *read_filter(struct compile *c)
{
    size_t from = c->names.count;
    bool more = false;
    struct nodes list = {0};
    c->op_name = NULL;
    if (json_peek(&c->j) != '{') {
        (void)json_fail(&c->j, c->j.at, "a filter must be an object");
        return NULL;
    }
    if (!compile_open(c, '{', &more)) return NULL;
    while (more) {
        struct node *child = read_member(c, from);
        if (child == NULL || !compile_next(c, '}', &more)) return NULL;
        append(&list, child);
    }
    const struct name *again = names_end(&c->names, from, c->text.data);
    if (c->names.is_failed) {
        (void)compile_fail(c, ERR_NOMEM, "out of memory");
        return NULL;
    }
    if (again != NULL) {
        (void)json_fail(&c->j, c->j.start + again->where, "duplicate key");
        return NULL;
    }
    return join(c, NODE_AND, list.first);
}

enum err filter_compile(struct slice json, int64_t now_ms, struct filter **out, struct error *e)
{
    if (json.len > FILTER_BYTES_MAX) {
        return error_set(e, ERR_LIMIT, "where: longer than %d bytes", FILTER_BYTES_MAX);
    }
    struct filter *f = mem_new(sizeof *f);
    arena_init(&f->arena, CHUNK_BYTES);
    f->references = 1;
    struct compile c = {.arena = &f->arena, .now_ms = now_ms};
    c.j = (struct json){.start = json.data, .at = json.data, .code = ERR_SYNTAX, .e = e};
    c.j.end = json.len > 0 ? json.data + json.len : json.data;
    c.j.subject = "where";
    names_init(&c.names);
    buf_init(&c.text);
    buf_init(&c.packed);
    f->root = read_filter(&c);
    f->conditions = c.conditions;
    bool ok = f->root != NULL && json_expect_end(&c.j);
    buf_fini(&c.packed);
    buf_fini(&c.text);
    names_fini(&c.names);
    if (ok) {
        *out = f;
        return OK;
    }
    filter_unref(f);
    return c.j.code;
}
