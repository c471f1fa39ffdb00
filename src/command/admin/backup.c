/* backup: BGSAVE, SAVE, LASTSAVE. A backup is one file in backup-dir with everything that was
 * committed when it was asked for, or a little later, as of one moment; a server starts with it
 * when it is called tupled.db in an otherwise empty directory (docs/durability.md).
 */
#include "request/backup.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/stamp.h"
#include "request/command.h"
#include "request/feature.h"
#include "request/shapes.h"
#include "request/table.h"

static void backup_open(struct env *env)
{
    struct backup *k = env->families.backup = mem_new(sizeof *k);
    *k = (struct backup){.last_s = clock_wall_ms() / 1000, .took_s = -1};
    buf_init(&k->path);
    waiter_list_init(&k->waiting);
}

/* None may be under way. */
static void backup_close(struct env *env)
{
    buf_fini(&env->families.backup->path);
    mem_free(env->families.backup);
    env->families.backup = NULL;
}

const struct feature backup_feature = {
    .open = backup_open,
    .close = backup_close,
};

static void on_done(struct backup_request *q)
{
    struct backup *k = q->arg;
    char stamp[STAMP_CHARS];
    int64_t now_us = clock_mono_us();
    k->is_running = false;
    k->took_s = (now_us - k->started_us) / 1000000;
    k->last_result = q->result;
    if (q->result == OK) {
        k->last_s = clock_wall_ms() / 1000;
        k->last_version = q->version;
        k->saves++;
        stamp_format(q->version, stamp);
        log_notice("backup: wrote %s, up to version %.*s, %lld ms", q->path, STAMP_CHARS, stamp,
                   (long long)(now_us - k->started_us) / 1000);
    } else {
        log_warning("backup: %s failed: %s", q->path, q->error.text);
    }
    waiter_wake_all(&k->waiting);
}

/* "<backup-dir>/tupled-<newest versionstamp>.db". */
static void name_file(struct env *env)
{
    struct backup *k = env->families.backup;
    struct backend *b = engine_backend(env->db->engine);
    char stamp[STAMP_CHARS];
    stamp_format(backend_version_newest(b), stamp);
    buf_clear(&k->path, SIZE_MAX);
    buf_printf(&k->path, "%s/tupled-%.*s.db", env->settings.backup_dir, STAMP_CHARS, stamp);
    buf_append_byte(&k->path, '\0');
    buf_require(&k->path);
}

struct parts {
    const char *dir;
    unsigned removed;
};

static void remove_part(void *arg, const char *name)
{
    struct parts *p = arg;
    struct buf path;
    struct error e;
    struct slice text = slice_str(name);
    const char *part = strstr(name, ".db.part");
    if (!slice_has_prefix(text, slice_str("tupled-")) || part == NULL) return;
    buf_init(&path);
    buf_printf(&path, "%s/%s", p->dir, name);
    buf_append_byte(&path, '\0');
    buf_require(&path);
    if (file_remove((char *)path.data, &e) == OK) {
        p->removed++;
    } else {
        log_warning("backup: %s", e.text);
    }
    buf_fini(&path);
}

void backup_remove_parts(const char *dir)
{
    struct parts p = {.dir = dir};
    struct error e;
    if (!file_exists(dir)) return;
    if (dir_list(dir, remove_part, &p, &e) != OK) log_warning("backup: %s", e.text);
    if (p.removed > 0) log_notice("backup: removed %u files of incomplete backups", p.removed);
}

static enum err backup_start(struct request *rq)
{
    struct env *env = rq->env;
    struct backup *k = env->families.backup;
    struct backend *b = engine_backend(env->db->engine);
    if (k->is_running) {
        return error_set(&rq->error, ERR_SYNTAX, "Background save already in progress");
    }
    name_file(env);
    k->request = (struct backup_request){
        .path = (const char *)k->path.data, .done = on_done, .arg = k};
    enum err r = backend_backup(b, &k->request, &rq->error);
    if (r != OK) return r;
    k->is_running = true;
    k->started_us = clock_mono_us();
    return OK;
}

/* SCHEDULE changes nothing: no other process is in the way. */
struct bgsave {
    bool is_scheduled;
};
ARGUMENTS(bgsave_arguments, struct bgsave, "[SCHEDULE]",
          ARG_FLAG(struct bgsave, is_scheduled, "SCHEDULE"));

static enum err bgsave_run(struct request *rq)
{
    enum err r = backup_start(rq);
    if (r == OK) resp_simple(rq->w, "Background saving started");
    return r;
}

const struct command cmd_bgsave = {
    .name = "bgsave",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_AUDITED,
    .group = "server",
    .summary = "Writes a consistent backup to backup-dir in the background.",
    .arguments = &bgsave_arguments,
    .run = bgsave_run,
};

struct saving {
    struct pending pending; /* first */
};

static void saving_free(struct pending *p)
{
    mem_free(p);
}

/* Unlike Redis, others are served meanwhile. */
static enum err save_run(struct request *rq)
{
    struct backup *k = rq->env->families.backup;
    struct saving *s = (struct saving *)rq->client->run.pending;
    if (s == NULL) {
        enum err r = backup_start(rq);
        if (r != OK) return r;
        s = mem_new(sizeof *s);
        s->pending.free = saving_free;
        rq->client->run.pending = &s->pending;
    }
    if (k->is_running) {
        waiter_add(&k->waiting, rq->waiter);
        return error_set(&rq->error, ERR_WAIT, "the backup is being made");
    }
    if (k->last_result != OK) {
        struct error failed = k->request.error;
        return error_set(&rq->error, k->last_result, "backup failed: %s", failed.text);
    }
    resp_simple(rq->w, "OK");
    return OK;
}

const struct command cmd_save = {
    .name = "save",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_AUDITED,
    .group = "server",
    .summary = "Writes a backup as BGSAVE does, and replies when it is complete.",
    .arguments = &no_arguments,
    .run = save_run,
};

static enum err lastsave_run(struct request *rq)
{
    resp_int(rq->w, rq->env->families.backup->last_s);
    return OK;
}

const struct command cmd_lastsave = {
    .name = "lastsave",
    .flags = CMD_FAST | CMD_ADMIN | CMD_DANGEROUS,
    .group = "server",
    .summary = "Returns the Unix time of the last backup, or of the start.",
    .arguments = &no_arguments,
    .run = lastsave_run,
};
