/* keys: two questions. Which of these words are keys: the walk over them (walk.h) says it. Where do
 * keys stand in any call: that is taken from the plan (plan.h) alone, by counting words for as long
 * as every step before has a fixed number of them. */
#include "request/keys.h"

#include "request/walk.h"

#define KEYS_MAX 32 /* that the words of a command are described as */
#define KEY_USE_KINDS (KEY_RO | KEY_RW | KEY_OW | KEY_RM)

static void key_uses_add(struct key_uses *u, struct slice word, unsigned flags)
{
    if (u->count == u->cap && u->arena == NULL) return;
    u->items = arena_grow(u->arena, u->items, u->count, &u->cap, sizeof *u->items);
    u->items[u->count++] = (struct key_use){.word = word, .flags = flags};
}

/* ---- finding ---- */

bool command_has_keys(const struct command *c)
{
    return c->arguments->plan->has_keys;
}

static enum err look_at_word(struct walk *w, const struct argument *a, void *to)
{
    (void)to;
    if (a->kind->is_key) key_uses_add(w->arg, w->argv[w->at], a->flags);
    return OK;
}

/* The keys among words that are not bound. */
static bool look(const struct command *c, const struct slice *argv, size_t argc,
                 struct key_uses *out)
{
    static const struct walk_ops ops = {.word = look_at_word, .count = walk_count};
    struct walk w = {
        .ops = &ops, .arg = out, .argv = argv, .argc = argc, .at = command_words_before(c)};
    return walk_words(&w, c->arguments, NULL) == OK;
}

bool command_keys(const struct command *c, const struct slice *argv, size_t argc,
                  struct key_uses *out)
{
    size_t before = out->count;
    bool is_good = look(c, argv, argc, out);
    unsigned flags = c->key_flags_of != NULL ? c->key_flags_of(argv, argc) : c->key_flags;
    for (size_t i = before; i < out->count; i++) {
        if ((out->items[i].flags & KEY_USE_KINDS) == 0) out->items[i].flags |= flags;
    }
    return is_good;
}

/* ---- telling ---- */

struct placing {
    const struct command *command;
    struct key_spec *specs;
    size_t count;
    size_t at;             /* words that were passed; SIZE_MAX: not all are in fixed places */
    size_t fixed;          /* those that are, before the first that is not */
    size_t after;          /* words after the step; SIZE_MAX: not always as many */
    size_t counted;        /* the word that says how many keys the step has; SIZE_MAX: none does */
    int numbers[KEYS_MAX]; /* of the spec of each key, in the order of the words */
    size_t keys;
};

static void number_key(struct placing *p, size_t spec)
{
    INVARIANT(p->keys < KEYS_MAX);
    p->numbers[p->keys++] = (int)spec;
}

static void add_spec(struct placing *p, struct key_spec s)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct key_spec *x = &p->specs[i];
        if (x->place != s.place || s.place == KEYS_FIXED || s.place == KEYS_COUNTED) continue;
        if (s.place == KEYS_KEYWORD && strcmp(x->keyword, s.keyword) != 0) continue;
        number_key(p, i);
        return;
    }
    struct key_spec *last = p->count > 0 ? &p->specs[p->count - 1] : NULL;
    bool follows = last != NULL && s.place == KEYS_FIXED && last->place == KEYS_FIXED &&
                   last->flags == s.flags && last->last + 1 == s.first && s.step == 1;
    if (follows) {
        last->last = s.last;
    } else {
        INVARIANT(p->count < KEY_SPECS_MAX);
        p->specs[p->count++] = s;
    }
    number_key(p, p->count - 1);
}

static void place_steps(struct placing *p, const struct step *steps, size_t count,
                        const char *token, bool is_repeated);

static void place_key(struct placing *p, const struct step *s, const char *token, bool is_repeated)
{
    unsigned flags = s->row->flags;
    if ((flags & KEY_USE_KINDS) == 0) flags |= p->command->key_flags;
    flags &= ~(unsigned)(KEY_PREFIX | KEY_START | KEY_END);
    bool is_list = s->row->is_list;
    if (is_list && p->counted != SIZE_MAX) {
        add_spec(p,
                 (struct key_spec){
                     .place = KEYS_COUNTED, .first = (int)p->counted, .step = 1, .flags = flags});
    } else if (p->at != SIZE_MAX && (!is_list || p->after != SIZE_MAX)) {
        add_spec(p, (struct key_spec){.place = KEYS_FIXED,
                                      .first = (int)p->at,
                                      .last = is_list ? -1 - (int)p->after : (int)p->at,
                                      .step = 1,
                                      .flags = flags});
    } else if (token != NULL && !is_repeated) {
        add_spec(p, (struct key_spec){.place = KEYS_KEYWORD,
                                      .keyword = token,
                                      .first = (int)p->fixed,
                                      .is_multiple = is_list,
                                      .is_half = s->row->is_half,
                                      .flags = flags});
    } else {
        unsigned own = p->command->key_flags; /* of keys among which others may be */
        add_spec(p, (struct key_spec){.place = KEYS_UNKNOWN, .flags = own != 0 ? own : flags});
    }
}

/* Items of a list, each of so many words, up to the end. */
static void place_items(struct placing *p, const struct step *s)
{
    size_t from = p->count;
    size_t after = p->after;
    const struct plan *inside = s->inside->plan;
    if (after == SIZE_MAX || s->words_each == 0) p->at = SIZE_MAX;
    place_steps(p, inside->steps, inside->count, NULL, p->at == SIZE_MAX);
    for (size_t i = from; i < p->count && p->at != SIZE_MAX; i++) {
        p->specs[i].last = -1 - (int)after;
        p->specs[i].step = (int)s->words_each;
    }
}

static void place_step(struct placing *p, const struct step *s, const char *token, bool is_repeated)
{
    const char *own = s->token != NULL ? s->token : token;
    size_t before = p->at;
    bool is_list = s->row != NULL && s->row->is_list;
    bool is_there = !s->is_optional || is_list; /* of a list there may be none */
    bool is_fixed = is_there && s->token == NULL && !s->is_oneof && before != SIZE_MAX;
    if (!is_fixed && before != SIZE_MAX) p->fixed = before;
    if (!is_fixed) p->at = SIZE_MAX;
    if (s->row != NULL && s->row->kind->is_key) {
        place_key(p, s, own, is_repeated);
    } else if (s->inside != NULL && is_list) {
        place_items(p, s);
    } else if (s->inside != NULL) {
        place_steps(p, s->inside->plan->steps, s->inside->plan->count, own, is_repeated);
    } else if (s->parts != NULL) {
        place_steps(p, s->parts, s->count, own, is_repeated);
    }
    /* One of several tokens is one word as well. */
    bool is_word = s->is_oneof && !s->is_optional && s->words_min == 1 && before != SIZE_MAX;
    p->at = (is_fixed && !is_list) || is_word ? before + s->words_min : SIZE_MAX;
    bool is_count = is_fixed && s->row != NULL && s->row->kind == &arg_kind_count;
    p->counted = is_count ? before : SIZE_MAX;
}

/* Are they as many words in any call? */
static bool is_even(const struct step *s)
{
    const struct plan *inside = s->inside != NULL ? s->inside->plan : NULL;
    if (s->is_optional || (s->row != NULL && s->row->is_list)) return false;
    if (inside != NULL && inside->words_min != inside->words_max) return false;
    for (size_t i = 0; i < s->count; i++) {
        const struct step *part = &s->parts[i];
        if (!is_even(part)) return false;
        if (s->is_oneof && part->words_min != s->parts[0].words_min) return false;
    }
    return true;
}

/* Words of the steps, and of what comes after them; SIZE_MAX: not always as many. */
static size_t words_of(const struct step *steps, size_t count, size_t after)
{
    for (size_t i = 0; i < count && after != SIZE_MAX; i++) {
        after = is_even(&steps[i]) ? after + steps[i].words_min : SIZE_MAX;
    }
    return after;
}

/* `token` is that of a block, for its first argument. */
static void place_steps(struct placing *p, const struct step *steps, size_t count,
                        const char *token, bool is_repeated)
{
    size_t outer = p->after;
    for (size_t i = 0; i < count; i++) {
        p->after = words_of(steps + i + 1, count - i - 1, outer);
        place_step(p, &steps[i], token, is_repeated);
        token = NULL;
    }
    p->after = outer;
}

static void place_all(struct placing *p, const struct command *c, struct key_spec *specs)
{
    const struct plan *plan = c->arguments->plan;
    *p = (struct placing){
        .command = c, .specs = specs, .at = command_words_before(c), .counted = SIZE_MAX};
    place_steps(p, plan->steps, plan->count, NULL, false);
}

static void number_keys(const struct placing *p, struct syntax_args *args, size_t *next)
{
    for (struct syntax_arg *a = args->first; a != NULL; a = a->next) {
        number_keys(p, &a->children, next);
        if (a->type == SYNTAX_KEY && *next < p->keys) a->key_spec = p->numbers[(*next)++];
    }
}

size_t key_specs(const struct command *c, struct syntax_args *args,
                 struct key_spec specs[KEY_SPECS_MAX])
{
    struct placing p;
    size_t next = 0;
    place_all(&p, c, specs);
    number_keys(&p, args, &next);
    return p.count;
}

void keys_fixed(const struct command *c, int *first, int *last, int *step)
{
    struct key_spec specs[KEY_SPECS_MAX];
    struct placing p;
    *first = *last = *step = 0;
    place_all(&p, c, specs);
    for (size_t i = 0; i < p.count; i++) {
        if (specs[i].place != KEYS_FIXED) continue;
        if (*first == 0) *first = specs[i].first;
        *last = specs[i].last;
        *step = specs[i].step;
    }
}

static void count_keys(const struct syntax_args *args, bool is_optional, size_t *keys,
                       size_t *needed)
{
    for (const struct syntax_arg *a = args->first; a != NULL; a = a->next) {
        bool may_miss = is_optional || a->is_optional;
        *keys += a->type == SYNTAX_KEY;
        *needed += a->type == SYNTAX_KEY && !may_miss;
        count_keys(&a->children, may_miss || a->type == SYNTAX_ONEOF, keys, needed);
    }
}

bool keys_are_optional(const struct syntax_args *args)
{
    size_t keys = 0;
    size_t needed = 0;
    count_keys(args, false, &keys, &needed);
    return keys > 0 && needed == 0;
}

bool keys_are_movable(const struct command *c)
{
    struct key_spec specs[KEY_SPECS_MAX];
    struct placing p;
    int last = 0;
    place_all(&p, c, specs);
    for (size_t i = 0; i < p.count; i++) {
        if (specs[i].place != KEYS_FIXED) return true;
        last = specs[i].last;
    }
    /* The words of IDEM and FORMAT come after the last key, when they come. */
    return (c->flags & (CMD_IDEM | CMD_FORMAT)) != 0 && last < 0;
}

const char *key_flag_name(size_t i, unsigned *flag)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {
        {KEY_RO, "RO"},         {KEY_RW, "RW"},         {KEY_OW, "OW"},
        {KEY_RM, "RM"},         {KEY_ACCESS, "access"}, {KEY_UPDATE, "update"},
        {KEY_INSERT, "insert"}, {KEY_DELETE, "delete"}, {KEY_VARIABLE, "variable_flags"},
    };
    if (i >= sizeof names / sizeof names[0]) return NULL;
    *flag = names[i].flag;
    return names[i].name;
}
