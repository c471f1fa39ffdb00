/* route: what can be asked for, found in the tables (table.c) by path and method. */
#include "http/route.h"

#include "codec/json_lex.h"
#include "http/ticket.h"
#include "request/members.h"

#define ROUTE_PARTS_MAX 2

/* One {name} of a path: the parts that it stands for, raw. */
struct path_part {
    struct slice name, raw;
};

/* Does the path fit the pattern? Its parts go to `parts`, which has room for so many; *rest begins
 * with the slash before the first. */
static bool fits(const char *pattern, struct slice path, struct slice *rest,
                 struct path_part parts[ROUTE_PARTS_MAX])
{
    size_t at = 0;
    size_t count = 0;
    *rest = slice_of(NULL, 0);
    for (; *pattern != '\0'; pattern++) {
        if (*pattern != '{') {
            if (at == path.len || path.data[at] != (uint8_t)*pattern) return false;
            at++;
            continue;
        }
        size_t from = at;
        struct path_part *part = &parts[count++];
        part->name = slice_of(pattern + 1, strcspn(pattern + 1, ".}"));
        pattern += 1 + part->name.len;
        bool is_all = *pattern == '.';
        while (*pattern != '}') pattern++;
        while (at < path.len && (is_all || path.data[at] != '/')) at++;
        part->raw = slice_of(path.data + from, at - from);
        if (rest->data == NULL) *rest = slice_of(path.data + from - 1, path.len - from + 1);
        if (at == from && !is_all) return false;
    }
    return at == path.len;
}

static struct slice path_of(const struct exchange *x, const struct route *r)
{
    if ((r->flags & ROUTE_REST) == 0) return x->path;
    size_t base = strlen(x->http->options.rest_base);
    return slice_of(x->path.data + base, x->path.len - base);
}

int route_part(struct exchange *x, const char *name, struct slice *out)
{
    struct path_part parts[ROUTE_PARTS_MAX];
    memset(parts, 0, sizeof parts);
    struct slice rest;
    if (!fits(x->route->path, path_of(x, x->route), &rest, parts)) return 0;
    for (size_t i = 0; i < ROUTE_PARTS_MAX; i++) {
        if (parts[i].name.data == NULL || !slice_eq(parts[i].name, slice_str(name))) continue;
        return http_decode(parts[i].raw, false, &x->arena, out) ? 1 : -1;
    }
    return 0;
}

static bool fits_route(const struct exchange *x, const struct route *r, struct slice *rest)
{
    struct path_part parts[ROUTE_PARTS_MAX];
    bool is_below = (r->flags & ROUTE_REST) == 0 ||
                    slice_has_prefix(x->path, slice_str(x->http->options.rest_base));
    return is_below && fits(r->path, path_of(x, r), rest, parts);
}

/* The next route of the path, after `from`; NULL at the end. */
static const struct route *next_route(const struct exchange *x, size_t *table,
                                      const struct route *from, struct slice *rest)
{
    const struct route *r = from == NULL ? route_tables[*table] : from + 1;
    for (;; r++) {
        while (r->path == NULL) {
            r = route_tables[++*table];
            if (r == NULL) return NULL;
        }
        if (fits_route(x, r, rest)) return r;
    }
}

static unsigned methods_of(const struct exchange *x)
{
    struct slice rest;
    size_t table = 0;
    unsigned methods = 0;
    const struct route *r = NULL;
    while ((r = next_route(x, &table, r, &rest)) != NULL) methods |= r->methods;
    return methods != 0 ? methods : route_command.methods;
}

const struct route *route_match(struct exchange *x)
{
    struct slice rest = {0};
    size_t table = 0;
    const struct route *other = NULL;
    const struct route *r = NULL;
    unsigned method = x->message->method;
    while ((r = next_route(x, &table, r, &rest)) != NULL) {
        other = r;
        if ((r->methods & method) == 0) continue;
        x->rest = rest;
        return r;
    }
    if (other != NULL) return other;
    x->rest = x->path;
    return command_path_fits(x) ? &route_command : NULL;
}

static struct slice allow_text(struct exchange *x, unsigned methods)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"};
    struct buf text;
    buf_init(&text);
    for (unsigned i = 0; i < 6; i++) {
        if ((methods & (1u << i)) == 0) continue;
        if (text.len > 0) buf_append_str(&text, ", ");
        buf_append_str(&text, names[i]);
    }
    buf_require(&text);
    struct slice copy = arena_copy(&x->arena, buf_slice(&text));
    buf_fini(&text);
    return copy;
}

/* What a browser asks before it lets a page of an allowed origin send something. */
static void answer_options(struct exchange *x, struct slice allow)
{
    exchange_header(x, "allow", allow);
    if (x->cors.data != NULL) {
        exchange_header(x, "access-control-allow-methods", allow);
        exchange_header(x, "access-control-allow-headers",
                        slice_str("authorization, content-type, if-match, if-none-match, "
                                  "idempotency-key, last-event-id, tupled-database, "
                                  "upstash-encoding, upstash-telemetry-runtime, "
                                  "upstash-telemetry-platform, upstash-telemetry-sdk, "
                                  "upstash-response-format, upstash-sync-token"));
        exchange_header(x, "access-control-max-age", slice_str("600"));
    }
    exchange_answer(x, 204, NULL, slice_of(NULL, 0));
}

bool route_lists(const char *list, struct slice name)
{
    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ": ");
        if (len == name.len && memcmp(list, name.data, len) == 0) return true;
        list += strcspn(list, " ");
        list += strspn(list, " ");
    }
    return false;
}

/* ---- arguments of its command ---------------------------------------------------------------- */

const struct members *route_members(const struct route *r)
{
    static const struct members none = {.count = 0};
    struct slice argv[3];
    size_t argc = 0;
    const struct command *parent;
    for (const char *p = r->words; p != NULL && *p != '\0'; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");
        argv[argc++] = slice_of(p, len);
        p += len;
    }
    if (argc == 0) return &none;
    const struct command *c = command_of_words(argv, argc, &parent);
    INVARIANT(c != NULL);
    return arguments_members(c->arguments);
}

static bool is_in_path(const char *path, const char *name)
{
    size_t len = strlen(name);
    for (const char *p = path; (p = strchr(p, '{')) != NULL;) {
        p++;
        if (strncmp(p, name, len) == 0 && strchr(".}", p[len]) != NULL) return true;
    }
    return false;
}

bool route_has_member(const struct route *r, const char *name)
{
    return !route_lists(r->without, slice_str(name)) && !is_in_path(r->path, name);
}

bool route_has_object(const struct route *r)
{
    return (r->methods & (HTTP_POST | HTTP_PUT)) != 0 && (r->body == NULL || r->body[0] != '*');
}

/* The parameter of that name; *is_list: it may be there several times. */
static bool has_parameter(const struct route *r, struct slice name, bool *is_list)
{
    const struct members *of = route_members(r);
    *is_list = false;
    if (route_lists(r->query, name)) return true;
    if (r->words == NULL || route_has_object(r)) return false;
    for (size_t i = 0; i < of->count; i++) {
        const struct member *m = &of->items[i];
        if (!route_has_member(r, m->name)) continue;
        *is_list = m->is_list;
        if (m->words < 2 && slice_eq(name, slice_str(m->name))) return true;
        for (size_t k = 0; m->words > 1 && k < m->words; k++) {
            if (slice_eq(name, slice_str(m->parts[k]))) return true;
        }
    }
    return false;
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool refuse_parameter(struct exchange *x, const char *before, struct slice name,
                             const char *after)
{
    exchange_fail(x, 400, "%s '%.*s'%s", before, (int)(name.len < 64 ? name.len : 64),
                  (const char *)name.data, after);
    return false;
}

static bool is_there_again(struct slice rest, struct slice name)
{
    struct slice other;
    struct slice value;
    while (http_query_next(&rest, &other, &value)) {
        if (slice_eq(other, name)) return true;
    }
    return false;
}

/* A parameter that means nothing here is a mistake: what it was to say would not be done. So is one
 * that is there twice and can be only one thing. */
static bool takes_query(struct exchange *x)
{
    struct slice rest = x->message->query;
    struct slice name;
    struct slice value;
    bool is_list;
    if ((x->route->flags & ROUTE_REST) == 0) return true;
    while (http_query_next(&rest, &name, &value)) {
        if (slice_eq(name, slice_str("_ticket"))) continue;
        if (!has_parameter(x->route, name, &is_list)) {
            return refuse_parameter(x, "unknown parameter", name, "");
        }
        if (!is_list && is_there_again(rest, name)) {
            return refuse_parameter(x, "the parameter", name, " is a duplicate");
        }
    }
    return true;
}

/* What a body was to say, of which entries a DELETE is for example, would not be done. */
static bool takes_body(struct exchange *x)
{
    if ((x->route->flags & ROUTE_BARE) == 0 || x->message->body.len == 0) return true;
    exchange_fail(x, 400, "this request must not have a body");
    return false;
}

bool route_takes(struct exchange *x)
{
    unsigned method = x->message->method;
    if (method == HTTP_OPTIONS) {
        answer_options(x, allow_text(x, (x->route != NULL ? methods_of(x) : 0) | HTTP_OPTIONS));
        return false;
    }
    if (x->route == NULL) {
        exchange_fail(x, 404, "ERR there is no resource %.*s",
                      (int)(x->path.len < 200 ? x->path.len : 200), (const char *)x->path.data);
        return false;
    }
    if ((x->route->methods & method) != 0) return takes_query(x) && takes_body(x);
    struct slice allow = allow_text(x, methods_of(x) | HTTP_OPTIONS);
    exchange_header(x, "allow", allow);
    exchange_fail(x, 405, "ERR method not allowed; this path supports %.*s", (int)allow.len,
                  (const char *)allow.data);
    return false;
}
