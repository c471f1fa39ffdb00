#include "diff/peer.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

#define WAIT_MS 60000
#define WORDS_MAX 32
#define SHOWN_MAX 600 /* bytes of a word of a reply */
#define DEPTH_MAX 16

struct peer {
    int fd;
    bool is_closed;
    size_t at, len; /* of `in`: what was received and not read */
    char in[65536];
};

static struct peer *opened(int fd, const struct sockaddr *to, socklen_t size)
{
    if (fd < 0 || connect(fd, to, size) != 0) {
        perror("connect");
        if (fd >= 0) close(fd);
        return NULL;
    }
    struct peer *p = mem_new(sizeof *p);
    p->fd = fd;
    return p;
}

struct peer *peer_open_port(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return opened(fd, (const struct sockaddr *)&to, sizeof to);
}

struct peer *peer_open_path(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return opened(fd, (const struct sockaddr *)&to, sizeof to);
}

void peer_close(struct peer *p)
{
    if (p == NULL) return;
    close(p->fd);
    mem_free(p);
}

/* ---- out ---- */

void peer_put(struct buf *out, const struct slice *words, size_t count)
{
    buf_printf(out, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "$%zu\r\n", words[i].len);
        buf_append(out, words[i].data, words[i].len);
        buf_append_str(out, "\r\n");
    }
    buf_require(out);
}

bool peer_send(struct peer *p, struct slice bytes)
{
    for (size_t sent = 0; sent < bytes.len && !p->is_closed;) {
        ssize_t n = send(p->fd, bytes.data + sent, bytes.len - sent, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) p->is_closed = true;
        if (n > 0) sent += (size_t)n;
    }
    return !p->is_closed;
}

/* ---- in ---- */

static char next_byte(struct peer *p)
{
    while (p->at == p->len && !p->is_closed) {
        struct pollfd f = {.fd = p->fd, .events = POLLIN};
        ssize_t n = poll(&f, 1, WAIT_MS) > 0 ? recv(p->fd, p->in, sizeof p->in, 0) : 0;
        if (n < 0 && errno == EINTR) continue;
        p->is_closed = n <= 0;
        p->at = 0;
        p->len = n > 0 ? (size_t)n : 0;
    }
    return p->is_closed ? '\0' : p->in[p->at++];
}

static struct slice next_line(struct peer *p, struct arena *arena)
{
    struct buf line;
    buf_init(&line);
    for (char b = next_byte(p); b != '\n' && !p->is_closed; b = next_byte(p)) {
        if (b != '\r') buf_append_byte(&line, (uint8_t)b);
    }
    struct slice kept = arena_copy(arena, buf_slice(&line));
    buf_fini(&line);
    return kept;
}

static struct slice next_bulk(struct peer *p, struct arena *arena, size_t len)
{
    uint8_t *text = arena_alloc(arena, len);
    for (size_t i = 0; i < len && !p->is_closed; i++) text[i] = (uint8_t)next_byte(p);
    (void)next_byte(p);
    (void)next_byte(p);
    return slice_of(text, len);
}

static struct reply *next_reply(struct peer *p, struct arena *arena, int depth)
{
    struct reply *r = arena_alloc(arena, sizeof *r);
    int64_t n = 0;
    *r = (struct reply){.type = next_byte(p)};
    r->text = next_line(p, arena);
    if (p->is_closed || depth > DEPTH_MAX) return NULL;
    r->is_nil = r->type == '_';
    if (strchr("+-:_,#(", r->type) != NULL) return r;
    if (strchr("$=*%~>", r->type) == NULL || !slice_to_i64(r->text, &n)) {
        fprintf(stderr, "no RESP: %c\n", r->type);
        p->is_closed = true;
        return NULL;
    }
    r->is_nil = n < 0;
    r->text = slice_of("", 0);
    if (r->is_nil) return r;
    if (r->type == '$' || r->type == '=') {
        r->text = next_bulk(p, arena, (size_t)n);
        return p->is_closed ? NULL : r;
    }
    r->count = (size_t)n * (r->type == '%' ? 2 : 1);
    r->items = arena_alloc(arena, r->count * sizeof(struct reply *));
    for (size_t i = 0; i < r->count; i++) {
        r->items[i] = next_reply(p, arena, depth + 1);
        if (r->items[i] == NULL) return NULL;
    }
    return r;
}

struct reply *peer_next(struct peer *p, struct arena *arena)
{
    return p->is_closed ? NULL : next_reply(p, arena, 0);
}

struct reply *peer_ask(struct peer *p, struct arena *arena, const char *words)
{
    struct slice list[WORDS_MAX];
    struct slice rest = slice_str(words);
    size_t count = 0;
    while (rest.len > 0 && count < WORDS_MAX) list[count++] = slice_take(&rest, ' ');
    struct buf out;
    buf_init(&out);
    peer_put(&out, list, count);
    struct reply *r = peer_send(p, buf_slice(&out)) ? peer_next(p, arena) : NULL;
    buf_fini(&out);
    return r;
}

bool peer_has_more(const struct peer *p)
{
    struct pollfd f = {.fd = p->fd, .events = POLLIN};
    return p->at < p->len || poll(&f, 1, 0) > 0;
}

/* ---- replies ---- */

bool reply_says_error(const struct reply *r)
{
    return r->type == '-';
}

bool reply_begins(const struct reply *r, const char *prefix)
{
    return slice_has_prefix(r->text, slice_str(prefix));
}

long long reply_integer(const struct reply *r)
{
    int64_t n = 0;
    return r != NULL && r->type == ':' && slice_to_i64(r->text, &n) ? n : 0;
}

static void show_text(FILE *to, struct slice text)
{
    for (size_t i = 0; i < text.len && i < SHOWN_MAX; i++) {
        if (isprint(text.data[i]))
            fputc(text.data[i], to);
        else
            fprintf(to, "\\x%02x", text.data[i]);
    }
    if (text.len > SHOWN_MAX) fprintf(to, "... (%zu bytes)", text.len);
}

void reply_show(FILE *to, const struct reply *r)
{
    if (r == NULL) {
        fputs("(closed)", to);
    } else if (r->is_nil) {
        fprintf(to, "(nil %c)", r->type);
    } else if (r->items == NULL) {
        if (r->type != '$') fputc(r->type, to);
        if (r->type == '$') fputc('"', to);
        show_text(to, r->text);
        if (r->type == '$') fputc('"', to);
    } else {
        if (r->type != '*') fputc(r->type, to);
        fputc('[', to);
        for (size_t i = 0; i < r->count; i++) {
            if (i > 0) fputc(' ', to);
            reply_show(to, r->items[i]);
        }
        fputc(']', to);
    }
}

int reply_order(const struct reply *a, const struct reply *b)
{
    if (a->type != b->type) return a->type < b->type ? -1 : 1;
    if (a->is_nil != b->is_nil) return a->is_nil ? -1 : 1;
    if (a->items == NULL || b->items == NULL) return slice_cmp(a->text, b->text);
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        int c = reply_order(a->items[i], b->items[i]);
        if (c != 0) return c;
    }
    return a->count < b->count ? -1 : a->count > b->count;
}
