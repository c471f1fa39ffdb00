/* multi: the commands of a connection between MULTI and EXEC. */
#ifndef REQUEST_MULTI_H
#define REQUEST_MULTI_H

#include "request/command.h"

struct queued {
    const struct command *command;
    const struct command *parent;
    struct slice *argv;
    size_t argc;
    struct slice idem;
    enum format format; /* when it has one of its own */
    bool has_format;
};

struct multi {
    struct arena arena; /* of the queue and its arguments */
    struct queued *commands;
    size_t count, cap;
    bool is_aborted; /* a command could not be queued */
    bool writes, publishes;
    struct exec_counts *counts; /* owned; NULL = none */
};

/* MULTI. There must be none. */
void multi_begin(struct client *c);
/* Is the command of rq to be queued? */
bool multi_queues(const struct request *rq);
ERR_MUST_USE enum err multi_queue(struct request *rq);
void multi_abort(struct multi *m);
/* As DISCARD: forgets the queue and the watched keys; harmless when there is none. */
void client_end_transaction(struct client *c);

/* Does a queued command write, or publish? m may be NULL. */
static inline bool multi_may_write(const struct multi *m)
{
    return m != NULL && (m->writes || m->publishes);
}

static inline size_t multi_count(const struct multi *m)
{
    return m->count;
}

static inline size_t multi_bytes(const struct multi *m)
{
    return m->arena.held_bytes;
}

#endif
