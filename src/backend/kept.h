/* kept: what was fetched from the store for commands that wait, until they have run.
 *
 * A command that must wait runs again from the start, and looks again for all that it has read
 * before. The caches may have let go of it by then, for want of space or for what others fetched,
 * and the store may answer as slowly as the first time: without this, two commands could keep each
 * other from ever coming to their end. So what is fetched is kept for the command that waits for
 * it, beside the caches: every wait adds something, nothing goes, and the command comes to its end.
 *
 *   asked for, would wait --> KEPT_PENDING --read--> KEPT_GOOD --the command has run--> gone
 *                                   `------error---> KEPT_FAILED --told--> gone
 *
 * A keep belongs to a waiter, which has its number; the owner of the waiter does not know of it. It
 * ends when the command has run (backend_run_over), or when nothing in it was asked for during
 * a minute. A commit ends what was used: long work commits many times.
 *
 * Entries are shared by all who want the key. They stay true: what a memtable says that leaves the
 * read path is put over them (kept_refresh), also over a read that is under way, which may bring
 * what was before. Pages of ranges that such a memtable touches are fetched again.
 *
 * Loop thread, but for the reads.
 */
#ifndef BACKEND_KEPT_H
#define BACKEND_KEPT_H

#include "backend/range_cache.h"
#include "backend/worker.h"

struct pipeline;

struct kept_ref;

enum kept_state { KEPT_PENDING, KEPT_GOOD, KEPT_FAILED };

struct kept_entry {
    struct slice key; /* first: the table looks here; after the struct */
    uint64_t hash;
    enum kept_state state;
    struct kept_ref *holders; /* the keeps that have it */
    unsigned refs;            /* of keeps, and of the read under way */
    struct entry entry;
    struct buf value; /* owned; entry.value */
    struct error error;
    struct waiter_list waiters;
    struct kept_entry *dying; /* next of those that go when the turn ends */
};

struct kept_page {
    struct job job; /* first */
    struct pipeline *pipeline;
    struct kept_page *next;   /* of the keep */
    bool is_dropped;          /* not wanted any more: the end of its read frees it */
    bool is_used;             /* a scan has taken it */
    bool is_stale;            /* something was applied to its range while it was read */
    struct buf start, end;    /* of the range that was asked for */
    struct store_fetch fetch; /* its bounds are the buffers above */
    enum kept_state state;
    struct shared_chunk *shared;
    struct pooled_reader *reader; /* while it is read */
    struct error error;
    struct waiter_list waiters;
};

struct keep;

struct kept {
    struct htab entries; /* of struct kept_entry */
    struct keep **keeps; /* owned; by slot, NULL = free */
    size_t keep_count, keep_cap, slot_next;
    uint64_t numbers; /* given to keeps */
    size_t bytes;     /* of entries */
    size_t pages;
    struct kept_entry *dying;
    int64_t swept_us;
};

void kept_init(struct kept *k);
/* No read is under way. */
void kept_fini(struct kept *k);

/* The entry of the key, if one is kept or being read. */
struct kept_entry *kept_find(const struct kept *k, uint64_t hash, struct slice key);
/* A new one, pending, for this waiter: the caller reads it, and then calls kept_read. */
struct kept_entry *kept_add(struct kept *k, uint64_t hash, struct slice key, struct waiter *w);
/* OK with *out, the value borrowed until the end of the turn; ERR_WAIT: `w` waits for the read. An
 * error of the read is told to each who waited for it, once: *is_again when this one did not, and
 * the entry, pending again, is to be read once more. */
ERR_MUST_USE enum err kept_answer(struct kept *k, struct kept_entry *entry, struct entry *out,
                                  struct waiter *w, bool *is_again, struct error *e);
/* What the read brought: `value`, or the error when it is not OK. The caller wakes the waiters,
 * then gives back the read's reference. */
void kept_read(struct kept *k, struct kept_entry *entry, const struct entry *value,
               const struct error *failed);
void kept_unref(struct kept *k, struct kept_entry *entry);

/* A memtable that is leaving the read path says this of the key. */
void kept_refresh(struct kept *k, uint64_t hash, struct slice key, const struct entry *value);
/* A flush of the database was applied. */
void kept_flush(struct kept *k, uint16_t database);
/* The memtable has left the read path: pages that it touches are not true any more. */
void kept_forget_pages(struct kept *k, const struct memtable *m);

/* kept_page.c: a page that covers the beginning of the fetch's range, from row *at on, with a
 * reference for the caller; NULL = none, or it is being read. */
struct shared_chunk *kept_page_get(struct pipeline *p, const struct store_fetch *f,
                                   struct waiter *w, size_t *at);
/* None covers it: begins to read one for this waiter, or joins. ERR_WAIT; or how reading it failed,
 * told once. */
ERR_MUST_USE enum err kept_page_fetch(struct pipeline *p, const struct store_fetch *f,
                                      struct waiter *w, struct error *e);
void kept_page_free(struct kept_page *g);
/* Has the memtable anything in what the page says? */
bool kept_page_touches(const struct kept_page *g, const struct memtable *m);
/* Of the keep of this waiter: the first. NULL: it has no keep; one is made when `makes`. */
struct kept_page **kept_pages(struct kept *k, struct waiter *w, bool makes);

/* A step of its command is done: what answered it goes; what was read ahead stays. */
void kept_end_used(struct kept *k, struct waiter *w);
/* What is kept for this waiter goes. Waiters of reads that go on stay in their lists. */
void kept_end(struct kept *k, struct waiter *w);
/* Frees what went in this turn. */
void kept_turn_end(struct kept *k);
/* Called now and then: keeps that were not used lately go. */
void kept_sweep(struct kept *k, int64_t now_us);

#endif
