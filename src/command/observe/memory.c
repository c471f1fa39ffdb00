/* memory: the figures, from the allocator, /proc and the backend, and the command MEMORY, which
 * shows them. */
#include "command/observe/memory.h"
#include "codec/collection.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "codec/key.h"
#include "request/args.h"
#include "request/keys.h"
#include "request/shapes.h"
#include "request/table.h"

/* What an entry costs beside its key and value, about: the struct in the memtable or the cache and
 * its slot in the table. */
#define ENTRY_OVERHEAD_BYTES 64

uint64_t memory_resident(void)
{
    /* "size resident shared ...", in pages */
    uint64_t resident = 0;
    struct buf text;
    struct error ignored;
    buf_init(&text);
    if (file_read_all("/proc/self/statm", &text, 4096, &ignored) == OK) {
        const uint8_t *from = memchr(text.data, ' ', text.len);
        const uint8_t *end = text.data + text.len;
        const uint8_t *to = from == NULL ? NULL : memchr(from + 1, ' ', (size_t)(end - from - 1));
        if (to != NULL) (void)slice_to_u64(slice_of(from + 1, (size_t)(to - from - 1)), &resident);
    }
    buf_fini(&text);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t memory_resident_peak(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (double)part * 100 / (double)whole;
}

void memory_measure(struct env *env, struct memory_figures *out)
{
    struct backend *b = engine_backend(env->db->engine);
    struct backend_stats s;
    backend_stats(b, &s);
    *out = (struct memory_figures){.used = mem_used(), .resident = memory_resident()};
    uint64_t resident_peak = memory_resident_peak();
    if (out->used > env->memory.peak) env->memory.peak = out->used;
    if (resident_peak > env->memory.peak) env->memory.peak = resident_peak;
    out->peak = env->memory.peak;
    out->startup = env->memory.startup;
    out->dataset = s.memtable_bytes + s.cache_bytes;
    out->overhead = out->used - (out->dataset < out->used ? out->dataset : out->used);
    client_memory_sum(env, &out->client_memory);
    out->clients = out->client_memory.total;
    out->system = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    out->fragmentation = (double)out->resident / (double)(out->used > 0 ? out->used : 1);
    out->fragmentation_bytes = (int64_t)out->resident - (int64_t)out->used;
    out->used_percent = percent(out->used, out->peak);
    out->dataset_percent = percent(out->dataset, out->used);
}

/* ---- MEMORY ---- */

/* Every entry is counted as a whole: samples are of no use. */
struct usage {
    struct slice key;
    int64_t samples;
};
ARGUMENTS(usage_arguments, struct usage, "key [SAMPLES count]",
          ARG_ANY_KEY(struct usage, key, "key", KEY_RO),
          ARG_INTEGER(struct usage, samples, "SAMPLES", 0, INT64_MAX, 0));

#define ELEMENT_OVERHEAD_BYTES 60 /* of a row: its key's head, and what the store adds */

/* Of a collection that has rows: all of them. */
static uint64_t rows_bytes(struct slice value)
{
    struct collection_head h;
    if (!collection_head_read(value, &h) || !h.is_spread) return 0;
    uint64_t rows = h.kind == COLLECTION_ZSET ? h.count * 2 : h.count;
    return h.bytes * (h.kind == COLLECTION_ZSET ? 2 : 1) + rows * ELEMENT_OVERHEAD_BYTES;
}

static enum err usage_run(struct request *rq)
{
    const struct usage *a = rq->bound;
    struct entry entry;
    enum err r = request_get(rq, a->key, &entry);
    if (r != OK) return r;
    if (entry.exists) {
        resp_int(rq->w, (int64_t)(a->key.len + entry.value.len + ENTRY_OVERHEAD_BYTES +
                                  rows_bytes(entry.value)));
    } else {
        resp_nil(rq->w);
    }
    return OK;
}

static uint64_t keys_count(struct backend *b)
{
    uint64_t keys = 0;
    uint16_t database = 0;
    for (uint32_t at = 0; backend_database_next(b, at, &database); at = (uint32_t)database + 1) {
        struct backend_count count;
        backend_count(b, database, &count);
        keys += count.entries;
    }
    return keys;
}

static enum err stats_run(struct request *rq)
{
    struct backend *b = engine_backend(rq->env->db->engine);
    struct backend_stats s;
    struct memory_figures f;
    backend_stats(b, &s);
    memory_measure(rq->env, &f);
    uint64_t keys = keys_count(b);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"peak.allocated", f.peak},
        {"total.allocated", f.used},
        {"startup.allocated", f.startup},
        {"replication.backlog", 0},
        {"clients.slaves", 0},
        {"clients.normal", f.clients},
        {"cluster.links", 0},
        {"aof.buffer", 0},
        {"memtable.bytes", s.memtable_bytes},
        {"memtable.entries", s.memtable_entries},
        {"cache.bytes", s.cache_bytes},
        {"cache.entries", s.cache_entries},
        {"overhead.total", f.overhead},
        {"keys.count", keys},
        {"keys.bytes-per-key", keys == 0 ? 0 : f.dataset / keys},
        {"dataset.bytes", f.dataset},
        {"allocator.allocated", f.used},
        {"allocator.resident", f.resident},
    };
    size_t count = sizeof rows / sizeof rows[0];
    resp_map(rq->w, count + 3);
    for (size_t i = 0; i < count; i++) {
        resp_bulk_str(rq->w, rows[i].name);
        resp_int(rq->w, (int64_t)rows[i].value);
    }
    resp_bulk_str(rq->w, "dataset.percentage");
    resp_double(rq->w, f.dataset_percent);
    resp_bulk_str(rq->w, "peak.percentage");
    resp_double(rq->w, f.used_percent);
    resp_bulk_str(rq->w, "fragmentation");
    resp_double(rq->w, f.fragmentation);
    return OK;
}

static enum err doctor_run(struct request *rq)
{
    struct memory_figures f;
    struct buf *out = rq->scratch;
    buf_clear(out, SIZE_MAX);
    memory_measure(rq->env, &f);
    if (f.fragmentation > 1.5 && f.resident - f.used > 256u << 20) {
        buf_printf(out,
                   "The resident memory is %.1f times the allocated memory: much memory was freed "
                   "but not returned. MEMORY PURGE returns what it can.\n",
                   f.fragmentation);
    }
    if (f.peak > f.used + f.used / 2 && f.peak > 256u << 20) {
        buf_append_str(out, "The peak was at least half as much again as the current use: a peak "
                            "of load, or large values.\n");
    }
    if (f.clients > 256u << 20) {
        buf_append_str(out, "Connections use much memory: CLIENT LIST shows the output (omem) and "
                            "input (qbuf) of each.\n");
    }
    if (f.resident > f.system / 4 * 3) {
        buf_append_str(out, "Three quarters of the machine's memory are in use: lower cache-size, "
                            "memtable-size or store-cache-size.\n");
    }
    if (out->len == 0) buf_append_str(out, "No memory problem was found.\n");
    resp_text(rq->w, buf_slice(out));
    return OK;
}

static enum err purge_run(struct request *rq)
{
    mem_trim();
    resp_simple(rq->w, "OK");
    return OK;
}

static enum err malloc_stats_run(struct request *rq)
{
    struct buf *out = rq->scratch;
    buf_clear(out, SIZE_MAX);
    buf_printf(out, "allocator: libc\nallocated: %llu\nresident: %llu\n",
               (unsigned long long)mem_used(), (unsigned long long)memory_resident());
    resp_text(rq->w, buf_slice(out));
    return OK;
}

#define MEMORY_SUB(id, word, more, text, of)                                                       \
    static const struct command sub_##id = {                                                       \
        .name = word,                                                                              \
        .flags = (more),                                                                           \
        .group = "server",                                                                         \
        .summary = text,                                                                           \
        .arguments = &(of),                                                                        \
        .run = id##_run,                                                                           \
    }

MEMORY_SUB(doctor, "doctor", 0, "Returns a report about memory problems in prose.", no_arguments);
MEMORY_SUB(malloc_stats, "malloc-stats", 0, "Returns the statistics of the allocator.",
           no_arguments);
MEMORY_SUB(purge, "purge", CMD_NO_MULTI, "Returns free memory to the operating system.",
           no_arguments);
MEMORY_SUB(stats, "stats", 0, "Returns what the memory is used for.", no_arguments);
MEMORY_SUB(usage, "usage", CMD_READ, "Estimates the memory of a key and its value in bytes.",
           usage_arguments);
COMMAND_HELP("server", 0);

static const struct command *const memory_subcommands[] = {
    &sub_doctor, &sub_help, &sub_malloc_stats, &sub_purge, &sub_stats, &sub_usage, NULL,
};

const struct command cmd_memory = {
    .name = "memory",
    .group = "server",
    .summary = "A container for commands about memory.",
    .arguments = &container_arguments,
    .subcommands = memory_subcommands,
};
