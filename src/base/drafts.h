/* drafts: parts of a text that are not written yet. What stands in the text in their place is what
 * they are written from, so that the text can be made on one thread, and written on another, when
 * it is needed.
 *
 *   text     *2\r\n $1\r\n0\r\n [key, value, key, value] :1\r\n
 *                                |--- a draft ------|
 *   written  *2\r\n $1\r\n0\r\n *2\r\n$3\r\n["a"] ... :1\r\n
 *
 * What becomes of a draft:
 *
 *   drafts_add --> in the text --drafts_write--> written --drafts_pass--> gone
 *                    |     |                        ^                      ^
 *                    |     `-- a long one, by its `write`, by the caller --'
 *                    `-- drafts_cut: the text from before it is dropped ---'
 *
 * Invariants:
 *   1. Drafts lie in the text, in its order, none over another, and each has at least a byte.
 *   2. A draft is all that it is written from: its bytes point to nothing, and its `write` looks at
 *      nothing else. So any thread may write it, from a copy too, and at any time.
 *   3. What it becomes is at least a byte, unless there is no memory for it.
 *   4. A text (struct buf) and its drafts are used by one thread at a time. The loop makes them; a
 *      thread that sends (net/io_threads.h) has them while the loop waits; one that writes a long
 *      draft meanwhile (net/render.c) has a copy of that draft alone.
 */
#ifndef BASE_DRAFTS_H
#define BASE_DRAFTS_H

#include "base/buf.h"

/* Appends what the draft says to out, at least a byte. Any thread. */
typedef void draft_write(struct slice draft, struct buf *out);

struct draft {
    size_t start, len; /* in the text */
    draft_write *write;
};

struct drafts {
    struct draft *items; /* owned; `count` of them from `first` on, in the order of the text */
    size_t first, count, cap;
};

/* Of drafts_write. */
struct drafts_limits {
    size_t enough, long_len;
};

void drafts_fini(struct drafts *d);
/* The last `len` bytes of the text are a draft. */
void drafts_add(struct drafts *d, const struct buf *text, size_t len, draft_write *write);
/* Where the first draft begins; SIZE_MAX = there is none. */
size_t drafts_start(const struct drafts *d);
/* It; count > 0. */
const struct draft *drafts_first(const struct drafts *d);
/* The text ends at `len` now: drafts after it are gone. */
void drafts_cut(struct drafts *d, size_t len);
/* The text before `start` is not needed any more: drafts there are gone. */
void drafts_pass(struct drafts *d, size_t start);
/* The first n bytes were taken off the text, and drafts_pass was called for them. */
void drafts_shift(struct drafts *d, size_t n);
/* Appends the text from `from` to `end` to out, with its drafts written: as much as is begun before
 * out has `enough` bytes, and nothing from a draft of `long_len` bytes or more on. Where it has
 * stopped. All before `from` was passed, and no draft lies
 * across `from` or `end`. Errors are sticky in out. */
size_t drafts_write(const struct drafts *d, const struct buf *text, size_t from, size_t end,
                    const struct drafts_limits *limits, struct buf *out);
/* Bytes allocated. */
size_t drafts_held(const struct drafts *d);

#endif
