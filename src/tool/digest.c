/* digest: `tupledctl digest`: a number for all entries of a database, or below a prefix: equal
 * where keys, values and expiries are equal, whatever their versionstamps. It is the XXH3 (128
 * bits) of
 *
 *   <key as JSON> TAB <value as typed JSON> TAB <expiry in ms, or nothing> LF
 *
 * of each entry, in key order. A collection has before its LF the sum (modulo 2^128, as 32 hex
 * digits) of the XXH3 of each of its elements as an export has it, in JSON; an element of a list
 * has its place and a TAB before it. So it does not matter in what order those of a set come.
 * Pages are of their own moments: it says something of a database that
 * is not written to meanwhile.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tool/commands.h"
#include "tool/elements.h"
#include "tool/export_out.h"
#include "tool/output.h"

const struct tool_option digest_options[] = {
    {"--prefix", 0, "KEY", "only the entries below this key"},
    {.name = NULL},
};

static const char *const digest_names[] = {"entries", "digest", NULL};

#define DIGEST_TRIES 5

struct digest {
    struct wire *w;
    struct buf scratch;
    const char *prefix;
    XXH3_state_t *state; /* owned */
    uint64_t entries;
    struct progress progress;
};

/* Of the elements of a collection. */
struct digest_sum {
    uint64_t high, low;
    uint64_t count;
};

static bool digest_page(struct digest *d, const redisReply *page, struct digest_sum *sum)
{
    struct slice type = elements_type(page);
    const redisReply *elements = elements_list(page);
    bool is_list = slice_eq(type, slice_str("list"));
    for (size_t i = 0; i < elements->elements; i++) {
        struct record_out o = {.out = &d->scratch};
        buf_clear(&d->scratch, 1 << 20);
        if (is_list) buf_printf(&d->scratch, "%" PRIu64 "\t", sum->count);
        if (!elements_write(&o, type, elements->element[i], true)) return false;
        buf_require(&d->scratch);
        XXH128_hash_t h = XXH3_128bits(d->scratch.data, d->scratch.len);
        sum->high += h.high64 + (sum->low + h.low64 < sum->low);
        sum->low += h.low64;
        sum->count++;
    }
    return true;
}

static enum tool_status digest_whole(struct digest *d, struct slice key, struct digest_sum *sum,
                                     enum elements_end *end)
{
    redisReply *page = NULL;
    enum tool_status s = TOOL_DONE;
    bool is_done = false;
    *sum = (struct digest_sum){.count = 0};
    while (s == TOOL_DONE && !is_done) {
        redisReply *r = NULL;
        elements_ask(d->w, key, page == NULL ? slice_str("0") : elements_cursor(page), false);
        s = elements_hear(d->w, &r, end);
        freeReplyObject(page);
        page = r;
        is_done = s != TOOL_DONE || *end != ELEMENTS_READ || elements_is_last(r);
        if (s == TOOL_DONE && *end == ELEMENTS_READ && !digest_page(d, r, sum)) {
            s = tool_strange("KV.ELEMENTS");
        }
    }
    freeReplyObject(page);
    return s;
}

static enum tool_status digest_elements(struct digest *d, struct slice key)
{
    struct digest_sum sum = {.count = 0};
    enum elements_end end = ELEMENTS_CHANGED;
    enum tool_status s = TOOL_DONE;
    char text[EXPORT_DIGEST_CHARS + 1];
    for (int i = 0; i < DIGEST_TRIES && end == ELEMENTS_CHANGED && s == TOOL_DONE; i++) {
        s = digest_whole(d, key, &sum, &end);
    }
    if (s != TOOL_DONE) return s;
    if (end != ELEMENTS_READ) {
        return tool_fail(TOOL_NO,
                         "%.*s changed while it was read; stop all writes during the digest",
                         (int)key.len, (const char *)key.data);
    }
    snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, sum.high, sum.low);
    XXH3_128bits_update(d->state, text, EXPORT_DIGEST_CHARS);
    return TOOL_DONE;
}

static enum tool_status digest_row(struct digest *d, const redisReply *row)
{
    char end[32] = "\t";
    enum tool_status s = TOOL_DONE;
    if (!wire_is_array(row, 4) || !wire_is(row->element[0], REDIS_REPLY_STRING) ||
        !wire_is(row->element[1], REDIS_REPLY_STRING)) {
        return tool_strange("KV.LIST");
    }
    if (wire_is(row->element[3], REDIS_REPLY_INTEGER)) {
        snprintf(end, sizeof end, "\t%lld", row->element[3]->integer);
    }
    XXH3_128bits_update(d->state, row->element[0]->str, row->element[0]->len);
    XXH3_128bits_update(d->state, "\t", 1);
    XXH3_128bits_update(d->state, row->element[1]->str, row->element[1]->len);
    XXH3_128bits_update(d->state, end, strlen(end));
    if (elements_are_of(row->element[1], false))
        s = digest_elements(d, wire_slice(row->element[0]));
    XXH3_128bits_update(d->state, "\n", 1);
    d->entries++;
    if (d->entries % 256 == 0 && progress_is_due(&d->progress)) {
        progress_show(&d->progress, "%llu entries", (unsigned long long)d->entries);
    }
    return s;
}

static enum tool_status digest_pages(struct digest *d)
{
    redisReply *page = NULL;
    const char *cursor = "0";
    enum tool_status s = TOOL_DONE;
    do {
        const char *words[] = {"KV.LIST", "LIMIT",   "5000",   "CURSOR", cursor, "WITHEXPIRY",
                               "PREFIX",  d->prefix, "FORMAT", "JSON",   NULL};
        const char *whole[] = {"KV.LIST",    "LIMIT",  "5000", "CURSOR", cursor,
                               "WITHEXPIRY", "FORMAT", "JSON", NULL};
        redisReply *r = NULL;
        s = tool_ask(d->w, d->prefix != NULL ? words : whole, &r);
        freeReplyObject(page);
        page = r;
        if (s == TOOL_DONE && !wire_is_array(r, 2)) s = tool_strange("KV.LIST");
        if (s != TOOL_DONE) break;
        cursor = r->element[0]->str;
        for (size_t i = 0; i < r->element[1]->elements && s == TOOL_DONE; i++) {
            s = digest_row(d, r->element[1]->element[i]);
        }
    } while (s == TOOL_DONE && strcmp(cursor, "0") != 0);
    freeReplyObject(page);
    return s;
}

enum tool_status digest_run(struct tool *t)
{
    struct digest d = {.prefix = tool_text(t, "--prefix")};
    struct sheet sheet;
    char text[EXPORT_DIGEST_CHARS + 1];
    enum tool_status s = tool_connect(t, &d.w);
    if (s != TOOL_DONE) return s;
    d.state = XXH3_createState();
    if (d.state == NULL) die("no memory");
    XXH3_128bits_reset(d.state);
    progress_init(&d.progress, t);
    s = digest_pages(&d);
    progress_end(&d.progress);
    if (s == TOOL_DONE) {
        export_digest_text(d.state, text);
        sheet_init(&sheet, digest_names);
        sheet_i64(&sheet, (int64_t)d.entries);
        sheet_text(&sheet, slice_str(text));
        sheet_print_record(&sheet, t->is_json);
        sheet_fini(&sheet);
    }
    XXH3_freeState(d.state);
    buf_fini(&d.scratch);
    wire_close(d.w);
    return s;
}
