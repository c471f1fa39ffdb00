/* archiving: decides in each look whether a base backup is due (the schedule, a gap, a request),
 * and takes it through its states. A base that was asked for while one is under way is the next
 * one: the one under way may have begun before what is to be in it. */
#include "db/archiving.h"

#include "backend/local/lineage.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"
#include "db/db.h"
#include "search/text_ops.h"

#define LOOK_US 1000000
#define RETRY_US 60000000

enum archiving_state { ARCHIVING_IDLE, ARCHIVING_COPYING, ARCHIVING_TAKING };

struct archiving {
    struct db *db;
    struct archiving_options options;
    enum archiving_state state;
    bool is_wanted; /* since the last one began */
    bool is_stopping;
    struct backup_request copy;
    struct archive_base base;
    struct buf path; /* NUL-ended */
    int64_t looked_us, failed_us;
    int64_t next_ms; /* 0 = not known yet, or never */
    uint64_t ended;  /* good or not */
    enum err result; /* of the last one */
    struct error error;
    struct waiter_list waiting;
};

static void state_move(struct archiving *k, enum archiving_state to)
{
    static const struct machine machine = {
        .name = "archiving",
        .states = {"idle", "copying", "taking"},
        .allowed = {[ARCHIVING_IDLE] = TO(ARCHIVING_COPYING),
                    [ARCHIVING_COPYING] = TO(ARCHIVING_TAKING) | TO(ARCHIVING_IDLE),
                    [ARCHIVING_TAKING] = TO(ARCHIVING_IDLE)},
    };
    MACHINE_MOVE(&machine, k, state, to);
}

struct archiving *archiving_new(struct db *db, const struct archiving_options *options)
{
    if (db->archive == NULL) return NULL;
    struct archiving *k = mem_new(sizeof *k);
    k->db = db;
    k->options = *options;
    buf_init(&k->path);
    waiter_list_init(&k->waiting);
    return k;
}

void archiving_set_options(struct archiving *k, const struct archiving_options *options)
{
    if (k != NULL) k->options = *options;
}

void archiving_stop(struct archiving *k)
{
    if (k == NULL) return;
    k->is_stopping = true;
    waiter_drop_all(&k->waiting);
}

void archiving_free(struct archiving *k)
{
    if (k == NULL) return;
    mem_free(k->base.about.without);
    buf_fini(&k->path);
    mem_free(k);
}

/* ---- one base backup ---- */

static void base_end(struct archiving *k, enum err result, const struct error *e)
{
    state_move(k, ARCHIVING_IDLE);
    k->ended++;
    k->result = result;
    k->failed_us = 0;
    if (result == OK) {
        log_notice("archive: wrote a base backup, up to version %016llx0000",
                   (unsigned long long)k->base.about.version);
    } else {
        k->error = *e;
        k->failed_us = clock_mono_us();
        log_warning("archive: cannot write a base backup: %s", e->text);
    }
    waiter_wake_all(&k->waiting);
}

static void on_taken(struct archive_base *b)
{
    base_end(b->arg, b->result, &b->error);
}

/* Those of whom base backups have nothing; and how many are to be kept at least. */
static void choose_databases(struct archiving *k)
{
    struct databases *all = k->db->databases;
    struct archive_base *b = &k->base;
    const struct database *d;
    mem_free(b->about.without);
    b->about.without = NULL;
    b->about.without_count = 0;
    b->keep = 1;
    for (uint32_t i = 0; (d = database_next(all, &i)) != NULL; i++) {
        if (d->limits.keep > b->keep) b->keep = (unsigned)d->limits.keep;
        if (!d->limits.is_left_out) continue;
        size_t bytes = (b->about.without_count + 1) * sizeof b->about.without[0];
        b->about.without = mem_resize(b->about.without, bytes);
        b->about.without[b->about.without_count++] = d->number;
    }
}

static void on_copied(struct backup_request *q)
{
    struct archiving *k = q->arg;
    struct archive_base *b = &k->base;
    if (q->result == OK && k->is_stopping) {
        q->result = error_set(&q->error, ERR_IO, "the server is stopping");
    }
    if (q->result != OK) {
        base_end(k, q->result, &q->error);
        return;
    }
    b->path = (const char *)k->path.data;
    b->about.version = q->version;
    b->about.time_ms = q->time_ms;
    b->retention_ms = k->options.retention_ms;
    b->text_ops = &search_text_ops;
    b->done = on_taken;
    b->arg = k;
    state_move(k, ARCHIVING_TAKING);
    archive_base(k->db->archive, b);
}

/* Another backup may be under way: then a little later. */
static void base_begin(struct archiving *k)
{
    struct backend *b = k->db->backend;
    struct error e = {.text = ""};
    archive_base_path(k->db->archive, &k->path);
    k->copy = (struct backup_request){
        .path = (const char *)k->path.data, .done = on_copied, .arg = k};
    bool is_there = archive_is_there(k->db->archive, &e);
    if (is_there && backend_backup(b, &k->copy, &e) != OK) return;
    k->is_wanted = false;
    choose_databases(k);
    state_move(k, ARCHIVING_COPYING);
    if (!is_there) base_end(k, e.code, &e);
}

/* Is the schedule's time over? */
static bool is_scheduled(struct archiving *k)
{
    int64_t now_ms = clock_wall_ms();
    int64_t next_ms = schedule_next(&k->options.schedule, now_ms);
    bool is_due = next_ms != 0 && k->next_ms != 0 && now_ms >= k->next_ms;
    if (k->next_ms == 0 || is_due || next_ms < k->next_ms) k->next_ms = next_ms;
    return is_due;
}

void archiving_tick(struct archiving *k)
{
    int64_t now_us = clock_mono_us();
    struct databases_totals databases;
    if (k == NULL || k->is_stopping) return;
    bool is_soon = k->is_wanted && k->state == ARCHIVING_IDLE;
    if (!is_soon && now_us - k->looked_us < LOOK_US) return;
    k->looked_us = now_us;
    databases_totals(k->db->databases, &databases);
    if (databases.is_reading) return;
    bool is_needed = local_archive_has_gap(k->db->journal);
    bool may_try = k->failed_us == 0 || now_us - k->failed_us > RETRY_US;
    k->is_wanted = k->is_wanted || is_scheduled(k) || (is_needed && may_try);
    if (k->is_wanted && k->state == ARCHIVING_IDLE) base_begin(k);
}

/* ---- for those who ask ---- */

uint64_t archiving_base(struct archiving *k)
{
    k->is_wanted = true;
    return k->ended + (k->state == ARCHIVING_IDLE ? 1 : 2);
}

enum err archiving_base_ended(struct archiving *k, uint64_t number, uint64_t *version,
                              struct waiter *w, struct error *e)
{
    if (k->ended < number) {
        waiter_add(&k->waiting, w);
        return error_set(e, ERR_WAIT, "the base backup is being made");
    }
    *version = k->base.about.version;
    if (k->result == OK) return OK;
    return error_set(e, k->result, "cannot write a base backup: %s", k->error.text);
}

void archiving_stats(const struct archiving *k, struct archiving_stats *out)
{
    *out = (struct archiving_stats){.timeline = k->db->lineage->timeline, .next_ms = k->next_ms};
    archive_stats(k->db->archive, &out->archive);
}
