/* load: the newest state of one key: from a memtable, the cache, or the store. */
#include "backend/pipeline_int.h"
#include "base/mem.h"

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
        uint64_t flushed = m->flushed[key.data[0]];
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

/* A load whose page was not in memory: a query thread reads it, which also brings the page in. */
struct load_job {
    struct job job; /* first */
    struct pipeline *pipeline;
    struct pooled_reader *reader;
    struct slice key; /* owned, after the struct */
    uint64_t retire_generation;
    struct entry entry;
    enum err result;
    struct error error;
    struct waiter_list waiters;
};

static void load_run(struct job *job)
{
    struct load_job *j = (struct load_job *)job;
    j->result = store_get(j->reader->reader, j->key, true, &j->entry, &j->error);
}

static void load_done(struct job *job)
{
    struct load_job *j = (struct load_job *)job;
    struct pipeline *p = j->pipeline;
    /* The answer goes into the cache only if no memtable left the read path, or began to, since it
     * was asked for: otherwise it may be older than what that memtable said. */
    bool is_current = j->retire_generation == p->retire_generation && p->retiring == NULL;
    if (j->result == OK && is_current) {
        (void)cache_put(&p->cache, hash_bytes(j->key), j->key, &j->entry);
    } else if (j->result != OK) {
        damage_note_read(&p->damage, hash_bytes(j->key), &j->error);
    }
    store_get_end(j->reader->reader);
    reader_give(p, j->reader);
    pipeline_wake(p, &j->waiters);
    mem_free(j);
}

bool pipeline_peek(const struct pipeline *p, uint64_t hash, struct slice key, struct entry *out)
{
    if (load_from_memory(p, hash, key, out)) return true;
    const struct cache_entry *cached = cache_peek(&p->cache, hash, key);
    if (cached != NULL) entry_from_cache(cached, out);
    return cached != NULL;
}

static enum err load_later(struct pipeline *p, struct slice key, struct waiter *w, struct error *e)
{
    struct pooled_reader *reader = NULL;
    struct error failed;
    if (damage_find(&p->damage, hash_bytes(key), &failed)) {
        return error_set(e, failed.code, "%s", failed.text);
    }
    enum err r = reader_take(p, &reader, e);
    if (r == ERR_TRYAGAIN) {
        waiter_add(&p->yielded, w);
        return error_set(e, ERR_WAIT, "too many reads wait for the disk");
    }
    if (r != OK) return r;
    struct load_job *j = mem_new(sizeof *j + key.len);
    memcpy(j + 1, key.data, key.len);
    j->key = slice_of(j + 1, key.len);
    j->job.run = load_run;
    j->job.done = load_done;
    j->pipeline = p;
    j->reader = reader;
    j->retire_generation = p->retire_generation;
    waiter_list_init(&j->waiters);
    waiter_add(&j->waiters, w);
    p->store_waits++;
    worker_post(p->query_worker, &j->job);
    return error_set(e, ERR_WAIT, "the data is being read from disk");
}

enum err pipeline_load(struct backend *b, struct slice key, struct entry *out, struct waiter *w,
                       struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    uint64_t hash = hash_bytes(key);
    if (load_from_memory(p, hash, key, out)) return OK;
    const struct cache_entry *cached = cache_get(&p->cache, hash, key);
    if (cached == NULL) {
        struct entry stored;
        p->store_reads++;
        enum err r = store_get(p->reader, key, false, &stored, e);
        if (r == ERR_WAIT) return load_later(p, key, w, e);
        if (r != OK && e != NULL) damage_note(&p->damage, e);
        if (r != OK) return r;
        cached = cache_put(&p->cache, hash, key, &stored);
        store_get_end(p->reader);
    }
    entry_from_cache(cached, out);
    return OK;
}
