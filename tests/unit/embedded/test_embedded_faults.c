/* embedded: what may not happen to a program that has the engine inside: it ends, its signals go
 * elsewhere, something is printed, two databases know of each other. Errors come back instead.
 */
#include "unit/embedded/embedded.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "embedded/embedded_int.h"
#include "server/config.h"

static void assert_open_fails(const char *dir, const struct tupled_options *o, const char *text)
{
    struct tupled_db *db = NULL;
    struct tupled_error e;
    assert_int_equal(tupled_open(dir, o, &db, &e), TUPLED_FAILED);
    assert_null(db);
    assert_true(e.code[0] != '\0');
    if (strstr(e.text, text) == NULL) fail_msg("'%s' is not in: %s", text, e.text);
    assert_int_equal(tupled_open(dir, o, &db, NULL), TUPLED_FAILED);
}

/* ---- opening ---- */

static void two_databases_do_not_know_of_each_other(void **state)
{
    struct program a;
    struct program b;
    struct tupled_error e;
    struct tupled_entry *entry = NULL;
    char stamp_a[TUPLED_STAMP_BYTES];
    char stamp_b[TUPLED_STAMP_BYTES];
    program_init(&a, NULL);
    program_init(&b, NULL);
    assert_int_equal(tupled_set(a.db, KEY1, tupled_text("1"), NULL, stamp_a, &e), TUPLED_YES);
    assert_int_equal(tupled_get(b.db, KEY1, &entry, &e), TUPLED_NO);
    assert_int_equal(tupled_set(b.db, KEY1, tupled_text("2"), NULL, stamp_b, &e), TUPLED_YES);
    assert_string_equal(stamp_a, stamp_b); /* each counts for itself */
    program_fini(&a);
    program_has(&b, KEY1, "2");
    program_reopen(&b);
    program_has(&b, KEY1, "2");
    program_fini(&b);
}

/* The expiry, in so many milliseconds, of a key that expires 1000 s after its set. */
static int64_t expiry_of(struct program *t)
{
    struct tupled_error e;
    struct tupled_entry *entry = NULL;
    struct tupled_set_options o = {.ttl_ms = 1000000};
    assert_int_equal(tupled_set(t->db, KEY2, tupled_text("2"), &o, NULL, &e), TUPLED_YES);
    assert_int_equal(tupled_get(t->db, KEY2, &entry, &e), TUPLED_YES);
    int64_t expiry_ms = entry->expiry_ms;
    tupled_free(entry);
    return expiry_ms;
}

static void two_databases_have_their_own_clock_and_faults(void **state)
{
    const int64_t fake_ms = INT64_C(4000000000000);
    struct program a;
    struct program b;
    struct tupled_error e;
    program_init(&a, NULL);
    program_init(&b, NULL);
    struct host *before = host_use(&a.db->host);
    clock_set_fake_ms(fake_ms);
    (void)host_use(before);
    assert_int_equal(expiry_of(&a), fake_ms + 1000000);
    assert_true(expiry_of(&b) < fake_ms);
    assert_true(clock_wall_ms() < fake_ms); /* of this thread */
    program_arm(&a, "file.sync", 1, true);
    assert_int_equal(tupled_set(b.db, KEY1, tupled_text("1"), NULL, NULL, &e), TUPLED_YES);
    assert_int_equal(tupled_set(a.db, KEY1, tupled_text("1"), NULL, NULL, &e), TUPLED_FAILED);
    assert_int_equal(tupled_set(b.db, KEY1, tupled_text("2"), NULL, NULL, &e), TUPLED_YES);
    program_arm(&a, "", 0, false);
    program_fini(&a);
    program_has(&b, KEY1, "2");
    program_fini(&b);
}

static void a_directory_in_use_is_refused(void **state)
{
    struct program t;
    program_init(&t, NULL);
    assert_open_fails(t.dir, NULL, "is locked");
    program_fini(&t);
}

static void directories_that_cannot_be_used_are_refused(void **state)
{
    char file[] = "/tmp/test_embedded.XXXXXX";
    char below[64];
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    close(fd);
    snprintf(below, sizeof below, "%s/data", file);
    assert_open_fails(file, NULL, file);
    assert_open_fails(below, NULL, below);
    assert_open_fails("/proc/self/fdinfo/new", NULL, "/proc/self/fdinfo/new");
    assert_open_fails("", NULL, "directory");
    assert_open_fails(NULL, NULL, "directory");
    assert_int_equal(unlink(file), 0);
}

/* As another user, whom permissions hold. */
static void a_directory_that_is_only_to_be_read_is_refused(void **state)
{
    char dir[] = "/tmp/test_embedded.XXXXXX";
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chmod(dir, 0555), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct tupled_db *db = NULL;
        struct tupled_error e = {{0}, {0}};
        if (geteuid() == 0 && seteuid(65534) != 0) _exit(2);
        int outcome = tupled_open(dir, NULL, &db, &e);
        _exit(outcome < 0 && strstr(e.text, "Permission denied") != NULL ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(rmdir(dir), 0);
}

static void a_damaged_database_is_an_error(void **state)
{
    struct program t;
    struct tupled_error e;
    char path[96];
    char command[96];
    char junk[8192];
    program_init(&t, NULL);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("1"), NULL, NULL, &e), TUPLED_YES);
    assert_int_equal(tupled_close(t.db, &e), TUPLED_YES);
    snprintf(path, sizeof path, "%s/tupled.db", t.dir);
    memset(junk, 0x5a, sizeof junk);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, junk, sizeof junk, 0), sizeof junk);
    close(fd);
    assert_open_fails(t.dir, &t.options, "tupled.db");
    snprintf(command, sizeof command, "rm -rf '%s'", t.dir);
    assert_int_equal(system(command), 0);
}

/* As a user that has all the threads it may have. */
static void no_threads_are_an_error(void **state)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char dir[] = "/tmp/test_embedded.XXXXXX";
        struct rlimit none = {1, 1};
        struct tupled_db *db = NULL;
        struct tupled_error e = {{0}, {0}};
        if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
        if (mkdtemp(dir) == NULL || setrlimit(RLIMIT_NPROC, &none) != 0) _exit(3);
        int outcome = tupled_open(dir, NULL, &db, &e);
        (void)rmdir(dir);
        _exit(outcome < 0 && strstr(e.text, "thread") != NULL ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void options_out_of_their_range_are_named(void **state)
{
    struct tupled_options o;
    tupled_options_init(&o);
    o.memtable_bytes = 1000;
    assert_open_fails("/tmp/never-made", &o, "memtable_bytes");
    tupled_options_init(&o);
    o.database = 16;
    assert_open_fails("/tmp/never-made", &o, "database");
    tupled_options_init(&o);
    o.query_threads = 0;
    assert_open_fails("/tmp/never-made", &o, "query_threads");
    tupled_options_init(&o);
    o.databases = 0;
    assert_open_fails("/tmp/never-made", &o, "databases");
    memset(&o, 0, sizeof o);
    assert_open_fails("/tmp/never-made", &o, "tupled_options_init");
    assert_int_equal(access("/tmp/never-made", F_OK), -1);
}

/* But for sizes of memory, of which the server takes parts of what the machine has. */
static void defaults_are_those_of_the_server(void **state)
{
    struct tupled_options o;
    struct config c;
    tupled_options_init(&o);
    config_init(&c);
    assert_int_equal(o.cache_bytes, 256 << 20);
    assert_int_equal(o.store_cache_bytes, 64 << 20);
    assert_int_equal(o.memtable_bytes, 64 << 20);
    assert_int_equal(o.write_buffer_bytes, 256 << 20);
    assert_int_equal(o.memtable_age_ms, c.memtable_age_ms);
    assert_int_equal(o.journal_segment_bytes, c.journal_segment_bytes);
    assert_int_equal(o.changes_retention_ms, c.changes_retention_age_s * 1000);
    assert_int_equal(o.changes_retention_bytes, c.changes_retention_bytes);
    assert_int_equal(o.value_bytes_max, c.max_value_bytes);
    assert_int_equal(o.transaction_bytes_max, c.max_transaction_bytes);
    assert_int_equal(o.transaction_ops_max, c.max_transaction_ops);
    assert_int_equal(o.queue_lease_ms, c.queue_lease_ms);
    assert_int_equal(o.query_threads, c.query_threads);
    assert_int_equal(o.databases, c.databases);
    config_fini(&c);
}

/* ---- while it is open ---- */

static void a_journal_that_cannot_be_synced_stops_the_database_not_the_program(void **state)
{
    struct program t;
    struct tupled_error e;
    struct tupled_entry *entry = NULL;
    program_init(&t, NULL);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("1"), NULL, NULL, &e), TUPLED_YES);
    program_arm(&t, "file.sync", 1, true);
    assert_int_equal(tupled_set(t.db, KEY2, tupled_text("2"), NULL, NULL, &e), TUPLED_FAILED);
    assert_non_null(strstr(e.text, "has stopped"));
    assert_int_equal(tupled_get(t.db, KEY1, &entry, &e), TUPLED_FAILED);
    assert_non_null(strstr(e.text, "open it again"));
    program_arm(&t, "", 0, false);
    assert_int_equal(tupled_set(t.db, KEY2, tupled_text("2"), NULL, NULL, &e), TUPLED_FAILED);
    program_reopen(&t);
    program_has(&t, KEY1, "1");
    assert_int_equal(tupled_set(t.db, KEY2, tupled_text("3"), NULL, NULL, &e), TUPLED_YES);
    program_fini(&t);
}

static void on_change(void *arg, const struct tupled_change *c, const struct tupled_error *e)
{
    int *ends = arg;
    if (c == NULL && strstr(e->text, "has stopped") != NULL) {
        __atomic_fetch_add(ends, 1, __ATOMIC_RELEASE);
    }
}

static void on_stamp(void *arg, int outcome, const char *stamp, const struct tupled_error *e)
{
    int *failed = arg;
    if (outcome < 0) __atomic_fetch_add(failed, 1, __ATOMIC_RELEASE);
}

static void await(int *count, int wanted)
{
    while (__atomic_load_n(count, __ATOMIC_ACQUIRE) < wanted) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void files_that_somebody_removes_stop_the_database(void **state)
{
    struct program t;
    struct tupled_error e;
    struct tupled_watch *w = NULL;
    char path[96];
    int ends = 0;
    int failed = 0;
    program_init(&t, NULL);
    assert_int_equal(tupled_watch_key(t.db, KEY1, on_change, &ends, &w, &e), TUPLED_YES);
    snprintf(path, sizeof path, "%s/LOCK", t.dir);
    assert_int_equal(unlink(path), 0);
    await(&ends, 1);
    assert_int_equal(tupled_set_async(t.db, KEY1, tupled_text("1"), NULL, on_stamp, &failed),
                     TUPLED_YES);
    await(&failed, 1);
    tupled_unwatch(w);
    program_fini(&t);
}

static void a_full_disk_refuses_writes_and_answers_reads(void **state)
{
    struct program t;
    struct tupled_error e;
    static char big[600 << 10];
    int outcome = TUPLED_YES;
    program_init(&t, NULL);
    assert_int_equal(tupled_set(t.db, KEY1, tupled_text("1"), NULL, NULL, &e), TUPLED_YES);
    program_arm(&t, "file.reserve", 1, true);
    for (int i = 0; i < 100 && outcome > 0; i++) { /* the segments that there are */
        memset(big, 'a' + i % 26, sizeof big);     /* they get what changed */
        big[0] = big[sizeof big - 1] = '"';
        outcome = tupled_set(t.db, KEY2, (struct tupled_bytes){big, sizeof big}, NULL, NULL, &e);
    }
    assert_int_equal(outcome, TUPLED_FAILED);
    assert_non_null(strstr(e.text, "disk"));
    program_has(&t, KEY1, "1");
    program_arm(&t, "", 0, false);
    for (int i = 0; i < 20000 && outcome < 0; i++) { /* it is tried again from time to time */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        outcome = tupled_set(t.db, KEY2, tupled_text("2"), NULL, NULL, &e);
    }
    assert_int_equal(outcome, TUPLED_YES);
    program_fini(&t);
}

struct waiting {
    struct tupled_db *db;
    int began;
    int outcome;
    struct tupled_error e;
};

static void *wait_for_ever(void *arg)
{
    struct waiting *w = arg;
    struct tupled_messages *m = NULL;
    __atomic_store_n(&w->began, 1, __ATOMIC_RELEASE);
    w->outcome = tupled_dequeue(w->db, "q", 1, -1, &m, &w->e);
    return NULL;
}

/* All of these commands are waiting. */
static void await_blocked(struct program *t, const char *count)
{
    for (bool is_there = false; !is_there;) {
        struct tupled_reply *r = program_ask(t, "INFO clients");
        is_there = strstr(r->text, count) != NULL;
        tupled_free(r);
    }
}

static void a_close_ends_calls_that_wait(void **state)
{
    struct program t;
    struct waiting waiting[3];
    pthread_t threads[3];
    int failed = 0;
    program_init(&t, NULL);
    for (int i = 0; i < 3; i++) {
        waiting[i] = (struct waiting){.db = t.db};
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_ever, &waiting[i]), 0);
    }
    await_blocked(&t, "blocked_clients:3");
    for (int i = 0; i < 50; i++) { /* those that can be carried out are */
        assert_int_equal(tupled_set_async(t.db, KEY1, tupled_text("7"), NULL, on_stamp, &failed),
                         TUPLED_YES);
    }
    struct tupled_error e;
    assert_int_equal(tupled_close(t.db, &e), TUPLED_YES);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(waiting[i].outcome, TUPLED_FAILED);
        assert_non_null(strstr(waiting[i].e.text, "closed"));
    }
    assert_int_equal(tupled_open(t.dir, &t.options, &t.db, &e), TUPLED_YES);
    program_fini(&t);
}

/* A message that was being handed over when its database stopped comes again after its lease. */
static void a_message_that_was_taken_and_not_given_comes_again(void **state)
{
    struct program t;
    struct tupled_options o;
    struct tupled_error e;
    struct tupled_messages *m = NULL;
    tupled_options_init(&o);
    o.queue_lease_ms = 100;
    program_init(&t, &o);
    assert_int_equal(tupled_enqueue(t.db, "q", tupled_text("1"), NULL, NULL, &e), TUPLED_YES);
    program_arm(&t, "file.sync", 1, true);
    assert_int_equal(tupled_dequeue(t.db, "q", 1, 0, &m, &e), TUPLED_FAILED);
    assert_null(m);
    program_arm(&t, "", 0, false);
    program_reopen(&t);
    assert_int_equal(tupled_dequeue(t.db, "q", 1, 60000, &m, &e), TUPLED_YES);
    tupled_free(m);
    program_fini(&t);
}

/* ---- the host's own things ---- */

static int signals_taken;
static pthread_t taken_by;

static void on_signal(int number)
{
    (void)number;
    taken_by = pthread_self();
    signals_taken++;
}

/* The signals that a thread blocks, as /proc/self/task/<id>/status says. Read by this thread itself:
 * one that has just started a process (posix_spawn) may block all for a moment more. */
static unsigned long long blocked_by(const char *path)
{
    char line[256];
    unsigned long long mask = 0;
    FILE *f = fopen(path, "r");
    if (f == NULL) return ~0ull; /* it has ended */
    while (fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "SigBlk:", 7) == 0) mask = strtoull(line + 7, NULL, 16);
    }
    fclose(f);
    return mask;
}

static void every_thread_but_this_one_blocks_all_signals(void)
{
    glob_t threads;
    unsigned blocking = 0;
    unsigned open = 0;
    assert_int_equal(glob("/proc/self/task/*/status", 0, NULL, &threads), 0);
    for (size_t i = 0; i < threads.gl_pathc; i++) {
        unsigned long long mask = blocked_by(threads.gl_pathv[i]);
        /* SIGKILL (9) and SIGSTOP (19) cannot be, 32 and 33 are the C library's. */
        bool is_blocking = (mask | (1ull << 8) | (1ull << 18) | (3ull << 31)) == ~0ull;
        blocking += is_blocking;
        open += !is_blocking;
    }
    globfree(&threads);
    assert_true(blocking > 0);
    assert_int_equal(open, 1); /* the test's own thread */
}

static void signals_stay_the_hosts(void **state)
{
    struct program t;
    struct sigaction mine = {.sa_handler = on_signal};
    struct sigaction before[32];
    sigset_t mask_before;
    sigset_t mask;
    assert_int_equal(sigaction(SIGUSR1, &mine, NULL), 0);
    for (int i = 1; i < 32; i++) (void)sigaction(i, NULL, &before[i]);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
    program_init(&t, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int i = 1; i < 32; i++) {
        assert_int_equal(sigismember(&mask, i), sigismember(&mask_before, i));
    }
    every_thread_but_this_one_blocks_all_signals();
    for (int i = 0; i < 20; i++) {
        assert_int_equal(kill(getpid(), SIGUSR1), 0);
        program_say(&t, "KV.SET [\"a\"] 1");
    }
    assert_true(signals_taken > 0);
    assert_true(pthread_equal(taken_by, pthread_self()));
    program_fini(&t);
    for (int i = 1; i < 32; i++) {
        struct sigaction after;
        if (sigaction(i, NULL, &after) != 0) continue;
        assert_ptr_equal(after.sa_handler, before[i].sa_handler);
    }
}

struct lines {
    pthread_mutex_t lock;
    unsigned count;
    bool has_backup;
};

static void on_line(void *arg, enum tupled_log_level level, const char *line)
{
    struct lines *l = arg;
    assert_true(level >= TUPLED_LOG_NOTICE);
    pthread_mutex_lock(&l->lock);
    l->count++;
    l->has_backup = l->has_backup || strstr(line, "backup") != NULL;
    pthread_mutex_unlock(&l->lock);
}

static bool has_backup(struct lines *l)
{
    pthread_mutex_lock(&l->lock);
    bool is_there = l->has_backup;
    pthread_mutex_unlock(&l->lock);
    return is_there;
}

static void lines_of_the_log_go_to_their_own_callback(void **state)
{
    struct program a;
    struct program b;
    struct tupled_options o;
    struct lines mine = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct lines other = {.lock = PTHREAD_MUTEX_INITIALIZER};
    tupled_options_init(&o);
    o.log = on_line;
    o.log_arg = &mine;
    program_init(&a, &o);
    o.log_arg = &other;
    program_init(&b, &o);
    program_say(&a, "SAVE");
    while (!has_backup(&mine)) program_say(&a, "PING");
    assert_false(has_backup(&other));
    program_fini(&a);
    program_fini(&b);
}

static void nothing_is_printed(void **state)
{
    int both[2];
    char byte;
    int out = dup(STDOUT_FILENO);
    int err = dup(STDERR_FILENO);
    assert_int_equal(pipe(both), 0);
    fflush(stdout);
    assert_true(dup2(both[1], STDOUT_FILENO) >= 0 && dup2(both[1], STDERR_FILENO) >= 0);
    struct program t;
    program_init(&t, NULL);
    program_say(&t, "SAVE");
    program_say(&t, "KV.SET [\"a\"] 1");
    program_fini(&t);
    fflush(stdout);
    assert_true(dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0);
    close(out);
    close(err);
    close(both[1]);
    assert_int_equal(read(both[0], &byte, 1), 0);
    close(both[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_databases_do_not_know_of_each_other),
        cmocka_unit_test(two_databases_have_their_own_clock_and_faults),
        cmocka_unit_test(a_directory_in_use_is_refused),
        cmocka_unit_test(directories_that_cannot_be_used_are_refused),
        cmocka_unit_test(a_directory_that_is_only_to_be_read_is_refused),
        cmocka_unit_test(a_damaged_database_is_an_error),
        cmocka_unit_test(no_threads_are_an_error),
        cmocka_unit_test(options_out_of_their_range_are_named),
        cmocka_unit_test(defaults_are_those_of_the_server),
        cmocka_unit_test(a_journal_that_cannot_be_synced_stops_the_database_not_the_program),
        cmocka_unit_test(files_that_somebody_removes_stop_the_database),
        cmocka_unit_test(a_full_disk_refuses_writes_and_answers_reads),
        cmocka_unit_test(a_close_ends_calls_that_wait),
        cmocka_unit_test(a_message_that_was_taken_and_not_given_comes_again),
        cmocka_unit_test(signals_stay_the_hosts),
        cmocka_unit_test(lines_of_the_log_go_to_their_own_callback),
        cmocka_unit_test(nothing_is_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
