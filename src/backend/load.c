/* load: the newest state of one key: from a memtable, the cache, or the store. */
#include "backend/pipeline_int.h"
#include "base/mem.h"

#define LOAD_ARENA_BYTES 512

static void entry_from_memory(const struct mem_version *v, struct entry *out)
{
    *out = (struct entry){.exists = !v->is_tombstone,
                          .version = v->version,
                          .expiry_ms = v->expiry_ms,
                          .value = slice_of(v->value, v->value_len),
                          .depends = v->version};
}

static void entry_from_cache(const struct cache_entry *c, struct entry *out)
{
    *out = (struct entry){.exists = c->exists,
                          .version = c->version,
                          .expiry_ms = c->expiry_ms,
                          .value = slice_of(c->bytes + c->key.len, c->value_len)};
}

/* True when a memtable decides. */
static bool load_from_memory(const struct pipeline *p, uint64_t hash, struct slice key,
                             struct entry *out)
{
    for (const struct memtable *m = p->active; m != NULL; m = m->older) {
        uint64_t flushed = memtable_flushed(m, key_database(key));
        const struct mem_version *v = memtable_get(m, hash, key);
        if (v != NULL && v->version >= flushed) {
            entry_from_memory(v, out);
            return true;
        }
        if (flushed != 0) {
            *out = (struct entry){.depends = flushed};
            return true;
        }
    }
    return false;
}

/* A read that would have to wait: a query thread makes it, for the entry that is kept. */
struct load_job {
    struct job job; /* first */
    struct pipeline *pipeline;
    struct pooled_reader *reader;
    struct kept_entry *kept; /* referenced; its key does not change meanwhile */
    uint64_t retire_generation;
    struct arena arena;
    struct entry entry;
    enum err result;
    struct error error;
};

static void load_run(struct job *job)
{
    struct load_job *j = (struct load_job *)job;
    j->result = store_get_many(j->reader->reader, &j->kept->key, 1, &j->arena, &j->entry,
                               &j->error);
}

static void load_done(struct job *job)
{
    struct load_job *j = (struct load_job *)job;
    struct pipeline *p = j->pipeline;
    struct kept_entry *kept = j->kept;
    /* The answer goes into the cache only if no memtable left the read path, or began to, since it
     * was asked for: otherwise it may be older than what that memtable said. */
    bool is_current = j->retire_generation == p->retire_generation && p->retiring == NULL;
    if (j->result == OK && is_current) {
        (void)cache_put(&p->cache, kept->hash, kept->key, &j->entry);
    } else if (j->result != OK) {
        damage_note(&p->damage, &j->error);
    }
    if (j->result == OK && !j->entry.exists) pipeline_absent_seen(p);
    kept_read(&p->kept, kept, &j->entry, j->result == OK ? NULL : &j->error);
    reader_give(p, j->reader);
    pipeline_wake(p, &kept->waiters);
    kept_unref(&p->kept, kept);
    arena_fini(&j->arena);
    mem_free(j);
}

static void load_post(struct pipeline *p, struct pooled_reader *reader, struct kept_entry *kept)
{
    struct load_job *j = mem_new(sizeof *j);
    j->job = (struct job){.run = load_run, .done = load_done};
    j->pipeline = p;
    j->reader = reader;
    j->kept = kept;
    j->retire_generation = p->retire_generation;
    arena_init(&j->arena, LOAD_ARENA_BYTES);
    p->store_waits++;
    worker_post(p->query_worker, &j->job);
}

/* What is kept of the key answers, or is waited for, or a read of it begins. */
static enum err load_kept(struct pipeline *p, uint64_t hash, struct slice key, struct entry *out,
                          struct waiter *w, struct error *e)
{
    struct kept_entry *kept = kept_find(&p->kept, hash, key);
    struct pooled_reader *reader = NULL;
    bool is_again = false;
    if (kept != NULL && kept->state != KEPT_FAILED) {
        return kept_answer(&p->kept, kept, out, w, &is_again, e);
    }
    enum err r = reader_take(p, &reader, e);
    if (r == ERR_TRYAGAIN) {
        waiter_add(&p->yielded, w);
        return error_set(e, ERR_WAIT, "too many reads wait for the disk");
    }
    if (r != OK) return r;
    if (kept != NULL) {
        r = kept_answer(&p->kept, kept, out, w, &is_again, e);
        if (!is_again) {
            reader_give(p, reader);
            return r;
        }
    } else {
        kept = kept_add(&p->kept, hash, key, w);
    }
    load_post(p, reader, kept);
    return error_set(e, ERR_WAIT, "the data is being read from disk");
}

bool pipeline_peek(const struct pipeline *p, uint64_t hash, struct slice key, struct entry *out)
{
    if (load_from_memory(p, hash, key, out)) return true;
    const struct cache_entry *cached = cache_peek(&p->cache, hash, key);
    if (cached != NULL) entry_from_cache(cached, out);
    return cached != NULL;
}

/* From memory, or from the store if it answers without waiting. */
static enum err load_now(struct pipeline *p, uint64_t hash, struct slice key, struct entry *out,
                         struct error *e)
{
    if (load_from_memory(p, hash, key, out)) return OK;
    const struct cache_entry *cached = cache_get(&p->cache, hash, key);
    if (cached == NULL && absent_is(&p->absent, hash)) {
        p->absent.answers++;
        *out = (struct entry){0};
        return OK;
    }
    if (cached == NULL) {
        struct entry stored;
        const struct kept_entry *kept = kept_find(&p->kept, hash, key);
        if (kept != NULL) return error_set(e, ERR_WAIT, "it is kept, or being read");
        p->store_reads++;
        enum err r = store_get(p->reader, key, false, &stored, e);
        if (r != OK && r != ERR_WAIT && e != NULL) damage_note(&p->damage, e);
        if (r != OK) return r;
        if (!stored.exists) pipeline_absent_seen(p);
        cached = cache_put(&p->cache, hash, key, &stored);
        store_get_end(p->reader);
    }
    entry_from_cache(cached, out);
    return OK;
}

enum err pipeline_load_now(struct pipeline *p, struct slice key, struct entry *out, struct error *e)
{
    return load_now(p, hash_bytes(key), key, out, e);
}

enum err pipeline_load(struct backend *b, struct slice key, struct entry *out, struct waiter *w,
                       struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    uint64_t hash = hash_bytes(key);
    enum err r = load_now(p, hash, key, out, e);
    return r == ERR_WAIT ? load_kept(p, hash, key, out, w, e) : r;
}

void pipeline_expect(struct backend *b, const struct slice *keys, size_t count)
{
    struct pipeline *p = pipeline_of(b);
    uint64_t hashes[BACKEND_EXPECT_MAX];
    INVARIANT(count <= BACKEND_EXPECT_MAX);
    p->keys_expected += count;
    for (size_t i = 0; i < count; i++) {
        hashes[i] = hash_bytes(keys[i]);
        htab_prefetch(&p->cache.points, hashes[i]);
        for (const struct memtable *m = p->active; m != NULL; m = m->older) {
            htab_prefetch(&m->points, hashes[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        htab_prefetch_item(&p->cache.points, hashes[i]);
        for (const struct memtable *m = p->active; m != NULL; m = m->older) {
            htab_prefetch_item(&m->points, hashes[i]);
        }
    }
}
