#include "archive_help.h"

#include <dirent.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMIT_MS 20000
#define ARGS_MAX 16
#define FILES_MAX 200
#define PATH_BYTES 400

char archive_root[300];
char archive_said[4096];

static int forget_one(const char *path, const struct stat *st, int type, struct FTW *w)
{
    return remove(path);
}

int archive_enter(void **state)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(archive_root, sizeof archive_root, "%.200s/tupled-archive-XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    return mkdtemp(archive_root) == NULL;
}

int archive_leave(void **state)
{
    nftw(archive_root, forget_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}

const char *archive_at(const char *name)
{
    static char paths[16][PATH_BYTES];
    static size_t next;
    char *path = paths[next++ % 16];
    snprintf(path, PATH_BYTES, "%s/%s", archive_root, name);
    return path;
}

struct testserver *archive_server(const char *data, ...)
{
    const char *args[ARGS_MAX] = {"--archive-dir", archive_at("archive"), "--archive-interval",
                                  "1"};
    size_t count = 4;
    va_list more;
    va_start(more, data);
    for (const char *a = va_arg(more, const char *); a != NULL; a = va_arg(more, const char *)) {
        assert_true(count < ARGS_MAX - 1);
        args[count++] = a;
    }
    va_end(more);
    args[count] = NULL;
    return testserver_start(&(struct testserver_options){.dir = archive_at(data), .args = args});
}

struct testserver *archive_open(const char *data)
{
    return testserver_start(&(struct testserver_options){.dir = archive_at(data)});
}

const char *archive_info(redisContext *c, const char *member)
{
    static char values[16][300];
    static size_t next;
    char *value = values[next++ % 16];
    redisReply *r = ask_reply(c, "KV.ARCHIVE INFO");
    value[0] = '\0';
    for (size_t i = 0; i + 1 < r->elements; i += 2) {
        const redisReply *v = r->element[i + 1];
        if (strcmp(r->element[i]->str, member) != 0) continue;
        if (v->type == REDIS_REPLY_INTEGER) snprintf(value, 300, "%lld", v->integer);
        if (v->type == REDIS_REPLY_STRING) snprintf(value, 300, "%s", v->str);
    }
    freeReplyObject(r);
    return value;
}

void archive_settle(redisContext *c)
{
    const char *wanted = ask(c, "KV.VERSION");
    long end = testserver_now_ms() + LIMIT_MS;
    while (strcmp(archive_info(c, "version"), wanted) < 0) {
        if (testserver_now_ms() > end) {
            fail_msg("the archive has %s, not %s: %s", archive_info(c, "version"), wanted,
                     archive_info(c, "error"));
        }
        testserver_pause();
    }
}

int archive_restore(const char *to, const char *format, ...)
{
    char words[300];
    char line[2000];
    char tool[500];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    snprintf(tool, sizeof tool, "%s", getenv("TUPLED_BIN"));
    char *slash = strrchr(tool, '/');
    if (slash == NULL) fail_msg("TUPLED_BIN is no path");
    *slash = '\0';
    snprintf(line, sizeof line, "'%s/tupledctl' restore --from '%s' --to '%s' %s 2>&1", tool,
             archive_at("archive"), archive_at(to), words);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    size_t n = fread(archive_said, 1, sizeof archive_said - 1, f);
    archive_said[n] = '\0';
    int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *archive_said_of(const char *name)
{
    static char values[16][100];
    static size_t next;
    char *value = values[next++ % 16];
    const char *at = strstr(archive_said, name);
    if (at == NULL) fail_msg("tupledctl said nothing of %s: %s", name, archive_said);
    at += strlen(name);
    at += strspn(at, " ");
    snprintf(value, 100, "%.*s", (int)strcspn(at, "\n"), at);
    return value;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

const char *archive_file(const char *ending, size_t n)
{
    char *names[FILES_MAX];
    char found[300] = "";
    size_t count = 0;
    DIR *d = opendir(archive_at("archive"));
    if (d == NULL) return NULL;
    for (struct dirent *e = readdir(d); e != NULL && count < FILES_MAX; e = readdir(d)) {
        size_t len = strlen(e->d_name);
        if (len < strlen(ending) || strcmp(e->d_name + len - strlen(ending), ending) != 0) continue;
        names[count++] = strdup(e->d_name);
    }
    closedir(d);
    if (count > 0) qsort(names, count, sizeof names[0], by_name);
    if (n < count) snprintf(found, sizeof found, "archive/%s", names[n]);
    for (size_t i = 0; i < count; i++) free(names[i]);
    return found[0] != '\0' ? archive_at(found) : NULL;
}

void archive_flip(const char *path, long offset)
{
    FILE *f = fopen(path, "r+b");
    if (f == NULL) fail_msg("no file %s", path);
    fseek(f, offset, SEEK_SET);
    int byte = fgetc(f);
    if (byte == EOF) fail_msg("%s ends before %ld", path, offset);
    fseek(f, offset, SEEK_SET);
    fputc(byte ^ 0x20, f);
    assert_int_equal(fclose(f), 0);
}

bool archive_has_bytes(const char *path, const char *text)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) fail_msg("no file %s", path);
    size_t len = strlen(text);
    size_t at = 0;
    for (int byte = fgetc(f); byte != EOF && at < len; byte = fgetc(f)) {
        at = byte == text[at] ? at + 1 : byte == text[0];
    }
    fclose(f);
    return at == len;
}
