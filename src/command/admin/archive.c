/* archive: KV.ARCHIVE: base backups on request, and what the archive has
 * (db/archiving.h, docs/archive.md).
 */
#include "base/mem.h"
#include "db/archiving.h"
#include "engine/stamp.h"
#include "request/command.h"
#include "request/shapes.h"
#include "request/table.h"

static enum err archive_check(struct request *rq)
{
    if (rq->env->db->archiving != NULL) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "no archive: archive-dir is not set");
}

struct waiting_base {
    struct pending pending; /* first */
    uint64_t number;
};

static void waiting_free(struct pending *p)
{
    mem_free(p);
}

static enum err base_run(struct request *rq)
{
    struct archiving *k = rq->env->db->archiving;
    struct waiting_base *s = (struct waiting_base *)rq->client->run.pending;
    char stamp[STAMP_CHARS];
    uint64_t version = 0;
    enum err r = archive_check(rq);
    if (r != OK) return r;
    if (s == NULL) {
        s = mem_new(sizeof *s);
        s->pending.free = waiting_free;
        s->number = archiving_base(k);
        rq->client->run.pending = &s->pending;
    }
    r = archiving_base_ended(k, s->number, &version, rq->waiter, &rq->error);
    if (r != OK) return r;
    stamp_format(version, stamp);
    resp_bulk(rq->w, slice_of(stamp, STAMP_CHARS));
    return OK;
}

static void reply_stamp(struct request *rq, const char *name, uint64_t version)
{
    char stamp[STAMP_CHARS];
    stamp_format(version, stamp);
    resp_bulk_str(rq->w, name);
    resp_bulk(rq->w, slice_of(stamp, STAMP_CHARS));
}

static enum err info_run(struct request *rq)
{
    struct archiving_stats a;
    enum err r = archive_check(rq);
    if (r != OK) return r;
    archiving_stats(rq->env->db->archiving, &a);
    const struct archive_stats *s = &a.archive;
    const struct {
        const char *name;
        int64_t value;
    } rows[] = {{"timeline", a.timeline},     {"segments", (int64_t)s->segments},
                {"bases", (int64_t)s->bases}, {"bytes", (int64_t)s->bytes},
                {"time-ms", s->time_ms},      {"base-ms", s->base_ms},
                {"next-base-ms", a.next_ms},  {"failures", (int64_t)s->failures}};
    size_t count = sizeof rows / sizeof rows[0];
    resp_map(rq->w, count + 4);
    for (size_t i = 0; i < count; i++) {
        resp_bulk_str(rq->w, rows[i].name);
        resp_int(rq->w, rows[i].value);
    }
    reply_stamp(rq, "version", s->version);
    reply_stamp(rq, "base-version", s->base_version);
    resp_bulk_str(rq->w, "status");
    resp_bulk_str(rq->w, s->is_failing ? "failing" : "ok");
    resp_bulk_str(rq->w, "error");
    resp_bulk_str(rq->w, s->is_failing ? s->error : "");
    return OK;
}

static const struct command sub_base = {
    .name = "base",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_NO_MULTI | CMD_FORMAT | CMD_AUDITED,
    .group = "server",
    .summary = "Writes a base backup to archive-dir.",
    .arguments = &no_arguments,
    .reply = "The versionstamp that the backup includes, once it is complete.",
    .run = base_run,
};

static const struct command sub_info = {
    .name = "info",
    .flags = CMD_ADMIN | CMD_DANGEROUS | CMD_FORMAT,
    .group = "server",
    .summary = "Returns what the archive contains and how far it reaches.",
    .arguments = &no_arguments,
    .reply =
        "A map, or a flat array in RESP2: timeline of this database; segments, bases and bytes of "
        "all timelines; version and time-ms of the last commit in the archive; base-version and "
        "base-ms of the newest base backup; next-base-ms by backup-schedule, 0 if there is none; "
        "status (ok, failing); error; failures.",
    .run = info_run,
};

COMMAND_HELP("server", 0);

static const struct command *const archive_subcommands[] = {&sub_base, &sub_help, &sub_info, NULL};

const struct command kv_archive = {
    .name = "kv.archive",
    .group = "server",
    .summary = "A container for commands about the archive, from which the state at any commit "
               "can be restored.",
    .arguments = &container_arguments,
    .brief = "<BASE | INFO>",
    .subcommands = archive_subcommands,
};
