/* kv_entries: entries by typed REST: one, with conditions on its versionstamp, and ranges. */
#include <stdio.h>

#include "codec/json_lex.h"
#include "http/rest_members.h"

#define STAMP_CHARS 20

static const char no_entry[] = "the key does not exist";

/* ---- what a body is -------------------------------------------------------------------------- */

static const char *const packed_types[] = {"application/msgpack", "application/vnd.msgpack",
                                           "application/x-msgpack"};
#define PACKED_TYPES (sizeof packed_types / sizeof packed_types[0])

static int packed_weight(struct slice list)
{
    int best = -1;
    for (size_t i = 0; i < PACKED_TYPES; i++) {
        int weight = http_list_weight(list, packed_types[i]);
        if (weight > best) best = weight;
    }
    return best;
}

/* MessagePack is wanted when Accept names it, and JSON not as much. */
static bool wants_packed(struct exchange *x)
{
    struct slice accept = http_header(x->message, "accept");
    int packed = packed_weight(accept);
    return packed > 0 && packed > http_list_weight(accept, "application/json");
}

/* The type that curl gives a body by itself counts as none: such a body is JSON too. */
static bool takes_value(struct exchange *x, bool *is_packed)
{
    struct slice type = http_header(x->message, "content-type");
    *is_packed = packed_weight(type) >= 0;
    if (type.data == NULL || *is_packed || http_list_weight(type, "application/json") >= 0 ||
        http_list_weight(type, "application/x-www-form-urlencoded") >= 0) {
        return true;
    }
    exchange_fail(x, 415,
                  "the Content-Type of a value must be application/json or application/msgpack");
    return false;
}

/* ---- conditions ------------------------------------------------------------------------------ */

struct condition {
    enum { CONDITION_NONE, CONDITION_ABSENT, CONDITION_THERE, CONDITION_STAMP } kind;
    struct slice stamp;
};

static bool is_stamp(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == 0 || strchr("0123456789abcdef", text.data[i]) == NULL) return false;
    }
    return text.len == STAMP_CHARS;
}

static bool take_condition(struct exchange *x, struct condition *c)
{
    struct slice match = http_header(x->message, "if-match");
    struct slice none = http_header(x->message, "if-none-match");
    *c = (struct condition){0};
    if (match.data != NULL && none.data != NULL) {
        exchange_fail(x, 400, "If-Match and If-None-Match exclude each other");
        return false;
    }
    if (none.data != NULL) {
        c->kind = CONDITION_ABSENT;
        if (slice_eq(none, slice_str("*"))) return true;
        exchange_fail(x, 400, "If-None-Match of a write must be * (the key does not exist)");
        return false;
    }
    if (match.data == NULL) return true;
    c->kind = CONDITION_THERE;
    if (slice_eq(match, slice_str("*"))) return true;
    c->kind = CONDITION_STAMP;
    if (match.len == STAMP_CHARS + 2 && match.data[0] == '"' && match.data[match.len - 1] == '"') {
        c->stamp = slice_of(match.data + 1, STAMP_CHARS);
        if (is_stamp(c->stamp)) return true;
    }
    exchange_fail(x, 400, "If-Match must be * or one versionstamp in quotes");
    return false;
}

/* ETag, and what is said of it to pages of other origins. */
static void put_tag(struct exchange *x, struct slice stamp)
{
    uint8_t *text = arena_alloc(&x->arena, stamp.len + 2);
    text[0] = text[stamp.len + 1] = '"';
    memcpy(text + 1, stamp.data, stamp.len);
    exchange_header(x, "etag", slice_of(text, stamp.len + 2));
    if (x->cors.data == NULL) return;
    exchange_header(x, "access-control-expose-headers", slice_str("etag, tupled-expires-at"));
}

/* The versionstamp of what is there; data NULL: nothing is. */
static void fail_condition(struct exchange *x, struct slice stamp)
{
    rest_begin(x);
    buf_append_str(&x->text, "{\"error\":\"the condition is not met\",\"versionstamp\":");
    if (stamp.data != NULL) {
        json_string_write(stamp, &x->text);
        put_tag(x, stamp);
    } else {
        buf_append_str(&x->text, "null");
    }
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, 412);
}

static void answer_written(struct exchange *x, struct slice stamp)
{
    rest_begin(x);
    buf_append_str(&x->text, "{\"ok\":true,\"versionstamp\":");
    json_string_write(stamp, &x->text);
    buf_append_byte(&x->text, '}');
    put_tag(x, stamp);
    exchange_answer_json(x, 200);
}

/* [versionstamp, ..] of KV.ATOMIC DETAILS, or [nil, [[0, versionstamp or nil]]]. */
static void checked(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item = {0};
    if (rest_fails(x)) return;
    if (rest_skip(&rest, 2, &item) && !item.is_nil) {
        answer_written(x, item.text);
        return;
    }
    bool is_there = rest_skip(&rest, 4, &item) && !item.is_nil;
    fail_condition(x, is_there ? item.text : slice_of(NULL, 0));
}

/* KV.ATOMIC's words up to the check. */
static struct rest_words begin_checked(struct exchange *x, struct slice key,
                                       const struct condition *c)
{
    struct rest_words w = rest_words_of(x, "KV.ATOMIC DETAILS CHECK");
    rest_words_add(&w, key);
    rest_words_add(&w, c->kind == CONDITION_STAMP ? c->stamp : slice_str("NONE"));
    return w;
}

/* ---- one entry ------------------------------------------------------------------------------- */

/* Does the client have this one? Weak tags count too: a proxy that compresses makes them weak. */
static bool is_known(struct exchange *x, struct slice stamp)
{
    struct slice known = http_header(x->message, "if-none-match");
    char tag[STAMP_CHARS + 8];
    if (known.data == NULL) return false;
    snprintf(tag, sizeof tag, "W/\"%.*s\"", (int)stamp.len, (const char *)stamp.data);
    return http_list_has(known, "*") || http_list_has(known, tag) || http_list_has(known, tag + 2);
}

static void answer_value(struct exchange *x, bool is_packed)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item items[4];
    if (rest_fails(x)) return;
    if (!rest_next(&rest, &items[0]) || items[0].is_nil) {
        exchange_fail(x, 404, "%s", no_entry);
        return;
    }
    for (size_t i = 1; i < 4; i++) {
        if (!rest_next(&rest, &items[i])) return;
    }
    put_tag(x, arena_copy(&x->arena, items[2].text));
    exchange_header(x, "vary", slice_str("Accept"));
    if (!items[3].is_nil) {
        exchange_header(x, "tupled-expires-at", arena_copy(&x->arena, items[3].text));
    }
    if (is_known(x, items[2].text)) {
        exchange_answer(x, 304, NULL, slice_of(NULL, 0));
        return;
    }
    rest_begin(x);
    buf_append(&x->text, items[1].text.data, items[1].text.len);
    exchange_answer(x, 200, is_packed ? packed_types[0] : "application/json", buf_slice(&x->text));
}

static void json_came(struct exchange *x)
{
    answer_value(x, false);
}

static void packed_came(struct exchange *x)
{
    answer_value(x, true);
}

void kv_get_run(struct exchange *x)
{
    struct slice key;
    bool is_packed = wants_packed(x);
    if (!rest_path_key(x, &key)) return;
    struct rest_words w = rest_words_of(x, "KV.GET");
    rest_words_add(&w, key);
    rest_words_str(&w, is_packed ? "WITHEXPIRY FORMAT MSGPACK" : "WITHEXPIRY");
    rest_words_run(&w, is_packed ? packed_came : json_came);
}

struct putting {
    struct slice key, value;
    struct condition condition;
    bool is_packed;
};

/* The value goes to its command as it came, which reads it once; a long one on a thread. */
static bool take_put(struct exchange *x, struct putting *p)
{
    *p = (struct putting){.value = x->message->body};
    return rest_path_key(x, &p->key) && take_condition(x, &p->condition) &&
           takes_value(x, &p->is_packed);
}

/* Key, value, and what the parameters say of its expiry. */
static bool add_put(struct rest_words *w, const struct putting *p)
{
    const struct rest_source s = {.x = w->x, .where = "", .without = w->x->route->without};
    rest_words_add(w, p->key);
    rest_words_add(w, p->value);
    return rest_add_members(w, &s, route_members(w->x->route));
}

/* Without a condition, or with that there is an entry: nil says that there is none. */
static void put_done(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (rest_fails(x)) return;
    if (!rest_next(&rest, &item) || item.is_nil) {
        fail_condition(x, slice_of(NULL, 0));
    } else {
        answer_written(x, item.text);
    }
}

void kv_put_run(struct exchange *x)
{
    struct putting p;
    struct rest_words w;
    if (!take_put(x, &p)) return;
    bool is_checked = p.condition.kind == CONDITION_STAMP || p.condition.kind == CONDITION_ABSENT;
    if (is_checked) {
        w = begin_checked(x, p.key, &p.condition);
        rest_words_str(&w, "SET");
    } else {
        w = rest_words_of(x, "KV.SET");
    }
    if (!add_put(&w, &p)) return;
    if (p.condition.kind == CONDITION_THERE) rest_words_str(&w, "XX");
    if (p.is_packed) rest_words_str(&w, "FORMAT MSGPACK");
    rest_command_go(&w, is_checked ? checked : put_done);
}

static void delete_done(struct exchange *x)
{
    if (rest_fails(x)) return;
    if (rest_is_one(x)) {
        rest_answer_ok(x, true);
    } else {
        exchange_fail(x, 404, "%s", no_entry);
    }
}

static void delete_there_done(struct exchange *x)
{
    if (rest_fails(x)) return;
    if (rest_is_one(x)) {
        rest_answer_ok(x, true);
    } else {
        fail_condition(x, slice_of(NULL, 0));
    }
}

void kv_delete_run(struct exchange *x)
{
    struct slice key;
    struct condition c;
    struct rest_words w;
    if (!rest_path_key(x, &key) || !take_condition(x, &c)) return;
    if (c.kind == CONDITION_ABSENT) {
        exchange_fail(x, 400, "If-None-Match is for PUT, because a missing key cannot be deleted");
        return;
    }
    bool is_checked = c.kind == CONDITION_STAMP;
    if (is_checked) {
        w = begin_checked(x, key, &c);
        rest_words_str(&w, "DEL");
    } else {
        w = rest_words_of(x, "KV.DEL");
    }
    rest_words_add(&w, key);
    rest_command_go(&w, is_checked                  ? checked
                        : c.kind == CONDITION_THERE ? delete_there_done
                                                    : delete_done);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void keys_came(struct exchange *x)
{
    if (!rest_fails(x)) rest_answer_shape(x, "{~ keys:[!]}");
}

/* Of KV.LIST and KV.FIND. */
void kv_page_run(struct exchange *x)
{
    struct rest_words w;
    bool is_keys = false;
    if (!rest_query_switch(x, "keysOnly", &is_keys) || !rest_command_words(x, &w)) return;
    rest_command_go(&w, is_keys ? keys_came : rest_command_came);
}

/* An empty prefix is everything. Where a program has put nothing into its text by mistake, that is
 * not what it means: all=true says it. */
void kv_delete_range_run(struct exchange *x)
{
    struct slice prefix;
    struct slice start;
    struct slice end;
    struct rest_words w;
    bool is_all = false;
    if (!rest_query_key(x, "prefix", &prefix) || !rest_query_key(x, "start", &start) ||
        !rest_query_key(x, "end", &end) || !rest_query_switch(x, "all", &is_all)) {
        return;
    }
    bool is_prefix = prefix.data != NULL && !slice_eq(prefix, slice_str("[]"));
    bool has_bounds = start.data != NULL && end.data != NULL;
    if (is_prefix + has_bounds + is_all != 1 || (start.data != NULL) != has_bounds ||
        (end.data != NULL) != has_bounds || (is_all && prefix.data != NULL)) {
        exchange_fail(x, 400, "prefix, start and end, or all=true must be given");
    } else if (rest_command_words(x, &w)) {
        rest_command_go(&w, rest_command_came);
    }
}
