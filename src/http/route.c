/* route: what can be asked for, found in the tables (table.c) by path and method. */
#include "http/route.h"

#include "codec/json_lex.h"
#include "http/ticket.h"

/* In a pattern ':' is one part of the path, and '*' at its end anything. */
static bool fits(const char *pattern, struct slice path, struct slice *rest)
{
    size_t at = 0;
    *rest = slice_of(NULL, 0);
    for (; *pattern != '\0'; pattern++) {
        bool is_free = *pattern == '*' || *pattern == ':';
        if (is_free && rest->data == NULL) *rest = slice_of(path.data + at - 1, path.len - at + 1);
        if (*pattern == '*') return true;
        if (is_free) {
            size_t from = at;
            while (at < path.len && path.data[at] != '/') at++;
            if (at == from) return false;
            continue;
        }
        if (at == path.len || path.data[at] != (uint8_t)*pattern) return false;
        at++;
    }
    return at == path.len;
}

static bool fits_route(const struct exchange *x, const struct route *r, struct slice *rest)
{
    struct slice path = x->path;
    if ((r->flags & ROUTE_REST) != 0) {
        struct slice base = slice_str(x->http->options.rest_base);
        if (!slice_has_prefix(path, base)) return false;
        path = slice_of(path.data + base.len, path.len - base.len);
    }
    return fits(r->path, path, rest);
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

/* Is it one of the names of "name:type name:type"? */
static bool is_listed(const char *list, struct slice name)
{
    while (*list != '\0') {
        size_t len = strcspn(list, ":");
        if (len == name.len && memcmp(list, name.data, len) == 0) return true;
        list += strcspn(list, " ");
        list += strspn(list, " ");
    }
    return false;
}

/* A parameter that means nothing here is a mistake: what it was to say would not be done. */
static bool takes_query(struct exchange *x)
{
    struct slice rest = x->message->query;
    struct slice name;
    struct slice value;
    if ((x->route->flags & ROUTE_REST) == 0) return true;
    while (http_query_next(&rest, &name, &value)) {
        if (slice_eq(name, slice_str("_ticket"))) continue;
        const char *query = x->route->doc.query;
        if (query != NULL && is_listed(query, name)) continue;
        exchange_fail(x, 400, "there is no parameter '%.*s' here",
                      (int)(name.len < 64 ? name.len : 64), (const char *)name.data);
        return false;
    }
    return true;
}

/* What a body was to say, of which entries a DELETE is for example, would not be done. */
static bool takes_body(struct exchange *x)
{
    if ((x->route->flags & ROUTE_BARE) == 0 || x->message->body.len == 0) return true;
    exchange_fail(x, 400, "this request has no body");
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
        exchange_fail(x, 404, "ERR there is nothing at %.*s",
                      (int)(x->path.len < 200 ? x->path.len : 200), (const char *)x->path.data);
        return false;
    }
    if ((x->route->methods & method) != 0) return takes_query(x) && takes_body(x);
    struct slice allow = allow_text(x, methods_of(x) | HTTP_OPTIONS);
    exchange_header(x, "allow", allow);
    exchange_fail(x, 405, "ERR this path does not take that method, but %.*s", (int)allow.len,
                  (const char *)allow.data);
    return false;
}
