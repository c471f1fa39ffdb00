#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"

#define WAIT_MS 60000
#define TEXTS 16

/* ---- connections ----------------------------------------------------------------------------- */

struct http_conn *http_open(const struct testserver *s)
{
    struct http_conn *c = calloc(1, sizeof *c);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)testserver_http_port(s)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (c == NULL) abort();
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0) {
        fail_msg("no connection to port %d: %s", testserver_http_port(s), strerror(errno));
    }
    return c;
}

void http_close(struct http_conn *c)
{
    if (c == NULL) return;
    close(c->fd);
    free(c->in);
    free(c);
}

void http_send(struct http_conn *c, const void *bytes, size_t len)
{
    const char *p = bytes;
    while (len > 0) {
        ssize_t sent = send(c->fd, p, len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) fail_msg("send: %s", strerror(errno));
        p += sent;
        len -= (size_t)sent;
    }
}

void http_say(struct http_conn *c, const char *text)
{
    http_send(c, text, strlen(text));
}

/* ' becomes ". The caller frees it. */
static char *quoted(const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL) abort();
    for (char *p = copy; *p != '\0'; p++) *p = *p == '\'' ? '"' : *p;
    return copy;
}

void http_ask(struct http_conn *c, const char *what, const char *headers, const char *body)
{
    char *copy = quoted(body != NULL ? body : "");
    size_t size = strlen(what) + strlen(headers != NULL ? headers : "") + strlen(copy) + 200;
    char *text = malloc(size);
    if (text == NULL) abort();
    int n = snprintf(
        text, size, "%s HTTP/1.1\r\n%s%s", what,
        headers != NULL && strcasestr(headers, "host:") == headers ? "" : "Host: localhost\r\n",
        headers != NULL ? headers : "");
    if (body != NULL) {
        n += snprintf(text + n, size - (size_t)n, "Content-Length: %zu\r\n", strlen(copy));
    }
    n += snprintf(text + n, size - (size_t)n, "\r\n%s", copy);
    http_send(c, text, (size_t)n);
    free(text);
    free(copy);
}

bool http_is_readable(struct http_conn *c, int limit_ms)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    return c->len > 0 || c->has_ended || poll(&p, 1, limit_ms) == 1;
}

/* More of what the server says. False at its end. */
static bool receive(struct http_conn *c)
{
    if (c->has_ended) return false;
    if (c->cap - c->len < 65536) {
        c->cap = c->cap * 2 + 65536;
        c->in = realloc(c->in, c->cap);
        if (c->in == NULL) abort();
    }
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    if (poll(&p, 1, WAIT_MS) != 1) {
        fail_msg("nothing after %d ms; before: %.*s", WAIT_MS, (int)c->len, c->in);
    }
    ssize_t got = recv(c->fd, c->in + c->len, c->cap - c->len - 1, 0);
    if (got <= 0) {
        c->has_ended = true;
        return false;
    }
    c->len += (size_t)got;
    c->in[c->len] = '\0';
    return true;
}

void http_expect_end(struct http_conn *c)
{
    while (receive(c)) {
    }
    if (c->len > 0) fail_msg("before the end came: %.*s", (int)c->len, c->in);
}

/* Takes `len` bytes, as text of the caller's. */
static char *take(struct http_conn *c, size_t len)
{
    char *text = malloc(len + 1);
    if (text == NULL) abort();
    while (c->len < len) {
        if (!receive(c)) fail_msg("the end came %zu bytes too soon", len - c->len);
    }
    memcpy(text, c->in, len);
    text[len] = '\0';
    memmove(c->in, c->in + len, c->len - len);
    c->len -= len;
    return text;
}

/* Takes what ends with `end`, with it. */
static char *take_until(struct http_conn *c, const char *end)
{
    for (;;) {
        char *at = c->len > 0 ? memmem(c->in, c->len, end, strlen(end)) : NULL;
        if (at != NULL) return take(c, (size_t)(at - c->in) + strlen(end));
        if (!receive(c)) fail_msg("the end came instead of an answer: '%.*s'", (int)c->len, c->in);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

const char *http_header_of(const struct http_answer *a, const char *name)
{
    static char texts[TEXTS][1024];
    static unsigned next;
    for (const char *line = strstr(a->head, "\r\n"); line != NULL; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, strlen(name)) != 0 || line[strlen(name)] != ':') continue;
        const char *value = line + strlen(name) + 1;
        value += strspn(value, " ");
        char *text = texts[next++ % TEXTS];
        snprintf(text, sizeof texts[0], "%.*s", (int)strcspn(value, "\r"), value);
        return text;
    }
    return NULL;
}

/* The next chunk; *len 0: it was the last. */
static char *take_chunk(struct http_conn *c, size_t *len)
{
    char *line = take_until(c, "\r\n");
    char *end;
    *len = strtoul(line, &end, 16);
    if (end == line || strcmp(end, "\r\n") != 0) fail_msg("no chunk: %s", line);
    free(line);
    char *text = take(c, *len);
    char *after = take(c, 2);
    assert_string_equal(after, "\r\n");
    free(after);
    return text;
}

static void take_chunks(struct http_conn *c, struct http_answer *a)
{
    a->body = calloc(1, 1);
    for (size_t len = 1; len > 0;) {
        char *chunk = take_chunk(c, &len);
        a->body = realloc(a->body, a->len + len + 1);
        if (a->body == NULL) abort();
        memcpy(a->body + a->len, chunk, len + 1);
        a->len += len;
        free(chunk);
    }
}

static struct http_answer *take_head(struct http_conn *c)
{
    struct http_answer *a = calloc(1, sizeof *a);
    if (a == NULL) abort();
    a->head = take_until(c, "\r\n\r\n");
    if (strncmp(a->head, "HTTP/1.1 ", 9) != 0) fail_msg("no answer: %s", a->head);
    a->status = atoi(a->head + 9);
    return a;
}

struct http_answer *http_next_head(struct http_conn *c)
{
    struct http_answer *a = take_head(c);
    a->body = calloc(1, 1);
    return a;
}

struct http_answer *http_next(struct http_conn *c)
{
    struct http_answer *a = take_head(c);
    const char *length = http_header_of(a, "content-length");
    const char *coding = http_header_of(a, "transfer-encoding");
    const char *type = http_header_of(a, "content-type");
    bool is_stream = type != NULL && strcmp(type, "text/event-stream") == 0;
    bool is_empty = is_stream || a->status == 204 || a->status == 304 || a->status < 200;
    if (length != NULL && coding != NULL) fail_msg("two lengths: %s", a->head);
    if (length == NULL && coding == NULL && !is_empty) fail_msg("no length: %s", a->head);
    if (is_empty) {
        a->body = calloc(1, 1);
    } else if (coding != NULL) {
        take_chunks(c, a);
    } else {
        a->len = strtoul(length, NULL, 10);
        a->body = take(c, a->len);
    }
    return a;
}

void http_free(struct http_answer *a)
{
    free(a->head);
    free(a->body);
    free(a);
}

const char *http_event(struct http_conn *c)
{
    static char texts[TEXTS][4096];
    static unsigned next;
    size_t len;
    char *chunk = take_chunk(c, &len);
    char *text = texts[next++ % TEXTS];
    snprintf(text, sizeof texts[0], "%s", chunk);
    free(chunk);
    return text;
}

/* ---- what is wanted -------------------------------------------------------------------------- */

static void check(int line, const char *text, const char *wanted)
{
    char *pattern = quoted(wanted);
    bool fits = text_fits(text, pattern);
    free(pattern);
    if (!fits) fail_msg("line %d: wanted %s, got %s", line, wanted, text);
}

void http_expect_next_at(int line, struct http_conn *c, int status, const char *wanted)
{
    struct http_answer *a = http_next(c);
    if (a->status != status)
        fail_msg("line %d: wanted %d, got %s%s", line, status, a->head, a->body);
    check(line, a->body, wanted);
    http_free(a);
}

void http_expect_at(int line, struct http_conn *c, int status, const char *wanted, const char *what,
                    const char *headers, const char *body)
{
    http_ask(c, what, headers, body);
    http_expect_next_at(line, c, status, wanted);
}

void http_expect_event_at(int line, struct http_conn *c, const char *wanted)
{
    check(line, http_event(c), wanted);
}
