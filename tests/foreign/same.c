#include "same.h"

#include <math.h>
#include <string.h>

#include "codec/bigint.h"
#include "codec/date.h"
#include "codec/number.h"
#include "codec/pack.h"
#include "codec/value.h"

#define IDS_MAX 4096
#define DIGITS_MAX 65536

struct id {
    uint32_t a, b;        /* b 0: it has none there */
    const uint8_t *value; /* in a: what has the id */
};

struct same {
    const struct same_rules *rules;
    struct id ids[IDS_MAX];
    size_t count;
};

struct cursor {
    const uint8_t *at, *end;
};

static bool same_value(struct same *s, struct cursor *a, struct cursor *b);

static struct cursor inside(struct slice body)
{
    return (struct cursor){body.data, body.data + body.len};
}

static bool read_item(struct cursor *c, struct pack_item *item)
{
    return pack_read(&c->at, c->end, item) == PACK_OK;
}

static bool is_ext(struct cursor c, int8_t ext, struct slice *body)
{
    struct pack_item item;
    if (!read_item(&c, &item) || item.type != PACK_EXT || item.ext != ext) return false;
    *body = item.body;
    return true;
}

/* ---- scalars ---- */

struct number {
    bool is_bigint, is_negative;
    double d;
    uint8_t digits[DIGITS_MAX];
    size_t len;
};

static bool number_of(const struct pack_item *item, struct number *n)
{
    memset(n, 0, offsetof(struct number, digits));
    n->len = 0;
    if (item->type == PACK_FLOAT) {
        n->d = item->f;
        return true;
    }
    if (item->type == PACK_EXT) {
        n->is_bigint = item->ext == EXT_BIGINT && item->body.len <= DIGITS_MAX;
        if (n->is_bigint) n->len = bigint_from_twos(item->body, &n->is_negative, n->digits);
        return n->is_bigint;
    }
    if (item->type != PACK_UINT && item->type != PACK_INT) return false;
    n->is_negative = item->type == PACK_INT;
    uint64_t u = n->is_negative ? 0 - (uint64_t)item->i : item->u;
    n->is_bigint = u > NUMBER_SAFE_MAX;
    n->d = n->is_negative ? -(double)u : (double)u;
    for (int shift = 56; n->is_bigint && shift >= 0; shift -= 8) {
        if (n->len > 0 || (uint8_t)(u >> shift) != 0) n->digits[n->len++] = (uint8_t)(u >> shift);
    }
    if (!n->is_bigint) n->is_negative = false;
    return true;
}

static bool same_numbers(const struct pack_item *a, const struct pack_item *b)
{
    static struct number x, y;
    if (!number_of(a, &x) || !number_of(b, &y) || x.is_bigint != y.is_bigint) return false;
    if (x.is_bigint) {
        return x.is_negative == y.is_negative && x.len == y.len &&
               memcmp(x.digits, y.digits, x.len) == 0;
    }
    if (isnan(x.d) || isnan(y.d)) return isnan(x.d) && isnan(y.d);
    return x.d == y.d && signbit(x.d) == signbit(y.d);
}

static bool same_dates(struct slice a, struct slice b)
{
    int64_t x = 0, y = 0;
    bool is_bad = false, is_bad_too = false;
    if (!date_from_ext(a, &x, &is_bad) || !date_from_ext(b, &y, &is_bad_too)) return false;
    return is_bad == is_bad_too && (is_bad || x == y);
}

/* Bytes of a bin or typed array, and its code. */
static bool elements_of(const struct same *s, const struct pack_item *item, int *code,
                        struct slice *bytes)
{
    if (item->type == PACK_BIN) {
        *code = s->rules->is_v8 ? 1 : -1;
        *bytes = item->body;
        return true;
    }
    if (item->type != PACK_EXT || item->ext != EXT_TYPED) return false;
    *code = item->body.data[0];
    *bytes = slice_of(item->body.data + 1, item->body.len - 1);
    return true;
}

/* ---- containers ---- */

static bool is_object(struct cursor c, uint32_t count)
{
    for (; count > 0; count--) {
        struct pack_item key;
        if (!read_item(&c, &key) || key.type != PACK_STR) return false;
        c.at += value_length(slice_of(c.at, (size_t)(c.end - c.at)));
    }
    return true;
}

enum shape { SHAPE_OBJECT, SHAPE_MAP, SHAPE_SET, SHAPE_ARRAY };

struct list {
    enum shape shape;
    uint64_t count; /* of values */
    struct cursor at;
};

/* What `after` is after the head of a container; the values of an extension are inside. */
static bool list_of(const struct same *s, const struct pack_item *item, struct cursor after,
                    struct list *l)
{
    struct pack_item head = *item;
    l->at = after;
    if (item->type == PACK_EXT) {
        if (item->ext != EXT_SET && item->ext != EXT_MAP) return false;
        l->at = inside(item->body);
        if (!read_item(&l->at, &head)) return false;
        l->shape = item->ext == EXT_SET ? SHAPE_SET : SHAPE_MAP;
        l->count = head.count;
    } else if (item->type == PACK_ARRAY) {
        l->shape = SHAPE_ARRAY;
        l->count = head.count;
    } else if (item->type == PACK_MAP) {
        l->shape = is_object(after, head.count) ? SHAPE_OBJECT : SHAPE_MAP;
        l->count = 2 * (uint64_t)head.count;
    } else {
        return false;
    }
    if (l->shape == SHAPE_MAP && !s->rules->has_maps) l->shape = SHAPE_OBJECT;
    return true;
}

static bool same_lists(struct same *s, struct list *a, struct list *b)
{
    if (a->shape != b->shape || a->count != b->count) return false;
    for (uint64_t i = 0; i < a->count; i++) {
        if (!same_value(s, &a->at, &b->at)) return false;
    }
    return true;
}

static bool same_regexps(struct slice a, struct slice b)
{
    struct cursor ca = inside(a), cb = inside(b);
    struct pack_item x[3], y[3];
    for (int i = 0; i < 3; i++) {
        if (!read_item(&ca, &x[i]) || !read_item(&cb, &y[i])) return false;
    }
    if (!slice_eq(x[1].body, y[1].body) || x[2].body.len != y[2].body.len) return false;
    for (size_t i = 0; i < x[2].body.len; i++) {
        if (memchr(y[2].body.data, x[2].body.data[i], y[2].body.len) == NULL) return false;
    }
    return true;
}

struct members {
    struct slice text[3]; /* name, message, stack */
    const uint8_t *cause;
    const uint8_t *end;
};

static struct members members_of(struct slice body)
{
    static const char *const names[] = {"name", "message", "stack"};
    struct members m = {.end = body.data + body.len};
    struct cursor c = inside(body);
    struct pack_item head, name, item;
    if (!read_item(&c, &head)) return m;
    for (uint32_t i = 0; i < head.count; i++) {
        if (!read_item(&c, &name)) return m;
        const uint8_t *value = c.at;
        c.at += value_length(slice_of(c.at, (size_t)(c.end - c.at)));
        if (slice_eq(name.body, slice_str("cause"))) m.cause = value;
        for (int n = 0; n < 3; n++) {
            const uint8_t *at = value;
            if (!slice_eq(name.body, slice_str(names[n]))) continue;
            if (pack_read(&at, c.end, &item) == PACK_OK) m.text[n] = item.body;
        }
    }
    return m;
}

static bool is_known_error(struct slice name)
{
    static const char *const names[] = {"EvalError",   "RangeError", "ReferenceError",
                                        "SyntaxError", "TypeError",  "URIError"};
    for (size_t i = 0; i < 6; i++) {
        if (slice_eq(name, slice_str(names[i]))) return true;
    }
    return false;
}

static bool same_errors(struct same *s, struct slice a, struct slice b)
{
    struct members x = members_of(a), y = members_of(b);
    if (s->rules->is_v8 && !is_known_error(x.text[0])) x.text[0] = slice_str("Error");
    if (!s->rules->has_stack) x.text[2] = slice_of(NULL, 0);
    for (int i = 0; i < 3; i++) {
        if (!slice_eq(x.text[i], y.text[i])) return false;
        if ((x.text[i].data == NULL) != (y.text[i].data == NULL)) return false;
    }
    struct slice undefined;
    struct cursor cause = {x.cause, x.end};
    bool is_nothing = x.cause == NULL ||
                      (!s->rules->is_v8 && is_ext(cause, EXT_UNDEFINED, &undefined));
    if (is_nothing || y.cause == NULL) return is_nothing && y.cause == NULL;
    struct cursor ca = {x.cause, x.end}, cb = {y.cause, y.end};
    return same_value(s, &ca, &cb);
}

/* ---- ids ---- */

static struct id *find_id(struct same *s, uint32_t a)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->ids[i].a == a) return &s->ids[i];
    }
    return NULL;
}

static uint32_t take_id(struct cursor *c, struct slice body, bool has_value)
{
    struct pack_item item = {0};
    *c = inside(body);
    if (has_value && !read_item(c, &item)) return 0;
    return read_item(c, &item) ? (uint32_t)item.u : 0;
}

static bool same_references(struct same *s, struct slice a, struct cursor b, size_t from)
{
    struct slice body;
    struct cursor c;
    const struct id *id = find_id(s, take_id(&c, a, false));
    if (id == NULL) return false;
    for (size_t i = from; i < s->count; i++) { /* ids of a reference are ids of what it is to */
        s->ids[i].value = id->value;
        s->ids[i].b = s->rules->is_v8 ? id->b : s->ids[i].b;
    }
    if (is_ext(b, EXT_REF, &body))
        return take_id(&c, body, false) == (s->rules->is_v8 ? id->b : id->a);
    if (!s->rules->is_v8 || id->value == NULL) return false;
    struct cursor scalar = {id->value, id->value + value_length(slice_of(id->value, 1u << 30))};
    return same_value(s, &scalar, &b);
}

/* Two that are neither an id nor a reference. */
static bool same_things(struct same *s, const struct pack_item *x, const struct pack_item *y,
                        struct cursor *a, struct cursor *b)
{
    struct list la, lb;
    struct slice p, q;
    int code = 0, other = 0;
    if (list_of(s, x, *a, &la)) {
        if (!list_of(s, y, *b, &lb) || !same_lists(s, &la, &lb)) return false;
        if (x->type != PACK_EXT) a->at = la.at.at;
        if (y->type != PACK_EXT) b->at = lb.at.at;
        return true;
    }
    if (elements_of(s, x, &code, &p)) {
        return elements_of(s, y, &other, &q) && code == other && slice_eq(p, q);
    }
    if (x->type == PACK_NIL) return y->type == PACK_NIL;
    if (x->type == PACK_BOOL) return y->type == PACK_BOOL && x->boolean == y->boolean;
    if (x->type == PACK_STR) return y->type == PACK_STR && slice_eq(x->body, y->body);
    if (x->type != PACK_EXT || x->ext == EXT_BIGINT) return same_numbers(x, y);
    if (y->type != PACK_EXT || x->ext != y->ext) return false;
    switch (x->ext) {
    case EXT_DATE: return same_dates(x->body, y->body);
    case EXT_REGEXP: return same_regexps(x->body, y->body);
    case EXT_ERROR: return same_errors(s, x->body, y->body);
    default: return slice_eq(x->body, y->body); /* undefined, u64, V8's */
    }
}

static bool same_value(struct same *s, struct cursor *a, struct cursor *b)
{
    struct pack_item x, y;
    struct slice body;
    size_t from = s->count;
    struct cursor in_a = *a, in_b = *b;
    a->at += value_length(slice_of(a->at, (size_t)(a->end - a->at)));
    b->at += value_length(slice_of(b->at, (size_t)(b->end - b->at)));
    while (is_ext(in_a, EXT_ID, &body)) {
        if (s->count == IDS_MAX) return true; /* of such a value nothing more is said */
        struct id *id = &s->ids[s->count++];
        *id = (struct id){.a = take_id(&in_a, body, true)};
        if (s->rules->is_v8) continue;
        if (!is_ext(in_b, EXT_ID, &body) || take_id(&in_b, body, true) != id->a) return false;
    }
    uint32_t b_id = 0;
    if (is_ext(in_b, EXT_ID, &body)) {
        if (!s->rules->is_v8 || s->count == from) return false;
        b_id = take_id(&in_b, body, true);
    }
    if (is_ext(in_a, EXT_REF, &body)) return same_references(s, body, in_b, from);
    for (size_t i = from; i < s->count; i++) {
        s->ids[i].value = in_a.at;
        s->ids[i].b = b_id;
    }
    return read_item(&in_a, &x) && read_item(&in_b, &y) && same_things(s, &x, &y, &in_a, &in_b);
}

bool same_values(struct slice a, struct slice b, const struct same_rules *rules)
{
    static struct same s;
    struct cursor x = inside(a), y = inside(b);
    s.rules = rules;
    s.count = 0;
    return same_value(&s, &x, &y);
}

bool same_has_odd_keys(struct slice value)
{
    struct cursor c = inside(value);
    struct pack_item item;
    while (read_item(&c, &item)) {
        if (item.type == PACK_MAP && !is_object(c, item.count)) return true;
        if (item.type != PACK_EXT) continue;
        bool is_nested = item.ext == EXT_SET || item.ext == EXT_MAP || item.ext == EXT_ERROR;
        if (item.ext == EXT_MAP) {
            struct cursor in = inside(item.body);
            struct pack_item head;
            if (read_item(&in, &head) && !is_object(in, head.count / 2)) return true;
        }
        if (is_nested || item.ext == EXT_ID) c.at = item.body.data;
    }
    return false;
}
