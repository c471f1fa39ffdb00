/* embedded: what a database that is broken does to threads that are inside of it, to callbacks and
 * to its files; and what it does not do to others. tsan: yes
 *
 * The memory of a broken database is lost (docs/embedded.md), so nothing is said of leaks here;
 * test_embedded.c and its neighbours, in which nothing breaks, do that.
 */
#include "unit/embedded/embedded.h"

#include <time.h>

#include "base/clock.h"
#include "base/host.h"
#include "embedded/embedded_int.h"

/* Of the sanitizer: asked for at the end of the program. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

static void assert_is_broken(int outcome, const struct tupled_error *e)
{
    assert_int_equal(outcome, TUPLED_FAILED);
    assert_string_equal(e->code, "BROKEN");
    assert_non_null(strstr(e->text, "open it again"));
}

/* The close says so too; then it is opened again. */
static void close_and_reopen(struct program *t)
{
    struct tupled_error e = {{0}, {0}};
    assert_is_broken(tupled_close(t->db, &e), &e);
    if (tupled_open(t->dir, &t->options, &t->db, &e) < 0) fail_msg("%s", e.text);
}

/* Writes until that is an error; the last key that was acknowledged. */
static int write_until_broken(struct program *t)
{
    struct tupled_error e = {{0}, {0}};
    char key[16];
    int i = 0;
    for (;; i++) {
        assert_true(i < 100000);
        snprintf(key, sizeof key, "[%d]", i);
        if (tupled_set(t->db, tupled_text(key), tupled_text("1"), NULL, NULL, &e) < 0) break;
    }
    assert_is_broken(TUPLED_FAILED, &e);
    return i - 1;
}

static void assert_keys_to(struct program *t, int last)
{
    char key[16];
    for (int i = 0; i <= last; i++) {
        snprintf(key, sizeof key, "[%d]", i);
        program_has(t, tupled_text(key), "1");
    }
}

/* The store's thread holds locks of SQLite and of the file then. */
static void a_store_that_breaks_in_a_transaction_can_be_opened_again(void **state)
{
    struct program t;
    struct tupled_options o;
    tupled_options_init(&o);
    o.memtable_age_ms = 1;
    program_init(&t, &o);
    for (int i = 0; i < 3; i++) {
        program_arm(&t, "store.apply", 1, false);
        int last = write_until_broken(&t);
        close_and_reopen(&t);
        assert_keys_to(&t, last);
        program_say(&t, "KV.SET [\"after\"] 1");
        program_reopen(&t); /* all is applied: whatever was locked no longer is */
        assert_keys_to(&t, last);
    }
    program_fini(&t);
}

struct waiting {
    struct program *t;
    pthread_t thread;
    bool is_there; /* atomic */
    int outcome;
    struct tupled_error e;
};

static void *wait_for_a_message(void *arg)
{
    struct waiting *w = arg;
    struct tupled_messages *m = NULL;
    __atomic_store_n(&w->is_there, true, __ATOMIC_RELEASE);
    w->outcome = tupled_dequeue(w->t->db, "q", 1, -1, &m, &w->e);
    return NULL;
}

static unsigned sleepers(struct program *t)
{
    unsigned n = 0;
    db_lock(t->db);
    for (struct call *c = t->db->sleepers; c != NULL; c = c->sleep_next) n++;
    db_unlock(t->db);
    return n;
}

static void on_change(void *arg, const struct tupled_change *c, const struct tupled_error *e)
{
    int *changes = arg;
    __atomic_fetch_add(changes, 1, __ATOMIC_RELEASE);
}

static void on_stamp(void *arg, int outcome, const char *stamp, const struct tupled_error *e)
{
    on_change(arg, NULL, e);
}

#define WAITING 4

/* Of all kinds of calls, after one has found it. */
static void assert_all_refuse(struct program *t, struct tupled_session *s)
{
    struct tupled_error e = {{0}, {0}};
    struct tupled_entry *entry = NULL;
    struct tupled_reply *r = NULL;
    struct tupled_session *other = NULL;
    struct tupled_watch *w = NULL;
    struct tupled_bytes ping = tupled_text("PING");
    struct tupled_atomic *a = tupled_atomic_new();
    int calls = 0;
    assert_is_broken(tupled_get(t->db, KEY1, &entry, &e), &e);
    assert_null(entry);
    assert_is_broken(tupled_set(t->db, KEY1, tupled_text("1"), NULL, NULL, &e), &e);
    assert_is_broken(tupled_command(t->db, &ping, 1, &r, &e), &e);
    assert_is_broken(tupled_session_command(s, &ping, 1, &r, &e), &e);
    assert_is_broken(tupled_session_open(t->db, &other, &e), &e);
    assert_is_broken(tupled_watch_key(t->db, KEY1, on_change, &calls, &w, &e), &e);
    assert_is_broken(tupled_atomic_commit(t->db, a, NULL, &e), &e);
    assert_null(other);
    assert_null(w);
    assert_int_equal(tupled_set_async(t->db, KEY1, tupled_text("1"), NULL, on_stamp, &calls),
                     TUPLED_FAILED);
    assert_int_equal(calls, 0);
    tupled_atomic_free(a);
}

static void whoever_waits_in_a_database_that_breaks_gets_its_error(void **state)
{
    struct program t;
    struct program other;
    struct waiting waiting[WAITING];
    struct tupled_error e = {{0}, {0}};
    struct tupled_watch *w = NULL;
    struct tupled_session *s = NULL;
    int changes = 0;
    program_init(&t, NULL);
    program_init(&other, NULL);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("1"), NULL, NULL, &e), TUPLED_YES);
    assert_int_equal(tupled_watch_key(t.db, KEY1, on_change, &changes, &w, &e), TUPLED_YES);
    while (__atomic_load_n(&changes, __ATOMIC_ACQUIRE) < 1) pause_ms(1);
    assert_int_equal(tupled_session_open(t.db, &s, &e), TUPLED_YES);
    for (int i = 0; i < WAITING; i++) {
        waiting[i] = (struct waiting){.t = &t};
        assert_int_equal(pthread_create(&waiting[i].thread, NULL, wait_for_a_message, &waiting[i]),
                         0);
    }
    while (sleepers(&t) < WAITING) pause_ms(1);
    program_arm(&t, "worker.job", 1, false);
    assert_is_broken(tupled_set(t.db, KEY1, tupled_text("2"), NULL, NULL, &e), &e);
    for (int i = 0; i < WAITING; i++) {
        assert_int_equal(pthread_join(waiting[i].thread, NULL), 0);
        assert_is_broken(waiting[i].outcome, &waiting[i].e);
    }
    assert_all_refuse(&t, s);
    tupled_session_close(s);
    tupled_unwatch(w);
    program_say(&other, "KV.SET [\"a\"] 1");
    close_and_reopen(&t);
    assert_int_equal(changes, 1);
    program_has(&t, KEY1, "1");
    program_fini(&t);
    program_fini(&other);
}

struct nested {
    struct program *t;
    struct tupled_error e;
    int outcome;
    int is_over; /* atomic */
    int changes; /* atomic */
    int calls;
    struct tupled_watch *watch; /* of the callback: its first state waits for that to return */
};

static void break_inside(void *arg, int outcome, const char *stamp, const struct tupled_error *e)
{
    struct nested *n = arg;
    assert_int_equal(outcome, TUPLED_YES);
    n->calls++;
    assert_int_equal(tupled_watch_key(n->t->db, KEY1, on_change, &n->changes, &n->watch, &n->e),
                     TUPLED_YES);
    program_arm(n->t, "mem.", 1, true);
    n->outcome = tupled_set(n->t->db, KEY2, tupled_text("2"), NULL, NULL, &n->e);
    program_arm(n->t, "", 0, false);
    __atomic_store_n(&n->is_over, 1, __ATOMIC_RELEASE);
}

/* That thread is inside of the database twice. The other two have their results by then, and the
 * watch has its changes, but no callback is called any more. */
static void a_call_from_a_callback_that_breaks_it_returns_to_the_callback(void **state)
{
    for (int is_driven = 0; is_driven < 2; is_driven++) {
        struct program t;
        struct tupled_options o;
        struct tupled_error e = {{0}, {0}};
        struct nested n = {.t = &t};
        tupled_options_init(&o);
        o.is_driven = is_driven;
        program_init(&t, &o);
        db_lock(t.db); /* so that they are carried out together */
        for (int i = 0; i < 3; i++) {
            assert_int_equal(tupled_set_async(t.db, KEY1, tupled_text("1"), NULL, break_inside, &n),
                             TUPLED_YES);
        }
        db_unlock(t.db);
        while (__atomic_load_n(&n.is_over, __ATOMIC_ACQUIRE) == 0) {
            if (is_driven) (void)tupled_turn(t.db, &e);
            pause_ms(1);
        }
        assert_is_broken(n.outcome, &n.e);
        if (is_driven) assert_is_broken(tupled_turn(t.db, &e), &e);
        tupled_unwatch(n.watch);
        close_and_reopen(&t);
        assert_int_equal(n.calls, 1);
        assert_int_equal(n.changes, 0);
        program_has(&t, KEY1, "1");
        program_fini(&t);
    }
}

struct lines {
    int count; /* atomic: of those that say that it is broken */
};

static void on_line(void *arg, enum tupled_log_level level, const char *line)
{
    struct lines *l = arg;
    if (strstr(line, "invariant broken") == NULL) return;
    assert_int_equal(level, TUPLED_LOG_WARNING);
    __atomic_fetch_add(&l->count, 1, __ATOMIC_RELEASE);
}

static void the_reason_is_logged_once_and_told_by_every_call(void **state)
{
    struct program t;
    struct tupled_options o;
    struct tupled_error e = {{0}, {0}};
    struct lines lines = {0};
    tupled_options_init(&o);
    o.log = on_line;
    o.log_arg = &lines;
    program_init(&t, &o);
    program_arm(&t, "worker.job", 1, true);
    for (int i = 0; i < 3; i++) {
        assert_is_broken(tupled_set(t.db, KEY1, tupled_text("1"), NULL, NULL, &e), &e);
        assert_non_null(strstr(e.text, "worker.job"));
    }
    assert_is_broken(tupled_close(t.db, &e), &e);
    assert_int_equal(lines.count, 1);
    if (tupled_open(t.dir, &t.options, &t.db, &e) < 0) fail_msg("%s", e.text);
    program_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_that_breaks_in_a_transaction_can_be_opened_again),
        cmocka_unit_test(whoever_waits_in_a_database_that_breaks_gets_its_error),
        cmocka_unit_test(a_call_from_a_callback_that_breaks_it_returns_to_the_callback),
        cmocka_unit_test(the_reason_is_logged_once_and_told_by_every_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
