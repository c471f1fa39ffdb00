/* import: `tupledctl import`: records of a source (source.h) into the server, by KV.LOAD (load.h).
 * How far it is stands in a file (import_state.h), so that the same call goes on after it was
 * killed, or the server was. The batch that was under way then is loaded again, which does no harm.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "codec/key.h"
#include "codec/value.h"
#include "tool/collection_words.h"
#include "tool/commands.h"
#include "tool/import_int.h"
#include "tool/output.h"

#define IMPORT_SAVE_US 250000

const struct tool_option import_options[] = {
    {"--dry-run", 0, NULL, "check the input without loading it; needs no server"},
    {"--follow", 0, NULL, "redis: then load changes until Ctrl-C or SIGTERM"},
    {"--from", 0, "KIND",
     "type of the input: export (default; also JSON lines), keyval, deno, connect, redis"},
    {"--map", 0, "FILE", "write the old and new versionstamp of each entry to this file"},
    {"--prefix", 0, "KEY", "only the entries below this key"},
    {"--replace", 0, NULL, "redis, --follow: existing data of the target may be deleted"},
    {"--restart", 0, NULL, "start from the beginning, even if an earlier import was interrupted"},
    {"--retry", 0, "SECONDS", "connect: seconds to retry when the service fails (default: 60)"},
    {"--set-events", 0, NULL, "redis, --follow: enable notifications on the source until the end"},
    {"--source-cacert", 0, "FILE", "connect, redis: CA certificates for the source"},
    {"--source-cert", 0, "FILE", "redis: client certificate for the source"},
    {"--source-insecure", 0, NULL, "redis: accept any certificate of the source"},
    {"--source-key", 0, "FILE", "redis: private key of --source-cert"},
    {"--source-password-file", 0, "FILE",
     "redis: file with the source's password (default: its URL or TUPLEDCTL_SOURCE_PASSWORD)"},
    {"--source-tls-name", 0, "NAME", "redis: name in the source's certificate"},
    {"--state", 0, "FILE", "file for the progress (default: FILE.progress)"},
    {"--token-file", 0, "FILE",
     "connect: file with the access token (default: DENO_KV_ACCESS_TOKEN)"},
    {"--verify", 0, "N", "redis: number of keys to compare at the end (default: 1000; 0 = none)"},
    {.name = NULL},
};

static const struct source_kind *const import_kinds[] = {
    &source_lines, &source_keyval, &source_deno, &source_connect, &source_redis, NULL};

/* URLs that tell what the input is. */
static const char *const import_redis_urls[] = {"redis://", "rediss://", "unix://", NULL};

/* ---- progress -------------------------------------------------------------------------------- */

static void import_show(struct importer *im)
{
    uint64_t done = 0;
    uint64_t all = 0;
    if (!progress_is_due(&im->progress)) return;
    if (im->source.kind->progress != NULL) {
        char line[256];
        im->source.kind->progress(&im->source, line, sizeof line);
        progress_show(&im->progress, "%s", line);
        return;
    }
    im->source.kind->share(&im->source, &done, &all);
    double s = (double)(clock_mono_us() - im->begun_us) / 1e6;
    char share[32] = "";
    if (all > 0) snprintf(share, sizeof share, ", %.1f%%", 100.0 * (double)done / (double)all);
    progress_show(&im->progress, "%llu records, %.1f MB, %.0f records/s%s",
                  (unsigned long long)im->read, (double)done / 1e6,
                  s > 0 ? (double)im->read / s : 0, share);
}

/* What was acknowledged so far: the map first, for the state says how long that is. */
static enum tool_status import_save(struct importer *im, bool is_now)
{
    struct loader *l = &im->loader;
    bool is_due = is_now || clock_mono_us() - im->state.saved_us > IMPORT_SAVE_US;
    if (l->records == im->saved_records || !is_due) return TOOL_DONE;
    enum tool_status s = import_map_write(im);
    if (s != TOOL_DONE) return s;
    im->state.records += l->records - im->saved_records;
    im->saved_records = l->records;
    memcpy(im->state.place, l->place, sizeof im->state.place);
    return import_state_save(&im->state);
}

/* ---- checking without a server --------------------------------------------------------------- */

static enum tool_status import_bad(const struct importer *im, const struct record *r,
                                   const char *what)
{
    return tool_fail(TOOL_NO, "%s, %s %llu: %s", im->input, r->is_pack ? "record" : "line",
                     (unsigned long long)r->number, what);
}

static bool import_has_key(const struct record *r)
{
    return r->kind == RECORD_ENTRY || r->kind == RECORD_DELETED || r->kind == RECORD_COLLECTION;
}

static enum tool_status import_check_elements(struct importer *im, const struct record *r)
{
    struct collection_words words = {0};
    arena_reset(&im->arena);
    const char *wrong = collection_words_make(r, &im->arena, &words);
    return wrong == NULL ? TOOL_DONE : import_bad(im, r, wrong);
}

static enum tool_status import_check(struct importer *im, const struct record *r)
{
    struct error e = {.text = ""};
    struct slice value = r->value;
    if (r->kind == RECORD_MESSAGE) {
        value = fields_get(&r->fields, "value");
    } else if (!import_has_key(r)) {
        return TOOL_DONE;
    } else {
        buf_clear(&im->scratch, 1 << 20);
        if (key_from_bare_arg(r->key, false, NULL, &im->scratch, &e) != OK) {
            return import_bad(im, r, e.text);
        }
    }
    if (r->kind == RECORD_DELETED) return TOOL_DONE;
    if (r->kind == RECORD_COLLECTION) return import_check_elements(im, r);
    buf_clear(&im->scratch, 1 << 20);
    enum err bad = r->is_pack ? value_check(value, &e)
                              : value_from_json(value, NULL, &im->scratch, &e);
    return bad == OK ? TOOL_DONE : import_bad(im, r, e.text);
}

/* ---- records --------------------------------------------------------------------------------- */

/* With --prefix: does the entry lie below it? */
static bool import_is_wanted(struct importer *im, const struct record *r)
{
    struct error e;
    if (im->prefix.len == 0) return true;
    if (!import_has_key(r)) return r->kind == RECORD_END || r->kind == RECORD_DATABASE;
    buf_clear(&im->scratch, 1 << 20);
    /* What is no key is for the server to refuse. */
    return key_from_bare_arg(r->key, false, NULL, &im->scratch, &e) != OK ||
           key_is_below(buf_slice(&im->scratch), buf_slice(&im->prefix));
}

static enum tool_status import_record(struct importer *im, const struct record *r)
{
    switch (r->kind) {
    case RECORD_NONE:
    case RECORD_HEAD:
    case RECORD_END: break;
    case RECORD_ENTRY:
    case RECORD_DELETED:
    case RECORD_COLLECTION:
    case RECORD_MESSAGE: return loader_add(&im->loader, r);
    case RECORD_DATABASE: return import_database(im, r);
    case RECORD_INDEX: return import_index(im, r);
    case RECORD_LIMITS: return import_limits(im, r);
    case RECORD_LIBRARY: return import_library(im, r);
    case RECORD_RENAME: return import_live_rename(im, r);
    case RECORD_SWEEP: return import_live_sweep(im);
    case RECORD_PAUSE: return import_live_pause(im);
    }
    return TOOL_DONE;
}

static void import_count(struct importer *im, const struct record *r)
{
    if (r->kind != RECORD_PAUSE) im->read++;
    im->entries += r->kind == RECORD_ENTRY;
    im->messages += r->kind == RECORD_MESSAGE;
    im->collections += r->kind == RECORD_COLLECTION && fields_get(&r->fields, "more").len == 0;
    import_show(im);
}

static enum tool_status import_all(struct importer *im)
{
    struct record r = {.kind = RECORD_NONE};
    enum tool_status s = TOOL_DONE;
    bool is_of_source = false;
    do {
        s = im->source.kind->next(&im->source, &r);
        is_of_source = s != TOOL_DONE;
        if (s != TOOL_DONE || r.kind == RECORD_NONE) break;
        if (!import_is_wanted(im, &r)) continue;
        import_count(im, &r);
        if (im->is_dry) {
            s = import_check(im, &r);
            continue;
        }
        s = import_record(im, &r);
        if (s == TOOL_DONE) s = import_save(im, false);
    } while (s == TOOL_DONE);
    if (im->is_dry) return s;
    /* What is under way is acknowledged or refused, also when something else went wrong. */
    bool is_lost = s == TOOL_BROKEN && !is_of_source;
    enum tool_status last = is_lost ? s : loader_drain(&im->loader);
    if (s == TOOL_DONE) s = last;
    last = import_save(im, true);
    return s == TOOL_DONE ? last : s;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* Options that mean something for a live source only. */
static enum tool_status import_no_options_of(const struct importer *im)
{
    static const char *const of_redis[] = {"--follow", "--replace", "--set-events", "--verify"};
    if (im->source.kind->is_live) return TOOL_DONE;
    for (size_t i = 0; i < sizeof of_redis / sizeof of_redis[0]; i++) {
        if (!tool_has(im->t, of_redis[i])) continue;
        return tool_fail(TOOL_WORDS, "%s is for a live Redis server: redis://host:port",
                         of_redis[i]);
    }
    return TOOL_DONE;
}

static enum tool_status import_kind(struct importer *im)
{
    const char *from = tool_text(im->t, "--from");
    struct buf names;
    im->source.kind = import_kinds[0];
    for (size_t i = 0; from == NULL && import_redis_urls[i] != NULL; i++) {
        bool is_it = slice_has_prefix(slice_str(im->input), slice_str(import_redis_urls[i]));
        if (is_it) im->source.kind = &source_redis;
    }
    if (from == NULL) return import_no_options_of(im);
    buf_init(&names);
    for (size_t i = 0; import_kinds[i] != NULL; i++) {
        im->source.kind = import_kinds[i];
        if (strcmp(import_kinds[i]->name, from) == 0) break;
        buf_printf(&names, " %s", import_kinds[i]->name);
        im->source.kind = NULL;
    }
    buf_append_byte(&names, '\0');
    buf_require(&names);
    enum tool_status s = TOOL_DONE;
    if (im->source.kind == NULL) {
        s = tool_fail(TOOL_WORDS, "unknown value %s of --from; the values are%s", from,
                      (const char *)names.data);
    }
    buf_fini(&names);
    return im->source.kind != NULL ? import_no_options_of(im) : s;
}

static enum tool_status import_read_options(struct importer *im)
{
    const struct tool *t = im->t;
    struct error e;
    const char *prefix = tool_text(t, "--prefix");
    im->input = t->words[0];
    im->is_dry = tool_has(t, "--dry-run");
    im->state.path = tool_text(t, "--state");
    enum tool_status s = import_kind(im);
    if (s != TOOL_DONE || im->source.kind == NULL) return s;
    bool has_place = strcmp(im->input, "-") != 0 && !im->source.kind->is_service;
    if (im->state.path == NULL && has_place) {
        buf_printf(&im->state_path, "%s.progress", im->input);
        buf_append_byte(&im->state_path, '\0');
        buf_require(&im->state_path);
        im->state.path = (const char *)im->state_path.data;
    }
    if (prefix != NULL &&
        key_from_bare_arg(slice_str(prefix), false, NULL, &im->prefix, &e) != OK) {
        return tool_fail(TOOL_WORDS, "--prefix: %s", e.text);
    }
    im->source.prefix = buf_slice(&im->prefix);
    return TOOL_DONE;
}

/* Where an earlier call was, or the beginning. */
static enum tool_status import_go_on(struct importer *im)
{
    struct import_state *st = &im->state;
    bool found = false;
    char place[WIRE_WHY_BYTES];
    const char *database = im->t->server.database;
    wire_place(&im->t->server, place);
    snprintf(st->target, sizeof st->target, "%s/%s", place, database != NULL ? database : "0");
    snprintf(st->database, sizeof st->database, "-");
    im->source.kind->identity(&im->source, st->input);
    if (tool_has(im->t, "--restart")) import_state_remove(st);
    enum tool_status s = import_state_read(st, &found);
    if (s == TOOL_DONE) s = import_map_open(im);
    if (s == TOOL_DONE && im->source.kind->is_live) s = import_live_begin(im, found);
    if (s != TOOL_DONE || !found) return s;
    s = im->source.kind->seek(&im->source, st->place);
    if (s == TOOL_DONE && strcmp(st->database, "-") != 0) s = import_select(im, st->database);
    if (s == TOOL_DONE && !im->t->is_quiet) {
        fprintf(stderr, "continuing after %llu records\n", (unsigned long long)st->records);
    }
    return s;
}

static void import_end(struct importer *im)
{
    if (im->t->is_quiet) return;
    fprintf(stderr, "%llu entries", (unsigned long long)im->entries);
    if (im->collections > 0) {
        fprintf(stderr, ", %llu collections", (unsigned long long)im->collections);
    }
    fprintf(stderr, " and %llu messages %s", (unsigned long long)im->messages,
            im->is_dry ? "are valid" : "loaded");
    if (im->loader.left > 0) {
        fprintf(stderr, ", %llu records without effect", (unsigned long long)im->loader.left);
    }
    fprintf(stderr, "\n");
}

static enum tool_status import_do(struct importer *im)
{
    enum tool_status s = TOOL_DONE;
    if (!im->is_dry) s = tool_connect(im->t, &im->w);
    if (s != TOOL_DONE) return s;
    /* The URL may have a password. */
    if (im->source.kind->is_live) im->input = import_live_name(im);
    loader_init(&im->loader, im->w, &im->source, im->input);
    im->loader.is_mapping = tool_text(im->t, "--map") != NULL;
    progress_init(&im->progress, im->t);
    if (im->is_dry) im->state.path = NULL;
    if (!im->is_dry) s = import_go_on(im);
    im->begun_us = clock_mono_us();
    if (s == TOOL_DONE) s = import_all(im);
    progress_end(&im->progress);
    if (s == TOOL_DONE) {
        import_state_remove(&im->state);
        import_end(im);
        if (im->source.kind->is_live) s = import_live_end(im);
    }
    loader_fini(&im->loader);
    return s;
}

enum tool_status import_run(struct tool *t)
{
    struct importer im = {.t = t, .source = {.t = t}, .map = {.fd = -1}};
    buf_init(&im.scratch);
    arena_init(&im.arena, 4096);
    buf_init(&im.prefix);
    buf_init(&im.state_path);
    enum tool_status s = import_read_options(&im);
    if (s == TOOL_DONE && im.source.kind != NULL) s = im.source.kind->open(&im.source, im.input);
    if (s == TOOL_DONE && im.source.kind != NULL) s = import_do(&im);
    if (im.source.kind != NULL) im.source.kind->close(&im.source);
    file_close(&im.map);
    buf_fini(&im.scratch);
    arena_fini(&im.arena);
    buf_fini(&im.prefix);
    buf_fini(&im.state_path);
    wire_close(im.w);
    return s;
}
