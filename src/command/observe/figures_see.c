/* figures_see: fills in struct figures, and reads its members. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "command/observe/figures.h"
#include "request/backup.h"
#include "request/lines.h"
#include "request/stats.h"

/* ---- members ---- */

int64_t figure_number(const struct figures *f, struct figure_place x)
{
    const void *at = (const char *)f + x.offset;
    switch (x.kind) {
    case FIGURE_BOOL: return *(const bool *)at;
    case FIGURE_U16: return *(const uint16_t *)at;
    case FIGURE_I64: return *(const int64_t *)at;
    case FIGURE_U64: return (int64_t) * (const uint64_t *)at;
    default: return 0;
    }
}

void figure_write(const struct figures *f, struct figure_place x, struct buf *out)
{
    const void *at = (const char *)f + x.offset;
    switch (x.kind) {
    case FIGURE_U64: buf_append_u64(out, *(const uint64_t *)at); break;
    case FIGURE_DOUBLE: buf_printf(out, "%.2f", *(const double *)at); break;
    case FIGURE_TEXT: buf_append_str(out, *(const char *const *)at); break;
    case FIGURE_CHARS: buf_append_str(out, at); break;
    default: buf_append_i64(out, figure_number(f, x)); break;
    }
}

bool figure_is_shown(const struct figures *f, const struct figure *x)
{
    return x->when.kind == FIGURE_NONE || figure_number(f, x->when) != 0;
}

/* ---- the process ---- */

static uint64_t microseconds(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

static void see_process(struct figures *f, const struct env *env)
{
    struct rusage usage;
    struct utsname name;
    getrusage(RUSAGE_SELF, &usage);
    uname(&name);
    snprintf(f->os, sizeof f->os, "%s %s %s", name.sysname, name.release, name.machine);
    f->redis_version = redis_version(env);
    f->process_id = (uint64_t)getpid();
    f->user_us = microseconds(&usage.ru_utime);
    f->system_us = microseconds(&usage.ru_stime);
    f->resident = memory_resident();
    f->resident_max = memory_resident_peak();
    f->up_s = (clock_wall_ms() - f->about.started_ms) / 1000;
    f->up_days = f->up_s / 86400;
    f->tls_port = env->server.tls != NULL ? env->server.tls->port : 0;
    f->port = f->about.port != 0 ? f->about.port : f->tls_port;
}

/* Negative when it has ended. */
static int64_t days_left(int64_t end_s)
{
    int64_t left_s = end_s - clock_wall_ms() / 1000;
    return left_s < 0 ? (left_s - 86399) / 86400 : left_s / 86400;
}

static void see_tls(struct figures *f, const struct tls_status *t)
{
    if (t == NULL || !t->is_on) return;
    f->tls = *t;
    f->certificate_days = days_left(t->cert_not_after_s);
    f->ca_days = days_left(t->ca_not_after_s);
}

/* ---- clients ---- */

static double kilobytes(uint64_t bytes)
{
    return (double)bytes / 1024;
}

static void see_traffic(struct figures *f, const struct env *env)
{
    f->stats = env->stats;
    f->clients = env->clients.count;
    f->clients_waiting = env->clients.waiting;
    f->clients_bytes = env->memory.clients;
    f->audit_failures = env->audit.failures;
    f->commands_rate = stats_rate(env, RATE_COMMANDS);
    f->in_kbps = kilobytes(stats_rate(env, RATE_INPUT_BYTES));
    f->out_kbps = kilobytes(stats_rate(env, RATE_OUTPUT_BYTES));
    tracking_count(env, &f->tracking);
    for (enum pubsub_kind i = 0; i < PUBSUB_KINDS; i++) {
        f->subscribed[i] = pubsub_names(env->pubsub, i);
    }
    for (enum access_log_reason i = 0; i < ACCESS_LOG_REASONS; i++) {
        f->denied[i] = access_log_total(env->users.refused, i);
    }
}

void figures_see_clients(struct figures *f, const struct env *env)
{
    for (const struct client *c = env->clients.list.next; c != &env->clients.list; c = c->next) {
        if (c->link->input_bytes > f->input_max) f->input_max = c->link->input_bytes;
        if (c->link->output_bytes > f->output_max) f->output_max = c->link->output_bytes;
        f->watching += c->txn.watched != NULL;
        f->listening += client_subscriptions(c) > 0;
    }
}

/* ---- the data ---- */

static void see_health(struct figures *f)
{
    static const char *const words[HEALTH_WORDS] = {"ok", "damaged", "store-failing", "disk-full"};
    const struct backend_stats *s = &f->backend;
    int at = s->damaged_reads > 0 || s->aside_entries > 0;
    if (s->is_store_failing) at = 2;
    if (s->is_disk_full) at = 3;
    f->health = words[at];
    f->is_health[at] = true;
}

static void see_data(struct figures *f, const struct env *env)
{
    const struct db *db = env->db;
    const struct backend_stats *s = &f->backend;
    struct databases_totals databases;
    size_t bytes = 0;
    size_t counted = 0;
    f->collections = collections_spread(db->collections, &bytes);
    f->collections_bytes = bytes;
    f->counted_bytes = collections_counted(db->collections, &counted);
    f->counted = counted;
    f->lines = lines_counts(env);
    f->scripts = *env->families.script_counts;
    backend_stats(engine_backend(db->engine), &f->backend);
    queues_totals(db->queues, &f->queues);
    indexes_totals(db->indexes, &f->indexes);
    databases_totals(db->databases, &databases);
    f->is_loading = f->queues.is_reading || f->indexes.is_reading || databases.is_reading;
    f->is_frozen = db->is_frozen;
    f->queues_are_held = queues_are_held(db->queues);
    f->unsynced = s->version > s->durable ? s->version - s->durable : 0;
    f->expired_ever = engine_expired_count(db->engine);
    f->expired = f->expired_ever - env->stats.expired_before;
    f->request_ids = engine_idem_count(db->engine);
    f->watches = watch_count(db->watch);
    stamp_format(s->durable, f->durable);
    see_health(f);
}

static void see_archive(struct figures *f, const struct archiving *archiving)
{
    const struct archive_stats *s = &f->archiving.archive;
    if (archiving != NULL) archiving_stats(archiving, &f->archiving);
    if (archiving != NULL) stamp_format(s->version, f->archive_version);
    f->has_archive = archiving != NULL;
    f->archive_status = s->is_failing ? "failing" : "ok";
    f->archive_error = s->is_failing ? s->error : "";
    f->archive_s = s->time_ms / 1000;
    f->archive_base_s = s->base_ms / 1000;
}

static void see_backup(struct figures *f, const struct backup *k)
{
    uint64_t version = f->backend.version;
    f->backup_is_running = k->is_running;
    f->backup_failed = k->last_result != OK;
    f->backup_s = k->last_s;
    f->backup_took_s = k->took_s;
    f->backup_now_s = k->is_running ? (clock_mono_us() - k->started_us) / 1000000 : -1;
    f->backups = k->saves;
    f->unsaved = version > k->last_version ? version - k->last_version : 0;
    f->backup_file = k->path.len > 0 ? (const char *)k->path.data : "";
    f->backup_error = k->last_result == OK ? "" : k->request.error.text;
    if (k->saves > 0) stamp_format(k->last_version, f->backup_version);
}

void figures_see(struct figures *f, struct env *env)
{
    *f = (struct figures){.about = env->server.about, .settings = env->settings};
    see_process(f, env);
    see_tls(f, env->server.tls);
    see_traffic(f, env);
    see_data(f, env);
    see_archive(f, env->db->archiving);
    see_backup(f, env->families.backup);
}
