/* json_read: JSON.GET, JSON.MGET, JSON.TYPE and the lengths: what is asked of a value. */
#include "codec/json_lex.h"
#include "codec/value.h"
#include "command/json/json_int.h"
#include "request/keys.h"
#include "request/shapes.h"
#include "request/table.h"
#include "request/view.h"

SHARED_ARGUMENTS(json_at_arguments, struct json_at, "key [path]",
                 ARG_KEY(struct json_at, key, "key", 0), ARG_WORD(struct json_at, path, "path"));

struct slice json_path_word(struct slice path)
{
    return path.data != NULL ? path : slice_str(".");
}

enum err json_read(struct request *rq, struct slice key, struct buf *text, bool *exists)
{
    struct slice bytes;
    struct entry entry;
    enum err r = request_read(rq, key, &entry);
    if (r != OK) return r;
    *exists = entry.exists;
    if (!entry.exists) return OK;
    if (value_bytes_of(entry.value, &bytes)) return string_wrong_type(&rq->error);
    r = request_take_steps(rq, (uint64_t)entry.value.len * JSON_BYTE_STEPS);
    if (r != OK) return r;
    buf_clear(text, SIZE_MAX);
    if (view_is_tuples(rq->client)) {
        value_to_json(entry.value, text);
    } else {
        value_to_bare_json(entry.value, text);
    }
    return text->is_failed ? error_set(&rq->error, ERR_NOMEM, "out of memory for a value") : OK;
}

static int shown(const struct json_path *path)
{
    return (int)(path->text.len < 64 ? path->text.len : 64);
}

enum err json_absent(struct request *rq, const struct json_path *path)
{
    return error_set(&rq->error, ERR_SYNTAX, "Path '%.*s' does not exist", shown(path),
                     (const char *)path->text.data);
}

enum err json_wrong_kind(struct request *rq, struct slice text, const struct json_place *place,
                         const char *expected)
{
    struct slice found = json_type_name(text, place->from);
    return error_set(&rq->error, ERR_TYPE, "wrong type of path value - expected %s but found %.*s",
                     expected, (int)found.len, (const char *)found.data);
}

/* ---- JSON.GET ---- */

/* How text is laid out; all empty: as it stands. */
struct layout {
    struct slice indent, newline, space;
    bool has_tags; /* bigints are shown as tags */
};

static void write_line(const struct layout *l, size_t depth, struct buf *out)
{
    buf_append(out, l->newline.data, l->newline.len);
    for (size_t i = 0; i < depth && l->indent.len > 0; i++) {
        buf_append(out, l->indent.data, l->indent.len);
    }
}

/* False: the reply would be too long. */
static bool write_text(const struct layout *l, struct slice text, size_t depth, struct buf *out)
{
    if (l->indent.len + l->newline.len + l->space.len == 0) {
        buf_append(out, text.data, text.len);
        return true;
    }
    bool is_string = false;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool opens = !is_string && (c == '{' || c == '[');
        bool closes = !is_string && (c == '}' || c == ']');
        if (closes && text.data[i - 1] != '{' && text.data[i - 1] != '[') {
            write_line(l, depth - 1, out);
        }
        depth -= closes;
        buf_append_byte(out, c);
        depth += opens;
        if (is_string && c == '\\') buf_append_byte(out, text.data[++i]);
        if (c == '"') is_string = !is_string;
        bool is_empty = opens && (text.data[i + 1] == '}' || text.data[i + 1] == ']');
        if ((opens && !is_empty) || (!is_string && c == ',')) write_line(l, depth, out);
        if (!is_string && c == ':') buf_append(out, l->space.data, l->space.len);
        if (out->len > JSON_WORK_BYTES_MAX) return false;
    }
    return true;
}

/* Of JSONPath: a list of the one value, or of none. */
static bool write_place(const struct layout *l, struct slice text, const struct json_place *place,
                        bool is_list, size_t depth, struct buf *out)
{
    bool is_there = place->exists;
    if (is_list) buf_append_byte(out, '[');
    if (is_list && is_there) write_line(l, depth + 1, out);
    if (is_there) {
        struct buf shown;
        buf_init(&shown);
        if (l->has_tags) {
            buf_append(&shown, text.data + place->from, place->to - place->from);
        } else {
            json_show(text, place->from, place->to, &shown);
        }
        bool fits = write_text(l, buf_slice(&shown), depth + is_list, out);
        out->is_failed = out->is_failed || shown.is_failed;
        buf_fini(&shown);
        if (!fits) return false;
    }
    if (is_list && is_there) write_line(l, depth, out);
    if (is_list) buf_append_byte(out, ']');
    return true;
}

struct get {
    struct layout layout;
    struct json_path *paths;
    size_t count;
    bool is_list; /* one of them is JSONPath: all values are lists */
};

struct get_words {
    struct slice key;
    struct slices words;
};
/* Options and paths in any order. */
ARGUMENTS_WITH(
    get_arguments, struct get_words, "key [word ...]",
    WITH(.shown = "key [INDENT indent] [NEWLINE newline] [SPACE space] [path [path ...]]"),
    ARG_KEY(struct get_words, key, "key", 0), ARG_WORDS(struct get_words, words, "word"));

/* The member that the word is an option for; NULL = it is none. */
static struct slice *layout_option(struct layout *l, struct slice word)
{
    if (slice_is_word(word, "INDENT")) return &l->indent;
    if (slice_is_word(word, "NEWLINE")) return &l->newline;
    return slice_is_word(word, "SPACE") ? &l->space : NULL;
}

static enum err parse_get(struct request *rq, const struct slices *words, struct get *g)
{
    *g = (struct get){.layout.has_tags = view_is_tuples(rq->client)};
    g->paths = arena_alloc(rq->arena, (words->count + 1) * sizeof *g->paths);
    for (size_t i = 0; i < words->count; i++) {
        struct slice *option = layout_option(&g->layout, words->items[i]);
        if (option != NULL) {
            struct slice word = words->items[i];
            if (++i == words->count || option->data != NULL) {
                return error_set(&rq->error, ERR_SYNTAX, "syntax error: %.*s %s", (int)word.len,
                                 (const char *)word.data,
                                 option->data != NULL ? "is a duplicate" : "needs an argument");
            }
            *option = words->items[i];
        } else if (!slice_is_word(words->items[i], "NOESCAPE")) { /* what that asks for is so */
            struct json_path *path = &g->paths[g->count++];
            enum err r = json_path_parse(rq->arena, words->items[i], path, &rq->error);
            if (r != OK) return r;
            g->is_list = g->is_list || path->is_list;
        }
    }
    if (g->count > 0) return OK;
    return json_path_parse(rq->arena, slice_str("."), &g->paths[g->count++], &rq->error);
}

/* Several paths are an object: of each path what it finds. */
static enum err write_get(struct request *rq, const struct get *g, struct slice text,
                          struct buf *out)
{
    bool is_object = g->count > 1;
    bool fits = !is_object || text.len * g->count <= JSON_WORK_BYTES_MAX;
    if (is_object) buf_append_byte(out, '{');
    for (size_t i = 0; i < g->count && fits; i++) {
        struct json_place place;
        enum err r = json_find(text, &g->paths[i], &place, &rq->error);
        if (r != OK) return r;
        if (!place.exists && !g->is_list) return json_absent(rq, &g->paths[i]);
        if (is_object) {
            if (i > 0) buf_append_byte(out, ',');
            write_line(&g->layout, 1, out);
            json_string_write_lossy(g->paths[i].text, out);
            buf_append_byte(out, ':');
            buf_append(out, g->layout.space.data, g->layout.space.len);
        }
        fits = write_place(&g->layout, text, &place, g->is_list, is_object, out);
    }
    if (is_object) write_line(&g->layout, 0, out);
    if (is_object) buf_append_byte(out, '}');
    if (fits) return OK;
    return error_set(
        &rq->error, ERR_LIMIT,
        "the paths, multiplied by the length of the value, or the reply exceed %u bytes",
        JSON_WORK_BYTES_MAX);
}

static enum err get_run(struct request *rq)
{
    const struct get_words *a = rq->bound;
    struct buf text;
    struct buf out;
    struct get g;
    bool exists = false;
    buf_init(&text);
    buf_init(&out);
    enum err r = parse_get(rq, &a->words, &g);
    if (r == OK) r = json_read(rq, a->key, &text, &exists);
    if (r == OK && exists) r = write_get(rq, &g, buf_slice(&text), &out);
    if (r == OK && out.is_failed) r = error_set(&rq->error, ERR_NOMEM, "out of memory for a reply");
    if (r == OK && exists) {
        resp_bulk(rq->w, buf_slice(&out));
    } else if (r == OK) {
        resp_nil(rq->w);
    }
    buf_fini(&text);
    buf_fini(&out);
    return r;
}
JSON_COMMAND(get, "get", CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns a value, or the parts at paths, as typed JSON with bigints as literals.",
             get_arguments, get_run);

static enum err mget_one(struct request *rq, struct slice word, const struct json_path *path,
                         struct buf *text, size_t *work)
{
    struct slice key = {0};
    struct json_place place = {.exists = false};
    bool exists = false;
    struct buf out;
    enum err r = arg_key(rq, word, &key);
    if (r == OK) r = json_read(rq, key, text, &exists);
    if (r == ERR_TYPE) exists = false; /* as MGET: no error among several */
    if (r != OK && r != ERR_TYPE) return r;
    *work += exists ? text->len : 0;
    if (*work > JSON_WORK_BYTES_MAX) {
        return error_set(&rq->error, ERR_LIMIT, "the values exceed %u bytes", JSON_WORK_BYTES_MAX);
    }
    r = exists ? json_find(buf_slice(text), path, &place, &rq->error) : OK;
    if (r != OK) return r;
    if (!exists || (!place.exists && !path->is_list)) {
        resp_nil(rq->w);
        return OK;
    }
    const struct layout none = {.has_tags = view_is_tuples(rq->client)};
    buf_init(&out);
    (void)write_place(&none, buf_slice(text), &place, path->is_list, 0, &out);
    r = out.is_failed ? error_set(&rq->error, ERR_NOMEM, "out of memory for a reply") : OK;
    if (r == OK) resp_bulk(rq->w, buf_slice(&out));
    buf_fini(&out);
    return r;
}

struct mget {
    struct slices keys; /* as they came */
    struct slice path;
};
ARGUMENTS(mget_arguments, struct mget, "key [key ...] path",
          ARG_KEY_WORDS(struct mget, keys, "key", 0), ARG_WORD(struct mget, path, "path"));

static enum err mget_run(struct request *rq)
{
    const struct mget *a = rq->bound;
    struct json_path path;
    struct buf text;
    size_t work = 0;
    buf_init(&text);
    enum err r = json_path_parse(rq->arena, a->path, &path, &rq->error);
    if (r == OK) resp_array(rq->w, a->keys.count);
    for (size_t i = 0; i < a->keys.count && r == OK; i++) {
        r = mget_one(rq, a->keys.items[i], &path, &text, &work);
    }
    buf_fini(&text);
    return r;
}
JSON_COMMAND(mget, "mget", CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the part at a path of several values; nil where there is none.",
             mget_arguments, mget_run);

/* ---- one thing about one place ---- */

/* Writes the answer about a place that is there; false: the place is of another kind than
 * `expected`. */
typedef bool tell(struct request *rq, struct slice text, const struct json_place *place);

struct question {
    tell *tell;
    const char *expected; /* "array"; NULL = any */
    bool absent_is_nil;   /* of the older form; else an error */
};

static enum err tell_list(struct request *rq, const struct question *q, struct slice text,
                          const struct json_place *place)
{
    resp_array(rq->w, place->exists);
    if (place->exists && !q->tell(rq, text, place)) resp_nil(rq->w);
    return OK;
}

static enum err tell_one(struct request *rq, const struct question *q, struct slice text,
                         const struct json_path *path, const struct json_place *place)
{
    if (!place->exists && q->absent_is_nil) {
        resp_nil(rq->w);
        return OK;
    }
    if (!place->exists) return json_absent(rq, path);
    if (q->tell(rq, text, place)) return OK;
    return json_wrong_kind(rq, text, place, q->expected);
}

static enum err ask(struct request *rq, const struct question *q)
{
    const struct json_at *a = rq->bound;
    struct json_path path;
    struct json_place place;
    struct buf text;
    bool exists = false;
    buf_init(&text);
    enum err r = json_path_parse(rq->arena, json_path_word(a->path), &path, &rq->error);
    if (r == OK) r = json_read(rq, a->key, &text, &exists);
    if (r == OK && !exists) {
        resp_nil(rq->w);
    } else if (r == OK) {
        r = json_find(buf_slice(&text), &path, &place, &rq->error);
    }
    if (r == OK && exists) {
        r = path.is_list ? tell_list(rq, q, buf_slice(&text), &place)
                         : tell_one(rq, q, buf_slice(&text), &path, &place);
    }
    buf_fini(&text);
    return r;
}

static bool tell_type(struct request *rq, struct slice text, const struct json_place *place)
{
    resp_bulk(rq->w, json_type_name(text, place->from));
    return true;
}

/* As the module: in RESP3 within one more list. */
static enum err type_run(struct request *rq)
{
    const struct question q = {.tell = tell_type, .absent_is_nil = true};
    if (rq->w->proto == 3) resp_array(rq->w, 1);
    return ask(rq, &q);
}
JSON_COMMAND(
    type, "type", CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
    "Returns object, array, string, integer, number, boolean or null. For a type that JSON lacks, "
    "returns the name of its tag, such as date, bytes or map.",
    json_at_arguments, type_run);

static bool tell_items(struct request *rq, struct slice text, const struct json_place *place)
{
    if (text.data[place->from] != '[') return false;
    resp_int(rq->w, (int64_t)json_count(text, place->from));
    return true;
}

static enum err arrlen_run(struct request *rq)
{
    const struct question q = {.tell = tell_items, .expected = "array"};
    return ask(rq, &q);
}
JSON_COMMAND(arrlen, "arrlen", CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the length of an array.", json_at_arguments, arrlen_run);

static bool tell_members(struct request *rq, struct slice text, const struct json_place *place)
{
    size_t open = 0;
    if (!json_is_object(text, place->from, &open)) return false;
    resp_int(rq->w, (int64_t)json_count(text, open));
    return true;
}

static enum err objlen_run(struct request *rq)
{
    const struct question q = {.tell = tell_members, .expected = "object"};
    return ask(rq, &q);
}
JSON_COMMAND(objlen, "objlen", CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the number of members of an object.", json_at_arguments, objlen_run);

static bool tell_names(struct request *rq, struct slice text, const struct json_place *place)
{
    struct json_walk w;
    size_t open = 0;
    if (!json_is_object(text, place->from, &open)) return false;
    resp_array(rq->w, json_count(text, open));
    for (json_walk_start(&w, text, open); json_walk_next(&w); json_walk_skip(&w)) {
        buf_clear(rq->scratch, SIZE_MAX);
        json_string_unescape(w.name, rq->scratch);
        buf_require(rq->scratch);
        resp_bulk(rq->w, buf_slice(rq->scratch));
    }
    return true;
}

static enum err objkeys_run(struct request *rq)
{
    const struct question q = {.tell = tell_names, .expected = "object"};
    return ask(rq, &q);
}
JSON_COMMAND(objkeys, "objkeys", CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the names of the members of an object.", json_at_arguments, objkeys_run);

static bool tell_length(struct request *rq, struct slice text, const struct json_place *place)
{
    if (text.data[place->from] != '"') return false;
    buf_clear(rq->scratch, SIZE_MAX);
    json_string_unescape(slice_of(text.data + place->from + 1, place->to - place->from - 2),
                         rq->scratch);
    buf_require(rq->scratch);
    resp_int(rq->w, (int64_t)rq->scratch->len);
    return true;
}

static enum err strlen_run(struct request *rq)
{
    const struct question q = {.tell = tell_length, .expected = "string"};
    return ask(rq, &q);
}
JSON_COMMAND(strlen, "strlen", CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
             "Returns the length of a string in bytes.", json_at_arguments, strlen_run);

/* ---- JSON.DEBUG ---- */

static bool tell_bytes(struct request *rq, struct slice text, const struct json_place *place)
{
    (void)text;
    resp_int(rq->w, (int64_t)(place->to - place->from));
    return true;
}

static enum err memory_run(struct request *rq)
{
    const struct question q = {.tell = tell_bytes, .absent_is_nil = true};
    return ask(rq, &q);
}

static const struct command sub_memory = {
    .name = "memory",
    .flags = CMD_STRING | CMD_READ | CMD_FOLLOWER,
    .key_flags = KEY_RO | KEY_ACCESS,
    .group = "json",
    .summary = "Returns the length in bytes of the text of a value, or of the part at a path.",
    .arguments = &json_at_arguments,
    .run = memory_run,
};
COMMAND_HELP("json", 0);

static const struct command *const debug_subcommands[] = {&sub_help, &sub_memory, NULL};

const struct command cmd_json_debug = {
    .name = "json.debug",
    .group = "json",
    .summary = "A container for commands about the size of values.",
    .arguments = &container_arguments,
    .subcommands = debug_subcommands,
};
