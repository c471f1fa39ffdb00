/* command: the commands, from parsed arguments to a reply. One table (table.c) dispatches them and
 * is what COMMAND tells. A command is one `const struct command` above its function; nothing here
 * knows sockets.
 *
 * A command function reads rq->argv, writes its reply through rq->w, raises rq->depends to the
 * newest version its answer depends on, and returns OK; or ERR_WAIT after the backend took
 * rq->waiter (what it wrote is dropped and it is called again with the same arguments when the
 * waiter is told); or another error, described in rq->error (what it wrote is dropped and the error
 * is the reply).
 *
 * What must survive from one call to the next is kept in client->pending, whose owner is the
 * command.
 */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "base/arena.h"
#include "engine/engine.h"
#include "resp/writer.h"

enum format { FORMAT_JSON, FORMAT_MSGPACK };

struct env;
struct client;

/* State of a command that takes several turns. */
struct pending {
    void (*free)(struct pending *p); /* also called when the client goes away */
};

#define CLIENT_NAME_MAX 128

/* What the commands know of a connection. The first part is theirs, the second is net's to fill. */
struct client {
    uint64_t id;
    uint8_t database;
    int proto; /* 2 or 3 */
    enum format format;
    char name[CLIENT_NAME_MAX];
    char lib_name[CLIENT_NAME_MAX];
    char lib_version[CLIENT_NAME_MAX];
    struct pending *pending; /* owned; NULL = none */
    const struct command *last_command;
    const struct command *last_parent; /* when that is a subcommand; else NULL */
    bool closes_after_reply;           /* QUIT, or a protocol error */
    bool is_waiting;                   /* its command is parked */

    struct client *next, *prev; /* env->clients */
    char address[96];           /* host:port */
    char local_address[96];
    bool is_local;
    int fd;
    int64_t created_ms;
    int64_t active_ms; /* of its last command */
    size_t input_bytes, output_bytes;
};

struct env_stats {
    uint64_t connections, commands, rejected, errors, net_in_bytes, net_out_bytes;
    uint64_t reads, writes, hits, misses, protocol_errors;
};

/* What the commands need of the server; `server` fills it in. Calls go upward by these pointers. */
struct env {
    struct engine *engine;
    const char *version;
    const char *config_file; /* "" = none */
    const char *executable;
    uint16_t port;
    uint8_t databases;
    enum format default_format;
    uint64_t clients_max;
    bool debug_is_allowed;
    bool debug_is_local;
    char run_id[41];
    int64_t started_ms;
    struct client clients; /* head of the circular list */
    uint64_t client_count;
    uint64_t waiting_count;
    struct env_stats stats;
    void *server; /* argument of the calls below */
    void (*client_close)(void *server, struct client *c);
    void (*shutdown)(void *server);
    size_t (*config_count)(void *server);
    const char *(*config_name)(void *server, size_t i);
    void (*config_value)(void *server, size_t i, struct buf *out);
};

struct request {
    struct env *env;
    struct client *client;
    const struct command *command;
    struct slice *argv;
    size_t argc;
    struct arena *arena; /* until the reply is written */
    struct buf *scratch; /* cleared by whoever uses it */
    struct resp_writer *w;
    struct waiter *waiter;
    uint64_t depends;
    struct error error;
};

enum command_flag {
    CMD_READ = 1 << 0,
    CMD_WRITE = 1 << 1,
    CMD_ADMIN = 1 << 2,
    CMD_FAST = 1 << 3,
    CMD_NO_AUTH = 1 << 4,
    CMD_CONNECTION = 1 << 5,
    CMD_DANGEROUS = 1 << 6,
    CMD_KEYSPACE = 1 << 7,
};

struct command {
    const char *name;                  /* lower case; of a subcommand its own part */
    int arity;                         /* number of words with the name; negative = at least */
    unsigned flags;                    /* enum command_flag */
    int first_key, last_key, key_step; /* as COMMAND INFO; 0 = no keys in fixed places */
    const char *group;                 /* of COMMAND DOCS */
    const char *since;                 /* first version of this server */
    const char *summary;               /* one line */
    const char *syntax; /* of the arguments, in the notation of Redis's manual; "" = none */
    enum err (*run)(struct request *rq);
    const struct command *const *subcommands; /* NULL-ended, or NULL */
};

/* Every command, NULL-ended, sorted by name. */
extern const struct command *const command_table[];
size_t command_count(void);
/* By name in any case; NULL when there is none. */
const struct command *command_find(struct slice name);
const struct command *command_find_sub(const struct command *c, struct slice name);

void client_init(struct client *c, struct env *env);
/* Drops what a command left pending. */
void client_drop_pending(struct client *c);
void client_fini(struct client *c, struct env *env);

/* Runs one command: OK = a reply (maybe an error) was appended to rq->w->out, ERR_WAIT = parked. */
enum err command_run(struct request *rq);

#endif
