/* rest_members: see rest_members.h. */
#include "http/rest_members.h"

#include <stdio.h>

#include "codec/json_lex.h"
#include "http/route.h"

#define NAME_CHARS 96

/* What was said of one member: in a URL a text, in a body JSON. */
struct given {
    bool is_there, is_text;
    struct slice text;
    struct json_part part;
};

/* As errors name it. */
struct label {
    char text[NAME_CHARS];
};

/* What a member is called here. */
static const char *called(const struct rest_source *s, const char *name, char room[NAME_CHARS])
{
    for (const char *p = s->aliases; p != NULL && *p != '\0'; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");
        const char *other = p + len + 1;
        size_t other_len = strcspn(other, " ");
        if (strlen(name) == len && memcmp(p, name, len) == 0) {
            snprintf(room, NAME_CHARS, "%.*s", (int)other_len, other);
            return room;
        }
        p = other + other_len;
    }
    return name;
}

static struct label label_of(const struct rest_source *s, const char *name)
{
    struct label l;
    char room[NAME_CHARS];
    name = called(s, name, room);
    snprintf(l.text, sizeof l.text, "%s%s%s", s->where, *s->where != '\0' ? "." : "", name);
    return l;
}

static const char *whole(const struct rest_source *s)
{
    return *s->where != '\0' ? s->where : "the body";
}

static bool is_left_out(const struct rest_source *s, const char *name)
{
    return s->without != NULL && route_lists(s->without, slice_str(name));
}

/* For %.*s. */
static int shown(struct slice text)
{
    return text.len < 64 ? (int)text.len : 64;
}

/* ---- which members there are ----------------------------------------------------------------- */

bool rest_take_object(struct exchange *x, const struct json_part *part, const char *what,
                      struct rest_object *out)
{
    struct json_part name;
    struct json_part value;
    out->count = 0;
    if (part->kind != JSON_OBJECT) {
        exchange_fail(x, 400, "%s must be an object", what);
        return false;
    }
    for (struct slice rest = json_inside(part); json_next_member(&rest, &name, &value);) {
        struct slice text = json_text(&name, &x->arena);
        for (size_t i = 0; i < out->count; i++) {
            if (!slice_eq(out->names[i], text)) continue;
            exchange_fail(x, 400, "%s has a duplicate \"%.*s\"", what, shown(text),
                          (const char *)text.data);
            return false;
        }
        if (out->count == REST_MEMBERS_MAX) {
            exchange_fail(x, 400, "%s has too many members", what);
            return false;
        }
        out->names[out->count] = text;
        out->values[out->count++] = value;
    }
    return true;
}

bool rest_take_body(struct exchange *x, struct rest_object *out)
{
    struct json_part part;
    struct error e;
    out->count = 0;
    if (x->message->body.len == 0) return true;
    if (json_check(x->message->body, &part, &e) != OK) {
        exchange_fail(x, 400, "%s", e.text);
        return false;
    }
    return rest_take_object(x, &part, "the body", out);
}

struct json_part rest_object_get(const struct rest_object *o, const char *name)
{
    for (size_t i = 0; i < o->count; i++) {
        if (slice_eq(o->names[i], slice_str(name))) return o->values[i];
    }
    return (struct json_part){0};
}

static bool is_known(const struct rest_source *s, const struct members *of, struct slice name)
{
    char room[NAME_CHARS];
    for (size_t i = 0; i < of->count; i++) {
        const char *member = of->items[i].name;
        if (slice_eq(name, slice_str(called(s, member, room)))) return !is_left_out(s, member);
    }
    return false;
}

bool rest_check_members(const struct rest_source *s, const struct members *of, const char *more)
{
    for (size_t i = 0; i < s->object->count; i++) {
        struct slice name = s->object->names[i];
        if (is_known(s, of, name) || (more != NULL && slice_eq(name, slice_str(more)))) continue;
        exchange_fail(s->x, 400, "%s has an unknown member \"%.*s\"", whole(s), shown(name),
                      (const char *)name.data);
        return false;
    }
    return true;
}

/* In the path a part is taken as it is. */
static bool find(const struct rest_source *s, const char *name, struct given *g)
{
    *g = (struct given){.is_there = false};
    if (is_left_out(s, name)) return true;
    if (*s->where == '\0') {
        int found = route_part(s->x, name, &g->text);
        if (found < 0) {
            exchange_fail(s->x, 400, "'%s' in the path is not valid percent-encoded UTF-8", name);
            return false;
        }
        g->is_there = g->is_text = found > 0;
        if (g->is_there) return true;
    }
    if (s->object != NULL) {
        char room[NAME_CHARS];
        g->part = rest_object_get(s->object, called(s, name, room));
        g->is_there = rest_is_there(&g->part);
        return true;
    }
    g->text = slice_of(NULL, 0);
    g->is_text = true;
    if (!rest_query_text(s->x, name, &g->text)) return false;
    g->is_there = g->text.data != NULL;
    return true;
}

/* ---- one word -------------------------------------------------------------------------------- */

static bool add_integer(struct rest_words *w, const struct rest_source *s, const struct member *m,
                        const char *name, const struct given *g)
{
    int64_t n = 0;
    struct slice text = g->is_text ? g->text : g->part.raw;
    bool is_good = g->is_text ? slice_to_i64(text, &n) : json_part_integer(&g->part, &n);
    if (is_good && n > m->max && s->limit_max > 0 && rest_dialect_of(s->x)->clamps_limit)
        n = m->max;
    if (!is_good || n < m->min || n > m->max)
        return rest_refuse_number(s->x, name, m->min, m->max, text);
    rest_words_number(w, n);
    return true;
}

static bool add_text(struct rest_words *w, const struct rest_source *s, const char *name,
                     const struct given *g)
{
    struct slice text = g->text;
    if (!g->is_text && !rest_body_text(s->x, &g->part, name, &text)) return false;
    rest_words_add(w, text);
    return true;
}

static bool add_value(struct rest_words *w, const struct rest_source *s, const struct member *m,
                      const char *name, const struct given *g)
{
    struct slice text = g->is_text ? g->text : g->part.raw;
    const struct rest_dialect *d = rest_dialect_of(s->x);
    bool (*check)(struct exchange *, const struct json_part *, const char *,
                  struct slice *) = m->type == MEMBER_NUMBER  ? d->number
                                    : m->type == MEMBER_ARRAY ? d->array
                                                              : NULL;
    if (g->is_text && !rest_is_json(s->x, name, text)) return false;
    if (!g->is_text && check != NULL && !check(s->x, &g->part, name, &text)) return false;
    rest_words_add(w, text);
    return true;
}

static bool add_key(struct rest_words *w, const struct rest_source *s, const char *name,
                    const struct given *g)
{
    struct slice key;
    const struct rest_dialect *d = rest_dialect_of(s->x);
    bool is_good = g->is_text ? d->text_key(s->x, name, g->text, true, &key)
                              : d->body_key(s->x, &g->part, name, &key);
    if (is_good) rest_words_add(w, key);
    return is_good;
}

static bool refuse_version(const struct rest_source *s, const char *name)
{
    exchange_fail(s->x, 400, "%s must be a string, or null if the key must not exist", name);
    return false;
}

static bool add_version(struct rest_words *w, const struct rest_source *s, const char *name,
                        const struct given *g)
{
    if (g->is_text) {
        rest_words_add(w, g->text);
    } else if (g->part.kind == JSON_NULL) {
        rest_words_str(w, "NONE");
    } else if (g->part.kind == JSON_STRING) {
        rest_words_add(w, json_text(&g->part, &s->x->arena));
    } else {
        return refuse_version(s, name);
    }
    return true;
}

static bool add_word(struct rest_words *w, const struct rest_source *s, const struct member *m,
                     const char *name, const struct given *g)
{
    switch (m->type) {
    case MEMBER_KEY: return add_key(w, s, name, g);
    case MEMBER_INTEGER: return add_integer(w, s, m, name, g);
    case MEMBER_VERSION: return add_version(w, s, name, g);
    case MEMBER_VALUE:
    case MEMBER_NUMBER:
    case MEMBER_ARRAY: return add_value(w, s, m, name, g);
    case MEMBER_FILTER: rest_words_add(w, g->is_text ? g->text : g->part.raw); return true;
    default: return add_text(w, s, name, g);
    }
}

/* ---- one member ------------------------------------------------------------------------------ */

static bool switch_of(const struct rest_source *s, const char *name, const struct given *g,
                      bool *is_set)
{
    bool is_true = g->is_text ? slice_is_word(g->text, "TRUE") : json_is_true(&g->part);
    bool is_false = g->is_text ? slice_is_word(g->text, "FALSE") : g->part.kind == JSON_BOOL;
    *is_set = is_true;
    if (is_true || is_false) return true;
    exchange_fail(s->x, 400, "%s must be true or false", name);
    return false;
}

static const char *plural_of(const struct member *m)
{
    switch (m->type) {
    case MEMBER_INTEGER: return "numbers";
    case MEMBER_KEY: return "keys";
    case MEMBER_VALUE: return "values";
    default: return "strings";
    }
}

static bool add_list(struct rest_words *w, const struct rest_source *s, const struct member *m,
                     const char *name, const struct json_part *list)
{
    struct given g = {.is_there = true};
    int64_t count = 0;
    bool is_array = list->kind == JSON_ARRAY;
    if (is_array) {
        for (struct slice rest = json_inside(list); json_next_item(&rest, &g.part);) count++;
    }
    if (is_array && count < m->count_min && m->token != NULL) return true; /* it says nothing */
    if (!is_array || count < m->count_min) {
        exchange_fail(s->x, 400, "%s must be an array of %s%s", name, plural_of(m),
                      m->count_min > 0 ? ", at least one" : "");
        return false;
    }
    if (m->token != NULL) rest_words_str(w, m->token);
    if (m->has_count) rest_words_number(w, count);
    for (struct slice rest = json_inside(list); json_next_item(&rest, &g.part);) {
        if (!add_word(w, s, m, name, &g)) return false;
    }
    return true;
}

/* value=1&value=2 */
static bool add_repeated(struct rest_words *w, const struct rest_source *s, const struct member *m)
{
    struct given g = {.is_there = true, .is_text = true};
    struct slice rest = s->x->message->query;
    struct slice name;
    struct slice raw;
    while (http_query_next(&rest, &name, &raw)) {
        if (!slice_eq(name, slice_str(m->name))) continue;
        if (!http_decode(raw, true, &s->x->arena, &g.text)) {
            exchange_fail(s->x, 400, "the parameter '%s' is not valid percent-encoded UTF-8",
                          m->name);
            return false;
        }
        if (!add_word(w, s, m, m->name, &g)) return false;
    }
    return true;
}

/* "clamp": [low, high] */
static bool add_tuple(struct rest_words *w, const struct rest_source *s, const struct member *m,
                      const char *name, const struct json_part *list)
{
    struct given g = {.is_there = true};
    size_t count = 0;
    bool is_array = list->kind == JSON_ARRAY;
    if (is_array) {
        for (struct slice rest = json_inside(list); json_next_item(&rest, &g.part);) count++;
    }
    if (count != m->words) {
        exchange_fail(s->x, 400, "%s must be [%s, %s]", name, m->parts[0], m->parts[1]);
        return false;
    }
    rest_words_str(w, m->token);
    for (struct slice rest = json_inside(list); json_next_item(&rest, &g.part);) {
        if (!add_word(w, s, m, name, &g)) return false;
    }
    return true;
}

/* open=..&close=..: all of them, or none; *is_there. */
static bool add_parts(struct rest_words *w, const struct rest_source *s, const struct member *m,
                      bool *is_there)
{
    struct given g[4];
    size_t count = 0;
    INVARIANT(m->words <= sizeof g / sizeof g[0]);
    for (size_t i = 0; i < m->words; i++) {
        if (!find(s, m->parts[i], &g[i])) return false;
        count += g[i].is_there;
    }
    *is_there = count > 0;
    if (count > 0 && count < m->words) {
        exchange_fail(s->x, 400, "%s and %s must be given together", m->parts[0], m->parts[1]);
        return false;
    }
    if (count > 0) rest_words_str(w, m->token);
    for (size_t i = 0; i < count; i++) {
        if (!add_word(w, s, m, m->parts[i], &g[i])) return false;
    }
    return true;
}

static bool refuse_missing(const struct rest_source *s, const struct member *m, const char *name)
{
    struct rest_words none = {.x = s->x};
    struct given g = {.is_there = false};
    if (m->type == MEMBER_KEY && s->object != NULL) return add_key(&none, s, name, &g);
    if (m->type == MEMBER_TEXT && s->object != NULL) return add_text(&none, s, name, &g);
    if (m->type == MEMBER_VERSION) return refuse_version(s, name);
    exchange_fail(s->x, 400, "%s must be given", name);
    return false;
}

/* To wait for no time is not to wait; BLOCK 0 is to wait without an end. */
static bool is_no_wait(const struct member *m, const struct given *g)
{
    struct slice text = g->is_text ? g->text : g->part.raw;
    return m->token != NULL && strcmp(m->token, "BLOCK") == 0 && slice_eq(text, slice_str("0"));
}

/* An empty parameter of it is as none. */
static bool says_nothing(const struct rest_source *s, const struct member *m)
{
    if (m->type == MEMBER_KEY) return !rest_dialect_of(s->x)->has_empty_key;
    return m->type == MEMBER_TEXT || m->type == MEMBER_FILTER;
}

/* What was found of it, as words; *is_there. */
static bool add_member(struct rest_words *w, const struct rest_source *s, const struct member *m,
                       bool *is_there)
{
    struct given g;
    struct label label = label_of(s, m->name);
    bool is_set = true;
    if (m->words > 1 && s->object == NULL) return add_parts(w, s, m, is_there);
    if (!find(s, m->name, &g)) return false;
    if (g.is_text && g.text.len == 0 && says_nothing(s, m)) g.is_there = false;
    *is_there = g.is_there;
    if (!g.is_there) return true;
    if (m->type == MEMBER_FLAG) {
        if (!switch_of(s, label.text, &g, &is_set)) return false;
        *is_there = is_set;
        if (is_set) rest_words_str(w, m->token);
        return true;
    }
    if (m->words > 1) return add_tuple(w, s, m, label.text, &g.part);
    if (m->is_list && g.is_text && s->object == NULL) return add_repeated(w, s, m);
    if (m->is_list && !g.is_text) return add_list(w, s, m, label.text, &g.part);
    if (is_no_wait(m, &g)) return true;
    if (m->token != NULL) rest_words_str(w, m->token);
    return add_word(w, s, m, label.text, &g);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* "a, b and c": those of the members that exclude each other. */
static void alternatives_text(const struct rest_source *s, const struct members *of,
                              unsigned alternative, struct buf *out)
{
    size_t left = 0;
    for (size_t i = 0; i < of->count; i++) {
        const struct member *m = &of->items[i];
        left += m->alternative == alternative && !is_left_out(s, m->name);
    }
    for (size_t i = 0; i < of->count; i++) {
        const struct member *m = &of->items[i];
        if (m->alternative != alternative || is_left_out(s, m->name)) continue;
        buf_printf(out, "%s%s", m->name, left == 1 ? "" : left == 2 ? " and " : ", ");
        left--;
    }
}

static bool refuse_alternatives(const struct rest_source *s, const struct members *of,
                                unsigned alternative, bool is_none)
{
    struct buf names;
    buf_init(&names);
    alternatives_text(s, of, alternative, &names);
    buf_require(&names);
    exchange_fail(s->x, 400, "%s%s%s of %.*s %s be given", s->where, *s->where != '\0' ? ": " : "",
                  is_none ? "one" : "only one", (int)names.len, (const char *)names.data,
                  is_none ? "must" : "can");
    buf_fini(&names);
    return false;
}

bool rest_add_members(struct rest_words *w, const struct rest_source *s, const struct members *of)
{
    unsigned taken = 0; /* alternatives, by number */
    unsigned needed = 0;
    for (size_t i = 0; i < of->count; i++) {
        struct member m = of->items[i];
        bool is_limit = s->limit_max > 0 && strcmp(m.name, "limit") == 0;
        bool is_there = false;
        if (is_limit) m.max = s->limit_max;
        if (is_left_out(s, m.name)) continue;
        if (!add_member(w, s, &m, &is_there)) return false;
        if (!is_there && m.is_required) return refuse_missing(s, &m, label_of(s, m.name).text);
        if (is_limit && !is_there) {
            rest_words_str(w, m.token);
            rest_words_number(w, REST_LIMIT_DEFAULT);
        }
        if (m.is_needed) needed |= 1u << m.alternative;
        if (m.alternative == 0 || !is_there) continue;
        if ((taken >> m.alternative & 1) != 0) {
            return refuse_alternatives(s, of, m.alternative, false);
        }
        taken |= 1u << m.alternative;
    }
    for (unsigned i = 0; i < 32; i++) {
        if ((needed & ~taken) >> i & 1) return refuse_alternatives(s, of, i, true);
    }
    return true;
}

/* ---- lists of objects ------------------------------------------------------------------------ */

static bool is_one_of(const char *const *list, const char *token)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        if (strcmp(list[i], token) == 0) return true;
    }
    return false;
}

/* Only what has no list of its own is named by a type. */
static const struct members *variant_of(const struct rest_source *s, const struct members *variants,
                                        const char *const *others)
{
    const struct members *last = NULL;
    struct buf names;
    struct json_part part = rest_object_get(s->object, "type");
    struct slice type = slice_of(NULL, 0);
    if (rest_is_there(&part) && part.kind == JSON_STRING) type = json_text(&part, &s->x->arena);
    buf_init(&names);
    for (const struct members *v = variants; v->token != NULL; v++) {
        if (is_one_of(others, v->token)) continue;
        if (slice_eq(type, slice_str(v->name))) {
            buf_fini(&names);
            return v;
        }
        if (last != NULL) buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", last->name);
        last = v;
    }
    INVARIANT(last != NULL); /* not all have lists of their own */
    buf_require(&names);
    exchange_fail(s->x, 400, "%s.type must be %.*s or %s", s->where, (int)names.len,
                  (const char *)names.data, last->name);
    buf_fini(&names);
    return NULL;
}

static const struct members *only_variant(const struct members *variants, const char *token)
{
    while (variants->token != NULL && strcmp(variants->token, token) != 0) variants++;
    return variants;
}

/* A member that another type has is told of as such. */
static bool check_variant(const struct rest_source *s, const struct members *v,
                          const struct members *variants)
{
    for (size_t i = 0; i < s->object->count; i++) {
        struct slice name = s->object->names[i];
        if (member_find(v, name) != NULL) continue;
        for (const struct members *o = variants; o->token != NULL; o++) {
            if (member_find(o, name) == NULL) continue;
            exchange_fail(s->x, 400, "%s: %.*s does not apply to %s", s->where, shown(name),
                          (const char *)name.data, v->name);
            return false;
        }
    }
    return true;
}

static bool add_object(struct rest_words *w, const struct rest_source *s,
                       const struct members *variants, const char *only, const char *const *others)
{
    const struct members *v = only != NULL ? only_variant(variants, only) : NULL;
    if (v == NULL) {
        v = variant_of(s, variants, others);
        if (v == NULL || !check_variant(s, v, variants)) return false;
    }
    rest_words_str(w, v->token);
    return rest_check_members(s, v, only == NULL ? "type" : NULL) && rest_add_members(w, s, v);
}

/* An item that is the only member of its variant need be no object: "acks": ["..."]. */
static bool add_bare(struct rest_words *w, const struct rest_source *s, const struct members *v,
                     const struct json_part *item)
{
    struct given g = {.is_there = true, .part = *item};
    rest_words_str(w, v->token);
    return add_word(w, s, &v->items[0], s->where, &g);
}

bool rest_add_objects(struct rest_words *w, const struct json_part *list, const char *name,
                      const struct members *variants, const char *only, const char *const *others)
{
    struct json_part item;
    struct rest_object object;
    char where[48];
    size_t i = 0;
    struct rest_source s = {.x = w->x, .object = &object, .where = where};
    const struct members *v = only != NULL ? only_variant(variants, only) : NULL;
    bool is_bare = v != NULL && v->count == 1;
    if (list->kind != JSON_ARRAY) {
        exchange_fail(w->x, 400, "%s must be an array", name);
        return false;
    }
    for (struct slice rest = json_inside(list); json_next_item(&rest, &item); i++) {
        snprintf(where, sizeof where, "%s[%zu]", name, i);
        bool is_good = is_bare ? add_bare(w, &s, v, &item)
                               : rest_take_object(w->x, &item, where, &object) &&
                                     add_object(w, &s, variants, only, others);
        if (!is_good) return false;
    }
    return true;
}
