/* check_journal: the segments of a journal, one after the other by their numbers, as a start reads
 * them (backend/local/recover.c), but all of them and to the end.
 *
 * Each segment says which version came before it, and each batch which version was on disk when it
 * was written. So a place from which nothing can be read is damage when a later record knows of
 * more; else it is a tail that was not acknowledged.
 */
#include <stdio.h>
#include <stdlib.h>

#include "backend/local/file_journal.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "offline/check_int.h"

#define PART "journal"
#define SEGMENT_BYTES_MAX (4ULL << 30)
#define VERSIONS_BYTES_MAX 256

struct found {
    uint64_t number;
    uint64_t bytes;
    struct segment_header header;
    bool has_header;
};

struct journal_check {
    struct check *k;
    struct found *segments; /* owned; by number */
    size_t count;
    bool has_id;
    uint8_t id[DATABASE_ID_BYTES]; /* as `versions` has it, else the first segment */
    uint64_t last, durable;        /* as in recover.c */
    bool has_last;
    char place[CHECK_PLACE_BYTES]; /* where nothing more could be read */
    struct buf bytes;              /* of the segment being read */
    struct patch_values values;    /* of the same */
};

static void found_add(void *arg, const char *name)
{
    struct journal_check *j = arg;
    uint64_t number = 0;
    if (!journal_number(name, &number)) return;
    j->segments = mem_resize(j->segments, (j->count + 1) * sizeof *j->segments);
    j->segments[j->count++] = (struct found){.number = number};
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct found *)a)->number;
    uint64_t y = ((const struct found *)b)->number;
    return x < y ? -1 : x > y;
}

/* "journal-7.log at offset 64" */
static void place_put(struct journal_check *j, const struct found *s, size_t offset)
{
    struct buf path;
    buf_init(&path);
    journal_path(&path, j->k->dir, s->number);
    const char *slash = strrchr((char *)path.data, '/');
    snprintf(j->place, sizeof j->place, "%s at offset %zu", slash + 1, offset);
    buf_fini(&path);
}

static enum err segment_load(struct journal_check *j, struct found *s, struct error *e)
{
    struct buf path;
    buf_init(&path);
    journal_path(&path, j->k->dir, s->number);
    buf_clear(&j->bytes, SIZE_MAX);
    enum err r = file_read_all((char *)path.data, &j->bytes, SEGMENT_BYTES_MAX, e);
    s->bytes = j->bytes.len;
    buf_fini(&path);
    return r;
}

/* ---- transactions ---- */

/* Mutations that are whole, as many as it says. */
static bool txn_is_good(const struct txn_view *txn)
{
    struct slice rest = txn->bytes;
    struct mutation mu;
    uint32_t count = 0;
    while (rest.len > 0 && mutation_read(&rest, &mu)) count++;
    return rest.len == 0 && count == txn->mutations;
}

/* Says what is wrong in the payload of a batch that lies at j->place. */
static void batch_check(struct journal_check *j, const uint8_t *batch, const struct batch_header *h)
{
    struct slice payload = slice_of(batch + JOURNAL_BATCH_BYTES, h->payload_bytes);
    struct txn_view txn;
    uint64_t before = h->first_version - 1;
    uint32_t count = 0;
    while (txn_read(&payload, &txn)) {
        struct error e;
        if (txn.version <= before || txn.version > h->last_version || !txn_is_good(&txn)) {
            check_say(j->k, CHECK_DAMAGE, PART, j->place,
                      "the transaction of version %llu is malformed",
                      (unsigned long long)txn.version);
        } else if (txn_values(&j->values, &txn, &e) != OK) {
            check_say(j->k, CHECK_DAMAGE, PART, j->place, "%s", e.text);
        }
        before = txn.version;
        count++;
    }
    j->k->transactions += count;
    if (payload.len != 0 || count != h->transactions) {
        check_say(j->k, CHECK_DAMAGE, PART, j->place,
                  "the contents of a batch differ from its header");
    }
}

/* ---- segments ---- */

/* Batches from the header on. *offset: where none follows. */
static void batches_walk(struct journal_check *j, const struct found *s, size_t *offset)
{
    struct batch_header h;
    *offset = JOURNAL_HEADER_BYTES;
    patch_values_clear(&j->values);
    while (batch_next(buf_slice(&j->bytes), offset, j->last, &s->header.id, &h)) {
        const uint8_t *batch = j->bytes.data + *offset;
        place_put(j, s, *offset);
        if (h.transactions > 0 && h.first_version <= j->last) {
            check_say(j->k, CHECK_DAMAGE, PART, j->place,
                      "versions are not ascending: %llu follows %llu",
                      (unsigned long long)h.first_version, (unsigned long long)j->last);
        }
        batch_check(j, batch, &h);
        if (h.last_version > j->last) j->last = h.last_version;
        if (h.durable_version > j->durable) j->durable = h.durable_version;
        *offset += batch_bytes(h.payload_bytes);
    }
}

/* Whole batches at any place after `offset` know more. */
static void batches_search(struct journal_check *j, const struct found *s, size_t offset)
{
    struct batch_header h;
    for (size_t at = (offset + 7) & ~(size_t)7; at < j->bytes.len; at += 8) {
        const uint8_t *batch = j->bytes.data + at;
        if (!batch_peek(batch, j->bytes.len - at, &h)) continue;
        if (!batch_verify(batch, &h, &s->header.id)) continue;
        if (h.durable_version > j->durable) j->durable = h.durable_version;
    }
}

/* What was lost at j->place, when a later record knows of more. */
static void gap_say(struct journal_check *j, uint64_t known)
{
    if (!j->has_last || known <= j->last) return;
    check_say(j->k, CHECK_DAMAGE, PART, j->place,
              "versions after %llu, up to %llu, were on disk and cannot be read",
              (unsigned long long)j->last, (unsigned long long)known);
    j->last = known;
}

/* Something was being written there: neither zeros nor what an earlier use of the file left. */
static void tail_say(struct journal_check *j, size_t offset)
{
    struct batch_header h;
    if (offset >= j->bytes.len) return;
    const uint8_t *batch = j->bytes.data + offset;
    if (!batch_peek(batch, j->bytes.len - offset, &h)) return;
    if (h.transactions == 0 || h.first_version <= j->last) return;
    check_say(j->k, CHECK_NOTE, PART, j->place,
              "an unsynced tail, which was never acknowledged; the next start truncates it");
}

/* A file without a header of its own is a spare, prepared and not used, or used before under
 * another number; else the header is damaged. */
static void header_read(struct journal_check *j, struct found *s)
{
    static const uint8_t blank[JOURNAL_HEADER_BYTES];
    struct error e;
    place_put(j, s, 0);
    if (j->bytes.len < JOURNAL_HEADER_BYTES) return;
    if (memcmp(j->bytes.data, blank, sizeof blank) == 0) return;
    enum err r = segment_header_read(j->bytes.data, &s->header, &e);
    if (r != OK) {
        check_say(j->k, CHECK_DAMAGE, PART, j->place, "its header is damaged: %s", e.text);
        return;
    }
    bool is_own = !j->has_id || memcmp(s->header.id.database_id, j->id, DATABASE_ID_BYTES) == 0;
    if (!is_own) {
        check_say(j->k, CHECK_DAMAGE, PART, j->place, "it belongs to another database");
        return;
    }
    memcpy(j->id, s->header.id.database_id, DATABASE_ID_BYTES);
    j->has_id = true;
    s->has_header = s->header.id.number == s->number;
}

static enum err segment_check(struct journal_check *j, struct found *s, struct error *e)
{
    char before[CHECK_PLACE_BYTES];
    size_t offset = 0;
    enum err r = segment_load(j, s, e);
    if (r != OK) return r;
    snprintf(before, sizeof before, "%s", j->place);
    header_read(j, s);
    if (!s->has_header) {
        snprintf(j->place, sizeof j->place, "%s", before);
        return OK;
    }
    uint64_t known = s->header.version_before;
    if (j->has_last && known < j->last) {
        check_say(j->k, CHECK_DAMAGE, PART, j->place,
                  "recorded as its predecessor is version %llu, but it is %llu",
                  (unsigned long long)known, (unsigned long long)j->last);
    }
    snprintf(j->place, sizeof j->place, "%s", before);
    gap_say(j, known);
    if (!j->has_last) j->last = known;
    j->has_last = true;
    j->k->segments++;
    batches_walk(j, s, &offset);
    batches_search(j, s, offset);
    place_put(j, s, offset);
    tail_say(j, offset);
    return OK;
}

/* ---- the file `versions` ---- */

/* As backend/local/versions.c has it. */
static bool versions_parse(struct slice text, struct slice *id, uint64_t *end)
{
    struct slice rest = text;
    char sum[20];
    uint64_t format = 0;
    bool is_good = slice_eq(slice_take(&rest, ' '), slice_str("tupled-versions"));
    is_good = slice_to_u64(slice_take(&rest, ' '), &format) && is_good;
    *id = slice_take(&rest, ' ');
    is_good = slice_to_u64(slice_take(&rest, ' '), end) && is_good;
    uint64_t hash = checksum_bytes(slice_of(text.data, text.len - rest.len));
    snprintf(sum, sizeof sum, "%016llx\n", (unsigned long long)hash);
    return is_good && slice_eq(rest, slice_str(sum));
}

/* *end 0: it says nothing. */
static void versions_check(struct journal_check *j, uint64_t *end)
{
    struct buf path;
    struct buf text;
    struct slice id = {0};
    struct error e = {.code = OK};
    buf_init(&path);
    buf_init(&text);
    check_path(&path, j->k->dir, "versions");
    *end = 0;
    if (!file_exists((char *)path.data)) {
        check_say(j->k, j->count > 0 ? CHECK_DAMAGE : CHECK_NOTE, "versions", "versions",
                  "it is missing%s", j->count > 0 ? "" : ", as in a backup");
    } else if (file_read_all((char *)path.data, &text, VERSIONS_BYTES_MAX, &e) != OK) {
        check_say(j->k, CHECK_DAMAGE, "versions", "versions", "it cannot be read: %s", e.text);
    } else if (!versions_parse(buf_slice(&text), &id, end) || !database_id_read(id, j->id)) {
        check_say(j->k, CHECK_DAMAGE, "versions", "versions",
                  "checksum mismatch; a server will not start");
        *end = 0;
    } else {
        j->has_id = true;
    }
    buf_fini(&path);
    buf_fini(&text);
}

enum err check_journal(struct check *k, struct error *e)
{
    struct journal_check j = {.k = k};
    uint64_t end = 0;
    uint64_t given = 0;
    buf_init(&j.bytes);
    patch_values_init(&j.values);
    enum err r = dir_list(k->dir, found_add, &j, e);
    if (j.count > 0) qsort(j.segments, j.count, sizeof *j.segments, by_number);
    if (r == OK) versions_check(&j, &end);
    for (size_t i = 0; r == OK && i < j.count; i++) {
        r = segment_check(&j, &j.segments[i], e);
        check_progress(k, PART, i + 1, j.count);
    }
    given = j.last;
    k->versions_end = end;
    k->newest = given;
    if (r == OK) gap_say(&j, j.durable);
    if (r == OK && end > 0 && end <= given) {
        check_say(k, CHECK_DAMAGE, "versions", "versions",
                  "recorded as unused is version %llu, but the journal has %llu",
                  (unsigned long long)end, (unsigned long long)given);
    }
    buf_fini(&j.bytes);
    patch_values_fini(&j.values);
    mem_free(j.segments);
    return r;
}
