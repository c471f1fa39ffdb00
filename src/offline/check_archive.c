/* check_archive: an archive (backend/local/archive.h): what its manifest names is there, whole, and
 * follows on each other. The manifest may be replaced while it is read, so the archive is locked.
 */
#include <stdio.h>
#include <stdlib.h>

#include "backend/local/archive.h"
#include "base/file.h"
#include "base/mem.h"
#include "offline/check_int.h"

#define PART "archive"
#define SEGMENT_BYTES_MAX (4ULL << 30)

struct archive_check {
    struct check *k;
    struct manifest manifest;
    struct buf path, bytes;
    struct patch_values values; /* of the segment being read */
    uint64_t done, total;
};

static const char *name_of(const struct archive_check *a)
{
    const char *path = (const char *)a->path.data;
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Is the file at a->path there, with this length and sum? */
static enum err file_check(struct archive_check *a, uint64_t bytes, uint64_t sum, bool *is_there,
                           struct error *e)
{
    const char *path = (const char *)a->path.data;
    uint64_t real_bytes = 0;
    uint64_t real_sum = 0;
    *is_there = file_exists(path);
    if (!*is_there) {
        check_say(a->k, CHECK_DAMAGE, PART, name_of(a), "it is missing");
        return OK;
    }
    enum err r = archive_sum(path, NULL, &real_bytes, &real_sum, e);
    if (r == OK && real_bytes != bytes) {
        check_say(a->k, CHECK_DAMAGE, PART, name_of(a), "it has %llu bytes, not %llu",
                  (unsigned long long)real_bytes, (unsigned long long)bytes);
    } else if (r == OK && real_sum != sum) {
        check_say(a->k, CHECK_DAMAGE, PART, name_of(a), "checksum mismatch");
    }
    a->done += bytes;
    check_progress(a->k, PART, a->done, a->total);
    return r;
}

static enum err count_txn(struct segment_walk *w, struct txn_view *txn, struct error *e)
{
    struct archive_check *a = w->arg;
    a->k->transactions++;
    return txn_values(&a->values, txn, e);
}

static enum err segment_check(struct archive_check *a, const struct manifest_segment *s,
                              struct error *e)
{
    const struct manifest_timeline *t = manifest_timeline(&a->manifest, s->timeline);
    struct segment_walk walk = {.id = {.number = s->number},
                                .before = s->before,
                                .last = s->last,
                                .take = count_txn,
                                .arg = a};
    struct error why;
    bool is_there = false;
    buf_clear(&a->path, SIZE_MAX);
    manifest_segment_path(&a->path, a->k->dir, s);
    a->k->segments++;
    enum err r = file_check(a, s->bytes, s->sum, &is_there, e);
    if (r != OK || !is_there) return r;
    if (t == NULL) {
        check_say(a->k, CHECK_DAMAGE, PART, name_of(a), "the manifest has no timeline %u",
                  s->timeline);
        return OK;
    }
    memcpy(walk.id.database_id, t->database_id, DATABASE_ID_BYTES);
    buf_clear(&a->bytes, SIZE_MAX);
    r = file_read_all((char *)a->path.data, &a->bytes, SEGMENT_BYTES_MAX, e);
    patch_values_clear(&a->values);
    if (r == OK && segment_walk(&walk, buf_slice(&a->bytes), &why) != OK) {
        check_say(a->k, CHECK_DAMAGE, PART, name_of(a), "%s", why.text);
    }
    return r;
}

static enum err base_check(struct archive_check *a, const struct manifest_base *b, struct error *e)
{
    bool is_there = false;
    buf_clear(&a->path, SIZE_MAX);
    manifest_base_path(&a->path, a->k->dir, b);
    a->k->bases++;
    enum err r = file_check(a, b->bytes, b->sum, &is_there, e);
    if (r == OK && is_there) r = check_pages(a->k, (char *)a->path.data, name_of(a), e);
    return r;
}

static int by_timeline(const void *a, const void *b)
{
    const struct manifest_segment *x = a;
    const struct manifest_segment *y = b;
    if (x->timeline != y->timeline) return x->timeline < y->timeline ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* A moment within a gap cannot be restored, also where a base after it was made. */
static void gaps_check(struct archive_check *a)
{
    const struct manifest *m = &a->manifest;
    for (size_t i = 1; i < m->segment_count; i++) {
        const struct manifest_segment *s = &m->segments[i];
        const struct manifest_segment *before = s - 1;
        if (s->timeline != before->timeline || s->before == before->last) continue;
        buf_clear(&a->path, SIZE_MAX);
        manifest_segment_path(&a->path, a->k->dir, s);
        check_say(a->k, CHECK_DAMAGE, PART, name_of(a),
                  "there is a gap: it begins after version %llu, but the segment before it ends "
                  "at %llu",
                  (unsigned long long)s->before, (unsigned long long)before->last);
    }
}

static enum err files_check(struct archive_check *a, struct error *e)
{
    struct manifest *m = &a->manifest;
    enum err r = OK;
    for (size_t i = 0; i < m->segment_count; i++) a->total += m->segments[i].bytes;
    for (size_t i = 0; i < m->base_count; i++) a->total += m->bases[i].bytes;
    if (m->segment_count > 0) {
        qsort(m->segments, m->segment_count, sizeof *m->segments, by_timeline);
    }
    gaps_check(a);
    for (size_t i = 0; i < m->segment_count && r == OK; i++) {
        r = segment_check(a, &m->segments[i], e);
    }
    for (size_t i = 0; i < m->base_count && r == OK; i++) r = base_check(a, &m->bases[i], e);
    return r;
}

enum err check_archive(struct check *k, struct error *e)
{
    struct archive_check a = {.k = k};
    int fd = -1;
    buf_init(&a.path);
    buf_init(&a.bytes);
    patch_values_init(&a.values);
    check_path(&a.path, k->dir, "LOCK");
    enum err r = OK;
    if (file_exists((char *)a.path.data)) r = archive_lock(k->dir, &fd, e);
    if (r == OK) {
        r = manifest_read(k->dir, &a.manifest, e);
        if (r == ERR_CORRUPT) {
            check_say(k, CHECK_DAMAGE, PART, "manifest", "%s", e->text);
            r = OK;
        } else if (r == OK) {
            r = files_check(&a, e);
        }
        manifest_fini(&a.manifest);
    }
    if (fd >= 0) file_unlock(fd);
    buf_fini(&a.path);
    buf_fini(&a.bytes);
    patch_values_fini(&a.values);
    return r;
}
