/* openapi: what REST has, as a document that tools read (OpenAPI 3.1), made of the table of routes.
 */
#include <stdio.h>

#include "codec/json_lex.h"
#include "http/rest.h"
#include "request/members.h"
#include "tupled.h"

static const struct {
    const char *type;
    const char *schema; /* in a parameter, and in a body */
} types[] = {
    {"path", "{\"type\":\"string\",\"description\":\"A key as a path: users/1\"}"},
    {"paths", "{\"type\":\"string\",\"description\":\"Keys as paths, separated by commas\"}"},
    {"filter", "{\"type\":\"string\",\"description\":\"A filter, as JSON\"}"},
    {"text", "{\"type\":\"string\"}"},
    {"texts", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
    {"switch", "{\"type\":\"boolean\"}"},
    {"number", "{\"type\":\"integer\",\"minimum\":0}"},
    {"limit",
     "{\"type\":\"integer\",\"minimum\":1,\"default\":100,\"description\":\"At most 1000\"}"},
    {"milliseconds", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":2147483647}"},
    {"key", "{\"$ref\":\"#/components/schemas/Key\"}"},
    {"keys", "{\"type\":\"array\",\"minItems\":1,\"maxItems\":1000,\"items\":"
             "{\"$ref\":\"#/components/schemas/Key\"}}"},
    {"value", "{}"},
    {"kvkey", "{\"type\":\"string\",\"description\":\"A key in path form, users/#1, or as JSON\"}"},
    {"kvkeys",
     "{\"type\":\"string\",\"description\":\"Keys in path form, separated by commas, or an array "
     "of keys as JSON\"}"},
    {"json", "{\"type\":\"string\",\"description\":\"A value as JSON\"}"},
    {"tuple", "{\"description\":\"A key: an array of its parts, or a string in path form\"}"},
    {"tuples", "{\"type\":\"array\",\"items\":{\"description\":\"A key\"}}"},
    {"numbers", "{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":0}}"},
    {"count", "{\"type\":\"integer\",\"minimum\":1}"},
    {"object", "{\"type\":\"object\"}"},
    {"objects", "{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"},
};

static void put_schema(struct buf *out, const char *type, size_t len)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strlen(types[i].type) == len && memcmp(types[i].type, type, len) == 0) {
            buf_append_str(out, types[i].schema);
            return;
        }
    }
    die("the table of routes has an unknown type: %.*s", (int)len, type);
}

/* One of "name:type name:type!"; false at the end. */
struct field {
    const char *name, *type;
    size_t name_len, type_len;
    bool is_needed;
};

static bool next_field(const char **list, struct field *f)
{
    const char *at = *list;
    if (at == NULL || *at == '\0') return false;
    f->name = at;
    f->name_len = strcspn(at, ":");
    f->type = at + f->name_len + 1;
    size_t len = strcspn(f->type, " ");
    f->is_needed = f->type[len - 1] == '!';
    f->type_len = len - f->is_needed;
    *list = f->type + len + strspn(f->type + len, " ");
    return true;
}

/* ---- arguments of commands (request/members.h) ----------------------------------------------- */

/* `is_body`: as JSON, else as a text in the URL. */
static void put_type(struct buf *out, const struct member *m, bool is_body)
{
    switch (m->type) {
    case MEMBER_INTEGER:
        buf_printf(out, "{\"type\":\"integer\",\"minimum\":%lld,\"maximum\":%lld}",
                   (long long)m->min, (long long)m->max);
        return;
    case MEMBER_KEY: put_schema(out, is_body ? "tuple" : "kvkey", 5); return;
    case MEMBER_VALUE: put_schema(out, is_body ? "value" : "json", is_body ? 5 : 4); return;
    case MEMBER_NUMBER: buf_append_str(out, "{\"type\":[\"number\",\"object\"]}"); return;
    case MEMBER_ARRAY: buf_append_str(out, "{\"type\":\"array\"}"); return;
    case MEMBER_FILTER: put_schema(out, is_body ? "object" : "filter", 6); return;
    case MEMBER_FLAG: put_schema(out, "switch", 6); return;
    case MEMBER_VERSION: buf_append_str(out, "{\"type\":[\"string\",\"null\"]}"); return;
    default: put_schema(out, "text", 4); return;
    }
}

static void put_member_schema(struct buf *out, const struct member *m, bool is_body)
{
    bool is_array = m->is_list || (m->words > 1 && is_body);
    if (is_array) buf_append_str(out, "{\"type\":\"array\",\"items\":");
    put_type(out, m, is_body);
    if (m->words > 1 && is_body)
        buf_printf(out, ",\"minItems\":%u,\"maxItems\":%u", m->words, m->words);
    if (is_array) buf_append_byte(out, '}');
}

/* ---- parameters ------------------------------------------------------------------------------ */

static void put_parameter(struct buf *out, const char *in, const char *name, bool *is_first)
{
    buf_printf(out, "%s{\"in\":\"%s\",\"name\":\"%s\",\"schema\":", *is_first ? "" : ",", in, name);
    *is_first = false;
}

static void put_path_parameters(struct buf *out, const struct route *r, bool *is_first)
{
    for (const char *at = r->path; (at = strchr(at, '{')) != NULL;) {
        char name[32];
        at++;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ".}"), at);
        put_parameter(out, "path", name, is_first);
        buf_append_str(out, "{\"type\":\"string\"},\"required\":true}");
    }
}

static void put_member_parameters(struct buf *out, const struct route *r, bool *is_first)
{
    const struct members *of = route_members(r);
    for (size_t i = 0; i < of->count; i++) {
        const struct member *m = &of->items[i];
        if (!route_has_member(r, m->name)) continue;
        for (size_t k = 0; k < (m->words > 1 ? m->words : 1); k++) {
            put_parameter(out, "query", m->words > 1 ? m->parts[k] : m->name, is_first);
            put_member_schema(out, m, false);
            buf_append_str(out, m->is_required ? ",\"required\":true}" : "}");
        }
    }
}

static void put_parameters(struct buf *out, const struct route *r)
{
    struct field f;
    bool is_first = true;
    buf_append_str(out, ",\"parameters\":[");
    put_path_parameters(out, r, &is_first);
    for (const char *list = r->query; next_field(&list, &f);) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)f.name_len, f.name);
        put_parameter(out, "query", name, &is_first);
        put_schema(out, f.type, f.type_len);
        buf_append_byte(out, '}');
    }
    if (!route_has_object(r)) put_member_parameters(out, r, &is_first);
    buf_append_byte(out, ']');
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* The properties of an object so far, and the names of those that must be there. */
struct properties {
    struct buf *out;
    struct buf required;
    bool has_one;
};

static void begin_object(struct properties *p, struct buf *out)
{
    *p = (struct properties){.out = out};
    buf_init(&p->required);
    buf_append_str(out, "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
}

static void begin_property(struct properties *p, struct slice name, bool is_required)
{
    if (p->has_one) buf_append_byte(p->out, ',');
    p->has_one = true;
    json_string_write(name, p->out);
    buf_append_byte(p->out, ':');
    if (!is_required) return;
    if (p->required.len > 0) buf_append_byte(&p->required, ',');
    json_string_write(name, &p->required);
}

static void end_object(struct properties *p)
{
    buf_append_str(p->out, "},\"required\":[");
    buf_append(p->out, p->required.data, p->required.len);
    buf_append_str(p->out, "]}");
    buf_fini(&p->required);
}

static void add_members(struct properties *p, const struct members *of, const struct route *r)
{
    for (size_t i = 0; i < of->count; i++) {
        const struct member *m = &of->items[i];
        if (r != NULL && !route_has_member(r, m->name)) continue;
        begin_property(p, slice_str(m->name), m->is_required);
        put_member_schema(p->out, m, true);
    }
}

/* A list of KV.ATOMIC's operations: one kind of them, or those that name their type. */
static void put_operations(struct buf *out, const struct route *r, const struct field *f)
{
    bool is_first = true;
    const struct member *ops = member_find(route_members(r), slice_str("op"));
    buf_append_str(out, "{\"type\":\"array\",\"items\":{\"oneOf\":[");
    for (const struct members *v = ops->variants; v->token != NULL; v++) {
        struct properties p;
        bool has_type;
        if (!rest_atomic_has(slice_of(f->name, f->name_len), v->token, &has_type)) continue;
        if (!is_first) buf_append_byte(out, ',');
        is_first = false;
        begin_object(&p, out);
        if (has_type) {
            begin_property(&p, slice_str("type"), true);
            buf_printf(out, "{\"const\":\"%s\"}", v->name);
        }
        add_members(&p, v, NULL);
        end_object(&p);
    }
    buf_append_str(out, "]}}");
}

static void put_body(struct buf *out, const struct route *r)
{
    struct field f;
    struct properties p;
    if (r->body == NULL && (r->words == NULL || !route_has_object(r))) return;
    buf_append_str(out, ",\"requestBody\":{\"content\":{\"application/json\":{\"schema\":");
    if (r->body != NULL && strcmp(r->body, "*") == 0) {
        buf_append_str(out, "{}}}}");
        return;
    }
    begin_object(&p, out);
    for (const char *list = r->body; next_field(&list, &f);) {
        begin_property(&p, slice_of(f.name, f.name_len), f.is_needed);
        bool has_operations = f.type_len == strlen("operations") &&
                              memcmp(f.type, "operations", f.type_len) == 0;
        if (has_operations) {
            put_operations(out, r, &f);
        } else {
            put_schema(out, f.type, f.type_len);
        }
    }
    if (route_has_object(r)) add_members(&p, route_members(r), r);
    end_object(&p);
    buf_append_str(out, "}}}");
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The shape of an answer (reply_json.h) as a schema; one past it. */
static const char *put_shape(struct buf *out, const char *shape);

static const char *put_shape_members(struct buf *out, const char *p)
{
    bool is_first = true;
    buf_append_str(out, "{\"type\":\"object\",\"properties\":{");
    while (*p != '\0' && strchr("})", *p) == NULL) {
        size_t len = strcspn(p, ":!?~.$#%[{()}] ");
        if (*p == '~') {
            buf_append_str(out, is_first ? "" : ",");
            buf_append_str(out, "\"cursor\":{\"type\":[\"string\",\"null\"]},\"hasMore\":{\"type\":"
                                "\"boolean\"}");
            p++;
        } else {
            buf_append_str(out, is_first ? "" : ",");
            json_string_write(slice_of(p, len), out);
            buf_append_byte(out, ':');
            p = put_shape(out, p[len] == ':' ? p + len + 1 : p + len);
        }
        is_first = false;
        p += strspn(p, " ");
    }
    buf_append_str(out, "}}");
    return *p == '\0' ? p : p + 1;
}

static const char *put_shape(struct buf *out, const char *shape)
{
    const char *end = shape_end(shape);
    switch (*shape) {
    case '[':
        buf_append_str(out, "{\"type\":\"array\",\"items\":");
        (void)put_shape(out, shape + 1);
        buf_append_byte(out, '}');
        return end;
    case '{':
    case '(': return put_shape_members(out, shape + 1);
    case '%': buf_append_str(out, "{\"type\":\"object\"}"); return end;
    case '!':
    case '.': buf_append_str(out, "{}"); return end;
    case '?': buf_append_str(out, "{\"type\":\"boolean\"}"); return end;
    case '#': buf_append_str(out, "{\"type\":[\"number\",\"null\"]}"); return end;
    default: buf_append_str(out, "{\"type\":[\"string\",\"null\"]}"); return end;
    }
}

static void put_answer(struct buf *out, const struct route *r)
{
    const char *shape = r->answer;
    buf_append_str(out, ",\"responses\":{\"200\":{\"description\":\"Done\"");
    if (shape != NULL) {
        buf_append_str(out, ",\"content\":{\"application/json\":{\"schema\":");
        if (strcmp(shape, "ok") == 0) shape = "{ok?}";
        if (strchr("[{%!", *shape) != NULL) {
            (void)put_shape(out, shape);
        } else {
            (void)put_shape_members(out, shape);
        }
        buf_append_str(out, "}}");
    }
    buf_append_byte(out, '}');
    if (r->absent != NULL) {
        buf_append_str(out, ",\"404\":{\"$ref\":\"#/components/responses/Error\"}");
    }
    buf_append_str(out, ",\"default\":{\"$ref\":\"#/components/responses/Error\"}}");
}

/* ---- routes ---------------------------------------------------------------------------------- */

static void put_operation(struct buf *out, const struct route *r)
{
    const char *method = (r->methods & HTTP_GET) != 0    ? "get"
                         : (r->methods & HTTP_POST) != 0 ? "post"
                         : (r->methods & HTTP_PUT) != 0  ? "put"
                                                         : "delete";
    buf_printf(out, "\"%s\":{\"summary\":", method);
    json_string_write(slice_str(r->summary), out);
    put_parameters(out, r);
    put_body(out, r);
    put_answer(out, r);
    buf_append_byte(out, '}');
}

/* Has a route before it the same path? */
static bool is_second(const struct route *r)
{
    for (const struct route *b = rest_routes; b != r; b++) {
        if (b->summary != NULL && strcmp(b->path, r->path) == 0) return true;
    }
    return false;
}

/* Without the dots of a part that is all that follows. */
static void put_path_name(struct buf *out, const char *path)
{
    buf_append_byte(out, '"');
    for (const char *p = path; *p != '\0'; p++) {
        if (*p != '.' || strchr(path, '{') == NULL || p < strchr(path, '{')) {
            buf_append_byte(out, (uint8_t)*p);
        }
    }
    buf_append_byte(out, '"');
}

static void put_path(struct buf *out, const struct route *r)
{
    bool is_first = true;
    put_path_name(out, r->path);
    buf_append_str(out, ":{");
    for (const struct route *o = r; o->path != NULL; o++) {
        if (o->summary == NULL || strcmp(o->path, r->path) != 0) continue;
        if (!is_first) buf_append_byte(out, ',');
        is_first = false;
        put_operation(out, o);
    }
    buf_append_byte(out, '}');
}

void openapi_run(struct exchange *x)
{
    struct buf *out = &x->text;
    bool is_first = true;
    rest_begin(x);
    buf_append_str(
        out,
        "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"tupled: REST\",\"version\":\"" TUPLED_VERSION
        "\"},\"servers\":[{\"url\":");
    json_string_write(slice_str(x->http->options.rest_base), out);
    buf_append_str(out, "}],\"paths\":{");
    for (const struct route *r = rest_routes; r->path != NULL; r++) {
        if (r->summary == NULL || is_second(r)) continue;
        if (!is_first) buf_append_byte(out, ',');
        is_first = false;
        put_path(out, r);
    }
    buf_append_str(
        out,
        "},\"components\":{\"schemas\":{\"Key\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":20,"
        "\"items\":{\"anyOf\":[{\"type\":\"string\",\"maxLength\":1024},{\"type\":\"number\"},"
        "{\"type\":\"boolean\"},{\"type\":\"object\"}]}},\"Error\":{\"type\":\"object\","
        "\"properties\":{\"error\":{\"type\":\"string\"}},\"required\":[\"error\"]}},"
        "\"responses\":"
        "{\"Error\":{\"description\":\"The error\",\"content\":{\"application/json\":"
        "{\"schema\":"
        "{\"$ref\":\"#/components/schemas/Error\"}}}}},\"securitySchemes\":{\"password\":{\"type\":"
        "\"http\",\"scheme\":\"basic\"},\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"}}},"
        "\"security\":[{},{\"password\":[]},{\"bearer\":[]}]}\n");
    exchange_answer_json(x, 200);
}
