/* reader: see reader.h. `begin` is where the command starts that is being read and `at` how far it
 * was read: more bytes go on from there. Arguments are kept as offsets until the command is whole,
 * since the buffer may move while it arrives. */
#include "resp/reader.h"

#include "base/mem.h"

#define ARGS_START 16
#define KEEP_BYTES (32 * 1024)
#define ARGS_KEEP 1024

void resp_reader_init(struct resp_reader *r, size_t bulk_bytes_max)
{
    *r = (struct resp_reader){.bulk_bytes_max = bulk_bytes_max};
}

void resp_reader_fini(struct resp_reader *r)
{
    buf_fini(&r->in);
    buf_fini(&r->inline_args);
    mem_free(r->args);
    mem_free(r->argv);
    *r = (struct resp_reader){0};
}

uint8_t *resp_reader_room(struct resp_reader *r, size_t want, size_t *len)
{
    if (r->begin == r->in.len) {
        buf_clear(&r->in, KEEP_BYTES);
        r->at = r->begin = 0;
    } else if (r->begin > 0 && r->in.cap - r->in.len < want) {
        buf_shift(&r->in, r->begin);
        r->at -= r->begin;
        r->begin = 0;
    }
    uint8_t *p = buf_reserve(&r->in, want);
    *len = p == NULL ? 0 : r->in.cap - r->in.len;
    return p;
}

static void spare_fini(struct resp_spare *s)
{
    buf_fini(&s->in);
    mem_free(s->args);
    mem_free(s->argv);
}

void resp_spares_fini(struct resp_spares *s)
{
    while (s->count > 0) spare_fini(&s->items[--s->count]);
}

void resp_reader_give(struct resp_reader *r, struct resp_spares *to)
{
    if (r->begin != r->in.len || r->args_left > 0 || r->in.cap == 0) return;
    struct resp_spare spare = {
        .in = r->in, .args = r->args, .argv = r->argv, .args_cap = r->args_cap};
    if (r->inline_args.cap > 0) buf_fini(&r->inline_args);
    r->in = (struct buf){0};
    r->args = NULL;
    r->argv = NULL;
    r->args_cap = r->argc = r->at = r->begin = 0;
    if (to->count < RESP_SPARES && spare.in.cap <= KEEP_BYTES && spare.args_cap <= ARGS_KEEP) {
        spare.in.len = 0;
        to->items[to->count++] = spare;
    } else {
        spare_fini(&spare);
    }
}

void resp_reader_take(struct resp_reader *r, struct resp_spares *from)
{
    if (r->in.cap > 0 || from->count == 0) return;
    INVARIANT(r->args == NULL && r->in.data == NULL);
    const struct resp_spare *spare = &from->items[--from->count];
    r->in = spare->in;
    r->args = spare->args;
    r->argv = spare->argv;
    r->args_cap = spare->args_cap;
}

void resp_reader_fed(struct resp_reader *r, size_t len)
{
    r->in.len += len;
    INVARIANT(r->in.len <= r->in.cap);
}

size_t resp_reader_buffered(const struct resp_reader *r)
{
    return r->in.len - r->begin;
}

static enum resp_result reader_fail(struct resp_reader *r, struct error *e, const char *what)
{
    r->is_closed = true;
    (void)error_set(e, ERR_PROTOCOL, "Protocol error: %s", what);
    return RESP_BROKEN;
}

static enum resp_result reader_limit(struct resp_reader *r, struct error *e, const char *what)
{
    r->is_over_limit = true;
    return reader_fail(r, e, what);
}

static void args_push(struct resp_reader *r, size_t at, size_t len)
{
    if (r->argc == r->args_cap) {
        r->args_cap = r->args_cap == 0 ? ARGS_START : r->args_cap * 2;
        r->args = mem_resize(r->args, r->args_cap * sizeof *r->args);
        r->argv = mem_resize(r->argv, r->args_cap * sizeof *r->argv);
    }
    r->args[r->argc++] = (struct resp_arg){.at = at, .len = len};
}

/* The line that begins at `from`: its content without CR LF, and in *next where the next begins. */
static bool reader_line(const struct resp_reader *r, size_t from, struct slice *line, size_t *next)
{
    const uint8_t *p = r->in.data + from;
    size_t left = r->in.len - from;
    const uint8_t *end = left == 0 ? NULL : memchr(p, '\n', left);
    if (end == NULL) return false;
    *next = from + (size_t)(end - p) + 1;
    size_t len = (size_t)(end - p);
    if (len > 0 && p[len - 1] == '\r') len--;
    *line = slice_of(p, len);
    return true;
}

static bool number_of_digits(const struct resp_reader *r, size_t from, int64_t *value, size_t *next)
{
    const uint8_t *p = r->in.data + from;
    const uint8_t *end = r->in.data + r->in.len;
    int64_t v = 0;
    const uint8_t *q = p;
    while (q < end && (uint8_t)(*q - '0') <= 9 && q - p < 9) v = v * 10 + (*q++ - '0');
    if (q == p || end - q < 2 || q[0] != '\r' || q[1] != '\n') return false;
    if (*p == '0' && q - p > 1) return false;
    *value = v;
    *next = (size_t)(q + 2 - r->in.data);
    return true;
}

/* "$123" or "*123": digits after the sign at `from`. Most are one or two digits and complete, up to
 * nine are read in place; everything else goes the slow way through reader_line. */
static inline bool number_fast(const struct resp_reader *r, size_t from, int64_t *value,
                               size_t *next)
{
    const uint8_t *p = r->in.data + from;
    if (r->in.len - from >= 4) {
        unsigned first = (unsigned)p[0] - '0';
        unsigned second = (unsigned)p[1] - '0';
        if (first <= 9 && p[1] == '\r' && p[2] == '\n') {
            *value = first;
            *next = from + 3;
            return true;
        }
        if (first - 1 < 9 && second <= 9 && p[2] == '\r' && p[3] == '\n') {
            *value = first * 10 + second;
            *next = from + 4;
            return true;
        }
    }
    return number_of_digits(r, from, value, next);
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* One escape of a double-quoted argument at line[*at] == '\\'. */
static uint8_t inline_escape(struct slice line, size_t *at)
{
    uint8_t c = line.data[*at + 1];
    if (c == 'x' && *at + 3 < line.len) {
        int hi = hex_digit(line.data[*at + 2]);
        int lo = hex_digit(line.data[*at + 3]);
        if (hi >= 0 && lo >= 0) {
            *at += 4;
            return (uint8_t)(hi * 16 + lo);
        }
    }
    *at += 2;
    switch (c) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'b': return '\b';
    case 'a': return '\a';
    default: return c;
    }
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r' || c == '\0';
}

/* A quoted stretch that begins at line[*at]; false when it does not end, or not before a blank. */
static bool inline_quoted(struct resp_reader *r, struct slice line, size_t *at)
{
    uint8_t quote = line.data[(*at)++];
    while (*at < line.len) {
        uint8_t c = line.data[*at];
        if (c == quote) {
            (*at)++;
            return *at == line.len || is_blank(line.data[*at]);
        }
        if (quote == '"' && c == '\\' && *at + 1 < line.len) {
            buf_append_byte(&r->inline_args, inline_escape(line, at));
        } else if (quote == '\'' && c == '\\' && *at + 1 < line.len && line.data[*at + 1] == '\'') {
            buf_append_byte(&r->inline_args, '\'');
            *at += 2;
        } else {
            buf_append_byte(&r->inline_args, c);
            (*at)++;
        }
    }
    return false;
}

static bool inline_split(struct resp_reader *r, struct slice line)
{
    buf_clear(&r->inline_args, KEEP_BYTES);
    /* There is memory to point into even when all arguments are empty. */
    (void)buf_reserve(&r->inline_args, line.len + 1);
    r->argc = 0;
    size_t at = 0;
    for (;;) {
        while (at < line.len && is_blank(line.data[at])) at++;
        if (at == line.len) return true;
        size_t start = r->inline_args.len;
        while (at < line.len && !is_blank(line.data[at])) {
            if (line.data[at] == '"' || line.data[at] == '\'') {
                if (!inline_quoted(r, line, &at)) return false;
            } else {
                buf_append_byte(&r->inline_args, line.data[at++]);
            }
        }
        args_push(r, start, r->inline_args.len - start);
    }
}

static enum resp_result read_inline(struct resp_reader *r, struct error *e)
{
    struct slice line;
    size_t next = 0;
    if (!reader_line(r, r->at, &line, &next)) {
        /* One more may be the CR of a line that is just long enough. */
        if (r->in.len - r->at > RESP_INLINE_BYTES_MAX + 1) {
            return reader_fail(r, e, "too big inline request");
        }
        return RESP_MORE;
    }
    if (line.len > RESP_INLINE_BYTES_MAX) return reader_fail(r, e, "too big inline request");
    if (!inline_split(r, line)) return reader_fail(r, e, "unbalanced quotes in request");
    if (r->inline_args.is_failed) return reader_fail(r, e, "out of memory");
    if (r->is_limited && r->argc > RESP_LIMITED_ARGS_MAX) {
        return reader_limit(r, e, "unauthenticated multibulk length");
    }
    r->at = next;
    r->begin = next;
    for (size_t i = 0; i < r->argc; i++) {
        if (r->is_limited && r->args[i].len > RESP_LIMITED_BULK_BYTES_MAX) {
            return reader_limit(r, e, "unauthenticated bulk length");
        }
        r->argv[i] = slice_of(r->inline_args.data + r->args[i].at, r->args[i].len);
    }
    return RESP_COMMAND;
}

static enum resp_result read_count(struct resp_reader *r, struct error *e)
{
    int64_t count = 0;
    size_t next = 0;
    if (!number_fast(r, r->at + 1, &count, &next)) {
        struct slice line;
        if (!reader_line(r, r->at, &line, &next)) {
            if (r->in.len - r->at > RESP_INLINE_BYTES_MAX) {
                return reader_fail(r, e, "too big mbulk count string");
            }
            return RESP_MORE;
        }
        bool ok = slice_to_i64(slice_of(line.data + 1, line.len - 1), &count);
        if (!ok) return reader_fail(r, e, "invalid multibulk length");
    }
    if (count > RESP_ARGS_MAX) return reader_fail(r, e, "invalid multibulk length");
    if (r->is_limited && count > RESP_LIMITED_ARGS_MAX) {
        return reader_limit(r, e, "unauthenticated multibulk length");
    }
    r->at = next;
    if (count <= 0) r->begin = r->at;
    r->args_left = count <= 0 ? 0 : (size_t)count;
    r->argc = 0;
    return RESP_COMMAND;
}

/* Bulk header at r->at: 1 = read, 0 = more bytes needed, -1 = broken. */
static int read_bulk_header(struct resp_reader *r, int64_t *len, size_t *body, struct error *e)
{
    if (r->at == r->in.len) return 0;
    if (r->in.data[r->at] != '$') {
        uint8_t c = r->in.data[r->at];
        char what[32] = "expected '$', got '?'";
        what[19] = (char)(c < 0x20 || c > 0x7e ? ' ' : c);
        (void)reader_fail(r, e, what);
        return -1;
    }
    if (!number_fast(r, r->at + 1, len, body)) {
        struct slice line;
        if (!reader_line(r, r->at, &line, body)) {
            if (r->in.len - r->at <= RESP_INLINE_BYTES_MAX) return 0;
            (void)reader_fail(r, e, "too big bulk count string");
            return -1;
        }
        if (!slice_to_i64(slice_of(line.data + 1, line.len - 1), len)) *len = -1;
    }
    if (*len < 0 || (uint64_t)*len > r->bulk_bytes_max) {
        (void)reader_fail(r, e, "invalid bulk length");
        return -1;
    }
    if (r->is_limited && *len > RESP_LIMITED_BULK_BYTES_MAX) {
        (void)reader_limit(r, e, "unauthenticated bulk length");
        return -1;
    }
    return 1;
}

static enum resp_result read_bulks(struct resp_reader *r, struct error *e)
{
    while (r->args_left > 0) {
        int64_t len = 0;
        size_t body = 0;
        int got = read_bulk_header(r, &len, &body, e);
        if (got < 0) return RESP_BROKEN;
        if (got == 0 || r->in.len - body < (size_t)len + 2) return RESP_MORE;
        if (r->in.data[body + (size_t)len] != '\r' || r->in.data[body + (size_t)len + 1] != '\n') {
            return reader_fail(r, e, "expected CRLF after bulk");
        }
        args_push(r, body - r->begin, (size_t)len);
        r->at = body + (size_t)len + 2;
        r->args_left--;
    }
    for (size_t i = 0; i < r->argc; i++) {
        r->argv[i] = slice_of(r->in.data + r->begin + r->args[i].at, r->args[i].len);
    }
    r->begin = r->at;
    return RESP_COMMAND;
}

enum resp_result resp_reader_next(struct resp_reader *r, struct slice **argv, size_t *argc,
                                  struct error *e)
{
    enum resp_result result = RESP_MORE;
    if (r->is_closed) return RESP_MORE;
    do {
        if (r->args_left == 0) {
            r->argc = 0;
            if (r->at == r->in.len) return RESP_MORE;
            result = r->in.data[r->at] == '*' ? read_count(r, e) : read_inline(r, e);
            if (result != RESP_COMMAND) return result;
        }
        if (r->args_left > 0) result = read_bulks(r, e);
    } while (result == RESP_COMMAND && r->argc == 0);
    *argv = r->argv;
    *argc = r->argc;
    return result;
}

struct slice resp_reader_rest(const struct resp_reader *r)
{
    return slice_of(r->in.data + r->begin, r->in.len - r->begin);
}

size_t resp_reader_peek(const struct resp_reader *r, size_t *at, struct slice *words, size_t max)
{
    int64_t count = 0;
    size_t next = r->begin + *at;
    if (next >= r->in.len || r->in.data[next] != '*') return 0;
    if (!number_fast(r, next + 1, &count, &next)) return 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t len = 0;
        if (next >= r->in.len || r->in.data[next] != '$') return 0;
        if (!number_fast(r, next + 1, &len, &next)) return 0;
        if (r->in.len - next < (size_t)len + 2) return 0;
        if ((size_t)i < max) words[i] = slice_of(r->in.data + next, (size_t)len);
        next += (size_t)len + 2;
    }
    *at = next - r->begin;
    return (size_t)count < max ? (size_t)count : max;
}

size_t resp_reader_held(const struct resp_reader *r)
{
    return r->in.cap + r->inline_args.cap + r->args_cap * (sizeof *r->args + sizeof *r->argv);
}

size_t resp_reader_missing(const struct resp_reader *r)
{
    int64_t len = 0;
    size_t body = 0;
    if (r->args_left == 0 || r->at >= r->in.len || r->in.data[r->at] != '$') return 0;
    if (!number_fast(r, r->at + 1, &len, &body)) return 0;
    size_t have = r->in.len - body;
    return have < (size_t)len + 2 ? (size_t)len + 2 - have : 0;
}
