/* readers: connections to the store that scans pin and threads read with; opened as they are
 * needed, kept for the next. Loop thread.
 */
#include "backend/pipeline_int.h"
#include "base/mem.h"

enum err reader_take(struct pipeline *p, struct pooled_reader **out, struct error *e)
{
    if (p->stored.idle_readers != NULL) {
        *out = p->stored.idle_readers;
        p->stored.idle_readers = (*out)->next;
        return OK;
    }
    if (p->stored.readers_open >= READERS_MAX) {
        return error_set(e, ERR_TRYAGAIN, "too many long reads at a time (%d)", READERS_MAX);
    }
    struct pooled_reader *r = mem_new(sizeof *r);
    enum err result = store_reader_open(p->stored.store, &r->reader, e);
    if (result != OK) {
        mem_free(r);
        return result;
    }
    p->stored.readers_open++;
    *out = r;
    return OK;
}

void reader_give(struct pipeline *p, struct pooled_reader *r)
{
    store_unpin(r->reader);
    r->next = p->stored.idle_readers;
    p->stored.idle_readers = r;
}

void readers_close(struct pipeline *p)
{
    while (p->stored.idle_readers != NULL) {
        struct pooled_reader *next = p->stored.idle_readers->next;
        store_reader_close(p->stored.idle_readers->reader);
        mem_free(p->stored.idle_readers);
        p->stored.idle_readers = next;
        p->stored.readers_open--;
    }
    INVARIANT(p->stored.readers_open == 0);
}
