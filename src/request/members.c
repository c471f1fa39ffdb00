/* members: see members.h. The steps of a plan (plan.h) become a list. */
#include "request/members.h"

#include <ctype.h>

#include "request/plan.h"

#define MEMBERS_MAX 32
#define VARIANTS_MAX 16
#define NAME_CHARS 64

struct listing {
    struct member items[MEMBERS_MAX];
    size_t count;
    unsigned alternatives; /* so far */
};

/* ---- names ---- */

/* What "<word> <name> ..." says of the word; false = nothing. */
static bool listed_name(const char *list, const char *word, struct slice *name)
{
    size_t len = strlen(word);
    while (list != NULL && *list != '\0') {
        size_t of = strcspn(list, " ");
        const char *value = list + of + 1;
        *name = slice_of(value, strcspn(value, " "));
        if (of == len && memcmp(list, word, len) == 0) return true;
        list = value + name->len;
        list += strspn(list, " ");
    }
    return false;
}

/* NULL = it has none: it is not for such callers. */
static const char *name_of(const struct step *s)
{
    const char *word = s->token != NULL ? s->token : s->row->name;
    struct slice name;
    char text[NAME_CHARS] = {0};
    bool is_listed = listed_name(s->of->members, word, &name);
    if (is_listed && slice_eq(name, slice_str("-"))) return NULL;
    if (!is_listed) name = slice_str(word);
    INVARIANT(name.len < sizeof text);
    for (size_t i = 0; i < name.len; i++) {
        text[i] = (char)(is_listed ? name.data[i] : tolower(name.data[i]));
    }
    return plan_copy(text, name.len + 1);
}

/* ---- types ---- */

static void set_type(struct member *m, const struct argument *row)
{
    static const enum member_type types[] = {
        [WORD_TEXT] = MEMBER_TEXT,       [WORD_VALUE] = MEMBER_VALUE,
        [WORD_NUMBER] = MEMBER_NUMBER,   [WORD_ARRAY] = MEMBER_ARRAY,
        [WORD_INTEGER] = MEMBER_INTEGER, [WORD_TTL] = MEMBER_INTEGER,
        [WORD_FILTER] = MEMBER_FILTER,   [WORD_VERSION] = MEMBER_VERSION};
    m->type = row->kind->is_key ? MEMBER_KEY : types[row->kind->type];
    m->min = row->kind->type == WORD_TTL ? 1 : row->min;
    m->max = row->kind->type == WORD_TTL ? INT64_MAX / 2 : row->max;
    m->words = 1;
}

static const struct members *variants_of(const struct step *list);

static bool is_word(const struct step *s)
{
    return s->row != NULL && s->token == NULL && s->inside == NULL && !s->row->is_list;
}

/* Token and words: `[ON count path [path ...]]`, `[CLAMP lo hi]`. False = neither. */
static bool set_parts(struct member *m, const struct step *s)
{
    bool is_counted = s->count == 2 && s->parts[0].row != NULL &&
                      s->parts[0].row->kind == &arg_kind_count && s->parts[1].row != NULL &&
                      s->parts[1].row->is_list && s->parts[1].inside == NULL;
    for (size_t i = 0; i < s->count && !is_counted; i++) {
        if (!is_word(&s->parts[i])) return false;
    }
    set_type(m, s->parts[s->count - 1].row);
    if (is_counted) {
        m->is_list = m->has_count = true;
        m->count_min = s->parts[0].row->min;
        return true;
    }
    const char *names[MEMBERS_MAX];
    for (size_t i = 0; i < s->count; i++) names[i] = name_of(&s->parts[i]);
    m->words = s->count;
    m->parts = plan_copy(names, s->count * sizeof names[0]);
    return true;
}

/* False = JSON has no form for it. */
static bool set_step(struct member *m, const struct step *s)
{
    if (s->parts != NULL) return s->token != NULL && !s->is_oneof && set_parts(m, s);
    if (s->inside != NULL) {
        const struct plan *p = s->inside->plan;
        if (!s->row->is_list || s->token != NULL) return false;
        if (p->count == 1 && is_word(&p->steps[0])) {
            set_type(m, p->steps[0].row);
            m->is_list = true;
            m->count_min = 1;
            return true;
        }
        m->type = MEMBER_OBJECTS;
        m->is_list = true;
        m->variants = variants_of(s);
        return m->variants != NULL;
    }
    bool is_flag = s->row == NULL || s->row->kind == &arg_kind_flag;
    if (is_flag) {
        m->type = MEMBER_FLAG;
        return s->token != NULL;
    }
    if (s->row->kind->read == NULL || s->repeats_token) return false;
    set_type(m, s->row);
    m->is_list = s->row->is_list;
    m->count_min = 1;
    return true;
}

/* ---- steps ---- */

struct place {
    bool is_optional, is_needed;
    unsigned alternative;
};

static void add_steps(struct listing *l, const struct step *steps, size_t count, struct place at);

static void add_step(struct listing *l, const struct step *s, struct place at)
{
    bool is_single = s->inside != NULL && !s->row->is_list;
    if (s->is_optional) at.is_optional = true;
    if (s->is_oneof && s->token == NULL) {
        at.alternative = ++l->alternatives;
        at.is_needed = !at.is_optional;
        at.is_optional = true;
        for (size_t i = 0; i < s->count; i++) add_step(l, &s->parts[i], at);
        return;
    }
    if (s->token == NULL && (is_single || s->parts != NULL)) {
        size_t count = is_single ? s->inside->plan->count : s->count;
        add_steps(l, is_single ? s->inside->plan->steps : s->parts, count, at);
        return;
    }
    struct member m = {.token = s->token, .alternative = at.alternative, .is_needed = at.is_needed};
    if (s->token == NULL && s->row == NULL) return;
    m.name = name_of(s);
    if (m.name == NULL || !set_step(&m, s)) return;
    m.is_required = !at.is_optional;
    INVARIANT(l->count < MEMBERS_MAX);
    l->items[l->count++] = m;
}

static void add_steps(struct listing *l, const struct step *steps, size_t count, struct place at)
{
    for (size_t i = 0; i < count; i++) add_step(l, &steps[i], at);
}

static void take(struct members *out, const struct listing *l)
{
    out->items = plan_copy(l->items, l->count * sizeof l->items[0]);
    out->count = l->count;
}

/* `op` of KV.ATOMIC: each begins with a token, and is an object of that type. */
static const struct members *variants_of(const struct step *list)
{
    struct members out[VARIANTS_MAX + 1] = {{0}};
    const struct plan *p = list->inside->plan;
    const struct step *of = p->count == 1 && p->steps[0].is_oneof ? p->steps : NULL;
    if (of == NULL || of->count > VARIANTS_MAX) return NULL;
    for (size_t i = 0; i < of->count; i++) {
        const struct step *s = &of->parts[i];
        struct listing l = {.count = 0};
        if (s->token == NULL || s->inside == NULL) return NULL;
        add_steps(&l, s->inside->plan->steps, s->inside->plan->count, (struct place){0});
        out[i].name = name_of(s);
        out[i].token = s->token;
        take(&out[i], &l);
    }
    return plan_copy(out, (of->count + 1) * sizeof out[0]);
}

const struct members *arguments_members(const struct arguments *of)
{
    struct plan *p = of->plan;
    struct listing l = {.count = 0};
    if (p->members != NULL) return p->members;
    struct members made = {.name = NULL};
    add_steps(&l, p->steps, p->count, (struct place){0});
    take(&made, &l);
    p->members = plan_copy(&made, sizeof made);
    return p->members;
}

const struct member *member_find(const struct members *of, struct slice name)
{
    for (size_t i = 0; i < of->count; i++) {
        if (slice_eq(name, slice_str(of->items[i].name))) return &of->items[i];
    }
    return NULL;
}
