#include "search_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client.h"
#include "load_help.h"

#define LIMIT_MS 120000
#define TEXT_BYTES 5000
#define HITS_MAX 10000

static void swap(char *text, char from, char to)
{
    for (char *p = text; *p != '\0'; p++) {
        if (*p == from) *p = to;
    }
}

const char *with_quotes(const char *text)
{
    static char copies[8][TEXT_BYTES];
    static size_t at;
    char *copy = copies[at++ % 8];
    snprintf(copy, TEXT_BYTES, "%s", text);
    swap(copy, '\'', '"');
    return copy;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

const char *key_tails(redisReply *r, bool is_sorted)
{
    static char text[1 << 16];
    static char *keys[HITS_MAX];
    size_t len = 0;
    text[0] = '\0';
    if (r->type == REDIS_REPLY_ERROR) snprintf(text, sizeof text, "-%s", r->str);
    for (size_t i = 0; i < r->elements; i++) {
        char *key = r->element[i]->element[0]->str;
        const char *comma = strrchr(key, ',');
        key[strlen(key) - 1] = '\0';
        keys[i] = key + (comma != NULL ? comma + 1 - key : 1);
    }
    if (is_sorted && r->elements > 0) qsort(keys, r->elements, sizeof *keys, by_text);
    for (size_t i = 0; i < r->elements && len < sizeof text - 100; i++) {
        len += (size_t)snprintf(text + len, 100, "%s%s", i > 0 ? " " : "", keys[i]);
    }
    freeReplyObject(r);
    swap(text, '"', '\'');
    return text;
}

static const char *search(redisContext *c, bool is_sorted, const char *format, va_list list)
{
    char command[TEXT_BYTES];
    void *r = NULL;
    snprintf(command, sizeof command, "KV.SEARCH %s", format);
    swap(command, '\'', '"');
    assert_int_equal(redisvAppendCommand(c, command, list), REDIS_OK);
    if (redisGetReply(c, &r) != REDIS_OK) fail_msg("%s: no reply: %s", format, c->errstr);
    return key_tails(r, is_sorted);
}

static void check(const char *file, int line, const char *format, const char *got,
                  const char *wanted)
{
    if (text_fits(got, wanted)) return;
    fprintf(stderr, "%s:%d: %s\n  wanted: %s\n     got: %.600s\n", file, line, format, wanted, got);
    _fail(file, line);
}

void finds_at(const char *file, int line, redisContext *c, const char *wanted, const char *format,
              ...)
{
    va_list list;
    va_start(list, format);
    const char *got = search(c, true, format, list);
    va_end(list);
    check(file, line, format, got, wanted);
}

void ranks_at(const char *file, int line, redisContext *c, const char *wanted, const char *format,
              ...)
{
    va_list list;
    va_start(list, format);
    const char *got = search(c, false, format, list);
    va_end(list);
    check(file, line, format, got, wanted);
}

const redisReply *hit_member(const redisReply *r, size_t hit, size_t i)
{
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    if (r->elements <= hit) fail_msg("%zu hits only", r->elements);
    if (r->element[hit]->elements <= i) fail_msg("%zu members only", r->element[hit]->elements);
    return r->element[hit]->element[i];
}

void put_text(redisContext *c, int n, const char *json)
{
    expect(c, "@", "KV.SET ['b',%d] %s", n, with_quotes(json));
}

void wait_for_index(redisContext *c, const char *index)
{
    long until = testserver_now_ms() + LIMIT_MS;
    while (!text_fits(ask(c, "KV.INDEX INFO %s", index), "* state ready *")) {
        if (testserver_now_ms() > until) fail_msg("'%s' is never complete", index);
        testserver_pause();
    }
}

void create_index(redisContext *c, const char *args)
{
    char command[TEXT_BYTES];
    char name[130];
    snprintf(command, sizeof command, "KV.INDEX CREATE %s", args);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(args, " "), args);
    expect(c, "+OK", command);
    wait_for_index(c, name);
}

void wait_until_applied(redisContext *c)
{
    long until = testserver_now_ms() + LIMIT_MS;
    expect(c, "+OK", "CONFIG SET memtable-age 50");
    while (load_info(c, "memtable_entries") > 0 || load_info(c, "memtable_frozen") > 0) {
        if (testserver_now_ms() > until) fail_msg("it is never applied");
        testserver_pause();
    }
    expect(c, "+OK", "CONFIG SET memtable-age 5000");
}

void drop_indexes(redisContext *c)
{
    redisReply *r = ask_reply(c, "KV.INDEX LIST");
    for (size_t i = 0; i < r->elements; i++) {
        expect(c, ":1", "KV.INDEX DROP %b", r->element[i]->str, r->element[i]->len);
    }
    freeReplyObject(r);
}

void shelve_books(redisContext *c)
{
    static const char *const books[] = {
        "{'title':'The lazy dog','tags':['dogs','sleep'],'year':1999}",
        "{'title':'A quick brown fox','tags':['foxes'],'year':2005}",
        "{'title':'The quick dog and the lazy fox','tags':['dogs','foxes'],'year':2010}",
        "{'title':'Cooking for one','tags':['food'],'year':2015,'author':{'name':'Lazy Larry'}}",
        "{'tags':['untitled',['deep',{'er':'nested'}]]}",
        "{'title':42}",
        "{'year':1}",
    };
    for (size_t i = 0; i < sizeof books / sizeof *books; i++) put_text(c, (int)i + 1, books[i]);
    create_index(c, "b PREFIX ['b'] TEXT 3 title tags author.name");
}
