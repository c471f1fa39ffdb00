/* embedded: the engine inside of a program: typed calls, transactions, queues, pages, any command,
 * sessions, watches, with a thread of its own and driven by the caller.
 */
#include "unit/embedded/embedded.h"

#include <math.h>

#include "base/clock.h"
#include "base/fault.h"

static void what_is_set_is_got_and_deleted(void **state)
{
    struct program t;
    struct tupled_entry *entry = NULL;
    struct tupled_error e;
    char stamp[TUPLED_STAMP_BYTES];
    program_init(&t, NULL);
    assert_int_equal(tupled_get(t.db, KEY1, &entry, &e), TUPLED_NO);
    assert_null(entry);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("{\"n\":1}"), NULL, stamp, &e), TUPLED_YES);
    assert_int_equal(strlen(stamp), 20);
    assert_int_equal(tupled_get(t.db, KEY1, &entry, &e), TUPLED_YES);
    assert_string_equal(entry->value.data, "{\"n\":1}");
    assert_int_equal(entry->value.len, 7);
    assert_string_equal(entry->versionstamp, stamp);
    assert_int_equal(entry->expiry_ms, 0);
    tupled_free(entry);
    assert_int_equal(tupled_delete(t.db, KEY1, &e), TUPLED_YES);
    assert_int_equal(tupled_delete(t.db, KEY1, &e), TUPLED_NO);
    program_fini(&t);
}

static int64_t operations(struct program *t)
{
    int64_t found = -1;
    struct tupled_reply *r = program_ask(t, "KV.DB INFO 0");
    for (size_t i = 0; i + 1 < r->count; i += 2) {
        if (strcmp(r->items[i].text, "operations") == 0) found = r->items[i + 1].integer;
    }
    tupled_free(r);
    return found;
}

/* So its limit of commands per second is for them too. */
static void a_get_counts_as_a_command_in_its_database(void **state)
{
    struct program t;
    struct tupled_entry *entry = NULL;
    struct tupled_error e;
    program_init(&t, NULL);
    int64_t before = operations(&t);
    assert_true(before >= 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(tupled_get(t.db, KEY1, &entry, &e), TUPLED_NO);
    }
    assert_int_equal(operations(&t), before + 5);
    program_fini(&t);
}

static void conditions_of_a_set_that_do_not_hold_change_nothing(void **state)
{
    struct program t;
    struct tupled_error e;
    char stamp[TUPLED_STAMP_BYTES];
    struct tupled_set_options absent = {.condition = TUPLED_IF_ABSENT};
    struct tupled_set_options present = {.condition = TUPLED_IF_PRESENT, .ttl_ms = 100000};
    program_init(&t, NULL);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("1"), &present, NULL, &e), TUPLED_NO);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("1"), &absent, stamp, &e), TUPLED_YES);
    struct tupled_set_options version = {.condition = TUPLED_IF_VERSION, .versionstamp = stamp};
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("2"), &absent, NULL, &e), TUPLED_NO);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("3"), &version, NULL, &e), TUPLED_YES);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("4"), &version, NULL, &e), TUPLED_NO);
    program_has(&t, KEY1, "3");
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("5"), &present, NULL, &e), TUPLED_YES);
    struct tupled_entry *entry = NULL;
    assert_int_equal(tupled_get(t.db, KEY1, &entry, &e), TUPLED_YES);
    assert_true(entry->expiry_ms > 0);
    tupled_free(entry);
    program_fini(&t);
}

static void a_request_id_makes_a_repeat_harmless(void **state)
{
    struct program t;
    struct tupled_error e;
    char first[TUPLED_STAMP_BYTES];
    char again[TUPLED_STAMP_BYTES];
    struct tupled_set_options o = {.idem = "r1"};
    program_init(&t, NULL);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("1"), &o, first, &e), TUPLED_YES);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("1"), &o, again, &e), TUPLED_YES);
    assert_string_equal(first, again);
    program_fini(&t);
}

static void errors_come_back_with_their_code(void **state)
{
    struct program t;
    struct tupled_entry *entry = NULL;
    struct tupled_error e;
    program_init(&t, NULL);
    assert_int_equal(tupled_get(t.db, tupled_text("[broken"), &entry, &e), TUPLED_FAILED);
    assert_null(entry);
    assert_string_equal(e.code, "ERR");
    assert_true(strlen(e.text) > 5);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("\"text\""), NULL, NULL, &e), TUPLED_YES);
    assert_string_equal(e.code, "");
    struct tupled_atomic *a = tupled_atomic_new();
    tupled_atomic_sum(a, KEY1, tupled_text("1"));
    assert_int_equal(tupled_atomic_commit(t.db, a, NULL, &e), TUPLED_FAILED);
    assert_string_equal(e.code, "WRONGTYPE");
    assert_int_equal(tupled_atomic_commit(t.db, a, NULL, NULL), TUPLED_FAILED);
    tupled_atomic_free(a);
    program_fini(&t);
}

static void a_transaction_happens_whole_or_says_which_check_failed(void **state)
{
    struct program t;
    struct tupled_error e;
    struct tupled_commit commit;
    char stamp[TUPLED_STAMP_BYTES];
    program_init(&t, NULL);
    struct tupled_atomic *a = tupled_atomic_new();
    tupled_atomic_check(a, KEY1, NULL);
    tupled_atomic_set(a, KEY1, tupled_text("1"));
    tupled_atomic_sum(a, KEY2, tupled_text("5"));
    tupled_atomic_set_expiring(a, tupled_text("[\"x\"]"), tupled_text("[]"), 100000);
    tupled_atomic_append(a, tupled_text("[\"x\"]"), tupled_text("[1]"));
    tupled_atomic_prepend(a, tupled_text("[\"x\"]"), tupled_text("[0]"));
    tupled_atomic_max(a, KEY2, tupled_text("7"));
    tupled_atomic_min(a, KEY2, tupled_text("6"));
    tupled_atomic_enqueue(a, "q", tupled_text("\"job\""), 0);
    assert_int_equal(tupled_atomic_commit(t.db, a, &commit, &e), TUPLED_YES);
    assert_int_equal(strlen(commit.versionstamp), 20);
    memcpy(stamp, commit.versionstamp, sizeof stamp);
    assert_int_equal(tupled_atomic_commit(t.db, a, &commit, &e), TUPLED_NO);
    assert_int_equal(commit.failed_operation, 0);
    assert_string_equal(commit.current, stamp);
    assert_string_equal(commit.versionstamp, "");
    tupled_atomic_free(a);
    program_has(&t, KEY2, "6");
    program_has(&t, tupled_text("[\"x\"]"), "[0,1]");

    a = tupled_atomic_new();
    tupled_atomic_delete(a, KEY2);
    tupled_atomic_check(a, KEY1, stamp);
    tupled_atomic_check(a, tupled_text("[\"none\"]"), stamp);
    assert_int_equal(tupled_atomic_commit(t.db, a, &commit, &e), TUPLED_NO);
    assert_int_equal(commit.failed_operation, 2);
    assert_string_equal(commit.current, "");
    tupled_atomic_free(a);
    program_has(&t, KEY2, "6");
    program_fini(&t);
}

static void pages_follow_one_another(void **state)
{
    struct program t;
    struct tupled_error e;
    program_init(&t, NULL);
    for (int i = 0; i < 25; i++) {
        char key[32];
        snprintf(key, sizeof key, "[\"n\",%d]", i);
        assert_int_equal(
            tupled_set(t.db, tupled_text(key), tupled_text("{\"a\":1}"), NULL, NULL, &e),
            TUPLED_YES);
    }
    char cursor[256];
    struct tupled_range range = {.prefix = tupled_text("[\"n\"]"), .limit = 10};
    size_t seen = 0;
    for (int pages = 1;; pages++) {
        struct tupled_page *page = NULL;
        assert_int_equal(tupled_list(t.db, &range, &page, &e), TUPLED_YES);
        for (size_t i = 0; i < page->count; i++) {
            char key[32];
            snprintf(key, sizeof key, "[\"n\",%zu]", seen++);
            assert_string_equal(page->entries[i].key.data, key);
            assert_string_equal(page->entries[i].value.data, "{\"a\":1}");
            assert_int_equal(strlen(page->entries[i].versionstamp), 20);
        }
        bool is_last = page->cursor == NULL;
        if (!is_last) snprintf(cursor, sizeof cursor, "%s", page->cursor);
        range.cursor = cursor;
        tupled_free(page);
        if (is_last) {
            assert_int_equal(pages, 3);
            break;
        }
    }
    assert_int_equal(seen, 25);
    struct tupled_range keys = {.start = tupled_text("[\"n\",3]"),
                                .end = tupled_text("[\"n\",6]"),
                                .where = tupled_text("{\"a\":1}"),
                                .is_reverse = 1,
                                .keys_only = 1};
    struct tupled_page *page = NULL;
    assert_int_equal(tupled_list(t.db, &keys, &page, &e), TUPLED_YES);
    assert_int_equal(page->count, 3);
    assert_string_equal(page->entries[0].key.data, "[\"n\",5]");
    assert_null(page->entries[0].value.data);
    tupled_free(page);
    program_fini(&t);
}

static void indexes_and_text_are_found(void **state)
{
    struct program t;
    struct tupled_error e;
    struct tupled_page *page = NULL;
    struct tupled_bytes ada = tupled_text("\"Ada\"");
    program_init(&t, NULL);
    program_say(&t, "KV.INDEX CREATE by_name PREFIX [\"users\"] ON 1 name");
    program_say(&t, "KV.INDEX CREATE people PREFIX [\"users\"] TEXT 1 name");
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("{\"name\":\"Ada\"}"), NULL, NULL, &e),
                     TUPLED_YES);
    assert_int_equal(tupled_set(t.db, KEY2, tupled_text("{\"name\":\"Grace\"}"), NULL, NULL, &e),
                     TUPLED_YES);
    assert_int_equal(program_await_page(&t, &page, &ada), TUPLED_YES);
    assert_int_equal(page->count, 1);
    assert_string_equal(page->entries[0].key.data, "[\"users\",1]");
    tupled_free(page);
    assert_int_equal(program_await_page(&t, &page, NULL), TUPLED_YES);
    assert_int_equal(page->count, 1);
    assert_string_equal(page->entries[0].value.data, "{\"name\":\"Grace\"}");
    assert_true(page->entries[0].score > 0);
    tupled_free(page);
    struct tupled_range range = {.values = &ada, .value_count = 1};
    assert_int_equal(tupled_find(t.db, "none", &range, &page, &e), TUPLED_FAILED);
    assert_null(page);
    program_fini(&t);
}

/* As many words as a call can have: an error that the command makes, not the end of the program. */
static void a_find_with_everything_in_it_is_answered(void **state)
{
    struct program t;
    struct tupled_error e;
    struct tupled_page *page = NULL;
    struct tupled_bytes values[64];
    struct tupled_range range = {.start = tupled_text("1"),
                                 .end = tupled_text("2"),
                                 .where = tupled_text("{\"a\":1}"),
                                 .cursor = "x",
                                 .limit = 5,
                                 .is_reverse = 1,
                                 .keys_only = 1,
                                 .values = values};
    program_init(&t, NULL);
    for (size_t i = 0; i < 64; i++) values[i] = tupled_text("1");
    for (range.value_count = 0; range.value_count <= 64; range.value_count++) {
        assert_int_equal(tupled_find(t.db, "none", &range, &page, &e), TUPLED_FAILED);
        assert_null(page);
        assert_true(e.code[0] != '\0');
    }
    assert_string_equal(e.code, "LIMIT");
    program_fini(&t);
}

static void a_message_is_taken_acknowledged_and_given_back(void **state)
{
    struct program t;
    struct tupled_error e;
    struct tupled_messages *m = NULL;
    char id[TUPLED_ID_BYTES];
    struct tupled_enqueue_options once = {.dedup = "d1"};
    program_init(&t, NULL);
    assert_int_equal(tupled_dequeue(t.db, "q", 1, 0, &m, &e), TUPLED_NO);
    assert_null(m);
    assert_int_equal(tupled_dequeue(t.db, "q", 1, 100, &m, &e), TUPLED_NO); /* after some ticks */
    assert_int_equal(tupled_enqueue(t.db, "q", tupled_text("\"a\""), &once, id, &e), TUPLED_YES);
    assert_int_equal(strlen(id), 24);
    assert_int_equal(tupled_enqueue(t.db, "q", tupled_text("\"a\""), &once, NULL, &e), TUPLED_NO);
    assert_int_equal(tupled_dequeue(t.db, "q", 5, -1, &m, &e), TUPLED_YES);
    assert_int_equal(m->count, 1);
    assert_string_equal(m->items[0].queue, "q");
    assert_string_equal(m->items[0].id, id);
    assert_string_equal(m->items[0].value.data, "\"a\"");
    assert_int_equal(m->items[0].attempt, 1);
    assert_int_equal(tupled_extend(t.db, m->items[0].receipt, 60000, &e), TUPLED_YES);
    assert_int_equal(tupled_nack(t.db, m->items[0].receipt, 0, "not now", &e), TUPLED_YES);
    assert_int_equal(tupled_ack(t.db, m->items[0].receipt, &e), TUPLED_NO);
    tupled_free(m);
    assert_int_equal(tupled_dequeue(t.db, "q", 1, 20000, &m, &e), TUPLED_YES);
    assert_int_equal(m->items[0].attempt, 2);
    struct tupled_atomic *a = tupled_atomic_new();
    struct tupled_commit commit;
    tupled_atomic_ack(a, m->items[0].receipt);
    assert_int_equal(tupled_atomic_commit(t.db, a, &commit, &e), TUPLED_YES);
    assert_int_equal(tupled_atomic_commit(t.db, a, &commit, &e), TUPLED_NO);
    assert_int_equal(commit.failed_operation, 0);
    tupled_atomic_free(a);
    tupled_free(m);
    program_fini(&t);
}

static void a_session_keeps_what_a_connection_would(void **state)
{
    struct program t;
    struct tupled_error e;
    struct tupled_session *s = NULL;
    program_init(&t, NULL);
    assert_int_equal(tupled_session_open(t.db, &s, &e), TUPLED_YES);
    program_refuse(&t, "SELECT 1", "tupled_session_open");
    program_say_in(s, "SELECT 1");
    program_say_in(s, "KV.SET [\"a\"] 1");
    program_say_in(s, "MULTI");
    program_say_in(s, "KV.SET [\"b\"] 2");
    struct tupled_reply *r = program_say_in(s, "KV.GET [\"b\"]");
    tupled_free(r);
    r = program_ask_in(s, "EXEC");
    assert_int_equal(r->type, TUPLED_REPLY_ARRAY);
    assert_int_equal(r->count, 2);
    assert_string_equal(r->items[1].text, "2");
    tupled_free(r);
    struct tupled_entry *entry = NULL;
    assert_int_equal(tupled_get(t.db, tupled_text("[\"a\"]"), &entry, &e), TUPLED_NO);
    tupled_session_close(s);
    assert_int_equal(tupled_session_open(t.db, &s, &e), TUPLED_YES);
    program_say_in(s, "MULTI"); /* the close of the database ends it */
    program_fini(&t);
}

static void expect_type(struct program *t, const char *line, enum tupled_reply_type type,
                        double number, int64_t integer)
{
    struct tupled_reply *r = program_ask(t, line);
    assert_int_equal(r->type, type);
    if (r->number != number) fail_msg("%s: %.17g", line, r->number);
    assert_int_equal(r->integer, integer);
    tupled_free(r);
}

static void replies_have_their_types(void **state)
{
    struct program t;
    program_init(&t, NULL);
    program_say(&t, "ZADD z 1.5 a -inf b 12345678.25 c");
    expect_type(&t, "ZSCORE z a", TUPLED_REPLY_DOUBLE, 1.5, 0);
    expect_type(&t, "ZSCORE z b", TUPLED_REPLY_DOUBLE, -INFINITY, 0);
    expect_type(&t, "ZSCORE z c", TUPLED_REPLY_DOUBLE, 12345678.25, 0);
    expect_type(&t, "ZCARD z", TUPLED_REPLY_INTEGER, 0, 3);
    expect_type(&t, "ZSCORE z d", TUPLED_REPLY_NIL, 0, 0);
    expect_type(&t, "TYPE z", TUPLED_REPLY_STRING, 0, 0);
    program_fini(&t);
}

static void what_needs_a_server_says_so(void **state)
{
    struct program t;
    program_init(&t, NULL);
    program_refuse(&t, "SHUTDOWN", "tupled_close");
    program_refuse(&t, "SUBSCRIBE a", "tupled_watch_key");
    program_refuse(&t, "MONITOR", "clients");
    program_refuse(&t, "CLIENT KILL ID 1", "clients");
    program_refuse(&t, "CLIENT NONSENSE", "clients");
    program_refuse(&t, "CONFIG GET *", "tupled_open");
    program_refuse(&t, "config nonsense", "tupled_open");
    program_refuse(&t, "MULTI", "tupled_session_open");
    program_refuse(&t, "DEBUG SLEEP 1", "tests");
    program_refuse(&t, "HELLO 3", "connection");
    program_refuse(&t, "NONSENSE", "unknown command");
    program_fini(&t);
}

/* ---- callbacks ---- */

struct heard {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t count, yes;
    struct tupled_db *db;
    char last[64];
    char value[64];
};

static void heard_init(struct heard *h)
{
    *h = (struct heard){0};
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
}

static void heard_one(struct heard *h, int outcome)
{
    pthread_mutex_lock(&h->lock);
    h->count++;
    h->yes += outcome > 0;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

static void heard_await(struct heard *h, size_t count)
{
    pthread_mutex_lock(&h->lock);
    while (h->count < count) pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

static void on_stamp(void *arg, int outcome, const char *stamp, const struct tupled_error *e)
{
    assert_int_equal(strlen(stamp), outcome > 0 ? 20 : 0);
    heard_one(arg, outcome);
}

static void on_entry(void *arg, int outcome, struct tupled_entry *entry,
                     const struct tupled_error *e)
{
    struct heard *h = arg;
    if (entry != NULL) snprintf(h->last, sizeof h->last, "%s", (const char *)entry->value.data);
    tupled_free(entry);
    heard_one(h, outcome);
}

static void on_reply(void *arg, int outcome, struct tupled_reply *reply,
                     const struct tupled_error *e)
{
    struct heard *h = arg;
    if (reply != NULL) snprintf(h->last, sizeof h->last, "%lld", (long long)reply->integer);
    if (outcome < 0) snprintf(h->last, sizeof h->last, "%s", e->code);
    tupled_free(reply);
    heard_one(h, outcome);
}

static void on_commit(void *arg, int outcome, const struct tupled_commit *commit,
                      const struct tupled_error *e)
{
    struct heard *h = arg;
    struct tupled_entry *entry = NULL;
    struct tupled_error inner;
    /* A call that waits, in a callback. */
    assert_int_equal(tupled_set(h->db, KEY2, tupled_text("77"), NULL, NULL, &inner), TUPLED_YES);
    assert_int_equal(tupled_get(h->db, KEY2, &entry, &inner), TUPLED_YES);
    tupled_free(entry);
    assert_int_equal(tupled_close(h->db, &inner), TUPLED_FAILED);
    heard_one(h, outcome);
}

static void calls_with_a_callback_give_it_what_the_others_return(void **state)
{
    struct program t;
    struct heard h;
    heard_init(&h);
    program_init(&t, NULL);
    h.db = t.db;
    for (int i = 0; i < 100; i++) {
        char value[16];
        snprintf(value, sizeof value, "99");
        assert_int_equal(tupled_set_async(t.db, KEY1, tupled_text(value), NULL, on_stamp, &h),
                         TUPLED_YES);
    }
    heard_await(&h, 100);
    program_has(&t, KEY1, "99");
    assert_int_equal(h.yes, 100);
    assert_int_equal(tupled_get_async(t.db, KEY1, on_entry, &h), TUPLED_YES);
    heard_await(&h, 101);
    assert_string_equal(h.last, "99");
    struct tupled_bytes count[] = {tupled_text("KV.COUNT")};
    assert_int_equal(tupled_command_async(t.db, count, 1, on_reply, &h), TUPLED_YES);
    heard_await(&h, 102);
    assert_string_equal(h.last, "1");
    struct tupled_bytes wrong[] = {tupled_text("KV.GET")};
    assert_int_equal(tupled_command_async(t.db, wrong, 1, on_reply, &h), TUPLED_YES);
    heard_await(&h, 103);
    assert_string_equal(h.last, "ERR");
    assert_int_equal(h.yes, 102);
    struct tupled_atomic *a = tupled_atomic_new();
    tupled_atomic_set(a, KEY1, tupled_text("1"));
    assert_int_equal(tupled_atomic_commit_async(t.db, a, on_commit, &h), TUPLED_YES);
    tupled_atomic_free(a);
    heard_await(&h, 104);
    program_has(&t, KEY2, "77");
    program_fini(&t);
}

static void on_change(void *arg, const struct tupled_change *c, const struct tupled_error *e)
{
    struct heard *h = arg;
    assert_non_null(c);
    snprintf(h->last, sizeof h->last, "%s", (const char *)c->key.data);
    snprintf(h->value, sizeof h->value, "%s",
             c->value.data == NULL ? "gone" : (const char *)c->value.data);
    assert_int_equal(strlen(c->commit), 20);
    assert_int_equal(strlen(c->versionstamp), c->value.data == NULL ? 0 : 20);
    heard_one(h, 1);
}

static void a_watch_tells_the_state_and_every_change(void **state)
{
    struct program t;
    struct tupled_error e;
    struct tupled_watch *key = NULL;
    struct tupled_watch *below = NULL;
    struct heard h;
    struct heard b;
    heard_init(&h);
    heard_init(&b);
    program_init(&t, NULL);
    assert_int_equal(tupled_watch_key(t.db, KEY1, on_change, &h, &key, &e), TUPLED_YES);
    assert_int_equal(
        tupled_watch_prefix(t.db, tupled_text("[\"users\"]"), on_change, &b, &below, &e),
        TUPLED_YES);
    heard_await(&h, 1);
    assert_string_equal(h.value, "gone");
    struct tupled_bytes tricky = tupled_text("{\"a]\\\"}\":[\",\\\"versionstamp\\\":null\"]}");
    assert_int_equal(tupled_set(t.db, KEY1, tricky, NULL, NULL, &e), TUPLED_YES);
    heard_await(&h, 2);
    heard_await(&b, 1);
    assert_string_equal(h.last, "[\"users\",1]");
    assert_string_equal(h.value, tricky.data);
    assert_string_equal(b.value, tricky.data);
    struct tupled_bytes odd = tupled_text("[\"users\",\"]\\\"[\"]");
    assert_int_equal(tupled_set(t.db, odd, tupled_text("1"), NULL, NULL, &e), TUPLED_YES);
    heard_await(&b, 2);
    assert_string_equal(b.last, odd.data);
    assert_int_equal(tupled_delete(t.db, KEY1, &e), TUPLED_YES);
    heard_await(&h, 3);
    heard_await(&b, 3);
    assert_string_equal(h.value, "gone");
    tupled_unwatch(key);
    program_say(&t, "FLUSHDB");
    heard_await(&b, 4);
    assert_string_equal(b.last, "");
    assert_int_equal(h.count, 3);
    assert_int_equal(tupled_watch_key(t.db, tupled_text("[x"), on_change, &h, &key, &e),
                     TUPLED_FAILED);
    assert_null(key);
    program_fini(&t); /* ends the other one */
}

struct slow {
    struct heard heard; /* first */
    pthread_mutex_t gate;
    bool is_at_end; /* of what was written */
};

static void on_change_slowly(void *arg, const struct tupled_change *c, const struct tupled_error *e)
{
    struct slow *s = arg;
    assert_non_null(c);
    pthread_mutex_lock(&s->gate);
    s->is_at_end = c->value.len > 0 && ((const char *)c->value.data)[1] == 'z';
    pthread_mutex_unlock(&s->gate);
    heard_one(&s->heard, 1);
}

static void a_slow_callback_gets_the_newest_state(void **state)
{
    struct program t;
    struct tupled_error e;
    struct tupled_watch *w = NULL;
    struct slow s = {.gate = PTHREAD_MUTEX_INITIALIZER};
    static char big[8192];
    const size_t writes = 200; /* more bytes than are kept for one who does not listen */
    heard_init(&s.heard);
    memset(big, 'x', sizeof big);
    big[0] = big[sizeof big - 1] = '"';
    program_init(&t, NULL);
    assert_int_equal(tupled_watch_key(t.db, KEY1, on_change_slowly, &s, &w, &e), TUPLED_YES);
    heard_await(&s.heard, 1);
    pthread_mutex_lock(&s.gate);
    for (size_t i = 0; i < writes; i++) {
        if (i == writes - 1) big[1] = 'z';
        struct tupled_bytes value = {big, sizeof big};
        struct tupled_bytes set[] = {tupled_text("KV.SET"), KEY1, value};
        struct tupled_reply *r = NULL;
        assert_int_equal(tupled_command(t.db, set, 3, &r, &e), TUPLED_YES);
        tupled_free(r);
    }
    pthread_mutex_unlock(&s.gate);
    for (bool is_at_end = false; !is_at_end;) {
        program_say(&t, "PING");
        pthread_mutex_lock(&s.gate);
        is_at_end = s.is_at_end;
        pthread_mutex_unlock(&s.gate);
    }
    tupled_unwatch(w);
    assert_true(s.heard.count < writes);
    program_fini(&t);
}

static void messagepack_goes_in_and_comes_out(void **state)
{
    struct program t;
    struct tupled_options o;
    struct tupled_error e;
    struct tupled_entry *entry = NULL;
    struct tupled_watch *w = NULL;
    struct heard h;
    const uint8_t map[] = {0x81, 0xa1, 'n', 0x01};
    const uint8_t key[] = {0x92, 0xa5, 'u', 's', 'e', 'r', 's', 0x01};
    heard_init(&h);
    tupled_options_init(&o);
    o.format = TUPLED_MSGPACK;
    program_init(&t, &o);
    struct tupled_bytes value = {map, sizeof map};
    struct tupled_bytes packed = {key, sizeof key};
    assert_int_equal(tupled_watch_key(t.db, packed, on_change, &h, &w, &e), TUPLED_YES);
    assert_int_equal(tupled_set(t.db, packed, value, NULL, NULL, &e), TUPLED_YES);
    assert_int_equal(tupled_get(t.db, KEY1, &entry, &e), TUPLED_YES);
    assert_int_equal(entry->value.len, sizeof map);
    assert_memory_equal(entry->value.data, map, sizeof map);
    tupled_free(entry);
    heard_await(&h, 2);
    assert_memory_equal(h.last, key, sizeof key);
    assert_memory_equal(h.value, map, sizeof map);
    struct tupled_page *page = NULL;
    struct tupled_range all = {0};
    assert_int_equal(tupled_list(t.db, &all, &page, &e), TUPLED_YES);
    assert_int_equal(page->count, 1);
    assert_memory_equal(page->entries[0].key.data, key, sizeof key);
    tupled_free(page);
    program_fini(&t);
}

#define SYNC_MS 200

struct order {
    int64_t begin_us;
    size_t written, read, seen, too_early;
};

static void look_at_the_time(struct order *o)
{
    o->too_early += clock_mono_us() - o->begin_us < SYNC_MS * 1000;
}

static void on_written(void *arg, int outcome, const char *stamp, const struct tupled_error *e)
{
    struct order *o = arg;
    assert_int_equal(outcome, TUPLED_YES);
    look_at_the_time(o);
    o->written++;
}

static void on_read(void *arg, int outcome, struct tupled_entry *entry,
                    const struct tupled_error *e)
{
    struct order *o = arg;
    o->read++;
    tupled_free(entry);
    if (outcome != TUPLED_YES) return;
    look_at_the_time(o);
    o->seen++;
}

/* Neither a write nor a read that saw it has a result before the sync, which takes a while here. */
static void no_result_is_given_before_what_it_depends_on_is_durable(void **state)
{
    struct program t;
    struct tupled_options o;
    struct tupled_error e;
    struct order order = {0};
    struct pollfd p = {.events = POLLIN};
    tupled_options_init(&o);
    o.is_driven = 1;
    program_init(&t, &o);
    program_say(&t, "KV.SET [\"other\"] 1"); /* what is read at the start has been */
    program_delay_syncs(&t, SYNC_MS);
    order.begin_us = clock_mono_us();
    assert_int_equal(tupled_set_async(t.db, KEY1, tupled_text("1"), NULL, on_written, &order),
                     TUPLED_YES);
    assert_int_equal(tupled_get_async(t.db, KEY1, on_read, &order), TUPLED_YES);
    p.fd = tupled_fd(t.db);
    while (order.read < 1 || order.written < 1) {
        assert_int_equal(poll(&p, 1, 20000), 1);
        while (tupled_turn(t.db, &e) == TUPLED_YES) continue;
    }
    program_delay_syncs(&t, 0);
    assert_int_equal(order.too_early, 0);
    assert_int_equal(order.seen, 1);
    program_fini(&t);
}

static void reads_wait_for_the_disk(void **state)
{
    for (int is_driven = 0; is_driven < 2; is_driven++) {
        struct program t;
        struct tupled_options o;
        struct tupled_page *page = NULL;
        struct tupled_error e;
        struct heard h;
        heard_init(&h);
        tupled_options_init(&o);
        o.is_driven = is_driven;
        program_init(&t, &o);
        assert_int_equal(tupled_set(t.db, KEY1, tupled_text("1"), NULL, NULL, &e), TUPLED_YES);
        assert_int_equal(tupled_set(t.db, KEY2, tupled_text("2"), NULL, NULL, &e), TUPLED_YES);
        fault_set_read_delay_ms(20);
        program_reopen(&t); /* nothing is in memory */
        assert_int_equal(tupled_get_async(t.db, KEY2, on_entry, &h), TUPLED_YES);
        program_has(&t, KEY1, "1");
        struct tupled_range all = {0};
        assert_int_equal(tupled_list(t.db, &all, &page, &e), TUPLED_YES);
        assert_int_equal(page->count, 2);
        tupled_free(page);
        program_fini(&t); /* calls back, if that has not been done */
        assert_int_equal(h.count, 1);
        fault_set_read_delay_ms(0);
    }
}

static void a_wait_of_a_driven_database_ends_with_its_time(void **state)
{
    struct program t;
    struct tupled_options o;
    struct tupled_error e;
    struct tupled_messages *m = NULL;
    tupled_options_init(&o);
    o.is_driven = 1;
    program_init(&t, &o);
    assert_int_equal(tupled_dequeue(t.db, "q", 1, 100, &m, &e), TUPLED_NO);
    assert_null(m);
    program_fini(&t);
}

static void the_callers_loop_drives_it(void **state)
{
    struct program t;
    struct tupled_options o;
    struct tupled_error e;
    struct tupled_watch *w = NULL;
    struct heard h;
    heard_init(&h);
    tupled_options_init(&o);
    o.is_driven = 1;
    program_init(&t, &o);
    assert_true(tupled_fd(t.db) >= 0);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("1"), NULL, NULL, &e), TUPLED_YES);
    program_has(&t, KEY1, "1");
    assert_int_equal(tupled_watch_key(t.db, KEY1, on_change, &h, &w, &e), TUPLED_YES);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(tupled_set_async(t.db, KEY1, tupled_text("2"), NULL, on_stamp, &h),
                         TUPLED_YES);
    }
    struct pollfd p = {.fd = tupled_fd(t.db), .events = POLLIN};
    while (h.count < 21) {
        assert_int_equal(poll(&p, 1, 20000), 1);
        while (tupled_turn(t.db, &e) == TUPLED_YES) continue;
        assert_string_equal(e.code, "");
    }
    assert_string_equal(h.value, "2");
    program_fini(&t);
}

static void what_was_written_is_there_after_a_close(void **state)
{
    struct program t;
    struct tupled_error e;
    program_init(&t, NULL);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("1"), NULL, NULL, &e), TUPLED_YES);
    program_reopen(&t);
    program_has(&t, KEY1, "1");
    program_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_set_is_got_and_deleted),
        cmocka_unit_test(a_get_counts_as_a_command_in_its_database),
        cmocka_unit_test(conditions_of_a_set_that_do_not_hold_change_nothing),
        cmocka_unit_test(a_request_id_makes_a_repeat_harmless),
        cmocka_unit_test(errors_come_back_with_their_code),
        cmocka_unit_test(a_transaction_happens_whole_or_says_which_check_failed),
        cmocka_unit_test(pages_follow_one_another),
        cmocka_unit_test(indexes_and_text_are_found),
        cmocka_unit_test(a_find_with_everything_in_it_is_answered),
        cmocka_unit_test(a_message_is_taken_acknowledged_and_given_back),
        cmocka_unit_test(a_session_keeps_what_a_connection_would),
        cmocka_unit_test(replies_have_their_types),
        cmocka_unit_test(what_needs_a_server_says_so),
        cmocka_unit_test(calls_with_a_callback_give_it_what_the_others_return),
        cmocka_unit_test(a_watch_tells_the_state_and_every_change),
        cmocka_unit_test(messagepack_goes_in_and_comes_out),
        cmocka_unit_test(the_callers_loop_drives_it),
        cmocka_unit_test(a_wait_of_a_driven_database_ends_with_its_time),
        cmocka_unit_test(reads_wait_for_the_disk),
        cmocka_unit_test(no_result_is_given_before_what_it_depends_on_is_durable),
        cmocka_unit_test(a_slow_callback_gets_the_newest_state),
        cmocka_unit_test(what_was_written_is_there_after_a_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
