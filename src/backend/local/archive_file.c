/* archive_file: the files of an archive (archive.h): their bytes, checked. */
#include <xxhash.h>

#include "backend/local/archive.h"
#include "base/file.h"
#include "base/mem.h"

#define CHUNK_BYTES (1u << 20)
#define LOCK_WAIT_US 10000000

enum err archive_lock(const char *dir, int *fd, struct error *e)
{
    struct buf path;
    buf_init(&path);
    buf_printf(&path, "%s/LOCK", dir);
    buf_append_byte(&path, '\0');
    buf_require(&path);
    enum err r = file_lock_within((char *)path.data, LOCK_WAIT_US, fd, e);
    if (r == ERR_LOCKED) {
        r = error_set(e, ERR_LOCKED, "another program is changing the archive %s (%s is locked)",
                      dir, (char *)path.data);
    }
    buf_fini(&path);
    return r;
}

static enum err walk_batch(struct segment_walk *w, const uint8_t *batch,
                           const struct batch_header *h, struct error *e)
{
    struct slice payload = slice_of(batch + JOURNAL_BATCH_BYTES, h->payload_bytes);
    struct txn_view txn;
    enum err r = OK;
    while (r == OK && !w->is_over && txn_read(&payload, &txn)) {
        if (txn.time_ms > w->last_ms) w->last_ms = txn.time_ms;
        if (w->take != NULL) r = w->take(w, &txn, e);
    }
    if (r == OK && payload.len != 0 && !w->is_over) {
        r = error_set(e, ERR_CORRUPT, "at offset %zu: a malformed record", w->end);
    }
    return r;
}

enum err segment_walk(struct segment_walk *w, struct slice bytes, struct error *e)
{
    struct segment_header header = {.format = 0};
    struct batch_header h;
    enum err r = OK;
    w->end = JOURNAL_HEADER_BYTES;
    w->last_ms = 0;
    w->version = w->before;
    w->is_over = false;
    if (bytes.len < JOURNAL_HEADER_BYTES) return error_set(e, ERR_CORRUPT, "it has no header");
    r = segment_header_read(bytes.data, &header, e);
    if (r != OK) return r;
    bool is_it = header.id.number == w->id.number && header.version_before == w->before &&
                 memcmp(header.id.database_id, w->id.database_id, DATABASE_ID_BYTES) == 0;
    if (!is_it) return error_set(e, ERR_CORRUPT, "it is not the segment that its name says");
    while (r == OK && w->version < w->last && !w->is_over) {
        if (!batch_next(bytes, &w->end, w->version, &w->id, &h)) {
            return error_set(e, ERR_CORRUPT,
                             "damaged at offset %zu: data after version %llu cannot be read",
                             w->end, (unsigned long long)w->version);
        }
        r = walk_batch(w, bytes.data + w->end, &h, e);
        if (h.last_version > w->version) w->version = h.last_version;
        w->end += batch_bytes(h.payload_bytes);
    }
    if (r == OK && w->version != w->last && !w->is_over) {
        r = error_set(e, ERR_CORRUPT, "it ends at version %llu, not %llu",
                      (unsigned long long)w->version, (unsigned long long)w->last);
    }
    return r;
}

enum err archive_sum(const char *path, const bool *is_stopping, uint64_t *bytes, uint64_t *sum,
                     struct error *e)
{
    struct file f = {.fd = -1};
    XXH3_state_t *state = XXH3_createState();
    uint8_t *chunk = mem_alloc(CHUNK_BYTES);
    if (state == NULL) die("out of memory for a checksum");
    XXH3_64bits_reset(state);
    enum err r = file_open(&f, path, FILE_READ, e);
    if (r == OK) r = file_size(&f, bytes, e);
    for (uint64_t at = 0; r == OK && at < *bytes; at += CHUNK_BYTES) {
        size_t n = *bytes - at < CHUNK_BYTES ? (size_t)(*bytes - at) : CHUNK_BYTES;
        r = file_read_at(&f, at, chunk, n, e);
        if (r == OK) XXH3_64bits_update(state, chunk, n);
        if (is_stopping != NULL && __atomic_load_n(is_stopping, __ATOMIC_RELAXED)) {
            r = error_set(e, ERR_IO, "the server is stopping");
        }
    }
    *sum = XXH3_64bits_digest(state);
    file_close(&f);
    mem_free(chunk);
    XXH3_freeState(state);
    return r;
}
