/* kv_index: indexes by typed REST, where more is done than one command. */
#include "codec/json_lex.h"
#include "http/rest_members.h"

/* ---- definitions ----------------------------------------------------------------------------- */

static void put_definition(struct exchange *x, struct slice reply)
{
    shape_write("%{prefix! unique?}", &reply, &x->text);
}

void kv_indexes_run(struct exchange *x)
{
    static const struct rest_indexes how = {
        .head = "", .open = "{\"indexes\":[", .close = "]}", .put = put_definition};
    rest_list_indexes(x, &how);
}

static void index_made(struct exchange *x)
{
    struct slice error;
    struct slice text = slice_str("with another definition");
    if (reply_is_error(buf_slice(&x->reply), &error) &&
        memmem(error.data, error.len, text.data, text.len) != NULL) {
        exchange_fail(x, 409, "%.*s", (int)error.len, (const char *)error.data);
        return;
    }
    if (rest_fails(x)) return;
    bool is_new = reply_text(buf_slice(&x->reply)).data != NULL; /* OK, or the number 0 */
    rest_begin(x);
    buf_printf(&x->text, "{\"ok\":true,\"created\":%s}", is_new ? "true" : "false");
    exchange_answer_json(x, 200);
}

static bool is_empty(const struct json_part *list)
{
    struct json_part item;
    if (list->kind != JSON_ARRAY || !rest_is_there(list)) return false;
    struct slice rest = json_inside(list);
    return !json_next_item(&rest, &item);
}

/* Which of both kinds is to be made, and of what, is said before the command is asked. */
void kv_index_put_run(struct exchange *x)
{
    struct rest_object body;
    struct rest_words w;
    struct slice prefix_key;
    if (!rest_command_words(x, &w) || !rest_take_body(x, &body)) return;
    struct json_part prefix = rest_object_get(&body, "prefix");
    struct json_part hashes = rest_object_get(&body, "hashes");
    struct json_part on = rest_object_get(&body, "on");
    struct json_part text = rest_object_get(&body, "text");
    if (rest_is_there(&on) == rest_is_there(&text)) {
        exchange_fail(x, 400, "on (paths of values) or text (paths of texts) must be given");
    } else if (is_empty(&on) || is_empty(&text)) {
        exchange_fail(x, 400, "%s must be a non-empty array of strings",
                      is_empty(&on) ? "on" : "text");
    } else {
        bool needs_prefix = rest_is_there(&prefix) || !rest_is_there(&hashes);
        bool is_good = !needs_prefix ||
                       rest_dialect_of(x)->body_key(x, &prefix, "prefix", &prefix_key);
        if (is_good) rest_command_go(&w, index_made);
    }
}

/* ---- searching text -------------------------------------------------------------------------- */

static void hits_came(struct exchange *x)
{
    if (!rest_fails(x)) {
        rest_answer_shape(x, "hits:[{entry:(key! value! versionstamp) score# texts:%}]");
    }
}

void kv_search_run(struct exchange *x)
{
    struct rest_words w;
    struct slice open = slice_of(NULL, 0);
    int64_t snippet = 0;
    bool has_scores = false;
    if (!rest_query_text(x, "open", &open) ||
        !rest_query_integer(x, "snippet", 1, INT64_MAX, &snippet) ||
        !rest_query_switch(x, "scores", &has_scores) || !rest_command_words(x, &w)) {
        return;
    }
    bool has_more = has_scores || open.data != NULL || snippet > 0;
    rest_command_go(&w, has_more ? hits_came : rest_command_came);
}
