#include "http2.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"

#define WAIT_MS 60000
#define HEADERS_MAX 200

struct stream {
    struct h2_answer answer;
    char *body; /* owned; of the request */
    size_t body_len, body_at;
    bool is_half;
};

struct h2 {
    int fd;
    nghttp2_session *ng;
    struct stream **streams; /* by (id - 1) / 2 */
    size_t count;
    bool has_ended, is_away;
    uint32_t away_code;
    int32_t away_last;
};

/* ---- streams --------------------------------------------------------------------------------- */

static struct stream *stream_of(const struct h2 *c, int32_t id)
{
    size_t i = (size_t)(id - 1) / 2;
    return id > 0 && i < c->count ? c->streams[i] : NULL;
}

static void add(struct h2 *c, int32_t id, struct stream *st)
{
    size_t i = (size_t)(id - 1) / 2;
    if (i >= c->count) {
        c->streams = realloc(c->streams, (i + 1) * 2 * sizeof *c->streams);
        if (c->streams == NULL) abort();
        memset(c->streams + c->count, 0, ((i + 1) * 2 - c->count) * sizeof *c->streams);
        c->count = (i + 1) * 2;
    }
    c->streams[i] = st;
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *arg)
{
    struct stream *st = stream_of(arg, frame->hd.stream_id);
    (void)ng;
    (void)flags;
    (void)value_len;
    if (st != NULL && name_len == 7 && memcmp(name, ":status", 7) == 0) {
        st->answer.status = atoi((const char *)value);
    }
    return 0;
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
                   void *arg)
{
    struct stream *st = stream_of(arg, id);
    (void)ng;
    (void)flags;
    if (st == NULL) return 0;
    struct h2_answer *a = &st->answer;
    a->body = realloc(a->body, a->len + len + 1);
    if (a->body == NULL) abort();
    memcpy(a->body + a->len, data, len);
    a->len += len;
    a->body[a->len] = '\0';
    return 0;
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *arg)
{
    struct stream *st = stream_of(arg, id);
    (void)ng;
    if (st != NULL) st->answer.is_over = true;
    if (st != NULL) st->answer.code = code;
    return 0;
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    struct h2 *c = arg;
    (void)ng;
    if (frame->hd.type != NGHTTP2_GOAWAY) return 0;
    c->is_away = true;
    c->away_code = frame->goaway.error_code;
    c->away_last = frame->goaway.last_stream_id;
    return 0;
}

static ssize_t read_body(nghttp2_session *ng, int32_t id, uint8_t *to, size_t len, uint32_t *flags,
                         nghttp2_data_source *source, void *arg)
{
    struct stream *st = source->ptr;
    (void)ng;
    (void)id;
    (void)arg;
    size_t left = st->body_len - st->body_at;
    size_t n = left < len ? left : len;
    if (st->is_half) return NGHTTP2_ERR_DEFERRED;
    memcpy(to, st->body + st->body_at, n);
    st->body_at += n;
    if (st->body_at == st->body_len) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

/* ---- the connection -------------------------------------------------------------------------- */

struct h2 *h2_open_window(const struct testserver *s, uint32_t bytes)
{
    struct h2 *c = calloc(1, sizeof *c);
    nghttp2_session_callbacks *calls = NULL;
    nghttp2_option *option = NULL;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)testserver_http_port(s)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, bytes}};
    if (c == NULL || nghttp2_session_callbacks_new(&calls) != 0) abort();
    if (nghttp2_option_new(&option) != 0) abort();
    nghttp2_option_set_no_auto_window_update(option, bytes == 0);
    nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
    if (nghttp2_session_client_new2(&c->ng, calls, c, option) != 0) abort();
    nghttp2_session_callbacks_del(calls);
    nghttp2_option_del(option);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0) {
        fail_msg("no connection to port %d: %s", testserver_http_port(s), strerror(errno));
    }
    assert_int_equal(nghttp2_submit_settings(c->ng, NGHTTP2_FLAG_NONE, settings, 1), 0);
    return c;
}

struct h2 *h2_open(const struct testserver *s)
{
    return h2_open_window(s, 1 << 20);
}

void h2_close(struct h2 *c)
{
    if (c == NULL) return;
    close(c->fd);
    nghttp2_session_del(c->ng);
    for (size_t i = 0; i < c->count; i++) {
        if (c->streams[i] == NULL) continue;
        free(c->streams[i]->body);
        free(c->streams[i]->answer.body);
        free(c->streams[i]);
    }
    free(c->streams);
    free(c);
}

int h2_fd(const struct h2 *c)
{
    return c->fd;
}

bool h2_has_ended(const struct h2 *c)
{
    return c->has_ended;
}

bool h2_was_sent_away(const struct h2 *c, uint32_t code, int32_t *last)
{
    *last = c->away_last;
    return c->is_away && c->away_code == code;
}

bool h2_takes(const struct h2 *c, int wait_ms)
{
    struct pollfd w = {.fd = c->fd, .events = POLLOUT};
    return poll(&w, 1, wait_ms) == 1;
}

bool h2_send_raw(struct h2 *c, const void *bytes, size_t len)
{
    const char *p = bytes;
    while (len > 0 && !c->has_ended) {
        struct pollfd w = {.fd = c->fd, .events = POLLOUT};
        if (poll(&w, 1, WAIT_MS) != 1) fail_msg("the server takes nothing for %d ms", WAIT_MS);
        ssize_t sent = send(c->fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (sent < 0) c->has_ended = true;
        if (sent < 0) break;
        p += sent;
        len -= (size_t)sent;
    }
    return !c->has_ended;
}

static void send_all(struct h2 *c)
{
    const uint8_t *data;
    ssize_t len;
    while (!c->has_ended && (len = nghttp2_session_mem_send(c->ng, &data)) > 0) {
        (void)h2_send_raw(c, data, (size_t)len);
    }
}

bool h2_turn(struct h2 *c, int wait_ms)
{
    static uint8_t in[65536];
    send_all(c);
    while (!c->has_ended) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        if (poll(&p, 1, wait_ms) != 1) return true;
        ssize_t got = recv(c->fd, in, sizeof in, 0);
        if (got <= 0) {
            c->has_ended = true;
            break;
        }
        if (nghttp2_session_mem_recv(c->ng, in, (size_t)got) != got) fail_msg("no HTTP/2 came");
        send_all(c);
        wait_ms = 0;
    }
    return !c->has_ended;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void put(nghttp2_nv *nv, const char *name, size_t name_len, const char *value, size_t len)
{
    *nv = (nghttp2_nv){
        .name = (uint8_t *)name, .namelen = name_len, .value = (uint8_t *)value, .valuelen = len};
}

static size_t put_headers(nghttp2_nv *nv, size_t count, const char *headers)
{
    while (headers != NULL && *headers != '\0') {
        const char *colon = strstr(headers, ": ");
        size_t line = strcspn(headers, "\n");
        assert_true(colon != NULL && count < HEADERS_MAX);
        size_t name_len = (size_t)(colon - headers);
        put(&nv[count++], headers, name_len, colon + 2, line - name_len - 2);
        headers += line + (headers[line] == '\n');
    }
    return count;
}

static int32_t submit(struct h2 *c, const char *what, const char *headers, struct stream *st)
{
    nghttp2_nv nv[HEADERS_MAX];
    size_t method = strcspn(what, " ");
    const char *path = what + method + 1;
    nghttp2_data_provider body = {.source = {.ptr = st}, .read_callback = read_body};
    put(&nv[0], ":method", 7, what, method);
    put(&nv[1], ":scheme", 7, "http", 4);
    put(&nv[2], ":path", 5, path, strlen(path));
    size_t count = 3;
    if (headers == NULL || strncmp(headers, ":authority", 10) != 0) {
        put(&nv[count++], ":authority", 10, "localhost", 9);
    }
    count = put_headers(nv, count, headers);
    bool has_body = st->body != NULL || st->is_half;
    int32_t id = nghttp2_submit_request(c->ng, NULL, nv, count, has_body ? &body : NULL, NULL);
    if (id < 0) fail_msg("%s", nghttp2_strerror(id));
    add(c, id, st);
    send_all(c);
    return id;
}

int32_t h2_ask(struct h2 *c, const char *what, const char *headers, const char *body)
{
    struct stream *st = calloc(1, sizeof *st);
    if (st == NULL) abort();
    st->answer.body = calloc(1, 1);
    if (body != NULL) {
        st->body = strdup(body);
        st->body_len = strlen(body);
        for (char *p = st->body; *p != '\0'; p++) *p = *p == '\'' ? '"' : *p;
    }
    return submit(c, what, headers, st);
}

int32_t h2_ask_half(struct h2 *c, const char *what)
{
    struct stream *st = calloc(1, sizeof *st);
    if (st == NULL) abort();
    st->answer.body = calloc(1, 1);
    st->is_half = true;
    return submit(c, what, NULL, st);
}

void h2_reset(struct h2 *c, int32_t id)
{
    (void)nghttp2_submit_rst_stream(c->ng, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    send_all(c);
}

const struct h2_answer *h2_answer(struct h2 *c, int32_t id)
{
    return &stream_of(c, id)->answer;
}

const struct h2_answer *h2_wait(struct h2 *c, int32_t id)
{
    struct stream *st = stream_of(c, id);
    long until = testserver_now_ms() + WAIT_MS;
    while (!st->answer.is_over) {
        if (!h2_turn(c, 100) && !st->answer.is_over) fail_msg("the server has closed");
        if (testserver_now_ms() > until) fail_msg("no answer after %d ms", WAIT_MS);
    }
    return &st->answer;
}

static bool fits(const char *text, const char *wanted)
{
    char pattern[4096];
    snprintf(pattern, sizeof pattern, "%s", wanted);
    for (char *p = pattern; *p != '\0'; p++) *p = *p == '\'' ? '"' : *p;
    return text_fits(text, pattern);
}

void h2_wait_body(struct h2 *c, int32_t id, const char *wanted)
{
    const struct h2_answer *a = h2_answer(c, id);
    long until = testserver_now_ms() + WAIT_MS;
    while (!fits(a->body, wanted)) {
        bool is_open = h2_turn(c, 100);
        if (fits(a->body, wanted)) return;
        if (!is_open || testserver_now_ms() > until) fail_msg("not %s but %s", wanted, a->body);
    }
}

void h2_expect_at(int line, struct h2 *c, int status, const char *wanted, const char *what,
                  const char *headers, const char *body)
{
    const struct h2_answer *a = h2_wait(c, h2_ask(c, what, headers, body));
    if (a->status == status && fits(a->body, wanted)) return;
    fail_msg("line %d: wanted %d %s, got %d %s (reset by %u)", line, status, wanted, a->status,
             a->body, a->code);
}
