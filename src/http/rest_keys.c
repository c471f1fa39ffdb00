/* rest_keys: entries by REST: one, many, lists, counts, deletes. */
#include <stdio.h>

#include "codec/json_lex.h"
#include "http/reply_json.h"
#include "http/rest.h"

/* ---- one entry ------------------------------------------------------------------------------- */

struct one {
    struct slice key;
};

static void got(struct exchange *x)
{
    const struct one *t = x->task;
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (rest_fails(x)) return;
    if (!resp_item_read(rest, &item) || item.is_nil) {
        exchange_fail(x, 404, "Key not found");
        return;
    }
    rest_begin(x);
    rest_put_found(&x->text, t->key, &rest);
    exchange_answer_json(x, 200);
}

static struct one *one_of(struct exchange *x, struct slice key)
{
    struct one *t = arena_alloc(&x->arena, sizeof *t);
    t->key = key;
    x->task = t;
    return t;
}

void rest_get_run(struct exchange *x)
{
    struct slice key;
    if (!rest_path_key(x, &key)) return;
    (void)one_of(x, key);
    struct rest_words w = rest_words_of(x, "KV.GET");
    rest_words_add(&w, key);
    rest_words_str(&w, "WITHVERSION");
    rest_words_run(&w, got);
}

void rest_put_run(struct exchange *x)
{
    struct slice key;
    struct json_part body;
    struct error e;
    int64_t expires_ms = 0;
    if (!rest_path_key(x, &key)) return;
    if (!rest_query_integer(x, "expiresIn", 1, REST_EXPIRY_MS_MAX, &expires_ms)) return;
    if (json_check(x->message->body, &body, &e) != OK) {
        exchange_fail(x, 400, "%s", e.text);
        return;
    }
    struct rest_words w = rest_words_of(x, "KV.SET");
    rest_words_add(&w, key);
    rest_words_add(&w, body.raw);
    if (expires_ms > 0) {
        rest_words_str(&w, "PX");
        rest_words_number(&w, expires_ms);
    }
    rest_words_run(&w, rest_answer_written);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void listed(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item cursor;
    if (rest_fails(x) || !rest_skip(&rest, 2, &cursor)) return;
    rest_begin(x);
    shape_write(x->route->answer, &rest, &x->text);
    exchange_answer_json(x, 200);
}

void rest_list_run(struct exchange *x)
{
    struct rest_words w;
    if (rest_command_words(x, &w)) rest_command_go(&w, listed);
}

/* ---- many keys ------------------------------------------------------------------------------- */

struct many {
    struct slice *keys;
    size_t count, next;
    bool is_exact, has_prefix_done;
    struct slice where; /* data NULL = none */
    int64_t deleted;
};

static struct many *take_keys(struct exchange *x, const struct json_part *part)
{
    struct json_part item;
    char where[32];
    size_t count = 0;
    if (!rest_is_there(part) || part->kind != JSON_ARRAY) {
        exchange_fail(x, 400, "keys must be an array of keys");
        return NULL;
    }
    for (struct slice rest = json_inside(part); json_next_item(&rest, &item);) count++;
    if (count == 0 || count > REST_BATCH_MAX) {
        exchange_fail(x, 400, count == 0 ? "keys cannot be empty" : "Too many keys: %zu (max %d)",
                      count, REST_BATCH_MAX);
        return NULL;
    }
    struct many *m = arena_alloc(&x->arena, sizeof *m);
    *m = (struct many){.keys = exchange_argv(x, count)};
    for (struct slice rest = json_inside(part); json_next_item(&rest, &item); m->count++) {
        snprintf(where, sizeof where, "keys[%zu]", m->count);
        if (!rest_dialect_of(x)->body_key(x, &item, where, &m->keys[m->count])) return NULL;
    }
    x->task = m;
    return m;
}

static void batch_came(struct exchange *x)
{
    const struct many *m = x->task;
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (rest_fails(x)) return;
    rest_begin(x);
    buf_append_byte(&x->text, '[');
    if (!rest_next(&rest, &item)) return;
    for (size_t i = 0; i < m->count; i++) {
        if (i > 0) buf_append_byte(&x->text, ',');
        rest_put_found(&x->text, m->keys[i], &rest);
    }
    buf_append_byte(&x->text, ']');
    exchange_answer_json(x, 200);
}

void rest_batch_run(struct exchange *x)
{
    static const char *const names[] = {"keys", NULL};
    struct json_part keys;
    if (!rest_body(x, names, &keys)) return;
    const struct many *m = take_keys(x, &keys);
    if (m == NULL) return;
    struct rest_words w = rest_words_of(x, "KV.MGET");
    for (size_t i = 0; i < m->count; i++) rest_words_add(&w, m->keys[i]);
    rest_words_run(&w, batch_came);
}

/* ---- deletes --------------------------------------------------------------------------------- */

static void delete_next(struct exchange *x);

static void deleted(struct exchange *x)
{
    struct many *m = x->task;
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    int64_t n = 0;
    if (rest_fails(x)) return;
    if (rest_next(&rest, &item) && slice_to_i64(item.text, &n)) m->deleted += n;
    delete_next(x);
}

/* The key itself; with a filter, as a range that nothing else is in. */
static void delete_one(struct exchange *x, const struct many *m, struct slice key)
{
    struct rest_words w = rest_words_of(x, m->where.data == NULL ? "KV.DEL" : "KV.DELRANGE");
    if (m->where.data != NULL) {
        static const char first[] = ",{\"$bytes\":\"\"}]"; /* the least part that there is */
        struct slice inside = slice_of(key.data, key.len - 1);
        uint8_t *end = arena_alloc(&x->arena, inside.len + sizeof first);
        memcpy(end, inside.data, inside.len);
        memcpy(end + inside.len, first, sizeof first - 1);
        rest_words_pair(&w, "START", key);
        rest_words_pair(&w, "END", slice_of(end, inside.len + sizeof first - 1));
        rest_words_pair(&w, "WHERE", m->where);
    } else {
        rest_words_add(&w, key);
    }
    rest_words_run(&w, deleted);
}

static void delete_next(struct exchange *x)
{
    struct many *m = x->task;
    if (m->next == m->count) {
        rest_begin(x);
        buf_printf(&x->text, "{\"deletedCount\":%lld}", (long long)m->deleted);
        exchange_answer_json(x, 200);
        return;
    }
    struct slice key = m->keys[m->next];
    if (m->is_exact || m->has_prefix_done) {
        m->has_prefix_done = false;
        m->next++;
        delete_one(x, m, key);
        return;
    }
    m->has_prefix_done = true;
    struct rest_words w = rest_words_of(x, "KV.DELRANGE");
    rest_words_pair(&w, "PREFIX", key);
    rest_words_pair(&w, "WHERE", m->where);
    rest_words_run(&w, deleted);
}

/* `exact` and `where` of a body. */
static bool take_how(struct exchange *x, const struct json_part *exact,
                     const struct json_part *where, struct many *m)
{
    if (rest_is_there(exact) && exact->kind != JSON_BOOL) {
        exchange_fail(x, 400, "exact must be true or false");
        return false;
    }
    if (rest_is_there(exact)) m->is_exact = json_is_true(exact);
    if (rest_is_there(where)) m->where = where->raw;
    return true;
}

void rest_delete_run(struct exchange *x)
{
    static const char *const names[] = {"exact", "where", NULL};
    struct json_part parts[2] = {{0}};
    struct slice key;
    struct slice type = http_header(x->message, "content-type");
    struct many *m = arena_alloc(&x->arena, sizeof *m);
    *m = (struct many){.count = 1, .is_exact = x->http->options.rest_deletes_exact};
    if (!rest_path_key(x, &key)) return;
    m->keys = exchange_argv(x, 1);
    m->keys[0] = key;
    bool has_body = x->message->body.len > 0;
    if (!has_body && type.data != NULL && http_list_has(type, "application/json")) {
        exchange_fail(x, 400,
                      "The Content-Type is JSON, but the body is missing; a proxy may have "
                      "removed it. Use ?exact=true or ?where= in the URL");
        return;
    }
    if (has_body && !rest_body(x, names, parts)) return;
    if (!rest_query_switch(x, "exact", &m->is_exact)) return;
    if (!rest_query_text(x, "where", &m->where)) return;
    if (!take_how(x, &parts[0], &parts[1], m)) return;
    x->task = m;
    delete_next(x);
}

void rest_delete_batch_run(struct exchange *x)
{
    static const char *const names[] = {"keys", "exact", "where", NULL};
    struct json_part parts[3];
    if (!rest_body(x, names, parts)) return;
    struct many *m = take_keys(x, &parts[0]);
    if (m == NULL) return;
    m->is_exact = x->http->options.rest_deletes_exact;
    if (take_how(x, &parts[1], &parts[2], m)) delete_next(x);
}

void rest_delete_all_run(struct exchange *x)
{
    exchange_fail(x, 400, "Key path cannot be empty: DELETE %s/keys/<path>",
                  x->http->options.rest_base);
}
