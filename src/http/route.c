/* route: the table of what can be asked for, by path and method. */
#include "http/route.h"

#include "http/rest.h"

#include "codec/json_lex.h"
#include "http/ticket.h"

static const struct route core_routes[] = {
    {"/livez", HTTP_GET | HTTP_HEAD, ROUTE_OPEN, health_live_run},
    {"/readyz", HTTP_GET | HTTP_HEAD, ROUTE_OPEN, health_ready_run},
    {"/metrics", HTTP_GET | HTTP_HEAD, 0, scrape_run},
    {"/ticket", HTTP_POST, 0, ticket_run},
    {"/", HTTP_POST, 0, api_command_run},
    {"/", HTTP_GET | HTTP_HEAD, ROUTE_STATIC, page_root_run},
    {"/ui", HTTP_GET | HTTP_HEAD, ROUTE_STATIC, page_to_run},
    {"/ui/*", HTTP_GET | HTTP_HEAD, ROUTE_STATIC, page_file_run},
    {"/pipeline", HTTP_POST, 0, api_pipeline_run},
    {"/multi-exec", HTTP_POST, 0, api_transaction_run},
    {"/subscribe/*", HTTP_GET | HTTP_POST, ROUTE_ACTS | ROUTE_TICKET, api_subscribe_run},
    {"/monitor", HTTP_GET | HTTP_POST, ROUTE_ACTS | ROUTE_TICKET, api_monitor_run},
    {NULL, 0, 0, NULL},
};

/* Every other path is a command: GET /get/key. */
static const struct route command_path = {"/*", HTTP_GET | HTTP_POST, ROUTE_ACTS, api_path_run};

#define R ROUTE_REST
#define SAFE (HTTP_GET | HTTP_HEAD)

/* Below rest-base. */
static const struct route rest_routes[] = {
    {"/keys", SAFE, R, rest_list_run},
    {"/keys", HTTP_DELETE, R, rest_delete_all_run},
    {"/keys/", HTTP_DELETE, R, rest_delete_all_run},
    {"/keys/list", HTTP_POST, R, rest_list_body_run},
    {"/keys/count", SAFE, R, rest_count_run},
    {"/keys/paginate", SAFE, R, rest_paginate_run},
    {"/keys/batch", HTTP_POST, R, rest_batch_run},
    {"/keys/delete-batch", HTTP_POST, R, rest_delete_batch_run},
    {"/keys/*", SAFE, R, rest_get_run},
    {"/keys/*", HTTP_PUT, R, rest_put_run},
    {"/keys/*", HTTP_DELETE, R, rest_delete_run},
    {"/atomic", HTTP_POST, R, rest_atomic_run},
    {"/watch", HTTP_GET, R | ROUTE_TICKET, rest_watch_run},
    {"/watch/poll", SAFE, R, rest_watch_poll_run},
    {"/watch/prefix", HTTP_GET, R | ROUTE_TICKET, rest_watch_prefix_run},
    {"/watch/prefix/poll", SAFE, R, rest_watch_prefix_poll_run},
    {"/queue/enqueue", HTTP_POST, R, rest_enqueue_run},
    {"/queue/listen", HTTP_GET, R | ROUTE_ACTS | ROUTE_TICKET, rest_listen_run},
    {"/queue/poll", HTTP_GET, R | ROUTE_ACTS, rest_poll_run},
    {"/queue/ack", HTTP_POST, R, rest_ack_run},
    {"/queue/nack", HTTP_POST, R, rest_nack_run},
    {"/queue/stats", SAFE, R, rest_stats_run},
    {"/queue/dlq", SAFE, R, rest_dead_list_run},
    {"/queue/dlq", HTTP_DELETE, R, rest_dead_purge_run},
    {"/queue/dlq/*", SAFE, R, rest_dead_get_run},
    {"/queue/dlq/*", HTTP_POST, R, rest_dead_requeue_run},
    {"/queue/dlq/*", HTTP_DELETE, R, rest_dead_delete_run},
    {"/indexes", HTTP_POST, R, rest_index_create_run},
    {"/indexes", SAFE, R, rest_index_list_run},
    {"/indexes", HTTP_DELETE, R, rest_index_drop_run},
    {"/search", SAFE, R, rest_search_run},
    {"/search", HTTP_POST, R, rest_search_body_run},
    {NULL, 0, 0, NULL},
};

static const struct route *const tables[] = {core_routes, rest_routes, NULL};

static bool fits(const char *pattern, struct slice path, struct slice *rest)
{
    size_t len = strlen(pattern);
    if (len >= 2 && strcmp(pattern + len - 2, "/*") == 0) {
        if (path.len < len - 1 || memcmp(path.data, pattern, len - 1) != 0) return false;
        *rest = slice_of(path.data + len - 2, path.len - len + 2);
        return true;
    }
    return path.len == len && memcmp(path.data, pattern, len) == 0;
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
    const struct route *r = from == NULL ? tables[*table] : from + 1;
    for (;; r++) {
        while (r->path == NULL) {
            r = tables[++*table];
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
    return methods != 0 ? methods : command_path.methods;
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
    return command_path_fits(x) ? &command_path : NULL;
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
                        slice_str("authorization, content-type, last-event-id, tupled-database, "
                                  "upstash-encoding, upstash-telemetry-runtime, "
                                  "upstash-telemetry-platform, upstash-telemetry-sdk, "
                                  "upstash-response-format, upstash-sync-token"));
        exchange_header(x, "access-control-max-age", slice_str("600"));
    }
    exchange_answer(x, 204, NULL, slice_of(NULL, 0));
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
    if ((x->route->methods & method) != 0) return true;
    exchange_header(x, "allow", allow_text(x, methods_of(x) | HTTP_OPTIONS));
    exchange_fail(x, 405, "ERR this path does not take that method");
    return false;
}
