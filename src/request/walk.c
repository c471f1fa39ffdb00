/* Words against the steps of a plan: which argument takes which word, and what is wrong. */
#include "request/walk.h"

#define ITEMS_FEW 8 /* fewer get just the room that they need */

/* ---- words ---- */

static size_t words_left(const struct walk *w)
{
    return w->argc - w->at;
}

static void set(uint8_t *base, const struct argument *a, int64_t value)
{
    if (base == NULL) return;
    int32_t narrow = (int32_t)value;
    bool flag = value != 0;
    switch (a->size) {
    case 1: memcpy(base + a->at, &flag, 1); break;
    case 4: memcpy(base + a->at, &narrow, 4); break;
    default: memcpy(base + a->at, &value, 8); break;
    }
}

static enum err wrong(struct walk *w, enum wrong what, const struct step *s)
{
    w->wrong = what;
    w->step = s;
    return ERR_SYNTAX;
}

static enum err missing(struct walk *w)
{
    return wrong(w, WRONG_MISSING, NULL);
}

static enum err take_word(struct walk *w, const struct argument *a, void *to)
{
    if (words_left(w) == 0) {
        w->wanted = a;
        return missing(w);
    }
    enum err r = w->ops->word(w, a, to);
    if (r == OK) w->at++;
    return r;
}

static enum err take_count(struct walk *w, const struct argument *a)
{
    enum err r = words_left(w) == 0 ? missing(w) : w->ops->count(w, a);
    w->count = a;
    if (r == OK) w->at++;
    if (r != OK) w->wrong_count = a;
    return r;
}

/* ---- lists ---- */

/* What comes after a step: where a list must end. */
struct follows {
    size_t words_min;
    const struct step *options; /* that may come then; NULL = none */
};

static enum err walk_inside(struct walk *w, const struct arguments *of, uint8_t *base,
                            size_t after);
static enum err walk_oneof(struct walk *w, const struct step *s, uint8_t *base,
                           const struct follows *f);

/* Of the options from `first` on, the one that takes the word at w->at. NULL = none of them. */
static const struct step *option_of(const struct walk *w, const struct step *first)
{
    struct slice word = w->argv[w->at];
    uint32_t start = word_start(word);
    if ((first->options_start & start) == 0) return NULL;
    for (const struct step *s = first; s < first + first->options; s++) {
        if (step_takes(s, word, start)) return s;
    }
    return NULL;
}

/* Does the list end before the word at w->at? */
static bool list_ends(const struct walk *w, const struct step *s, const struct follows *f)
{
    if (words_left(w) <= f->words_min) return true;
    if (s->repeats_token) return !slice_is_word(w->argv[w->at], s->token);
    return f->options != NULL && option_of(w, f->options) != NULL;
}

static enum err fits(struct walk *w, const struct argument *a, size_t items)
{
    return a->fits != NULL && w->ops->fits != NULL ? w->ops->fits(w, a, items) : OK;
}

/* How many words the list has for certain before its last one, and may be passed without a look at
 * them: when it is known from numbers alone where it ends. */
static size_t words_passed(const struct walk *w, const struct argument *a, int64_t counted,
                           const struct follows *f)
{
    bool ends_by_word = counted < 0 && f->options != NULL;
    size_t count = words_left(w) > f->words_min ? words_left(w) - f->words_min : 0;
    if (ends_by_word || w->ops->passes == NULL || !w->ops->passes(w, a)) return 0;
    if (counted >= 0) count = (size_t)counted;
    return count > 1 ? count - 1 : 0;
}

/* Words as they came need no copy. */
static enum err walk_plain_list(struct walk *w, const struct step *s, uint8_t *base,
                                int64_t counted, const struct follows *f)
{
    const struct argument *a = s->row;
    struct argument_list list = {.items = bytes_unconst(w->argv + w->at)};
    bool may_be_empty = s->token == NULL && s->is_optional;
    list.count = words_passed(w, a, counted, f);
    w->at += list.count;
    if (counted >= 0) counted -= (int64_t)list.count;
    while (counted >= 0 ? counted-- > 0
                        : (list.count == 0 && !may_be_empty) || !list_ends(w, s, f)) {
        struct slice same;
        enum err r = take_word(w, a, base != NULL ? &same : NULL);
        if (r != OK) return r;
        list.count++;
    }
    if (base != NULL) memcpy(base + a->at, &list, sizeof list);
    return fits(w, a, list.count);
}

static enum err walk_item(struct walk *w, const struct step *s, uint8_t *item,
                          const struct follows *f)
{
    if (s->inside == NULL) return take_word(w, s->row, item);
    if (!s->inside->plan->is_choice) return walk_inside(w, s->inside, item, f->words_min);
    struct follows next = {.words_min = f->words_min};
    return walk_oneof(w, s->inside->plan->steps, item, &next);
}

/* Few items, of as many words each: no room is made for more of them than there can be. */
static size_t room_for_few(struct walk *w, struct argument_list *list, size_t most,
                           size_t item_bytes)
{
    if (w->arena == NULL || list->count > 0 || most == 0 || most >= ITEMS_FEW) return list->count;
    list->items = arena_alloc(w->arena, most * item_bytes);
    return most;
}

/* Items of their own; their number is known before when each has as many words. */
static enum err walk_items(struct walk *w, const struct step *s, struct argument_list *list,
                           int64_t counted, const struct follows *f)
{
    bool is_even = !s->repeats_token && s->words_each > 0;
    bool may_be_empty = s->token == NULL && s->is_optional;
    size_t item_bytes = s->inside != NULL ? s->inside->size : s->row->size;
    size_t most = is_even ? (words_left(w) - f->words_min) / s->words_each : SIZE_MAX;
    size_t cap = room_for_few(w, list, most, item_bytes);
    enum err r = is_even ? fits(w, s->row, most) : OK;
    for (size_t i = 0; r == OK; i++) {
        uint8_t *item = NULL;
        if (counted >= 0 ? counted-- == 0 : (i > 0 || may_be_empty) && list_ends(w, s, f))
            return OK;
        if (i > 0 && s->repeats_token) w->at++;
        if (w->arena != NULL) {
            list->items = arena_grow(w->arena, list->items, list->count, &cap, item_bytes);
            item = (uint8_t *)list->items + list->count++ * item_bytes;
            memset(item, 0, item_bytes);
        }
        if (!is_even) r = fits(w, s->row, i + 1);
        if (r == OK) r = walk_item(w, s, item, f);
        if (r == OK || w->wrong_item != NULL || s->row->item == NULL) continue;
        w->wrong_item = s->row;
        w->item_number = i;
    }
    return r;
}

static enum err walk_list(struct walk *w, const struct step *s, uint8_t *base,
                          const struct follows *f)
{
    struct argument_list list = {0};
    int64_t counted = w->counted;
    bool is_plain = s->row->kind->is_as_it_came && !s->repeats_token;
    /* An option that is given again adds to it. */
    if (base != NULL && s->repeats_token) memcpy(&list, base + s->row->at, sizeof list);
    enum err r = OK;
    w->counted = -1;
    if (s->row->is_half) counted = (int64_t)(words_left(w) > 1 ? words_left(w) / 2 : 1);
    if (counted > (int64_t)words_left(w)) r = missing(w);
    if (r == OK && is_plain) return walk_plain_list(w, s, base, counted, f);
    if (r == OK) r = walk_items(w, s, &list, counted, f);
    if (r != OK && counted >= 0) w->wrong_count = w->count;
    if (r == OK && base != NULL) memcpy(base + s->row->at, &list, sizeof list);
    return r;
}

/* ---- steps ---- */

static enum err walk_steps(struct walk *w, const struct step *steps, size_t count, uint8_t *base,
                           size_t after);

static enum err walk_step(struct walk *w, const struct step *s, uint8_t *base,
                          const struct follows *f);
static enum err walk_taken(struct walk *w, const struct step *s, uint8_t *base,
                           const struct follows *f);

static enum err walk_oneof(struct walk *w, const struct step *s, uint8_t *base,
                           const struct follows *f)
{
    const struct step *plain = NULL;
    if (words_left(w) == 0) return missing(w);
    struct slice word = w->argv[w->at];
    uint32_t start = word_start(word);
    for (const struct step *part = s->parts; part < s->parts + s->count; part++) {
        if (step_takes(part, word, start)) return walk_taken(w, part, base, f);
        if (plain == NULL && !part->has_token) plain = part;
    }
    if (plain == NULL) return wrong(w, WRONG_NO_CHOICE, s);
    return walk_step(w, plain, base, f);
}

static uint8_t *make_struct(struct walk *w, const struct arguments *of, uint8_t *pointer)
{
    uint8_t *made = arena_alloc(w->arena, of->size);
    memset(made, 0, of->size);
    memcpy(pointer, &made, sizeof made);
    return made;
}

static enum err walk_step(struct walk *w, const struct step *s, uint8_t *base,
                          const struct follows *f)
{
    if (s->token != NULL) {
        if (words_left(w) == 0) return missing(w);
        if (!slice_is_word(w->argv[w->at], s->token)) return wrong(w, WRONG_UNEXPECTED, s);
    }
    return walk_taken(w, s, base, f);
}

/* A step whose token, if it has one, is the word at w->at. */
static enum err walk_taken(struct walk *w, const struct step *s, uint8_t *base,
                           const struct follows *f)
{
    const struct argument *a = s->row;
    if (base != NULL) base += s->base;
    if (s->token != NULL) {
        w->token = s->token;
        w->at++;
    }
    if (s->which != NULL) set(base, s->which, s->value);
    if (s->is_oneof) return walk_oneof(w, s, base, f);
    if (s->count > 0) return walk_steps(w, s->parts, s->count, base, f->words_min);
    if (a == NULL) return OK; /* its token is all */
    if (a->is_list) return walk_list(w, s, base, f);
    uint8_t *to = base != NULL ? base + a->at : NULL;
    if (s->inside != NULL) {
        if (w->ops->inside != NULL) w->ops->inside(w, a);
        if (base != NULL && a->kind == &arg_kind_made) to = make_struct(w, s->inside, to);
        return walk_inside(w, s->inside, to, f->words_min);
    }
    if (a->kind == &arg_kind_count) return take_count(w, a);
    if (a->kind != &arg_kind_flag) return take_word(w, a, to);
    set(base, a, true);
    return OK;
}

/* Options in any order, until a word is none of them. */
static enum err walk_options(struct walk *w, const struct step *first, uint8_t *base, size_t after)
{
    uint64_t seen = 0;
    struct follows f = {.words_min = after, .options = first};
    while (words_left(w) > 0) {
        const struct step *s = option_of(w, first);
        if (s == NULL) return OK;
        uint64_t bit = 1ull << (s - first);
        if ((seen & bit) != 0 && !s->repeats_token) return wrong(w, WRONG_REPEATED, s);
        seen |= bit;
        enum err r = walk_taken(w, s, base, &f);
        if (r != OK) return r;
    }
    return OK;
}

static enum err walk_next(struct walk *w, const struct step *s, const struct step *end,
                          uint8_t *base, size_t after)
{
    bool is_last = s + 1 == end || !s[1].is_option;
    struct follows f = {.words_min = after + s->words_after, .options = is_last ? NULL : s + 1};
    if (s->is_optional && w->counted <= 0 && words_left(w) <= f.words_min) {
        w->counted = -1;
        return OK;
    }
    return walk_step(w, s, base, &f);
}

/* `after`: words that what comes after all of them needs at least. */
static enum err walk_steps(struct walk *w, const struct step *steps, size_t count, uint8_t *base,
                           size_t after)
{
    const struct step *end = steps + count;
    enum err r = OK;
    for (const struct step *s = steps; s < end && r == OK; s++) {
        if (s->is_word) {
            r = take_word(w, s->row, base != NULL ? base + s->base + s->row->at : NULL);
        } else if (s->options > 0) {
            const struct step *last = s + s->options - 1;
            r = walk_options(w, s, base, after + last->words_after);
            s = last;
        } else {
            r = walk_next(w, s, end, base, after);
        }
    }
    return r;
}

enum err walk_count(struct walk *w, const struct argument *a)
{
    (void)a;
    bool is_good = slice_to_i64(w->argv[w->at], &w->counted) && w->counted >= 0;
    return is_good ? OK : ERR_SYNTAX;
}

void walk_begin(const struct plan *p, uint8_t *base)
{
    for (size_t i = 0; i < p->set_count; i++) {
        const struct plan_set *x = &p->sets[i];
        struct argument a = {.at = x->at, .size = x->size};
        set(base, &a, x->value);
    }
}

static enum err walk_ends(struct walk *w, const struct plan *p, uint8_t *base)
{
    enum err r = OK;
    for (size_t i = 0; i < p->end_count && r == OK && w->ops->end != NULL; i++) {
        r = w->ops->end(w, p->ends[i].of, base + p->ends[i].base);
    }
    return r;
}

static enum err walk_inside(struct walk *w, const struct arguments *of, uint8_t *base, size_t after)
{
    const struct plan *p = of->plan;
    const struct arguments *outer = w->of;
    if (of->hint != NULL || of->refusal != NULL) w->of = of;
    walk_begin(p, base);
    enum err r = walk_steps(w, p->steps, p->count, base, after);
    if (r == OK) r = walk_ends(w, p, base);
    if (r == OK) w->of = outer; /* else its words are wanted */
    return r;
}

enum err walk_words(struct walk *w, const struct arguments *of, void *base)
{
    const struct plan *p = of->plan;
    w->of = of;
    w->counted = -1;
    walk_begin(p, base);
    enum err r = walk_steps(w, p->steps, p->count, base, 0);
    if (r == OK && words_left(w) > 0) r = wrong(w, WRONG_UNEXPECTED, NULL);
    return r == OK ? walk_ends(w, p, base) : r;
}
