/* yield: a caller pauses, so that others run, and goes on in the next turn. */
#include "backend/pipeline_int.h"

void backend_yield(struct backend *b, struct waiter *w)
{
    struct pipeline *p = pipeline_of(b);
    waiter_add(&p->yielded, w);
    p->options.wake(p->options.arg);
}
