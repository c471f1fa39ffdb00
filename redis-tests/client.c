#include "client.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define KEPT_MAX 64
#define SHOWN_BYTES 600
#define RAW_WAIT_MS 10000
#define TIME_LEFT_SECONDS 60

/* ---- texts ----------------------------------------------------------------------------------- */

static char *kept[KEPT_MAX];

static void drop_kept(void)
{
    for (size_t i = 0; i < KEPT_MAX; i++) free(kept[i]);
}

/* Takes the text; it lives until KEPT_MAX others have come. */
static const char *keep(char *text)
{
    static size_t at;
    static bool is_registered;
    if (!is_registered) atexit(drop_kept);
    is_registered = true;
    free(kept[at]);
    kept[at] = text;
    at = (at + 1) % KEPT_MAX;
    return text;
}

static bool is_stamp(const char *text)
{
    for (size_t i = 0; i < 20; i++) {
        if (!isdigit((unsigned char)text[i]) && (text[i] < 'a' || text[i] > 'f')) return false;
    }
    return true;
}

/* Moves past both numbers. */
static bool is_time_left(const char **text, const char **pattern)
{
    char *text_end, *pattern_end;
    long long got = strtoll(*text, &text_end, 10);
    long long most = strtoll(*pattern, &pattern_end, 10);
    bool is_number = isdigit((unsigned char)**text) != 0;
    *text = text_end;
    *pattern = pattern_end;
    return is_number && got > 0 && got <= most && got > most - TIME_LEFT_SECONDS;
}

bool text_fits(const char *text, const char *pattern)
{
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '~' && isdigit((unsigned char)pattern[1])) {
            pattern++;
            if (!is_time_left(&text, &pattern)) return false;
            pattern--;
            continue;
        }
        if (*pattern == '*') {
            for (;; text++) {
                if (text_fits(text, pattern + 1)) return true;
                if (*text == '\0') return false;
            }
        }
        if (*pattern == '@') {
            if (!is_stamp(text)) return false;
            text += 20;
        } else if (*text++ != *pattern) {
            return false;
        }
    }
    return *text == '\0';
}

static void write_bytes(FILE *f, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) fputc(bytes[i] == '"' ? '\'' : bytes[i], f);
}

static void write_reply(FILE *f, const redisReply *r)
{
    switch (r->type) {
    case REDIS_REPLY_STATUS: fprintf(f, "+%s", r->str); return;
    case REDIS_REPLY_ERROR:
        fputc('-', f);
        write_bytes(f, r->str, r->len);
        return;
    case REDIS_REPLY_INTEGER: fprintf(f, ":%lld", r->integer); return;
    case REDIS_REPLY_NIL: fputs("(nil)", f); return;
    case REDIS_REPLY_STRING: write_bytes(f, r->str, r->len); return;
    case REDIS_REPLY_ARRAY:
        fputc('[', f);
        for (size_t i = 0; i < r->elements; i++) {
            if (i > 0) fputc(' ', f);
            write_reply(f, r->element[i]);
        }
        fputc(']', f);
        return;
    default: fprintf(f, "(type %d)", r->type); return;
    }
}

static const char *reply_text(redisReply *r)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (f == NULL) abort();
    write_reply(f, r);
    fclose(f);
    freeReplyObject(r);
    return keep(text);
}

/* ---- commands -------------------------------------------------------------------------------- */

static char *quoted(const char *format)
{
    char *copy = strdup(format);
    for (char *p = copy; *p != '\0'; p++) {
        if (*p == '\'') *p = '"';
    }
    return copy;
}

static void append(redisContext *c, const char *format, va_list list)
{
    char *copy = quoted(format);
    if (redisvAppendCommand(c, copy, list) != REDIS_OK) fail_msg("'%s': %s", format, c->errstr);
    free(copy);
}

static redisReply *next_reply(redisContext *c)
{
    void *reply = NULL;
    if (redisGetReply(c, &reply) != REDIS_OK || reply == NULL) {
        fail_msg("no reply: %s", c->errstr);
    }
    return reply;
}

static void check(const char *file, int line, const char *what, const char *got, const char *wanted)
{
    if (text_fits(got, wanted)) return;
    fprintf(stderr, "%s:%d: %s\n  wanted: %.*s\n     got: %.*s\n", file, line, what, SHOWN_BYTES,
            wanted, SHOWN_BYTES, got);
    _fail(file, line);
}

void expect_at(const char *file, int line, redisContext *c, const char *wanted, const char *format,
               ...)
{
    va_list list;
    va_start(list, format);
    append(c, format, list);
    va_end(list);
    check(file, line, format, reply_text(next_reply(c)), wanted);
}

redisReply *ask_reply(redisContext *c, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    append(c, format, list);
    va_end(list);
    return next_reply(c);
}

const char *ask(redisContext *c, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    append(c, format, list);
    va_end(list);
    return reply_text(next_reply(c));
}

long long ask_integer(redisContext *c, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    append(c, format, list);
    va_end(list);
    redisReply *r = next_reply(c);
    bool is_integer = r->type == REDIS_REPLY_INTEGER;
    long long n = r->integer;
    const char *text = reply_text(r);
    if (!is_integer) fail_msg("'%s': an integer was wanted, not %s", format, text);
    return n;
}

void say(redisContext *c, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    append(c, format, list);
    va_end(list);
}

void expect_next_at(const char *file, int line, redisContext *c, const char *wanted)
{
    check(file, line, "the next reply", reply_text(next_reply(c)), wanted);
}

void expect_many(redisContext *c, size_t n, const char *wanted)
{
    for (size_t i = 0; i < n; i++) {
        check(__FILE__, __LINE__, "a pipelined reply", reply_text(next_reply(c)), wanted);
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

int raw_connect(const struct testserver *s)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(testserver_port(s))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail_msg("no socket");
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        close(fd);
        fail_msg("no connection to port %d", testserver_port(s));
    }
    return fd;
}

void raw_send(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) fail_msg("send: %s", strerror(errno));
        bytes += n;
        len -= (size_t)n;
    }
}

void raw_say(int fd, const char *text)
{
    raw_send(fd, text, strlen(text));
}

/* Up to len bytes, fewer at the end of the stream or when nothing comes. */
static size_t raw_read(int fd, char *to, size_t len)
{
    size_t have = 0;
    while (have < len) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, RAW_WAIT_MS) <= 0) break;
        ssize_t n = recv(fd, to + have, len - have, 0);
        if (n <= 0) break;
        have += (size_t)n;
    }
    return have;
}

void raw_expect_at(const char *file, int line, int fd, const char *wanted)
{
    size_t len = strlen(wanted);
    char *got = calloc(1, len + 1);
    raw_read(fd, got, len);
    bool is_same = memcmp(got, wanted, len) == 0;
    if (!is_same) {
        fprintf(stderr, "%s:%d\n  wanted: %.*s\n     got: %.*s\n", file, line, SHOWN_BYTES, wanted,
                SHOWN_BYTES, got);
    }
    free(got);
    if (!is_same) _fail(file, line);
}

void raw_expect_end_at(const char *file, int line, int fd)
{
    char byte = 0;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, RAW_WAIT_MS) == 1 && recv(fd, &byte, 1, 0) <= 0) return;
    fprintf(stderr, "%s:%d: the connection is still open (byte 0x%02x)\n", file, line, byte & 0xff);
    _fail(file, line);
}

const char *raw_line(int fd)
{
    char *text = calloc(1, 4096);
    size_t len = 0;
    while (len < 4095 && raw_read(fd, text + len, 1) == 1 && text[len] != '\n') len++;
    if (len > 0 && text[len - 1] == '\r') len--;
    text[len] = '\0';
    return keep(text);
}

const char *raw_bulk(int fd)
{
    const char *line = raw_line(fd);
    if (line[0] != '$' && line[0] != '=') fail_msg("a bulk string was wanted, not '%s'", line);
    long len = atol(line + 1);
    if (len < 0) return "(nil)";
    char *text = calloc(1, (size_t)len + 3);
    raw_read(fd, text, (size_t)len + 2);
    text[len] = '\0';
    return keep(text);
}
