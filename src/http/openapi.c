/* openapi: what REST has, as a document that tools read (OpenAPI 3.1), made of the table of routes.
 */
#include "codec/json_lex.h"
#include "http/rest.h"
#include "tupled.h"

static const struct {
    const char *type;
    const char *schema; /* in a parameter, and in a body */
} types[] = {
    {"path", "{\"type\":\"string\",\"description\":\"A key as a path: users/1\"}"},
    {"paths", "{\"type\":\"string\",\"description\":\"Keys as paths, with commas between\"}"},
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
     "{\"type\":\"string\",\"description\":\"Keys in path form with commas between, or an "
     "array of keys as JSON\"}"},
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

static void put_name(struct buf *out, const struct field *f)
{
    json_string_write(slice_of(f->name, f->name_len), out);
}

static void put_parameters(struct buf *out, const struct route_doc *d)
{
    struct field f;
    bool is_first = true;
    buf_append_str(out, ",\"parameters\":[");
    for (const char *at = d->shown; (at = strchr(at, '{')) != NULL; is_first = false) {
        buf_append_str(out, is_first ? "" : ",");
        buf_append_str(out, "{\"in\":\"path\",\"required\":true,\"name\":");
        at++;
        json_string_write(slice_of(at, strcspn(at, "}")), out);
        buf_append_str(out, ",\"schema\":{\"type\":\"string\"}}");
    }
    for (const char *list = d->query; next_field(&list, &f); is_first = false) {
        buf_append_str(out,
                       is_first ? "{\"in\":\"query\",\"name\":" : ",{\"in\":\"query\",\"name\":");
        put_name(out, &f);
        buf_append_str(out, ",\"schema\":");
        put_schema(out, f.type, f.type_len);
        buf_append_byte(out, '}');
    }
    buf_append_byte(out, ']');
}

static void put_body(struct buf *out, const char *body)
{
    struct field f;
    bool is_first = true;
    if (body == NULL) return;
    buf_append_str(out, ",\"requestBody\":{\"content\":{\"application/json\":{\"schema\":");
    if (strcmp(body, "*") == 0) {
        buf_append_str(out, "{}}}}");
        return;
    }
    buf_append_str(out, "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
    for (const char *list = body; next_field(&list, &f); is_first = false) {
        if (!is_first) buf_append_byte(out, ',');
        put_name(out, &f);
        buf_append_byte(out, ':');
        put_schema(out, f.type, f.type_len);
    }
    buf_append_str(out, "},\"required\":[");
    is_first = true;
    for (const char *list = body; next_field(&list, &f);) {
        if (!f.is_needed) continue;
        if (!is_first) buf_append_byte(out, ',');
        is_first = false;
        put_name(out, &f);
    }
    buf_append_str(out, "]}}}}");
}

static void put_operation(struct buf *out, const struct route *r)
{
    const char *method = (r->methods & HTTP_GET) != 0    ? "get"
                         : (r->methods & HTTP_POST) != 0 ? "post"
                         : (r->methods & HTTP_PUT) != 0  ? "put"
                                                         : "delete";
    buf_printf(out, "\"%s\":{\"summary\":", method);
    json_string_write(slice_str(r->doc.summary), out);
    put_parameters(out, &r->doc);
    put_body(out, r->doc.body);
    buf_append_str(out, ",\"responses\":{\"200\":{\"description\":\"Done\"},\"default\":{\"$ref\":"
                        "\"#/components/responses/Error\"}}}");
}

static bool is_shown(const struct route *r)
{
    return r->doc.shown != NULL;
}

/* Has a route before it the same path? */
static bool is_second(const struct route *r)
{
    for (const struct route *b = rest_routes; b != r; b++) {
        if (is_shown(b) && strcmp(b->doc.shown, r->doc.shown) == 0) return true;
    }
    return false;
}

static void put_path(struct buf *out, const struct route *r)
{
    bool is_first = true;
    json_string_write(slice_str(r->doc.shown), out);
    buf_append_str(out, ":{");
    for (const struct route *o = r; o->path != NULL; o++) {
        if (!is_shown(o) || strcmp(o->doc.shown, r->doc.shown) != 0) continue;
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
        if (!is_shown(r) || is_second(r)) continue;
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
        "{\"Error\":{\"description\":\"What is wrong\",\"content\":{\"application/json\":"
        "{\"schema\":"
        "{\"$ref\":\"#/components/schemas/Error\"}}}}},\"securitySchemes\":{\"password\":{\"type\":"
        "\"http\",\"scheme\":\"basic\"},\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"}}},"
        "\"security\":[{},{\"password\":[]},{\"bearer\":[]}]}\n");
    exchange_answer_json(x, 200);
}
