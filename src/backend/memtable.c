/* memtable: each key once in a hash table and an ordered map, its versions a list, all in one arena
 * that is freed whole. A second write of a key by one transaction replaces the first. */
#include "backend/memtable.h"

#include "base/clock.h"
#include "base/machine.h"
#include "base/mem.h"

#define ARENA_CHUNK_BYTES (256 * 1024)
/* One that is large already grows by mappings of its own (mem_tune), which go back to the
 * system as soon as they are freed. */
#define LARGE_BYTES (16u << 20)
#define LARGE_CHUNK_BYTES (4u << 20)

struct memtable *memtable_new(size_t entries_hint)
{
    struct memtable *m = mem_new(sizeof *m);
    arena_init(&m->arena, ARENA_CHUNK_BYTES);
    htab_init(&m->points);
    if (entries_hint > 0) htab_reserve(&m->points, entries_hint);
    omap_init(&m->order, &m->arena);
    m->refs = 1;
    return m;
}

struct memtable *memtable_new_aside(void)
{
    struct memtable *m = memtable_new(0);
    m->state = MEM_ASIDE;
    return m;
}

void memtable_ref(struct memtable *m)
{
    m->refs++;
}

bool memtable_unref(struct memtable *m)
{
    INVARIANT(m->refs > 0);
    return --m->refs == 0;
}

void memtable_free(struct memtable *m)
{
    htab_fini(&m->points);
    sparse_fini(&m->databases);
    arena_fini(&m->arena);
    mem_free(m);
}

void memtable_move(struct memtable *m, enum mem_state to)
{
    /* An apply that failed goes back to MEM_FROZEN and is tried again. */
    static const struct machine machine = {
        .name = "memtable",
        .states = {"active", "frozen", "applying", "applied", "aside"},
        .allowed = {[MEM_ACTIVE] = TO(MEM_FROZEN),
                    [MEM_FROZEN] = TO(MEM_APPLYING),
                    [MEM_APPLYING] = TO(MEM_APPLIED) | TO(MEM_FROZEN)},
    };
    MACHINE_MOVE(&machine, m, state, to);
}

static void memtable_cover(struct memtable *m, uint64_t version)
{
    bool is_newest = m->state == MEM_ACTIVE && version >= m->version_last;
    INVARIANT(is_newest || m->state == MEM_ASIDE);
    if (m->version_first == 0) {
        m->version_first = version;
        m->born_us = clock_mono_us();
    }
    if (version > m->version_last) m->version_last = version;
}

static struct mem_entry *entry_new(struct memtable *m, uint64_t hash, struct slice key)
{
    struct mem_entry *entry = arena_alloc(&m->arena, sizeof *entry + key.len);
    uint8_t *bytes = (uint8_t *)(entry + 1);
    memcpy(bytes, key.data, key.len);
    entry->key = slice_of(bytes, key.len);
    entry->hash = hash;
    entry->newest = NULL;
    htab_insert(&m->points, hash, &entry->key);
    omap_insert(&m->order, &entry->key);
    return entry;
}

void memtable_put(struct memtable *m, uint64_t hash, const struct mutation *mu, uint64_t version)
{
    memtable_cover(m, version);
    if (m->arena.held_bytes >= LARGE_BYTES) m->arena.chunk_bytes = LARGE_CHUNK_BYTES;
    struct mem_entry *entry = htab_find(&m->points, hash, mu->key);
    if (entry == NULL) entry = entry_new(m, hash, mu->key);
    size_t len = mu->kind == MUTATION_SET ? mu->value.len : 0;
    struct mem_version *v = arena_alloc(&m->arena, sizeof *v + len);
    v->older = entry->newest;
    /* A key written twice by one transaction has one version: the last write of it. */
    if (v->older != NULL && v->older->version == version) v->older = v->older->older;
    v->version = version;
    v->expiry_ms = mu->kind == MUTATION_SET ? mu->expiry_ms : 0;
    v->is_tombstone = mu->kind != MUTATION_SET;
    v->value_len = len;
    if (len > 0) memcpy(v->value, mu->value.data, len);
    entry->newest = v;
}

void memtable_flush(struct memtable *m, uint16_t database, uint64_t version)
{
    memtable_cover(m, version);
    *memtable_database(m, database) = (struct mem_database){.flushed = version};
    m->has_flush = true;
}

struct mem_database *memtable_database(struct memtable *m, uint16_t database)
{
    struct mem_database *d = sparse_get(&m->databases, database);
    if (d != NULL) return d;
    d = arena_alloc(&m->arena, sizeof *d);
    *d = (struct mem_database){0};
    *sparse_slot(&m->databases, database) = d;
    return d;
}

void memtable_forget(struct memtable *m, struct slice start, struct slice end, uint64_t version)
{
    struct mem_range *range = arena_alloc(&m->arena, sizeof *range);
    memtable_cover(m, version);
    *range = (struct mem_range){.next = m->forgotten,
                                .start = arena_copy(&m->arena, start),
                                .end = arena_copy(&m->arena, end)};
    m->forgotten = range;
}

const struct mem_version *memtable_get(const struct memtable *m, uint64_t hash, struct slice key)
{
    const struct mem_entry *entry = htab_find(&m->points, hash, key);
    return entry == NULL ? NULL : entry->newest;
}

const struct mem_version *mem_version_at(const struct mem_version *newest, uint64_t version)
{
    while (newest != NULL && newest->version > version) newest = newest->older;
    return newest;
}

size_t memtable_bytes(const struct memtable *m)
{
    return m->arena.held_bytes + htab_bytes(&m->points);
}

bool memtable_is_empty(const struct memtable *m)
{
    return m->version_first == 0;
}
