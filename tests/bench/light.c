/* light: the head of each element is read, and what belongs to it passed over. */
#include "bench/light.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "bench/help.h"

#define READ_BYTES (1 << 20)
#define LINE_BYTES 300 /* what is longer is cut */

struct light {
    redisContext *c; /* owned */
    char *bytes;     /* owned */
    size_t len, at;
    char error[LINE_BYTES];
};

static void fail(const char *why)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, why);
    exit(1);
}

struct light *light_open(const char *port)
{
    struct light *l = mem_new(sizeof *l);
    l->c = bench_connect(port);
    l->bytes = mem_alloc(READ_BYTES);
    return l;
}

void light_close(struct light *l)
{
    redisFree(l->c);
    mem_free(l->bytes);
    mem_free(l);
}

int light_fd(const struct light *l)
{
    return l->c->fd;
}

const char *light_error(const struct light *l)
{
    return l->error;
}

void light_send(struct light *l, const struct buf *out)
{
    l->error[0] = '\0';
    for (size_t sent = 0; sent < out->len;) {
        ssize_t n = write(l->c->fd, out->data + sent, out->len - sent);
        if (n <= 0) fail("the connection has ended while a command was sent");
        sent += (size_t)n;
    }
}

static void read_more(struct light *l)
{
    ssize_t n = read(l->c->fd, l->bytes, READ_BYTES);
    if (n <= 0) fail("the connection has ended before the reply did");
    l->len = (size_t)n;
    l->at = 0;
}

static void skip(struct light *l, size_t bytes)
{
    while (bytes > 0) {
        if (l->at == l->len) read_more(l);
        size_t n = l->len - l->at < bytes ? l->len - l->at : bytes;
        l->at += n;
        bytes -= n;
    }
}

/* Without CR LF. */
static void read_line(struct light *l, char line[LINE_BYTES])
{
    size_t len = 0;
    for (;;) {
        if (l->at == l->len) read_more(l);
        char c = l->bytes[l->at++];
        if (c == '\n') break;
        if (c != '\r' && len < LINE_BYTES - 1) line[len++] = c;
    }
    line[len] = '\0';
}

/* The head of an element; how many elements belong to it. */
static int64_t take_head(struct light *l, const char *line)
{
    int64_t n = strtoll(line + 1, NULL, 10);
    switch (line[0]) {
    case '$':
    case '=':
    case '!':
        if (n >= 0) skip(l, (size_t)n + 2);
        return 0;
    case '-':
        if (l->error[0] == '\0') memcpy(l->error, line, LINE_BYTES);
        return 0;
    case '*':
    case '~':
    case '>': return n > 0 ? n : 0;
    case '%': return 2 * n;
    case '|': return 2 * n + 1;
    default: return 0;
    }
}

void light_take(struct light *l, long count)
{
    char line[LINE_BYTES];
    while (count > 0) {
        read_line(l, line);
        if (line[0] != '>') count--;
        for (int64_t left = take_head(l, line); left > 0; left--) {
            read_line(l, line);
            left += take_head(l, line);
        }
    }
}
