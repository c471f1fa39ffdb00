/* embedded: each allocation of a small scenario fails, from the opening to the close, and each job
 * of a worker finds a defect. All that comes of it is errors: the program goes on, what was
 * acknowledged is there when the directory is opened again by the same process, nothing is left
 * open, and another database goes on as if nothing were.
 *
 * The memory of a broken database is lost (docs/embedded.md), so nothing is said of leaks here;
 * test_embedded.c and its neighbours, in which nothing breaks, do that.
 */
#include "unit/embedded/embedded.h"

#include <dirent.h>
#include <time.h>

#include "base/fault.h"
#include "base/host.h"
#include "embedded/embedded_int.h"

/* Of the sanitizer: asked for at the end of the program. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

#define WRITES_MAX 16
#define QUIET_ENOUGH 6 /* runs at the end of a loop in which nothing went wrong any more */

/* What a run was told. */
struct told {
    struct program *t;
    size_t acked;              /* keys [1] to [acked] are there ... */
    bool is_acked[WRITES_MAX]; /* ... if so */
    bool was_attempted[WRITES_MAX];
    unsigned errors, broken;
    int called;     /* callbacks of its asynchronous write */
    uint64_t calls; /* of the fault point, before the close */
    bool has_failed_to_close;
};

/* Entries of a folder of /proc, but links to what is below `but`. */
static unsigned count_in(const char *dir, const char *but)
{
    unsigned n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *x = readdir(d); x != NULL; x = readdir(d)) {
        char to[256] = "";
        if (readlinkat(dirfd(d), x->d_name, to, sizeof to - 1) < 0) to[0] = '\0';
        if (strncmp(to, but, strlen(but)) != 0) n++;
    }
    closedir(d);
    return n;
}

/* Any outcome but an error without a text will do. */
static int see(struct told *s, int outcome, const struct tupled_error *e)
{
    assert_true(outcome >= TUPLED_FAILED && outcome <= TUPLED_YES);
    if (outcome >= 0) return outcome;
    assert_true(e->code[0] != '\0' && e->text[0] != '\0');
    s->errors++;
    if (strcmp(e->code, "BROKEN") == 0) s->broken++;
    /* Once broken, always. */
    if (s->broken > 0) assert_string_equal(e->code, "BROKEN");
    return outcome;
}

static void write_key(struct told *s, size_t i)
{
    struct tupled_error e = {{0}, {0}};
    char key[16];
    snprintf(key, sizeof key, "[%zu]", i);
    s->was_attempted[i] = true;
    int outcome = tupled_set(s->t->db, tupled_text(key), tupled_text("{\"a\":\"b c\"}"), NULL, NULL,
                             &e);
    assert_true(outcome != TUPLED_NO); /* it has no condition */
    s->is_acked[i] = see(s, outcome, &e) > 0;
}

static void run_line(struct told *s, struct tupled_session *in, const char *line)
{
    struct tupled_reply *r = NULL;
    struct tupled_error e = {{0}, {0}};
    char text[512];
    struct tupled_bytes words[WORDS_MAX_OF_A_LINE];
    snprintf(text, sizeof text, "%s", line);
    size_t count = program_split(text, words);
    if (in != NULL) {
        (void)see(s, tupled_session_command(in, words, count, &r, &e), &e);
    } else {
        (void)see(s, tupled_command(s->t->db, words, count, &r, &e), &e);
    }
    tupled_free(r);
}

static void on_stamp(void *arg, int outcome, const char *stamp, const struct tupled_error *e)
{
    int *called = arg;
    if (outcome < 0) assert_true(e->text[0] != '\0');
    __atomic_fetch_add(called, 1, __ATOMIC_RELEASE);
}

static void on_change(void *arg, const struct tupled_change *change, const struct tupled_error *e)
{
}

static void use_a_queue(struct told *s)
{
    struct tupled_messages *m = NULL;
    struct tupled_error e = {{0}, {0}};
    (void)see(s, tupled_enqueue(s->t->db, "q", tupled_text("1"), NULL, NULL, &e), &e);
    if (see(s, tupled_dequeue(s->t->db, "q", 1, 0, &m, &e), &e) <= 0) return;
    (void)see(s, tupled_ack(s->t->db, m->items[0].receipt, &e), &e);
    tupled_free(m);
}

static void use_a_transaction(struct told *s, size_t i)
{
    struct tupled_error e = {{0}, {0}};
    char key[16];
    struct tupled_atomic *a = tupled_atomic_new();
    snprintf(key, sizeof key, "[%zu]", i);
    tupled_atomic_check(a, tupled_text(key), NULL);
    tupled_atomic_set(a, tupled_text(key), tupled_text("\"by a transaction\""));
    tupled_atomic_sum(a, tupled_text("[\"count\"]"), tupled_text("1"));
    s->was_attempted[i] = true;
    s->is_acked[i] = see(s, tupled_atomic_commit(s->t->db, a, NULL, &e), &e) > 0;
    tupled_atomic_free(a);
}

static void read_all(struct told *s)
{
    struct tupled_error e = {{0}, {0}};
    struct tupled_page *page = NULL;
    struct tupled_range all = {0};
    for (size_t i = 1; i < WRITES_MAX; i++) {
        struct tupled_entry *entry = NULL;
        char key[16];
        snprintf(key, sizeof key, "[%zu]", i);
        int outcome = see(s, tupled_get(s->t->db, tupled_text(key), &entry, &e), &e);
        if (s->is_acked[i] && outcome >= 0) assert_int_equal(outcome, TUPLED_YES);
        if (!s->was_attempted[i]) assert_true(outcome <= 0);
        tupled_free(entry);
    }
    if (see(s, tupled_list(s->t->db, &all, &page, &e), &e) > 0) tupled_free(page);
}

static void work(struct told *s)
{
    struct tupled_session *session = NULL;
    struct tupled_watch *w = NULL;
    struct tupled_error e = {{0}, {0}};
    write_key(s, 1);
    run_line(s, NULL, "KV.INDEX CREATE people PREFIX [] TEXT 1 a");
    (void)see(s, tupled_watch_key(s->t->db, tupled_text("[2]"), on_change, NULL, &w, &e), &e);
    write_key(s, 2);
    if (tupled_set_async(s->t->db, tupled_text("[9]"), tupled_text("9"), NULL, on_stamp,
                         &s->called) > 0)
        s->was_attempted[9] = true;
    use_a_transaction(s, 3);
    use_a_queue(s);
    (void)see(s, tupled_session_open(s->t->db, &session, &e), &e);
    if (session != NULL) {
        run_line(s, session, "MULTI");
        run_line(s, session, "KV.SET [\"m\"] 1");
        run_line(s, session, "EXEC");
    }
    run_line(s, NULL, "KV.SEARCH people b");
    tupled_unwatch(w);
    read_all(s);
    write_key(s, 4);
    tupled_session_close(session);
}

static bool open_anew(struct told *s)
{
    struct tupled_error e = {{0}, {0}};
    int outcome = tupled_open(s->t->dir, &s->t->options, &s->t->db, &e);
    if (outcome > 0) return true;
    assert_null(s->t->db);
    assert_true(e.text[0] != '\0');
    s->errors++;
    return false;
}

static uint64_t calls_of(struct program *t)
{
    struct host *before = host_use(&t->db->host);
    uint64_t calls = fault_calls();
    (void)host_use(before);
    return calls;
}

static void close_it(struct told *s)
{
    struct tupled_error e = {{0}, {0}};
    s->calls = calls_of(s->t);
    s->has_failed_to_close = tupled_close(s->t->db, &e) < 0;
    s->t->db = NULL;
}

static void assert_all_is_there(struct told *s)
{
    for (size_t i = 1; i < WRITES_MAX; i++) {
        struct tupled_entry *entry = NULL;
        struct tupled_error e = {{0}, {0}};
        char key[16];
        snprintf(key, sizeof key, "[%zu]", i);
        int outcome = tupled_get(s->t->db, tupled_text(key), &entry, &e);
        if (outcome < 0) fail_msg("%s", e.text);
        if (s->is_acked[i]) assert_int_equal(outcome, TUPLED_YES);
        if (!s->was_attempted[i]) assert_int_equal(outcome, TUPLED_NO);
        tupled_free(entry);
    }
}

/* A run in which the nth call of the point fails, in a database that is opened for it. False: all
 * went well. */
static bool run_with_fault(struct program *t, struct told *s, const char *point, uint64_t nth)
{
    *s = (struct told){.t = t};
    fault_arm(point, nth, false); /* what is opened takes it over */
    bool is_open = open_anew(s);
    fault_arm("", 0, false);
    if (is_open) {
        work(s);
        close_it(s);
    }
    return !is_open || s->errors > 0 || s->has_failed_to_close;
}

/* On a directory of its own. False: nothing went wrong. */
static bool survive(const struct tupled_options *o, struct told *s, const char *point, uint64_t nth)
{
    struct program t = {.dir = "/tmp/test_embedded.XXXXXX", .options = *o};
    assert_non_null(mkdtemp(t.dir));
    bool went_wrong = run_with_fault(&t, s, point, nth);
    if (!open_anew(s)) fail_msg("it cannot be opened again");
    assert_all_is_there(s);
    program_fini(&t);
    return went_wrong;
}

/* A thread that has ended may be listed for a moment more. */
static bool comes_down_to(unsigned count, const char *path, const char *dir)
{
    for (int i = 0; i < 200; i++) {
        if (count_in(path, dir) <= count) return true;
        usleep(10000);
    }
    return false;
}

/* Each `step`th. */
static void survive_each(const char *point, bool is_driven, uint64_t step)
{
    struct program other;
    struct told s;
    unsigned quiet = 0;
    unsigned broken = 0;
    struct tupled_options o;
    program_init(&other, NULL);
    o = other.options;
    o.is_driven = is_driven;
    unsigned fds = count_in("/proc/self/fd", other.dir);
    unsigned threads = count_in("/proc/self/task", other.dir);
    for (uint64_t nth = 1; quiet < QUIET_ENOUGH; nth += step) {
        bool went_wrong = survive(&o, &s, point, nth);
        quiet = !went_wrong && nth > s.calls ? quiet + 1 : 0;
        broken += s.broken > 0;
        assert_int_equal(count_in("/proc/self/fd", other.dir), fds);
        assert_true(comes_down_to(threads, "/proc/self/task", other.dir));
        program_say(&other, "KV.SUM [\"n\"] 1");
    }
    assert_true(broken > 0);
    program_fini(&other);
}

static void each_allocation_that_fails_is_an_error(void **state)
{
    survive_each("mem.", false, 1);
}

static void allocations_that_fail_in_the_programs_loop_are_errors(void **state)
{
    survive_each("mem.", true, 5);
}

static void a_defect_on_any_thread_is_an_error(void **state)
{
    survive_each("worker.job", false, 1);
}

/* What lacks memory from some moment on is an error and never the answer that nothing is there. */
static void no_memory_for_a_reply_is_not_an_empty_reply(void **state)
{
    bool is_done = false;
    for (uint64_t nth = 1; !is_done; nth++) {
        struct program t;
        struct tupled_error e = {{0}, {0}};
        struct tupled_error g = {{0}, {0}};
        struct tupled_entry *entry = NULL;
        program_init(&t, NULL);
        assert_int_equal(tupled_set(t.db, KEY1, tupled_text("1"), NULL, NULL, &e), TUPLED_YES);
        program_arm(&t, "mem.try", nth, true);
        int set = tupled_set(t.db, KEY1, tupled_text("2"), NULL, NULL, &e);
        int got = tupled_get(t.db, KEY1, &entry, &g);
        is_done = calls_of(&t) < nth;
        program_arm(&t, "", 0, false);
        assert_true(set == TUPLED_YES || e.text[0] != '\0');
        assert_true(got == TUPLED_YES || g.text[0] != '\0');
        if (is_done) assert_int_equal(set, TUPLED_YES);
        tupled_free(entry);
        (void)tupled_close(t.db, &e);
        if (tupled_open(t.dir, &t.options, &t.db, &e) < 0) fail_msg("%s", e.text);
        if (set == TUPLED_YES) program_has(&t, KEY1, "2");
        program_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_that_fails_is_an_error),
        cmocka_unit_test(allocations_that_fail_in_the_programs_loop_are_errors),
        cmocka_unit_test(no_memory_for_a_reply_is_not_an_empty_reply),
        cmocka_unit_test(a_defect_on_any_thread_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
