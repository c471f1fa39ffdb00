/* bind: the words of a request become the struct that its command's arguments describe
 * (arguments.h), once, before permission is asked: what is permitted is what runs.
 */
#ifndef REQUEST_BIND_H
#define REQUEST_BIND_H

#include "request/keys.h"
#include "request/subjects.h"

/* The words of rq, which are those of its command's own (IDEM and FORMAT taken off, their number
 * checked), become rq->bound, in the request's arena. Nothing is done when that is there. ERR_WAIT
 * as a command's. */
ERR_MUST_USE enum err request_bind(struct request *rq);
/* Likewise, and adds what permission must be had for. */
ERR_MUST_USE enum err request_bind_subjects(struct request *rq, struct subjects *s);

/* Binds the words, and runs the command: what is left when all around it is done. */
static inline enum err request_perform(struct request *rq)
{
    enum err r = request_bind(rq);
    return r == OK ? rq->command->run(rq) : r;
}

/* The words from number `from` on become *bound, of rq's command or another; `s` NULL: what they
 * touch is not wanted. */
ERR_MUST_USE enum err bind_words(struct request *rq, const struct arguments *of, size_t from,
                                 struct subjects *s, void **bound);
#endif
