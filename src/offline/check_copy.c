/* check_copy: the files of a data directory that a start would read (backend/local/recover.c), in
 * another directory. Blank pieces become holes.
 */
#include <stdlib.h>

#include "backend/local/file_journal.h"
#include "base/file.h"
#include "base/mem.h"
#include "offline/check_contents.h"

#define COPY_BYTES (1u << 20)

/* Blank pieces stay holes: much of a journal's last segment is one. */
static bool is_blank(const uint8_t *bytes, size_t len)
{
    return len > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

static enum err file_copy(struct check_copy *x, const char *name, struct error *e)
{
    struct buf from;
    struct buf to;
    struct file in = {.fd = -1};
    struct file out = {.fd = -1};
    uint64_t bytes = 0;
    uint8_t *chunk = mem_alloc(COPY_BYTES);
    buf_init(&from);
    buf_init(&to);
    check_path(&from, x->from, name);
    check_path(&to, x->to, name);
    enum err r = file_open(&in, (char *)from.data, FILE_READ, e);
    if (r == OK) r = file_size(&in, &bytes, e);
    if (r == OK) r = file_open(&out, (char *)to.data, FILE_WRITE_NEW, e);
    for (uint64_t at = 0; r == OK && at < bytes; at += COPY_BYTES) {
        size_t n = bytes - at < COPY_BYTES ? (size_t)(bytes - at) : COPY_BYTES;
        r = file_read_at(&in, at, chunk, n, e);
        if (r == OK && is_blank(chunk, n)) continue;
        if (r == OK) r = file_write_at(&out, at, slice_of(chunk, n), e);
        x->k->scratch_bytes += n;
        check_progress(x->k, "copy", at + n, bytes);
    }
    if (r == OK) r = file_truncate(&out, bytes, e);
    file_close(&in);
    file_close(&out);
    buf_fini(&from);
    buf_fini(&to);
    mem_free(chunk);
    return r;
}

static enum err file_copy_if_there(struct check_copy *x, const char *name, struct error *e)
{
    struct buf path;
    buf_init(&path);
    check_path(&path, x->from, name);
    bool is_there = file_exists((char *)path.data);
    buf_fini(&path);
    return is_there ? file_copy(x, name, e) : OK;
}

struct segment {
    uint64_t number;
    bool is_blank, has_header;
    uint64_t before; /* the version before it */
};

struct segments {
    struct check_copy *x;
    struct segment *items; /* owned */
    size_t count;
};

static void segment_add(void *arg, const char *name)
{
    struct segments *l = arg;
    uint64_t number = 0;
    if (!journal_number(name, &number)) return;
    l->items = mem_resize(l->items, (l->count + 1) * sizeof *l->items);
    l->items[l->count++] = (struct segment){.number = number};
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct segment *)a)->number;
    uint64_t y = ((const struct segment *)b)->number;
    return x < y ? -1 : x > y;
}

static enum err segment_look(const struct segments *l, struct segment *s, struct error *e)
{
    uint8_t head[JOURNAL_HEADER_BYTES] = {0};
    struct segment_header header;
    struct error ignored;
    struct buf path;
    struct file f = {.fd = -1};
    uint64_t bytes = 0;
    buf_init(&path);
    journal_path(&path, l->x->from, s->number);
    enum err r = file_open(&f, (char *)path.data, FILE_READ, e);
    if (r == OK) r = file_size(&f, &bytes, e);
    if (r == OK && bytes >= sizeof head) r = file_read_at(&f, 0, head, sizeof head, e);
    file_close(&f);
    buf_fini(&path);
    if (r != OK) return r;
    s->is_blank = is_blank(head, sizeof head);
    s->has_header = segment_header_read(head, &header, &ignored) == OK &&
                    header.id.number == s->number;
    if (s->has_header) s->before = header.version_before;
    return OK;
}

static enum err segment_copy(struct segments *l, const struct segment *s, struct error *e)
{
    struct buf path;
    buf_init(&path);
    journal_path(&path, l->x->from, s->number);
    enum err r = file_copy(l->x, strrchr((const char *)path.data, '/') + 1, e);
    buf_fini(&path);
    return r;
}

enum err check_copy_segments(struct check_copy *x, uint64_t applied, struct error *e)
{
    struct segments l = {.x = x};
    size_t first = 0;
    enum err r = dir_list(x->from, segment_add, &l, e);
    if (l.count > 0) qsort(l.items, l.count, sizeof *l.items, by_number);
    for (size_t i = 0; i < l.count && r == OK; i++) {
        r = segment_look(&l, &l.items[i], e);
        if (l.items[i].has_header && l.items[i].before <= applied) first = i;
    }
    for (size_t i = first; i < l.count && r == OK; i++) {
        if (!l.items[i].is_blank) r = segment_copy(&l, &l.items[i], e);
    }
    mem_free(l.items);
    return r;
}

enum err check_copy_store(struct check_copy *x, struct error *e)
{
    enum err r = file_copy(x, CHECK_STORE, e);
    if (r == OK) r = file_copy_if_there(x, CHECK_STORE "-wal", e);
    if (r == OK) r = file_copy_if_there(x, CHECK_STORE "-journal", e);
    if (r == OK) r = file_copy_if_there(x, "versions", e);
    return r;
}
