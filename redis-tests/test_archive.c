/* The archive: what the server puts into it, what it lets go, what it says when it cannot; and what
 * a restore says of files that are damaged or missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "archive_help.h"
#include "group.h"
#include "load_help.h"

#define LIMIT_MS 20000
#define HEADER_BYTES 64

static redisContext *c;

static void begin(void)
{
    server = archive_server("data", NULL);
    group_connect();
}

static size_t count_files(const char *ending)
{
    size_t count = 0;
    while (archive_file(ending, count) != NULL) count++;
    return count;
}

static void wait_for_info(const char *member, const char *wanted)
{
    long end = testserver_now_ms() + LIMIT_MS;
    while (strcmp(archive_info(c, member), wanted) != 0) {
        if (testserver_now_ms() > end) {
            fail_msg("%s is %s, not %s", member, archive_info(c, member), wanted);
        }
        testserver_pause();
    }
}

/* ---- what goes in ---------------------------------------------------------------------------- */

static void a_commit_is_in_the_archive_soon_and_after_a_stop_at_once(void **state)
{
    char last[24];
    begin();
    expect(c, "@", "KV.SET ['a'] 1");
    archive_settle(c);
    assert_int_equal(count_files(".log"), 1);
    assert_string_equal(archive_info(c, "status"), "ok");
    assert_string_equal(archive_info(c, "timeline"), "1");
    expect(c, "*archive_enabled:1*archive_status:ok*frozen:0*", "INFO persistence");
    assert_string_equal(archive_info(c, "bases"), "0"); /* it began with the archive: no need */
    snprintf(last, sizeof last, "%s", ask(c, "KV.SET ['a'] 2"));
    group_stop(NULL);
    assert_int_equal(archive_restore("r", "--progress"), 0);
    assert_string_equal(archive_said_of("version "), last);
    server = archive_open("r");
    group_connect();
    expect(c, "2", "KV.GET ['a']");
    expect(c, "-ERR no archive: archive-dir is not set", "KV.ARCHIVE INFO");
    expect(c, "-ERR no archive: archive-dir is not set", "KV.ARCHIVE BASE");
    group_stop(NULL);
}

static void an_archive_that_comes_later_begins_with_a_base(void **state)
{
    const char *args[] = {"--changes-retention-age", "0", "--changes-retention-size", "0", NULL};
    server = testserver_start(
        &(struct testserver_options){.dir = archive_at("data"), .args = args});
    group_connect();
    for (int i = 0; i < 300; i++) expect(c, "@", "KV.SET ['a',%d] %d", i, i);
    group_again(false);
    group_again(false); /* the journal's beginning is gone */
    group_stop(NULL);
    server = archive_server("data", "--changes-retention-age", "0", "--changes-retention-size", "0",
                            NULL);
    group_connect();
    expect(c, "@", "KV.SET ['b'] 1");
    archive_settle(c);
    wait_for_info("bases", "1");
    group_stop(NULL);
    assert_int_equal(archive_restore("r", "--progress"), 0);
    server = archive_open("r");
    group_connect();
    expect(c, ":300", "KV.COUNT PREFIX ['a']");
    expect(c, "1", "KV.GET ['b']");
    group_stop(NULL);
}

static void the_archive_of_another_database_is_refused(void **state)
{
    const char *args[] = {"--archive-dir", archive_at("archive"), NULL};
    begin();
    expect(c, "@", "KV.SET ['a'] 1");
    group_stop(NULL);
    testserver_refuses(&(struct testserver_options){.dir = archive_at("other"), .args = args},
                       "contains the archive of another database; use an empty directory");
    archive_flip(archive_at("archive/manifest"), 40);
    testserver_refuses(&(struct testserver_options){.dir = archive_at("data"), .args = args},
                       "manifest is damaged");
    assert_int_equal(archive_restore("r", "--progress"), 1);
    assert_non_null(strstr(archive_said, "manifest is damaged"));
}

static void what_cannot_be_archived_is_kept_and_goes_in_later(void **state)
{
    begin();
    expect(c, "@", "KV.SET ['a'] 1");
    archive_settle(c);
    assert_int_equal(rename(archive_at("archive"), archive_at("away")), 0);
    expect(c, "+OK", "CONFIG SET changes-retention-age 0 changes-retention-size 0");
    expect(c, "@", "KV.SET ['a'] 2");
    wait_for_info("status", "failing");
    assert_non_null(strstr(archive_info(c, "error"), "archive"));
    expect(c, "@", "KV.SET ['a'] 3");
    expect(c, "-ERR *archive/manifest is missing", "KV.ARCHIVE BASE");
    assert_int_equal(rename(archive_at("away"), archive_at("archive")), 0);
    group_stop(NULL); /* the end copies what is left */
    assert_int_equal(archive_restore("r", "--progress"), 0);
    server = archive_open("r");
    group_connect();
    expect(c, "3", "KV.GET ['a']");
    group_stop(NULL);
}

static void the_server_dies_again_and_again(void **state)
{
    static struct load_client clients[4];
    begin();
    load_seed();
    for (int i = 0; i < 20; i++) expect(c, "@", "KV.SET ['account',%d] 100", i);
    for (int round = 0; round < 6; round++) {
        for (size_t i = 0; i < 4; i++) load_open(&clients[i], server);
        long end = testserver_now_ms() + 300 + rand() % 900;
        if (round % 2 == 1) say(c, "KV.ARCHIVE BASE");
        if (round % 2 == 1) load_flush(c);
        while (testserver_now_ms() < end) {
            for (size_t i = 0; i < 4; i++) {
                if (clients[i].unanswered > 20) continue;
                load_say(&clients[i], "KV.ATOMIC SUM ['account',%d] -1 SUM ['account',%d] 1",
                         rand() % 20, rand() % 20);
            }
            load_turn(clients, 4, 1);
        }
        for (size_t i = 0; i < 4; i++) load_close(&clients[i]);
        group_again(true);
    }
    archive_settle(c);
    group_stop(NULL);
    assert_int_equal(archive_restore("r", "--progress"), 0);
    server = archive_open("r");
    group_connect();
    long long sum = 0;
    for (int i = 0; i < 20; i++) sum += atoll(ask(c, "KV.GET ['account',%d]", i));
    assert_int_equal(sum, 2000);
    group_stop(NULL);
}

/* ---- bases and what goes with age ------------------------------------------------------------ */

static void bases_go_with_age_and_their_segments_with_them(void **state)
{
    char versions[4][24];
    begin();
    expect(c, "+OK", "CONFIG SET archive-retention 1");
    expect(c, "+OK", "KV.DB LIMIT 3 KEEP 3");
    for (int i = 0; i < 4; i++) {
        snprintf(versions[i], 24, "%s", ask(c, "KV.SET ['a'] %d", i));
        archive_settle(c);
        expect(c, "@", "KV.ARCHIVE BASE");
    }
    assert_true(count_files(".db") >= 3);
    long end = testserver_now_ms() + 1200;
    while (testserver_now_ms() < end) testserver_pause();
    expect(c, "@", "KV.ARCHIVE BASE"); /* of the same version: in place of the last */
    assert_int_equal(count_files(".db"), 3);
    assert_int_equal(archive_restore("r0", "--version %s", versions[0]), 1);
    assert_non_null(strstr(archive_said, "does not reach back that far"));
    assert_int_equal(archive_restore("r2", "--version %s", versions[2]), 0);
    expect(c, "+OK", "KV.DB LIMIT 3 KEEP 0");
    expect(c, "@", "KV.SET ['a'] 4");
    end = testserver_now_ms() + 1200;
    while (testserver_now_ms() < end) testserver_pause();
    expect(c, "@", "KV.ARCHIVE BASE");
    assert_int_equal(count_files(".db"), 2); /* the newest before the limit stays */
    expect(c, "-ERR *backup-schedule must be times of the day *",
           "CONFIG SET backup-schedule 25:00");
    expect(c, "+OK", "CONFIG SET backup-schedule %s", "every 1d");
    wait_for_info("status", "ok");
    expect(c, "+OK", "CONFIG SET backup-schedule %s", "");
    group_stop(NULL);
}

static void a_database_can_be_left_out_of_bases(void **state)
{
    begin();
    expect(c, ":16", "KV.DB CREATE secret BACKUP no");
    expect(c, "-ERR syntax error: unexpected 'perhaps' (YES or NO expected)",
           "KV.DB LIMIT secret BACKUP perhaps");
    expect(c, "+OK", "SELECT secret");
    expect(c, "*", "KV.INDEX CREATE words PREFIX ['t'] TEXT 1 t");
    for (int i = 0; i < 50; i++) {
        expect(c, "@", "KV.SET ['t',%d] {'t':'unmistakeable%d'}", i, i);
    }
    expect(c, "+OK", "SELECT 0");
    expect(c, "@", "KV.SET ['kept'] 'conspicuous'");
    expect(c, "@", "KV.ARCHIVE BASE");
    expect(c, "+OK", "SELECT secret");
    expect(c, "@", "KV.SET ['t','late'] {'t':'later'}");
    expect(c, "+OK", "SELECT 0");
    expect(c, "@", "KV.SET ['after'] 1");
    const char *base = archive_file(".db", 0);
    assert_true(archive_has_bytes(base, "conspicuous"));
    assert_false(archive_has_bytes(base, "unmistakeable"));
    assert_false(archive_has_bytes(base, "nmistakeable7"));
    group_stop(NULL);
    assert_int_equal(archive_restore("r", "--progress"), 0);
    server = archive_open("r");
    group_connect();
    expect(c, "'conspicuous'", "KV.GET ['kept']");
    expect(c, "1", "KV.GET ['after']");
    expect(c, "+OK", "SELECT secret");
    expect(c, ":0", "KV.COUNT");
    expect(c, "@", "KV.SET ['t',1] {'t':'new'}");
    group_stop(NULL);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* A segment for each of the versions. */
static void write_segments(char versions[][24], int count)
{
    for (int i = 0; i < count; i++) {
        snprintf(versions[i], 24, "%s", ask(c, "KV.SET ['a'] %d", i));
        archive_settle(c);
    }
}

/* Refused, the file named, nothing there; up to what it says all can be had. */
static void expect_damage(const char *file, const char *why, const char *up_to)
{
    static int times;
    char to[20];
    char name[300];
    snprintf(name, sizeof name, "%s", strrchr(file, '/') + 1);
    snprintf(to, sizeof to, "d%d", times++);
    assert_int_equal(archive_restore(to, "--progress"), 1);
    if (strstr(archive_said, name) == NULL || strstr(archive_said, why) == NULL ||
        (up_to != NULL && strstr(archive_said, up_to) == NULL)) {
        fail_msg("%s, %s, %s: %s", name, why, up_to, archive_said);
    }
    assert_int_not_equal(access(archive_at(to), F_OK), 0);
    if (up_to == NULL) return;
    assert_int_equal(archive_restore(to, "--version %s", up_to), 0);
    assert_string_equal(archive_said_of("version "), up_to);
}

static void damage_of_a_file_is_named_and_nothing_is_restored(void **state)
{
    char versions[4][24];
    char path[400];
    char away[420];
    begin();
    write_segments(versions, 4);
    group_stop(NULL);
    snprintf(path, sizeof path, "%s", archive_file(".log", 2));
    snprintf(away, sizeof away, "%s.away", path);
    assert_int_equal(rename(path, away), 0);
    expect_damage(path, "missing", versions[1]);
    assert_int_equal(rename(away, path), 0);
    archive_flip(path, HEADER_BYTES + 70); /* the transaction */
    expect_damage(path, "damaged at offset ", versions[1]);
    archive_flip(path, HEADER_BYTES + 70);
    archive_flip(path, 20); /* the header */
    expect_damage(path, "damaged", versions[1]);
    archive_flip(path, 20);
    assert_int_equal(truncate(path, HEADER_BYTES + 20), 0);
    expect_damage(path, "damaged at offset ", versions[1]);
    assert_int_equal(truncate(path, 10), 0);
    expect_damage(path, "no header", versions[1]);
    assert_int_equal(archive_restore("late", "--version 000000000000ffff0000"), 1);
    assert_non_null(strstr(archive_said, ", before 000000000000ffff0000"));
}

static void a_damaged_base_is_named(void **state)
{
    char versions[2][24];
    begin();
    write_segments(versions, 2);
    expect(c, "@", "KV.ARCHIVE BASE");
    group_stop(NULL);
    char path[400];
    snprintf(path, sizeof path, "%s", archive_file(".db", 0));
    archive_flip(path, 5000);
    expect_damage(path, "checksum mismatch", NULL);
    archive_flip(path, 5000);
    assert_int_equal(truncate(path, 8192), 0);
    expect_damage(path, "is damaged", NULL);
    assert_int_equal(unlink(path), 0);
    expect_damage(path, "missing", NULL);
    /* What comes before it needs it not. */
    assert_int_equal(archive_restore("r", "--version %s", versions[0]), 0);
}

static void a_directory_that_is_not_empty_is_refused(void **state)
{
    begin();
    expect(c, "@", "KV.SET ['a'] 1");
    group_stop(NULL);
    assert_int_equal(archive_restore("data", "--progress"), 1);
    assert_non_null(strstr(archive_said, "is not empty"));
    assert_int_equal(archive_restore("r", "--version 12"), 2);
    assert_int_equal(archive_restore("r", "--timeline 7"), 1);
    assert_non_null(strstr(archive_said, "has no timeline 7"));
    assert_int_equal(rename(archive_at("archive"), archive_at("away")), 0);
    assert_int_equal(archive_restore("r", "--progress"), 1);
    assert_non_null(strstr(archive_said, "is not an archive"));
}

static int start(void **state)
{
    group_opens(&c, NULL);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, archive_enter, archive_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_commit_is_in_the_archive_soon_and_after_a_stop_at_once),
        TEST(an_archive_that_comes_later_begins_with_a_base),
        TEST(the_archive_of_another_database_is_refused),
        TEST(what_cannot_be_archived_is_kept_and_goes_in_later),
        TEST(the_server_dies_again_and_again),
        TEST(bases_go_with_age_and_their_segments_with_them),
        TEST(a_database_can_be_left_out_of_bases),
        TEST(damage_of_a_file_is_named_and_nothing_is_restored),
        TEST(a_damaged_base_is_named),
        TEST(a_directory_that_is_not_empty_is_refused),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
