/* path: see path.h.
 *
 *   path  = "$" { step } | first { step }
 *   first = name | quoted                 a name: not empty, ends before "." or "["
 *   step  = "." (name | quoted) | "[" n "]" | "[#-" n "]"
 *
 * A first name that begins with "$" or "[" is quoted: filters have operators there.
 */
#include "filter/path.h"

#include "codec/json_lex.h"
#include "codec/pack.h"
#include "codec/utf8.h"
#include "filter/path_int.h"
#include "filter/stored_int.h"

#define SHOWN_BYTES 80 /* of a path in an error */

enum step_kind { STEP_NAME, STEP_INDEX, STEP_FROM_END };

struct step {
    enum step_kind kind;
    uint32_t index;    /* STEP_FROM_END: 1 is the last */
    struct slice name; /* of the arena */
};

struct path {
    struct slice text;
    size_t step_count;
    struct step steps[];
};

struct reader {
    const uint8_t *at;
    const uint8_t *end;
    struct arena *arena;
    struct step steps[PATH_STEPS_MAX];
    size_t count;
    const char *what; /* what is wrong */
};

static bool fail(struct reader *r, const char *what)
{
    r->what = what;
    return false;
}

static struct step *add_step(struct reader *r, enum step_kind kind)
{
    if (r->count == PATH_STEPS_MAX) {
        r->what = "more than 32 steps";
        return NULL;
    }
    struct step *step = &r->steps[r->count++];
    *step = (struct step){.kind = kind};
    return step;
}

static bool read_quoted(struct reader *r, struct slice *name)
{
    struct json j = {.start = r->at, .at = r->at, .end = r->end, .code = ERR_SYNTAX};
    struct slice raw;
    bool has_escape = false;
    j.subject = "";
    if (!json_string_scan(&j, &raw, &has_escape)) return fail(r, "malformed quoted name");
    r->at = j.at;
    if (r->at < r->end && *r->at != '.' && *r->at != '[') {
        return fail(r, "text after a quoted name");
    }
    *name = raw;
    if (!has_escape) return true;
    uint8_t room[PATH_BYTES_MAX];
    struct buf fixed = {.data = room, .cap = sizeof room}; /* raw.len fits: it never grows */
    json_string_unescape(raw, &fixed);
    *name = arena_copy(r->arena, buf_slice(&fixed));
    return true;
}

static bool read_name(struct reader *r)
{
    struct slice name = {0};
    if (r->at < r->end && *r->at == '"') {
        if (!read_quoted(r, &name)) return false;
    } else {
        const uint8_t *from = r->at;
        while (r->at < r->end && *r->at != '.' && *r->at != '[') r->at++;
        name = slice_of(from, (size_t)(r->at - from));
        if (name.len == 0) return fail(r, "empty name");
    }
    struct step *step = add_step(r, STEP_NAME);
    if (step != NULL) step->name = name;
    return step != NULL;
}

/* After '['. */
static bool read_index(struct reader *r)
{
    static const char what[] = "an index must be [0], [1], .. or, from the end, [#-1], [#-2], ..";
    bool is_from_end = r->end - r->at >= 2 && r->at[0] == '#' && r->at[1] == '-';
    if (is_from_end) r->at += 2;
    const uint8_t *from = r->at;
    uint64_t n = 0;
    while (r->at < r->end && *r->at != ']') r->at++;
    if (r->at == r->end) return fail(r, "'[' without ']'");
    if (!slice_to_u64(slice_of(from, (size_t)(r->at - from)), &n)) return fail(r, what);
    if (n > UINT32_MAX || (is_from_end && n == 0)) return fail(r, what);
    r->at++;
    struct step *step = add_step(r, is_from_end ? STEP_FROM_END : STEP_INDEX);
    if (step != NULL) step->index = (uint32_t)n;
    return step != NULL;
}

static bool read_path(struct reader *r)
{
    if (r->at == r->end) return fail(r, "empty name");
    if (*r->at == '$') {
        r->at++;
        if (r->at < r->end && *r->at != '.' && *r->at != '[') {
            return fail(r, "quote a first name that begins with '$'");
        }
    } else if (*r->at == '[') {
        return fail(r, "an index must follow a name or '$'");
    } else if (!read_name(r)) {
        return false;
    }
    while (r->at < r->end) {
        uint8_t c = *r->at++;
        bool ok = c == '.'   ? read_name(r)
                  : c == '[' ? read_index(r)
                             : fail(r, "expected '.' or '[' after ']'");
        if (!ok) return false;
    }
    return true;
}

struct slice path_shown(struct slice text)
{
    if (text.len <= SHOWN_BYTES) return text;
    size_t len = SHOWN_BYTES;
    while (len > SHOWN_BYTES - 4 && (text.data[len] & 0xc0) == 0x80) len--;
    return slice_of(text.data, len);
}

enum err path_compile(struct slice text, struct arena *arena, const struct path **out,
                      struct error *e)
{
    struct reader r = {.arena = arena};
    bool ok = false;
    if (text.len > PATH_BYTES_MAX) {
        r.what = "longer than 1024 bytes";
    } else if (text.len > 0 && utf8_valid_bytes(text) != text.len) {
        r.what = "not UTF-8";
    } else {
        text = arena_copy(arena, text);
        r.at = text.data;
        r.end = text.data + text.len;
        ok = read_path(&r);
    }
    if (!ok) {
        struct slice shown = path_shown(text);
        return error_set(e, ERR_SYNTAX, "invalid path '%.*s%s': %s", (int)shown.len,
                         (const char *)shown.data, shown.len < text.len ? ".." : "", r.what);
    }
    struct path *p = arena_alloc(arena, sizeof *p + r.count * sizeof *p->steps);
    p->text = text;
    p->step_count = r.count;
    memcpy(p->steps, r.steps, r.count * sizeof *p->steps);
    *out = p;
    return OK;
}

struct slice path_text(const struct path *p)
{
    return p->text;
}

bool path_equal(const struct path *a, const struct path *b)
{
    if (a->step_count != b->step_count) return false;
    for (size_t i = 0; i < a->step_count; i++) {
        const struct step *x = &a->steps[i], *y = &b->steps[i];
        if (x->kind != y->kind || x->index != y->index || !slice_eq(x->name, y->name)) return false;
    }
    return true;
}

/* The value under a string key among the pairs of a container. */
static const uint8_t *find_name(const struct stored *s, struct slice name)
{
    const uint8_t *at = s->body.data, *end = at + s->body.len;
    for (uint32_t left = s->count; left > 0 && at < end; left--) {
        const uint8_t *key = at;
        size_t len = *at & 31u;
        if ((*at & 0xe0) == 0xa0 && len < (size_t)(end - at)) { /* most names */
            at += 1 + len;
            if (len == name.len && memcmp(key + 1, name.data, len) == 0) return at;
        } else {
            struct pack_item item;
            if (pack_read(&at, end, &item) != PACK_OK) return NULL;
            if (item.type == PACK_STR) {
                if (slice_eq(item.body, name)) return at;
            } else {
                at = stored_skip(key, end);
            }
        }
        at = stored_skip(at, end);
    }
    return NULL;
}

static const uint8_t *find_item(const struct stored *s, const struct step *step)
{
    const uint8_t *at = s->body.data, *end = at + s->body.len;
    uint32_t index = step->index;
    if (step->kind == STEP_FROM_END) {
        if (index > s->count) return NULL;
        index = s->count - index;
    }
    if (index >= s->count) return NULL;
    for (; index > 0; index--) at = stored_skip(at, end);
    return at;
}

const uint8_t *path_locate(const struct path *p, struct slice value, const uint8_t **end)
{
    const uint8_t *at = value.data;
    *end = at + value.len;
    for (size_t i = 0; i < p->step_count; i++) {
        const struct step *step = &p->steps[i];
        struct stored s;
        (void)stored_read(at, *end, &s);
        bool has_names = s.kind == STORED_OBJECT || s.kind == STORED_MAP;
        if (step->kind == STEP_NAME) {
            at = has_names ? find_name(&s, step->name) : NULL;
        } else {
            at = s.kind == STORED_ARRAY ? find_item(&s, step) : NULL;
        }
        if (at == NULL) return NULL;
        *end = s.body.data + s.body.len;
    }
    return at;
}

/* The content of shared values: [id, value]. */
static void look_through(struct slice *value)
{
    const uint8_t *at = value->data, *end = at + value->len;
    struct pack_item item;
    while (pack_read(&at, end, &item) == PACK_OK && item.type == PACK_EXT && item.ext == EXT_ID) {
        at = item.body.data;
        if (pack_read(&at, end, &item) != PACK_OK) return;
        if (pack_read(&at, end, &item) != PACK_OK) return;
        *value = slice_of(at, (size_t)(end - at));
    }
}

bool path_first_name(const struct path *p, struct slice *name)
{
    if (p->step_count == 0 || p->steps[0].kind != STEP_NAME) return false;
    *name = p->steps[0].name;
    return true;
}

bool path_is_name(const struct path *p, struct slice *name)
{
    return p->step_count == 1 && path_first_name(p, name);
}

bool path_find(const struct path *p, struct slice value, struct slice *found)
{
    const uint8_t *end = NULL;
    const uint8_t *at = path_locate(p, value, &end);
    if (at == NULL) return false;
    *found = slice_of(at, (size_t)(stored_skip(at, end) - at));
    look_through(found);
    return true;
}
