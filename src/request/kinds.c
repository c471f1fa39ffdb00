/* kinds: what words of arguments are (arguments.h), as args.h reads them. */
#include "request/args.h"
#include "request/arguments.h"
#include "request/numbers.h"
#include "request/subjects.h"

#define TIMEOUT_MS_MAX (INT64_MAX / 4000) /* a time that far ahead can be told in us as well */

/* What becomes of a key: as the row says, else the command, which may have to look at its words. */
static unsigned uses_of(const struct subjects *s, const struct argument *a)
{
    const struct request *rq = s->rq;
    if (a->flags != 0) return a->flags;
    if (rq->command->key_flags_of == NULL) return rq->command->key_flags;
    return rq->command->key_flags_of(rq->argv, rq->argc);
}

static void key_subjects(struct subjects *s, const struct argument *a, const void *from)
{
    const struct slice *key = from;
    subjects_key_used(s, *key, uses_of(s, a));
}

static enum err read_key(struct request *rq, const struct argument *a, struct slice word, void *to)
{
    (void)a;
    return arg_key(rq, word, to);
}
const struct argument_kind arg_kind_key = {
    .read = read_key, .subjects = key_subjects, .is_key = true};

static enum err read_any_key(struct request *rq, const struct argument *a, struct slice word,
                             void *to)
{
    (void)a;
    return arg_any_key(rq, word, to);
}
const struct argument_kind arg_kind_any_key = {
    .read = read_any_key, .subjects = key_subjects, .is_key = true};

static void key_word_subjects(struct subjects *s, const struct argument *a, const void *from)
{
    const struct slice *word = from;
    subjects_word(s, *word, uses_of(s, a));
}

static enum err read_word(struct request *rq, const struct argument *a, struct slice word, void *to)
{
    (void)rq;
    (void)a;
    memcpy(to, &word, sizeof word);
    return OK;
}
const struct argument_kind arg_kind_key_word = {
    .read = read_word, .subjects = key_word_subjects, .is_key = true, .is_as_it_came = true};

/* Bounds of ranges: what permission must be had for is known when all of them are. */
const struct argument_kind arg_kind_bound = {.read = read_key, .is_key = true};

static enum err read_prefix(struct request *rq, const struct argument *a, struct slice word,
                            void *to)
{
    (void)a;
    return arg_prefix(rq, word, to);
}
const struct argument_kind arg_kind_prefix = {.read = read_prefix, .is_key = true};

const struct argument_kind arg_kind_word = {.read = read_word, .is_as_it_came = true};
const struct argument_kind arg_kind_filter = {.read = read_word, .type = WORD_FILTER};

static enum err read_value(struct request *rq, const struct argument *a, struct slice word,
                           void *to)
{
    (void)a;
    return arg_value(rq, word, to);
}
const struct argument_kind arg_kind_value = {
    .read = read_value, .is_value = true, .type = WORD_VALUE};
const struct argument_kind arg_kind_number = {
    .read = read_value, .is_value = true, .type = WORD_NUMBER};
const struct argument_kind arg_kind_array = {
    .read = read_value, .is_value = true, .type = WORD_ARRAY};

static enum err read_integer(struct request *rq, const struct argument *a, struct slice word,
                             void *to)
{
    const char *what = arg_is_terse(rq) ? NULL : a->name;
    enum err r = arg_integer(rq, word, what, a->min, a->max, to);
    return r == OK || a->wrong == NULL ? r : error_set(&rq->error, ERR_SYNTAX, "%s", a->wrong);
}
const struct argument_kind arg_kind_integer = {.read = read_integer, .type = WORD_INTEGER};

static enum err read_stamp(struct request *rq, const struct argument *a, struct slice word,
                           void *to)
{
    (void)a;
    return arg_stamp(rq, word, to);
}
const struct argument_kind arg_kind_stamp = {
    .read = read_stamp, .syntax = "<versionstamp | NONE>", .type = WORD_VERSION};

static enum err read_pattern(struct request *rq, const struct argument *a, struct slice word,
                             void *to)
{
    (void)a;
    memcpy(to, &word, sizeof word);
    return arg_pattern(rq, word);
}
const struct argument_kind arg_kind_pattern = {.read = read_pattern};

/* Redis's words for each way in which it may be wrong. */
static enum err read_timeout(struct request *rq, const struct argument *a, struct slice word,
                             void *to)
{
    int64_t *ms = to;
    (void)a;
    if (!slice_to_i64(word, ms)) {
        return error_set(&rq->error, ERR_SYNTAX, "timeout is not an integer or out of range");
    }
    if (*ms < 0) return error_set(&rq->error, ERR_SYNTAX, "timeout is negative");
    if (*ms > TIMEOUT_MS_MAX) {
        return error_set(&rq->error, ERR_SYNTAX, "timeout is out of range");
    }
    return OK;
}
const struct argument_kind arg_kind_timeout = {.read = read_timeout};

static void database_subjects(struct subjects *s, const struct argument *a, const void *from)
{
    const struct slice *word = from;
    (void)a;
    subjects_database(s, *word);
}
const struct argument_kind arg_kind_database = {.read = read_word, .subjects = database_subjects};
