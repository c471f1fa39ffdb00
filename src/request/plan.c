/* plan: see plan.h. A text is read as syntax.c reads it; each argument of that becomes a step,
 * which has the row of its name. What is inside of a command's arguments has a plan of its own,
 * whose steps are used as they are, at another place of the struct.
 */
#include "request/plan.h"

#include <ctype.h>
#include <stdio.h>

#include "base/buf.h"
#include "request/syntax.h"
#include "request/table.h"

#define ROWS_MAX 32
#define STEPS_MAX 64
#define SETS_MAX 16
#define ENDS_MAX 8

/* They say what a row is; nothing is read. */
const struct argument_kind arg_kind_flag = {0}, arg_kind_choice = {0}, arg_kind_count = {0},
                           arg_kind_inside = {0}, arg_kind_made = {0}, arg_kind_fixed = {0};

/* Of plans and their steps, for ever. */
static struct arena plans;

struct maker {
    const struct arguments *of;
    uint32_t used; /* rows, by number */
    struct plan_set sets[SETS_MAX];
    struct plan_end ends[ENDS_MAX];
    size_t set_count, end_count;
    bool has_keys;
    size_t decoded; /* rows of keys and values, with what is inside */
};

static void wrong(const struct maker *m, const char *what, const char *name)
    __attribute__((noreturn));
static void wrong(const struct maker *m, const char *what, const char *name)
{
    die("arguments %s, \"%s\": %s '%s'", m->of->name, m->of->syntax, what, name);
}

/* ---- rows ---- */

static const struct argument *row_of(struct maker *m, const char *name)
{
    const struct argument *rows = m->of->rows;
    for (size_t i = 0; name != NULL && rows[i].name != NULL; i++) {
        if (rows[i].kind == &arg_kind_choice || rows[i].kind == &arg_kind_fixed ||
            strcmp(rows[i].name, name) != 0)
            continue;
        m->used |= 1u << i;
        return &rows[i];
    }
    return NULL;
}

static void find_choice(struct maker *m, struct step *s)
{
    const struct argument *rows = m->of->rows;
    for (size_t i = 0; s->token != NULL && rows[i].name != NULL; i++) {
        const struct choice *c = rows[i].choices;
        while (c != NULL && c->token != NULL && strcmp(c->token, s->token) != 0) c++;
        if (c == NULL || c->token == NULL) continue;
        m->used |= 1u << i;
        s->which = &rows[i];
        s->value = c->value;
        return;
    }
}

static bool is_decoded(const struct argument *a)
{
    return a->kind->is_key || a->kind->is_value;
}

static void check_rows(struct maker *m)
{
    for (size_t i = 0; m->of->rows[i].name != NULL; i++) {
        const struct argument *a = &m->of->rows[i];
        if (i == ROWS_MAX) wrong(m, "too many rows, at", a->name);
        m->has_keys = m->has_keys || a->kind->is_key ||
                      (a->inside != NULL && a->inside->plan->has_keys);
        m->decoded += is_decoded(a);
        if (a->inside != NULL) m->decoded += a->inside->plan->decoded;
        bool is_word = a->kind != &arg_kind_fixed;
        if (is_word && (m->used >> i & 1) == 0) wrong(m, "the text does not have", a->name);
        if (a->at + (a->is_list ? 0u : a->size) > m->of->size) wrong(m, "outside", a->name);
    }
}

/* ---- steps ---- */

const void *plan_copy(const void *from, size_t bytes)
{
    void *copy = arena_alloc(&plans, bytes);
    if (bytes > 0) memcpy(copy, from, bytes);
    return copy;
}

/* Fewest words of steps from `first` on. */
static size_t plan_words_min(const struct step *first, size_t count)
{
    size_t words = 0;
    for (size_t i = 0; i < count; i++) words += first[i].is_optional ? 0 : first[i].words_min;
    return words;
}

static size_t words_min(const struct step *s)
{
    size_t words = s->token != NULL;
    if (s->inside != NULL) return words + s->inside->plan->words_min;
    if (s->row != NULL) return words + (s->row->kind != &arg_kind_flag);
    if (!s->is_oneof) return words + plan_words_min(s->parts, s->count);
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < s->count; i++) {
        if (s->parts[i].words_min < least) least = s->parts[i].words_min;
    }
    return words + least;
}

static size_t words_each(const struct step *s)
{
    if (s->inside == NULL) return 1;
    const struct plan *p = s->inside->plan;
    return p->words_min == p->words_max ? p->words_min : 0;
}

/* Of the steps of the parts, or of what is inside. */
static const struct step *parts_of(const struct step *s, size_t *count)
{
    *count = s->inside != NULL ? s->inside->plan->count : s->count;
    if (!s->is_oneof && *count > 1) *count = 1;
    return s->inside != NULL ? s->inside->plan->steps : s->parts;
}

static bool has_token(const struct step *s)
{
    size_t count;
    const struct step *parts = parts_of(s, &count);
    if (s->token != NULL || count == 0) return s->token != NULL;
    for (size_t i = 0; i < count; i++) {
        if (!parts[i].has_token) return false;
    }
    return true;
}

static uint32_t starts(const struct step *s)
{
    size_t count;
    uint32_t starts = 0;
    const struct step *parts = parts_of(s, &count);
    if (s->token != NULL) return word_start(slice_str(s->token));
    for (size_t i = 0; i < count; i++) starts |= parts[i].starts;
    return starts;
}

bool step_takes(const struct step *s, struct slice word, uint32_t start)
{
    size_t count;
    if ((s->starts & start) == 0) return false;
    if (s->token != NULL) return slice_is_word(word, s->token);
    const struct step *parts = parts_of(s, &count);
    for (size_t i = 0; i < count; i++) {
        if (step_takes(&parts[i], word, start)) return true;
    }
    return false;
}

static const struct step *make_steps(struct maker *m, const struct syntax_args *args,
                                     size_t *count);

static void make_step(struct maker *m, const struct syntax_arg *a, struct step *s)
{
    *s = (struct step){.of = m->of,
                       .token = a->token,
                       .is_optional = a->is_optional,
                       .is_multiple = a->is_multiple,
                       .repeats_token = a->is_multiple && a->has_multiple_token,
                       .is_oneof = a->type == SYNTAX_ONEOF};
    find_choice(m, s);
    if (a->children.count > 0) {
        size_t count = 0;
        s->parts = make_steps(m, &a->children, &count);
        s->count = (uint16_t)count;
    } else {
        s->row = row_of(m, a->token);
        if (s->row == NULL && a->type != SYNTAX_TOKEN) s->row = row_of(m, a->name);
        if (s->row == NULL && s->which == NULL) wrong(m, "no row for", a->name);
    }
    if (s->row != NULL && s->row->inside != NULL) {
        s->inside = s->row->inside;
        plan_make(s->inside);
        if (s->row->kind == &arg_kind_inside && !s->row->is_list &&
            s->row->at + s->inside->size > m->of->size) {
            wrong(m, "the struct is too small for", a->name);
        }
    }
    if (a->is_multiple && (s->row == NULL || !s->row->is_list)) wrong(m, "no list for", a->name);
    if (s->token != NULL) s->token = plan_copy(s->token, strlen(s->token) + 1);
    s->words_min = (uint16_t)words_min(s);
    if (s->row != NULL && s->row->is_list) s->words_each = (uint16_t)words_each(s);
    bool is_list = s->row != NULL && s->row->is_list && s->token == NULL;
    s->has_token = has_token(s);
    s->starts = starts(s);
    s->is_option = a->is_optional && !is_list && s->has_token;
    s->is_word = s->token == NULL && s->row != NULL && s->row->kind->read != NULL &&
                 !s->row->is_list && s->inside == NULL && !s->is_optional;
}

/* What is inside is neither optional nor one of several: as if its steps were written here. */
static bool is_spliced(const struct step *s)
{
    return s->inside != NULL && s->token == NULL && !s->is_optional && !s->row->is_list &&
           s->row->kind == &arg_kind_inside;
}

static void add_set(struct maker *m, size_t at, size_t size, int64_t value)
{
    if (m->set_count == SETS_MAX) wrong(m, "too much that is set in", m->of->name);
    m->sets[m->set_count++] = (struct plan_set){
        .at = (uint16_t)at, .size = (uint16_t)size, .value = value};
}

static void add_end(struct maker *m, const struct arguments *of, size_t base)
{
    if (m->end_count == ENDS_MAX) wrong(m, "too much inside, at", of->name);
    m->ends[m->end_count++] = (struct plan_end){.of = of, .base = (uint16_t)base};
}

static void splice(struct maker *m, const struct step *s, struct step *room, size_t *n)
{
    const struct plan *p = s->inside->plan;
    for (size_t i = 0; i < p->count; i++) {
        room[*n] = p->steps[i];
        room[(*n)++].base = (uint16_t)(p->steps[i].base + s->row->at);
    }
    for (size_t i = 0; i < p->set_count; i++) {
        add_set(m, p->sets[i].at + s->row->at, p->sets[i].size, p->sets[i].value);
    }
    for (size_t i = 0; i < p->end_count; i++) {
        add_end(m, p->ends[i].of, p->ends[i].base + s->row->at);
    }
}

/* What each step has to know of those after it. */
static void tell_following(struct step *steps, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        struct step *s = &steps[i];
        const struct step *next = i + 1 < count && s[1].is_option ? &s[1] : NULL;
        s->words_after = (uint16_t)plan_words_min(s + 1, count - i - 1);
        s->options = 0;
        if (!s->is_option) continue;
        s->options = (uint16_t)(1 + (next != NULL ? next->options : 0));
        s->options_start = s->starts | (next != NULL ? next->options_start : 0);
    }
}

static const struct step *make_steps(struct maker *m, const struct syntax_args *args, size_t *count)
{
    struct step room[STEPS_MAX];
    size_t n = 0;
    for (const struct syntax_arg *a = args->first; a != NULL; a = a->next) {
        struct step s;
        make_step(m, a, &s);
        size_t more = is_spliced(&s) ? s.inside->plan->count : 1;
        if (n + more > STEPS_MAX) wrong(m, "too many arguments, at", a->name);
        if (is_spliced(&s)) {
            splice(m, &s, room, &n);
        } else {
            room[n++] = s;
        }
    }
    tell_following(room, n);
    *count = n;
    return plan_copy(room, n * sizeof *room);
}

/* ---- plans ---- */

static void set_own(struct maker *m)
{
    for (const struct argument *a = m->of->rows; a->name != NULL; a++) {
        bool has_default = a->otherwise != 0 && !a->is_list;
        if (a->kind == &arg_kind_fixed || has_default) add_set(m, a->at, a->size, a->otherwise);
    }
}

static size_t words_max(const struct step *first, size_t count);

/* Of alternatives, those of the longest. */
static size_t words_max_of(const struct step *s)
{
    size_t most = 0;
    if (s->is_optional || s->is_multiple || s->inside != NULL) return WORDS_ANY;
    if (s->parts == NULL) return s->words_min;
    if (!s->is_oneof) most = words_max(s->parts, s->count);
    for (size_t i = 0; i < s->count && s->is_oneof; i++) {
        size_t words = words_max_of(&s->parts[i]);
        if (words > most) most = words;
    }
    return most == WORDS_ANY ? most : most + (s->token != NULL);
}

/* WORDS_ANY: what may be left out is not counted. */
static size_t words_max(const struct step *first, size_t count)
{
    size_t words = 0;
    for (size_t i = 0; i < count; i++) {
        size_t more = words_max_of(&first[i]);
        if (more == WORDS_ANY) return WORDS_ANY;
        words += more;
    }
    return words;
}

/* What most commands have, and most others when nothing else is said: words one after another. */
static void find_row(const struct arguments *of, struct plan *p)
{
    struct row_word words[STEPS_MAX];
    size_t bytes = 0;
    size_t i = 0;
    for (; i < p->count; i++) {
        const struct step *s = &p->steps[i];
        if (s->is_optional || s->token != NULL || s->row == NULL || s->row->is_list) break;
        if (s->row->kind->read == NULL) break;
        bytes += s->row->size;
        words[i] = (struct row_word){
            .read = s->row->kind->read, .argument = s->row, .at = s->base + s->row->at};
    }
    p->row = plan_copy(words, i * sizeof words[0]);
    p->row_words = (uint16_t)i;
    p->is_filled = i == p->count && p->set_count + p->end_count == 0 && bytes == of->size;
    p->is_row = p->words_min == i;
    size_t found = 0;
    p->decoded_words = 0;
    for (size_t k = 0; k < i; k++) {
        if (!is_decoded(words[k].argument)) continue;
        found++;
        p->decoded_words = (uint16_t)(k + 1);
    }
    if (found != p->decoded) p->decoded_words = WORDS_ANY;
}

static bool is_choice(const struct arguments *of, const struct plan *p)
{
    bool is_one = p->count == 1 && p->steps[0].is_oneof && !p->steps[0].is_optional;
    bool does_more = p->set_count + p->end_count > 0 || of->hint != NULL || of->refusal != NULL;
    return is_one && p->steps[0].token == NULL && !does_more;
}

void plan_make(const struct arguments *of)
{
    struct arena arena;
    struct maker m = {.of = of};
    struct syntax_args args;
    struct error e = {0};
    struct plan *p = of->plan;
    size_t count = 0;
    if (p->is_made) return;
    p->is_made = true;
    arena_init(&arena, 4096);
    if (syntax_parse(of->syntax, &arena, &args, &e) != OK) wrong(&m, "wrong syntax", e.text);
    set_own(&m);
    p->steps = make_steps(&m, &args, &count);
    check_rows(&m);
    arena_fini(&arena);
    if (of->check != NULL || of->subjects != NULL) add_end(&m, of, 0);
    p->count = (uint16_t)count;
    p->sets = plan_copy(m.sets, m.set_count * sizeof m.sets[0]);
    p->set_count = (uint16_t)m.set_count;
    p->ends = plan_copy(m.ends, m.end_count * sizeof m.ends[0]);
    p->end_count = (uint16_t)m.end_count;
    p->words_min = (uint16_t)plan_words_min(p->steps, p->count);
    if (of->words_least > p->words_min) p->words_min = (uint16_t)of->words_least;
    p->words_max = (uint16_t)words_max(p->steps, p->count);
    p->has_keys = m.has_keys;
    p->is_choice = is_choice(of, p);
    p->decoded = (uint16_t)m.decoded;
    find_row(of, p);
}

/* From the constant table, before main, as the names (command.c). */
__attribute__((constructor)) static void plans_make(void)
{
    arena_init(&plans, 64 * 1024);
    for (const struct command *const *c = command_table; *c != NULL; c++) {
        const struct command *const *sub = (*c)->subcommands;
        plan_make((*c)->arguments);
        for (; sub != NULL && *sub != NULL; sub++) plan_make((*sub)->arguments);
    }
}

/* ---- as text ---- */

/* What a name in the text stands for, when that is more than a word: of the row that has the name,
 * or that of the token before it. NULL = it stands for itself. */
static const char *stands_for(const struct arguments *of, struct slice token, struct slice name,
                              struct arena *arena)
{
    for (const struct argument *a = of->rows; a->name != NULL; a++) {
        struct slice row = slice_str(a->name);
        if (!slice_eq(row, name) && !(token.len > 0 && slice_eq(row, token))) continue;
        return a->inside != NULL ? arguments_syntax(a->inside, arena) : a->kind->syntax;
    }
    return NULL;
}

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == ':';
}

/* Alternatives alone in brackets need no brackets of their own. */
static void add_text(struct buf *out, const char *text, bool is_in_brackets)
{
    size_t len = strlen(text);
    bool is_oneof = len > 1 && text[0] == '<' && strchr(text, '>') == text + len - 1;
    if (is_oneof && is_in_brackets) {
        buf_append(out, text + 1, len - 2);
    } else {
        buf_append(out, text, len);
    }
}

const char *arguments_syntax(const struct arguments *of, struct arena *arena)
{
    struct buf out;
    struct slice token = {0}; /* right before, if there is one */
    if (of->shown != NULL) return of->shown;
    buf_init(&out);
    for (const char *p = of->syntax; *p != '\0';) {
        size_t len = 0;
        while (is_name_byte(p[len])) len++;
        if (len == 0) {
            if (*p != ' ') token = slice_of(NULL, 0);
            buf_append_byte(&out, (uint8_t)*p++);
            continue;
        }
        bool is_token = isupper((unsigned char)*p) != 0;
        const char *text = is_token ? NULL : stands_for(of, token, slice_of(p, len), arena);
        bool is_in_brackets = p > of->syntax && p[-1] == '[' && p[len] == ']';
        if (text != NULL) {
            add_text(&out, text, is_in_brackets);
        } else {
            buf_append(&out, p, len);
        }
        token = is_token ? slice_of(p, len) : slice_of(NULL, 0);
        p += len;
    }
    buf_append_byte(&out, 0);
    buf_require(&out);
    struct slice copy = arena_copy(arena, buf_slice(&out));
    buf_fini(&out);
    return (const char *)copy.data;
}
