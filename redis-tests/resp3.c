#include "resp3.h"

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

#include "client.h"

#define WAIT_MS 60000

struct resp3 {
    int fd;
    char in[16384];
    size_t at, len; /* of `in`: what was received and not read */
    char *text;     /* owned: of the last reply */
};

static char next_byte(struct resp3 *x)
{
    if (x->at == x->len) {
        struct pollfd p = {.fd = x->fd, .events = POLLIN};
        ssize_t n = poll(&p, 1, WAIT_MS) > 0 ? recv(x->fd, x->in, sizeof x->in, 0) : 0;
        if (n <= 0) fail_msg("the server says nothing more");
        x->at = 0;
        x->len = (size_t)n;
    }
    return x->in[x->at++];
}

static void read_line(struct resp3 *x, char *line, size_t size)
{
    size_t n = 0;
    for (char b = next_byte(x); b != '\n'; b = next_byte(x)) {
        if (b != '\r' && n + 1 < size) line[n++] = b;
    }
    line[n] = '\0';
}

static void put(FILE *f, char b)
{
    fputc(b == '"' ? '\'' : b, f);
}

static void read_bulk(struct resp3 *x, FILE *f, long len, long skip)
{
    for (long i = 0; i < len; i++) {
        char b = next_byte(x);
        if (i >= skip) put(f, b);
    }
    (void)next_byte(x);
    (void)next_byte(x);
}

static void read_reply(struct resp3 *x, FILE *f)
{
    char line[1024];
    read_line(x, line, sizeof line);
    long n = strtol(line + 1, NULL, 10);
    switch (line[0]) {
    case '+':
    case '-':
    case ':':
    case ',':
    case '#':
        for (const char *p = line; *p != '\0'; p++) put(f, *p);
        return;
    case '_': fputs("(nil)", f); return;
    case '$': read_bulk(x, f, n, 0); return;
    case '=': read_bulk(x, f, n, 4); return;
    case '>':
    case '*':
    case '~':
    case '%':
        if (line[0] == '>') fputc('>', f);
        if (line[0] == '%') n *= 2;
        fputc('[', f);
        for (long i = 0; i < n; i++) {
            if (i > 0) fputc(' ', f);
            read_reply(x, f);
        }
        fputc(']', f);
        return;
    default: fail_msg("no reply begins with '%s'", line);
    }
}

const char *resp3_next(struct resp3 *x)
{
    size_t len = 0;
    free(x->text);
    x->text = NULL;
    FILE *f = open_memstream(&x->text, &len);
    if (f == NULL) abort();
    read_reply(x, f);
    fclose(f);
    return x->text;
}

static void send_format(struct resp3 *x, const char *format, va_list list)
{
    char *bytes = NULL;
    char *json = strdup(format);
    for (char *p = json; *p != '\0'; p++) {
        if (*p == '\'') *p = '"';
    }
    int len = redisvFormatCommand(&bytes, json, list);
    if (len < 0) fail_msg("no command: %s", format);
    raw_send(x->fd, bytes, (size_t)len);
    redisFreeCommand(bytes);
    free(json);
}

void resp3_say(struct resp3 *x, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    send_format(x, format, list);
    va_end(list);
}

const char *resp3_ask(struct resp3 *x, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    send_format(x, format, list);
    va_end(list);
    return resp3_next(x);
}

void resp3_expect_next_at(const char *file, int line, struct resp3 *x, const char *wanted)
{
    const char *text = resp3_next(x);
    if (text_fits(text, wanted)) return;
    fprintf(stderr, "%s:%d: wanted: %s\n  found: %s\n", file, line, wanted, text);
    fail_msg("what came next was not as wanted");
}

void resp3_expect_at(const char *file, int line, struct resp3 *x, const char *wanted,
                     const char *format, ...)
{
    va_list list;
    va_start(list, format);
    send_format(x, format, list);
    va_end(list);
    resp3_expect_next_at(file, line, x, wanted);
}

struct resp3 *resp3_connect(const struct testserver *s)
{
    struct resp3 *x = calloc(1, sizeof *x);
    if (x == NULL) abort();
    x->fd = raw_connect(s);
    (void)resp3_ask(x, "HELLO 3");
    return x;
}

void resp3_close(struct resp3 *x)
{
    if (x == NULL) return;
    close(x->fd);
    free(x->text);
    free(x);
}
