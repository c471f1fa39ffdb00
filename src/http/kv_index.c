/* kv_index: indexes by typed REST: definitions, finding by value, searching text. */
#include "http/kv_rest.h"

#include "codec/json_lex.h"
#include "http/reply_json.h"

/* ---- definitions ----------------------------------------------------------------------------- */

static void put_definition(struct exchange *x, struct slice reply)
{
    buf_append_byte(&x->text, '{');
    kv_rest_put_members(&x->text, &reply);
    buf_append_byte(&x->text, '}');
}

void kv_rest_indexes_run(struct exchange *x)
{
    static const struct rest_indexes how = {
        .head = "", .open = "{\"indexes\":[", .close = "]}", .put = put_definition};
    rest_list_indexes(x, &how);
}

/* The words of a command about the index of the path. False: answered. */
static bool index_words(struct exchange *x, struct rest_words *w, const char *command,
                        const char *sub)
{
    struct slice rest = x->rest;
    return kv_rest_path_words(x, &rest, "the name of the index", WORDS(command, sub), w);
}

/* An index that is not there is 404. */
static bool index_fails(struct exchange *x)
{
    struct slice error;
    if (reply_is_error(buf_slice(&x->reply), &error) &&
        slice_has_prefix(error, slice_str("ERR there is no index "))) {
        exchange_fail(x, 404, "%.*s", (int)error.len, (const char *)error.data);
        return true;
    }
    return kv_rest_fails(x);
}

static void definition_came(struct exchange *x)
{
    if (index_fails(x)) return;
    rest_begin(x);
    put_definition(x, buf_slice(&x->reply));
    exchange_answer_json(x, 200);
}

void kv_rest_index_run(struct exchange *x)
{
    struct rest_words w;
    if (index_words(x, &w, "KV.INDEX", "INFO")) rest_words_run(&w, definition_came);
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
    if (kv_rest_fails(x)) return;
    bool is_new = reply_text(buf_slice(&x->reply)).data != NULL; /* OK, or the number 0 */
    rest_begin(x);
    buf_printf(&x->text, "{\"ok\":true,\"created\":%s}", is_new ? "true" : "false");
    exchange_answer_json(x, 200);
}

enum index_part { INDEX_PREFIX, INDEX_ON, INDEX_UNIQUE, INDEX_TEXT_PATHS, INDEX_TOKENIZE };

static bool add_paths(struct exchange *x, struct rest_words *w, const struct json_part *parts)
{
    bool is_text = rest_is_there(&parts[INDEX_TEXT_PATHS]);
    const struct json_part *paths = &parts[is_text ? INDEX_TEXT_PATHS : INDEX_ON];
    if (is_text == rest_is_there(&parts[INDEX_ON])) {
        exchange_fail(x, 400, "say on, the paths of values, or text, those of a text index");
        return false;
    }
    int64_t count = kv_rest_count(x, paths, is_text ? "text" : "on", 1);
    if (count < 0) return false;
    rest_words_str(w, is_text ? "TEXT" : "ON");
    rest_words_number(w, count);
    return kv_rest_add_texts(x, w, paths, is_text ? "text" : "on");
}

void kv_rest_index_put_run(struct exchange *x)
{
    static const char *const names[] = {"prefix", "on", "unique", "text", "tokenize", NULL};
    struct json_part parts[5];
    struct slice text;
    struct rest_words w;
    bool is_unique = false;
    if (!rest_body(x, names, parts) || !kv_rest_has_no_idem(x) ||
        !index_words(x, &w, "KV.INDEX", "CREATE") ||
        !kv_rest_body_key(x, &parts[INDEX_PREFIX], "prefix", &text)) {
        return;
    }
    rest_words_str(&w, "PREFIX");
    rest_words_add(&w, text);
    if (!add_paths(x, &w, parts) ||
        !kv_rest_body_switch(x, &parts[INDEX_UNIQUE], "unique", &is_unique)) {
        return;
    }
    if (is_unique) rest_words_str(&w, "UNIQUE");
    if (rest_is_there(&parts[INDEX_TOKENIZE])) {
        if (!rest_body_text(x, &parts[INDEX_TOKENIZE], "tokenize", &text)) return;
        rest_words_str(&w, "TOKENIZE");
        rest_words_add(&w, text);
    }
    rest_words_str(&w, "IF");
    rest_words_str(&w, "NOT");
    rest_words_str(&w, "EXISTS");
    rest_words_run(&w, index_made);
}

static void index_ended(struct exchange *x)
{
    kv_rest_answer_done(x, "there is no index of this name");
}

void kv_rest_index_delete_run(struct exchange *x)
{
    struct rest_words w;
    if (!kv_rest_has_no_idem(x)) return;
    if (index_words(x, &w, "KV.INDEX", "DROP")) rest_words_run(&w, index_ended);
}

/* ---- finding by value ------------------------------------------------------------------------ */

static void entries_found(struct exchange *x)
{
    if (!index_fails(x)) rest_answer_page(x, "entries", rest_put_entry);
}

static void keys_found(struct exchange *x)
{
    if (!index_fails(x)) rest_answer_page(x, "keys", kv_rest_put_json);
}

/* Every parameter `value`, in order. */
static bool add_values(struct exchange *x, struct rest_words *w)
{
    struct slice rest = x->message->query;
    struct slice name;
    struct slice raw;
    while (http_query_next(&rest, &name, &raw)) {
        struct slice value;
        if (!slice_eq(name, slice_str("value"))) continue;
        if (!http_decode(raw, true, &x->arena, &value)) {
            exchange_fail(x, 400, "the parameter 'value' is not percent-encoded UTF-8");
            return false;
        }
        if (!kv_rest_is_json(x, "value", value)) return false;
        rest_words_add(w, value);
    }
    return true;
}

static bool add_bound(struct exchange *x, struct rest_words *w, const char *name, const char *word)
{
    struct slice value = slice_of(NULL, 0);
    if (!rest_query_text(x, name, &value)) return false;
    if (value.data == NULL) return true;
    if (!kv_rest_is_json(x, name, value)) return false;
    rest_words_pair(w, word, value);
    return true;
}

void kv_rest_find_run(struct exchange *x)
{
    struct rest_range r;
    struct rest_words w;
    if (!kv_rest_range(x, true, &r) || !index_words(x, &w, "KV.FIND", NULL) || !add_values(x, &w) ||
        !add_bound(x, &w, "from", "FROM") || !add_bound(x, &w, "to", "TO")) {
        return;
    }
    rest_words_page(&w, &r);
    rest_words_run(&w, r.is_keys_only ? keys_found : entries_found);
}

/* ---- searching text -------------------------------------------------------------------------- */

/* [path, text, ..] at *rest as an object. */
static void put_texts(struct buf *out, struct slice *rest)
{
    struct resp_item head;
    struct resp_item item;
    buf_append_byte(out, '{');
    if (!rest_next(rest, &head)) return;
    for (size_t i = 0; i < head.children && rest_next(rest, &item); i++) {
        if (i > 0) buf_append_byte(out, i % 2 == 0 ? ',' : ':');
        json_string_write_lossy(item.text, out);
    }
    buf_append_byte(out, '}');
}

/* [key, value, versionstamp, score, texts] */
static void put_hit(struct buf *out, struct slice *rest)
{
    struct resp_item item;
    buf_append_str(out, "{\"entry\":");
    rest_put_entry(out, rest);
    buf_append_str(out, ",\"score\":");
    if (rest_next(rest, &item)) buf_append(out, item.text.data, item.text.len);
    buf_append_str(out, ",\"texts\":");
    put_texts(out, rest);
    buf_append_byte(out, '}');
}

static void entries_searched(struct exchange *x)
{
    if (index_fails(x)) return;
    kv_rest_answer_objects(x, "entries", buf_slice(&x->reply), rest_put_entry);
}

static void hits_searched(struct exchange *x)
{
    if (index_fails(x)) return;
    kv_rest_answer_objects(x, "hits", buf_slice(&x->reply), put_hit);
}

/* open and close are said together. */
static bool add_marks(struct exchange *x, struct rest_words *w, bool *has_marks)
{
    struct slice open = slice_of(NULL, 0);
    struct slice close = slice_of(NULL, 0);
    if (!rest_query_text(x, "open", &open) || !rest_query_text(x, "close", &close)) return false;
    *has_marks = open.data != NULL;
    if (*has_marks != (close.data != NULL)) {
        exchange_fail(x, 400, "open and close, the marks around what was found, go together");
        return false;
    }
    if (!*has_marks) return true;
    rest_words_str(w, "HIGHLIGHT");
    rest_words_add(w, open);
    rest_words_add(w, close);
    return true;
}

void kv_rest_search_run(struct exchange *x)
{
    struct rest_words w;
    struct slice query = slice_of(NULL, 0);
    struct slice where = slice_of(NULL, 0);
    int64_t limit;
    int64_t offset = 0;
    int64_t snippet = 0;
    bool has_scores = false;
    bool has_marks = false;
    if (!rest_query_text(x, "query", &query) || !rest_query_text(x, "where", &where) ||
        !kv_rest_limit(x, &limit) || !rest_query_integer(x, "offset", 0, INT64_MAX, &offset) ||
        !rest_query_integer(x, "snippet", 1, INT64_MAX, &snippet) ||
        !rest_query_switch(x, "scores", &has_scores) || !index_words(x, &w, "KV.SEARCH", NULL)) {
        return;
    }
    if (query.len == 0) {
        exchange_fail(x, 400, "query must be there");
        return;
    }
    rest_words_add(&w, query);
    rest_words_str(&w, "LIMIT");
    rest_words_number(&w, limit);
    rest_words_str(&w, "OFFSET");
    rest_words_number(&w, offset);
    rest_words_pair(&w, "WHERE", where);
    if (!add_marks(x, &w, &has_marks)) return;
    if (snippet > 0) {
        rest_words_str(&w, "SNIPPET");
        rest_words_number(&w, snippet);
    }
    if (has_scores) rest_words_str(&w, "WITHSCORES");
    bool has_more = has_scores || has_marks || snippet > 0;
    rest_words_run(&w, has_more ? hits_searched : entries_searched);
}
