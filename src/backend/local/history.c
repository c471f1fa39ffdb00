/* history: what was committed, read from the segments by worker threads.
 *
 * One read is of a bounded part of one segment, which is pinned meanwhile and no longer: a reader
 * that is too slow finds its history gone (ERR_STALE), it never keeps the disk full. Only what was
 * durable at its beginning is looked at: the journal thread wrote it whole before, and writes
 * elsewhere now.
 *
 * Places: where in a segment the newest readers stopped, so that following the end of the journal
 * costs what is new. A place says that all versions above its own lie at or after its offset; the
 * batch there may hold older ones too.
 *
 * Patches: of a long value that a commit changed the segment has what changed. Where the value is
 * wanted the segment is read from the batch that has it whole, which the patch names, up to the
 * patch; what a reading has made is kept until its end, for the patches that follow.
 *
 * Gaps: versions follow each other without one except where a start skipped those that were only
 * reserved: between two segments. A client that knows a version in there has it from a history that
 * is no more (a tail lost under a weak durability, or what a restored backup undid): ERR_STALE.
 */
#include "backend/local/file_journal_int.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

#define PLACES 256
#define READ_BYTES_MAX (8u << 20) /* of one read */
#define CHUNK_BYTES_MIN (16u << 10)
#define CHUNK_BYTES_MAX (1u << 20)

struct place {
    uint64_t number; /* of the segment; 0 = unused */
    uint64_t version;
    uint64_t offset;
    uint64_t used; /* higher = later; 0 = its reader went on from it */
};

struct places {
    struct place place[PLACES];
    uint64_t uses;
};

/* Batches of a segment, one after the other. */
struct batches {
    uint64_t offset;    /* of the next one */
    struct buf window;  /* of the segment's bytes ... */
    uint64_t window_at; /* ... from here on */
    size_t chunk_bytes;
};

struct reading {
    struct segment_pin pin;
    struct file file;
    uint64_t end;   /* of the durable versions the last in this segment */
    uint64_t place; /* version of the place it began at; 0 = the segment's beginning */
    uint64_t version;
    struct batches batches;
    struct patch_values values; /* that were wanted of patches */
};

/* ---- reading; any thread ---- */

/* The window has `want` bytes from the offset on; the segment is known to have them. */
static enum err window_fill(struct batches *b, struct reading *k, size_t want, struct error *e)
{
    uint64_t left = k->pin.bytes - b->offset;
    if (b->offset >= b->window_at && b->window_at + b->window.len >= b->offset + want) return OK;
    size_t n = want > b->chunk_bytes ? want : b->chunk_bytes;
    if (n > left) n = (size_t)left;
    buf_clear(&b->window, SIZE_MAX);
    b->window_at = b->offset;
    uint8_t *p = buf_reserve(&b->window, n);
    if (p == NULL) return error_set(e, ERR_NOMEM, "out of memory to read the journal");
    enum err r = file_read_at(&k->file, b->offset, p, n, e);
    if (r == OK) b->window.len = n;
    if (b->chunk_bytes < CHUNK_BYTES_MAX) b->chunk_bytes *= 2;
    return r;
}

/* Whether a whole batch is at the offset. */
static enum err batch_at(struct batches *b, struct reading *k, struct batch_header *h,
                         bool *is_there, struct error *e)
{
    uint64_t room = b->offset < k->pin.bytes ? k->pin.bytes - b->offset : 0;
    *is_there = false;
    if (room < JOURNAL_BATCH_BYTES) return OK;
    enum err r = window_fill(b, k, JOURNAL_BATCH_BYTES, e);
    if (r != OK || !batch_peek(b->window.data + (b->offset - b->window_at), (size_t)room, h)) {
        return r;
    }
    r = window_fill(b, k, batch_bytes(h->payload_bytes), e);
    if (r == OK) {
        *is_there = batch_verify(b->window.data + (b->offset - b->window_at), h, &k->pin.id);
    }
    return r;
}

/* The batch at the offset, or at the next block, as batch_next. What is read here is durable: if
 * one is missing between, the versions say so. *payload is borrowed until the next call. */
static enum err batch_read(struct batches *b, struct reading *k, struct batch_header *h,
                           struct slice *payload, struct error *e)
{
    bool is_there = false;
    uint64_t at = b->offset;
    enum err r = batch_at(b, k, h, &is_there, e);
    uint64_t other = batch_other_place((size_t)at);
    if (r == OK && !is_there && other > 0) {
        b->offset = other;
        r = batch_at(b, k, h, &is_there, e);
    }
    if (r != OK) return r;
    if (!is_there) {
        b->offset = at;
        return error_set(e, ERR_CORRUPT, "a damaged batch");
    }
    *payload = slice_of(b->window.data + (b->offset - b->window_at) + JOURNAL_BATCH_BYTES,
                        h->payload_bytes);
    return OK;
}

/* ---- patches ---- */

static bool has_base(const struct patch_values *values, const struct mutation *mu)
{
    struct patch p;
    struct slice base;
    return patch_read(mu->value, &p) && patch_values_get(values, mu->key, p.base_version, &base);
}

/* What the payload has of the key, up to the version. Patches before the whole value are of the one
 * before that. */
static enum err take_key(struct patch_values *values, struct slice payload, struct slice key,
                         uint64_t version, struct error *e)
{
    struct txn_view txn;
    struct mutation mu;
    enum err r = OK;
    while (r == OK && txn_read(&payload, &txn) && txn.version <= version) {
        while (r == OK && mutation_read(&txn.bytes, &mu)) {
            if (!slice_eq(mu.key, key)) continue;
            if (mu.kind == MUTATION_PATCH && !has_base(values, &mu)) continue;
            r = patch_values_take(values, txn.version, &mu, e);
        }
    }
    return r;
}

/* From the batch that has the value whole. */
static enum err read_whole(struct reading *k, uint64_t version, const struct mutation *mu,
                           uint64_t place, struct error *e)
{
    struct batches b = {.offset = place, .chunk_bytes = CHUNK_BYTES_MAX};
    struct batch_header h = {.last_version = 0};
    struct slice payload;
    enum err r = OK;
    buf_init(&b.window);
    while (r == OK && h.last_version < version) {
        r = batch_read(&b, k, &h, &payload, e);
        if (r == OK) r = take_key(&k->values, payload, mu->key, version, e);
        b.offset += batch_bytes(h.payload_bytes);
    }
    buf_fini(&b.window);
    return r;
}

static enum err whole(struct journal_read *read, uint64_t version, const struct mutation *mu,
                      struct slice *value, struct error *e)
{
    struct reading *k = read->reading;
    struct patch p;
    struct slice base;
    enum err r = OK;
    if (!patch_read(mu->value, &p)) return error_set(e, ERR_CORRUPT, "a malformed patch");
    if (patch_values_get(&k->values, mu->key, p.base_version, &base)) {
        r = patch_values_take(&k->values, version, mu, e);
    } else {
        r = read_whole(k, version, mu, p.place, e);
    }
    if (r == OK && !patch_values_get(&k->values, mu->key, version, value)) {
        r = error_set(e, ERR_CORRUPT, "version %llu changes a value that does not exist",
                      (unsigned long long)version);
    }
    return r;
}

/* ---- commits ---- */

/* Gives out the commits of a batch; *is_through false when the taker is full before its end. */
static enum err take_batch(struct journal_read *r, const struct batch_header *h,
                           struct slice payload, bool *is_through)
{
    struct reading *k = r->reading;
    struct error *e = &r->error;
    struct txn_view txn;
    bool is_first = k->version == k->pin.version_before;
    *is_through = true;
    if (h->transactions > 0 && h->first_version > k->version + 1) {
        if (!is_first) return error_set(e, ERR_CORRUPT, "versions are missing");
        if (r->after > k->version && r->after < h->first_version) {
            return error_set(e, ERR_STALE,
                             "it belongs to a history that a restart or a restore has undone");
        }
    }
    while (txn_read(&payload, &txn)) {
        uint64_t version = txn.version;
        bool is_full = false;
        enum err result = OK;
        if (version > r->after) result = r->take(r, &txn, &is_full, e);
        if (result != OK) return result;
        if (is_full) {
            *is_through = false;
            return OK;
        }
        if (version > k->version) k->version = version;
    }
    if (payload.len != 0) return error_set(e, ERR_CORRUPT, "a malformed record");
    return OK;
}

static enum err read_batches(struct journal_read *read)
{
    struct reading *k = read->reading;
    uint64_t begin = k->batches.offset;
    bool is_through = true;
    while (is_through && k->version < k->end && k->batches.offset - begin < READ_BYTES_MAX) {
        struct batch_header h = {.last_version = 0};
        struct slice payload;
        uint64_t at = k->batches.offset;
        enum err r = batch_read(&k->batches, k, &h, &payload, &read->error);
        if (r == OK && k->batches.offset != at && h.first_version != k->version + 1) {
            r = error_set(&read->error, ERR_CORRUPT, "a batch is missing");
        }
        if (r == OK) r = take_batch(read, &h, payload, &is_through);
        if (r != OK) return r;
        if (is_through) k->batches.offset += batch_bytes(h.payload_bytes);
    }
    return OK;
}

void history_run(struct journal *journal, struct journal_read *r)
{
    const char *dir = file_journal_of(journal)->dir; /* as long as the journal is open */
    struct reading *k = r->reading;
    struct buf path;
    buf_init(&path);
    journal_path(&path, dir, k->pin.id.number);
    r->result = file_open(&k->file, (char *)path.data, FILE_READ, &r->error);
    /* It was removed from outside, and asking again would be of no use. */
    if (r->result == ERR_IO && !file_exists((char *)path.data)) {
        r->result = error_set(&r->error, ERR_CORRUPT, "its file is missing");
    }
    if (r->result == OK) r->result = read_batches(r);
    file_close(&k->file);
    buf_fini(&path);
    buf_fini(&k->batches.window);
    patch_values_fini(&k->values);
}

/* ---- places; loop thread ---- */

static struct place *place_find(struct places *c, uint64_t number, uint64_t version)
{
    struct place *best = NULL;
    for (size_t i = 0; i < PLACES; i++) {
        struct place *p = &c->place[i];
        if (p->number != number || p->version > version) continue;
        if (best == NULL || p->version > best->version) best = p;
    }
    return best;
}

static void reading_place(struct places *c, struct reading *k, uint64_t after)
{
    struct place *p = place_find(c, k->pin.id.number, after);
    k->version = k->pin.version_before;
    k->batches.offset = JOURNAL_HEADER_BYTES;
    if (p == NULL) return;
    p->used = ++c->uses;
    k->place = k->version = p->version;
    k->batches.offset = p->offset;
}

/* The place that its reader left is the first to be forgotten, so that a fast one does not use up
 * all of them. */
static void reading_remember(struct places *c, const struct reading *k)
{
    struct place *oldest = &c->place[0];
    if (k->version == k->place || k->version == k->pin.version_before) return;
    struct place *left = place_find(c, k->pin.id.number, k->place);
    if (left != NULL && left->version == k->place) left->used = 0;
    struct place *same = place_find(c, k->pin.id.number, k->version);
    if (same != NULL && same->version == k->version) {
        same->offset = k->batches.offset;
        same->used = ++c->uses;
        return;
    }
    for (size_t i = 1; i < PLACES; i++) {
        if (c->place[i].used < oldest->used) oldest = &c->place[i];
    }
    *oldest = (struct place){.number = k->pin.id.number,
                             .version = k->version,
                             .offset = k->batches.offset,
                             .used = ++c->uses};
}

struct places *places_new(void)
{
    return mem_new(sizeof(struct places));
}

void places_free(struct places *c)
{
    mem_free(c);
}

/* ---- begin and end; loop thread ---- */

bool history_begin(struct journal *journal, struct journal_read *r)
{
    struct file_journal *j = file_journal_of(journal);
    struct segment_pin pin;
    if (!segment_pin(j, r->after, &pin)) return false;
    struct reading *k = mem_new(sizeof *k);
    r->reading = k;
    r->result = OK;
    r->is_damaged = false;
    k->pin = pin;
    k->file.fd = -1;
    if (pin.segment == j->current) j->current_read_us = clock_mono_us();
    k->batches.chunk_bytes = CHUNK_BYTES_MIN;
    patch_values_init(&k->values);
    r->whole = whole;
    k->end = r->until < pin.last_version ? r->until : pin.last_version;
    reading_place(j->places, k, r->after);
    return true;
}

/* What was found before an error is good; who asks again meets the error at once. */
void history_end(struct journal *journal, struct journal_read *r)
{
    struct reading *k = r->reading;
    r->next = k->version > r->after ? k->version : r->after;
    r->is_damaged = r->result == ERR_CORRUPT;
    if (r->is_damaged) {
        struct error why = r->error;
        log_warning("journal: segment %llu at offset %llu: %s: the change feed begins after it",
                    (unsigned long long)k->pin.id.number, (unsigned long long)k->batches.offset,
                    why.text);
        r->result = error_set(
            &r->error, ERR_STALE, "segment %llu of the journal is damaged at offset %llu: %s",
            (unsigned long long)k->pin.id.number, (unsigned long long)k->batches.offset, why.text);
    }
    if (r->result == OK) reading_remember(file_journal_of(journal)->places, k);
    segment_unpin(&k->pin, r->is_damaged);
    mem_free(k);
    r->reading = NULL;
}
