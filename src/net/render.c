/* render: long drafts of output (base/drafts.h) are written on a thread of their own, so that the
 * loop serves others meanwhile. Of each connection one at a time:
 *
 *   conn_send stops before the draft  --render_begin-->  a job has a copy of it
 *        ^                                                      |
 *        +--- output_put_written <--- render_done <-------------+
 *
 * Invariants:
 *   1. A connection has one job at most, and is_rendering while it has.
 *   2. Its output awaits_long from before render_begin until render_done: nothing of it is sent
 *      meanwhile, while more may be appended.
 *   3. The job's thread touches the job alone, which has a copy of the draft: neither the output
 *      nor the connection, which is not freed before render_done.
 */
#include "backend/worker.h"
#include "base/mem.h"
#include "net/net_int.h"

struct render {
    struct job job; /* first */
    struct conn *conn;
    void (*done)(struct conn *c);
    struct buf draft, written; /* owned */
    draft_write *write;
};

static void render_run(struct job *job)
{
    struct render *r = (struct render *)job;
    r->write(buf_slice(&r->draft), &r->written);
    INVARIANT(r->written.len > 0 || r->written.is_failed); /* 3 of base/drafts.h */
    buf_fini(&r->draft);
}

static void render_done(struct job *job)
{
    struct render *r = (struct render *)job;
    struct conn *c = r->conn;
    INVARIANT(c->is_rendering && c->stream.output.awaits_long); /* 1, 2 */
    c->is_rendering = false;
    c->rendering_bytes = 0;
    c->stream.net->options.counts->drafts_written++;
    output_put_written(&c->stream.output, &r->written);
    buf_fini(&r->written);
    if (c->stream.state != STREAM_DEAD) r->done(c);
    mem_free(r);
}

static void wake(void *arg)
{
    struct net *n = arg;
    ev_async_send(n->loop, &n->wake);
}

static struct worker *renderer(struct net *n)
{
    const struct worker_options options = {.name = "render", .threads = 1, .wake = wake, .arg = n};
    if (n->renderer == NULL) n->renderer = worker_new(&options);
    return n->renderer;
}

void render_begin(struct conn *c, void (*done)(struct conn *c))
{
    struct net *n = c->stream.net;
    INVARIANT(c->stream.output.awaits_long); /* 2 */
    if (c->is_rendering) return;
    struct render *r = mem_new_try(sizeof *r);
    struct slice draft;
    if (r != NULL && renderer(n) != NULL) {
        draft = output_long_draft(&c->stream.output, &r->write);
        buf_append(&r->draft, draft.data, draft.len);
    }
    if (r == NULL || n->renderer == NULL || r->draft.is_failed) {
        /* There is no thread for it, or no memory: the loop does it. */
        if (r != NULL) buf_fini(&r->draft);
        mem_free(r);
        output_write_long(&c->stream.output);
        done(c);
        return;
    }
    r->job = (struct job){.run = render_run, .done = render_done};
    r->conn = c;
    r->done = done;
    c->is_rendering = true;
    c->rendering_bytes = r->draft.len;
    worker_post(n->renderer, &r->job);
}

void render_poll(struct net *n)
{
    if (n->renderer != NULL) worker_poll(n->renderer);
}

void render_stop(struct net *n)
{
    if (n->renderer != NULL) worker_free(n->renderer);
    n->renderer = NULL;
}
