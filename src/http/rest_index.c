/* rest_index: text indexes by REST: one a prefix, called `rest:` and the prefix in path form. */
#include "codec/json_lex.h"
#include "codec/key.h"
#include "http/rest.h"

#define NAME "rest:"

/* The index of a prefix. */
static bool name_of(struct exchange *x, struct slice key, struct slice *name)
{
    struct buf tuple;
    struct buf text;
    struct error e;
    buf_init(&tuple);
    buf_init(&text);
    buf_append_str(&text, NAME);
    bool is_good = key_from_json(key, false, NULL, &tuple, &e) == OK;
    if (is_good) key_to_path(buf_slice(&tuple), &text);
    buf_require(&text);
    if (is_good) *name = arena_copy(&x->arena, buf_slice(&text));
    if (!is_good) exchange_fail(x, 400, "prefix: %s", e.text);
    buf_fini(&tuple);
    buf_fini(&text);
    return is_good;
}

/* ---- create ---------------------------------------------------------------------------------- */

struct creating {
    struct slice name;
    struct slice *argv;
    size_t argc;
    bool is_again;
};

static void create(struct exchange *x);

static void dropped(struct exchange *x)
{
    if (!rest_fails(x)) create(x);
}

/* One that is there and different is replaced. */
static void created(struct exchange *x)
{
    struct creating *t = x->task;
    struct slice error;
    if (!reply_is_error(buf_slice(&x->reply), &error)) {
        rest_answer_ok(x, true);
        return;
    }
    struct slice text = slice_str("with another definition");
    bool is_other = error.len > text.len && memmem(error.data, error.len, text.data, text.len);
    if (!is_other || t->is_again) {
        (void)rest_fails(x);
        return;
    }
    t->is_again = true;
    struct rest_words w = rest_words_of(x, "KV.INDEX DROP");
    rest_words_add(&w, t->name);
    rest_words_run(&w, dropped);
}

static void create(struct exchange *x)
{
    const struct creating *t = x->task;
    exchange_command(x, t->argv, t->argc, created);
}

static bool add_fields(struct exchange *x, struct rest_words *w, const struct json_part *fields)
{
    struct json_part item;
    struct slice text;
    int64_t count = 0;
    bool is_array = rest_is_there(fields) && fields->kind == JSON_ARRAY;
    if (is_array) {
        for (struct slice rest = json_inside(fields); json_next_item(&rest, &item);) count++;
    }
    if (count == 0) {
        exchange_fail(x, 400, "options.fields must be a non-empty array");
        return false;
    }
    rest_words_str(w, "TEXT");
    rest_words_number(w, count);
    for (struct slice rest = json_inside(fields); json_next_item(&rest, &item);) {
        if (!rest_body_text(x, &item, "a field", &text)) return false;
        rest_words_add(w, text);
    }
    return true;
}

void rest_index_create_run(struct exchange *x)
{
    static const char *const names[] = {"prefix", "options", "fields", "tokenize", NULL};
    static const char *const inner[] = {"fields", "tokenize", NULL};
    struct json_part parts[4];
    struct json_part options[2] = {{0}};
    struct slice key;
    struct slice tokenizer;
    struct error e;
    if (!rest_body(x, names, parts) || !rest_dialect_of(x)->body_key(x, &parts[0], "prefix", &key))
        return;
    if (rest_is_there(&parts[1]) &&
        json_members(&parts[1], inner, options, true, "options", &e) != OK) {
        exchange_fail(x, 400, "%s", e.text);
        return;
    }
    if (!rest_is_there(&options[0])) options[0] = parts[2]; /* as some clients send them */
    if (!rest_is_there(&options[1])) options[1] = parts[3];
    struct creating *t = arena_alloc(&x->arena, sizeof *t);
    *t = (struct creating){0};
    if (!name_of(x, key, &t->name)) return;
    struct rest_words w = rest_words_of(x, "KV.INDEX CREATE");
    rest_words_add(&w, t->name);
    rest_words_str(&w, "PREFIX");
    rest_words_add(&w, key);
    if (!add_fields(x, &w, &options[0])) return;
    if (rest_is_there(&options[1])) {
        if (!rest_body_text(x, &options[1], "options.tokenize", &tokenizer)) return;
        rest_words_str(&w, "TOKENIZE");
        rest_words_add(&w, tokenizer);
    }
    rest_words_str(&w, "IF NOT EXISTS");
    t->argv = w.argv;
    t->argc = w.argc;
    x->task = t;
    create(x);
}

/* ---- list ------------------------------------------------------------------------------------ */

struct listing {
    const struct rest_indexes *how;
    struct slice names; /* replies that are left, in the arena */
    size_t left;
    bool has_one;
};

static void list_next(struct exchange *x);

/* The value of a name in a flat array; its items follow in *rest when it is one. */
static bool find_value(struct slice reply, const char *name, struct slice *value)
{
    struct resp_item item;
    if (!rest_next(&reply, &item)) return false;
    while (reply.len > 0 && resp_item_read(reply, &item)) {
        bool is_it = slice_eq(item.text, slice_str(name));
        reply = slice_of(reply.data + item.used, reply.len - item.used);
        size_t len = resp_reply_length(reply);
        if (is_it) {
            *value = slice_of(reply.data, len);
            return len > 0;
        }
        reply = slice_of(reply.data + len, reply.len - len);
    }
    return false;
}

/* A value of the reply, by its name. */
static void put_member(struct exchange *x, struct slice reply, const char *name)
{
    struct slice value;
    struct error e;
    if (!find_value(reply, name, &value) || reply_to_json(value, false, &x->text, &e) != OK) {
        buf_append_str(&x->text, "null");
    }
}

static void put_index(struct exchange *x, struct slice reply)
{
    struct slice value;
    struct resp_item item;
    buf_append_str(&x->text, "{\"prefix\":");
    if (find_value(reply, "prefix", &value) && resp_item_read(value, &item)) {
        buf_append(&x->text, item.text.data, item.text.len);
    }
    buf_append_str(&x->text, ",\"fields\":");
    put_member(x, reply, "paths");
    buf_append_str(&x->text, ",\"tokenize\":");
    put_member(x, reply, "tokenize");
    buf_append_str(&x->text, ",\"tableName\":");
    put_member(x, reply, "name");
    buf_append_str(&x->text, ",\"state\":");
    put_member(x, reply, "state");
    buf_append_byte(&x->text, '}');
}

static void info_came(struct exchange *x)
{
    struct listing *t = x->task;
    struct slice error;
    struct slice reply = buf_slice(&x->reply);
    if (!reply_is_error(reply, &error)) { /* one that was dropped meanwhile is not there */
        if (t->has_one) buf_append_byte(&x->text, ',');
        t->has_one = true;
        t->how->put(x, reply);
    }
    list_next(x);
}

static void list_next(struct exchange *x)
{
    struct listing *t = x->task;
    struct resp_item item;
    while (t->left > 0 && rest_next(&t->names, &item)) {
        t->left--;
        if (!slice_has_prefix(item.text, slice_str(t->how->head))) continue;
        struct rest_words w = rest_words_of(x, "KV.INDEX INFO");
        rest_words_add(&w, item.text);
        rest_words_run(&w, info_came);
        return;
    }
    buf_append_str(&x->text, t->how->close);
    exchange_answer_json(x, 200);
}

static void names_came(struct exchange *x)
{
    struct resp_item item;
    if (rest_fails(x)) return;
    struct listing *t = x->task;
    t->names = arena_copy(&x->arena, buf_slice(&x->reply));
    if (rest_next(&t->names, &item)) t->left = item.children;
    rest_begin(x);
    buf_append_str(&x->text, t->how->open);
    list_next(x);
}

void rest_list_indexes(struct exchange *x, const struct rest_indexes *how)
{
    struct listing *t = arena_alloc(&x->arena, sizeof *t);
    *t = (struct listing){.how = how};
    x->task = t;
    exchange_words(x, names_came, WORDS("KV.INDEX", "LIST"));
}

void rest_index_list_run(struct exchange *x)
{
    static const struct rest_indexes how = {
        .head = NAME, .open = "[", .close = "]", .put = put_index};
    rest_list_indexes(x, &how);
}

/* ---- drop ------------------------------------------------------------------------------------ */

static void index_dropped(struct exchange *x)
{
    if (!rest_fails(x)) rest_answer_ok(x, true);
}

void rest_index_drop_run(struct exchange *x)
{
    struct slice key;
    struct slice name;
    if (!rest_query_key(x, "prefix", &key)) return;
    if (key.data == NULL) {
        exchange_fail(x, 400, "Missing 'prefix' query parameter");
        return;
    }
    if (!name_of(x, key, &name)) return;
    struct rest_words w = rest_words_of(x, "KV.INDEX DROP");
    rest_words_add(&w, name);
    rest_words_run(&w, index_dropped);
}

/* ---- search ---------------------------------------------------------------------------------- */

static void search(struct exchange *x, struct slice key, struct slice query, int64_t limit,
                   struct slice where)
{
    struct slice name;
    if (!name_of(x, key, &name)) return;
    struct rest_words w = rest_words_of(x, "KV.SEARCH");
    rest_words_add(&w, name);
    rest_words_add(&w, query);
    rest_words_str(&w, "LIMIT");
    rest_words_number(&w, limit);
    rest_words_pair(&w, "WHERE", where);
    rest_words_run(&w, rest_command_came);
}

void rest_search_run(struct exchange *x)
{
    struct slice key;
    struct slice query = slice_of(NULL, 0);
    struct slice where = slice_of(NULL, 0);
    int64_t limit;
    if (!rest_query_key(x, "prefix", &key) || !rest_query_text(x, "query", &query)) return;
    if (!rest_query_text(x, "where", &where) || !rest_limit(x, NULL, &limit)) return;
    if (key.data == NULL || query.len == 0) {
        exchange_fail(x, 400, "Missing '%s' query parameter",
                      key.data == NULL ? "prefix" : "query");
        return;
    }
    search(x, key, query, limit, where);
}

void rest_search_body_run(struct exchange *x)
{
    static const char *const names[] = {"prefix", "query", "options", "limit", "where", NULL};
    static const char *const inner[] = {"limit", "where", NULL};
    struct json_part parts[5];
    struct json_part options[2] = {{0}};
    struct slice key;
    struct slice query;
    struct error e;
    int64_t limit;
    if (!rest_body(x, names, parts) || !rest_dialect_of(x)->body_key(x, &parts[0], "prefix", &key))
        return;
    if (!rest_body_text(x, &parts[1], "query", &query)) return;
    if (rest_is_there(&parts[2]) &&
        json_members(&parts[2], inner, options, true, "options", &e) != OK) {
        exchange_fail(x, 400, "%s", e.text);
        return;
    }
    if (!rest_is_there(&options[0])) options[0] = parts[3];
    if (!rest_is_there(&options[1])) options[1] = parts[4];
    if (rest_limit(x, &options[0], &limit)) search(x, key, query, limit, options[1].raw);
}
