/* direct: batches of the journal on their way to the disk past the page cache (O_DIRECT): written
 * and synced by one system call (RWF_DSYNC), where a write and an fdatasync are two, and where the
 * kernel copies and looks up pages.
 *
 * The disk gets whole blocks. The one that a batch begins in holds the end of what was written
 * before, and is written again with the same bytes at its beginning: if power fails, each of its
 * sectors is the old one or the new one, and both have what was acknowledged. After the last batch
 * the rest of the block is zeros, as in a segment that was prepared.
 *
 *   direct_begin -> direct_add, for each batch -> direct_end
 *
 * For segments whose blocks are there and were written before, of which nothing is written and
 * unsynced. A file system that takes no such writes is not asked again.
 */
#ifndef BACKEND_LOCAL_DIRECT_H
#define BACKEND_LOCAL_DIRECT_H

#include "base/file.h"

/* Of a journal; one thread at a time. */
struct direct;

#define DIRECT_BYTES_MAX ((size_t)1 << 20) /* of the batches that are written together */

struct direct *direct_new(void);
void direct_free(struct direct *d); /* NULL is fine */
/* Closes its file, unless that is the segment with this number: segments are removed. */
void direct_leave(struct direct *d, uint64_t number);

/* What is added goes to `offset` of the file, which is the segment with that number, right after
 * what was written to it last; it is not more than `bytes`, up to DIRECT_BYTES_MAX, and ends before
 * `end`. False: it is to be written otherwise. */
bool direct_begin(struct direct *d, struct file *f, uint64_t number, uint64_t offset, size_t bytes,
                  uint64_t end);
void direct_add(struct direct *d, struct slice bytes);
/* *is_done: it is durable. Else, with OK, it is to be written again, otherwise. */
ERR_MUST_USE enum err direct_end(struct direct *d, bool *is_done, struct error *e);

#endif
