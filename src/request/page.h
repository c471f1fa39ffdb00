/* page: what KV.LIST and KV.FIND answer: entries up to a limit, and a cursor for those that follow:
 * `[cursor, [entry ...]]`.
 *
 * Where its entries are:
 *
 *   page_add    kept in the page, as they are stored; the first of them behind how they are written
 *                 |      `-- a long page: written as they come, on the loop
 *   page_reply    |
 *                 v
 *               copied into the output of the connection, as a draft (base/drafts.h)
 *                 |
 *                 v
 *               written, by the thread that sends the output: nothing of the page, the request or
 *               the client is looked at any more
 *
 * Where there are no drafts (EXEC, a script, HTTP) page_reply writes them itself.
 *
 * A cursor is URL-safe text of a fingerprint of the question and of the place (an internal key)
 * where the page ended. It is good for that question and no other, also after a restart; "0" means
 * that nothing follows.
 */
#ifndef REQUEST_PAGE_H
#define REQUEST_PAGE_H

#include "request/args.h"
#include "request/arguments.h"

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

/* What the words say of a page. */
struct page_words {
    bool is_reverse, keys_only, with_expiry;
    int64_t limit;
    struct slice cursor, where; /* data NULL = not given */
};
/* [REVERSE] [LIMIT count] [CURSOR cursor] [KEYSONLY] [WITHEXPIRY] [WHERE filter] */
extern const struct arguments page_arguments;

void page_fini(struct page *p);
/* Bytes held. */
size_t page_bytes(const struct page *p);
/* A page of what the words say, of the range [*start, *end): makes the filter and the fingerprint,
 * and narrows the range to what follows the cursor. */
ERR_MUST_USE enum err page_begin(struct request *rq, struct page *p, const struct page_words *a,
                                 struct slice *start, struct slice *end);
/* What was added is void. */
void page_restart(struct page *p);
/* Nothing more fits. */
bool page_is_full(const struct page *p);
/* `place`: the next page goes on after it. */
void page_add(struct request *rq, struct page *p, struct slice key, const struct entry *entry,
              struct slice place);
ERR_MUST_USE enum err page_reply(struct request *rq, const struct page *p, bool is_done);

#endif
