/* export: `tupledctl export`: what a database has, as one state, in a form that import reads.
 * docs/export.md says what the file looks like.
 *
 *   KV.VERSION            v
 *   KV.LIST page by page  entries, none older than v, each page of its own moment
 *   KV.VERSION            w
 *   KV.CHANGES v .. w     what became of them meanwhile: with these the file is the state at w
 *
 * Of several databases the entries come first, of all of them, and then the changes up to one w.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tool/commands.h"
#include "tool/elements.h"
#include "tool/export_int.h"
#include "tupled.h"

#define EXPORT_PAGE "5000"
#define EXPORT_AGAIN_MAX 5 /* after flushes */
#define EXPORT_ROUNDS 5    /* of changes, while collections change */

const struct tool_option export_options[] = {
    {"--all", 0, NULL,
     "also export queues, indexes and limits; without --db all databases, and functions"},
    {"--format", 0, "FORMAT", "jsonl (default) or msgpack"},
    {"--output", 'o', "FILE", "write to this file, which appears when it is complete"},
    {"--prefix", 0, "KEY", "only the entries below this key"},
    {.name = NULL},
};

const char *export_format(const struct exporter *x)
{
    return x->is_pack ? "MSGPACK" : "JSON";
}

enum tool_status export_wrote(struct exporter *x)
{
    x->records++;
    if (x->records % 256 == 0 && progress_is_due(&x->progress)) {
        double s = (double)(clock_mono_us() - x->begun_us) / 1e6;
        double mb = (double)(x->out.bytes + x->out.pending.len) / 1e6;
        progress_show(&x->progress, "%llu entries, %.1f MB, %.0f entries/s, %.1f MB/s",
                      (unsigned long long)x->entries, mb, s > 0 ? (double)x->entries / s : 0,
                      s > 0 ? mb / s : 0);
    }
    return export_out_flush(&x->out, false);
}

bool export_stamp_of(const redisReply *r, struct export_stamp *out)
{
    if (!wire_is(r, REDIS_REPLY_STRING) || r->len != EXPORT_STAMP_CHARS) return false;
    memcpy(out->text, r->str, sizeof out->text - 1);
    out->text[EXPORT_STAMP_CHARS] = '\0';
    return true;
}

enum tool_status export_version(struct exporter *x, struct export_stamp *out)
{
    redisReply *r = NULL;
    enum tool_status s = tool_ask(x->w, TOOL_WORDS_OF("KV.VERSION"), &r);
    if (s != TOOL_DONE) return s;
    if (!export_stamp_of(r, out)) s = tool_strange("KV.VERSION");
    freeReplyObject(r);
    return s;
}

/* ---- entries --------------------------------------------------------------------------------- */

enum tool_status export_deleted(struct exporter *x, const redisReply *row)
{
    struct record_out o;
    record_begin(&o, &x->out.pending, x->is_pack);
    record_raw(&o, "key", wire_slice(row->element[0]));
    record_true(&o, "deleted");
    record_text(&o, "versionstamp", wire_slice(row->element[2]));
    record_end(&o);
    x->deletions++;
    return export_wrote(x);
}

enum tool_status export_plain(struct exporter *x, const redisReply *row)
{
    struct record_out o;
    record_begin(&o, &x->out.pending, x->is_pack);
    record_raw(&o, "key", wire_slice(row->element[0]));
    record_raw(&o, "value", wire_slice(row->element[1]));
    record_text(&o, "versionstamp", wire_slice(row->element[2]));
    if (wire_is(row->element[3], REDIS_REPLY_INTEGER)) {
        record_i64(&o, "expires", row->element[3]->integer);
    }
    record_end(&o);
    x->entries++;
    return export_wrote(x);
}

/* [key, value, versionstamp, expiry ms or nil]; of a change the value may be nil. */
static bool export_is_row(const redisReply *row)
{
    return wire_is_array(row, 4) && wire_is(row->element[0], REDIS_REPLY_STRING);
}

static enum tool_status export_entry(struct exporter *x, const redisReply *row)
{
    return wire_is(row->element[1], REDIS_REPLY_STRING) ? export_plain(x, row)
                                                        : export_deleted(x, row);
}

static void export_ask_page(struct exporter *x, const redisReply *cursor)
{
    struct slice words[12] = {slice_str("KV.LIST"),
                              slice_str("LIMIT"),
                              slice_str(EXPORT_PAGE),
                              slice_str("CURSOR"),
                              cursor != NULL ? wire_slice(cursor) : slice_str("0"),
                              slice_str("WITHEXPIRY")};
    size_t n = 6;
    if (x->prefix != NULL) {
        words[n++] = slice_str("PREFIX");
        words[n++] = slice_str(x->prefix);
    }
    words[n++] = slice_str("FORMAT");
    words[n++] = slice_str(export_format(x));
    wire_append(x->w, n, words);
}

/* The rows of a page: those of collections come last, in their order. *count: the others. False:
 * something is no row. */
static bool export_part_rows(const struct exporter *x, redisReply *rows, redisReply **parted,
                             size_t *count)
{
    size_t last = 0;
    *count = 0;
    for (size_t i = 0; i < rows->elements; i++) {
        if (!export_is_row(rows->element[i])) return false;
        last += elements_are_of(rows->element[i]->element[1], x->is_pack);
    }
    last = rows->elements - last;
    for (size_t i = 0; i < rows->elements; i++) {
        bool is_one = elements_are_of(rows->element[i]->element[1], x->is_pack);
        parted[is_one ? last++ : (*count)++] = rows->element[i];
    }
    return true;
}

/* The next page is on its way while this one is written, unless collections are to be read. */
static enum tool_status export_page(struct exporter *x, const redisReply *r, bool *is_last)
{
    enum tool_status s = TOOL_DONE;
    size_t plain = 0;
    if (r->type == REDIS_REPLY_ERROR) return tool_refused(r);
    if (!wire_is_array(r, 2) || !wire_is(r->element[0], REDIS_REPLY_STRING)) {
        return tool_strange("KV.LIST");
    }
    *is_last = strcmp(r->element[0]->str, "0") == 0;
    size_t count = r->element[1]->elements;
    redisReply **rows = mem_new((count + 1) * sizeof *rows);
    if (!export_part_rows(x, r->element[1], rows, &plain)) s = tool_strange("KV.LIST");
    if (s == TOOL_DONE && plain < count) s = export_collections(x, rows + plain, count - plain);
    if (s == TOOL_DONE && !*is_last) {
        export_ask_page(x, r->element[0]);
        if (!wire_move(x->w)) s = tool_fail(TOOL_BROKEN, "%s", wire_why(x->w));
    }
    for (size_t i = 0; i < plain && s == TOOL_DONE; i++) s = export_entry(x, rows[i]);
    mem_free(rows);
    return s;
}

static enum tool_status export_entries(struct exporter *x)
{
    enum tool_status s = TOOL_DONE;
    bool is_last = false;
    export_ask_page(x, NULL);
    while (s == TOOL_DONE && !is_last) {
        redisReply *r = NULL;
        if (wire_next(x->w, -1, &r) != WIRE_REPLY) {
            return tool_fail(TOOL_BROKEN, "%s", wire_why(x->w));
        }
        s = export_page(x, r, &is_last);
        freeReplyObject(r);
    }
    return s;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* `at`: its versionstamp. */
static enum tool_status export_change(struct exporter *x, const redisReply *row,
                                      const struct export_stamp *at,
                                      const struct export_stamp *until)
{
    if (!export_is_row(row)) {
        x->is_flushed = true;
        return TOOL_NO;
    }
    if (export_is_seen(x, wire_slice(row->element[0]), at)) return TOOL_DONE;
    if (elements_are_of(row->element[1], x->is_pack))
        return export_changed_collection(x, row, until);
    return export_entry(x, row);
}

static enum tool_status export_stale(const redisReply *r)
{
    if (!slice_has_prefix(wire_slice(r), slice_str("STALE"))) return tool_refused(r);
    return tool_fail(TOOL_NO,
                     "the export took longer than the server keeps changes, so it is not "
                     "consistent; raise changes-retention-age and changes-retention-size, or "
                     "export prefix by prefix. The server replied: %s",
                     r->str);
}

/* A page of what came after *from, up to `until`; *from moves on. */
static enum tool_status export_some_changes(struct exporter *x, struct export_stamp *from,
                                            const struct export_stamp *until)
{
    const char *words[12] = {"KV.CHANGES", from->text, "COUNT", EXPORT_PAGE, "BLOCK", "1000"};
    size_t n = 6;
    redisReply *r = NULL;
    struct export_stamp at;
    if (x->prefix != NULL) {
        words[n++] = "PREFIX";
        words[n++] = x->prefix;
    }
    words[n++] = "FORMAT";
    words[n] = export_format(x);
    enum tool_status s = wire_call(x->w, words, &r);
    if (s == TOOL_BROKEN) return tool_fail(s, "%s", wire_why(x->w));
    if (s == TOOL_NO) {
        s = export_stale(r);
    } else if (!wire_is_array(r, 2) || !export_stamp_of(r->element[0], from)) {
        s = tool_strange("KV.CHANGES");
    }
    for (size_t i = 0; s == TOOL_DONE && i < r->element[1]->elements; i++) {
        const redisReply *row = r->element[1]->element[i];
        if (!wire_is_array(row, 4) || !export_stamp_of(row->element[2], &at)) {
            s = tool_strange("KV.CHANGES");
        } else if (strcmp(at.text, until->text) > 0) {
            break;
        } else {
            s = export_change(x, row, &at, until);
        }
    }
    /* A page may go further; what is beyond comes with the next call. */
    if (s == TOOL_DONE && strcmp(from->text, until->text) > 0) *from = *until;
    freeReplyObject(r);
    return s;
}

static enum tool_status export_changes(struct exporter *x, struct export_stamp *from,
                                       const struct export_stamp *until)
{
    enum tool_status s = TOOL_DONE;
    while (s == TOOL_DONE && strcmp(from->text, until->text) < 0) {
        s = export_some_changes(x, from, until);
    }
    return s;
}

/* ---- databases ------------------------------------------------------------------------------- */

/* One that the export has. */
struct export_database {
    char *name;               /* owned */
    struct export_stamp from; /* the changes after this are still to come */
};

struct export_databases {
    struct export_database *items; /* owned */
    size_t count;
};

static enum tool_status export_select(struct exporter *x, const char *name)
{
    redisReply *r = NULL;
    struct record_out o;
    enum tool_status s = tool_ask(x->w, TOOL_WORDS_OF("SELECT", name), &r);
    if (s != TOOL_DONE) return s;
    freeReplyObject(r);
    record_begin(&o, &x->out.pending, x->is_pack);
    record_text(&o, "database", slice_str(name));
    record_end(&o);
    return export_wrote(x);
}

static enum tool_status export_list_databases(struct exporter *x, struct export_databases *all)
{
    redisReply *r = NULL;
    enum tool_status s = tool_ask(x->w, TOOL_WORDS_OF("KV.DB", "LIST"), &r);
    if (s != TOOL_DONE) return s;
    if (!wire_is(r, REDIS_REPLY_ARRAY)) s = tool_strange("KV.DB LIST");
    if (s == TOOL_DONE) all->items = mem_new((r->elements + 1) * sizeof *all->items);
    for (size_t i = 0; s == TOOL_DONE && i < r->elements; i++) {
        const redisReply *row = r->element[i];
        bool is_used = false;
        if (!wire_is_array(row, 2) || !wire_is(row->element[1], REDIS_REPLY_STRING)) {
            s = tool_strange("KV.DB LIST");
            break;
        }
        s = export_is_used(x, row->element[1]->str, &is_used);
        if (!is_used) continue;
        char *name = mem_new(row->element[1]->len + 1);
        memcpy(name, row->element[1]->str, row->element[1]->len);
        all->items[all->count++].name = name;
    }
    freeReplyObject(r);
    return s;
}

/* Everything of the selected database but what changes meanwhile. */
static enum tool_status export_database(struct exporter *x, struct export_database *d, bool is_all)
{
    struct export_stamp now;
    enum tool_status s = export_version(x, &d->from);
    if (s == TOOL_DONE) s = export_entries(x);
    /* Not at the end only: the history may not last for all of a long export. */
    if (s == TOOL_DONE) s = export_version(x, &now);
    if (s == TOOL_DONE) s = export_changes(x, &d->from, &now);
    if (s == TOOL_DONE && is_all) s = export_rest(x);
    if (s == TOOL_DONE && is_all && d->name != NULL) s = export_limits(x, d->name);
    x->databases++;
    return s;
}

/* The changes that are still to come of all, up to one version. */
static enum tool_status export_last_changes(struct exporter *x, struct export_databases *all,
                                            struct export_stamp *version)
{
    x->ahead = x->torn = 0;
    enum tool_status s = export_version(x, version);
    for (size_t i = 0; i < all->count && s == TOOL_DONE; i++) {
        x->database = (unsigned)i;
        if (all->items[i].name != NULL) s = export_select(x, all->items[i].name);
        if (s == TOOL_DONE) s = export_changes(x, &all->items[i].from, version);
    }
    return s;
}

/* Until no collection was read newer than that version, or while it was changed. */
static enum tool_status export_rounds(struct exporter *x, struct export_databases *all,
                                      struct export_stamp *version)
{
    enum tool_status s = TOOL_DONE;
    for (int i = 0; s == TOOL_DONE && i < EXPORT_ROUNDS; i++) {
        s = export_last_changes(x, all, version);
        if (s != TOOL_DONE || x->ahead + x->torn == 0) return s;
    }
    if (s == TOOL_DONE && x->ahead > 0) {
        tool_warn(x->t,
                  "%llu collections (hashes, lists, sets) are written to continuously; their "
                  "state in the export is newer than the rest",
                  (unsigned long long)x->ahead);
    }
    if (s == TOOL_DONE && x->torn > 0) {
        tool_warn(x->t,
                  "%llu collections (hashes, lists, sets) changed each time they were read; they "
                  "are missing in the export, or older than the rest",
                  (unsigned long long)x->torn);
    }
    return s;
}

static enum tool_status export_databases(struct exporter *x, struct export_databases *all,
                                         struct export_stamp *version)
{
    enum tool_status s = export_libraries(x);
    if (s == TOOL_DONE) s = export_list_databases(x, all);
    for (size_t i = 0; i < all->count && s == TOOL_DONE; i++) {
        x->database = (unsigned)i;
        s = export_select(x, all->items[i].name);
        if (s == TOOL_DONE) s = export_database(x, &all->items[i], true);
    }
    return s == TOOL_DONE ? export_rounds(x, all, version) : s;
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool export_is_whole_server(const struct exporter *x)
{
    return tool_has(x->t, "--all") && x->t->server.database == NULL;
}

static enum tool_status export_head(struct exporter *x)
{
    struct record_out o;
    struct export_stamp version;
    char time[CLOCK_UTC_BYTES];
    const char *database = x->t->server.database;
    enum tool_status s = export_version(x, &version);
    if (s != TOOL_DONE) return s;
    clock_format_utc(clock_wall_ms(), time);
    record_begin(&o, &x->out.pending, x->is_pack);
    record_text(&o, "format", slice_str(RECORDS_FORMAT));
    if (export_is_whole_server(x)) {
        record_true(&o, "all");
    } else {
        record_text(&o, "of", slice_str(database != NULL ? database : "0"));
    }
    record_text(&o, "version", slice_str(version.text));
    record_text(&o, "time", slice_str(time));
    record_text(&o, "program", slice_str("tupledctl " TUPLED_VERSION));
    if (x->prefix != NULL) record_text(&o, "prefix", slice_str(x->prefix));
    record_end(&o);
    return export_wrote(x);
}

static enum tool_status export_tail(struct exporter *x, const struct export_stamp *version)
{
    struct record_out o;
    char digest[EXPORT_DIGEST_CHARS + 1];
    enum tool_status s = export_out_digest(&x->out, digest);
    if (s != TOOL_DONE) return s;
    record_begin(&o, &x->out.pending, x->is_pack);
    record_true(&o, "end");
    record_text(&o, "version", slice_str(version->text));
    record_i64(&o, "records", (int64_t)x->records);
    record_i64(&o, "entries", (int64_t)x->entries);
    record_i64(&o, "deletions", (int64_t)x->deletions);
    record_i64(&o, "collections", (int64_t)x->collections);
    record_i64(&o, "messages", (int64_t)x->messages);
    record_i64(&o, "dead", (int64_t)x->dead);
    record_i64(&o, "indexes", (int64_t)x->indexes);
    record_i64(&o, "databases", (int64_t)x->databases);
    record_i64(&o, "libraries", (int64_t)x->libraries);
    record_text(&o, "digest", slice_str(digest));
    record_end(&o);
    return export_out_finish(&x->out);
}

static enum tool_status export_once(struct exporter *x, struct export_stamp *version)
{
    struct export_databases all = {.items = NULL};
    struct export_database one = {.name = NULL};
    struct export_databases only = {.items = &one, .count = 1};
    x->is_flushed = false;
    x->entries = x->deletions = x->collections = x->messages = x->dead = 0;
    x->indexes = x->databases = x->libraries = x->records = 0;
    enum tool_status s = export_head(x);
    if (s == TOOL_DONE && export_is_whole_server(x)) {
        s = export_databases(x, &all, version);
    } else if (s == TOOL_DONE) {
        s = export_database(x, &one, tool_has(x->t, "--all"));
        *version = one.from;
        if (s == TOOL_DONE) s = export_rounds(x, &only, version);
    }
    if (s == TOOL_DONE) s = export_tail(x, version);
    for (size_t i = 0; i < all.count; i++) mem_free(all.items[i].name);
    mem_free(all.items);
    return s;
}

static enum tool_status export_write(struct exporter *x)
{
    struct export_stamp version;
    bool is_file = x->out.path != NULL;
    enum tool_status s = export_once(x, &version);
    for (int i = 0; s != TOOL_DONE && x->is_flushed && is_file && i < EXPORT_AGAIN_MAX; i++) {
        tool_warn(x->t, "the database was flushed while it was read; the export starts again");
        s = export_out_again(&x->out);
        if (s == TOOL_DONE) s = export_once(x, &version);
    }
    progress_end(&x->progress);
    if (s != TOOL_DONE && x->is_flushed) {
        return tool_fail(TOOL_NO, "the database was flushed while it was read, so the output is "
                                  "not its state; start again. With -o FILE this happens "
                                  "automatically");
    }
    if (s == TOOL_DONE && is_file && !x->t->is_quiet) {
        fprintf(stderr,
                "%llu entries, %llu collections, %llu messages, %llu dead letters; "
                "version %s\n",
                (unsigned long long)x->entries, (unsigned long long)x->collections,
                (unsigned long long)x->messages, (unsigned long long)x->dead, version.text);
    }
    return s;
}

static enum tool_status export_read_options(const struct tool *t, struct exporter *x)
{
    const char *format = tool_text(t, "--format");
    x->t = t;
    x->prefix = tool_text(t, "--prefix");
    x->begun_us = clock_mono_us();
    if (x->prefix != NULL && tool_has(t, "--all")) {
        return tool_fail(TOOL_WORDS, "--prefix exports entries and --all everything; give only "
                                     "one of them");
    }
    if (format == NULL || strcmp(format, "jsonl") == 0) return TOOL_DONE;
    if (strcmp(format, "msgpack") != 0) {
        return tool_fail(TOOL_WORDS, "--format must be jsonl or msgpack, not %s", format);
    }
    x->is_pack = true;
    return TOOL_DONE;
}

enum tool_status export_run(struct tool *t)
{
    struct exporter x = {.t = NULL};
    const char *path = tool_text(t, "--output");
    enum tool_status s = export_read_options(t, &x);
    if (s == TOOL_DONE) s = tool_connect(t, &x.w);
    if (s != TOOL_DONE) return s;
    progress_init(&x.progress, t);
    s = export_out_open(&x.out, path != NULL && strcmp(path, "-") != 0 ? path : NULL);
    if (s == TOOL_DONE) s = export_write(&x);
    if (s == TOOL_DONE && x.torn > 0) s = TOOL_NO; /* that was said */
    export_out_close(&x.out);
    mem_free(x.seen);
    wire_close(x.w);
    return s;
}
