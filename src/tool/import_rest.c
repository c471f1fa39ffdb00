/* import_rest: databases, indexes, limits and libraries of an export, which are no records of
 * KV.LOAD: each is a command of its own, and what comes before it is acknowledged first. And the
 * file of --map.
 */
#include <stdio.h>
#include <string.h>

#include "tool/import_int.h"
#include "tool/wire_map.h"

#define IMPORT_WORDS_MAX 80 /* of KV.INDEX CREATE */

static enum tool_status rest_bad(const struct importer *im, const struct record *r,
                                 const char *what)
{
    return tool_fail(TOOL_NO, "%s, %s %llu: %s", im->input, r->is_pack ? "record" : "line",
                     (unsigned long long)r->number, what);
}

/* One command, with nothing else under way. */
static enum tool_status rest_ask(struct importer *im, const struct record *r, size_t count,
                                 const struct slice *words)
{
    redisReply *reply = NULL;
    enum tool_status s = loader_drain(&im->loader);
    if (s != TOOL_DONE) return s;
    s = wire_call_slices(im->w, count, words, &reply);
    if (s == TOOL_BROKEN) return tool_fail(s, "%s", wire_why(im->w));
    if (s == TOOL_NO) rest_bad(im, r, reply->str);
    if (s == TOOL_DONE) import_placed(im);
    freeReplyObject(reply);
    return s;
}

void import_placed(struct importer *im)
{
    im->source.kind->place(&im->source, im->loader.place);
    im->loader.records++;
}

static enum tool_status rest_is_for_all(const struct importer *im, const char *what)
{
    return tool_fail(TOOL_WORDS,
                     "%s contains %s; import it without --db, and without a database in the URL",
                     im->input, what);
}

/* ---- databases ------------------------------------------------------------------------------- */

enum tool_status import_select(struct importer *im, const char *name)
{
    redisReply *r = NULL;
    enum tool_status s = wire_call(im->w, TOOL_WORDS_OF("SELECT", name), &r);
    if (s == TOOL_NO && name[strspn(name, "0123456789")] == '\0') {
        s = tool_fail(s,
                      "database %s does not exist; the server's setting `databases` limits the "
                      "numbers (%s)",
                      name, r->str);
    } else if (s == TOOL_NO) { /* it is to be made first */
        freeReplyObject(r);
        s = tool_ask(im->w, TOOL_WORDS_OF("KV.DB", "CREATE", name), &r);
        if (s != TOOL_DONE) return s;
        freeReplyObject(r);
        s = tool_ask(im->w, TOOL_WORDS_OF("SELECT", name), &r);
    }
    if (s == TOOL_BROKEN) tool_fail(s, "%s", wire_why(im->w));
    freeReplyObject(r);
    return s;
}

enum tool_status import_database(struct importer *im, const struct record *r)
{
    struct import_state *st = &im->state;
    if (im->t->server.database != NULL) return rest_is_for_all(im, "several databases");
    if (r->name.len >= sizeof st->database)
        return rest_bad(im, r, "the name of a database is missing");
    enum tool_status s = loader_drain(&im->loader);
    if (s != TOOL_DONE) return s;
    char name[IMPORT_DATABASE_BYTES];
    memcpy(name, r->name.data, r->name.len);
    name[r->name.len] = '\0';
    s = import_select(im, name);
    if (s != TOOL_DONE) return s;
    memcpy(st->database, name, sizeof name);
    import_placed(im);
    return s;
}

enum tool_status import_limits(struct importer *im, const struct record *r)
{
    static const struct {
        const char *name, *word;
    } limits[] = {{"max-bytes", "MAXBYTES"},
                  {"max-entries", "MAXENTRIES"},
                  {"rate", "RATE"},
                  {"keep", "KEEP"}};
    const struct fields *f = &r->fields;
    struct slice words[16] = {slice_str("KV.DB"), slice_str("LIMIT")};
    size_t n = 3;
    char digits[4][32];
    struct slice backup = fields_get(f, "backup");
    struct slice comment = fields_get(f, "comment");
    struct arena *a = &im->loader.arena;
    enum tool_status s = loader_drain(&im->loader);
    if (s != TOOL_DONE) return s;
    if (!field_text(f, fields_get(f, "limits"), a, &words[2])) {
        return rest_bad(im, r, "limits must have the name of a database");
    }
    for (size_t i = 0; i < 4; i++) {
        int64_t value = 0;
        struct slice raw = fields_get(f, limits[i].name);
        if (raw.len == 0) continue;
        if (!field_i64(f, raw, &value)) return rest_bad(im, r, "a limit must be a number");
        snprintf(digits[i], sizeof digits[i], "%lld", (long long)value);
        words[n++] = slice_str(limits[i].word);
        words[n++] = slice_str(digits[i]);
    }
    if (backup.len > 0) {
        words[n++] = slice_str("BACKUP");
        if (!field_text(f, backup, a, &words[n++]))
            return rest_bad(im, r, "backup must be a string");
    }
    if (comment.len > 0) {
        words[n++] = slice_str("COMMENT");
        if (!field_text(f, comment, a, &words[n++]))
            return rest_bad(im, r, "comment must be a string");
    }
    return n == 3 ? TOOL_DONE : rest_ask(im, r, n, words);
}

/* ---- indexes --------------------------------------------------------------------------------- */

/* ON n path ..., TEXT n path ...; the number of words, 0: they are wrong. */
static size_t rest_paths(struct importer *im, const struct record *r, bool is_text,
                         struct slice *words, char digits[32])
{
    struct slice *paths = NULL;
    size_t count = 0;
    size_t n = 0;
    const struct fields *f = &r->fields;
    struct arena *a = &im->loader.arena;
    if (!field_list(f, fields_get(f, "paths"), a, &paths, &count)) return 0;
    if (count == 0 || count > IMPORT_WORDS_MAX - 20) return 0;
    snprintf(digits, 32, "%zu", count);
    words[n++] = slice_str(is_text ? "TEXT" : "ON");
    words[n++] = slice_str(digits);
    for (size_t i = 0; i < count; i++) {
        if (!field_text(f, paths[i], a, &words[n++])) return 0;
    }
    return n;
}

enum tool_status import_index(struct importer *im, const struct record *r)
{
    const struct fields *f = &r->fields;
    struct slice words[IMPORT_WORDS_MAX] = {slice_str("KV.INDEX"), slice_str("CREATE")};
    struct slice type = {0};
    char digits[32];
    struct arena *a = &im->loader.arena;
    struct slice tokenize = fields_get(f, "tokenize");
    struct slice hashes = fields_get(f, "hashes");
    enum tool_status s = loader_drain(&im->loader);
    if (s != TOOL_DONE) return s;
    bool is_good = field_text(f, fields_get(f, "index"), a, &words[2]) &&
                   field_text(f, fields_get(f, "type"), a, &type);
    words[3] = slice_str("PREFIX");
    words[4] = fields_get(f, "prefix");
    size_t n = 5;
    if (hashes.len > 0) {
        words[n++] = slice_str("HASHES");
        is_good = is_good && field_text(f, hashes, a, &words[n++]);
    }
    bool is_text = is_good && slice_eq(type, slice_str("text"));
    size_t paths = is_good ? rest_paths(im, r, is_text, words + n, digits) : 0;
    if (paths == 0 || words[4].len == 0)
        return rest_bad(im, r, "the definition of an index is missing");
    n += paths;
    if (field_is_true(f, fields_get(f, "unique"))) words[n++] = slice_str("UNIQUE");
    if (is_text && tokenize.len > 0) {
        words[n++] = slice_str("TOKENIZE");
        if (!field_text(f, tokenize, a, &words[n++]))
            return rest_bad(im, r, "tokenize must be a string");
    }
    words[n++] = slice_str("IF");
    words[n++] = slice_str("NOT");
    words[n++] = slice_str("EXISTS");
    words[n++] = slice_str("FORMAT");
    words[n++] = slice_str(r->is_pack ? "MSGPACK" : "JSON");
    return rest_ask(im, r, n, words);
}

/* ---- libraries of functions ------------------------------------------------------------------ */

/* The code of the library that the server has by this name; NULL: it has none. */
static const redisReply *rest_code_of(const redisReply *list, struct slice name)
{
    for (size_t i = 0; wire_is(list, REDIS_REPLY_ARRAY) && i < list->elements; i++) {
        const redisReply *found = wire_map_find(list->element[i], "library_name");
        const redisReply *code = wire_map_find(list->element[i], "library_code");
        /* What LIST finds may differ in upper and lower case. */
        if (!wire_is(found, REDIS_REPLY_STRING) || !wire_is(code, REDIS_REPLY_STRING)) continue;
        if (slice_eq(wire_slice(found), name)) return code;
    }
    return NULL;
}

static enum tool_status rest_no_functions(const struct importer *im, const struct record *r,
                                          const redisReply *said)
{
    char text[512];
    bool is_old = slice_has_prefix(wire_slice(said), slice_str(TOOL_UNKNOWN_COMMAND));
    snprintf(text, sizeof text, "%s%s",
             is_old ? "the server does not support functions. It replied: " : "", said->str);
    return rest_bad(im, r, text);
}

/* As an index: made when there is none of its name, an error when there is another one. */
enum tool_status import_library(struct importer *im, const struct record *r)
{
    const struct fields *f = &r->fields;
    struct slice name = {0};
    struct slice code = {0};
    struct arena *a = &im->loader.arena;
    redisReply *list = NULL;
    if (im->t->server.database != NULL) return rest_is_for_all(im, "libraries of functions");
    enum tool_status s = loader_drain(&im->loader);
    if (s != TOOL_DONE) return s;
    if (!field_text(f, fields_get(f, "library"), a, &name) ||
        !field_text(f, fields_get(f, "code"), a, &code)) {
        return rest_bad(im, r, "a library must have a name and code, both strings");
    }
    const struct slice ask[] = {slice_str("FUNCTION"), slice_str("LIST"), slice_str("LIBRARYNAME"),
                                name, slice_str("WITHCODE")};
    const struct slice load[] = {slice_str("FUNCTION"), slice_str("LOAD"), code};
    s = wire_call_slices(im->w, sizeof ask / sizeof ask[0], ask, &list);
    if (s == TOOL_BROKEN) return tool_fail(s, "%s", wire_why(im->w));
    if (s == TOOL_NO) rest_no_functions(im, r, list);
    const redisReply *there = s == TOOL_DONE ? rest_code_of(list, name) : NULL;
    bool is_same = there != NULL && slice_eq(wire_slice(there), code);
    freeReplyObject(list);
    if (s != TOOL_DONE) return s;
    if (is_same) import_placed(im);
    return is_same ? TOOL_DONE : rest_ask(im, r, sizeof load / sizeof load[0], load);
}

/* ---- --map ----------------------------------------------------------------------------------- */

enum tool_status import_map_open(struct importer *im)
{
    struct error e;
    const char *path = tool_text(im->t, "--map");
    bool is_new = im->state.map_bytes == 0;
    if (path == NULL) return TOOL_DONE;
    enum err r = file_open(&im->map, path, is_new ? FILE_WRITE_NEW : FILE_WRITE_OLD, &e);
    if (r == OK) r = file_truncate(&im->map, im->state.map_bytes, &e);
    return r == OK ? TOOL_DONE : tool_fail(TOOL_NO, "%s", e.text);
}

enum tool_status import_map_write(struct importer *im)
{
    struct error e;
    struct buf *b = &im->loader.map_done;
    if (im->map.fd < 0) return TOOL_DONE;
    enum err r = file_write_at(&im->map, im->state.map_bytes, buf_slice(b), &e);
    if (r == OK) r = file_sync(&im->map, &e);
    im->state.map_bytes += b->len;
    buf_clear(b, 1 << 20);
    return r == OK ? TOOL_DONE : tool_fail(TOOL_NO, "%s", e.text);
}
