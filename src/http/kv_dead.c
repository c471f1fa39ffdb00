/* kv_dead: dead letters of a queue by typed REST. With a filter, requeueing and deleting many is a
 * walk over the list: a page, then those of it that fit, as one transaction, then the next page.
 */
#include "codec/json_lex.h"
#include "http/rest.h"

#define WALK_COUNT "1000"

/* The words of a command about the queue of the path. */
static bool dead_words(struct exchange *x, struct rest_words *w, const char *command)
{
    struct slice queue;
    if (!rest_path_text(x, "queue", &queue)) return false;
    *w = rest_words_of(x, command);
    rest_words_add(w, queue);
    return true;
}

/* ---- one ------------------------------------------------------------------------------------- */

/* The id is checked: these commands take a word for all of them in its place. */
static void dead_one(struct exchange *x, const char *command)
{
    struct slice id;
    struct rest_words w;
    if (!dead_words(x, &w, command) || !rest_path_text(x, "id", &id) ||
        !rest_is_message_id(x, id)) {
        return;
    }
    rest_words_add(&w, id);
    rest_command_go(&w, rest_command_came);
}

void kv_dead_requeue_run(struct exchange *x)
{
    dead_one(x, "KV.DLQ REQUEUE");
}

void kv_dead_delete_run(struct exchange *x)
{
    dead_one(x, "KV.DLQ DEL");
}

/* ---- many ------------------------------------------------------------------------------------ */

struct dead_walk {
    const char *command; /* KV.DLQ REQUEUE or DEL */
    struct slice where;
    struct slice cursor; /* of the page after this one; "0" = there is none */
    int64_t done;
};

static void walk_page_came(struct exchange *x);

static void walk_on(struct exchange *x)
{
    const struct dead_walk *t = x->task;
    struct rest_words w;
    if (!dead_words(x, &w, "KV.DLQ LIST")) return;
    rest_words_str(&w, "COUNT " WALK_COUNT);
    rest_words_pair(&w, "CURSOR", t->cursor);
    rest_words_pair(&w, "WHERE", t->where);
    rest_words_run(&w, walk_page_came);
}

static void walk_next(struct exchange *x)
{
    struct dead_walk *t = x->task;
    if (!slice_eq(t->cursor, slice_str("0"))) {
        walk_on(x);
        return;
    }
    rest_begin(x);
    buf_printf(&x->text, "{\"count\":%lld}", (long long)t->done);
    exchange_answer_json(x, 200);
}

static void walk_done(struct exchange *x)
{
    struct dead_walk *t = x->task;
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    int64_t n = 0;
    if (rest_fails(x)) return;
    if (rest_next(&rest, &item) && slice_to_i64(item.text, &n)) t->done += n;
    walk_next(x);
}

static void walk_page_came(struct exchange *x)
{
    struct dead_walk *t = x->task;
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    struct resp_item page;
    struct rest_words w;
    if (rest_fails(x) || !rest_skip(&rest, 2, &item) || !rest_next(&rest, &page)) return;
    t->cursor = arena_copy(&x->arena, item.text);
    if (page.children == 0) {
        walk_next(x);
        return;
    }
    if (!dead_words(x, &w, t->command)) return;
    for (size_t i = 0; i < page.children; i++) {
        struct slice letter = rest;
        size_t len = resp_reply_length(rest);
        if (rest_skip(&letter, 2, &item)) rest_words_add(&w, arena_copy(&x->arena, item.text));
        rest = slice_of(rest.data + len, rest.len - len);
    }
    rest_words_run(&w, walk_done);
}

static void walk(struct exchange *x, const char *command, struct slice where)
{
    struct dead_walk *t = arena_alloc(&x->arena, sizeof *t);
    *t = (struct dead_walk){.command = command, .where = where, .cursor = slice_str("0")};
    x->task = t;
    if (rest_has_no_idem(x)) walk_on(x);
}

static bool add_ids(struct rest_words *w, const struct json_part *ids)
{
    struct json_part item;
    struct slice id;
    size_t before = w->argc;
    struct slice rest = ids->kind == JSON_ARRAY ? json_inside(ids) : slice_of(NULL, 0);
    while (json_next_item(&rest, &item)) {
        if (!rest_body_text(w->x, &item, "ids", &id) || !rest_is_message_id(w->x, id)) return false;
        rest_words_add(w, id);
    }
    if (w->argc > before) return true;
    exchange_fail(w->x, 400, "ids must be a non-empty array of strings");
    return false;
}

static bool one_of_three(struct exchange *x, bool has_ids, bool is_all, bool has_where)
{
    if (has_ids + is_all + has_where == 1) return true;
    exchange_fail(x, 400, "ids, where or all must be given");
    return false;
}

void kv_dead_requeue_many_run(struct exchange *x)
{
    static const char *const names[] = {"ids", "all", "where", NULL};
    struct json_part parts[3];
    struct rest_words w;
    bool is_all = false;
    if (!rest_body(x, names, parts) || !rest_body_switch(x, &parts[1], "all", &is_all) ||
        !one_of_three(x, rest_is_there(&parts[0]), is_all, rest_is_there(&parts[2]))) {
        return;
    }
    if (rest_is_there(&parts[2])) {
        walk(x, "KV.DLQ REQUEUE", parts[2].raw);
        return;
    }
    if (!dead_words(x, &w, "KV.DLQ REQUEUE")) return;
    if (is_all) rest_words_str(&w, "ALL");
    if (is_all || add_ids(&w, &parts[0])) rest_command_go(&w, rest_command_came);
}

void kv_dead_delete_many_run(struct exchange *x)
{
    struct slice where = slice_of(NULL, 0);
    struct rest_words w;
    bool is_all = false;
    if (!rest_query_switch(x, "all", &is_all) || !rest_query_text(x, "where", &where) ||
        !one_of_three(x, false, is_all, where.data != NULL)) {
        return;
    }
    if (where.data != NULL) {
        walk(x, "KV.DLQ DEL", where);
    } else if (dead_words(x, &w, "KV.DLQ PURGE")) {
        rest_command_go(&w, rest_command_came);
    }
}
