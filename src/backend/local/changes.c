/* changes: history, read from the journal's segments on a query thread.
 *
 *   WAITING --`until` is durable--> READING a part of one segment --> done()
 *
 * One job reads a bounded part of one segment, which is pinned meanwhile and no longer: a reader
 * that is too slow finds its history gone (ERR_STALE), it never keeps the disk full. Only what was
 * durable at the beginning of the job is looked at: the journal thread wrote it whole before, and
 * writes elsewhere now.
 *
 * Places: where in a segment the newest readers stopped, so that following the end of the journal
 * costs what is new. A place says that all versions above its own lie at or after its offset; the
 * batch there may hold older ones too.
 *
 * Gaps: versions follow each other without one except where a start skipped those that were only
 * reserved: between two segments. A client that knows a version in there has it from a history that
 * is no more (a tail lost under a weak durability, or what a restored backup undid): ERR_STALE.
 */
#include "backend/local/local_int.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

#define PLACES 256
#define READ_BYTES_MAX (8u << 20) /* of one job */
#define CHUNK_BYTES_MIN (16u << 10)
#define CHUNK_BYTES_MAX (1u << 20)

struct place {
    uint64_t number; /* of the segment; 0 = unused */
    uint64_t version;
    uint64_t offset;
    uint64_t used; /* higher = later; 0 = its reader went on from it */
};

struct changes {
    struct changes_job *waiting; /* for a version to become durable */
    struct place places[PLACES];
    uint64_t uses;
};

struct changes_job {
    struct job job; /* first */
    struct local *local;
    struct changes_job *next; /* in changes->waiting */
    struct changes_request *request;
    struct journal_pin pin;
    uint64_t limit; /* newest durable version when it began */
    uint64_t end;   /* of them the last in this segment */
    uint64_t place; /* version of the place it began at; 0 = the segment's beginning */
    uint64_t version, offset;
    uint64_t bytes;     /* of keys and values found */
    struct buf window;  /* of the segment's bytes ... */
    uint64_t window_at; /* ... from here on */
    size_t chunk_bytes;
};

/* ---- reading; query thread ---- */

/* The window has `want` bytes from k->offset on; the segment is known to have them. */
static enum err window_fill(struct changes_job *k, struct file *f, size_t want)
{
    struct error *e = &k->request->error;
    uint64_t left = k->pin.bytes - k->offset;
    if (k->window_at + k->window.len >= k->offset + want) return OK;
    size_t n = want > k->chunk_bytes ? want : k->chunk_bytes;
    if (n > left) n = (size_t)left;
    buf_clear(&k->window, SIZE_MAX);
    k->window_at = k->offset;
    uint8_t *p = buf_reserve(&k->window, n);
    if (p == NULL) return error_set(e, ERR_NOMEM, "no memory to read the journal");
    enum err r = file_read_at(f, k->offset, p, n, e);
    if (r == OK) k->window.len = n;
    if (k->chunk_bytes < CHUNK_BYTES_MAX) k->chunk_bytes *= 2;
    return r;
}

static bool is_wanted(const struct changes_request *q, const struct mutation *mu)
{
    if (mu->kind == MUTATION_FLUSH) return key_database(mu->key) == key_database(q->start);
    return slice_cmp(mu->key, q->start) >= 0 && slice_cmp(mu->key, q->end) < 0;
}

static struct changes_row *row_new(struct changes_request *q)
{
    if ((q->count & (q->count - 1)) == 0) { /* full: 0, 1, 2, 4, 8 ... */
        size_t cap = q->count == 0 ? 1 : 2 * q->count;
        struct changes_row *rows = arena_alloc_try(&q->arena, cap * sizeof *rows);
        if (rows == NULL) return NULL;
        if (q->count > 0) memcpy(rows, q->rows, q->count * sizeof *rows);
        q->rows = rows;
    }
    return &q->rows[q->count];
}

static enum err take_mutation(struct changes_job *k, const struct txn_view *txn,
                              const struct mutation *mu)
{
    struct changes_request *q = k->request;
    uint8_t *bytes = arena_alloc_try(&q->arena, mu->key.len + mu->value.len);
    struct changes_row *row = row_new(q);
    if (bytes == NULL || row == NULL) {
        return error_set(&q->error, ERR_NOMEM, "no memory for a part of the history");
    }
    memcpy(bytes, mu->key.data, mu->key.len);
    if (mu->value.len > 0) memcpy(bytes + mu->key.len, mu->value.data, mu->value.len);
    *row = (struct changes_row){.version = txn->version, .time_ms = txn->time_ms, .mutation = *mu};
    row->mutation.key = slice_of(bytes, mu->key.len);
    row->mutation.value = slice_of(bytes + mu->key.len, mu->value.len);
    q->count++;
    k->bytes += mu->key.len + mu->value.len;
    return OK;
}

static bool is_full(const struct changes_job *k)
{
    return k->request->count >= k->request->rows_max || k->bytes >= k->request->bytes_max;
}

/* ERR_CORRUPT: it is not what a commit wrote. */
static enum err take_txn(struct changes_job *k, struct txn_view *txn)
{
    struct mutation mu;
    size_t before = k->request->count;
    enum err r = OK;
    while (r == OK && mutation_read(&txn->bytes, &mu)) {
        if (is_wanted(k->request, &mu)) r = take_mutation(k, txn, &mu);
    }
    if (r == OK && txn->bytes.len != 0) {
        r = error_set(&k->request->error, ERR_CORRUPT, "a malformed record");
    }
    if (r == OK) {
        k->version = txn->version;
    } else {
        k->request->count = before; /* all of a commit, or nothing */
    }
    return r;
}

/* Takes what is wanted of a batch; *is_through false when the answer is full before its end. */
static enum err take_batch(struct changes_job *k, const struct batch_header *h,
                           struct slice payload, bool *is_through)
{
    struct changes_request *q = k->request;
    struct txn_view txn;
    bool is_first = k->version == k->pin.version_before;
    *is_through = true;
    if (h->transactions > 0 && h->first_version > k->version + 1) {
        if (!is_first) return error_set(&q->error, ERR_CORRUPT, "versions are missing");
        if (q->after > k->version && q->after < h->first_version) {
            return error_set(&q->error, ERR_STALE,
                             "the one given is of a history that a restart or a restore undid");
        }
    }
    while (txn_read(&payload, &txn)) {
        if (txn.version <= q->after) {
            if (txn.version > k->version) k->version = txn.version;
            continue;
        }
        if (is_full(k)) {
            *is_through = false;
            return OK;
        }
        enum err r = take_txn(k, &txn);
        if (r != OK) return r;
    }
    if (payload.len != 0) return error_set(&q->error, ERR_CORRUPT, "a malformed record");
    return OK;
}

static enum err read_batches(struct changes_job *k, struct file *f)
{
    struct error *e = &k->request->error;
    uint64_t begin = k->offset;
    bool is_through = true;
    while (is_through && k->version < k->end && k->offset - begin < READ_BYTES_MAX) {
        struct batch_header h;
        size_t room = (size_t)(k->pin.bytes - k->offset);
        if (room < JOURNAL_BATCH_BYTES) return error_set(e, ERR_CORRUPT, "it ends too early");
        enum err r = window_fill(k, f, JOURNAL_BATCH_BYTES);
        if (r != OK) return r;
        if (!batch_peek(k->window.data + (k->offset - k->window_at), room, &h)) {
            return error_set(e, ERR_CORRUPT, "a batch is missing");
        }
        size_t bytes = batch_bytes(h.payload_bytes);
        r = window_fill(k, f, bytes);
        if (r != OK) return r;
        const uint8_t *batch = k->window.data + (k->offset - k->window_at);
        if (!batch_verify(batch, &h, &k->pin.id)) {
            return error_set(e, ERR_CORRUPT, "a damaged batch");
        }
        r = take_batch(k, &h, slice_of(batch + JOURNAL_BATCH_BYTES, h.payload_bytes), &is_through);
        if (r != OK) return r;
        if (is_through) k->offset += bytes;
    }
    return OK;
}

static void read_run(struct job *job)
{
    struct changes_job *k = (struct changes_job *)job;
    struct changes_request *q = k->request;
    struct file f = {.fd = -1};
    struct buf path;
    if (k->pin.segment == NULL) return;
    buf_init(&path);
    journal_path(&path, k->local->dir, k->pin.id.number);
    q->result = file_open(&f, (char *)path.data, FILE_READ, &q->error);
    /* Somebody has removed it, and asking again would be of no use. */
    if (q->result == ERR_IO && !file_exists((char *)path.data)) {
        q->result = error_set(&q->error, ERR_CORRUPT, "its file is missing");
    }
    if (q->result == OK) q->result = read_batches(k, &f);
    file_close(&f);
    buf_fini(&path);
    buf_fini(&k->window);
}

/* ---- places; loop thread ---- */

static struct place *place_find(struct changes *c, uint64_t number, uint64_t version)
{
    struct place *best = NULL;
    for (size_t i = 0; i < PLACES; i++) {
        struct place *p = &c->places[i];
        if (p->number != number || p->version > version) continue;
        if (best == NULL || p->version > best->version) best = p;
    }
    return best;
}

static void job_place(struct changes_job *k)
{
    struct changes *c = k->local->changes;
    struct place *p = place_find(c, k->pin.id.number, k->request->after);
    k->version = k->pin.version_before;
    k->offset = JOURNAL_HEADER_BYTES;
    if (p == NULL) return;
    p->used = ++c->uses;
    k->place = k->version = p->version;
    k->offset = p->offset;
}

/* The place that its reader left is the first to be forgotten, so that a fast one does not use up
 * all of them. */
static void job_remember(const struct changes_job *k)
{
    struct changes *c = k->local->changes;
    struct place *oldest = &c->places[0];
    if (k->version == k->place || k->version == k->pin.version_before) return;
    struct place *left = place_find(c, k->pin.id.number, k->place);
    if (left != NULL && left->version == k->place) left->used = 0;
    struct place *same = place_find(c, k->pin.id.number, k->version);
    if (same != NULL && same->version == k->version) {
        same->offset = k->offset;
        same->used = ++c->uses;
        return;
    }
    for (size_t i = 1; i < PLACES; i++) {
        if (c->places[i].used < oldest->used) oldest = &c->places[i];
    }
    *oldest = (struct place){
        .number = k->pin.id.number, .version = k->version, .offset = k->offset, .used = ++c->uses};
}

/* ---- requests; loop thread ---- */

/* What was found before an error is good; who asks again meets the error at once. */
static void read_done(struct job *job)
{
    struct changes_job *k = (struct changes_job *)job;
    struct changes_request *q = k->request;
    struct journal *j = k->local->journal;
    bool is_damaged = q->result == ERR_CORRUPT;
    if (k->version > q->next) q->next = k->version;
    if (is_damaged) {
        log_warning("journal: segment %llu at offset %llu: %s: the change feed begins after it",
                    (unsigned long long)k->pin.id.number, (unsigned long long)k->offset,
                    q->error.text);
        struct error why = q->error;
        q->is_damaged = true;
        q->result = error_set(
            &q->error, ERR_STALE, "segment %llu of the journal is damaged at offset %llu: %s",
            (unsigned long long)k->pin.id.number, (unsigned long long)k->offset, why.text);
    }
    if (k->pin.segment != NULL && q->result == OK) job_remember(k);
    journal_unpin(&k->pin, is_damaged);
    if (q->count > 0) q->result = OK;
    q->is_end = q->next >= k->limit;
    q->oldest = journal_oldest(j);
    mem_free(k);
    q->done(q);
}

static void changes_begin(struct local *l, struct changes_job *k)
{
    struct changes_request *q = k->request;
    k->limit = l->version_told;
    q->oldest = journal_oldest(l->journal);
    if (q->after > l->version_newest) {
        q->result = error_set(&q->error, ERR_STALE, "the one given is newer than every commit");
    } else if (q->after < q->oldest) {
        q->result = error_set(&q->error, ERR_STALE,
                              "what followed the one given is no longer kept");
    } else if (q->after < k->limit && journal_pin(l->journal, q->after, &k->pin)) {
        k->end = k->limit < k->pin.last_version ? k->limit : k->pin.last_version;
        job_place(k);
    }
    worker_post(l->query_worker, &k->job);
}

void local_changes(struct backend *b, struct changes_request *q)
{
    struct local *l = local_of(b);
    struct changes_job *k = mem_new(sizeof *k);
    INVARIANT(q->start.len > 0 && q->until <= l->version_newest);
    k->job = (struct job){.run = read_run, .done = read_done};
    k->local = l;
    k->request = q;
    k->chunk_bytes = CHUNK_BYTES_MIN;
    q->rows = NULL;
    q->count = 0;
    q->next = q->after;
    q->is_end = q->is_damaged = false;
    q->result = OK;
    if (q->until <= l->version_told) {
        changes_begin(l, k);
        return;
    }
    k->next = l->changes->waiting;
    l->changes->waiting = k;
}

void local_changes_try(struct local *l)
{
    struct changes_job **at = &l->changes->waiting;
    while (*at != NULL) {
        struct changes_job *k = *at;
        if (k->request->until > l->version_told) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        changes_begin(l, k);
    }
}

void local_changes_stop(struct local *l)
{
    while (l->changes->waiting != NULL) {
        struct changes_job *k = l->changes->waiting;
        struct changes_request *q = k->request;
        l->changes->waiting = k->next;
        mem_free(k);
        q->result = error_set(&q->error, ERR_IO, "the server is stopping");
        q->done(q);
    }
}

struct changes *changes_new(void)
{
    return mem_new(sizeof(struct changes));
}

void changes_free(struct changes *c)
{
    if (c == NULL) return;
    INVARIANT(c->waiting == NULL);
    mem_free(c);
}
