/* begin: a request before its route runs: the database in its path, the route, the page that may
 * ask, the user, the database that is selected.
 */
#include "http/login.h"
#include "http/route.h"
#include "request/selected.h"

static void selected(struct exchange *x)
{
    if (exchange_fails(x)) return;
    buf_clear(&x->reply, SIZE_MAX);
    x->step = x->route->run;
}

/* Its user is known: the database, then the route's own. */
static void logged_in(struct exchange *x)
{
    struct slice database = exchange_database(x);
    buf_clear(&x->reply, SIZE_MAX);
    if (database.data == NULL && x->client.database == 0) {
        x->step = x->route->run;
        return;
    }
    if (database.data == NULL) database = slice_str("0");
    struct slice *argv = exchange_argv(x, 2);
    argv[0] = slice_str("SELECT");
    argv[1] = database;
    exchange_command(x, argv, 2, selected);
}

/* /db/<name>/... : the name is taken off. False: answered. */
static bool take_database(struct exchange *x)
{
    struct slice rest = x->path;
    if (!slice_has_prefix(rest, slice_str("/db/"))) return true;
    (void)http_path_part(&rest);
    struct slice name = http_path_part(&rest);
    if (name.len == 0 || !http_decode(name, false, &x->arena, &x->database)) {
        exchange_fail(x, 400, "ERR the name of the database after /db/ is missing");
        return false;
    }
    x->path = rest.len > 0 ? rest : slice_str("/");
    return true;
}

static bool check_origin(struct exchange *x)
{
    struct http *h = x->http;
    const struct route *route = x->route;
    struct origin_rules rules = {.allowed_hosts = h->options.allowed_hosts,
                                 .allowed_origins = h->options.allowed_origins,
                                 .own_name = h->own.text};
    struct origin_asked asked = {.message = x->message,
                                 .host = session_host(x->session, x->message),
                                 .is_secure = session_is_secure(x->session, x->message),
                                 .is_open = route != NULL && (route->flags & ROUTE_OPEN) != 0,
                                 .may_act = route == NULL || (route->flags & ROUTE_ACTS) != 0,
                                 .is_static = route != NULL && (route->flags & ROUTE_STATIC) != 0};
    struct http_refusal no = origin_check(&rules, &asked, &x->cors);
    if (no.status == 0) return true;
    exchange_fail(x, no.status, "ERR %s", no.text);
    return false;
}

/* A node that stands by passes whole connections on, by the first request (session.c). */
static bool is_here(struct exchange *x)
{
    if (!x->http->env->node.stands_by || (x->route->flags & ROUTE_NODE) != 0) return true;
    x->session->reader.keeps_alive = false;
    exchange_fail(x, 503, "TRYAGAIN this node is not the leader: reconnect");
    return false;
}

void exchange_begin(struct exchange *x, const struct http_message *m)
{
    exchange_start(x, m);
    if (!take_database(x)) return;
    x->route = route_match(x);
    if (!check_origin(x)) return;
    if (!route_takes(x) || !is_here(x)) return;
    if ((x->route->flags & ROUTE_TOKEN) != 0) {
        x->step = connect_begin;
    } else if ((x->route->flags & (ROUTE_OPEN | ROUTE_STATIC)) != 0) {
        x->step = x->route->run;
    } else {
        login_begin(x, logged_in);
    }
}
