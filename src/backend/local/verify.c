/* verify: reads everything that is stored, in the background, and keeps what it found.
 *
 *   nothing --start--> READING --all is read, or stop--> done, until the next start
 *
 * While it reads, its reader is pinned: the write-ahead log of the store grows by what is applied
 * meanwhile.
 */
#include "backend/local/local_int.h"
#include "backend/local/vfs.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

struct verification {
    struct job job; /* first */
    struct local *local;
    struct pooled_reader *reader;
    struct vfs_collected collected; /* the thread counts, atomically */
    uint64_t pages;                 /* that there are, about */
    int64_t began_us, took_us;
    bool is_running;
    bool is_stopping; /* atomic */
    enum err result;
    struct error error;
};

static void verify_run(struct job *job)
{
    struct verification *v = (struct verification *)job;
    v->result = store_verify(v->reader->reader, &v->collected, &v->is_stopping, &v->error);
}

static void verify_done(struct job *job)
{
    struct verification *v = (struct verification *)job;
    struct local *l = v->local;
    reader_give(l, v->reader);
    v->is_running = false;
    v->took_us = clock_mono_us() - v->began_us;
    uint64_t found = v->collected.damaged;
    for (uint64_t i = 0; i < found && i < VFS_PLACES_MAX; i++) {
        struct error e;
        (void)error_set(&e, ERR_CORRUPT, "verify: %s", v->collected.places[i]);
        damage_note(&l->damage, &e);
    }
    if (v->result == ERR_CORRUPT && found == 0) damage_note(&l->damage, &v->error);
    log_notice("verify: %llu pages read, %llu damaged, %lld ms%s",
               (unsigned long long)v->collected.pages, (unsigned long long)found,
               (long long)v->took_us / 1000, v->is_stopping ? "; stopped before the end" : "");
}

void local_verify_free(struct local *l)
{
    mem_free(l->verification);
    l->verification = NULL;
}

enum err local_verify_start(struct backend *b, struct error *e)
{
    struct local *l = local_of(b);
    struct pooled_reader *reader = NULL;
    if (l->verification != NULL && l->verification->is_running) {
        return error_set(e, ERR_SYNTAX,
                         "a verification is running; KV.VERIFY STATUS tells how far");
    }
    enum err r = reader_take(l, &reader, e);
    if (r != OK) return r;
    r = store_pin(reader->reader, e);
    if (r != OK) {
        reader_give(l, reader);
        return r;
    }
    local_verify_free(l);
    struct verification *v = mem_new(sizeof *v);
    *v = (struct verification){.job = {.run = verify_run, .done = verify_done},
                               .local = l,
                               .reader = reader,
                               .pages = store_pages(reader->reader),
                               .began_us = clock_mono_us(),
                               .is_running = true};
    l->verification = v;
    worker_post(l->long_worker, &v->job);
    return OK;
}

bool local_verify_stop(struct backend *b)
{
    struct verification *v = local_of(b)->verification;
    if (v == NULL || !v->is_running) return false;
    __atomic_store_n(&v->is_stopping, true, __ATOMIC_RELAXED);
    return true;
}

void local_verify_figures(struct backend *b, struct verify_figures *out)
{
    const struct verification *v = local_of(b)->verification;
    *out = (struct verify_figures){.state = VERIFY_NEVER};
    if (v == NULL) return;
    uint64_t damaged = __atomic_load_n(&v->collected.damaged, __ATOMIC_ACQUIRE);
    out->state = v->is_running              ? VERIFY_RUNNING
                 : v->is_stopping           ? VERIFY_STOPPED
                 : v->result == OK          ? VERIFY_GOOD
                 : v->result == ERR_CORRUPT ? VERIFY_DAMAGED
                                            : VERIFY_FAILED;
    out->pages = __atomic_load_n(&v->collected.pages, __ATOMIC_RELAXED);
    out->pages_total = v->pages;
    out->damaged = damaged;
    out->took_ms = (v->is_running ? clock_mono_us() - v->began_us : v->took_us) / 1000;
    for (uint64_t i = 0; i < damaged && i < VERIFY_PLACES_MAX; i++) {
        out->places[out->place_count++] = v->collected.places[i];
    }
    bool has_text = out->state == VERIFY_FAILED || (out->state == VERIFY_DAMAGED && damaged == 0);
    if (has_text) out->places[out->place_count++] = v->error.text;
}
