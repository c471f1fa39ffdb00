/* table: all that can be asked for, as data: route.c finds it, and what it holds is called by
 * pointers.
 */
#include "http/route.h"

#include "http/ticket.h"

static const struct route core_routes[] = {
    {"/livez", HTTP_GET | HTTP_HEAD, ROUTE_OPEN | ROUTE_NODE, health_live_run, {0}},
    {"/readyz", HTTP_GET | HTTP_HEAD, ROUTE_OPEN | ROUTE_NODE, health_ready_run, {0}},
    {"/metrics", HTTP_GET | HTTP_HEAD, ROUTE_NODE, scrape_run, {0}},
    {"/ticket", HTTP_POST, 0, ticket_run, {0}},
    {"/", HTTP_POST, 0, api_command_run, {0}},
    {"/", HTTP_GET | HTTP_HEAD, ROUTE_STATIC, page_root_run, {0}},
    {"/ui", HTTP_GET | HTTP_HEAD, ROUTE_STATIC, page_to_run, {0}},
    {"/ui/*", HTTP_GET | HTTP_HEAD, ROUTE_STATIC, page_file_run, {0}},
    {"/connect", HTTP_POST, 0, connect_metadata_run, {0}},
    {"/connect/v2/snapshot_read", HTTP_POST, ROUTE_TOKEN, connect_read_run, {0}},
    {"/connect/v2/atomic_write", HTTP_POST, ROUTE_TOKEN, connect_write_run, {0}},
    {"/connect/eventual/snapshot_read", HTTP_POST, ROUTE_TOKEN | ROUTE_NODE, connect_read_run, {0}},
    {"/connect/eventual/watch", HTTP_POST, ROUTE_TOKEN, connect_watch_run, {0}},
    {"/connect/v2/watch", HTTP_POST, ROUTE_TOKEN, connect_watch_run, {0}},
    {"/pipeline", HTTP_POST, 0, api_pipeline_run, {0}},
    {"/multi-exec", HTTP_POST, 0, api_transaction_run, {0}},
    {"/subscribe/*", HTTP_GET | HTTP_POST, ROUTE_ACTS | ROUTE_TICKET, api_subscribe_run, {0}},
    {"/monitor", HTTP_GET | HTTP_POST, ROUTE_ACTS | ROUTE_TICKET, api_monitor_run, {0}},
    {NULL, 0, 0, NULL, {0}},
};

/* Every other path is a command: GET /get/key. */
const struct route route_command = {"/*", HTTP_GET | HTTP_POST, ROUTE_ACTS, api_path_run, {0}};

const struct route *const route_tables[] = {core_routes, rest_routes, NULL};
