/* absent: see absent.h. Three parts: the keys of memtables, some thousands in a tick; the keys of
 * the store, one database after the other, in runs that a thread reads and hashes; and the moves
 * between the states. The new filter takes the place of the old one only when it has all keys. */
#include "backend/absent.h"

#include "backend/pipeline_int.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"

#define ROOM_MIN (1u << 16)
/* Each key of a new filter is most often the first in its page, which the system then has to find:
 * some microseconds. */
#define ROWS_AT_ONCE 1024
#define GATHERED_AT_ONCE 1024

static const struct machine absent_machine = {
    .name = "absent",
    .states = {"off", "gathering", "filling", "on", "never"},
    .allowed = {[ABSENT_OFF] = TO(ABSENT_GATHERING) | TO(ABSENT_NEVER),
                [ABSENT_GATHERING] = TO(ABSENT_FILLING),
                [ABSENT_FILLING] = TO(ABSENT_ON) | TO(ABSENT_GATHERING) | TO(ABSENT_NEVER),
                [ABSENT_ON] = TO(ABSENT_GATHERING) | TO(ABSENT_NEVER)},
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

static void give_up(struct absent *a)
{
    bloom_fini(&a->bloom);
    bloom_fini(&a->made);
    buf_clear(&a->next, 0);
    move(a, ABSENT_NEVER);
}

/* Reading goes on with the first key after this one. */
static void go_on_after(struct absent *a, struct slice key)
{
    buf_clear(&a->next, SIZE_MAX);
    buf_append(&a->next, key.data, key.len);
    buf_append_byte(&a->next, 0);
    buf_require(&a->next);
}

/* ---- the keys of memtables ------------------------------------------------------------------- */

static bool are_few_memtables(const struct pipeline *p)
{
    size_t count = 0;
    for (const struct memtable *m = p->newest.active; m != NULL; m = m->older) count++;
    return count <= ABSENT_MEMTABLES_MAX;
}

static void hold_memtables(struct pipeline *p)
{
    struct absent *a = &p->newest.absent;
    for (struct memtable *m = p->newest.active; m != NULL; m = m->older) {
        memtable_ref(m);
        a->gathered[a->gathered_count++] = m;
    }
}

/* Some of them; one that has been applied meanwhile is held, and read as well. */
static void gather(struct pipeline *p)
{
    struct absent *a = &p->newest.absent;
    size_t left = GATHERED_AT_ONCE;
    while (a->gathered_count > 0) {
        struct memtable *m = a->gathered[a->gathered_count - 1];
        struct omap_iter it = omap_seek(&m->order, buf_slice(&a->next));
        const struct mem_entry *last = NULL;
        const struct mem_entry *entry = omap_peek(&it);
        for (; entry != NULL && left > 0; left--) {
            bloom_add(&a->made, entry->hash);
            last = entry;
            omap_next(&it);
            entry = omap_peek(&it);
        }
        if (entry != NULL) {
            if (last != NULL) go_on_after(a, last->key);
            return;
        }
        buf_clear(&a->next, SIZE_MAX);
        a->gathered_count--;
        pipeline_unref_memtable(p, m);
    }
    move(a, ABSENT_FILLING);
}

/* ---- the keys of the store ------------------------------------------------------------------- */

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
    for (size_t i = 0; i < j->chunk.count; i++) bloom_add(&a->made, j->hashes[i]);
    if (j->chunk.is_last || j->chunk.count == 0) {
        a->database++;
        buf_clear(&a->next, SIZE_MAX);
    } else {
        go_on_after(a, j->chunk.rows[j->chunk.count - 1].key);
    }
}

static void read_done(struct job *job)
{
    struct absent_job *j = (struct absent_job *)job;
    struct pipeline *p = j->pipeline;
    struct absent *a = &p->newest.absent;
    a->is_reading = false;
    reader_give(p, j->reader);
    if (j->result == OK) {
        take(a, j);
    } else {
        damage_note(&p->stored.damage, &j->error);
        give_up(a);
    }
    job_free(j);
    pipeline_absent_try(p);
}

static void read_post(struct pipeline *p, uint16_t database)
{
    struct absent *a = &p->newest.absent;
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
    worker_post(p->workers.slow, &j->job);
}

/* ---- its states ------------------------------------------------------------------------------ */

/* Room for twice what there is, or for `least`, if that may be had. */
static bool make_room(struct pipeline *p, uint64_t least)
{
    struct absent *a = &p->newest.absent;
    uint64_t entries = p->stored.counts_sum.entries + p->newest.active->order.count;
    if (a->bloom.count > entries) entries = a->bloom.count; /* rows of indexes are not counted */
    uint64_t wanted = entries * 2 > least ? entries * 2 : least;
    uint64_t most = p->options.cache_bytes / ABSENT_CACHE_SHARE * 8 / BLOOM_KEY_BITS;
    if (wanted > most) wanted = most;
    if (wanted < entries || wanted < least / 2 || !bloom_init_try(&a->made, wanted)) {
        log_notice("no filter for missing keys: it would need more than %llu MB (1/%d of "
                   "cache-size)",
                   (unsigned long long)(p->options.cache_bytes / ABSENT_CACHE_SHARE >> 20),
                   ABSENT_CACHE_SHARE);
        return false;
    }
    a->made_room = wanted;
    return true;
}

static void begin(struct pipeline *p, uint64_t least)
{
    struct absent *a = &p->newest.absent;
    if (!are_few_memtables(p)) return; /* at a later tick */
    bloom_fini(&a->made);
    if (!make_room(p, least)) {
        give_up(a);
        return;
    }
    hold_memtables(p);
    a->database = 0;
    buf_clear(&a->next, 0);
    move(a, ABSENT_GATHERING);
}

/* All keys were read. There may be many that are not counted: of indexes, of queues. */
static void fill_end(struct pipeline *p)
{
    struct absent *a = &p->newest.absent;
    uint64_t count = a->made.count;
    if (count > a->made_room) {
        begin(p, count * 2);
        return;
    }
    log_verbose("filter for missing keys: %llu keys, %llu bytes", (unsigned long long)count,
                (unsigned long long)bloom_bytes(a->made_room));
    bloom_fini(&a->bloom);
    a->bloom = a->made;
    a->room = a->made_room;
    a->made = (struct bloom){0};
    move(a, ABSENT_ON);
}

static void fill(struct pipeline *p)
{
    struct absent *a = &p->newest.absent;
    if (a->is_reading) return;
    if (sparse_next(&p->stored.counts, &a->database) == NULL) {
        fill_end(p);
    } else {
        read_post(p, (uint16_t)a->database);
    }
}

void pipeline_absent_seen(struct pipeline *p)
{
    struct absent *a = &p->newest.absent;
    a->seen++;
    if (a->bloom.words != NULL) a->mistaken++;
}

void pipeline_absent_try(struct pipeline *p)
{
    struct absent *a = &p->newest.absent;
    bool is_test = p->options.absent_reads_min != 0;
    uint64_t least = is_test ? p->options.absent_reads_min : ABSENT_READS_MIN;
    uint64_t room = is_test ? 0 : ROOM_MIN;
    if (p->is_closing || p->options.is_following) return;
    if (a->state == ABSENT_OFF && a->seen >= least &&
        a->seen >= p->stored.counts_sum.entries / ABSENT_ENTRIES_EACH) {
        begin(p, room);
    }
    if (a->state == ABSENT_ON && a->bloom.count > a->room * 2) begin(p, room);
    if (a->state == ABSENT_GATHERING) gather(p);
    if (a->state == ABSENT_FILLING) fill(p);
}

const char *absent_state_name(const struct absent *a)
{
    return absent_machine.states[a->state];
}

size_t absent_bytes(const struct absent *a)
{
    uint64_t bytes = a->bloom.words != NULL ? bloom_bytes(a->room) : 0;
    return bytes + (a->made.words != NULL ? bloom_bytes(a->made_room) : 0);
}

void absent_fini(struct absent *a)
{
    while (a->gathered_count > 0) {
        struct memtable *m = a->gathered[--a->gathered_count];
        if (memtable_unref(m)) memtable_free(m);
    }
    bloom_fini(&a->bloom);
    bloom_fini(&a->made);
    buf_fini(&a->next);
}
