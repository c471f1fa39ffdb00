/* check_pages: the pages of tupled.db, or of a base, by their checksums. A page that the
 * write-ahead log replaces is never read: a crash may have left it half written, and the next start
 * writes it again. The log itself is believed up to where its checksums hold, as SQLite does.
 */
#include <stdio.h>

#include "backend/local/page_sum.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "offline/check_int.h"

#define CHUNK_PAGES 256
#define FRAME_BYTES (WAL_FRAME_BYTES + PAGE_BYTES)
#define SALT_BYTES 8
#define WAL_SALT_AT 16  /* in its header */
#define FRAME_SALT_AT 8 /* in a frame's header */
#define FRAME_SIZE_AT 4 /* pages after this commit; 0 = no commit */

/* Of SQLite's file format. */
#define HEADER_CHANGES_AT 24
#define HEADER_PAGES_AT 28
#define HEADER_PAGES_FOR_AT 92

struct paging {
    struct check *k;
    const char *name;
    struct file f;
    uint64_t pages;
    uint8_t *replaced;  /* owned; a bit for each page that the log has */
    uint64_t log_pages; /* that the database has after the log; 0 = there is no commit in it */
};

static void page_replace(struct paging *p, uint32_t page)
{
    if (page > 0 && page <= p->pages) {
        p->replaced[(page - 1) / 8] |= (uint8_t)(1u << (page - 1) % 8);
    }
}

static bool page_is_replaced(const struct paging *p, uint64_t page)
{
    return p->replaced[(page - 1) / 8] >> (page - 1) % 8 & 1;
}

/* Frames [*next, count) up to the last commit whose checksums hold, from the file's beginning. */
static enum err log_walk(struct paging *p, struct file *log, uint64_t bytes, bool marks,
                         uint64_t *end, struct error *e)
{
    uint8_t header[WAL_HEADER_BYTES];
    uint8_t before[WAL_FRAME_BYTES];
    uint8_t frame[FRAME_BYTES];
    uint64_t limit = marks ? *end : UINT64_MAX;
    enum err r = file_read_at(log, 0, header, sizeof header, e);
    uint64_t at = WAL_HEADER_BYTES;
    *end = at;
    while (r == OK && at + FRAME_BYTES <= bytes && at < limit) {
        r = file_read_at(log, at, frame, sizeof frame, e);
        if (r != OK) break;
        bool is_first = at == WAL_HEADER_BYTES;
        if (memcmp(frame + FRAME_SALT_AT, header + WAL_SALT_AT, SALT_BYTES) != 0 ||
            !wal_frame_is_good(header, is_first ? NULL : before, frame, frame + WAL_FRAME_BYTES)) {
            break;
        }
        if (marks) page_replace(p, wal_frame_page(frame));
        memcpy(before, frame, sizeof before);
        at += FRAME_BYTES;
        uint32_t pages = get_u32(frame + FRAME_SIZE_AT);
        if (pages > 0) {
            *end = at;
            p->log_pages = pages;
        }
    }
    return r;
}

/* What follows the last commit was never promised: only what is up to it counts. */
static enum err log_read(struct paging *p, const char *path, struct error *e)
{
    struct buf log_path;
    struct file log = {.fd = -1};
    uint64_t bytes = 0;
    uint64_t end = 0;
    enum err r = OK;
    buf_init(&log_path);
    buf_printf(&log_path, "%s-wal", path);
    buf_append_byte(&log_path, '\0');
    buf_require(&log_path);
    if (file_exists((char *)log_path.data)) {
        r = file_open(&log, (char *)log_path.data, FILE_READ, e);
        if (r == OK) r = file_size(&log, &bytes, e);
        if (r == OK && bytes > WAL_HEADER_BYTES) {
            r = log_walk(p, &log, bytes, false, &end, e);
            if (r == OK) r = log_walk(p, &log, bytes, true, &end, e);
        }
    }
    file_close(&log);
    buf_fini(&log_path);
    return r;
}

static void page_check(struct paging *p, const uint8_t *page, uint64_t number)
{
    char place[CHECK_PLACE_BYTES];
    bool is_good = page_sum_check(page, (uint32_t)number) != PAGE_DAMAGED;
    if (is_good || page_is_replaced(p, number)) return;
    snprintf(place, sizeof place, "%.64s at offset %llu", p->name,
             (unsigned long long)(number - 1) * PAGE_BYTES);
    check_say(p->k, CHECK_DAMAGE, "pages", place, "page %llu: checksum mismatch",
              (unsigned long long)number);
}

/* Is the file as long as its first page says? */
static void length_check(struct paging *p, const uint8_t *first, uint64_t bytes)
{
    bool is_said = get_u32(first + HEADER_CHANGES_AT) == get_u32(first + HEADER_PAGES_FOR_AT);
    uint64_t said = get_u32(first + HEADER_PAGES_AT);
    if (bytes % PAGE_BYTES != 0) {
        check_say(p->k, CHECK_DAMAGE, "pages", p->name,
                  "%llu bytes are not a whole number of pages", (unsigned long long)bytes);
    }
    if (is_said && p->log_pages == 0 && p->pages < said) {
        check_say(p->k, CHECK_DAMAGE, "pages", p->name, "it is truncated: %llu of %llu pages",
                  (unsigned long long)p->pages, (unsigned long long)said);
    }
}

static void chunk_check(struct paging *p, const uint8_t *chunk, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) page_check(p, chunk + i * PAGE_BYTES, first + i);
}

static enum err pages_read(struct paging *p, uint64_t bytes, struct error *e)
{
    uint8_t *chunk = mem_alloc((size_t)CHUNK_PAGES * PAGE_BYTES);
    enum err r = OK;
    for (uint64_t at = 0; r == OK && at < p->pages; at += CHUNK_PAGES) {
        uint64_t n = p->pages - at < CHUNK_PAGES ? p->pages - at : CHUNK_PAGES;
        r = file_read_at(&p->f, at * PAGE_BYTES, chunk, (size_t)n * PAGE_BYTES, e);
        if (r == OK && at == 0) length_check(p, chunk, bytes);
        if (r == OK) chunk_check(p, chunk, at + 1, n);
        check_progress(p->k, "pages", (at + n) * PAGE_BYTES, bytes);
    }
    p->k->pages += p->pages;
    mem_free(chunk);
    return r;
}

enum err check_pages(struct check *k, const char *path, const char *name, struct error *e)
{
    struct paging p = {.k = k, .name = name, .f = {.fd = -1}};
    uint64_t bytes = 0;
    enum err r = file_open(&p.f, path, FILE_READ, e);
    if (r == OK) r = file_size(&p.f, &bytes, e);
    p.pages = bytes / PAGE_BYTES;
    p.replaced = mem_alloc((size_t)(p.pages / 8 + 1));
    memset(p.replaced, 0, (size_t)(p.pages / 8 + 1));
    if (r == OK && p.pages == 0) {
        check_say(k, CHECK_DAMAGE, "pages", name, "it is not a database: its size is %llu bytes",
                  (unsigned long long)bytes);
    }
    if (r == OK) r = log_read(&p, path, e);
    if (r == OK) r = pages_read(&p, bytes, e);
    file_close(&p.f);
    mem_free(p.replaced);
    return r;
}
