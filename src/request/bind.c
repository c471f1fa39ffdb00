/* bind: see bind.h. walk.c goes over the words; here they are read, and what is wrong is told. */
#include "request/bind.h"

#include "request/args.h"
#include "request/hint.h"
#include "request/walk.h"

struct binding {
    struct request *rq;
    struct subjects *subjects; /* NULL = what the words touch is not wanted */
};

static struct request *request_of(const struct walk *w)
{
    return ((const struct binding *)w->arg)->rq;
}

/* ---- words ---- */

static enum err bind_word(struct walk *w, const struct argument *a, void *to)
{
    const struct binding *b = w->arg;
    enum err r = a->kind->read(b->rq, a, w->argv[w->at], to);
    if (r != OK || b->subjects == NULL || a->kind->subjects == NULL) return r;
    a->kind->subjects(b->subjects, a, to);
    return OK;
}

/* A command may have half a million keys, and is bound again each time it is resumed. */
static bool bind_passes(const struct walk *w, const struct argument *a)
{
    const struct binding *b = w->arg;
    return b->subjects == NULL || a->kind->subjects == NULL;
}

/* Redis's words for a count; {} in them is the command. */
static enum err refuse_count(struct request *rq, const char *text)
{
    INVARIANT(text != NULL);
    const char *name = strstr(text, "{}");
    if (name == NULL) return error_set(&rq->error, ERR_SYNTAX, "%s", text);
    return error_set(&rq->error, ERR_SYNTAX, "%.*s%s%s", (int)(name - text), text,
                     rq->command->name, name + 2);
}

static enum err bind_count(struct walk *w, const struct argument *a)
{
    struct request *rq = request_of(w);
    const char *what = w->token != NULL ? w->token : a->name;
    if (arg_is_terse(rq)) what = NULL;
    int64_t least = a->wrong != NULL ? INT64_MIN : a->min;
    enum err r = arg_integer(rq, w->argv[w->at], what, least, a->max, &w->counted);
    if (r != OK && a->flags == COUNT_SAYS_ONE) return refuse_count(rq, a->wrong);
    if (r != OK && a->flags == COUNT_SAYS_WHAT) return refuse_count(rq, a->what);
    if (r != OK || w->counted >= a->min) return r;
    return refuse_count(rq, a->wrong);
}

static enum err bind_fits(struct walk *w, const struct argument *a, size_t items)
{
    return a->fits(request_of(w), items);
}

/* Permission is asked as for a command of its own. */
static void bind_inside(struct walk *w, const struct argument *a)
{
    const struct binding *b = w->arg;
    if (b->subjects != NULL && a->as != NULL) subjects_as(b->subjects, a->as);
}

static enum err bind_end(struct walk *w, const struct arguments *of, void *base)
{
    const struct binding *b = w->arg;
    enum err r = of->check != NULL ? of->check(b->rq, base) : OK;
    if (r == OK && b->subjects != NULL && of->subjects != NULL) of->subjects(b->subjects, base);
    return r;
}

static const struct walk_ops bind_ops = {.word = bind_word,
                                         .passes = bind_passes,
                                         .count = bind_count,
                                         .fits = bind_fits,
                                         .inside = bind_inside,
                                         .end = bind_end};

/* ---- errors ---- */

/* Each alternative that begins with a token. */
static void add_tokens(struct error *e, const struct step *s, const char *last)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) count += s->parts[i].token != NULL;
    size_t left = count;
    for (size_t i = 0; i < s->count; i++) {
        if (s->parts[i].token == NULL) continue;
        left--;
        const char *before = left + 1 == count ? "" : left == 0 ? last : ", ";
        error_add(e, "%s%s", before, s->parts[i].token);
    }
}

static void tell_refusal(struct error *e, const char *text, struct slice word)
{
    const char *place = strstr(text, "{}");
    int before = (int)(place == NULL ? strlen(text) : (size_t)(place - text));
    (void)error_set(e, ERR_SYNTAX, "%.*s", before, text);
    if (place == NULL) return;
    error_add(e, "%.*s%s", (int)(word.len < 64 ? word.len : 64), (const char *)word.data,
              place + strlen("{}"));
}

/* The word at w->at, in the words of these arguments, or in the usual ones. */
static void tell_word(const struct walk *w)
{
    struct request *rq = request_of(w);
    if (w->of->refusal != NULL) {
        tell_refusal(&rq->error, w->of->refusal, w->argv[w->at]);
        return;
    }
    if (w->of->hint != NULL && w->of->hint(rq, w->argv[w->at])) return;
    enum err r = arg_unexpected(rq, w->at);
    (void)r; /* it is in rq->error */
}

static void tell_choices(const struct walk *w)
{
    struct error *e = &request_of(w)->error;
    if (strstr(e->text, "unexpected") == NULL) return;
    error_add(e, " (");
    add_tokens(e, w->step, " or ");
    error_add(e, " expected)");
}

static void tell_repeated(const struct walk *w)
{
    struct error *e = &request_of(w)->error;
    const struct step *s = w->step;
    struct slice word = w->argv[w->at];
    if (s->inside != NULL && s->inside->plan->count == 1) s = s->inside->plan->steps;
    if (!s->is_oneof || strstr(e->text, "is a duplicate") != NULL) return;
    (void)error_set(e, ERR_SYNTAX, "syntax error: '%.*s': only one of ", (int)word.len,
                    (const char *)word.data);
    add_tokens(e, s, " and ");
    error_add(e, " may be given");
}

static void tell_missing(const struct walk *w)
{
    struct request *rq = request_of(w);
    const struct argument *of = w->wrong_count != NULL ? w->wrong_count : w->wanted;
    if (of != NULL && of->missing != NULL) {
        (void)error_set(&rq->error, ERR_SYNTAX, "%s", of->missing);
        return;
    }
    if (w->token == NULL) {
        (void)hint_number(rq, slice_of(NULL, 0));
        return;
    }
    (void)error_set(&rq->error, ERR_SYNTAX, "syntax error");
    if (!arg_is_terse(rq)) error_add(&rq->error, ": %s needs an argument", w->token);
}

static enum err tell(const struct walk *w, const struct arguments *of, enum err r)
{
    struct request *rq = request_of(w);
    if (r == ERR_WAIT) return r;
    if (w->wrong == WRONG_MISSING) tell_missing(w);
    if (w->wrong > WRONG_MISSING) tell_word(w);
    if (arg_is_terse(rq)) return rq->error.code;
    if (w->wrong == WRONG_UNEXPECTED && w->step != NULL) {
        error_add(&rq->error, " (%s expected)", w->step->token);
    }
    if (w->wrong == WRONG_NO_CHOICE) tell_choices(w);
    if (w->wrong == WRONG_REPEATED) tell_repeated(w);
    const struct argument *count = w->wrong_count;
    if (count != NULL && count->example != NULL) hint_count(rq, count->what, count->example);
    if (w->wrong_item != NULL) {
        error_add(&rq->error, " (%s %zu)", w->wrong_item->item, w->item_number);
    }
    if (of->usage != NULL) error_add(&rq->error, "; %s", of->usage);
    return rq->error.code;
}

/* ---- of a command ---- */

enum err bind_words(struct request *rq, const struct arguments *of, size_t from,
                    struct subjects *subjects, void **bound)
{
    struct binding b = {.rq = rq, .subjects = subjects};
    struct walk w = {.ops = &bind_ops,
                     .arg = &b,
                     .argv = rq->argv,
                     .argc = rq->argc,
                     .at = from,
                     .arena = rq->arena};
    uint8_t *base = arena_alloc(rq->arena, of->size);
    memset(base, 0, of->size);
    enum err r = walk_words(&w, of, base);
    if (r != OK) return tell(&w, of, r);
    *bound = base;
    return OK;
}

static enum err check_row(struct request *rq, const struct plan *p, uint8_t *base)
{
    for (size_t i = 0; i < p->end_count; i++) {
        const struct plan_end *x = &p->ends[i];
        enum err r = x->of->check != NULL ? x->of->check(rq, base + x->base) : OK;
        if (r != OK) return r;
    }
    return OK;
}

/* As bind_words, of words one after another, when it is not asked what they touch. */
static enum err bind_row(struct request *rq, const struct arguments *of, const struct plan *p)
{
    const struct slice *word = rq->argv + rq->words_before;
    const struct row_word *end = p->row + p->row_words;
    uint8_t *base = arena_alloc(rq->arena, of->size);
    if (!p->is_filled) {
        memset(base, 0, of->size);
        walk_begin(p, base);
    }
    for (const struct row_word *x = p->row; x < end; x++, word++) {
        enum err r = x->read(rq, x->argument, *word, base + x->at);
        if (r != OK) return r;
    }
    enum err r = p->is_filled ? OK : check_row(rq, p, base);
    if (r == OK) rq->bound = base;
    return r;
}

/* For the error: nothing is run that permission was not asked for. */
static enum err bind_again(struct request *rq, const struct arguments *of)
{
    void *ignored = NULL;
    enum err r = bind_words(rq, of, rq->words_before, NULL, &ignored);
    return r == OK ? error_set(&rq->error, ERR_SYNTAX, "syntax error") : r;
}

enum err request_bind(struct request *rq)
{
    const struct arguments *of = rq->command->arguments;
    if (rq->bound != NULL) return OK;
    if (rq->words_are_wrong) return bind_again(rq, of);
    const struct plan *p = of->plan;
    size_t before = rq->words_before;
    if (p->is_row && rq->argc - before == p->row_words) return bind_row(rq, of, p);
    return bind_words(rq, of, before, NULL, &rq->bound);
}

enum err request_bind_subjects(struct request *rq, struct subjects *s)
{
    enum err r = bind_words(rq, rq->command->arguments, rq->words_before, s, &rq->bound);
    rq->words_are_wrong = r != OK && r != ERR_WAIT;
    return r;
}
