/* kv_dead: dead letters of a queue by typed REST. With a filter, requeueing and deleting many is a
 * walk over the list: a page, then those of it that fit, as one transaction, then the next page.
 */
#include "http/kv_rest.h"

#include "codec/json_lex.h"

#define WALK_COUNT "1000"

/* The words of KV.DLQ about the queue of the path; *rest, which may be NULL, is moved past it. */
static bool dead_words(struct exchange *x, struct rest_words *w, const char *sub,
                       struct slice *rest)
{
    struct slice own = x->rest;
    return kv_rest_path_words(x, rest != NULL ? rest : &own, "the name of the queue",
                              WORDS("KV.DLQ", sub), w);
}

static bool dead_words_one(struct exchange *x, struct rest_words *w, const char *sub)
{
    struct slice id;
    struct slice rest = x->rest;
    if (!dead_words(x, w, sub, &rest)) return false;
    (void)http_path_part(&rest); /* dead */
    if (!kv_rest_path_text(x, &rest, "the id", &id) || !rest_is_message_id(x, id)) return false;
    rest_words_add(w, id);
    return true;
}

static void put_letter(struct buf *out, struct slice *rest)
{
    static const struct kv_rest_field fields[] = {{"id", true},        {"value", false},
                                                  {"attempts", false}, {"error", true},
                                                  {"failedAt", false}, {NULL, false}};
    kv_rest_put_object(out, rest, fields);
}

/* ---- looking --------------------------------------------------------------------------------- */

static void letters_came(struct exchange *x)
{
    if (!kv_rest_fails(x)) rest_answer_page(x, "messages", put_letter);
}

void kv_rest_dead_list_run(struct exchange *x)
{
    struct rest_words w;
    struct slice cursor = slice_of(NULL, 0);
    struct slice where = slice_of(NULL, 0);
    int64_t limit = REST_LIMIT_DEFAULT;
    if (!rest_query_integer(x, "limit", 1, REST_LIMIT_MAX, &limit) ||
        !rest_query_text(x, "cursor", &cursor) || !rest_query_text(x, "where", &where) ||
        !dead_words(x, &w, "LIST", NULL)) {
        return;
    }
    rest_words_str(&w, "COUNT");
    rest_words_number(&w, limit);
    rest_words_pair(&w, "CURSOR", cursor);
    rest_words_pair(&w, "WHERE", where);
    rest_words_run(&w, letters_came);
}

static void letter_came(struct exchange *x)
{
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (kv_rest_fails(x)) return;
    if (!resp_item_read(rest, &item) || item.is_nil) {
        exchange_fail(x, 404, "there is no dead letter of this id");
        return;
    }
    rest_begin(x);
    put_letter(&x->text, &rest);
    exchange_answer_json(x, 200);
}

void kv_rest_dead_get_run(struct exchange *x)
{
    struct rest_words w;
    if (dead_words_one(x, &w, "GET")) rest_words_run(&w, letter_came);
}

/* ---- one ------------------------------------------------------------------------------------- */

static void letter_done(struct exchange *x)
{
    kv_rest_answer_done(x, "there is no dead letter of this id");
}

void kv_rest_dead_requeue_run(struct exchange *x)
{
    struct rest_words w;
    if (dead_words_one(x, &w, "REQUEUE")) kv_rest_write(x, &w, letter_done);
}

void kv_rest_dead_delete_run(struct exchange *x)
{
    struct rest_words w;
    if (dead_words_one(x, &w, "DEL")) kv_rest_write(x, &w, letter_done);
}

/* ---- many ------------------------------------------------------------------------------------ */

struct dead_walk {
    const char *sub; /* REQUEUE or DEL */
    struct slice where;
    struct slice cursor; /* of the page after this one; "0" = there is none */
    int64_t done;
};

static void letters_done(struct exchange *x)
{
    kv_rest_answer_count(x, "count");
}

static void walk_page_came(struct exchange *x);

static void walk_on(struct exchange *x)
{
    const struct dead_walk *t = x->task;
    struct rest_words w;
    if (!dead_words(x, &w, "LIST", NULL)) return;
    rest_words_str(&w, "COUNT");
    rest_words_str(&w, WALK_COUNT);
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
    if (kv_rest_fails(x)) return;
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
    if (kv_rest_fails(x) || !rest_skip(&rest, 2, &item) || !rest_next(&rest, &page)) return;
    t->cursor = arena_copy(&x->arena, item.text);
    if (page.children == 0) {
        walk_next(x);
        return;
    }
    if (!dead_words(x, &w, t->sub, NULL)) return;
    for (size_t i = 0; i < page.children; i++) {
        struct slice letter = rest;
        size_t len = resp_reply_length(rest);
        if (rest_skip(&letter, 2, &item)) rest_words_add(&w, arena_copy(&x->arena, item.text));
        rest = slice_of(rest.data + len, rest.len - len);
    }
    rest_words_run(&w, walk_done);
}

static void walk(struct exchange *x, const char *sub, struct slice where)
{
    struct dead_walk *t = arena_alloc(&x->arena, sizeof *t);
    *t = (struct dead_walk){.sub = sub, .where = where, .cursor = slice_str("0")};
    x->task = t;
    if (kv_rest_has_no_idem(x)) walk_on(x);
}

static bool add_ids(struct exchange *x, struct rest_words *w, const struct json_part *ids)
{
    size_t from = w->argc;
    if (kv_rest_count(x, ids, "ids", 1) < 0 || !kv_rest_add_texts(x, w, ids, "ids")) return false;
    for (size_t i = from; i < w->argc; i++) {
        if (!rest_is_message_id(x, w->argv[i])) return false;
    }
    return true;
}

static bool one_of_three(struct exchange *x, bool has_ids, bool is_all, bool has_where)
{
    if (has_ids + is_all + has_where == 1) return true;
    exchange_fail(x, 400, "say which dead letters: ids, where, or all");
    return false;
}

void kv_rest_dead_requeue_many_run(struct exchange *x)
{
    static const char *const names[] = {"ids", "all", "where", NULL};
    struct json_part parts[3];
    struct rest_words w;
    bool is_all = false;
    if (!rest_body(x, names, parts) || !kv_rest_body_switch(x, &parts[1], "all", &is_all) ||
        !one_of_three(x, rest_is_there(&parts[0]), is_all, rest_is_there(&parts[2]))) {
        return;
    }
    if (rest_is_there(&parts[2])) {
        walk(x, "REQUEUE", parts[2].raw);
        return;
    }
    if (!dead_words(x, &w, "REQUEUE", NULL)) return;
    if (is_all) {
        rest_words_str(&w, "ALL");
    } else if (!add_ids(x, &w, &parts[0])) {
        return;
    }
    kv_rest_write(x, &w, letters_done);
}

void kv_rest_dead_delete_many_run(struct exchange *x)
{
    struct slice where = slice_of(NULL, 0);
    struct rest_words w;
    bool is_all = false;
    if (!rest_query_switch(x, "all", &is_all) || !rest_query_text(x, "where", &where) ||
        !one_of_three(x, false, is_all, where.data != NULL)) {
        return;
    }
    if (where.data != NULL) {
        walk(x, "DEL", where);
    } else if (dead_words(x, &w, "PURGE", NULL)) {
        kv_rest_write(x, &w, letters_done);
    }
}
