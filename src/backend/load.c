/* load: the newest state of one key: from a memtable, the cache, or the store. */
#include "backend/pipeline_int.h"
#include "base/bytes.h"
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
                          .expiry_ms = cache_expiry_ms(c),
                          .value = cache_value(c)};
}

/* True when a memtable decides. */
static bool load_from_memory(const struct pipeline *p, uint64_t hash, struct slice key,
                             struct entry *out)
{
    for (const struct memtable *m = p->newest.active; m != NULL; m = m->older) {
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

/* ---- reads that have to wait ---- */

/* Where the store is remote, keys that are asked for in one turn of the loop are read together. */
#define KEYS_MAX 64
#define AHEAD_BYTES_MAX (1u << 20) /* of values that no command has asked for yet */
#define BYTES_MAX (4u << 20) /* about so much in one answer, if values are as they were so far */

struct load_key {
    struct slice key;
    uint64_t hash;
    struct kept_entry *kept; /* referenced, its key is the key; NULL: it is read ahead */
};

/* Keys that a query thread reads. */
struct load_job {
    struct job job; /* first */
    struct pipeline *pipeline;
    struct pooled_reader *reader;
    uint64_t retire_generation;
    struct arena arena;
    size_t count;
    struct load_key *keys; /* after the struct, as the next */
    struct entry *entries; /* what they are */
    enum err result;       /* of all of them ... */
    struct error error;
    struct error *errors; /* ... unless each has its own; owned */
};

static void load_each(struct load_job *j)
{
    j->errors = mem_new(j->count * sizeof *j->errors);
    for (size_t i = 0; i < j->count; i++) {
        struct error *e = &j->errors[i];
        enum err r = store_get_many(j->reader->reader, &j->keys[i].key, 1, &j->arena,
                                    &j->entries[i], e);
        e->code = r;
    }
}

static void load_run(struct job *job)
{
    struct load_job *j = (struct load_job *)job;
    struct slice keys[KEYS_MAX];
    for (size_t i = 0; i < j->count; i++) keys[i] = j->keys[i].key;
    j->result = store_get_many(j->reader->reader, keys, j->count, &j->arena, j->entries, &j->error);
    /* One that is damaged must not keep the others from being read. */
    if (j->result == ERR_CORRUPT && j->count > 1) load_each(j);
}

static void load_key_done(struct load_job *j, size_t i, bool is_current)
{
    struct pipeline *p = j->pipeline;
    struct load_key *k = &j->keys[i];
    const struct error *e = j->errors != NULL ? &j->errors[i] : &j->error;
    enum err r = j->errors != NULL ? e->code : j->result;
    if (r == OK && is_current) {
        (void)cache_put(&p->newest.cache, k->hash, k->key, &j->entries[i]);
    } else if (r != OK) {
        damage_note(&p->stored.damage, e);
    }
    if (r == OK && !j->entries[i].exists) pipeline_absent_seen(p);
    if (r == OK)
        p->loading.value_bytes += ((double)j->entries[i].value.len - p->loading.value_bytes) /
                                  KEYS_MAX;
    if (k->kept == NULL) return;
    kept_read(&p->newest.kept, k->kept, &j->entries[i], r == OK ? NULL : e);
}

static void load_free(struct load_job *j)
{
    reader_give(j->pipeline, j->reader);
    arena_fini(&j->arena);
    mem_free(j->errors);
    mem_free(j);
}

static void load_done(struct job *job)
{
    struct load_job *j = (struct load_job *)job;
    struct pipeline *p = j->pipeline;
    /* The answer goes into the cache only if no memtable left the read path, or began to, since it
     * was asked for: otherwise it may be older than what that memtable said. */
    bool is_current = j->retire_generation == p->newest.retire_generation &&
                      p->newest.retiring == NULL;
    for (size_t i = 0; i < j->count; i++) load_key_done(j, i, is_current);
    for (size_t i = 0; i < j->count; i++) {
        struct kept_entry *kept = j->keys[i].kept;
        if (kept == NULL) continue;
        pipeline_wake(p, &kept->waiters);
        kept_unref(&p->newest.kept, kept);
    }
    load_free(j);
}

static void load_post(struct pipeline *p, struct load_job *j)
{
    j->retire_generation = p->newest.retire_generation;
    p->loading.waits += j->count;
    p->loading.queries++;
    worker_post(p->workers.query, &j->job);
}

void pipeline_load_post(struct pipeline *p)
{
    struct load_job *j = p->loading.gathering;
    if (j == NULL) return;
    p->loading.gathering = NULL;
    load_post(p, j);
}

/* One that a key can be added to: the one that is gathered, or a new one. */
static enum err load_take(struct pipeline *p, struct load_job **out, struct error *e)
{
    struct pooled_reader *reader = NULL;
    *out = p->loading.gathering;
    if (*out != NULL) return OK;
    enum err r = reader_take(p, &reader, e);
    if (r != OK) return r;
    size_t cap = p->stored.store->is_remote ? KEYS_MAX : 1;
    struct load_job *j = mem_new(sizeof *j + cap * (sizeof *j->keys + sizeof *j->entries));
    j->keys = (struct load_key *)(j + 1);
    j->entries = (struct entry *)(j->keys + cap);
    j->job = (struct job){.run = load_run, .done = load_done};
    j->pipeline = p;
    j->reader = reader;
    arena_init(&j->arena, LOAD_ARENA_BYTES);
    *out = j;
    return OK;
}

/* It may be one of those that are read ahead. */
static struct load_key *load_find(struct load_job *j, uint64_t hash, struct slice key)
{
    for (size_t i = 0; i < j->count; i++) {
        struct load_key *k = &j->keys[i];
        if (k->hash == hash && k->kept == NULL && slice_eq(k->key, key)) return k;
    }
    return NULL;
}

static void load_add(struct pipeline *p, struct load_job *j, const struct load_key *key)
{
    struct load_key *at = load_find(j, key->hash, key->key);
    if (at == NULL) at = &j->keys[j->count++];
    *at = *key;
    bool is_full = j->count == KEYS_MAX ||
                   p->loading.value_bytes * (double)(j->count + 1) > BYTES_MAX;
    p->loading.gathering = p->stored.store->is_remote && !is_full ? j : NULL;
    if (p->loading.gathering == NULL) load_post(p, j);
}

/* What is kept of the key answers, or is waited for, or a read of it begins. */
static enum err load_kept(struct pipeline *p, uint64_t hash, struct slice key, struct entry *out,
                          struct waiter *w, struct error *e)
{
    struct kept_entry *kept = kept_find(&p->newest.kept, hash, key);
    struct load_job *j = NULL;
    bool is_again = false;
    if (kept != NULL && kept->state != KEPT_FAILED) {
        return kept_answer(&p->newest.kept, kept, out, w, &is_again, e);
    }
    enum err r = load_take(p, &j, e);
    if (r == ERR_TRYAGAIN) {
        waiter_add(&p->yielded, w);
        return error_set(e, ERR_WAIT, "too many reads wait for the disk");
    }
    if (r != OK) return r;
    if (kept != NULL) {
        r = kept_answer(&p->newest.kept, kept, out, w, &is_again, e);
        if (!is_again) {
            if (j->count == 0) load_free(j);
            return r;
        }
    } else {
        kept = kept_add(&p->newest.kept, hash, key, w);
    }
    load_add(p, j, &(struct load_key){.key = kept->key, .hash = hash, .kept = kept});
    return error_set(e, ERR_WAIT, "the data is being read from disk");
}

bool pipeline_peek(const struct pipeline *p, uint64_t hash, struct slice key, struct entry *out)
{
    if (load_from_memory(p, hash, key, out)) return true;
    const struct cache_entry *cached = cache_peek(&p->newest.cache, hash, key);
    if (cached != NULL) entry_from_cache(cached, out);
    return cached != NULL;
}

/* From memory, or from the store if it answers without waiting. */
static enum err load_now(struct pipeline *p, uint64_t hash, struct slice key, struct entry *out,
                         struct error *e)
{
    if (load_from_memory(p, hash, key, out)) return OK;
    const struct cache_entry *cached = cache_get(&p->newest.cache, hash, key);
    if (cached == NULL && absent_is(&p->newest.absent, hash)) {
        p->newest.absent.answers++;
        *out = (struct entry){0};
        return OK;
    }
    if (cached == NULL) {
        struct entry stored;
        const struct kept_entry *kept = kept_find(&p->newest.kept, hash, key);
        if (kept != NULL) return error_set(e, ERR_WAIT, "it is kept, or being read");
        p->loading.reads++;
        enum err r = store_get(p->stored.reader, key, false, &stored, e);
        if (r != OK && r != ERR_WAIT && e != NULL) damage_note(&p->stored.damage, e);
        if (r != OK) return r;
        if (!stored.exists) pipeline_absent_seen(p);
        cached = cache_put(&p->newest.cache, hash, key, &stored);
        store_get_end(p->stored.reader);
    }
    entry_from_cache(cached, out);
    return OK;
}

enum err pipeline_load_now(struct pipeline *p, struct slice key, struct entry *out, struct error *e)
{
    return load_now(p, hash_bytes(key), key, out, e);
}

enum err backend_load(struct backend *b, struct slice key, struct entry *out, struct waiter *w,
                      struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    uint64_t hash = hash_bytes(key);
    enum err r = load_now(p, hash, key, out, e);
    return r == ERR_WAIT ? load_kept(p, hash, key, out, w, e) : r;
}

/* Those of the keys that memory knows nothing of are read, for the commands that come next. */
static void read_ahead(struct pipeline *p, const struct slice *keys, const uint64_t *hashes,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct entry ignored;
        struct load_job *j = NULL;
        struct error e;
        bool is_known = pipeline_peek(p, hashes[i], keys[i], &ignored) ||
                        absent_is(&p->newest.absent, hashes[i]) ||
                        kept_find(&p->newest.kept, hashes[i], keys[i]) != NULL;
        if (is_known || load_take(p, &j, &e) != OK) continue;
        uint8_t *copy = arena_alloc(&j->arena, keys[i].len + 1);
        bytes_copy(copy, keys[i].data, keys[i].len);
        load_add(p, j, &(struct load_key){.key = slice_of(copy, keys[i].len), .hash = hashes[i]});
    }
}

void backend_expect(struct backend *b, const struct slice *keys, size_t count)
{
    struct pipeline *p = pipeline_of(b);
    uint64_t hashes[BACKEND_EXPECT_MAX];
    INVARIANT(count <= BACKEND_EXPECT_MAX);
    p->loading.keys_expected += count;
    for (size_t i = 0; i < count; i++) {
        hashes[i] = hash_bytes(keys[i]);
        htab_prefetch(&p->newest.cache.points, hashes[i]);
        for (const struct memtable *m = p->newest.active; m != NULL; m = m->older) {
            htab_prefetch(&m->points, hashes[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        htab_prefetch_item(&p->newest.cache.points, hashes[i]);
        for (const struct memtable *m = p->newest.active; m != NULL; m = m->older) {
            htab_prefetch_item(&m->points, hashes[i]);
        }
    }
    if (p->stored.store->is_remote &&
        p->loading.value_bytes * BACKEND_EXPECT_MAX < AHEAD_BYTES_MAX) {
        read_ahead(p, keys, hashes, count);
    }
}
