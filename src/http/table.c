/* table: all that can be asked for, as data: route.c finds it, and what it holds is called by
 * pointers.
 */
#include "http/route.h"

#include "http/ticket.h"

static const struct route core_routes[] = {
    ROUTE("/livez", HTTP_GET | HTTP_HEAD, ROUTE_OPEN | ROUTE_NODE, health_live_run),
    ROUTE("/readyz", HTTP_GET | HTTP_HEAD, ROUTE_OPEN | ROUTE_NODE, health_ready_run),
    ROUTE("/metrics", HTTP_GET | HTTP_HEAD, ROUTE_NODE, scrape_run),
    ROUTE("/ticket", HTTP_POST, 0, ticket_run),
    ROUTE("/", HTTP_POST, 0, api_command_run),
    ROUTE("/", HTTP_GET | HTTP_HEAD, ROUTE_STATIC, page_root_run),
    ROUTE("/ui", HTTP_GET | HTTP_HEAD, ROUTE_STATIC, page_to_run),
    ROUTE("/ui/commands.json", HTTP_GET | HTTP_HEAD, ROUTE_STATIC, commands_json_run),
    ROUTE("/ui/{file...}", HTTP_GET | HTTP_HEAD, ROUTE_STATIC, page_file_run),
    ROUTE("/connect", HTTP_POST, 0, connect_metadata_run),
    ROUTE("/connect/v2/snapshot_read", HTTP_POST, ROUTE_TOKEN, connect_read_run),
    ROUTE("/connect/v2/atomic_write", HTTP_POST, ROUTE_TOKEN, connect_write_run),
    ROUTE("/connect/eventual/snapshot_read", HTTP_POST, ROUTE_TOKEN | ROUTE_NODE, connect_read_run),
    ROUTE("/connect/eventual/watch", HTTP_POST, ROUTE_TOKEN, connect_watch_run),
    ROUTE("/connect/v2/watch", HTTP_POST, ROUTE_TOKEN, connect_watch_run),
    ROUTE("/pipeline", HTTP_POST, 0, api_pipeline_run),
    ROUTE("/multi-exec", HTTP_POST, 0, api_transaction_run),
    ROUTE("/subscribe/{channel...}", HTTP_GET | HTTP_POST, ROUTE_ACTS | ROUTE_TICKET,
          api_subscribe_run),
    ROUTE("/monitor", HTTP_GET | HTTP_POST, ROUTE_ACTS | ROUTE_TICKET, api_monitor_run),
    {.path = NULL},
};

/* Every other path is a command: GET /get/key. */
const struct route route_command = ROUTE("/{words...}", HTTP_GET | HTTP_POST, ROUTE_ACTS,
                                         api_path_run);

const struct route *const route_tables[] = {core_routes, rest_routes, NULL};
