/* kv_atomic: POST /kv/atomic: checks, mutations, messages and acknowledgements as one transaction:
 * KV.ATOMIC, with what each operation came to.
 *
 * A check that fails is a status of its own, 409, and not a 200 that says ok:false: an answer that
 * is not looked at closely must not pass for a write.
 */
#include "http/kv_rest.h"

#include <stdio.h>

#include "codec/json_lex.h"

#define WHERE_CHARS 48

/* How many operations there are of each kind, in the order in which they are said to KV.ATOMIC. */
struct atomic_task {
    size_t checks, mutations, enqueues, acks;
};

/* ---- operations ------------------------------------------------------------------------------ */

static const struct atomic_kind {
    const char *type, *word;
    bool has_value, has_expiry, has_bounds;
} atomic_kinds[] = {
    {"set", "SET", true, true, false},          {"delete", "DEL", false, false, false},
    {"sum", "SUM", true, false, true},          {"min", "MIN", true, false, false},
    {"max", "MAX", true, false, false},         {"append", "APPEND", true, false, false},
    {"prepend", "PREPEND", true, false, false},
};

static const struct atomic_kind *atomic_kind_of(struct exchange *x, const struct json_part *type,
                                                const char *where)
{
    if (rest_is_there(type) && type->kind == JSON_STRING) {
        struct slice text = json_text(type, &x->arena);
        for (size_t i = 0; i < sizeof atomic_kinds / sizeof atomic_kinds[0]; i++) {
            if (slice_eq(text, slice_str(atomic_kinds[i].type))) return &atomic_kinds[i];
        }
    }
    exchange_fail(x, 400, "%s.type must be set, delete, sum, min, max, append or prepend", where);
    return NULL;
}

enum mutation_part {
    PART_TYPE,
    PART_KEY,
    PART_VALUE,
    PART_IN,
    PART_AT,
    PART_KEEP,
    PART_CLAMP,
    PART_RANGE,
    PART_COUNT
};
static const char *const mutation_names[] = {"type",    "key",   "value", "expiresIn", "expiresAt",
                                             "keepTtl", "clamp", "range", NULL};

static bool refuse_part(struct exchange *x, const char *where, const char *name, const char *type)
{
    exchange_fail(x, 400, "%s: %s is not for %s", where, name, type);
    return false;
}

static bool add_expiry(struct exchange *x, struct rest_words *w, const struct json_part *parts,
                       const char *where)
{
    char name[WHERE_CHARS + 16];
    bool keeps = false;
    snprintf(name, sizeof name, "%s.expiresIn", where);
    if (!kv_rest_add_number(w, "PX", &parts[PART_IN], name, 1, INT64_MAX / 2)) return false;
    snprintf(name, sizeof name, "%s.expiresAt", where);
    if (!kv_rest_add_number(w, "PXAT", &parts[PART_AT], name, 1, INT64_MAX / 2)) return false;
    snprintf(name, sizeof name, "%s.keepTtl", where);
    if (!kv_rest_body_switch(x, &parts[PART_KEEP], name, &keeps)) return false;
    if (keeps) rest_words_str(w, "KEEPTTL");
    if (rest_is_there(&parts[PART_IN]) + rest_is_there(&parts[PART_AT]) + keeps <= 1) return true;
    exchange_fail(x, 400, "%s: only one of expiresIn, expiresAt and keepTtl can be said", where);
    return false;
}

/* "clamp": [low, high]. */
static bool add_bounds(struct exchange *x, struct rest_words *w, const char *word,
                       const struct json_part *bounds, const char *where, const char *name)
{
    struct json_part items[2];
    struct json_part more;
    if (!rest_is_there(bounds)) return true;
    struct slice rest = bounds->kind == JSON_ARRAY ? json_inside(bounds) : slice_of(NULL, 0);
    if (!json_next_item(&rest, &items[0]) || !json_next_item(&rest, &items[1]) ||
        json_next_item(&rest, &more)) {
        exchange_fail(x, 400, "%s.%s must be an array of the least and the greatest", where, name);
        return false;
    }
    rest_words_str(w, word);
    rest_words_add(w, items[0].raw);
    rest_words_add(w, items[1].raw);
    return true;
}

static bool fits_kind(struct exchange *x, const struct atomic_kind *kind,
                      const struct json_part *parts, const char *where)
{
    if (kind->has_value && !rest_is_there(&parts[PART_VALUE])) {
        exchange_fail(x, 400, "%s: %s needs a value", where, kind->type);
        return false;
    }
    for (size_t i = PART_VALUE; i < PART_COUNT; i++) {
        bool is_taken = i == PART_VALUE  ? kind->has_value
                        : i < PART_CLAMP ? kind->has_expiry
                                         : kind->has_bounds;
        if (is_taken || !rest_is_there(&parts[i])) continue;
        return refuse_part(x, where, mutation_names[i], kind->type);
    }
    return true;
}

static bool kv_add_mutation(struct exchange *x, struct rest_words *w, const struct json_part *part,
                            const char *where)
{
    struct json_part parts[PART_COUNT];
    struct slice key;
    struct error e;
    char name[WHERE_CHARS + 16];
    if (json_members(part, mutation_names, parts, true, where, &e) != OK) {
        exchange_fail(x, 400, "%s", e.text);
        return false;
    }
    const struct atomic_kind *kind = atomic_kind_of(x, &parts[PART_TYPE], where);
    snprintf(name, sizeof name, "%s.key", where);
    if (kind == NULL || !kv_rest_body_key(x, &parts[PART_KEY], name, &key)) return false;
    if (!fits_kind(x, kind, parts, where)) return false;
    rest_words_str(w, kind->word);
    rest_words_add(w, key);
    if (kind->has_value) rest_words_add(w, parts[PART_VALUE].raw);
    return add_expiry(x, w, parts, where) &&
           add_bounds(x, w, "CLAMP", &parts[PART_CLAMP], where, "clamp") &&
           add_bounds(x, w, "RANGE", &parts[PART_RANGE], where, "range");
}

static bool kv_add_check(struct exchange *x, struct rest_words *w, const struct json_part *part,
                         const char *where)
{
    return rest_add_check(x, w, part, where, kv_rest_body_key);
}

static bool kv_add_enqueue(struct exchange *x, struct rest_words *w, const struct json_part *part,
                           const char *where)
{
    static const char *const names[] = {"queue", KV_REST_MESSAGE_NAMES, NULL};
    struct json_part parts[1 + KV_REST_MESSAGE_PARTS];
    struct slice queue;
    struct error e;
    char name[WHERE_CHARS + 16];
    if (json_members(part, names, parts, true, where, &e) != OK) {
        exchange_fail(x, 400, "%s", e.text);
        return false;
    }
    snprintf(name, sizeof name, "%s.queue", where);
    if (!rest_body_text(x, &parts[0], name, &queue)) return false;
    rest_words_str(w, "ENQUEUE");
    rest_words_add(w, queue);
    return kv_rest_add_message(x, w, &parts[1], where);
}

static bool kv_add_ack(struct exchange *x, struct rest_words *w, const struct json_part *part,
                       const char *where)
{
    struct slice receipt;
    if (!rest_body_text(x, part, where, &receipt)) return false;
    rest_words_str(w, "ACK");
    rest_words_add(w, receipt);
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* [number of the operation, versionstamp or nil] at *rest: of a check or of an acknowledgement. */
static void put_failed(struct buf *out, const struct atomic_task *t, struct slice *rest)
{
    struct resp_item item;
    int64_t n = 0;
    if (!rest_skip(rest, 2, &item) || !slice_to_i64(item.text, &n)) return;
    if (!rest_next(rest, &item)) return;
    if ((size_t)n >= t->checks) {
        size_t before = t->checks + t->mutations + t->enqueues;
        buf_printf(out, "{\"ack\":%lld}", (long long)n - (long long)before);
        return;
    }
    buf_printf(out, "{\"check\":%lld,\"versionstamp\":", (long long)n);
    if (item.is_nil) {
        buf_append_str(out, "null");
    } else {
        json_string_write(item.text, out);
    }
    buf_append_byte(out, '}');
}

static void answer_conflict(struct exchange *x, struct slice rest)
{
    struct resp_item item;
    rest_begin(x);
    buf_append_str(&x->text, "{\"ok\":false,\"error\":\"a check failed, nothing was done\","
                             "\"failed\":[");
    if (rest_next(&rest, &item)) {
        for (size_t i = 0; i < item.children; i++) {
            if (i > 0) buf_append_byte(&x->text, ',');
            put_failed(&x->text, x->task, &rest);
        }
    }
    buf_append_str(&x->text, "]}");
    exchange_answer_json(x, 409);
}

/* So many results, as an array: JSON and numbers as they are, ids of messages in quotes. */
static void put_results(struct buf *out, struct slice *rest, size_t count, bool is_id)
{
    struct resp_item item;
    buf_append_byte(out, '[');
    for (size_t i = 0; i < count && rest_next(rest, &item); i++) {
        if (i > 0) buf_append_byte(out, ',');
        if (item.is_nil) {
            buf_append_str(out, "null");
        } else if (is_id) {
            json_string_write(item.text, out);
        } else {
            buf_append(out, item.text.data, item.text.len);
        }
    }
    buf_append_byte(out, ']');
}

static void atomic_came(struct exchange *x)
{
    const struct atomic_task *t = x->task;
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (kv_rest_fails(x) || !rest_skip(&rest, 2, &item)) return;
    if (item.is_nil) {
        answer_conflict(x, rest);
        return;
    }
    rest_begin(x);
    buf_append_str(&x->text, "{\"ok\":true,\"versionstamp\":");
    json_string_write(item.text, &x->text);
    (void)rest_skip(&rest, 1 + t->checks, &item);
    buf_append_str(&x->text, ",\"results\":");
    put_results(&x->text, &rest, t->mutations, false);
    buf_append_str(&x->text, ",\"ids\":");
    put_results(&x->text, &rest, t->enqueues, true);
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, 200);
}

static size_t count_items(const struct json_part *list)
{
    struct json_part item;
    size_t count = 0;
    if (!rest_is_there(list)) return 0;
    for (struct slice rest = json_inside(list); json_next_item(&rest, &item);) count++;
    return count;
}

void kv_rest_atomic_run(struct exchange *x)
{
    static const char *const names[] = {"checks", "mutations", "enqueues", "acks", NULL};
    static rest_add *const adds[] = {kv_add_check, kv_add_mutation, kv_add_enqueue, kv_add_ack};
    struct json_part parts[4];
    size_t counts[4];
    if (!rest_body(x, names, parts)) return;
    struct rest_words w = rest_words_of(x, "KV.ATOMIC");
    if (!kv_rest_add_idem(x, &w)) return;
    rest_words_str(&w, "DETAILS");
    for (size_t i = 0; i < 4; i++) {
        if (rest_is_there(&parts[i]) && !rest_add_all(x, &w, &parts[i], names[i], adds[i])) return;
        counts[i] = count_items(&parts[i]);
    }
    struct atomic_task *t = arena_alloc(&x->arena, sizeof *t);
    *t = (struct atomic_task){counts[0], counts[1], counts[2], counts[3]};
    if (t->checks + t->mutations + t->enqueues + t->acks == 0) {
        exchange_fail(x, 400, "a transaction has checks, mutations, enqueues or acks");
        return;
    }
    x->task = t;
    rest_words_run(&w, atomic_came);
}
