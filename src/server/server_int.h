/* server_int: what server.c (start and stop) and settings.c (what settings mean for the parts)
 * share.
 */
#ifndef SERVER_SERVER_INT_H
#define SERVER_SERVER_INT_H

#include "base/host.h"
#include "net/net.h"
#include "server/server.h"

struct server {
    struct host host; /* of its threads, all */
    struct config *config;
    struct net *net;
    struct env env;        /* its db is owned */
    struct buf backup_dir; /* NUL-ended */
    unsigned umask_before; /* of whoever started it: the Unix socket keeps to it */
    bool is_any_port;      /* port 0 is any free one: for tests */
    size_t late_bytes_max; /* of watches, for tests; 0 = the default */
};

/* server.c: copies settings that commands look at into s->env; at the start and after a change. */
void env_apply_settings(struct server *s);

/* settings.c: what the settings say for each part. on_fatal and wake are the caller's to add. */
struct db_options settings_db(const struct server *s);
struct net_options settings_net(struct server *s);
/* Makes sure of the descriptors that maxclients needs, or lowers the setting, with a line that says
 * so. */
void settings_limit_clients(struct server *s);
/* Fills in env's calls about settings. */
void settings_fill_env(struct server *s);

/* maxmemory-clients in bytes; 0 = no bound. */
uint64_t settings_client_memory(const struct server *s);

#endif
