/* BGSAVE, SAVE, LASTSAVE: a file with everything as of one moment, made while the server works; a
 * server that starts with it. */
#include <dirent.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "load_help.h"

#define LIMIT_MS 15000
#define ACCOUNTS 200
#define START_AMOUNT 1000
#define MOVERS 6
#define RESTORED_STEP (1ull << 40)

static redisContext *c;
static char backups[400]; /* the directory */
static char restored[400];

static int forget_one(const char *path, const struct stat *st, int type, struct FTW *w)
{
    return remove(path);
}

static int enter(void **state)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(restored, sizeof restored, "%.200s/tupled-restored-XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(restored) == NULL) return 1;
    server = testserver_start(NULL);
    snprintf(backups, sizeof backups, "%s/backups", testserver_dir(server));
    group_connect();
    return 0;
}

static int leave(void **state)
{
    group_stop(state);
    nftw(restored, forget_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}

/* How many files with this ending the directory has; the name of the last one. */
static size_t files(const char *dir, const char *ending, char *name, size_t len)
{
    size_t count = 0;
    DIR *d = opendir(dir);
    if (d == NULL) return 0;
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        size_t n = strlen(e->d_name);
        if (n < strlen(ending) || strcmp(e->d_name + n - strlen(ending), ending) != 0) continue;
        if (e->d_name[0] == '.') continue;
        if (name != NULL) snprintf(name, len, "%s/%s", dir, e->d_name);
        count++;
    }
    closedir(d);
    return count;
}

static void copy(const char *from, const char *to)
{
    static char bytes[1 << 16];
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t n = fread(bytes, 1, sizeof bytes, in); n > 0;
         n = fread(bytes, 1, sizeof bytes, in)) {
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    }
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

static const char *info_text(redisContext *by, const char *field)
{
    static char value[100];
    char start[64];
    redisReply *r = ask_reply(by, "INFO persistence");
    snprintf(start, sizeof start, "\n%s:", field);
    const char *at = strstr(r->str, start);
    if (at == NULL) fail_msg("INFO has no field %s", field);
    at += strlen(start);
    snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\r"), at);
    freeReplyObject(r);
    return value;
}

static void wait_until_saved(redisContext *by)
{
    load_wait_info(by, "rdb_bgsave_in_progress", 0);
}

/* A server on a new directory with nothing but a copy of the file. */
static struct testserver *restore(const char *file)
{
    char path[420];
    snprintf(path, sizeof path, "%s/tupled.db", restored);
    copy(file, path);
    return testserver_start(&(struct testserver_options){.dir = restored});
}

static uint64_t version_of(redisContext *by, const char *command)
{
    redisReply *r = ask_reply(by, command);
    uint64_t version = load_version(r);
    freeReplyObject(r);
    return version;
}

/* ---- replies --------------------------------------------------------------------------------- */

static void bgsave_and_save_make_a_file_named_by_its_version(void **state)
{
    char name[600];
    char wanted[600];
    assert_int_equal(load_info(c, "rdb_saves"), 0);
    assert_int_equal(load_info(c, "rdb_last_bgsave_time_sec"), -1);
    assert_string_equal(info_text(c, "rdb_last_bgsave_status"), "ok");
    const char *stamp = ask(c, "KV.SET ['a'] 1");
    assert_true(load_info(c, "rdb_changes_since_last_save") > 0);
    long long before = ask_integer(c, "LASTSAVE");
    assert_true(before <= (long long)time(NULL));
    expect(c, "+Background saving started", "BGSAVE");
    wait_until_saved(c);
    assert_int_equal(files(backups, ".db", name, sizeof name), 1);
    snprintf(wanted, sizeof wanted, "%s/tupled-%s.db", backups, stamp);
    assert_string_equal(name, wanted);
    assert_int_equal(files(backups, "", NULL, 0), 1); /* nothing beside it */
    assert_int_equal(load_info(c, "rdb_saves"), 1);
    assert_int_equal(load_info(c, "rdb_changes_since_last_save"), 0);
    assert_true(load_info(c, "rdb_last_bgsave_time_sec") >= 0);
    assert_int_equal(load_info(c, "rdb_current_bgsave_time_sec"), -1);
    assert_true(ask_integer(c, "LASTSAVE") >= before);
    assert_int_equal(load_info(c, "rdb_last_save_time"), ask_integer(c, "LASTSAVE"));
    assert_true(testserver_has_logged(server, ", up to version"));
    expect(c, "@", "KV.SET ['b'] 1");
    expect(c, "+OK", "SAVE");
    assert_int_equal(files(backups, ".db", NULL, 0), 2);
    expect(c, "+OK", "SAVE"); /* the same version again: the file is replaced */
    assert_int_equal(files(backups, ".db", NULL, 0), 2);
    expect(c, "+Background saving started", "BGSAVE SCHEDULE");
    wait_until_saved(c);
    expect(c, "-ERR syntax error", "BGSAVE now");
    assert_int_equal(load_info(c, "rdb_saves"), 4);
}

static void an_empty_database_can_be_saved(void **state)
{
    char name[600];
    expect(c, "+OK", "SAVE");
    assert_int_equal(files(backups, ".db", name, sizeof name), 1);
    struct testserver *second = restore(name);
    redisContext *d = testserver_connect(second);
    expect(d, ":0", "DBSIZE");
    expect(d, "@", "KV.SET ['a'] 1");
    expect(d, ":1", "DBSIZE");
    redisFree(d);
    testserver_free(second);
}

static void fill_large(void)
{
    static char value[8192];
    memset(value, 'v', sizeof value);
    for (int i = 0; i < 2500; i++) {
        say(c, "SET large%d %b", i, value, sizeof value);
        if (i % 500 == 499) expect_many(c, 500, "+OK");
    }
}

static void a_second_backup_at_once_is_refused(void **state)
{
    fill_large();
    redisContext *d = testserver_connect(server);
    say(c, "SAVE");
    load_flush(c);
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(d, "rdb_bgsave_in_progress") == 0 && load_info(d, "rdb_saves") == 0) {
        if (testserver_now_ms() > until) fail_msg("the backup does not begin");
    }
    if (load_info(d, "rdb_saves") == 0) {
        assert_true(load_info(d, "rdb_current_bgsave_time_sec") >= 0);
        const char *got = ask(d, "BGSAVE");
        const char *again = ask(d, "SAVE");
        /* Unless it has just ended. */
        if (load_info(d, "rdb_saves") == 0) {
            assert_string_equal(got, "-ERR Background save already in progress");
            assert_string_equal(again, "-ERR Background save already in progress");
        }
    }
    expect(d, "@", "KV.SET ['served'] 1"); /* meanwhile */
    expect_next(c, "+OK");
    redisFree(d);
}

static void whoever_saves_may_go_away(void **state)
{
    fill_large();
    redisContext *d = testserver_connect(server);
    say(d, "SAVE");
    load_flush(d);
    long until = testserver_now_ms() + LIMIT_MS;
    while (load_info(c, "rdb_bgsave_in_progress") == 0 && load_info(c, "rdb_saves") == 0) {
        if (testserver_now_ms() > until) fail_msg("the backup does not begin");
    }
    redisFree(d);
    wait_until_saved(c);
    assert_int_equal(load_info(c, "rdb_saves"), 1);
    expect(c, "+OK", "SAVE");
}

static void a_stop_in_the_middle_leaves_no_part(void **state)
{
    fill_large();
    expect(c, "+Background saving started", "BGSAVE");
    testserver_stop(server);
    assert_int_equal(files(backups, ".part", NULL, 0), 0);
    assert_int_equal(files(backups, "-journal", NULL, 0), 0);
    assert_int_equal(files(backups, "-wal", NULL, 0), 0);
    testserver_again(server);
    redisFree(c);
    c = testserver_connect(server);
    expect(c, "+OK", "SAVE");
    assert_int_equal(files(backups, ".part", NULL, 0), 0);
}

static void a_kill_in_the_middle_does_not_stop_the_next(void **state)
{
    fill_large();
    expect(c, "+Background saving started", "BGSAVE");
    group_again(true);
    expect(c, ":2500", "KV.COUNT");
    expect(c, "+OK", "SAVE");
    assert_int_equal(files(backups, ".part", NULL, 0), 0);
}

static void a_backup_that_fails_says_why_and_keeps_the_old_file(void **state)
{
    char name[600];
    char part[620];
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, "+OK", "SAVE");
    assert_int_equal(files(backups, ".db", name, sizeof name), 1);
    struct stat before;
    struct stat after;
    assert_int_equal(stat(name, &before), 0);
    long long saved = ask_integer(c, "LASTSAVE");
    /* Where the file is written there is a directory, which cannot be removed as a file. */
    snprintf(part, sizeof part, "%s.part", name);
    assert_int_equal(mkdir(part, 0700), 0);
    expect(c, "-ERR backup failed: *", "SAVE");
    expect(c, "+Background saving started", "BGSAVE");
    wait_until_saved(c);
    assert_string_equal(info_text(c, "rdb_last_bgsave_status"), "err");
    assert_int_equal(ask_integer(c, "LASTSAVE"), saved);
    assert_int_equal(load_info(c, "rdb_saves"), 1);
    assert_true(testserver_has_logged(server, " failed: "));
    assert_int_equal(stat(name, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(after.st_size, before.st_size);
    rmdir(part);
    expect(c, "+OK", "SAVE");
    assert_string_equal(info_text(c, "rdb_last_bgsave_status"), "ok");
}

static void a_directory_that_cannot_be_made_is_told(void **state)
{
    char file[420];
    snprintf(file, sizeof file, "%s/no-directory", restored);
    fclose(fopen(file, "w"));
    const char *const args[] = {"--backup-dir", file, NULL};
    struct testserver *other = testserver_start(&(struct testserver_options){.args = args});
    redisContext *d = testserver_connect(other);
    expect(d, "@", "KV.SET ['a'] 1");
    expect(d, "-ERR backup failed: *no-directory*", "SAVE");
    assert_string_equal(info_text(d, "rdb_last_bgsave_status"), "err");
    expect(d, "1", "KV.GET ['a']");
    redisFree(d);
    testserver_free(other);
}

/* ---- what is in it --------------------------------------------------------------------------- */

struct mover {
    size_t moved;
};

static void on_moved(struct load_client *l, const redisReply *r)
{
    struct mover *m = l->arg;
    if (r->type != REDIS_REPLY_STRING) fail_msg("a move was refused: %s", r->str);
    m->moved++;
}

static void move_one(struct load_client *l)
{
    int from = (int)load_below(ACCOUNTS);
    int to = (int)load_below(ACCOUNTS);
    int amount = (int)load_below(50) + 1;
    load_say(l, "KV.ATOMIC SUM ['acc',%d] -%d SUM ['acc',%d] %d SUM ['moves'] 1", from, amount, to,
             amount);
}

static long long sum_of_accounts(redisContext *by)
{
    long long total = 0;
    redisReply *r = ask_reply(by, "KV.LIST PREFIX ['acc'] LIMIT 1000");
    assert_int_equal(r->element[1]->elements, ACCOUNTS);
    for (size_t i = 0; i < ACCOUNTS; i++)
        total += atoll(r->element[1]->element[i]->element[1]->str);
    freeReplyObject(r);
    return total;
}

static size_t moved_by(const struct mover *movers)
{
    size_t moved = 0;
    for (size_t i = 0; i < MOVERS; i++) moved += movers[i].moved;
    return moved;
}

static void a_backup_under_load_is_one_moment(void **state)
{
    struct load_client movers[MOVERS] = {0};
    struct mover mine[MOVERS] = {0};
    char name[600];
    load_seed();
    for (int i = 0; i < ACCOUNTS; i++) say(c, "KV.SET ['acc',%d] %d", i, START_AMOUNT);
    expect_many(c, ACCOUNTS, "@");
    const char *first = ask(c, "KV.SUM ['idem'] 5 IDEM before");
    expect(c, "+OK", "SELECT 3");
    expect(c, "@", "KV.SET ['third'] 'db' EX 100000");
    for (size_t i = 0; i < MOVERS; i++) {
        movers[i] = (struct load_client){.number = i, .arg = &mine[i], .on_reply = on_moved};
        load_open(&movers[i], server);
    }
    bool has_begun = false;
    for (int i = 0; i < 400 || !has_begun; i++) {
        for (size_t k = 0; k < MOVERS && i < 400; k++) move_one(&movers[k]);
        load_turn(movers, MOVERS, 5);
        if (i < 200 || has_begun || moved_by(mine) == 0) continue;
        expect(c, "+Background saving started", "BGSAVE");
        has_begun = true;
    }
    load_drain(movers, MOVERS, LIMIT_MS);
    wait_until_saved(c);
    size_t moved = moved_by(mine);
    for (size_t i = 0; i < MOVERS; i++) load_close(&movers[i]);
    assert_int_equal(files(backups, ".db", name, sizeof name), 1);
    uint64_t newest = version_of(c, "KV.VERSION");

    struct testserver *second = restore(name);
    redisContext *d = testserver_connect(second);
    assert_true(testserver_has_logged(second, "restored from a backup"));
    assert_int_equal(sum_of_accounts(d), ACCOUNTS * START_AMOUNT);
    long long moves = atoll(ask(d, "KV.GET ['moves']"));
    assert_true(moves > 0 && moves <= (long long)moved);
    /* All writes up to one version and none after it: 1 for the id, 1 for the other database. */
    redisReply *r = ask_reply(d, "KV.GET ['moves'] WITHVERSION");
    uint64_t at = load_version(r->element[1]);
    freeReplyObject(r);
    assert_true(at <= newest);
    assert_true(strstr(name, "/tupled-") != NULL);
    assert_string_equal(ask(d, "KV.SUM ['idem'] 5 IDEM before"), first);
    expect(d, "-ERR IDEM 'before' was used*", "KV.SUM ['idem'] 6 IDEM before");
    expect(d, "5", "KV.GET ['idem']");
    uint64_t version = version_of(d, "KV.SET ['new'] 1");
    assert_true(version > at + RESTORED_STEP - 1 && version > newest);
    assert_true(version_of(d, "KV.SET ['new'] 2") > version);
    version = version_of(d, "KV.VERSION");
    expect(d, "+OK", "SELECT 3");
    expect(d, "'db'", "KV.GET ['third']");
    assert_true(ask_integer(d, "KV.TTL ['third']") > 90000);
    redisFree(d);
    /* Not once more: the second start is no restore. */
    testserver_kill(second);
    testserver_again(second);
    d = testserver_connect(second);
    uint64_t later = version_of(d, "KV.SET ['new'] 3");
    assert_true(later > version && later < version + RESTORED_STEP);
    assert_int_equal(sum_of_accounts(d), ACCOUNTS * START_AMOUNT);
    redisFree(d);
    testserver_free(second);
}

static void flushed_and_deleted_data_is_not_in_it(void **state)
{
    char name[600];
    expect(c, "@", "KV.ATOMIC SET ['a'] 1 SET ['b'] 1");
    expect(c, "+OK", "SAVE");
    expect(c, ":1", "KV.DEL ['a']");
    expect(c, "+OK", "SELECT 1");
    expect(c, "@", "KV.SET ['c'] 1");
    expect(c, "+OK", "FLUSHDB");
    expect(c, "@", "KV.SET ['d'] 1");
    expect(c, "+OK", "SAVE");
    assert_int_equal(files(backups, ".db", NULL, 0), 2);
    snprintf(name, sizeof name, "%s/tupled-%s.db", backups, ask(c, "KV.VERSION"));
    struct testserver *second = restore(name);
    redisContext *d = testserver_connect(second);
    expect(d, "[0 [['b']]]", "KV.LIST KEYSONLY");
    expect(d, ":1", "DBSIZE");
    expect(d, "+OK", "SELECT 1");
    expect(d, "[0 [['d']]]", "KV.LIST KEYSONLY");
    expect(d, ":1", "DBSIZE");
    redisFree(d);
    testserver_free(second);
}

static void a_backup_beside_an_old_journal_is_refused(void **state)
{
    char name[600];
    char path[600];
    expect(c, "@", "KV.SET ['a'] 1");
    expect(c, "+OK", "SAVE");
    assert_int_equal(files(backups, ".db", name, sizeof name), 1);
    expect(c, "@", "KV.SET ['a'] 2");
    testserver_stop(server);
    snprintf(path, sizeof path, "%s/tupled.db", testserver_dir(server));
    if (access(path, F_OK) != 0)
        skip(); /* with PostgreSQL there is no journal that it could meet */
    char kept[620];
    snprintf(kept, sizeof kept, "%s.kept", path);
    assert_int_equal(rename(path, kept), 0);
    copy(name, path);
    testserver_refuses(&(struct testserver_options){.dir = testserver_dir(server)}, "another");
    assert_int_equal(rename(kept, path), 0);
    testserver_again(server);
    redisFree(c);
    c = testserver_connect(server);
    expect(c, "2", "KV.GET ['a']");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(bgsave_and_save_make_a_file_named_by_its_version),
        TEST(an_empty_database_can_be_saved),
        TEST(a_second_backup_at_once_is_refused),
        TEST(whoever_saves_may_go_away),
        TEST(a_stop_in_the_middle_leaves_no_part),
        TEST(a_kill_in_the_middle_does_not_stop_the_next),
        TEST(a_backup_that_fails_says_why_and_keeps_the_old_file),
        TEST(a_directory_that_cannot_be_made_is_told),
        TEST(a_backup_under_load_is_one_moment),
        TEST(flushed_and_deleted_data_is_not_in_it),
        TEST(a_backup_beside_an_old_journal_is_refused),
    };
    group_opens(&c, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
