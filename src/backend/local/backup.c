/* backup: a file with the state of one version, made while the server works.
 *
 *   WAITING --the version is applied, and no apply runs--> COPYING --the file is there--> done()
 *
 * The pin that fixes the moment is taken on the loop thread between two applies; the copy is made
 * on a query thread, written under another name, synced, and renamed.
 */
#include <stdio.h>

#include "backend/local/local_int.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

struct local_backup {
    struct job job; /* first */
    struct local *local;
    struct backup_request *request;
    struct pooled_reader *reader;
    bool is_copying;
    bool is_stopping; /* atomic: the copier looks at it */
};

static void finish(struct local_backup *k)
{
    struct backup_request *request = k->request;
    k->local->backup = NULL;
    mem_free(k);
    request->done(request);
}

static void directory_of(const char *path, struct buf *out)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        buf_append_str(out, ".");
    } else {
        buf_append(out, path, slash == path ? 1 : (size_t)(slash - path));
    }
    buf_append_byte(out, '\0');
    buf_require(out);
}

static void copy_run(struct job *job)
{
    struct local_backup *k = (struct local_backup *)job;
    struct backup_request *q = k->request;
    struct buf part;
    struct buf dir;
    struct error ignored;
    buf_init(&part);
    buf_init(&dir);
    buf_printf(&part, "%s.part", q->path);
    buf_append_byte(&part, '\0');
    buf_require(&part);
    directory_of(q->path, &dir);
    q->result = dir_make((char *)dir.data, &q->error);
    if (q->result == OK) {
        q->result = store_backup(k->reader->reader, (char *)part.data, &k->is_stopping, &q->error);
    }
    if (q->result == OK) q->result = file_rename((char *)part.data, q->path, &q->error);
    if (q->result == OK) q->result = dir_sync((char *)dir.data, &q->error);
    if (q->result != OK && file_exists((char *)part.data)) {
        enum err removed = file_remove((char *)part.data, &ignored);
        (void)removed;
    }
    buf_fini(&part);
    buf_fini(&dir);
}

static void copy_done(struct job *job)
{
    struct local_backup *k = (struct local_backup *)job;
    reader_give(k->local, k->reader);
    finish(k);
}

void local_backup_try(struct local *l)
{
    struct local_backup *k = l->backup;
    if (k == NULL || k->is_copying) return;
    struct backup_request *q = k->request;
    if (l->apply_failures > 0) {
        q->error = l->apply_error;
        q->result = l->apply_error.code;
        finish(k);
        return;
    }
    if (l->is_applying || store_applied(l->store) < q->version) return;
    q->result = reader_take(l, &k->reader, &q->error);
    if (q->result == OK) q->result = store_pin(k->reader->reader, &q->error);
    if (q->result != OK) {
        if (k->reader != NULL) reader_give(l, k->reader);
        finish(k);
        return;
    }
    q->version = store_applied(l->store);
    k->is_copying = true;
    k->job.run = copy_run;
    k->job.done = copy_done;
    worker_post(l->query_worker, &k->job);
}

enum err local_backup(struct backend *b, struct backup_request *q, struct error *e)
{
    struct local *l = local_of(b);
    if (l->backup != NULL) return error_set(e, ERR_SYNTAX, "Background save already in progress");
    struct local_backup *k = mem_new(sizeof *k);
    k->local = l;
    k->request = q;
    l->backup = k;
    q->version = l->version_newest;
    if (!memtable_is_empty(l->active)) local_freeze(l);
    l->options.wake(l->options.arg); /* local_poll goes on with it */
    return OK;
}

void local_backup_stop(struct local *l)
{
    struct local_backup *k = l->backup;
    if (k == NULL) return;
    __atomic_store_n(&k->is_stopping, true, __ATOMIC_RELAXED);
    if (k->is_copying) return; /* its end is collected with the worker's */
    k->request->result = error_set(&k->request->error, ERR_IO, "the server is stopping");
    finish(k);
}
