/* A full disk: writes are refused, reads go on, nothing acknowledged is lost, and when there is
 * space again writing works again by itself. The disk is a small tmpfs, mounted in a mount
 * namespace of this program alone: it goes when the program does, however it ends. Without the
 * right to do that the tests are skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "http.h"
#include "load_help.h"

#define DISK "size=64m"
#define BALLAST_BYTES (38 << 20)
#define VALUE_BYTES 700
#define KEYS_MAX 100000
#define RESUME_MS 8000 /* within which writing must work again */
#define LIMIT_MS 30000

static char scratch[300]; /* directory; the mount point is in it */
static char mount_point[320];
static bool has_namespace;

static int start(void **state)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%.200s/tupled-disk-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(scratch) == NULL) return 1;
    snprintf(mount_point, sizeof mount_point, "%s/disk", scratch);
    if (mkdir(mount_point, 0700) != 0) return 1;
    has_namespace = unshare(CLONE_NEWNS) == 0 &&
                    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    return 0;
}

static int stop(void **state)
{
    rmdir(mount_point);
    rmdir(scratch);
    return 0;
}

static int enter(void **state)
{
    if (!has_namespace) return 0;
    if (mount("tupled-test", mount_point, "tmpfs", 0, DISK) != 0) has_namespace = false;
    return 0;
}

static int leave(void **state)
{
    if (has_namespace) umount2(mount_point, MNT_DETACH);
    return 0;
}

static void ballast_put(size_t bytes)
{
    char path[400];
    static char zeros[1 << 16];
    snprintf(path, sizeof path, "%s/ballast", mount_point);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    for (size_t n = 0; n < bytes; n += sizeof zeros) {
        assert_int_equal(write(fd, zeros, sizeof zeros), sizeof zeros);
    }
    close(fd);
}

static void ballast_remove(void)
{
    char path[400];
    snprintf(path, sizeof path, "%s/ballast", mount_point);
    assert_int_equal(unlink(path), 0);
}

/* What was acknowledged: how often key i was written is not needed, each is written once. */
struct written {
    int next; /* key to be written */
    bool is_there[KEYS_MAX];
};

static const char *value_of(int key)
{
    static char text[VALUE_BYTES + 40];
    int len = snprintf(text, sizeof text, "\"%d:", key);
    memset(text + len, 'v', VALUE_BYTES);
    text[len + VALUE_BYTES] = '"';
    text[len + VALUE_BYTES + 1] = '\0';
    return text;
}

/* Writes the next key; true when it was acknowledged, false when the disk is full. */
static bool write_one(redisContext *c, struct written *w)
{
    assert_true(w->next < KEYS_MAX);
    int key = w->next++;
    const char *got = ask(c, "KV.SET ['k',%d] %s", key, value_of(key));
    w->is_there[key] = text_fits(got, "@");
    if (!w->is_there[key] && strncmp(got, "-ERR disk full", 14) != 0) fail_msg("%.200s", got);
    return w->is_there[key];
}

static void write_until_full(redisContext *c, struct written *w)
{
    long until = testserver_now_ms() + LIMIT_MS;
    int refused = 0;
    /* A refusal may be followed by a success: the store frees journal segments as it applies. */
    while (refused < 50) {
        refused = write_one(c, w) ? 0 : refused + 1;
        if (testserver_now_ms() > until) fail_msg("the disk does not become full");
    }
}

static void write_again(redisContext *c, struct written *w)
{
    long until = testserver_now_ms() + RESUME_MS;
    while (!write_one(c, w)) {
        if (testserver_now_ms() > until) {
            fail_msg("no write within %d ms of there being space again", RESUME_MS);
        }
        testserver_pause();
    }
}

/* Space for one more may become free as the store applies: the disk is full again soon after. */
static void expect_refused(redisContext *c)
{
    long until = testserver_now_ms() + LIMIT_MS;
    const char *got;
    while (text_fits(got = ask(c, "KV.ATOMIC SET ['x'] 1"), "@")) {
        if (testserver_now_ms() > until) fail_msg("the disk does not become full");
    }
    if (!text_fits(got, "-ERR disk full*")) fail_msg("%.200s", got);
}

/* Every acknowledged write is there, and nothing that was refused. */
static void expect_all(redisContext *c, const struct written *w)
{
    int count = 0;
    for (int i = 0; i < w->next; i++) {
        count += w->is_there[i];
        if (i % 7 != 0 && w->is_there[i] && i < w->next - 500) continue; /* by sample, but ... */
        redisReply *r = ask_reply(c, "KV.GET ['k',%d]", i);
        bool is_there = r->type == REDIS_REPLY_STRING && strcmp(r->str, value_of(i)) == 0;
        if (is_there != w->is_there[i] || (!is_there && r->type != REDIS_REPLY_NIL)) {
            fail_msg("key %d was %s, but is: type %d", i,
                     w->is_there[i] ? "acknowledged" : "refused", r->type);
        }
        freeReplyObject(r);
    }
    assert_int_equal(ask_integer(c, "KV.COUNT PREFIX ['k']"), count); /* ... all are counted */
}

/* /readyz says so, now or soon: space for one more may become free as the store applies. */
static void expect_ready(const struct testserver *s, int status, const char *wanted)
{
    long until = testserver_now_ms() + LIMIT_MS;
    struct http_conn *c = http_open(s);
    for (bool is_so = false; !is_so;) {
        http_ask(c, "GET /readyz?verbose", NULL, NULL);
        struct http_answer *a = http_next(c);
        is_so = a->status == status && text_fits(a->body, wanted);
        if (testserver_now_ms() > until) fail_msg("not %s but %s", wanted, a->body);
        http_free(a);
    }
    http_close(c);
}

static struct testserver *start_on_disk(const char *retention)
{
    char *dir = NULL;
    const char *args[] = {"--journal-segment-size",
                          "4mb",
                          "--memtable-size",
                          "1mb",
                          "--changes-retention-size",
                          retention,
                          "--write-buffer-limit",
                          "8mb",
                          NULL};
    if (asprintf(&dir, "%s/data", mount_point) < 0) abort();
    struct testserver *s = testserver_start(&(struct testserver_options){
        .is_release = true, .has_http = true, .dir = dir, .args = args});
    free(dir);
    return s;
}

static void full_and_again(const char *retention, const char *why)
{
    static struct written w;
    if (!has_namespace) skip();
    w = (struct written){0};
    ballast_put(BALLAST_BYTES);
    struct testserver *s = start_on_disk(retention);
    redisContext *c = testserver_connect(s);
    expect_ready(s, 200, "{\"status\":\"ok\"}\n");
    write_until_full(c, &w);
    fprintf(stderr, "# full after %d keys\n", w.next);
    assert_true(w.next > 1000);
    expect_all(c, &w); /* reads go on */
    expect(c, "+PONG", "PING");
    expect_refused(c);
    expect_ready(s, 503, why);
    ballast_remove();
    write_again(c, &w);
    expect_ready(s, 200, "{\"status\":\"ok\"}\n");
    for (int i = 0; i < 500; i++) assert_true(write_one(c, &w));
    redisFree(c);
    testserver_kill(s);
    testserver_again(s);
    c = testserver_connect(s);
    expect_all(c, &w);
    write_again(c, &w);
    redisFree(c);
    testserver_stop(s);
    testserver_again(s);
    c = testserver_connect(s);
    expect_all(c, &w);
    redisFree(c);
    testserver_free(s);
}

static void writing_resumes_when_the_kept_journal_had_filled_the_disk(void **state)
{
    full_and_again("1gb", "*\"why\":\"the disk is full: *");
}

static void writing_resumes_when_the_data_had_filled_the_disk(void **state)
{
    full_and_again("4mb", "*\"why\":\"the disk is full: writes cannot be applied\"*");
}

/* The server is killed while the disk is full, and started when there is space again. */
static void a_kill_on_a_full_disk_loses_nothing(void **state)
{
    static struct written w;
    if (!has_namespace) skip();
    w = (struct written){0};
    ballast_put(BALLAST_BYTES);
    struct testserver *s = start_on_disk("4mb");
    redisContext *c = testserver_connect(s);
    write_until_full(c, &w);
    redisFree(c);
    testserver_kill(s);
    ballast_remove();
    testserver_again(s);
    c = testserver_connect(s);
    expect_all(c, &w);
    write_again(c, &w);
    redisFree(c);
    testserver_free(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(writing_resumes_when_the_kept_journal_had_filled_the_disk),
        TEST(writing_resumes_when_the_data_had_filled_the_disk),
        TEST(a_kill_on_a_full_disk_loses_nothing),
    };
    load_use_disk();
    return cmocka_run_group_tests(tests, start, stop);
}
