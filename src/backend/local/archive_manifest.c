/* archive_manifest: the file, line by line, and the lists that it becomes. A plan follows the chain
 * of timelines from the first to the one that is asked for, each up to where the next begins, and
 * goes along each as far as its segments have no gap. */
#include "backend/local/archive_manifest.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#define FORMAT 1
#define FILE_BYTES_MAX (1u << 30)

/* ---- the file ---- */

static void manifest_path(const char *dir, struct buf *out)
{
    buf_printf(out, "%s/manifest", dir);
    buf_append_byte(out, '\0');
    buf_require(out);
}

static bool take_u64(struct slice *line, uint64_t *out)
{
    return slice_to_u64(slice_take(line, ' '), out);
}

static bool take_u32(struct slice *line, uint32_t *out)
{
    uint64_t n = 0;
    bool is_good = take_u64(line, &n) && n <= UINT32_MAX;
    *out = (uint32_t)n;
    return is_good;
}

static bool take_ms(struct slice *line, int64_t *out)
{
    return slice_to_i64(slice_take(line, ' '), out);
}

static bool take_sum(struct slice *line, uint64_t *out)
{
    struct slice word = slice_take(line, ' ');
    char text[17];
    char *end = NULL;
    if (word.len != 16) return false;
    memcpy(text, word.data, 16);
    text[16] = '\0';
    *out = strtoull(text, &end, 16);
    return *end == '\0';
}

static bool read_timeline(struct manifest *m, struct slice line)
{
    struct manifest_timeline t = {0};
    bool is_good = take_u32(&line, &t.number) && take_u32(&line, &t.parent) &&
                   take_u64(&line, &t.fork) && take_u64(&line, &t.start) &&
                   take_ms(&line, &t.made_ms) &&
                   database_id_read(slice_take(&line, ' '), t.database_id) && line.len == 0;
    if (is_good) manifest_add_timeline(m, &t);
    return is_good;
}

static bool read_segment(struct manifest *m, struct slice line)
{
    struct manifest_segment s = {0};
    bool is_good = take_u32(&line, &s.timeline) && take_u64(&line, &s.number) &&
                   take_u64(&line, &s.before) && take_u64(&line, &s.last) &&
                   take_ms(&line, &s.last_ms) && take_u64(&line, &s.bytes) &&
                   take_sum(&line, &s.sum) && line.len == 0;
    if (is_good) manifest_add_segment(m, &s);
    return is_good;
}

static bool read_base(struct manifest *m, struct slice line)
{
    struct manifest_base b = {0};
    bool is_good = take_u32(&line, &b.timeline) && take_u64(&line, &b.version) &&
                   take_ms(&line, &b.time_ms) && take_u64(&line, &b.bytes) &&
                   take_sum(&line, &b.sum);
    while (is_good && line.len > 0) {
        uint64_t database = 0;
        is_good = take_u64(&line, &database) && database < DATABASES_MAX;
        b.without = mem_resize(b.without, (b.without_count + 1) * sizeof *b.without);
        b.without[b.without_count++] = (uint16_t)database;
    }
    if (is_good) {
        manifest_add_base(m, &b);
    } else {
        mem_free(b.without);
    }
    return is_good;
}

static bool read_line(struct manifest *m, struct slice line)
{
    struct slice word = slice_take(&line, ' ');
    if (slice_eq(word, slice_str("timeline"))) return read_timeline(m, line);
    if (slice_eq(word, slice_str("segment"))) return read_segment(m, line);
    if (slice_eq(word, slice_str("base"))) return read_base(m, line);
    return false;
}

static enum err manifest_parse(const char *dir, struct slice text, struct manifest *m,
                               struct error *e)
{
    struct slice rest = text;
    struct slice first = slice_take(&rest, '\n');
    uint64_t format = 0;
    uint64_t sum = 0;
    size_t number = 1;
    if (!slice_eq(slice_take(&first, ' '), slice_str("tupled-archive")) ||
        !take_u64(&first, &format)) {
        return error_set(e, ERR_CORRUPT, "%s/manifest is not the manifest of an archive", dir);
    }
    if (format > FORMAT) {
        return error_set(e, ERR_FORMAT,
                         "%s/manifest has format %llu, but this program supports formats up to "
                         "%d; use a newer version of tupled",
                         dir, (unsigned long long)format, FORMAT);
    }
    while (rest.len > 0) {
        struct slice before = slice_of(text.data, text.len - rest.len);
        struct slice line = slice_take(&rest, '\n');
        number++;
        if (slice_has_prefix(line, slice_str("end "))) {
            (void)slice_take(&line, ' ');
            if (take_sum(&line, &sum) && sum == checksum_bytes(before) && rest.len == 0) return OK;
            return error_set(e, ERR_CORRUPT, "%s/manifest is damaged: checksum mismatch", dir);
        }
        if (!read_line(m, line)) {
            return error_set(e, ERR_CORRUPT, "%s/manifest is damaged at line %zu", dir, number);
        }
    }
    return error_set(e, ERR_CORRUPT, "%s/manifest is damaged: it is truncated", dir);
}

enum err manifest_read(const char *dir, struct manifest *out, struct error *e)
{
    struct buf path;
    struct buf text;
    enum err r = OK;
    *out = (struct manifest){0};
    buf_init(&path);
    buf_init(&text);
    manifest_path(dir, &path);
    if (file_exists((char *)path.data)) {
        r = file_read_all((char *)path.data, &text, FILE_BYTES_MAX, e);
        if (r == OK) r = manifest_parse(dir, buf_slice(&text), out, e);
    }
    buf_fini(&path);
    buf_fini(&text);
    if (r != OK) manifest_fini(out);
    return r;
}

static void write_timelines(struct buf *text, const struct manifest *m)
{
    char id[DATABASE_ID_TEXT];
    for (size_t i = 0; i < m->timeline_count; i++) {
        const struct manifest_timeline *t = &m->timelines[i];
        database_id_format(t->database_id, id);
        buf_printf(text, "timeline %u %u %llu %llu %lld %s\n", t->number, t->parent,
                   (unsigned long long)t->fork, (unsigned long long)t->start, (long long)t->made_ms,
                   id);
    }
}

static void write_segments(struct buf *text, const struct manifest *m)
{
    for (size_t i = 0; i < m->segment_count; i++) {
        const struct manifest_segment *s = &m->segments[i];
        buf_printf(text, "segment %u %llu %llu %llu %lld %llu %016llx\n", s->timeline,
                   (unsigned long long)s->number, (unsigned long long)s->before,
                   (unsigned long long)s->last, (long long)s->last_ms, (unsigned long long)s->bytes,
                   (unsigned long long)s->sum);
    }
}

static void write_bases(struct buf *text, const struct manifest *m)
{
    for (size_t i = 0; i < m->base_count; i++) {
        const struct manifest_base *b = &m->bases[i];
        buf_printf(text, "base %u %llu %lld %llu %016llx", b->timeline,
                   (unsigned long long)b->version, (long long)b->time_ms,
                   (unsigned long long)b->bytes, (unsigned long long)b->sum);
        for (size_t k = 0; k < b->without_count; k++) buf_printf(text, " %u", b->without[k]);
        buf_append_byte(text, '\n');
    }
}

enum err manifest_write(const char *dir, const struct manifest *m, struct error *e)
{
    struct buf path;
    struct buf text;
    buf_init(&path);
    buf_init(&text);
    manifest_path(dir, &path);
    buf_printf(&text, "tupled-archive %d\n", FORMAT);
    write_timelines(&text, m);
    write_segments(&text, m);
    write_bases(&text, m);
    buf_require(&text);
    uint64_t sum = checksum_bytes(buf_slice(&text));
    buf_printf(&text, "end %016llx\n", (unsigned long long)sum);
    buf_require(&text);
    enum err r = file_write_all((char *)path.data, buf_slice(&text), e);
    buf_fini(&path);
    buf_fini(&text);
    return r;
}

void manifest_fini(struct manifest *m)
{
    for (size_t i = 0; i < m->base_count; i++) mem_free(m->bases[i].without);
    mem_free(m->timelines);
    mem_free(m->segments);
    mem_free(m->bases);
    *m = (struct manifest){0};
}

/* ---- what is in it ---- */

struct manifest_timeline *manifest_timeline(const struct manifest *m, uint32_t number)
{
    for (size_t i = 0; i < m->timeline_count; i++) {
        if (m->timelines[i].number == number) return &m->timelines[i];
    }
    return NULL;
}

/* The newest are asked for. */
struct manifest_segment *manifest_segment(const struct manifest *m, uint32_t timeline,
                                          uint64_t number)
{
    for (size_t i = m->segment_count; i-- > 0;) {
        struct manifest_segment *s = &m->segments[i];
        if (s->timeline == timeline && s->number == number) return s;
    }
    return NULL;
}

void manifest_add_timeline(struct manifest *m, const struct manifest_timeline *t)
{
    m->timelines = mem_resize(m->timelines, (m->timeline_count + 1) * sizeof *t);
    m->timelines[m->timeline_count++] = *t;
}

void manifest_add_segment(struct manifest *m, const struct manifest_segment *s)
{
    m->segments = mem_resize(m->segments, (m->segment_count + 1) * sizeof *s);
    m->segments[m->segment_count++] = *s;
}

void manifest_add_base(struct manifest *m, const struct manifest_base *b)
{
    m->bases = mem_resize(m->bases, (m->base_count + 1) * sizeof *b);
    m->bases[m->base_count++] = *b;
}

void manifest_remove_segment(struct manifest *m, size_t i)
{
    size_t after = --m->segment_count - i;
    memmove(&m->segments[i], &m->segments[i + 1], after * sizeof m->segments[0]);
}

void manifest_remove_base(struct manifest *m, size_t i)
{
    mem_free(m->bases[i].without);
    size_t after = --m->base_count - i;
    memmove(&m->bases[i], &m->bases[i + 1], after * sizeof m->bases[0]);
}

struct manifest_timeline *manifest_timeline_of(const struct manifest *m, uint64_t version)
{
    struct manifest_timeline *best = NULL;
    for (size_t i = 0; i < m->timeline_count; i++) {
        struct manifest_timeline *t = &m->timelines[i];
        if (t->start <= version && (best == NULL || t->start > best->start)) best = t;
    }
    return best;
}

uint64_t manifest_next_start(const struct manifest *m)
{
    uint64_t highest = 0;
    for (size_t i = 0; i < m->timeline_count; i++) {
        if (m->timelines[i].start > highest) highest = m->timelines[i].start;
    }
    for (size_t i = 0; i < m->segment_count; i++) {
        if (m->segments[i].last > highest) highest = m->segments[i].last;
    }
    for (size_t i = 0; i < m->base_count; i++) {
        if (m->bases[i].version > highest) highest = m->bases[i].version;
    }
    return highest + TIMELINE_STEP;
}

void manifest_segment_path(struct buf *out, const char *dir, const struct manifest_segment *s)
{
    buf_clear(out, SIZE_MAX);
    buf_printf(out, "%s/%08u-%020llu.log", dir, s->timeline, (unsigned long long)s->number);
    buf_append_byte(out, '\0');
    buf_require(out);
}

void manifest_base_path(struct buf *out, const char *dir, const struct manifest_base *b)
{
    buf_clear(out, SIZE_MAX);
    buf_printf(out, "%s/%08u-%016llx.db", dir, b->timeline, (unsigned long long)b->version);
    buf_append_byte(out, '\0');
    buf_require(out);
}

/* ---- a plan ---- */

/* How far the history of a timeline goes on timelines before it. */
struct chain_link {
    uint32_t timeline;
    uint64_t until;
};

/* From the first timeline to this one; a part of it when a parent is not known, or they go in a
 * circle. */
static struct chain_link *chain_of(const struct manifest *m, uint32_t timeline, uint64_t until,
                                   size_t *count)
{
    struct chain_link *chain = mem_new((m->timeline_count + 1) * sizeof *chain);
    size_t n = 0;
    for (uint32_t number = timeline; number != 0;) {
        const struct manifest_timeline *t = manifest_timeline(m, number);
        if (t == NULL || n == m->timeline_count) break;
        chain[m->timeline_count - ++n] = (struct chain_link){.timeline = number, .until = until};
        if (t->fork < until) until = t->fork;
        number = t->parent;
    }
    memmove(chain, chain + m->timeline_count - n, n * sizeof *chain);
    *count = n;
    return chain;
}

static const struct manifest_base *base_choose(const struct manifest *m,
                                               const struct chain_link *chain, size_t count,
                                               int64_t until_ms, size_t *link)
{
    const struct manifest_base *best = NULL;
    for (size_t i = 0; i < m->base_count; i++) {
        const struct manifest_base *b = &m->bases[i];
        if (b->time_ms > until_ms || b->version == 0) continue; /* 0: empty, as nothing is */
        for (size_t k = 0; k < count; k++) {
            if (b->timeline != chain[k].timeline || b->version > chain[k].until) continue;
            if (best != NULL && b->version <= best->version) continue;
            best = b;
            *link = k;
        }
    }
    return best;
}

static int by_before(const void *a, const void *b)
{
    const struct manifest_segment *x = *(const struct manifest_segment *const *)a;
    const struct manifest_segment *y = *(const struct manifest_segment *const *)b;
    if (x->before != y->before) return x->before < y->before ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Goes on along one timeline as far as segments follow each other without a gap. */
static void plan_link(const struct manifest *m, const struct chain_link *link,
                      struct manifest_plan *p)
{
    const struct manifest_segment **own = mem_new((m->segment_count + 1) * sizeof *own);
    size_t count = 0;
    for (size_t i = 0; i < m->segment_count; i++) {
        if (m->segments[i].timeline == link->timeline) own[count++] = &m->segments[i];
    }
    if (count > 0) qsort(own, count, sizeof own[0], by_before);
    for (size_t i = 0; i < count && p->version < link->until; i++) {
        if (own[i]->last <= p->version) continue;
        if (own[i]->before > p->version) {
            p->missing = own[i]->number - 1;
            p->missing_timeline = link->timeline;
            break;
        }
        p->steps[p->count++] = (struct manifest_step){.segment = own[i], .until = link->until};
        p->version = own[i]->last < link->until ? own[i]->last : link->until;
    }
    mem_free(own);
}

void manifest_plan(const struct manifest *m, uint32_t timeline, uint64_t until, int64_t until_ms,
                   struct manifest_plan *out)
{
    size_t count = 0;
    size_t first = 0;
    struct chain_link *chain = chain_of(m, timeline, until, &count);
    *out = (struct manifest_plan){.base = base_choose(m, chain, count, until_ms, &first)};
    out->steps = mem_new((m->segment_count + 1) * sizeof *out->steps);
    out->version = out->base != NULL ? out->base->version : 0;
    for (size_t i = first; i < count && out->missing_timeline == 0; i++) {
        plan_link(m, &chain[i], out);
        /* The parent's history does not reach the fork. */
        bool is_short = i + 1 < count && out->version < chain[i].until;
        if (is_short) out->missing_timeline = chain[i].timeline;
    }
    mem_free(chain);
}

void manifest_plan_fini(struct manifest_plan *p)
{
    mem_free(p->steps);
}
