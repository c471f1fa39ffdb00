/* The log of a whole server: its two forms, and a log file that is renamed under it (SIGHUP, for
 * logrotate). */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "client.h"
#include "group.h"

#define LIMIT_MS 20000

static redisContext *c;
static char log_path[600], renamed[600]; /* the server's log file, and what it is renamed to */

static void start(const char *const *args)
{
    server = testserver_start(&(struct testserver_options){.args = args});
    snprintf(log_path, sizeof log_path, "%.500s/../log", testserver_dir(server));
    snprintf(renamed, sizeof renamed, "%.500s/../log.1", testserver_dir(server));
    group_connect();
}

static void poll_log(const char *text)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (!testserver_has_logged(server, text)) {
        if (testserver_now_ms() > until) fail_msg("never logged: %s", text);
        testserver_pause();
    }
}

static void hang_up(void)
{
    assert_int_equal(kill(testserver_pid(server), SIGHUP), 0);
}

/* Does the file hold the text? Waits for it. */
static void poll_file(const char *path, const char *text)
{
    long until = testserver_now_ms() + LIMIT_MS;
    static char bytes[65536];
    do {
        FILE *f = fopen(path, "r");
        size_t n = f == NULL ? 0 : fread(bytes, 1, sizeof bytes - 1, f);
        bytes[n] = '\0';
        if (f != NULL) fclose(f);
        if (strstr(bytes, text) != NULL) return;
        testserver_pause();
    } while (testserver_now_ms() < until);
    fail_msg("%s is not in %s", text, path);
}

/* ---- log-format ------------------------------------------------------------------------------ */

/* Reads the next line, which must be an object. */
static json_t *next_object(FILE *f)
{
    char line[8192];
    json_error_t e;
    if (fgets(line, sizeof line, f) == NULL) return NULL;
    json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, &e);
    if (o == NULL) fail_msg("%s in %s", e.text, line);
    static const char *const texts[] = {"time", "level", "message"};
    for (size_t i = 0; i < 3; i++) assert_true(json_is_string(json_object_get(o, texts[i])));
    assert_int_equal(json_integer_value(json_object_get(o, "pid")), testserver_pid(server));
    return o;
}

static void with_json_every_line_from_the_first_on_is_an_object(void **state)
{
    const char *args[] = {"--log-format", "json", "--enable-debug-command", "yes", NULL};
    start(args);
    expect(c, "+OK", "DEBUG LOG %s", "a \"quoted\" \\ word");
    expect(c, "+OK", "DEBUG LOG %b", "\xff", (size_t)1);
    poll_log("DEBUG LOG: \xef\xbf\xbd");
    FILE *f = fopen(log_path, "r");
    assert_non_null(f);
    json_t *first = next_object(f);
    const char *message = json_string_value(json_object_get(first, "message"));
    assert_int_equal(strncmp(message, "tupled ", 7), 0);
    assert_string_equal(json_string_value(json_object_get(first, "level")), "notice");
    assert_string_equal(json_string_value(json_object_get(first, "dir")), testserver_dir(server));
    json_decref(first);
    bool has_port = false;
    bool has_quotes = false;
    for (json_t *o = next_object(f); o != NULL; o = next_object(f)) {
        message = json_string_value(json_object_get(o, "message"));
        has_quotes |= strcmp(message, "DEBUG LOG: a \"quoted\" \\ word") == 0;
        has_port |= json_integer_value(json_object_get(o, "port")) == testserver_port(server);
        json_decref(o);
    }
    fclose(f);
    assert_true(has_port && has_quotes);
}

static void the_format_can_be_changed_at_any_time(void **state)
{
    start(NULL);
    poll_log(" * ready to accept connections on ");
    expect(c, "+OK", "CONFIG SET log-format json");
    expect(c, "+OK", "CONFIG SET timeout 1001");
    poll_log("\"message\":\"CONFIG SET: timeout 1001\",\"setting\":\"timeout\"}\n");
    expect(c, "+OK", "CONFIG SET log-format text");
    expect(c, "+OK", "CONFIG SET timeout 1002");
    poll_log(" * CONFIG SET: timeout 1002\n");
    expect(c,
           "-ERR CONFIG SET failed (possibly related to argument 'log-format') - log-format "
           "must be one of text, json*",
           "CONFIG SET log-format xml");
}

/* ---- SIGHUP ---------------------------------------------------------------------------------- */

static void a_renamed_log_file_is_made_anew(void **state)
{
    start(NULL);
    assert_int_equal(rename(log_path, renamed), 0);
    expect(c, "+OK", "CONFIG SET timeout 1001");
    poll_file(renamed, "timeout 1001");
    hang_up();
    poll_file(log_path, "SIGHUP: log file reopened");
    expect(c, "+OK", "CONFIG SET timeout 1002");
    poll_file(log_path, "timeout 1002");
    assert_int_equal(unlink(renamed), 0);
    expect(c, "+PONG", "PING");
}

static void a_log_file_that_cannot_be_opened_leaves_the_old_one(void **state)
{
    start(NULL);
    assert_int_equal(rename(log_path, renamed), 0);
    assert_int_equal(mkdir(log_path, 0700), 0);
    hang_up();
    poll_file(renamed, "SIGHUP: cannot open log file ");
    expect(c, "+OK", "CONFIG SET timeout 1001");
    poll_file(renamed, "timeout 1001");
    assert_int_equal(rmdir(log_path), 0);
    hang_up();
    poll_file(log_path, "SIGHUP: log file reopened");
}

/* The signal waits until the server can act on it. */
static void a_recovery_is_not_ended_by_sighup(void **state)
{
    const char *args[] = {"--durability", "never", NULL};
    start(args);
    for (int i = 0; i < 20000; i++) say(c, "KV.SET ['a',%d] 'a-value'", i);
    expect_many(c, 20000, "@");
    for (int i = 0; i < 3; i++) {
        group_disconnect();
        testserver_kill(server);
        pid_t child = fork();
        if (child == 0) {
            /* As soon as there is a server: it says its process id in its first line. */
            long until = testserver_now_ms() + LIMIT_MS;
            while (testserver_now_ms() < until) {
                int pid = 0;
                FILE *f = fopen(log_path, "r");
                char line[1024];
                while (f != NULL && fgets(line, sizeof line, f) != NULL) {
                    const char *at = strstr(line, "is starting, process ");
                    if (at != NULL) pid = atoi(at + strlen("is starting, process "));
                }
                if (f != NULL) fclose(f);
                if (pid != 0 && pid != testserver_pid(server) && kill(pid, SIGHUP) == 0) _exit(0);
            }
            _exit(1);
        }
        assert_true(child > 0);
        testserver_again(server);
        poll_log("SIGHUP: log file reopened");
        group_connect();
        expect(c, ":20000", "DBSIZE");
    }
}

#define TEST(f) cmocka_unit_test_teardown(f, group_stop)

static int open_connections(void **state)
{
    group_opens(&c, NULL);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(with_json_every_line_from_the_first_on_is_an_object),
        TEST(the_format_can_be_changed_at_any_time),
        TEST(a_renamed_log_file_is_made_anew),
        TEST(a_log_file_that_cannot_be_opened_leaves_the_old_one),
        TEST(a_recovery_is_not_ended_by_sighup),
    };
    return cmocka_run_group_tests(tests, open_connections, NULL);
}
