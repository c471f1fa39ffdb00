/* multi: the queue, in an arena of its own, within the limits that a transaction has anyway. A
 * command that cannot be queued spoils the transaction: EXEC refuses it. */
#include "request/multi.h"

#include "base/mem.h"
#include "request/client_memory.h"
#include "request/publication.h"
#include "request/watched.h"

#define ARENA_BYTES 4096

void multi_begin(struct client *c)
{
    c->txn.multi = mem_new(sizeof *c->txn.multi);
    arena_init(&c->txn.multi->arena, ARENA_BYTES);
}

void multi_abort(struct multi *m)
{
    m->is_aborted = true;
}

bool multi_queues(const struct request *rq)
{
    return rq->client->txn.multi != NULL && (rq->command->flags & CMD_UNQUEUED) == 0;
}

static enum err queue_refuse(struct request *rq)
{
    const struct engine_options *limits = engine_limits(rq->env->db->engine);
    const struct multi *m = rq->client->txn.multi;
    if ((rq->command->flags & CMD_NO_MULTI) != 0) {
        return error_set(&rq->error, ERR_SYNTAX, "Command not allowed inside a transaction");
    }
    if (m->count == limits->ops_max) {
        return error_set(&rq->error, ERR_LIMIT, "more commands than max-transaction-ops (%zu)",
                         limits->ops_max);
    }
    uint64_t bytes = m->arena.used_bytes;
    for (size_t i = 0; i < rq->argc; i++) bytes += rq->argv[i].len;
    if (bytes > limits->txn_bytes_max) {
        return error_set(&rq->error, ERR_LIMIT,
                         "the queued commands exceed max-transaction-size (%llu)",
                         (unsigned long long)limits->txn_bytes_max);
    }
    return OK;
}

/* The arguments in the connection's input are gone when the next command comes: copied. */
enum err multi_queue(struct request *rq)
{
    struct multi *m = rq->client->txn.multi;
    enum err r = queue_refuse(rq);
    if (r != OK) {
        m->is_aborted = true;
        return r;
    }
    m->commands = arena_grow(&m->arena, m->commands, m->count, &m->cap, sizeof *m->commands);
    size_t before = m->arena.held_bytes;
    struct slice *argv = arena_alloc(&m->arena, rq->argc * sizeof *argv);
    for (size_t i = 0; i < rq->argc; i++) {
        uint8_t *copy = arena_alloc_try(&m->arena, rq->argv[i].len);
        if (copy == NULL) {
            m->is_aborted = true;
            return error_set(&rq->error, ERR_NOMEM, "out of memory to queue the command");
        }
        if (rq->argv[i].len > 0) memcpy(copy, rq->argv[i].data, rq->argv[i].len);
        argv[i] = slice_of(copy, rq->argv[i].len);
    }
    m->commands[m->count++] = (struct queued){
        .command = rq->command,
        .parent = rq->client->run.last_parent,
        .argv = argv,
        .argc = rq->argc,
        .format = rq->format,
        .has_format = rq->has_format,
        .idem = rq->idem.data == NULL ? rq->idem : arena_copy(&m->arena, rq->idem)};
    m->writes = m->writes || (rq->command->flags & CMD_WRITE) != 0;
    m->publishes = m->publishes || (rq->command->flags & CMD_PUBLISHES) != 0;
    client_memory_grow(rq->env, m->arena.held_bytes - before);
    resp_simple(rq->w, "QUEUED");
    return OK;
}

static void multi_end(struct client *c)
{
    struct multi *m = c->txn.multi;
    if (m == NULL) return;
    c->txn.multi = NULL;
    arena_fini(&m->arena);
    exec_counts_free(m->counts);
    mem_free(m);
}

void client_end_transaction(struct client *c)
{
    multi_end(c);
    watches_drop(c);
}
