/* acl_change: a change of users, where they are: in memory, or kept in one place for several nodes.
 * There the change is tried on a copy, written, and only then taken: a reply means that it lasts.
 */
#include "access/users.h"
#include "base/mem.h"
#include "command/access/acl_int.h"

static void change_free(struct pending *p)
{
    struct users_change *c = (struct users_change *)p;
    if (c->slot != NULL) *c->slot = NULL;
    mem_free(c);
}

/* Of all users as they would be; `out` is empty on an error. */
static enum err try_change(struct request *rq,
                           enum err (*change)(struct request *rq, struct users *all,
                                              int64_t *count),
                           int64_t *count, struct buf *out)
{
    struct users *copy = users_copy(rq->env->users.all);
    enum err r = change(rq, copy, count);
    if (r == OK) users_describe(copy, true, out);
    if (r == OK && out->is_failed)
        r = error_set(&rq->error, ERR_NOMEM, "out of memory for the users");
    users_free(copy);
    return r;
}

static enum err begin(struct request *rq,
                      enum err (*change)(struct request *rq, struct users *all, int64_t *count))
{
    struct env *env = rq->env;
    struct users_change *c = mem_new(sizeof *c);
    struct buf text;
    c->base.free = change_free;
    c->base.is_short = true;
    buf_init(&text);
    enum err r = try_change(rq, change, &c->count, &text);
    if (r == OK) {
        r = env->server.ops->users_keep(env->server.arg, buf_slice(&text), c, rq->waiter,
                                        &rq->error);
    }
    buf_fini(&text);
    if (r == ERR_WAIT && c->slot != NULL) {
        rq->client->run.pending = &c->base;
    } else {
        mem_free(c);
    }
    return r;
}

enum err acl_change(struct request *rq,
                    enum err (*change)(struct request *rq, struct users *all, int64_t *count),
                    int64_t *count)
{
    if (!rq->env->users.are_kept) return change(rq, rq->env->users.all, count);
    const struct users_change *c = (const struct users_change *)rq->client->run.pending;
    if (c == NULL) return begin(rq, change);
    INVARIANT(c->slot == NULL); /* it is not woken before */
    *count = c->count;
    rq->error = c->error;
    return c->result;
}
