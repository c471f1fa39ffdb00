/* direct: see direct.h. The last block that was written stays in memory, for the next batch; after
 * batches that were written otherwise it is read again. */
#include "backend/local/direct.h"

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"

#define START_BYTES ((size_t)64 << 10)

struct direct {
    struct file file; /* of the segment, opened for this */
    uint64_t number;  /* of the segment that is open */
    uint64_t end;     /* of what was written of it in this way, or will be by what is added */
    uint8_t *memory;  /* owned; `blocks` begins in it */
    uint8_t *blocks;  /* the block in which the last write ended, and what is added */
    size_t cap;
    size_t used;     /* of `blocks` */
    bool is_refused; /* the file system takes none */
};

struct direct *direct_new(void)
{
    struct direct *d = mem_new(sizeof *d);
    d->file.fd = -1;
    return d;
}

void direct_free(struct direct *d)
{
    if (d == NULL) return;
    file_close(&d->file);
    mem_free(d->memory);
    mem_free(d);
}

void direct_leave(struct direct *d, uint64_t number)
{
    if (d->number == number) return;
    file_close(&d->file);
    d->number = 0;
}

static uint64_t block_of(uint64_t offset)
{
    return offset - offset % FILE_BLOCK_BYTES;
}

/* Room for a block and so many bytes, rounded up. */
static bool reserve(struct direct *d, size_t bytes)
{
    size_t cap = d->cap > 0 ? d->cap : START_BYTES;
    size_t needed = bytes + 2 * (size_t)FILE_BLOCK_BYTES;
    if (needed <= d->cap) return true;
    while (cap < needed) cap *= 2;
    uint8_t *memory = mem_alloc_try(cap + FILE_BLOCK_BYTES);
    if (memory == NULL) return false;
    size_t over = (uintptr_t)memory % FILE_BLOCK_BYTES;
    uint8_t *blocks = memory + (over > 0 ? FILE_BLOCK_BYTES - over : 0);
    bytes_copy(blocks, d->blocks, d->used);
    mem_free(d->memory);
    d->memory = memory;
    d->blocks = blocks;
    d->cap = cap;
    return true;
}

static bool open_segment(struct direct *d, const struct file *f, uint64_t number)
{
    if (d->file.fd >= 0 && d->number == number) return true;
    file_close(&d->file);
    d->is_refused = !file_open_direct(&d->file, f->path);
    if (d->is_refused) {
        log_verbose("journal: not bypassing the page cache: %s", f->path);
        return false;
    }
    d->number = number;
    d->end = UINT64_MAX;
    return true;
}

/* The beginning of the block that `offset` lies in. */
static bool find_tail(struct direct *d, struct file *f, uint64_t offset)
{
    struct error ignored;
    size_t tail = offset % FILE_BLOCK_BYTES;
    if (d->end == offset) return true;
    d->used = tail;
    d->end = UINT64_MAX;
    if (file_read_at(f, block_of(offset), d->blocks, tail, &ignored) != OK) return false;
    d->end = offset;
    return true;
}

bool direct_begin(struct direct *d, struct file *f, uint64_t number, uint64_t offset, size_t bytes,
                  uint64_t end)
{
    if (d->is_refused || bytes > DIRECT_BYTES_MAX) return false;
    if (block_of(offset + bytes + FILE_BLOCK_BYTES - 1) > end) return false;
    return open_segment(d, f, number) && reserve(d, bytes) && find_tail(d, f, offset);
}

void direct_add(struct direct *d, struct slice bytes)
{
    INVARIANT(d->used + bytes.len + FILE_BLOCK_BYTES <= d->cap);
    memcpy(d->blocks + d->used, bytes.data, bytes.len);
    d->used += bytes.len;
    d->end += bytes.len;
}

enum err direct_end(struct direct *d, bool *is_done, struct error *e)
{
    uint64_t from = d->end - d->used;
    size_t tail = d->used % FILE_BLOCK_BYTES;
    size_t padding = tail > 0 ? FILE_BLOCK_BYTES - tail : 0;
    INVARIANT(from % FILE_BLOCK_BYTES == 0);
    memset(d->blocks + d->used, 0, padding);
    struct slice blocks = slice_of(d->blocks, d->used + padding);
    bool is_refused = false;
    enum err r = file_write_direct(&d->file, from, blocks, &is_refused, e);
    *is_done = r == OK && !is_refused;
    if (is_refused) {
        log_verbose("journal: not bypassing the page cache: %s", d->file.path);
        d->is_refused = true;
    }
    memmove(d->blocks, d->blocks + d->used - tail, tail);
    d->used = tail;
    return r;
}
