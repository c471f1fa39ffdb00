#include "backend/absent.h"

#include "backend/pipeline_int.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"

#define ROOM_MIN (1u << 16)
#define ROWS_AT_ONCE 16384

static const struct machine absent_machine = {
    .name = "absent",
    .states = {"off", "waiting", "filling", "on", "never"},
    .allowed = {[ABSENT_OFF] = TO(ABSENT_WAITING) | TO(ABSENT_NEVER),
                [ABSENT_WAITING] = TO(ABSENT_FILLING),
                [ABSENT_FILLING] = TO(ABSENT_ON) | TO(ABSENT_OFF) | TO(ABSENT_NEVER),
                [ABSENT_ON] = TO(ABSENT_OFF)},
};

struct absent_job {
    struct job job; /* first */
    struct pipeline *pipeline;
    struct pooled_reader *reader;
    struct store_fetch fetch;
    struct buf start, end; /* owned */
    struct store_chunk chunk;
    uint64_t *hashes; /* owned; of the chunk's keys */
    enum err result;
    struct error error;
};

static void move(struct absent *a, enum absent_state to)
{
    MACHINE_MOVE(&absent_machine, a, state, to);
}

static void turn_off(struct absent *a, enum absent_state to)
{
    bloom_fini(&a->bloom);
    buf_clear(&a->next, 0);
    a->seen = 0;
    move(a, to);
}

/* ---- reading the keys ------------------------------------------------------------------------ */

static void read_run(struct job *job)
{
    struct absent_job *j = (struct absent_job *)job;
    j->result = store_fetch(j->reader->reader, &j->fetch, &j->chunk, &j->error);
    if (j->result != OK || j->chunk.count == 0) return;
    j->hashes = mem_alloc(j->chunk.count * sizeof *j->hashes);
    for (size_t i = 0; i < j->chunk.count; i++) j->hashes[i] = hash_bytes(j->chunk.rows[i].key);
}

static void job_free(struct absent_job *j)
{
    store_chunk_fini(&j->chunk);
    buf_fini(&j->start);
    buf_fini(&j->end);
    mem_free(j->hashes);
    mem_free(j);
}

/* What was read is in the filter; from where to go on. */
static void take(struct absent *a, const struct absent_job *j)
{
    for (size_t i = 0; i < j->chunk.count; i++) bloom_add(&a->bloom, j->hashes[i]);
    buf_clear(&a->next, SIZE_MAX);
    if (j->chunk.is_last || j->chunk.count == 0) {
        a->database++;
        return;
    }
    struct slice last = j->chunk.rows[j->chunk.count - 1].key;
    buf_append(&a->next, last.data, last.len);
    buf_append_byte(&a->next, 0); /* the first key after it */
    buf_require(&a->next);
}

static void read_done(struct job *job)
{
    struct absent_job *j = (struct absent_job *)job;
    struct pipeline *p = j->pipeline;
    struct absent *a = &p->absent;
    a->is_reading = false;
    reader_give(p, j->reader);
    if (j->result == OK) {
        take(a, j);
    } else {
        damage_note(&p->damage, &j->error);
        turn_off(a, ABSENT_NEVER);
    }
    job_free(j);
    pipeline_absent_try(p);
}

static void read_post(struct pipeline *p, uint16_t database)
{
    struct absent *a = &p->absent;
    struct pooled_reader *reader = NULL;
    struct error ignored;
    const uint8_t first[KEY_HEAD_BYTES] = {KEY_HEAD(database, 0)};
    const uint8_t end[KEY_HEAD_BYTES] = {KEY_HEAD(database, 0xff)}; /* no space has this number */
    if (reader_take(p, &reader, &ignored) != OK) return;            /* at the next tick */
    struct absent_job *j = mem_new(sizeof *j);
    j->job = (struct job){.run = read_run, .done = read_done};
    j->pipeline = p;
    j->reader = reader;
    store_chunk_init(&j->chunk);
    bool is_begun = a->database == database && a->next.len > 0;
    buf_append(&j->start, is_begun ? a->next.data : first, is_begun ? a->next.len : sizeof first);
    buf_append(&j->end, end, sizeof end);
    buf_require(&j->start);
    buf_require(&j->end);
    j->fetch = (struct store_fetch){.start = buf_slice(&j->start),
                                    .end = buf_slice(&j->end),
                                    .may_wait = true,
                                    .rows_max = ROWS_AT_ONCE};
    a->database = database;
    a->is_reading = true;
    worker_post(p->long_worker, &j->job);
}

/* ---- its states ------------------------------------------------------------------------------ */

/* Room for twice what there is, or for `least`, if that may be had. */
static bool make_room(struct pipeline *p, uint64_t least)
{
    struct absent *a = &p->absent;
    uint64_t entries = p->counts_sum.entries + p->active->order.count;
    uint64_t wanted = entries * 2 > least ? entries * 2 : least;
    uint64_t most = p->options.cache_bytes / ABSENT_CACHE_SHARE * 8 / BLOOM_KEY_BITS;
    if (wanted > most) wanted = most;
    if (wanted < entries || wanted < least / 2 || !bloom_init_try(&a->bloom, wanted)) {
        bloom_fini(&a->bloom);
        log_notice("no filter of absent keys: it would need more than %llu MB (1/%d of cache-size)",
                   (unsigned long long)(p->options.cache_bytes / ABSENT_CACHE_SHARE >> 20),
                   ABSENT_CACHE_SHARE);
        return false;
    }
    a->room = wanted;
    return true;
}

static void begin(struct pipeline *p, uint64_t least)
{
    struct absent *a = &p->absent;
    if (!make_room(p, least)) {
        move(a, ABSENT_NEVER);
        return;
    }
    a->barrier = p->version_newest;
    a->database = 0;
    buf_clear(&a->next, 0);
    move(a, ABSENT_WAITING);
}

/* All keys were read. There may be many that nobody counts: of indexes, of queues. */
static void fill_end(struct pipeline *p)
{
    struct absent *a = &p->absent;
    uint64_t count = a->bloom.count;
    if (count <= a->room) {
        log_verbose("filter of absent keys: %llu keys, %llu bytes", (unsigned long long)count,
                    (unsigned long long)bloom_bytes(a->room));
        move(a, ABSENT_ON);
        return;
    }
    turn_off(a, ABSENT_OFF);
    begin(p, count * 2);
}

static void fill(struct pipeline *p)
{
    struct absent *a = &p->absent;
    if (a->is_reading) return;
    if (sparse_next(&p->counts, &a->database) == NULL) {
        fill_end(p);
    } else {
        read_post(p, (uint16_t)a->database);
    }
}

void pipeline_absent_seen(struct pipeline *p)
{
    struct absent *a = &p->absent;
    a->seen++;
    if (a->state == ABSENT_ON) a->mistaken++;
}

void pipeline_absent_try(struct pipeline *p)
{
    struct absent *a = &p->absent;
    if (p->is_closing || p->options.is_following) return;
    uint64_t least = p->options.absent_reads_min != 0 ? p->options.absent_reads_min
                                                      : ABSENT_READS_MIN;
    if (a->state == ABSENT_OFF && a->seen >= least &&
        a->seen >= p->counts_sum.entries / ABSENT_ENTRIES_EACH) {
        begin(p, p->options.absent_reads_min != 0 ? 0 : ROOM_MIN);
    }
    if (a->state == ABSENT_WAITING && p->applied >= a->barrier) move(a, ABSENT_FILLING);
    if (a->state == ABSENT_FILLING) fill(p);
    if (a->state == ABSENT_ON && a->bloom.count > a->room * 2) turn_off(a, ABSENT_OFF);
}

const char *absent_state_name(const struct absent *a)
{
    return absent_machine.states[a->state];
}

size_t absent_bytes(const struct absent *a)
{
    return a->bloom.words != NULL ? bloom_bytes(a->room) : 0;
}

void absent_fini(struct absent *a)
{
    bloom_fini(&a->bloom);
    buf_fini(&a->next);
}
