/* turns_words: texts of commands (turns.h) become RESP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "bench/help.h"
#include "bench/turns.h"

#define LONG_BYTES 2000
#define SOON_US 2500000

/* One command that is being built. */
struct words {
    struct buf bytes; /* the words as bulk strings */
    long count;
    long first; /* number of the first repetition of a group */
    int64_t soon_ms;
    redisContext *side;
};

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "bench_turns: %s: %.80s\n", what, text);
    exit(1);
}

static void add_word(struct words *w, const void *data, size_t len)
{
    buf_printf(&w->bytes, "$%zu\r\n", len);
    buf_append(&w->bytes, data, len);
    buf_append(&w->bytes, "\r\n", 2);
    w->count++;
}

/* ---- long words ---- */

/* A word of many items, with something between them; # in an item is its number. A script is a head
 * with one item that is empty. */
struct maker {
    const char *name, *head, *item, *between, *tail;
};

static const struct maker makers[] = {
    {"object", "{", "\"k#\":1", ",", "}"},
    {"maps", "[", "{\"a\":#}", ",", "]"},
    {"floats", "[", "0.12345678#1", ",", "]"},
    {"ints", "[", "1", ",", "]"},
    {"bigints", "[", "{\"$bigint\":\"12345678901234567890#\"}", ",", "]"},
    {"bigint", "{\"$bigint\":\"0x", "f", "", "\"}"},
    {"text", "\"", "x", "", "\""},
    {"escapes", "\"", "\\u00e9", "", "\""},
    {"words", "\"", "w# ", "", "\""},
    {"members", "{\"$set\":[", "\"m#\"", ",", "]}"},
    {"in", "{\"age\":{\"$in\":[", "#", ",", "]}}"},
    {"or", "{\"$or\":[", "{\"age\":{\"$lt\":-#}}", ",", "]}"},
    {"bytes", "", "x", "", ""},
    {"stars", "", "*x", "", ""},
    {"lua", "return '", "x", "", "'"},
    {"statements", "", "do local function f() return # end end\n", "", "return 1"},
    {"library",
     "#!lua name=big\nredis.register_function{function_name='f', flags={'no-writes'}, "
     "callback=function() return 1 end} local s = '",
     "x", "", "'"},
    {"argv", "return ARGV", "", "", ""},
    {"errors", "return {err=string.rep('x', 25000000)}", "", "", ""},
    {"reply", "return string.rep('x', 25000000)", "", "", ""},
    {"table", "local t = {} for i = 1, 1000000 do t[i] = i end return t", "", "", ""},
    {"gets", "for i = 1, 99000 do redis.call('GET', 'k:' .. i) end return 1", "", "", ""},
    {"entries",
     "for i = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], '*', 'f', 'v') end return 1", "",
     "", ""},
    {"numbered",
     "for i = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], i .. '-1', 'f', 'v') end return 1",
     "", "", ""},
    {"sets", "for i = 1, 99000 do redis.call('SET', 's:' .. i, i) end return 1", "", "", ""},
    {"sort",
     "local t = {} for i = 1, 300000 do t[i] = i * 7919 % 300007 end table.sort(t) return 1", "",
     "", ""},
    {"cjson", "return #cjson.encode(cjson.decode(ARGV[1]))", "", "", ""},
    {"loop", "local n = 0 for i = 1, 100000000 do n = n + i end return n", "", "", ""},
};

/* A piece of a word, with # and % for a number and ^ for many bytes. */
static void add_piece(struct buf *b, const char *piece, size_t len, long number)
{
    for (size_t i = 0; i < len; i++) {
        if (piece[i] == '#') {
            buf_append_i64(b, number);
        } else if (piece[i] == '%') {
            buf_printf(b, "%06ld", number);
        } else if (piece[i] == '^') {
            uint8_t *p = buf_reserve(b, LONG_BYTES);
            if (p == NULL) return;
            memset(p, 'y', LONG_BYTES);
            b->len += LONG_BYTES;
        } else {
            buf_append_byte(b, (uint8_t)(piece[i] == '\'' ? '"' : piece[i]));
        }
    }
}

static void add_made(struct words *w, const struct maker *m, long count)
{
    struct buf word;
    buf_init(&word);
    buf_append_str(&word, m->head);
    bool is_plain = strlen(m->item) == 1 && m->between[0] == '\0';
    for (long i = 0; i < count; i++) {
        if (i > 0) buf_append_str(&word, m->between);
        if (is_plain) {
            buf_append_byte(&word, (uint8_t)m->item[0]);
        } else {
            for (const char *p = m->item; *p != '\0'; p++) {
                if (*p == '#')
                    buf_append_i64(&word, i);
                else
                    buf_append_byte(&word, (uint8_t)*p);
            }
        }
    }
    buf_append_str(&word, m->tail);
    buf_require(&word);
    add_word(w, word.data, word.len);
    buf_fini(&word);
}

/* ---- words that the server is asked for ---- */

/* Column `at` of the rows of a reply, or its elements when `at` is negative. */
static void add_column(struct words *w, const redisReply *rows, int at, long count)
{
    for (size_t i = 0; i < rows->elements && (long)i < count; i++) {
        const redisReply *x = rows->element[i];
        if (at >= 0) x = x->element[at];
        add_word(w, x->str, x->len);
    }
}

static redisReply *ask(struct words *w, const char *format, long count)
{
    void *reply = NULL;
    char text[200];
    snprintf(text, sizeof text, "%s %ld", format, count);
    reply = redisCommand(w->side, text);
    if (reply == NULL) fail("no reply", text);
    redisReply *r = reply;
    if (r->type == REDIS_REPLY_ERROR) fail(text, r->str);
    return r;
}

static void add_receipts(struct words *w, long count)
{
    redisReply *r = ask(w, "KV.DEQUEUE busy COUNT", count);
    add_column(w, r, 4, count);
    freeReplyObject(r);
}

static void add_dead(struct words *w, long count)
{
    redisReply *r = ask(w, "KV.DLQ LIST dead COUNT", count);
    add_column(w, r->element[1], 0, count);
    freeReplyObject(r);
}

static void add_reply(struct words *w, const char *command)
{
    redisReply *r = redisCommand(w->side, command);
    if (r == NULL || r->type != REDIS_REPLY_STRING) fail("no string", command);
    add_word(w, r->str, r->len);
    freeReplyObject(r);
}

static bool add_asked(struct words *w, struct slice name, long count)
{
    if (slice_eq(name, slice_str("receipts")))
        add_receipts(w, count);
    else if (slice_eq(name, slice_str("dead")))
        add_dead(w, count);
    else if (slice_eq(name, slice_str("dump")))
        add_reply(w, "DUMP big");
    else if (slice_eq(name, slice_str("functions")))
        add_reply(w, "FUNCTION DUMP");
    else
        return false;
    return true;
}

/* ---- texts ---- */

static void add_at(struct words *w, const char *word, size_t len)
{
    const char *colon = memchr(word, ':', len);
    long count = colon == NULL ? 1 : strtol(colon + 1, NULL, 10);
    struct slice name = slice_of(word + 1, colon == NULL ? len - 1 : (size_t)(colon - word - 1));
    if (slice_eq(name, slice_str("soon"))) {
        char ms[24];
        add_word(w, ms, (size_t)snprintf(ms, sizeof ms, "%lld", (long long)w->soon_ms));
        return;
    }
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        if (!slice_eq(name, slice_str(makers[i].name))) continue;
        add_made(w, &makers[i], count);
        return;
    }
    if (!add_asked(w, name, count)) fail("no such maker", word);
}

static void add_one(struct words *w, const char *word, size_t len, long number)
{
    if (word[0] == '@') {
        add_at(w, word, len);
        return;
    }
    struct buf b;
    buf_init(&b);
    if (number >= 0) {
        add_piece(&b, word, len, number);
    } else {
        for (size_t i = 0; i < len; i++)
            buf_append_byte(&b, (uint8_t)(word[i] == '\'' ? '"' : word[i]));
    }
    buf_require(&b);
    add_word(w, b.data, b.len);
    buf_fini(&b);
}

/* The words up to `end`; each with its number, or -1. */
static void add_words(struct words *w, const char *p, const char *end, long number)
{
    while (p < end) {
        size_t len = strcspn(p, " ");
        if (len > (size_t)(end - p)) len = (size_t)(end - p);
        if (len > 0) add_one(w, p, len, number);
        p += len + 1;
    }
}

static long add_group(struct words *w, const char *p, const char *end)
{
    char *words = NULL;
    long count = strtol(p + 1, &words, 10);
    for (long i = 0; i < count; i++) add_words(w, words, end, w->first + i);
    return count;
}

/* One line, without its repetition; how many numbers its groups have used. */
static long add_line(struct words *w, const char *p, const char *end)
{
    long used = 0;
    while (p < end) {
        bool is_group = p[0] == '{' && p[1] >= '0' && p[1] <= '9';
        const char *stop = is_group ? strstr(p, " }") : memchr(p, ' ', (size_t)(end - p));
        if (stop == NULL || stop > end) stop = end;
        if (is_group) {
            used = add_group(w, p, stop);
            stop += 2;
        } else {
            add_words(w, p, stop, -1);
        }
        p = stop + 1;
    }
    return used;
}

long turns_render(struct buf *out, const char *text, redisContext *side)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct words w = {.side = side};
    w.soon_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + SOON_US / 1000;
    long commands = 0;
    buf_init(&w.bytes);
    for (const char *p = text; *p != '\0';) {
        const char *end = p + strcspn(p, "\n");
        char *rest = NULL;
        long times = strtol(p, &rest, 10);
        bool is_repeated = rest != p && rest[0] == 'x' && rest[1] == ' ';
        if (is_repeated) p = rest + 2;
        w.first = 0;
        for (long i = 0; i < (is_repeated ? times : 1); i++) {
            buf_clear(&w.bytes, SIZE_MAX);
            w.count = 0;
            w.first += add_line(&w, p, end);
            buf_printf(out, "*%ld\r\n", w.count);
            buf_append(out, w.bytes.data, w.bytes.len);
            commands++;
        }
        p = *end == '\0' ? end : end + 1;
    }
    buf_fini(&w.bytes);
    buf_require(out);
    return commands;
}
