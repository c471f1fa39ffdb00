/* server_int: what server.c (start and stop), loop.c (turns) and settings.c (what settings mean
 * for the parts) share.
 */
#ifndef SERVER_SERVER_INT_H
#define SERVER_SERVER_INT_H

#include "base/host.h"
#include "net/net.h"
#include "server/server.h"
#include "server/service.h"
#include "session/session.h"

struct server {
    struct host host; /* of its threads, all */
    struct config *config;
    struct net *net;
    struct sessions *sessions;
    struct env env; /* its db is owned */
    struct service service;
    bool is_signalled;
    struct buf backup_dir; /* NUL-ended */
    unsigned umask_before; /* of whoever started it: the Unix socket keeps to it */
    bool is_any_port;      /* port 0 is any free one: for tests */
    size_t late_bytes_max; /* of watches, for tests; 0 = the default */
};

/* server.c: copies settings that commands look at into s->env; at the start and after a change. */
void env_apply_settings(struct server *s);

/* settings.c: what the settings say for each part. on_fatal and wake are the caller's to add. */
struct db_options settings_db(const struct server *s);
/* The hooks and counts are loop.c's to add. */
struct net_options settings_net(const struct server *s);
struct net_listen settings_listen(const struct server *s);
struct session_options settings_sessions(const struct server *s);
/* Makes sure of the descriptors that maxclients needs, or lowers the setting, with a line that says
 * so. */
void settings_limit_clients(struct server *s);
/* What commands ask of the server. */
extern const struct server_ops settings_ops;

/* loop.c: opens net, without listeners: from now on the database and the commands have their part
 * of each turn. */
void loop_open(struct server *s);

/* hangup.c: what SIGHUP is for. */
void hangup(struct server *s);

/* maxmemory-clients in bytes; 0 = no bound. */
uint64_t settings_client_memory(const struct server *s);

#endif
