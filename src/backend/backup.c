/* backup: a file with the state of one version, made while the server works.
 *
 *   WAITING --the version is applied, and no apply runs--> COPYING --the file is there--> done()
 *
 * The pin that fixes the moment is taken on the loop thread between two applies; the copy is made
 * on a query thread.
 */
#include "backend/pipeline_int.h"
#include "base/mem.h"

struct pipeline_backup {
    struct job job; /* first */
    struct pipeline *pipeline;
    struct backup_request *request;
    struct pooled_reader *reader;
    bool is_copying;
    bool is_stopping; /* atomic: the copier looks at it */
};

static void finish(struct pipeline_backup *k)
{
    struct backup_request *request = k->request;
    k->pipeline->backup = NULL;
    mem_free(k);
    request->done(request);
}

static void copy_run(struct job *job)
{
    struct pipeline_backup *k = (struct pipeline_backup *)job;
    struct backup_request *q = k->request;
    struct store_reader *reader = k->reader->reader;
    q->result = reader->ops->copy(reader, q->path, &k->is_stopping, &q->error);
}

static void copy_done(struct job *job)
{
    struct pipeline_backup *k = (struct pipeline_backup *)job;
    reader_give(k->pipeline, k->reader);
    finish(k);
}

void pipeline_backup_try(struct pipeline *p)
{
    struct pipeline_backup *k = p->backup;
    if (k == NULL || k->is_copying) return;
    struct backup_request *q = k->request;
    if (p->apply.failures > 0) {
        q->error = p->apply.error;
        q->result = p->apply.error.code;
        finish(k);
        return;
    }
    if (p->apply.is_running || p->stored.applied < q->version) return;
    q->result = reader_take(p, &k->reader, &q->error);
    if (q->result == OK) q->result = store_pin(k->reader->reader, &q->error);
    if (q->result != OK) {
        if (k->reader != NULL) reader_give(p, k->reader);
        finish(k);
        return;
    }
    q->version = p->stored.applied;
    q->time_ms = steady_now_ms(&p->log.time);
    k->is_copying = true;
    k->job.run = copy_run;
    k->job.done = copy_done;
    worker_post(p->workers.query, &k->job);
}

enum err backend_backup(struct backend *b, struct backup_request *q, struct error *e)
{
    struct pipeline *p = pipeline_of(b);
    if (p->backup != NULL) return error_set(e, ERR_SYNTAX, "Background save already in progress");
    struct pipeline_backup *k = mem_new(sizeof *k);
    k->pipeline = p;
    k->request = q;
    p->backup = k;
    q->version = p->log.version_newest;
    if (!memtable_is_empty(p->newest.active)) pipeline_freeze(p);
    p->options.wake(p->options.arg); /* backend_poll goes on with it */
    return OK;
}

void pipeline_backup_stop(struct pipeline *p)
{
    struct pipeline_backup *k = p->backup;
    if (k == NULL) return;
    __atomic_store_n(&k->is_stopping, true, __ATOMIC_RELAXED);
    if (k->is_copying) return; /* its end is collected with the worker's */
    k->request->result = error_set(&k->request->error, ERR_IO, "the server is stopping");
    finish(k);
}
