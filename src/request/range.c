/* PREFIX, START and END as arguments, and the internal range that they mean together. */
#include "request/range.h"

#include "codec/key.h"
#include "request/keys.h"
#include "request/subjects.h"

/* The longest common leading parts: whole ones of both. */
static struct slice common_parts(struct slice a, struct slice b)
{
    size_t at = 0;
    size_t other = 0;
    size_t common = 0;
    struct key_part part;
    while (key_next(a, &at, &part) && key_next(b, &other, &part) && at == other &&
           memcmp(a.data, b.data, at) == 0) {
        common = at;
    }
    return slice_of(a.data, common);
}

/* What permission must be had for: a prefix alone says where all of it lies; without one, both
 * bounds do. */
static void range_subjects(struct subjects *s, const void *bound)
{
    const struct range *x = bound;
    unsigned needs = subjects_needs(s->rq->command->key_flags);
    if (needs == 0) needs = ACCESS_READ;
    if (x->prefix.data != NULL) {
        subjects_below(s, engine_key_tuple(x->prefix), needs);
    } else if (x->start.data == NULL || x->end.data == NULL) {
        subjects_all_keys(s, needs);
    } else {
        struct slice start = engine_key_tuple(x->start);
        struct slice common = common_parts(start, engine_key_tuple(x->end));
        subjects_below(s, common, needs);
        if (common.len == start.len) subjects_key(s, x->start, needs);
    }
}

SHARED_ARGUMENTS_WITH(range_arguments, struct range, "[PREFIX key] [START key] [END key]",
                      WITH(.subjects = range_subjects),
                      ARG_PREFIX(struct range, prefix, "PREFIX", KEY_PREFIX),
                      ARG_BOUND(struct range, start, "START", KEY_START),
                      ARG_BOUND(struct range, end, "END", KEY_END));
SHARED_ARGUMENTS_WITH(prefix_arguments, struct range, "[PREFIX key]",
                      WITH(.subjects = range_subjects),
                      ARG_PREFIX(struct range, prefix, "PREFIX", KEY_PREFIX));

bool range_hint(struct request *rq, struct slice word)
{
    if (word.len == 0 || word.data[0] != '[') return false;
    (void)error_set(&rq->error, ERR_SYNTAX,
                    "syntax error: unexpected '%.*s'; a range is PREFIX key, or START key END key",
                    (int)(word.len < 64 ? word.len : 64), (const char *)word.data);
    return true;
}

enum err range_resolve(struct request *rq, const struct range *range, struct slice *start,
                       struct slice *end)
{
    struct slice prefix = range->prefix;
    if (prefix.data == NULL) {
        buf_clear(rq->scratch, SIZE_MAX);
        engine_key_begin(rq->scratch, rq->client->database);
        prefix = arena_copy(rq->arena, buf_slice(rq->scratch));
    }
    engine_range_below(rq->arena, key_database(prefix), engine_key_tuple(prefix), start, end);
    if (range->start.data != NULL) {
        if (slice_cmp(range->start, *start) < 0 || slice_cmp(range->start, *end) > 0) {
            return error_set(&rq->error, ERR_SYNTAX, "START is not below PREFIX");
        }
        *start = range->start;
    }
    if (range->end.data != NULL) {
        if (!slice_has_prefix(range->end, prefix)) {
            return error_set(&rq->error, ERR_SYNTAX, "END is not below PREFIX");
        }
        *end = range->end;
    }
    if (slice_cmp(*start, *end) > 0) {
        if (range->start.data == NULL) {
            *start = *end; /* END is the prefix itself: nothing lies before it */
            return OK;
        }
        return error_set(&rq->error, ERR_SYNTAX, "START is greater than END");
    }
    return OK;
}
