/* json_path: a path becomes steps; finding one walks over the text that value_to_json wrote, which
 * is known to be good: strings are skipped, brackets counted, and the value of a step that matches
 * is entered without being walked over. */
#include "command/json/json_path.h"

#include <string.h>

#include "codec/json_lex.h"

/* ---- reading a path ---- */

struct reading {
    struct arena *arena;
    struct slice text;
    size_t at;
    struct json_path *path;
    size_t from_end; /* indexes */
    struct error *e;
};

static enum err bad(const struct reading *p, const char *what)
{
    return error_set(p->e, ERR_SYNTAX, "JSON path '%.*s': %s at offset %zu",
                     (int)(p->text.len < 64 ? p->text.len : 64), (const char *)p->text.data, what,
                     p->at);
}

static bool is_next(const struct reading *p, char c)
{
    return p->at < p->text.len && p->text.data[p->at] == (uint8_t)c;
}

static enum err add(struct reading *p, struct json_step step)
{
    if (p->path->count == JSON_STEPS_MAX) return bad(p, "more than 128 steps");
    p->path->steps[p->path->count++] = step;
    return OK;
}

/* After a point, or at the beginning. */
static enum err read_name(struct reading *p)
{
    size_t from = p->at;
    while (p->at < p->text.len && strchr(".[", p->text.data[p->at]) == NULL) {
        if (strchr("*?()@]", p->text.data[p->at]) != NULL && p->text.data[p->at] != '\0') {
            return bad(p, "only members (.name, [\"name\"]) and indexes ([0]) are supported,");
        }
        p->at++;
    }
    if (p->at == from) {
        return bad(p, is_next(p, '.') ? "'..' may match several places; expected a name"
                                      : "expected a name");
    }
    return add(p, (struct json_step){.name = slice_of(p->text.data + from, p->at - from)});
}

/* At the quote, after '['. In double quotes as in JSON; in single ones only \' and \\ are more. */
static enum err read_quoted(struct reading *p)
{
    const uint8_t *data = p->text.data;
    struct buf name = {.data = arena_alloc(p->arena, p->text.len), .cap = p->text.len};
    if (is_next(p, '"')) {
        struct json j = {.start = data, .at = data + p->at, .end = data + p->text.len};
        struct slice raw;
        bool has_escape = false;
        j.subject = "";
        if (!json_string_scan(&j, &raw, &has_escape))
            return bad(p, "a string that is not valid JSON");
        json_string_unescape(raw, &name);
        p->at = (size_t)(j.at - data);
    } else {
        for (p->at++; p->at < p->text.len && !is_next(p, '\''); p->at++) {
            if (is_next(p, '\\') && p->at + 1 < p->text.len) p->at++;
            buf_append_byte(&name, data[p->at]);
        }
        if (p->at == p->text.len) return bad(p, "expected \"'\"");
        p->at++;
    }
    return add(p, (struct json_step){.name = buf_slice(&name)});
}

static enum err read_index(struct reading *p)
{
    size_t from = p->at;
    int64_t index = 0;
    while (p->at < p->text.len && !is_next(p, ']')) p->at++;
    if (!slice_to_i64(slice_of(p->text.data + from, p->at - from), &index)) {
        p->at = from;
        return bad(p, "expected an index or a quoted name");
    }
    if (index < 0 && ++p->from_end > JSON_STEPS_FROM_END_MAX) {
        p->at = from;
        return bad(p, "more than 4 indexes from the end");
    }
    return add(p, (struct json_step){.is_index = true, .index = index});
}

static enum err read_bracket(struct reading *p)
{
    p->at++;
    enum err r = is_next(p, '"') || is_next(p, '\'') ? read_quoted(p) : read_index(p);
    if (r != OK) return r;
    if (!is_next(p, ']')) return bad(p, "expected ']'");
    p->at++;
    return OK;
}

enum err json_path_parse(struct arena *arena, struct slice text, struct json_path *out,
                         struct error *e)
{
    struct reading p = {.arena = arena, .text = text, .path = out, .e = e};
    enum err r = OK;
    size_t steps = text.len < JSON_STEPS_MAX ? text.len : JSON_STEPS_MAX; /* a byte at least each */
    *out = (struct json_path){.text = text};
    out->steps = arena_alloc(arena, (steps + 1) * sizeof *out->steps);
    out->is_list = is_next(&p, '$');
    if (out->is_list) {
        p.at = 1;
    } else if (text.len == 1 && is_next(&p, '.')) {
        return OK;
    } else if (!is_next(&p, '.') && !is_next(&p, '[')) {
        r = read_name(&p);
    }
    while (r == OK && p.at < text.len) {
        if (is_next(&p, '[')) {
            r = read_bracket(&p);
        } else if (is_next(&p, '.')) {
            p.at++;
            r = is_next(&p, '[') ? read_bracket(&p) : read_name(&p);
        } else {
            r = bad(&p, "expected '.' or '['");
        }
    }
    return r;
}

/* ---- walking through text ---- */

static size_t string_end(struct slice text, size_t at)
{
    for (at++; text.data[at] != '"'; at++) at += text.data[at] == '\\';
    return at + 1;
}

size_t json_end(struct slice text, size_t from)
{
    size_t depth = 0;
    size_t at = from;
    while (at < text.len) {
        switch (text.data[at]) {
        case '"': at = string_end(text, at); break;
        case '{':
        case '[':
            depth++;
            at++;
            break;
        case '}':
        case ']':
            if (depth == 0) return at;
            depth--;
            at++;
            break;
        case ',':
            if (depth == 0) return at;
            at++;
            break;
        default: at++; continue;
        }
        if (depth == 0) return at;
    }
    return at;
}

void json_walk_start(struct json_walk *w, struct slice text, size_t from)
{
    bool is_object = text.data[from] == '{';
    bool is_empty = text.data[from + 1] == (is_object ? '}' : ']');
    *w = (struct json_walk){.text = text, .at = is_empty ? 0 : from + 1, .has_names = is_object};
}

bool json_walk_next(struct json_walk *w)
{
    if (w->at == 0) return false;
    w->item = w->value = w->at;
    if (w->has_names) {
        size_t end = string_end(w->text, w->at);
        w->name = slice_of(w->text.data + w->at + 1, end - w->at - 2);
        w->value = end + 1; /* the colon */
    }
    return true;
}

void json_walk_skip(struct json_walk *w)
{
    size_t end = json_end(w->text, w->value);
    w->at = w->text.data[end] == ',' ? end + 1 : 0;
}

size_t json_count(struct slice text, size_t from)
{
    struct json_walk w;
    size_t count = 0;
    for (json_walk_start(&w, text, from); json_walk_next(&w); json_walk_skip(&w)) count++;
    return count;
}

static bool name_is(struct slice raw, struct slice name)
{
    if (raw.len == 0 || memchr(raw.data, '\\', raw.len) == NULL) return slice_eq(raw, name);
    if (raw.len < name.len) return false;
    struct buf plain;
    buf_init(&plain);
    json_string_unescape(raw, &plain);
    bool is_same = !plain.is_failed && slice_eq(buf_slice(&plain), name);
    buf_fini(&plain);
    return is_same;
}

/* The value of a matching item is not walked over: a path costs as much as the text is long, and
 * that again for each index from the end and each long tag. */
static bool take_step(struct json_walk *w, struct slice text, size_t from,
                      const struct json_step *step)
{
    int64_t index = step->index;
    if (text.data[from] != (step->is_index ? '[' : '{')) return false;
    if (step->is_index && index < 0) index += (int64_t)json_count(text, from);
    if (index < 0) return false;
    json_walk_start(w, text, from);
    for (int64_t i = 0; json_walk_next(w); i++, json_walk_skip(w)) {
        if (step->is_index ? i == index : name_is(w->name, step->name)) return true;
    }
    return false;
}

/* The members of an object are where the step goes on, also in {"$object":{..}}; of any other tag
 * there are none: *is_there false. */
static enum err enter(struct slice text, size_t *from, struct json_place *out, unsigned *long_tags,
                      bool *is_there, struct error *e)
{
    struct json_tag tag = {.looked = 0};
    *is_there = true;
    out->is_wrapped = false;
    if (text.data[*from] != '{') return OK;
    bool is_tag = json_is_tag(text, *from, &tag);
    if (tag.looked > JSON_LONG_TAG_BYTES && ++*long_tags > JSON_LONG_TAGS_MAX) {
        return error_set(e, ERR_LIMIT,
                         "more than %d long objects that start like a tag on the path",
                         JSON_LONG_TAGS_MAX);
    }
    if (!is_tag) return OK;
    out->is_wrapped = *is_there = slice_eq(tag.name, slice_str("object"));
    if (*is_there) *from = tag.value;
    return OK;
}

enum err json_find(struct slice text, const struct json_path *path, struct json_place *out,
                   struct error *e)
{
    struct json_walk w = {.value = 0};
    unsigned long_tags = 0;
    *out = (struct json_place){.exists = false};
    for (size_t i = 0; i < path->count; i++) {
        size_t from = w.value;
        bool is_there = false;
        enum err r = enter(text, &from, out, &long_tags, &is_there, e);
        if (r != OK || !is_there) return r;
        out->has_parent = i + 1 == path->count;
        out->parent_from = from;
        if (!take_step(&w, text, from, &path->steps[i])) return OK;
    }
    out->exists = true;
    out->item_from = path->count > 0 ? w.item : 0;
    out->from = w.value;
    out->to = json_end(text, w.value);
    return OK;
}
