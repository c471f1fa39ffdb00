/* filter_operand: what stands after a field: a literal, or operators and their operands.
 *
 * Literals are typed JSON, read by value_from_json. There is more to say no to than there: an
 * object in a literal whose names begin with '$', and which is no tag, is a misplaced operator. It
 * is meant as a value only inside {"$object":{..}}.
 */
#include <stdlib.h>

#include "codec/number.h"
#include "codec/value.h"
#include "filter/filter_int.h"
#include "filter/path_int.h"

/* The tags of typed JSON. */
enum { TAG_ID, TAG_OBJECT };
static const char tags[][16] = {[TAG_ID] = "$id",
                                [TAG_OBJECT] = "$object",
                                "$bigint",
                                "$u64",
                                "$bytes",
                                "$date",
                                "$undefined",
                                "$number",
                                "$map",
                                "$set",
                                "$regexp",
                                "$error",
                                "$typed",
                                "$ref",
                                "$v8",
                                "$uuidv7",
                                "$versionstamp"};
#define TAG_NONE SIZE_MAX

static size_t find_tag(struct slice raw, bool has_escape)
{
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (json_string_is(raw, has_escape, tags[i])) return i;
    }
    return TAG_NONE;
}

/* What the names of an object say about it. */
struct shape {
    size_t members;
    size_t dollars;             /* names that begin with '$' */
    bool is_now;                /* one is "$now" */
    size_t tag;                 /* that the first is; TAG_NONE */
    bool has_id;                /* the first two are "$id", a number, and "value" */
    struct slice operator_name; /* the first that begins with '$' and is no tag, or one; raw */
};

/* The cursor is at the value after the name. */
static void shape_add(struct shape *shape, struct slice raw, bool has_escape, struct json *j)
{
    uint8_t next = json_peek(j);
    bool is_dollar = slice_has_prefix(raw, slice_str("$")) ||
                     slice_has_prefix(raw, slice_str("\\u0024"));
    if (shape->members++ == 0) {
        shape->tag = is_dollar ? find_tag(raw, has_escape) : TAG_NONE;
        shape->has_id = shape->tag == TAG_ID && next != '{' && next != '[';
    } else if (shape->members == 2) {
        shape->has_id = shape->has_id && json_string_is(raw, has_escape, "value");
    }
    if (!is_dollar) return;
    if (shape->dollars++ == 0) shape->operator_name = raw;
    if (json_string_is(raw, has_escape, "$now")) shape->is_now = true;
}

/* It means a value to typed JSON, and not an object. */
static bool shape_is_tag(const struct shape *shape)
{
    return (shape->members == 1 && shape->tag != TAG_NONE) ||
           (shape->members == 2 && shape->has_id);
}

/* At '{': looks at the names; the cursor stays. */
static bool look(struct compile *c, struct shape *shape)
{
    const uint8_t *from = c->j.at;
    bool more = false;
    *shape = (struct shape){.tag = TAG_NONE};
    if (!compile_open(c, '{', &more)) return false;
    while (more) {
        struct slice raw = {0};
        bool has_escape = false;
        if (!compile_name(c, &raw, &has_escape)) return false;
        shape_add(shape, raw, has_escape, &c->j);
        if (!compile_skip(c) || !compile_next(c, '}', &more)) return false;
    }
    c->j.at = from;
    return true;
}

static bool fail_inside(struct compile *c, struct slice raw)
{
    struct slice shown = path_shown(raw);
    return compile_fail(
        c, ERR_SYNTAX,
        "has %.*s inside a literal; write an object with such a name as {\"$object\":{..}}",
        (int)shown.len, (const char *)shown.data);
}

/* Moves past a value, which value_from_json has accepted. False: an object in it has names that
 * begin with '$', one of which is *name, and may not. Its own may when `is_escaped`. Recursion is
 * as deep as value_from_json lets values be. */
static bool check_names(struct json *j, bool is_escaped, struct slice *name)
{
    struct shape shape = {.tag = TAG_NONE};
    bool has_escape = false, ok = true;
    uint8_t open = json_peek(j);
    struct slice raw = {0};
    if (open == '"') return json_string_scan(j, &raw, &has_escape);
    if (open != '{' && open != '[') {
        while (j->at != j->end && memchr(" \t\r\n,]}", *j->at, 7) == NULL) j->at++;
        return true;
    }
    j->at++;
    for (uint8_t next = json_peek(j); ok && next != '}' && next != ']'; next = json_peek(j)) {
        if (next == ',') {
            j->at++;
            continue;
        }
        if (open == '{') {
            if (!json_string_scan(j, &raw, &has_escape) || !json_expect(j, ':')) return false;
            shape_add(&shape, raw, has_escape, j);
        }
        bool is_object = shape.tag == TAG_OBJECT && shape.members == 1 && !is_escaped;
        ok = check_names(j, is_object, name);
    }
    j->at++;
    if (!ok) return false;
    if (is_escaped || shape.dollars == 0 || shape_is_tag(&shape)) return true;
    *name = shape.operator_name;
    return false;
}

/* Why value_from_json refused: its words, with the offset counted from where the filter begins. */
static bool fail_value(struct compile *c, size_t offset, const struct error *e)
{
    static const char prefix[] = "invalid value: ", mark[] = " at offset ";
    const char *what = e->text, *end = NULL;
    enum err code = e->code == ERR_VALUE ? ERR_SYNTAX : e->code;
    if (strncmp(what, prefix, sizeof prefix - 1) == 0) what += sizeof prefix - 1;
    for (const char *p = strstr(what, mark); p != NULL; p = strstr(p + 1, mark)) end = p;
    if (end == NULL) return compile_fail(c, code, "%s", what);
    offset += strtoull(end + sizeof mark - 1, NULL, 10);
    return compile_fail(c, code, "%.*s at offset %zu", (int)(end - what), what, offset);
}

/* One value of typed JSON; the bytes it was built of stay in c->packed. */
static bool read_typed(struct compile *c, struct literal *out)
{
    struct error e;
    json_skip_blanks(&c->j);
    const uint8_t *from = c->j.at;
    if (!compile_skip(c)) return false;
    struct slice text = slice_of(from, (size_t)(c->j.at - from));
    c->packed.len = 0;
    if (value_from_json(text, NULL, &c->packed, &e) != OK) {
        return fail_value(c, (size_t)(from - c->j.start), &e);
    }
    bool is_plain = memchr(text.data, '$', text.len) == NULL &&
                    memchr(text.data, '\\', text.len) == NULL;
    struct slice name = {0};
    struct json probe = {.start = from, .at = from, .end = from + text.len};
    probe.subject = "";
    if (!is_plain && !check_names(&probe, false, &name)) return fail_inside(c, name);
    uint8_t *copy = arena_alloc_try(c->arena, c->packed.len);
    if (copy == NULL) return compile_fail(c, ERR_NOMEM, "out of memory");
    memcpy(copy, c->packed.data, c->packed.len);
    if (literal_build(slice_of(copy, c->packed.len), c->arena, out)) return true;
    return compile_fail(c, ERR_NOMEM, "out of memory");
}

static bool read_offset(struct compile *c, int64_t *offset)
{
    struct json_number n = {0};
    uint8_t next = json_peek(&c->j);
    bool is_number = next == '-' || (next >= '0' && next <= '9');
    if (is_number && !json_number_scan(&c->j, &n)) return false;
    double d = is_number ? json_number_double(&n) : 0.5; /* which is none either */
    if (d == 0) d = 0;                                   /* not -0 */
    if (number_is_integer(d, offset)) return true;
    return compile_fail(c, ERR_SYNTAX, "has an $offset that is not a whole number of milliseconds");
}

/* {"$now":true}, {"$now":true,"$offset":ms}: a number, and the Date of that instant. */
static bool read_now(struct compile *c, struct literal out[2])
{
    static const char what[] = "has a $now other than {\"$now\":true} or "
                               "{\"$now\":true,\"$offset\":ms}";
    bool more = false, has_now = false, has_offset = false;
    int64_t offset = 0, ms = 0;
    if (!compile_open(c, '{', &more)) return false;
    while (more) {
        struct slice raw = {0};
        bool has_escape = false;
        if (!compile_name(c, &raw, &has_escape)) return false;
        (void)json_peek(&c->j);
        if (json_string_is(raw, has_escape, "$now") && !has_now) {
            has_now = true;
            if (!json_take_word(&c->j, "true")) return compile_fail(c, ERR_SYNTAX, what);
        } else if ((json_string_is(raw, has_escape, "$offset") ||
                    json_string_is(raw, has_escape, "offset")) &&
                   !has_offset) {
            has_offset = true;
            if (!read_offset(c, &offset)) return false;
        } else {
            return compile_fail(c, ERR_SYNTAX, what);
        }
        if (!compile_next(c, '}', &more)) return false;
    }
    if (__builtin_add_overflow(c->now_ms, offset, &ms)) {
        return compile_fail(c, ERR_SYNTAX, "has an $offset beyond the range of dates");
    }
    out[0] = out[1] = (struct literal){0};
    out[0].value.kind = STORED_INTEGER;
    out[0].value.is_negative = ms < 0;
    out[0].value.u = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    out[1].value.kind = STORED_DATE;
    out[1].value.ms = ms;
    return true;
}

/* A value, or $now, which is two. */
static bool read_literal(struct compile *c, struct literal out[2], size_t *count)
{
    struct shape shape = {.tag = TAG_NONE};
    *count = 1;
    if (json_peek(&c->j) == '{' && !look(c, &shape)) return false;
    if (shape.is_now) {
        *count = 2;
        return read_now(c, out);
    }
    bool is_misplaced = shape.dollars > 0 && !shape_is_tag(&shape);
    return is_misplaced ? fail_inside(c, shape.operator_name) : read_typed(c, out);
}

static bool read_equal(struct compile *c, struct condition *out)
{
    size_t count = 0;
    struct literal *list = arena_alloc(c->arena, 2 * sizeof *list);
    if (!read_literal(c, list, &count)) return false;
    literal_set_init(&out->set, list, count);
    return true;
}

static bool read_list(struct compile *c, struct condition *out)
{
    size_t room = 0, count = 0, added = 0;
    bool more = false;
    if (json_peek(&c->j) != '[') return compile_fail(c, ERR_SYNTAX, "takes an array");
    const uint8_t *from = c->j.at;
    if (!compile_open(c, '[', &more)) return false;
    while (more) {
        room += json_peek(&c->j) == '{' ? 2 : 1;
        if (!compile_skip(c) || !compile_next(c, ']', &more)) return false;
    }
    struct literal *list = arena_alloc_try(c->arena, room * sizeof *list);
    if (list == NULL) return compile_fail(c, ERR_NOMEM, "out of memory");
    c->j.at = from;
    if (!compile_open(c, '[', &more)) return false;
    while (more) {
        struct literal next[2];
        if (!read_literal(c, next, &added)) return false;
        INVARIANT(count + added <= room);
        memcpy(&list[count], next, added * sizeof *list);
        count += added;
        if (!compile_next(c, ']', &more)) return false;
    }
    literal_set_init(&out->set, list, count);
    return true;
}

static const char *article(const char *type)
{
    return strchr("aeo", type[0]) != NULL ? "an " : "a ";
}

static bool read_bound(struct compile *c, struct bound *out)
{
    struct literal list[2];
    size_t count = 0;
    if (!read_literal(c, list, &count)) return false;
    *out = (struct bound){.value = list[0].value, .is_now = count == 2};
    enum stored_kind kind = out->value.kind;
    if ((stored_is_scalar(kind) && kind != STORED_BOOL) || kind == STORED_NAN) return true;
    if (kind == STORED_NO_DATE) return true;
    const char *type = value_type_name(buf_slice(&c->packed));
    bool is_bare = kind == STORED_NULL;
    return compile_fail(c, ERR_SYNTAX, "takes a number, bigint, string, Date or bytes, not %s%s",
                        is_bare ? "" : article(type), type);
}

static bool read_bounds(struct compile *c, struct condition *out)
{
    static const char what[] = "takes an array of two elements: [lowest, highest]";
    bool more = false;
    if (json_peek(&c->j) != '[') return compile_fail(c, ERR_SYNTAX, what);
    if (!compile_open(c, '[', &more)) return false;
    for (int i = 0; i < 2; i++) {
        if (!more) return compile_fail(c, ERR_SYNTAX, what);
        if (!read_bound(c, &out->bounds[i])) return false;
        if (!compile_next(c, ']', &more)) return false;
    }
    return more ? compile_fail(c, ERR_SYNTAX, what) : true;
}

static bool read_text(struct compile *c, struct condition *out)
{
    struct condition string;
    if (!read_equal(c, &string)) return false;
    bool is_string = string.set.count == 1 && string.set.list[0].value.kind == STORED_STRING;
    if (!is_string) return compile_fail(c, ERR_SYNTAX, "takes a string");
    if (out->op->operand == OPERAND_TEXT) {
        out->set = string.set;
        return true;
    }
    if (fold_build(string.set.list[0].value.body, c->arena, &out->fold)) return true;
    return compile_fail(c, ERR_NOMEM, "out of memory");
}

static bool read_switch(struct compile *c, struct condition *out)
{
    (void)json_peek(&c->j);
    if (json_take_word(&c->j, "true")) return true;
    if (!json_take_word(&c->j, "false")) {
        return compile_fail(c, ERR_SYNTAX, "takes true or false");
    }
    out->is_negated = !out->is_negated;
    return true;
}

static bool read_operand(struct compile *c, struct condition *out)
{
    out->is_negated = out->op->is_negated;
    if (!compile_count(c)) return false;
    switch (out->op->operand) {
    case OPERAND_LITERAL: return read_equal(c, out);
    case OPERAND_LIST: return read_list(c, out);
    case OPERAND_BOUND: return read_bound(c, &out->bounds[0]);
    case OPERAND_BOUNDS: return read_bounds(c, out);
    case OPERAND_TEXT:
    case OPERAND_FOLDED: return read_text(c, out);
    case OPERAND_SWITCH: return read_switch(c, out);
    }
    return false;
}

static struct condition *new_condition(struct compile *c, const struct op *op)
{
    struct condition *condition = arena_alloc(c->arena, sizeof *condition);
    *condition = (struct condition){.op = op};
    return condition;
}

/* An object of nothing but operators. */
static bool read_operators(struct compile *c, struct condition **out)
{
    struct condition **last = out;
    bool more = false;
    if (!compile_open(c, '{', &more)) return false;
    while (more) {
        struct slice raw = {0};
        bool has_escape = false;
        if (!compile_name(c, &raw, &has_escape)) return false;
        const struct op *op = op_find(raw, has_escape);
        struct slice shown = path_shown(raw);
        if (op == NULL) {
            return compile_fail(c, ERR_SYNTAX, "unknown operator %.*s", (int)shown.len,
                                (const char *)shown.data);
        }
        for (const struct condition *other = *out; other != NULL; other = other->next) {
            if (other->op == op) return compile_fail(c, ERR_SYNTAX, "%s twice", op->name);
        }
        struct condition *next = new_condition(c, op);
        c->op_name = op->name;
        if (!read_operand(c, next)) return false;
        c->op_name = NULL;
        *last = next;
        last = &next->next;
        if (!compile_next(c, '}', &more)) return false;
    }
    return true;
}

bool compile_conditions(struct compile *c, struct condition **out)
{
    struct shape shape = {.tag = TAG_NONE};
    if (json_peek(&c->j) == '{' && !look(c, &shape)) return false;
    if (shape.dollars == 0 || shape.is_now || shape_is_tag(&shape)) {
        *out = new_condition(c, op_find(slice_str("$eq"), false));
        return read_operand(c, *out);
    }
    if (shape.dollars == shape.members) return read_operators(c, out);
    struct slice shown = path_shown(shape.operator_name);
    return compile_fail(c, ERR_SYNTAX,
                        "mixes %.*s with names that are not operators; write an object with such "
                        "names as {\"$object\":{..}}",
                        (int)shown.len, (const char *)shown.data);
}
