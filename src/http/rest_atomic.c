/* rest_atomic: checks, mutations, messages and acknowledgements as one transaction, in both
 * dialects: KV.ATOMIC, whose operations and their members are those of its arguments. A body groups
 * them:
 *
 *   {"checks":[{"key":..,"versionstamp":..}],"mutations":[{"type":"set","key":..,"value":..}], ..}
 *
 * In typed REST a check that fails is a status of its own, 409, and not a 200 that says ok:false:
 * an answer that is not looked at closely must not pass for a write.
 */
#include "codec/json_lex.h"
#include "http/rest_members.h"

/* The lists of a body, in the order in which they are said to KV.ATOMIC. */
enum { CHECKS, MUTATIONS, ENQUEUES, ACKS, GROUPS };
static const char *const group_names[] = {"checks", "mutations", "enqueues", "acks", NULL};
/* Of mutations: each says its type. */
static const char *const group_tokens[] = {"CHECK", NULL, "ENQUEUE", "ACK"};
static const char *const no_mutations[] = {"CHECK", "ENQUEUE", "ACK", NULL};

#define KEYVAL_GROUPS 2

bool rest_atomic_has(struct slice list, const char *token, bool *has_type)
{
    bool is_own = false; /* it has a list of its own */
    for (size_t i = 0; i < GROUPS; i++) {
        bool is_it = group_tokens[i] != NULL && strcmp(group_tokens[i], token) == 0;
        is_own = is_own || is_it;
        if (is_it && slice_eq(list, slice_str(group_names[i]))) return !(*has_type = false);
    }
    *has_type = slice_eq(list, slice_str(group_names[MUTATIONS]));
    return *has_type && !is_own;
}

struct atomic_task {
    size_t counts[GROUPS];
};

/* ---- answers --------------------------------------------------------------------------------- */

/* [number of the operation, versionstamp or nil] at *rest: of a check or of an acknowledgement. */
static void put_failed(struct buf *out, const struct atomic_task *t, struct slice *rest)
{
    struct resp_item item;
    int64_t n = 0;
    if (!rest_skip(rest, 2, &item) || !slice_to_i64(item.text, &n)) return;
    if ((size_t)n < t->counts[CHECKS]) {
        buf_printf(out, "{\"check\":%lld,\"versionstamp\":", (long long)n);
        shape_write("$", rest, out);
    } else {
        size_t before = t->counts[CHECKS] + t->counts[MUTATIONS] + t->counts[ENQUEUES];
        buf_printf(out, "{\"ack\":%lld", (long long)n - (long long)before);
        (void)rest_next(rest, &item);
    }
    buf_append_byte(out, '}');
}

static void answer_conflict(struct exchange *x, struct slice rest)
{
    struct resp_item item;
    rest_begin(x);
    buf_append_str(&x->text, "{\"ok\":false,\"error\":\"a check failed, nothing was "
                             "changed\",\"failed\":[");
    if (rest_next(&rest, &item)) {
        for (size_t i = 0; i < item.children; i++) {
            if (i > 0) buf_append_byte(&x->text, ',');
            put_failed(&x->text, x->task, &rest);
        }
    }
    buf_append_str(&x->text, "]}");
    exchange_answer_json(x, 409);
}

static void put_results(struct buf *out, struct slice *rest, size_t count, const char *shape)
{
    buf_append_byte(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0) buf_append_byte(out, ',');
        shape_write(shape, rest, out);
    }
    buf_append_byte(out, ']');
}

static void details_came(struct exchange *x)
{
    const struct atomic_task *t = x->task;
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (rest_fails(x) || !rest_skip(&rest, 2, &item)) return;
    if (item.is_nil) {
        answer_conflict(x, rest);
        return;
    }
    rest_begin(x);
    buf_append_str(&x->text, "{\"ok\":true,\"versionstamp\":");
    json_string_write(item.text, &x->text);
    (void)rest_skip(&rest, 1 + t->counts[CHECKS], &item);
    buf_append_str(&x->text, ",\"results\":");
    put_results(&x->text, &rest, t->counts[MUTATIONS], "!");
    buf_append_str(&x->text, ",\"ids\":");
    put_results(&x->text, &rest, t->counts[ENQUEUES], "$");
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, 200);
}

/* ---- words ----------------------------------------------------------------------------------- */

static size_t count_items(const struct json_part *list)
{
    struct json_part item;
    size_t count = 0;
    if (!rest_is_there(list)) return 0;
    for (struct slice rest = json_inside(list); json_next_item(&rest, &item);) count++;
    return count;
}

static bool add_groups(struct rest_words *w, const struct json_part *parts, size_t count,
                       struct atomic_task *t)
{
    const struct members *variants =
        member_find(route_members(w->x->route), slice_str("op"))->variants;
    for (size_t i = 0; i < count; i++) {
        if (!rest_is_there(&parts[i])) continue;
        if (!rest_add_objects(w, &parts[i], group_names[i], variants, group_tokens[i],
                              no_mutations))
            return false;
        t->counts[i] = count_items(&parts[i]);
    }
    return true;
}

void rest_atomic_run(struct exchange *x)
{
    const char *names[GROUPS + 1] = {NULL};
    struct json_part parts[GROUPS];
    bool is_typed = (x->route->flags & ROUTE_TYPED) != 0;
    size_t count = is_typed ? GROUPS : KEYVAL_GROUPS;
    memcpy(names, group_names, count * sizeof names[0]);
    if (!rest_body(x, names, parts)) return;
    if (!is_typed && !rest_is_there(&parts[MUTATIONS])) {
        exchange_fail(x, 400, "mutations must be an array, which may be empty");
        return;
    }
    struct atomic_task *t = arena_alloc(&x->arena, sizeof *t);
    *t = (struct atomic_task){0};
    x->task = t;
    struct rest_words w = rest_words_of(x, is_typed ? "KV.ATOMIC DETAILS" : "KV.ATOMIC");
    size_t before = w.argc;
    if (!add_groups(&w, parts, count, t)) return;
    if (is_typed && w.argc == before) {
        exchange_fail(x, 400, "a transaction must have checks, mutations, enqueues or acks");
        return;
    }
    rest_command_go(&w, is_typed ? details_came : rest_answer_written);
}
