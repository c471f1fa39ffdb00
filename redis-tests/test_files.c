/* The files of a server: whose they are, how much space they take, and what happens when they
 * are removed while it runs.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define LIMIT_MS 20000
#define MB (1 << 20)

static redisContext *c;

static const char *path_of(const char *name)
{
    static char paths[4][700];
    static unsigned at;
    char *path = paths[at++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", testserver_dir(server), name);
    return path;
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

/* Each file and directory in the data directory; the sum of their bytes. */
static long long look(const char *dir, unsigned file_mode, unsigned dir_mode)
{
    DIR *d = opendir(dir);
    long long bytes = 0;
    assert_non_null(d);
    assert_int_equal(mode_of(dir), dir_mode);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        char path[900];
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (stat(path, &st) != 0) continue; /* a spare segment was just renamed */
        if (S_ISDIR(st.st_mode)) {
            bytes += look(path, file_mode, dir_mode);
        } else {
            if ((st.st_mode & 0777) != file_mode) fail_msg("%s has mode %o", path, st.st_mode);
            bytes += st.st_size;
        }
    }
    closedir(d);
    return bytes;
}

static void write_and_save(void)
{
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, "+OK", "SAVE");
}

static void files_are_private(void **state)
{
    server = testserver_start(NULL);
    c = testserver_connect(server);
    write_and_save();
    look(testserver_dir(server), 0600, 0700);
    assert_int_equal(mode_of(path_of("../log")), 0600);
}

static void files_are_for_the_group_when_it_is_asked_for(void **state)
{
    server = testserver_start_with("--data-group-access", "yes", NULL);
    c = testserver_connect(server);
    write_and_save();
    look(testserver_dir(server), 0640, 0750);
}

static void a_directory_that_is_open_is_told(void **state)
{
    server = testserver_start(NULL);
    assert_false(testserver_has_logged(server, "is accessible to other users"));
    testserver_stop(server);
    assert_int_equal(chmod(testserver_dir(server), 0755), 0);
    testserver_again(server);
    assert_true(testserver_has_logged(server, "is accessible to other users"));
}

static void an_empty_server_takes_little_space(void **state)
{
    server = testserver_start(NULL);
    c = testserver_connect(server);
    expect(c, "@", "KV.SET ['a'] 1");
    assert_true(look(testserver_dir(server), 0600, 0700) < 24 * MB);
    for (int i = 0; i < 10; i++) {
        group_again(true);
        expect(c, "@", "KV.SET ['a'] %d", i);
    }
    assert_true(look(testserver_dir(server), 0600, 0700) < 32 * MB);
    group_again(false);
    expect(c, "9", "KV.GET ['a']");
    assert_true(load_info(c, "journal_bytes") < 24 * MB);
}

/* A transaction larger than the segments of the moment gets a larger one. */
static void a_large_transaction_is_no_trouble_for_small_segments(void **state)
{
    char *value = malloc(12 * MB + 8);
    server = testserver_start(NULL);
    c = testserver_connect(server);
    memset(value, 'x', 12 * MB + 2);
    value[0] = value[12 * MB + 1] = '"';
    for (int i = 0; i < 4; i++) {
        redisReply *r = redisCommand(c, "KV.SET [\"v\",%d] %b", i, value, (size_t)(12 * MB + 2));
        assert_true(r != NULL && r->type == REDIS_REPLY_STRING);
        freeReplyObject(r);
        expect(c, "@", "KV.SET ['small'] %d", i);
    }
    group_again(true);
    expect(c, ":4", "KV.COUNT PREFIX ['v']");
    expect(c, "3", "KV.GET ['small']");
    free(value);
}

/* ---- removed under a running server ---- */

static void current_segment(char *out, size_t bytes)
{
    DIR *d = opendir(testserver_dir(server));
    char lowest[256] = "~";
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        if (strncmp(e->d_name, "journal-", 8) == 0 && strcmp(e->d_name, lowest) < 0) {
            snprintf(lowest, sizeof lowest, "%s", e->d_name);
        }
    }
    closedir(d);
    snprintf(out, bytes, "%s", lowest);
}

static void a_file_that_goes_stops_the_server(const char *name, bool is_replaced)
{
    char segment[256];
    server = testserver_start(NULL);
    c = testserver_connect(server);
    expect(c, "@", "KV.SET ['a'] 1");
    current_segment(segment, sizeof segment);
    const char *path = path_of(name != NULL ? name : segment);
    assert_int_equal(unlink(path), 0);
    if (is_replaced) close(open(path, O_CREAT | O_WRONLY, 0600));
    testserver_ends(server, 1);
    assert_true(
        testserver_has_logged(server, "was removed or replaced while the server was running"));
    group_stop(NULL);
}

static void files_that_are_removed_or_replaced_are_noticed(void **state)
{
    a_file_that_goes_stops_the_server("LOCK", false);
    a_file_that_goes_stops_the_server("LOCK", true);
    a_file_that_goes_stops_the_server("tupled.db", false);
    a_file_that_goes_stops_the_server("tupled.db", true);
    a_file_that_goes_stops_the_server(NULL, false);
}

/* ---- leftovers, the log ---- */

static void unfinished_backups_are_removed_at_the_start(void **state)
{
    server = testserver_start(NULL);
    c = testserver_connect(server);
    write_and_save();
    redisFree(c);
    c = NULL;
    testserver_kill(server);
    const char *part = path_of("backups/tupled-00000000000000010000.db.part");
    const char *journal = path_of("backups/tupled-00000000000000010000.db.part-journal");
    const char *other = path_of("backups/notes.part");
    close(open(part, O_CREAT | O_WRONLY, 0600));
    close(open(journal, O_CREAT | O_WRONLY, 0600));
    close(open(other, O_CREAT | O_WRONLY, 0600));
    testserver_again(server);
    assert_int_not_equal(access(part, F_OK), 0);
    assert_int_not_equal(access(journal, F_OK), 0);
    assert_int_equal(access(other, F_OK), 0);
    assert_true(testserver_has_logged(server, "removed 2 files of incomplete backups"));
}

static void sighup_opens_the_log_anew(void **state)
{
    server = testserver_start(NULL);
    c = testserver_connect(server);
    const char *log = path_of("../log");
    const char *old = path_of("../log.1");
    assert_int_equal(rename(log, old), 0);
    assert_int_equal(kill(testserver_pid(server), SIGHUP), 0);
    long until = testserver_now_ms() + LIMIT_MS;
    while (access(log, F_OK) != 0) {
        if (testserver_now_ms() > until) fail_msg("there is no new log");
        testserver_pause();
    }
    while (!testserver_has_logged(server, "SIGHUP: log file reopened")) {
        if (testserver_now_ms() > until) fail_msg("lines go on to the old log");
        testserver_pause();
    }
    expect(c, "+PONG", "PING");
    assert_int_equal(rename(old, path_of("../log.2")), 0);
    group_again(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(files_are_private, group_stop),
        cmocka_unit_test_teardown(files_are_for_the_group_when_it_is_asked_for, group_stop),
        cmocka_unit_test_teardown(a_directory_that_is_open_is_told, group_stop),
        cmocka_unit_test_teardown(an_empty_server_takes_little_space, group_stop),
        cmocka_unit_test_teardown(a_large_transaction_is_no_trouble_for_small_segments, group_stop),
        cmocka_unit_test_teardown(files_that_are_removed_or_replaced_are_noticed, group_stop),
        cmocka_unit_test_teardown(unfinished_backups_are_removed_at_the_start, group_stop),
        cmocka_unit_test_teardown(sighup_opens_the_log_anew, group_stop),
    };
    group_opens(&c, NULL);
    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
