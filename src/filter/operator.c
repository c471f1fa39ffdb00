/* operator: what the operators of a field do with its value; one table.
 *
 * A missing field or null has no place in a comparison, nor has a value of another type in an
 * order, nor a number in a text: the answer is unknown then, which no negation makes true.
 */
#include "filter/filter_int.h"

static bool is_nothing(const struct stored *s)
{
    return s->kind == STORED_MISSING || s->kind == STORED_NULL;
}

static enum truth truth_of(bool is_true)
{
    return is_true ? IS_TRUE : IS_FALSE;
}

/* $eq is $in with one value. */
static enum truth test_in(const struct condition *c, const struct stored *s)
{
    if (c->set.count == 0 && !c->set.has_null) return IS_FALSE;
    if (is_nothing(s)) return c->set.has_null ? IS_TRUE : IS_UNKNOWN;
    if (s->kind == STORED_REF) return IS_UNKNOWN;
    struct stored number;
    bool has = literal_set_has(&c->set, s) ||
               (stored_number_of(s, &number) && literal_set_has(&c->set, &number));
    return truth_of(has);
}

static enum truth test_bound(const struct bound *b, unsigned accepts, const struct stored *s)
{
    int order = 0;
    struct stored number;
    if (stored_is_number(b->value.kind) && stored_number_of(s, &number)) s = &number;
    if (stored_is_same_type(b->value.kind, s->kind) && stored_is_scalar(s->kind)) {
        order = stored_compare(s, &b->value);
    } else if (b->is_now && s->kind == STORED_DATE) {
        struct stored at = {.kind = STORED_INTEGER, .is_negative = s->ms < 0};
        at.u = s->ms < 0 ? 0 - (uint64_t)s->ms : (uint64_t)s->ms;
        order = stored_compare(&at, &b->value);
    } else {
        return IS_UNKNOWN;
    }
    unsigned bit = order < 0 ? ORDER_LESS : order > 0 ? ORDER_GREATER : ORDER_EQUAL;
    return truth_of((accepts & bit) != 0);
}

static enum truth test_order(const struct condition *c, const struct stored *s)
{
    return test_bound(&c->bounds[0], c->op->accepts, s);
}

static enum truth test_between(const struct condition *c, const struct stored *s)
{
    enum truth low = test_bound(&c->bounds[0], ORDER_EQUAL | ORDER_GREATER, s);
    enum truth high = test_bound(&c->bounds[1], ORDER_EQUAL | ORDER_LESS, s);
    if (low == IS_UNKNOWN || high == IS_UNKNOWN) return IS_UNKNOWN;
    return truth_of(low == IS_TRUE && high == IS_TRUE);
}

static struct slice text_of(const struct condition *c)
{
    return c->set.list[0].value.body;
}

static bool is_inside(struct slice text, struct slice part)
{
    if (part.len == 0) return true;
    return text.len >= part.len && memmem(text.data, text.len, part.data, part.len) != NULL;
}

/* One item of an array or Set; moves past it. */
static struct stored next_item(const uint8_t **at, const uint8_t *end)
{
    struct stored item;
    const uint8_t *from = *at;
    *at = stored_read(from, end, &item);
    if (item.kind >= STORED_ARRAY && item.kind != STORED_REF) *at = stored_skip(from, end);
    return item;
}

static enum truth test_contains(const struct condition *c, const struct stored *s)
{
    if (s->kind == STORED_STRING) {
        bool is_text = c->set.sorted_count > 0 && c->set.list[0].value.kind == STORED_STRING;
        return truth_of(is_text && is_inside(s->body, text_of(c)));
    }
    if (s->kind != STORED_ARRAY && s->kind != STORED_SET) return IS_UNKNOWN;
    const uint8_t *at = s->body.data, *end = at + s->body.len;
    for (uint32_t left = s->count; left > 0; left--) {
        struct stored item = next_item(&at, end);
        if (literal_set_has(&c->set, &item)) return IS_TRUE;
    }
    return IS_FALSE;
}

static enum truth test_contains_folded(const struct condition *c, const struct stored *s)
{
    if (s->kind == STORED_STRING) return truth_of(fold_is_inside(&c->fold, s->body));
    if (s->kind != STORED_ARRAY && s->kind != STORED_SET) return IS_UNKNOWN;
    const uint8_t *at = s->body.data, *end = at + s->body.len;
    for (uint32_t left = s->count; left > 0; left--) {
        struct stored item = next_item(&at, end);
        if (item.kind == STORED_STRING && fold_is_equal(&c->fold, item.body)) return IS_TRUE;
    }
    return IS_FALSE;
}

static enum truth test_prefix(const struct condition *c, const struct stored *s)
{
    if (s->kind != STORED_STRING) return IS_UNKNOWN;
    return truth_of(slice_has_prefix(s->body, text_of(c)));
}

static enum truth test_suffix(const struct condition *c, const struct stored *s)
{
    struct slice text = s->body, end = text_of(c);
    if (s->kind != STORED_STRING) return IS_UNKNOWN;
    if (text.len < end.len) return IS_FALSE;
    return truth_of(slice_eq(slice_of(text.data + (text.len - end.len), end.len), end));
}

static enum truth test_prefix_folded(const struct condition *c, const struct stored *s)
{
    return s->kind == STORED_STRING ? truth_of(fold_is_prefix(&c->fold, s->body)) : IS_UNKNOWN;
}

static enum truth test_suffix_folded(const struct condition *c, const struct stored *s)
{
    return s->kind == STORED_STRING ? truth_of(fold_is_suffix(&c->fold, s->body)) : IS_UNKNOWN;
}

static enum truth test_null(const struct condition *c, const struct stored *s)
{
    (void)c;
    return truth_of(is_nothing(s));
}

static enum truth test_exists(const struct condition *c, const struct stored *s)
{
    (void)c;
    return truth_of(s->kind != STORED_MISSING);
}

static enum truth test_empty(const struct condition *c, const struct stored *s)
{
    (void)c;
    if (s->kind == STORED_REF) return IS_UNKNOWN;
    if (s->kind == STORED_STRING) return truth_of(s->body.len == 0);
    return truth_of(is_nothing(s) || (s->kind == STORED_ARRAY && s->count == 0));
}

/* clang-format off */
static const struct op ops[] = {
    {"$eq",           OPERAND_LITERAL, ASKS_EQUAL,   test_in,              false, 0},
    {"$ne",           OPERAND_LITERAL, ASKS_NOTHING, test_in,              true,  0},
    {"$gt",           OPERAND_BOUND,   ASKS_ORDER,   test_order,           false, ORDER_GREATER},
    {"$gte",          OPERAND_BOUND,   ASKS_ORDER,   test_order,           false, ORDER_AT_LEAST},
    {"$lt",           OPERAND_BOUND,   ASKS_ORDER,   test_order,           false, ORDER_LESS},
    {"$lte",          OPERAND_BOUND,   ASKS_ORDER,   test_order,           false, ORDER_AT_MOST},
    {"$between",      OPERAND_BOUNDS,  ASKS_BETWEEN, test_between,         false, 0},
    {"$in",           OPERAND_LIST,    ASKS_EQUAL,   test_in,              false, 0},
    {"$nin",          OPERAND_LIST,    ASKS_NOTHING, test_in,              true,  0},
    {"$contains",     OPERAND_LITERAL, ASKS_NOTHING, test_contains,        false, 0},
    {"$notContains",  OPERAND_LITERAL, ASKS_NOTHING, test_contains,        true,  0},
    {"$startsWith",   OPERAND_TEXT,    ASKS_PREFIX,  test_prefix,          false, 0},
    {"$endsWith",     OPERAND_TEXT,    ASKS_NOTHING, test_suffix,          false, 0},
    {"$containsi",    OPERAND_FOLDED,  ASKS_NOTHING, test_contains_folded, false, 0},
    {"$notContainsi", OPERAND_FOLDED,  ASKS_NOTHING, test_contains_folded, true,  0},
    {"$startsWithi",  OPERAND_FOLDED,  ASKS_NOTHING, test_prefix_folded,   false, 0},
    {"$endsWithi",    OPERAND_FOLDED,  ASKS_NOTHING, test_suffix_folded,   false, 0},
    {"$null",         OPERAND_SWITCH,  ASKS_NOTHING, test_null,            false, 0},
    {"$exists",       OPERAND_SWITCH,  ASKS_NOTHING, test_exists,          false, 0},
    {"$empty",        OPERAND_SWITCH,  ASKS_NOTHING, test_empty,           false, 0},
    {"$notEmpty",     OPERAND_SWITCH,  ASKS_NOTHING, test_empty,           true,  0},
};
/* clang-format on */

const struct op *op_find(struct slice raw, bool has_escape)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (json_string_is(raw, has_escape, ops[i].name)) return &ops[i];
    }
    return NULL;
}
