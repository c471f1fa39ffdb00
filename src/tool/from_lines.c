/* from_lines: records from an export of tupledctl, in either of its formats, and JSON lines of
 * other programs: {"key":[..],"value":..} with "expires" (Unix time in ms) or "ttl" (ms from now).
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tool/export_out.h"
#include "tool/input.h"

#define LINES_TAIL 4096

struct lines {
    struct input in;
    uint64_t number; /* of the record given last */
    bool is_pack, is_export, has_end;
    uint64_t records;   /* of an export, without its end */
    struct arena arena; /* of the record */
};

static enum tool_status lines_bad(const struct lines *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum tool_status lines_bad(const struct lines *l, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return tool_fail(TOOL_NO, "%s, %s %llu: %s", l->in.path, l->is_pack ? "record" : "line",
                     (unsigned long long)l->number, text);
}

static enum tool_status lines_incomplete(const struct lines *l)
{
    return tool_fail(TOOL_NO,
                     "%s is incomplete: its last line is missing, so the export was not finished",
                     l->in.path);
}

/* Of a file it can be seen at once whether it ends as it should. */
static bool lines_has_tail(struct lines *l)
{
    uint8_t tail[LINES_TAIL];
    const char *mark = l->is_pack ? "\xa3"
                                    "end\xc3"
                                  : "{\"end\":true,";
    size_t len = input_tail(&l->in, tail, sizeof tail);
    size_t mark_len = strlen(mark);
    for (size_t i = 0; i + mark_len <= len; i++) {
        if (memcmp(tail + i, mark, mark_len) == 0) return true;
    }
    return !l->in.is_file;
}

static bool lines_is_export(const struct lines *l)
{
    struct fields f;
    struct error e;
    size_t used = 0;
    struct slice rest = input_rest(&l->in);
    if (l->is_pack) return fields_read_pack(rest, &f, &used, &e) == OK && used > 0;
    return slice_has_prefix(rest, slice_str("{\"format\":\"tupled-export"));
}

static enum tool_status lines_open(struct source *s, const char *from)
{
    struct lines *l = mem_new(sizeof *l);
    s->state = l;
    arena_init(&l->arena, 4096);
    enum tool_status status = input_open(&l->in, from);
    if (status != TOOL_DONE) return status;
    struct slice rest = input_rest(&l->in);
    l->is_pack = rest.len > 0 && rest.data[0] >= 0x80;
    l->is_export = lines_is_export(l);
    if (l->is_pack && !l->is_export) {
        return tool_fail(TOOL_NO, "%s is neither JSON lines nor a MessagePack export", from);
    }
    return l->is_export && !lines_has_tail(l) ? lines_incomplete(l) : TOOL_DONE;
}

static void lines_close(struct source *s)
{
    struct lines *l = s->state;
    if (l == NULL) return;
    input_close(&l->in);
    arena_fini(&l->arena);
    mem_free(l);
}

/* ---- what a record is ------------------------------------------------------------------------ */

static const char *const lines_names[] = {
    "key",         "value",       "versionstamp", "expires",     "ttl",        "deleted",
    "format",      "of",          "all",          "version",     "time",       "program",
    "prefix",      "database",    "limits",       "backup",      "keep",       "max-bytes",
    "max-entries", "rate",        "comment",      "index",       "type",       "paths",
    "unique",      "tokenize",    "queue",        "id",          "due",        "failed",
    "error",       "attempts",    "backoff",      "undelivered", "end",        "records",
    "entries",     "dead",        "messages",     "deletions",   "indexes",    "digest",
    "databases",   "library",     "code",         "libraries",   "collection", "more",
    "elements",    "collections", "hashes",       NULL};

static bool lines_is_name(struct slice name)
{
    size_t i = 0;
    while (lines_names[i] != NULL && !slice_eq(name, slice_str(lines_names[i]))) i++;
    return lines_names[i] != NULL;
}

/* When the entry ends: `expires`, or `ttl` from now on. */
static enum tool_status lines_expiry(struct lines *l, struct record *out)
{
    struct slice expires = fields_get(&out->fields, "expires");
    struct slice ttl = fields_get(&out->fields, "ttl");
    int64_t ms = 0;
    out->expires_ms = 0;
    if (expires.len > 0 && slice_eq(expires, slice_str("null"))) expires.len = 0;
    if (ttl.len > 0 && slice_eq(ttl, slice_str("null"))) ttl.len = 0;
    if (expires.len > 0 && ttl.len > 0) return lines_bad(l, "expires and ttl exclude each other");
    if (expires.len == 0 && ttl.len == 0) return TOOL_DONE;
    bool is_ttl = ttl.len > 0;
    if (!field_i64(&out->fields, is_ttl ? ttl : expires, &ms) || ms <= 0 || ms >= 1LL << 52) {
        return lines_bad(l, "%s must be a positive number of milliseconds",
                         is_ttl ? "ttl" : "expires");
    }
    out->expires_ms = is_ttl ? clock_wall_ms() + ms : ms;
    return TOOL_DONE;
}

static enum tool_status lines_entry(struct lines *l, struct record *out)
{
    const struct fields *f = &out->fields;
    struct slice stamp = fields_get(f, "versionstamp");
    out->key = fields_get(f, "key");
    out->value = fields_get(f, "value");
    out->stamp = slice_of(NULL, 0);
    bool is_deleted = field_is_true(f, fields_get(f, "deleted"));
    bool is_collection = fields_get(f, "collection").len > 0;
    out->kind = is_collection ? RECORD_COLLECTION : is_deleted ? RECORD_DELETED : RECORD_ENTRY;
    if (is_deleted + is_collection + (out->value.len > 0) != 1) {
        return lines_bad(l, "an entry must have a key and a value");
    }
    if (stamp.len > 0 && !field_text(f, stamp, &l->arena, &out->stamp)) {
        return lines_bad(l, "versionstamp must be a string");
    }
    return lines_expiry(l, out);
}

/* The end of an export: is what came before all, and as it was written? */
static enum tool_status lines_end(struct lines *l, const struct record *out)
{
    char digest[EXPORT_DIGEST_CHARS + 1];
    struct slice said = {0};
    int64_t records = 0;
    const struct fields *f = &out->fields;
    export_digest_text(l->in.digest, digest);
    bool is_good = field_text(f, fields_get(f, "digest"), &l->arena, &said) &&
                   slice_eq(said, slice_str(digest)) &&
                   field_i64(f, fields_get(f, "records"), &records) &&
                   records == (int64_t)l->records;
    if (is_good) return TOOL_DONE;
    return lines_bad(l,
                     "the file has changed since it was written: %llu records before the end, "
                     "digest %s; its last line differs",
                     (unsigned long long)l->records, digest);
}

static enum tool_status lines_head(struct lines *l, const struct record *out)
{
    struct slice format = {0};
    const struct fields *f = &out->fields;
    bool is_text = field_text(f, fields_get(f, "format"), &l->arena, &format);
    if (l->number == 1 && is_text && slice_eq(format, slice_str(RECORDS_FORMAT))) return TOOL_DONE;
    return lines_bad(l, "this tupledctl cannot read this format (\"%s\", in the first line)",
                     RECORDS_FORMAT);
}

static enum tool_status lines_kind(struct lines *l, struct record *out)
{
    static const struct {
        const char *name;
        enum record_kind kind;
    } kinds[] = {{"key", RECORD_ENTRY},     {"queue", RECORD_MESSAGE},
                 {"index", RECORD_INDEX},   {"database", RECORD_DATABASE},
                 {"limits", RECORD_LIMITS}, {"library", RECORD_LIBRARY},
                 {"format", RECORD_HEAD},   {"end", RECORD_END}};
    const struct fields *f = &out->fields;
    for (size_t i = 0; i < f->count; i++) {
        if (lines_is_name(f->items[i].name)) continue;
        return lines_bad(l, "a record cannot have a member \"%.*s\"",
                         (int)(f->items[i].name.len < 64 ? f->items[i].name.len : 64),
                         (const char *)f->items[i].name.data);
    }
    out->kind = RECORD_NONE;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && out->kind == RECORD_NONE; i++) {
        if (fields_get(f, kinds[i].name).data != NULL) out->kind = kinds[i].kind;
    }
    switch (out->kind) {
    case RECORD_NONE: return lines_bad(l, "a record must have a \"key\" and a \"value\"");
    case RECORD_ENTRY: return lines_entry(l, out);
    case RECORD_HEAD: return lines_head(l, out);
    case RECORD_END: return lines_end(l, out);
    case RECORD_DATABASE:
        if (field_text(f, fields_get(f, "database"), &l->arena, &out->name)) return TOOL_DONE;
        return lines_bad(l, "the name of a database must be a string");
    default: return TOOL_DONE;
    }
}

/* ---- one after the other --------------------------------------------------------------------- */

static enum tool_status lines_read_pack(struct lines *l, struct fields *f, size_t *taken)
{
    for (;;) {
        struct error e;
        struct slice rest = input_rest(&l->in);
        *taken = 0;
        if (rest.len > 0 && fields_read_pack(rest, f, taken, &e) != OK) {
            return lines_bad(l, "%s", e.text);
        }
        if (*taken > 0 || (l->in.is_end && rest.len == 0)) return TOOL_DONE;
        if (l->in.is_end) return lines_incomplete(l);
        enum tool_status s = input_more(&l->in);
        if (s != TOOL_DONE) return s;
    }
}

static bool lines_is_blank(struct slice line)
{
    size_t i = 0;
    while (i < line.len && (line.data[i] == ' ' || line.data[i] == '\r' || line.data[i] == '\t'))
        i++;
    return i == line.len;
}

static enum tool_status lines_read_json(struct lines *l, struct fields *f, size_t *taken)
{
    struct error e;
    struct slice line;
    enum tool_status s = input_line(&l->in, &line, taken);
    while (s == TOOL_DONE && *taken > 0 && lines_is_blank(line)) {
        input_take(&l->in, *taken);
        l->number++;
        s = input_line(&l->in, &line, taken);
    }
    if (s != TOOL_DONE || *taken == 0) return s;
    return fields_read_json(line, f, &e) == OK ? s : lines_bad(l, "%s", e.text);
}

static enum tool_status lines_next(struct source *s, struct record *out)
{
    struct lines *l = s->state;
    size_t taken = 0;
    arena_reset(&l->arena);
    *out = (struct record){.kind = RECORD_NONE, .is_pack = l->is_pack};
    l->number++;
    enum tool_status r = l->is_pack ? lines_read_pack(l, &out->fields, &taken)
                                    : lines_read_json(l, &out->fields, &taken);
    if (r != TOOL_DONE) return r;
    if (taken == 0) return l->is_export && !l->has_end ? lines_incomplete(l) : TOOL_DONE;
    if (l->has_end) return lines_bad(l, "data after the end");
    out->number = l->number;
    r = lines_kind(l, out);
    l->has_end = out->kind == RECORD_END;
    l->records++;
    input_take(&l->in, taken);
    return r;
}

static void lines_place(const struct source *s, char out[SOURCE_PLACE_BYTES])
{
    const struct lines *l = s->state;
    snprintf(out, SOURCE_PLACE_BYTES, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, l->in.offset, l->number,
             l->records);
}

static enum tool_status lines_seek(struct source *s, const char *place)
{
    struct lines *l = s->state;
    uint64_t offset = 0;
    /* NOLINTNEXTLINE(cert-err34-c): the text is of lines_place */
    if (sscanf(place, "%" SCNu64 ",%" SCNu64 ",%" SCNu64, &offset, &l->number, &l->records) != 3) {
        return tool_fail(TOOL_NO, "invalid position \"%s\"", place);
    }
    return input_pass(&l->in, offset);
}

static void lines_identity(const struct source *s, char out[SOURCE_PLACE_BYTES])
{
    input_identity(&((const struct lines *)s->state)->in, out);
}

static void lines_share(const struct source *s, uint64_t *done, uint64_t *all)
{
    const struct lines *l = s->state;
    *done = l->in.offset;
    *all = l->in.size;
}

const struct source_kind source_lines = {
    .name = "export",
    .what = "an export of tupledctl, or JSON lines",
    .open = lines_open,
    .next = lines_next,
    .place = lines_place,
    .seek = lines_seek,
    .identity = lines_identity,
    .share = lines_share,
    .close = lines_close,
};
