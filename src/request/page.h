/* page: what KV.LIST and KV.FIND answer: entries up to a limit, and a cursor for those that follow:
 * `[cursor, [entry ...]]`.
 *
 * A cursor is URL-safe text of a fingerprint of the question and of the place (an internal key)
 * where the page ended. It is good for that question and no other, also after a restart; "0" means
 * that nothing follows.
 */
#ifndef REQUEST_PAGE_H
#define REQUEST_PAGE_H

#include "request/args.h"

#define PAGE_LIMIT_DEFAULT 100

struct page {
    bool is_reverse, keys_only, with_expiry;
    uint64_t limit, rows;
    uint64_t fingerprint;
    struct row_filter *where; /* owned reference; NULL = every entry */
    struct buf kept;          /* entries, to be written when the page is sent ... */
    struct buf written;       /* ... or, when it is a long one, as they are answered */
    struct buf last;          /* the place of the last of them */
};

struct page_args {
    struct slice cursor, where; /* as given; cursor "0" at first */
};

void page_fini(struct page *p);
/* Bytes held. */
size_t page_bytes(const struct page *p);
/* REVERSE, KEYSONLY, WITHEXPIRY, LIMIT n, CURSOR c, WHERE filter
 * at o->at, if one is there: *is_taken. */
ERR_MUST_USE enum err options_page(struct options *o, struct page *p, struct page_args *a,
                                   bool *is_taken);
#define OPTION_PAGE 50 /* the first of six bits that it uses */

/* The range that is asked for is [*start, *end): makes the fingerprint, and narrows the range to
 * what follows the cursor. */
ERR_MUST_USE enum err page_begin(struct request *rq, struct page *p, const struct page_args *a,
                                 struct slice *start, struct slice *end);
/* Nothing more fits. */
bool page_is_full(const struct page *p);
/* `place`: the next page goes on after it. */
void page_add(struct request *rq, struct page *p, struct slice key, const struct entry *entry,
              struct slice place);
ERR_MUST_USE enum err page_reply(struct request *rq, const struct page *p, bool is_done);

#endif
