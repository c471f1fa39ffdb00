/* recover: at start, replays what the journal holds beyond the store.
 *
 * Segments are read in the order of their numbers, batch by batch. Where no whole batch follows:
 *   - the next segment says that it continues here: the segment was left (full, or a restart): go
 *     on;
 *   - no batch after it proves that more was durable: a tail that was not acknowledged, cut
 *     off;
 *   - some batch does: damage. The start is refused, with file and offset.
 *
 * Segments are synced before anything read from them counts: after kill -9 they may be whole in the
 * page cache only.
 */
#include <stdlib.h>

#include "backend/local/file_journal_int.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

#define CUT_BYTES_MIN (64u << 10)

struct found_segment {
    uint64_t number;
    uint64_t bytes;
    struct segment_header header;
    bool has_header;
};

struct recovery {
    struct file_journal *journal;
    struct journal_replay *replay;
    struct found_segment *segments; /* by number */
    size_t count;
    uint64_t last_version;    /* of the last good batch */
    uint64_t durable_version; /* highest that is known to have been synced */
    int64_t time_ms;
    struct buf bytes; /* of the segment being read */
    struct error error;
    enum err result;
};

static void found_add(void *arg, const char *name)
{
    struct recovery *rec = arg;
    uint64_t number = 0;
    if (!journal_number(name, &number)) return;
    rec->segments = mem_resize(rec->segments, (rec->count + 1) * sizeof *rec->segments);
    rec->segments[rec->count++] = (struct found_segment){.number = number};
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct found_segment *)a)->number;
    uint64_t y = ((const struct found_segment *)b)->number;
    return x < y ? -1 : x > y;
}

static void segment_path(const struct recovery *rec, size_t i, struct buf *out)
{
    buf_clear(out, SIZE_MAX);
    journal_path(out, rec->journal->dir, rec->segments[i].number);
}

static struct segment_id segment_identity(const struct recovery *rec, size_t i)
{
    struct segment_id id = {.number = rec->segments[i].number};
    memcpy(id.database_id, rec->journal->options.database_id, DATABASE_ID_BYTES);
    return id;
}

static enum err headers_read(struct recovery *rec, struct error *e)
{
    struct buf path;
    enum err r = OK;
    buf_init(&path);
    for (size_t i = 0; i < rec->count && r == OK; i++) {
        struct found_segment *s = &rec->segments[i];
        struct file f;
        uint8_t bytes[JOURNAL_HEADER_BYTES] = {0};
        segment_path(rec, i, &path);
        r = file_open(&f, (char *)path.data, FILE_READ, e);
        if (r != OK) break;
        r = file_size(&f, &s->bytes, e);
        if (r == OK && s->bytes >= sizeof bytes) r = file_read_at(&f, 0, bytes, sizeof bytes, e);
        file_close(&f);
        if (r != OK) break;
        enum err header = segment_header_read(bytes, &s->header, e);
        if (header == ERR_FORMAT) r = header;
        s->has_header = header == OK && s->header.id.number == s->number;
        if (s->has_header && memcmp(s->header.id.database_id, rec->journal->options.database_id,
                                    DATABASE_ID_BYTES) != 0) {
            r = error_set(e, ERR_CORRUPT, "%s belongs to another database than tupled.db",
                          (char *)path.data);
        }
    }
    buf_fini(&path);
    return r;
}

/* The first segment that may hold something beyond the store: the last one that begins at or before
 * what was applied. */
static size_t first_needed(const struct recovery *rec, uint64_t applied)
{
    size_t first = 0;
    for (size_t i = 0; i < rec->count; i++) {
        if (rec->segments[i].has_header && rec->segments[i].header.version_before <= applied)
            first = i;
    }
    return first;
}

/* Reads a segment whole, after making sure that what is read is on disk. */
static enum err segment_read(struct recovery *rec, size_t i, struct error *e)
{
    struct buf path;
    struct file f;
    buf_init(&path);
    segment_path(rec, i, &path);
    buf_clear(&rec->bytes, SIZE_MAX);
    enum err r = file_open(&f, (char *)path.data, FILE_WRITE_OLD, e);
    if (r == OK) r = file_sync(&f, e);
    if (r == OK) {
        /* One more: a segment may be empty, and a NULL means no memory. */
        uint8_t *p = buf_reserve(&rec->bytes, (size_t)rec->segments[i].bytes + 1);
        r = p == NULL ? error_set(e, ERR_NOMEM, "out of memory to read %s", (char *)path.data)
                      : file_read_at(&f, 0, p, (size_t)rec->segments[i].bytes, e);
        if (r == OK) rec->bytes.len = (size_t)rec->segments[i].bytes;
    }
    file_close(&f);
    buf_fini(&path);
    return r;
}

/* Replays the whole batches of the segment in rec->bytes; *offset is where none follows. A batch
 * must not go back in versions: one that does is of no use and ends the segment. */
static enum err segment_replay(struct recovery *rec, size_t i, size_t *offset, struct error *e)
{
    struct segment_id id = segment_identity(rec, i);
    struct batch_header h;
    enum err r = OK;
    *offset = JOURNAL_HEADER_BYTES;
    patch_values_clear(&rec->replay->values);
    while (r == OK && batch_next(buf_slice(&rec->bytes), offset, rec->last_version, &id, &h)) {
        const uint8_t *batch = rec->bytes.data + *offset;
        if (h.transactions > 0 && h.first_version <= rec->last_version) break;
        struct slice payload = slice_of(batch + JOURNAL_BATCH_BYTES, h.payload_bytes);
        r = journal_replay_batch(&rec->journal->base, rec->replay, payload, e);
        if (h.last_version > rec->last_version) rec->last_version = h.last_version;
        if (h.durable_version > rec->durable_version) rec->durable_version = h.durable_version;
        if (h.time_ms > rec->time_ms) rec->time_ms = h.time_ms;
        *offset += batch_bytes(h.payload_bytes);
    }
    return r;
}

/* Looks for whole batches at any place from `offset` on: what they know to be durable, and how many
 * there are. Batches are aligned to 8 bytes. */
static size_t segment_search(struct recovery *rec, size_t i, size_t offset)
{
    struct segment_id id = segment_identity(rec, i);
    struct batch_header h;
    size_t found = 0;
    for (size_t at = (offset + 7) & ~(size_t)7; at < rec->bytes.len; at += 8) {
        const uint8_t *batch = rec->bytes.data + at;
        if (!batch_peek(batch, rec->bytes.len - at, &h) || !batch_verify(batch, &h, &id)) continue;
        if (h.durable_version > rec->durable_version) rec->durable_version = h.durable_version;
        found++;
    }
    return found;
}

/* Spares at the end of the list, prepared and never used: nothing in them is ours. They go first,
 * so that on a full disk the replay has space to write to the store. */
static enum err spares_remove(struct recovery *rec, struct error *e)
{
    static const uint8_t no_header[JOURNAL_HEADER_BYTES];
    struct buf path;
    enum err r = OK;
    buf_init(&path);
    while (r == OK && rec->count > 0 && !rec->segments[rec->count - 1].has_header) {
        size_t last = rec->count - 1;
        r = segment_read(rec, last, e);
        if (r != OK) break;
        bool is_blank = rec->bytes.len < sizeof no_header ||
                        memcmp(rec->bytes.data, no_header, sizeof no_header) == 0;
        if (!is_blank || segment_search(rec, last, 0) > 0) break;
        segment_path(rec, last, &path);
        r = file_remove((char *)path.data, e);
        if (r == OK) rec->count--;
    }
    buf_fini(&path);
    return r;
}

/* Something was being written at `offset`: neither zeros nor what an earlier use of the file left.
 */
static bool tail_is_new(const struct recovery *rec, size_t offset)
{
    struct batch_header h;
    if (offset >= rec->bytes.len) return false;
    const uint8_t *batch = rec->bytes.data + offset;
    if (!batch_peek(batch, rec->bytes.len - offset, &h)) return false;
    return h.transactions > 0 && h.first_version > rec->last_version;
}

/* Nothing whole follows `offset` of segment i. Cuts, or refuses. */
static enum err tail_end(struct recovery *rec, size_t i, size_t offset, struct error *e)
{
    struct buf path;
    enum err r = OK;
    buf_init(&path);
    (void)segment_search(rec, i, offset);
    bool has_tail = tail_is_new(rec, offset);
    for (size_t later = i + 1; later < rec->count && r == OK; later++) {
        r = segment_read(rec, later, e);
        if (r == OK) (void)segment_search(rec, later, 0);
        /* Its header was written after the segment left behind had been synced. */
        const struct found_segment *s = &rec->segments[later];
        if (s->has_header && s->header.version_before > rec->durable_version) {
            rec->durable_version = s->header.version_before;
        }
    }
    segment_path(rec, i, &path);
    if (r == OK && rec->durable_version > rec->last_version) {
        r = error_set(
            e, ERR_CORRUPT,
            "journal damaged: %s at offset %zu: versions %llu to %llu were acknowledged but "
            "cannot be read",
            (char *)path.data, offset, (unsigned long long)rec->last_version + 1,
            (unsigned long long)rec->durable_version);
    } else if (r == OK && has_tail) {
        log_notice("journal: truncated an unsynced tail of %s at offset %zu", (char *)path.data,
                   offset);
    }
    for (size_t later = i + 1; later < rec->count && r == OK; later++) {
        segment_path(rec, later, &path);
        r = file_remove((char *)path.data, e);
    }
    if (r == OK) rec->count = i + 1;
    buf_fini(&path);
    return r;
}

/* The segment after i that says it continues where the journal ends so far, or rec->count. Those
 * without a header between the two were never used: preparing them failed. */
static size_t next_segment(const struct recovery *rec, size_t i)
{
    do {
        i++;
    } while (i < rec->count && !rec->segments[i].has_header);
    bool continues = i < rec->count && rec->segments[i].header.version_before == rec->last_version;
    return continues ? i : rec->count;
}

/* What was prepared and never used is given back. Old segments stay as history: each start would
 * leave another one behind. */
static enum err segment_cut(struct recovery *rec, size_t i, size_t offset, struct error *e)
{
    struct found_segment *s = &rec->segments[i];
    struct file f;
    struct buf path;
    if (!s->has_header || s->bytes < offset + CUT_BYTES_MIN) return OK;
    buf_init(&path);
    segment_path(rec, i, &path);
    enum err r = file_open(&f, (char *)path.data, FILE_WRITE_OLD, e);
    if (r == OK) r = file_truncate(&f, offset, e);
    if (r == OK) r = file_sync(&f, e);
    if (r == OK) s->bytes = offset;
    file_close(&f);
    buf_fini(&path);
    return r;
}

static enum err segments_replay(struct recovery *rec, size_t first, struct error *e)
{
    uint64_t applied = rec->replay->after;
    if (rec->count == 0) return OK;
    if (rec->segments[first].has_header) {
        rec->last_version = rec->segments[first].header.version_before;
    }
    if (rec->last_version > applied) {
        return error_set(e, ERR_CORRUPT,
                         "the journal begins after version %llu, but the database ends at %llu; "
                         "segments are missing in %s",
                         (unsigned long long)rec->last_version, (unsigned long long)applied,
                         rec->journal->dir);
    }
    for (size_t i = first, next = 0; i < rec->count; i = next) {
        size_t offset = 0;
        enum err r = segment_read(rec, i, e);
        if (r == OK && rec->segments[i].has_header) r = segment_replay(rec, i, &offset, e);
        if (r != OK) return r;
        next = next_segment(rec, i);
        bool is_last = next == rec->count;
        if (is_last) r = tail_end(rec, i, offset, e);
        if (r == OK) r = segment_cut(rec, i, offset, e);
        if (r != OK || is_last) return r;
    }
    return OK;
}

/* What is left in the list becomes the retained history. */
static void retain_found(const struct recovery *rec)
{
    for (size_t i = 0; i < rec->count; i++) {
        const struct found_segment *s = &rec->segments[i];
        size_t next = i + 1;
        while (next < rec->count && !rec->segments[next].has_header) next++;
        uint64_t last = rec->last_version;
        if (next < rec->count) last = rec->segments[next].header.version_before;
        struct old_segment old = {.number = s->number,
                                  .version_before = s->has_header ? s->header.version_before : last,
                                  .last_version = last,
                                  .last_time_ms = rec->time_ms,
                                  .bytes = s->bytes};
        segment_add_old(rec->journal, &old);
    }
}

enum err journal_recover(struct file_journal *j, struct journal_replay *replay,
                         uint64_t *last_version, struct error *e)
{
    struct recovery rec = {.journal = j, .replay = replay};
    enum err r = dir_list(j->dir, found_add, &rec, e);
    if (rec.count > 0) qsort(rec.segments, rec.count, sizeof *rec.segments, by_number);
    j->next_number = rec.count > 0 ? rec.segments[rec.count - 1].number + 1 : 1;
    if (r == OK) r = headers_read(&rec, e);
    if (r == OK) r = spares_remove(&rec, e);
    if (r == OK) r = segments_replay(&rec, first_needed(&rec, replay->after), e);
    if (r == OK) {
        *last_version = rec.last_version > replay->after ? rec.last_version : replay->after;
        replay->time_ms = rec.time_ms;
        retain_found(&rec);
        if (replay->transactions > 0) {
            log_notice("recovered %llu transactions, up to version %llu",
                       (unsigned long long)replay->transactions, (unsigned long long)*last_version);
        }
    }
    mem_free(rec.segments);
    buf_fini(&rec.bytes);
    return r;
}
