/* export_collection: hashes, lists, sets, sorted sets and streams in an export. KV.LIST and
 * KV.CHANGES name them; their elements are asked for with KV.ELEMENTS, whose pages are of one
 * state: when a collection has changed, it is read again from its beginning, and the first record
 * of it in the file takes the place of those that were written before. Groups of a stream are as
 * they are when they are read: what is delivered and acknowledged is no change of the stream.
 *
 *   a page of KV.LIST   the first page of each that it names, several under way at a time; then
 *                       those that have more, one after the other. What changes meanwhile comes
 *                       again with the changes
 *   KV.CHANGES          each that it names, once; its later changes up to the one that was read,
 *                       or tried to, are passed over
 *
 * The records of a reading are held back until it is complete: so one that ends early, for the
 * collection has changed, leaves none. Those of a very large one are not (EXPORT_OUT_HELD).
 *
 * What was read may be newer than the version up to which changes are read. Then there is another
 * round (export.c).
 */
#include <stdio.h>

#include "base/mem.h"
#include "tool/elements.h"
#include "tool/export_int.h"

#define RECORD_ELEMENTS 5000
#define RECORD_BYTES (1u << 20)
#define AT_ONCE 32
#define TRIES 5
#define SEEN_SLOTS 4096

/* One that is being read. */
struct reading {
    struct slice key; /* as the server writes it */
    int64_t told;     /* elements that are written */
    struct export_stamp stamp;
};

/* ---- records --------------------------------------------------------------------------------- */

static size_t element_bytes(const redisReply *element)
{
    size_t bytes = element->len;
    for (size_t i = 0; i < element->elements; i++) bytes += element->element[i]->len;
    return bytes;
}

static size_t record_upto(const redisReply *elements, size_t from)
{
    size_t bytes = 0;
    size_t at = from;
    while (at < elements->elements && at - from < RECORD_ELEMENTS && bytes < RECORD_BYTES) {
        bytes += element_bytes(elements->element[at++]);
    }
    return at;
}

/* Elements [from, upto) of the reply to KV.ELEMENTS. */
static enum tool_status write_record(struct exporter *x, struct reading *g, const redisReply *r,
                                     size_t from, size_t upto)
{
    struct record_out o;
    bool is_good = true;
    struct slice type = elements_type(r);
    record_begin(&o, &x->out.pending, x->is_pack);
    record_raw(&o, "key", g->key);
    record_text(&o, "collection", type);
    if (g->told > 0) record_i64(&o, "more", g->told);
    record_text(&o, "versionstamp", wire_slice(r->element[0]));
    if (wire_is(r->element[3], REDIS_REPLY_INTEGER)) {
        record_i64(&o, "expires", r->element[3]->integer);
    }
    record_list(&o, "elements", upto - from);
    for (size_t i = from; i < upto && is_good; i++) {
        is_good = elements_write(&o, type, elements_list(r)->element[i], i == from);
    }
    record_list_end(&o);
    record_end(&o);
    if (!is_good) return tool_strange("KV.ELEMENTS");
    x->collections += g->told == 0;
    g->told += (int64_t)(upto - from);
    return export_wrote(x);
}

static enum tool_status write_page(struct exporter *x, struct reading *g, const redisReply *r)
{
    enum tool_status s = TOOL_DONE;
    const redisReply *elements = elements_list(r);
    for (size_t at = 0; at < elements->elements && s == TOOL_DONE;) {
        size_t upto = record_upto(elements, at);
        s = write_record(x, g, r, at, upto);
        at = upto;
    }
    return s;
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum tool_status read_pages(struct exporter *x, struct reading *g, enum elements_end *end)
{
    redisReply *page = NULL;
    enum tool_status s = TOOL_DONE;
    bool is_done = false;
    g->told = 0;
    *end = ELEMENTS_READ;
    while (s == TOOL_DONE && !is_done) {
        redisReply *r = NULL;
        elements_ask(x->w, g->key, page == NULL ? slice_str("0") : elements_cursor(page),
                     x->is_pack);
        s = elements_hear(x->w, &r, end);
        freeReplyObject(page);
        page = r;
        is_done = s != TOOL_DONE || *end != ELEMENTS_READ || elements_is_last(r);
        if (s == TOOL_DONE && *end == ELEMENTS_READ && !export_stamp_of(r->element[0], &g->stamp)) {
            s = tool_strange("KV.ELEMENTS");
        }
        if (s == TOOL_DONE && *end == ELEMENTS_READ) s = write_page(x, g, r);
    }
    freeReplyObject(page);
    return s;
}

/* All pages. */
static enum tool_status read_whole(struct exporter *x, struct reading *g, enum elements_end *end)
{
    struct export_out *o = &x->out;
    uint64_t written = o->bytes;
    size_t before = o->pending.len;
    uint64_t records = x->records;
    uint64_t collections = x->collections;
    o->is_held = true;
    enum tool_status s = read_pages(x, g, end);
    o->is_held = false;
    if (*end != ELEMENTS_READ && o->bytes == written) {
        o->pending.len = before;
        x->records = records;
        x->collections = collections;
    }
    return s == TOOL_DONE ? export_out_flush(o, false) : s;
}

/* ---- of KV.LIST ------------------------------------------------------------------------------ */

/* Some of the rows of a page. Those with more than a page are read from their beginning when
 * nothing else is under way. */
static enum tool_status export_some(struct exporter *x, redisReply *const *rows, size_t count)
{
    const redisReply *large[AT_ONCE];
    size_t large_count = 0;
    enum tool_status s = TOOL_DONE;
    enum elements_end end = ELEMENTS_READ;
    for (size_t i = 0; i < count; i++) {
        elements_ask(x->w, wire_slice(rows[i]->element[0]), slice_str("0"), x->is_pack);
    }
    for (size_t i = 0; i < count && s == TOOL_DONE; i++) {
        struct reading g = {.key = wire_slice(rows[i]->element[0])};
        redisReply *r = NULL;
        s = elements_hear(x->w, &r, &end);
        bool is_page = s == TOOL_DONE && end == ELEMENTS_READ;
        bool is_whole = is_page && elements_is_last(r);
        if (is_whole) s = write_page(x, &g, r);
        if (is_page && !is_whole) large[large_count++] = rows[i];
        /* A map of a client's that looks like one, as MessagePack only. */
        if (s == TOOL_DONE && end == ELEMENTS_OTHER && x->is_pack) s = export_plain(x, rows[i]);
        freeReplyObject(r);
    }
    for (size_t i = 0; i < large_count && s == TOOL_DONE; i++) {
        struct reading g = {.key = wire_slice(large[i]->element[0])};
        s = read_whole(x, &g, &end);
    }
    return s;
}

enum tool_status export_collections(struct exporter *x, redisReply *const *rows, size_t count)
{
    enum tool_status s = TOOL_DONE;
    for (size_t i = 0; i < count && s == TOOL_DONE; i += AT_ONCE) {
        s = export_some(x, rows + i, count - i < AT_ONCE ? count - i : AT_ONCE);
    }
    return s;
}

/* ---- of KV.CHANGES --------------------------------------------------------------------------- */

struct export_seen {
    XXH128_hash_t key;
    struct export_stamp stamp; /* "": nothing is here */
};

static XXH128_hash_t hash_of(const struct exporter *x, struct slice key)
{
    return XXH3_128bits_withSeed(key.data, key.len, x->database);
}

static struct export_seen *slot_of(const struct exporter *x, XXH128_hash_t key)
{
    return &x->seen[key.low64 % SEEN_SLOTS];
}

bool export_is_seen(const struct exporter *x, struct slice key, const struct export_stamp *at)
{
    if (x->seen == NULL) return false;
    XXH128_hash_t hash = hash_of(x, key);
    const struct export_seen *seen = slot_of(x, hash);
    return XXH128_isEqual(seen->key, hash) && strcmp(at->text, seen->stamp.text) <= 0;
}

static void remember(struct exporter *x, const struct reading *g)
{
    if (x->seen == NULL) x->seen = mem_new(SEEN_SLOTS * sizeof *x->seen);
    XXH128_hash_t hash = hash_of(x, g->key);
    *slot_of(x, hash) = (struct export_seen){.key = hash, .stamp = g->stamp};
}

enum tool_status export_changed_collection(struct exporter *x, const redisReply *row,
                                           const struct export_stamp *until)
{
    struct reading g = {.key = wire_slice(row->element[0])};
    enum elements_end end = ELEMENTS_CHANGED;
    enum tool_status s = TOOL_DONE;
    for (int i = 0; i < TRIES && end == ELEMENTS_CHANGED && s == TOOL_DONE; i++) {
        s = read_whole(x, &g, &end);
    }
    if (s != TOOL_DONE) return s;
    if (end == ELEMENTS_READ || end == ELEMENTS_CHANGED) remember(x, &g);
    switch (end) {
    case ELEMENTS_READ: x->ahead += strcmp(g.stamp.text, until->text) > 0; break;
    case ELEMENTS_CHANGED: x->torn++; break;
    case ELEMENTS_GONE:
        x->ahead++;
        s = export_deleted(x, row);
        break;
    case ELEMENTS_OTHER:
        x->ahead++;
        if (x->is_pack) s = export_plain(x, row);
        break;
    }
    return s;
}
