#include "fuzz/env_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "request/observe.h"
#include "unit/db/db_help.h"

static char dir[64];

static void on_shutdown(void *server)
{
    (void)server;
}

static size_t config_none(void *server)
{
    (void)server;
    return 0;
}

static const char *config_unnamed(void *server, size_t i)
{
    (void)server;
    (void)i;
    return "none";
}

static bool config_fixed(void *server, size_t i)
{
    (void)server;
    (void)i;
    return false;
}

static void config_always(void *server, size_t i, struct buf *out)
{
    (void)server;
    (void)i;
    buf_append_str(out, "always");
}

static enum err rewrite_none(void *server, struct error *e)
{
    (void)server;
    return error_set(e, ERR_SYNTAX, "no file");
}

static enum err no_aclfile(void *server, struct error *e)
{
    (void)server;
    return error_set(e, ERR_SYNTAX, "no file");
}

static void remove_dir(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command) != 0) perror("rm");
}

static const struct server_ops server_ops = {
    .shutdown = on_shutdown,
    .config_count = config_none,
    .config_name = config_unnamed,
    .config_is_mutable = config_fixed,
    .config_value = config_always,
    .config_rewrite = rewrite_none,
    .acl_load = no_aclfile,
    .acl_save = no_aclfile,
};

void env_start(struct env *env, const char *name)
{
    struct error e = {.text = ""};
    snprintf(dir, sizeof dir, "/dev/shm/fuzz-%s-%d", name, (int)getpid());
    atexit(remove_dir);
    struct db_options options = small_db(dir);
    options.pipeline.write_buffer_bytes = 16 << 20;
    options.pipeline.cache_bytes = 64 << 10;
    options.local.durability = DURABILITY_NEVER;
    options.local.segment_bytes = 4 << 20;
    options.engine.value_bytes_max = options.engine.txn_bytes_max = 1 << 20;
    options.engine.ops_max = 200;
    options.engine.expire_batch = 100;
    options.engine.idem_window_ms = 60000;
    struct db *db = NULL;
    if (db_open(&options, &db, &e) != OK) small_fatal(NULL, &e);
    *env = (struct env){.db = db,
                        .server = {.ops = &server_ops,
                                   .about = {.version = "0", .config_file = "", .executable = ""}},
                        .settings = {.queue_prefetch = 16,
                                     .databases = 16,
                                     .clients_max = 100,
                                     .backup_dir = "/proc/nowhere"}};
    env->clients.list.next = env->clients.list.prev = &env->clients.list;
    command_init(env);
}

void env_turn(struct env *env)
{
    command_turn(env);
    (void)db_turn_end(env->db);
    db_poll(env->db);
    db_tick(env->db);
    command_tick(env);
}
