/* changes: history, read back from the journal on a query thread.
 *
 *   WAITING --`until` is durable--> READING a part of it --> done()
 *
 * Only what was durable at the beginning of the job is looked at. A reader that is too slow finds
 * its history gone (ERR_STALE).
 */
#include "backend/pipeline_int.h"
#include "base/mem.h"

struct changes {
    struct changes_job *waiting; /* for a version to become durable */
};

struct changes_job {
    struct job job; /* first */
    struct pipeline *pipeline;
    struct changes_job *next; /* in changes->waiting */
    struct changes_request *request;
    struct journal_read read;
    bool is_reading; /* there is something to read */
    uint64_t limit;  /* newest durable version when it began */
    uint64_t bytes;  /* of keys and values found */
};

/* ---- reading; query thread ---- */

static bool is_wanted(const struct changes_request *q, const struct mutation *mu)
{
    if (mu->kind == MUTATION_FLUSH) return key_database(mu->key) == key_database(q->start);
    return slice_cmp(mu->key, q->start) >= 0 && slice_cmp(mu->key, q->end) < 0;
}

static bool is_beside(const struct changes_request *q, const struct mutation *mu)
{
    return q->with_start.data != NULL && mu->kind != MUTATION_FLUSH &&
           slice_cmp(mu->key, q->with_start) >= 0 && slice_cmp(mu->key, q->with_end) < 0;
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
                              struct mutation *mu, struct error *e)
{
    struct changes_request *q = k->request;
    if (mu->kind == MUTATION_PATCH) {
        if (k->read.whole == NULL)
            return error_set(e, ERR_CORRUPT, "a patch where none is allowed");
        enum err r = k->read.whole(&k->read, txn->version, mu, &mu->value, e);
        if (r != OK) return r;
        mu->kind = MUTATION_SET;
    }
    uint8_t *bytes = arena_alloc_try(&q->arena, mu->key.len + mu->value.len);
    struct changes_row *row = row_new(q);
    if (bytes == NULL || row == NULL) {
        return error_set(e, ERR_NOMEM, "out of memory for a part of the history");
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
static enum err take_txn(struct journal_read *read, struct txn_view *txn, bool *is_enough,
                         struct error *e)
{
    struct changes_job *k = read->arg;
    struct mutation mu;
    size_t before = k->request->count;
    bool is_any_wanted = false;
    enum err r = OK;
    *is_enough = is_full(k);
    if (*is_enough) return OK;
    while (r == OK && mutation_read(&txn->bytes, &mu)) {
        bool is_one = is_wanted(k->request, &mu);
        is_any_wanted = is_any_wanted || is_one;
        if (is_one || is_beside(k->request, &mu)) r = take_mutation(k, txn, &mu, e);
    }
    if (r == OK && txn->bytes.len != 0) r = error_set(e, ERR_CORRUPT, "a malformed record");
    if (r != OK || !is_any_wanted) k->request->count = before; /* all of a commit, or nothing */
    return r;
}

static void read_run(struct job *job)
{
    struct changes_job *k = (struct changes_job *)job;
    struct journal *j = k->pipeline->log.journal;
    if (k->is_reading) j->ops->read_run(j, &k->read);
}

/* ---- requests; loop thread ---- */

/* What was found before an error is good; who asks again meets the error at once. */
static void read_done(struct job *job)
{
    struct changes_job *k = (struct changes_job *)job;
    struct changes_request *q = k->request;
    struct journal *j = k->pipeline->log.journal;
    if (k->is_reading) {
        j->ops->read_end(j, &k->read);
        q->result = k->read.result;
        q->error = k->read.error;
        q->is_damaged = k->read.is_damaged;
        q->next = k->read.next;
    }
    if (q->count > 0) q->result = OK;
    q->is_end = q->next >= k->limit;
    q->oldest = j->ops->oldest(j);
    mem_free(k);
    q->done(q);
}

static void changes_begin(struct pipeline *p, struct changes_job *k)
{
    struct changes_request *q = k->request;
    struct journal *j = p->log.journal;
    k->limit = p->log.version_told;
    q->oldest = j->ops->oldest(j);
    if (q->after > p->log.version_newest) {
        q->result = error_set(&q->error, ERR_STALE, "it is newer than every commit");
    } else if (q->after < q->oldest) {
        q->result = error_set(&q->error, ERR_STALE, "the changes after it are no longer kept");
    } else if (q->after < k->limit) {
        k->read = (struct journal_read){
            .after = q->after, .until = k->limit, .take = take_txn, .arg = k};
        k->is_reading = j->ops->read_begin(j, &k->read);
    }
    worker_post(p->workers.query, &k->job);
}

void backend_changes(struct backend *b, struct changes_request *q)
{
    struct pipeline *p = pipeline_of(b);
    struct changes_job *k = mem_new(sizeof *k);
    INVARIANT(q->start.len > 0 && q->until <= p->log.version_newest);
    k->job = (struct job){.run = read_run, .done = read_done};
    k->pipeline = p;
    k->request = q;
    q->rows = NULL;
    q->count = 0;
    q->next = q->after;
    q->is_end = q->is_damaged = false;
    q->result = OK;
    if (q->until <= p->log.version_told) {
        changes_begin(p, k);
        return;
    }
    k->next = p->changes->waiting;
    p->changes->waiting = k;
}

void pipeline_changes_try(struct pipeline *p)
{
    struct changes_job **at = &p->changes->waiting;
    while (*at != NULL) {
        struct changes_job *k = *at;
        if (k->request->until > p->log.version_told) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        changes_begin(p, k);
    }
}

void pipeline_changes_stop(struct pipeline *p)
{
    while (p->changes->waiting != NULL) {
        struct changes_job *k = p->changes->waiting;
        struct changes_request *q = k->request;
        p->changes->waiting = k->next;
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
