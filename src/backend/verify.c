/* verify: reads everything that is stored, in the background, and keeps what it found.
 *
 *   nothing --start--> STORE --all of it is read--> JOURNAL --all of it, or stop--> done,
 *                                                             until the next start
 *
 * STORE: a thread reads the store. Its reader is pinned meanwhile.
 * JOURNAL: the history from its oldest commit to what was durable at the end of STORE is asked for
 * as a reader of changes does it (changes.c), in parts, with a range that no key is in.
 */
#include <stdio.h>

#include "backend/pipeline_int.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define SEGMENTS_MAX 4 /* damaged ones, whose places are shown */

struct verification {
    struct job job; /* first */
    struct pipeline *pipeline;
    struct pooled_reader *reader;
    struct store_found found; /* the thread counts, atomically */
    uint64_t pages;           /* that there are, about */
    int64_t began_us, took_us;
    bool is_running;
    bool is_stopping; /* atomic */
    enum err result;
    struct error error;
    struct changes_request history;
    uint64_t journal_end; /* the version to end with */
    uint64_t segments;    /* damaged */
    char segment_places[SEGMENTS_MAX][ERROR_TEXT_BYTES];
};

static void verify_run(struct job *job)
{
    struct verification *v = (struct verification *)job;
    struct store_reader *reader = v->reader->reader;
    v->result = reader->ops->verify(reader, &v->found, &v->is_stopping, &v->error);
}

static void verify_end(struct verification *v)
{
    struct pipeline *p = v->pipeline;
    arena_fini(&v->history.arena);
    v->is_running = false;
    v->took_us = clock_mono_us() - v->began_us;
    uint64_t found = v->found.damaged;
    for (uint64_t i = 0; i < found && i < STORE_PLACES_MAX; i++) {
        struct error e;
        (void)error_set(&e, ERR_CORRUPT, "verify: %s", v->found.places[i]);
        damage_note(&p->stored.damage, &e);
    }
    if (v->result == ERR_CORRUPT && found == 0) damage_note(&p->stored.damage, &v->error);
    log_notice("verify: %llu pages read, %llu damaged; %llu segments of the journal damaged; %lld "
               "ms%s",
               (unsigned long long)v->found.pages, (unsigned long long)found,
               (unsigned long long)v->segments, (long long)v->took_us / 1000,
               v->is_stopping ? "; stopped early" : "");
}

static void segment_is_damaged(struct verification *v)
{
    if (v->segments < SEGMENTS_MAX) {
        snprintf(v->segment_places[v->segments], sizeof v->segment_places[0], "%s",
                 v->history.error.text);
    }
    v->segments++;
    if (v->result == OK) v->result = error_set(&v->error, ERR_CORRUPT, "%s", v->history.error.text);
}

/* A part of the journal was read. Where it is damaged, or its oldest segments went meanwhile, the
 * reading goes on with what comes next. */
static void history_done(struct changes_request *q)
{
    struct verification *v = q->arg;
    bool is_over = q->result == OK ? q->is_end || q->next >= v->journal_end
                                   : q->result != ERR_STALE || q->oldest <= q->after;
    if (q->is_damaged) segment_is_damaged(v);
    if (q->result != OK && q->result != ERR_STALE && v->result == OK) {
        v->result = q->result;
        v->error = q->error;
    }
    q->after = q->result == OK ? q->next : q->oldest;
    arena_reset(&q->arena);
    bool is_stopping = v->is_stopping || v->pipeline->is_closing;
    if (is_over || is_stopping || q->after >= v->journal_end) {
        verify_end(v);
    } else {
        backend_changes(&v->pipeline->base, q);
    }
}

static void history_begin(struct verification *v)
{
    /* From a head that no key has, to the same. */
    static const uint8_t nothing[KEY_HEAD_BYTES] = {0xff, 0xff, 0xff};
    struct pipeline *p = v->pipeline;
    v->journal_end = p->log.version_told;
    v->history.after = p->log.journal->ops->oldest(p->log.journal);
    v->history.start = v->history.end = slice_of(nothing, sizeof nothing);
    v->history.rows_max = 1;
    v->history.bytes_max = 1;
    v->history.done = history_done;
    v->history.arg = v;
    backend_changes(&p->base, &v->history);
}

static void verify_done(struct job *job)
{
    struct verification *v = (struct verification *)job;
    reader_give(v->pipeline, v->reader);
    bool goes_on = v->result == OK || v->result == ERR_CORRUPT;
    if (v->is_stopping || v->pipeline->is_closing || !goes_on) {
        verify_end(v);
    } else {
        history_begin(v);
    }
}

void pipeline_verify_free(struct pipeline *p)
{
    mem_free(p->verification);
    p->verification = NULL;
}

enum err backend_verify_start(struct backend *b, struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    struct pooled_reader *reader = NULL;
    if (p->verification != NULL && p->verification->is_running) {
        return error_set(e, ERR_SYNTAX, "a check is running; KV.VERIFY STATUS shows its progress");
    }
    enum err r = reader_take(p, &reader, e);
    if (r != OK) return r;
    r = store_pin(reader->reader, e);
    if (r != OK) {
        reader_give(p, reader);
        return r;
    }
    pipeline_verify_free(p);
    struct verification *v = mem_new(sizeof *v);
    *v = (struct verification){.job = {.run = verify_run, .done = verify_done},
                               .pipeline = p,
                               .reader = reader,
                               .pages = reader->reader->ops->pages(reader->reader),
                               .began_us = clock_mono_us(),
                               .is_running = true};
    arena_init(&v->history.arena, 1024);
    p->verification = v;
    worker_post(p->workers.slow, &v->job);
    return OK;
}

bool backend_verify_stop(struct backend *b)
{
    struct verification *v = pipeline_of(b)->verification;
    if (v == NULL || !v->is_running) return false;
    __atomic_store_n(&v->is_stopping, true, __ATOMIC_RELAXED);
    return true;
}

void backend_verify_figures(struct backend *b, struct verify_figures *out)
{
    const struct verification *v = pipeline_of(b)->verification;
    *out = (struct verify_figures){.state = VERIFY_NEVER};
    if (v == NULL) return;
    uint64_t damaged = __atomic_load_n(&v->found.damaged, __ATOMIC_ACQUIRE);
    out->state = v->is_running              ? VERIFY_RUNNING
                 : v->is_stopping           ? VERIFY_STOPPED
                 : v->result == OK          ? VERIFY_GOOD
                 : v->result == ERR_CORRUPT ? VERIFY_DAMAGED
                                            : VERIFY_FAILED;
    out->pages = __atomic_load_n(&v->found.pages, __ATOMIC_RELAXED);
    out->pages_total = v->pages;
    out->damaged = damaged + v->segments;
    out->took_ms = (v->is_running ? clock_mono_us() - v->began_us : v->took_us) / 1000;
    for (uint64_t i = 0; i < damaged && i < VERIFY_PLACES_MAX; i++) {
        out->places[out->place_count++] = v->found.places[i];
    }
    for (uint64_t i = 0; i < v->segments && i < SEGMENTS_MAX; i++) {
        if (out->place_count < VERIFY_PLACES_MAX) {
            out->places[out->place_count++] = v->segment_places[i];
        }
    }
    bool has_text = out->state == VERIFY_FAILED ||
                    (out->state == VERIFY_DAMAGED && out->damaged == 0);
    if (has_text) out->places[out->place_count++] = v->error.text;
}
