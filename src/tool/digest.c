/* digest: `tupledctl digest`: a number for all entries of a database, or below a prefix: equal
 * where keys, values and expiries are equal, whatever their versionstamps. It is the XXH3 (128
 * bits) of
 *
 *   <key as JSON> TAB <value as typed JSON> TAB <expiry in ms, or nothing> LF
 *
 * of each entry, in key order. Pages are of their own moments: it says something of a database that
 * is not written to meanwhile.
 */
#include <stdio.h>

#include "tool/commands.h"
#include "tool/export_out.h"
#include "tool/output.h"

const struct tool_option digest_options[] = {
    {"--prefix", 0, "KEY", "of the entries below this key only"},
    {.name = NULL},
};

static const char *const digest_names[] = {"entries", "digest", NULL};

struct digest {
    struct wire *w;
    const char *prefix;
    XXH3_state_t *state; /* owned */
    uint64_t entries;
    struct progress progress;
};

static enum tool_status digest_row(struct digest *d, const redisReply *row)
{
    char end[32] = "\t\n";
    if (!wire_is_array(row, 4) || !wire_is(row->element[0], REDIS_REPLY_STRING) ||
        !wire_is(row->element[1], REDIS_REPLY_STRING)) {
        return tool_strange("KV.LIST");
    }
    if (wire_is(row->element[3], REDIS_REPLY_INTEGER)) {
        snprintf(end, sizeof end, "\t%lld\n", row->element[3]->integer);
    }
    XXH3_128bits_update(d->state, row->element[0]->str, row->element[0]->len);
    XXH3_128bits_update(d->state, "\t", 1);
    XXH3_128bits_update(d->state, row->element[1]->str, row->element[1]->len);
    XXH3_128bits_update(d->state, end, strlen(end));
    d->entries++;
    if (d->entries % 256 == 0 && progress_is_due(&d->progress)) {
        progress_show(&d->progress, "%llu entries", (unsigned long long)d->entries);
    }
    return TOOL_DONE;
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
    wire_close(d.w);
    return s;
}
