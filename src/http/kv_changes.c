/* kv_changes: the change feed by typed REST: a page of it, and streams of events, which go on from
 * it (rest_watch.c).
 */
#include "codec/json_lex.h"
#include "http/rest_members.h"

#define WATCHED_KEYS_MAX 1000

/* ---- a page ---------------------------------------------------------------------------------- */

static void put_change_row(struct buf *out, struct slice *rest)
{
    struct resp_item items[REST_ROW_ITEMS];
    if (!rest_next_row(rest, items)) return;
    buf_append_byte(out, '{');
    rest_put_row(out, items);
    buf_append_str(out, ",\"commit\":");
    json_string_write(items[3].text, out);
    if (!items[4].is_nil) {
        buf_append_str(out, ",\"expiresAt\":");
        buf_append(out, items[4].text.data, items[4].text.len);
    }
    buf_append_byte(out, '}');
}

static void put_changes(struct buf *out, struct slice *rest)
{
    struct resp_item item;
    buf_append_byte(out, '[');
    if (rest_next(rest, &item)) {
        for (size_t i = 0; i < item.children; i++) {
            if (i > 0) buf_append_byte(out, ',');
            put_change_row(out, rest);
        }
    }
    buf_append_byte(out, ']');
}

static void changes_came(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item next;
    if (rest_fails(x) || !rest_skip(&rest, 2, &next)) return;
    rest_begin(x);
    buf_append_str(&x->text, "{\"changes\":");
    put_changes(&x->text, &rest);
    buf_append_str(&x->text, ",\"next\":");
    json_string_write(next.text, &x->text);
    buf_append_byte(&x->text, '}');
    exchange_answer_json(x, 200);
}

void kv_changes_run(struct exchange *x)
{
    struct slice since = slice_str("0");
    struct rest_words w = rest_words_of(x, x->route->words);
    const struct rest_source s = {
        .x = x, .where = "", .without = x->route->without, .limit_max = x->route->limit_max};
    if (!rest_query_text(x, "since", &since)) return;
    rest_words_add(&w, since);
    if (rest_add_members(&w, &s, route_members(x->route))) rest_command_go(&w, changes_came);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool refuse_watched(struct exchange *x)
{
    exchange_fail(x, 400, "keys must have 1 to %d keys", WATCHED_KEYS_MAX);
    return false;
}

/* A JSON array of keys. */
static bool take_watched_list(struct exchange *x, struct slice text, struct rest_watch *w)
{
    struct json_part list;
    struct json_part item;
    struct error e;
    if (json_check(text, &list, &e) != OK) {
        exchange_fail(x, 400, "keys: %s", e.text);
        return false;
    }
    for (struct slice rest = json_inside(&list); json_next_item(&rest, &item); w->count++) {
        if (w->count == WATCHED_KEYS_MAX) return refuse_watched(x);
        if (!rest_dialect_of(x)->body_key(x, &item, "keys", &w->keys[w->count])) return false;
    }
    return w->count > 0 || refuse_watched(x);
}

/* Keys in path form with commas between, or a JSON array of keys. */
static bool take_watched(struct exchange *x, struct slice text, struct rest_watch *w)
{
    w->keys = exchange_argv(x, WATCHED_KEYS_MAX);
    if (text.len > 0 && text.data[0] == '[') return take_watched_list(x, text, w);
    if (text.len == 0) return refuse_watched(x);
    for (bool is_last = false; !is_last; w->count++) {
        const uint8_t *comma = memchr(text.data, ',', text.len);
        is_last = comma == NULL;
        size_t len = is_last ? text.len : (size_t)(comma - text.data);
        struct slice path = slice_of(text.data, len);
        if (w->count == WATCHED_KEYS_MAX) return refuse_watched(x);
        if (!rest_written_key(x, path, false, "keys", &w->keys[w->count])) return false;
        text = slice_of(text.data + len + !is_last, text.len - len - !is_last);
    }
    return true;
}

void kv_watch_run(struct exchange *x)
{
    struct rest_watch w = {.limit = REST_LIMIT_DEFAULT};
    struct slice keys = slice_of(NULL, 0);
    bool is_initial = true;
    if (!rest_query_key(x, "prefix", &w.prefix) || !rest_query_text(x, "keys", &keys) ||
        !rest_query_text(x, "since", &w.since) ||
        !rest_query_integer(x, "limit", 1, LIST_LIMIT_MAX, &w.limit) ||
        !rest_query_switch(x, "initial", &is_initial)) {
        return;
    }
    if ((w.prefix.data != NULL) == (keys.data != NULL)) {
        exchange_fail(x, 400, "prefix or keys must be given");
        return;
    }
    if (keys.data != NULL && w.since.data != NULL) {
        exchange_fail(x, 400,
                      "since applies to a prefix: a stream of keys starts with their current "
                      "state");
        return;
    }
    if (keys.data != NULL && !take_watched(x, keys, &w)) return;
    w.is_silent = !is_initial;
    rest_watch_open(x, &w);
}
