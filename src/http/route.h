/* route: what there is to be asked for, file by file. */
#ifndef HTTP_ROUTE_H
#define HTTP_ROUTE_H

#include "http/http_int.h"

/* The text of the {name} of x->route's path, decoded. 0 = it has none, -1 = it cannot be. */
int route_part(struct exchange *x, const char *name, struct slice *out);
/* Is it one of the names of "name:type name:type", or "name name"? */
bool route_lists(const char *list, struct slice name);

/* table.c: the tables, each ended by a route without a path, and NULL; and what stands for every
 * other path, a command. */
extern const struct route *const route_tables[];
extern const struct route route_command;

/* health.c */
exchange_step health_live_run, health_ready_run;

/* api.c: commands as words in JSON. */
exchange_step api_command_run, api_pipeline_run, api_transaction_run, api_path_run;
/* Is x->path a command with its words? */
bool command_path_fits(const struct exchange *x);

/* api_events.c */
exchange_step api_subscribe_run, api_monitor_run;

/* connect.c, connect_watch.c: KV Connect. */
exchange_step connect_metadata_run, connect_read_run, connect_write_run, connect_watch_run;
/* connect_login.c: the first step of those that need a token: goes on with the route's as the user
 * and in the database of the token that came with the request, or answers 401. */
exchange_step connect_begin;

/* scrape.c */
exchange_step scrape_run;

/* commands_json.c */
exchange_step commands_json_run;

/* page.c */
exchange_step page_root_run, page_to_run, page_file_run;

#endif
