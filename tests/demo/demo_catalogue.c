/* demo_catalogue: loads this machine's Debian package catalogue into a running server and asks
 * questions about it. Input: `apt-cache dumpavail` on stdin. Each record is one transaction:
 *
 *   CHECK ["packages",name] NONE       the first record of a name wins
 *   SET   ["packages",name] {...}      every field, numbers as numbers
 *   SET   ["sections",section,name] true
 *   SUM   ["section-count",section] 1
 *
 * Everything it then reads is compared with what it sent; a difference ends it with status 1. With
 * the word `again` it loads nothing and only reads and compares. With `questions` it makes indexes
 * and asks them (questions.c).
 */
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/htab.h"
#include "base/mem.h"
#include "catalogue.h"

#define WINDOW 256 /* transactions on the way */

struct section {
    struct slice name; /* first */
    uint64_t packages;
};

struct demo {
    redisContext *c;
    struct package *packages;
    size_t count, cap;
    struct htab names; /* of winners, kept by this program itself */
    struct htab sections;
    size_t distinct;
};

double demo_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void demo_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("demo: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static struct slice keep(struct slice s)
{
    uint8_t *p = mem_alloc(s.len + 1);
    if (s.len > 0) memcpy(p, s.data, s.len);
    return slice_of(p, s.len);
}

static void append_json_string(struct buf *out, struct slice s)
{
    buf_append_byte(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        uint8_t c = s.data[i];
        if (c == '"' || c == '\\') {
            buf_append_byte(out, '\\');
            buf_append_byte(out, c);
        } else if (c == '\n' || c == '\t') {
            buf_append_str(out, c == '\n' ? "\\n" : "\\t");
        } else if (c < 0x20) {
            buf_printf(out, "\\u%04x", c);
        } else {
            buf_append_byte(out, c);
        }
    }
    buf_append_byte(out, '"');
}

/* ---- the catalogue ---- */

struct record {
    struct buf json;
    struct buf name, section, description;
    int64_t size; /* -1 = not told */
    bool has_homepage;
    size_t fields;
};

static void record_begin(struct record *r)
{
    buf_clear(&r->json, SIZE_MAX);
    buf_clear(&r->name, SIZE_MAX);
    buf_clear(&r->section, SIZE_MAX);
    buf_clear(&r->description, SIZE_MAX);
    r->size = -1;
    r->has_homepage = false;
    buf_append_byte(&r->json, '{');
    r->fields = 0;
}

static void record_field(struct record *r, struct slice name, struct slice value)
{
    int64_t number = 0;
    if (r->fields++ > 0) buf_append_byte(&r->json, ',');
    append_json_string(&r->json, name);
    buf_append_byte(&r->json, ':');
    if (slice_to_i64(value, &number) && number < 1000000000000) {
        buf_append(&r->json, value.data, value.len);
    } else {
        append_json_string(&r->json, value);
    }
    if (slice_eq(name, slice_str("Package"))) buf_append(&r->name, value.data, value.len);
    if (slice_eq(name, slice_str("Section"))) buf_append(&r->section, value.data, value.len);
    if (slice_eq(name, slice_str("Description"))) {
        buf_append(&r->description, value.data, value.len);
    }
    if (slice_eq(name, slice_str("Size"))) r->size = number;
    if (slice_eq(name, slice_str("Homepage"))) r->has_homepage = true;
}

static void record_end(struct demo *d, struct record *r)
{
    if (r->name.len == 0) return;
    if (r->section.len == 0) buf_append_str(&r->section, "unknown");
    buf_append_byte(&r->json, '}');
    if (d->count == d->cap) {
        d->cap = d->cap == 0 ? 1024 : d->cap * 2;
        d->packages = mem_resize(d->packages, d->cap * sizeof *d->packages);
    }
    d->packages[d->count++] = (struct package){.name = keep(buf_slice(&r->name)),
                                               .section = keep(buf_slice(&r->section)),
                                               .description = keep(buf_slice(&r->description)),
                                               .size = r->size,
                                               .has_homepage = r->has_homepage,
                                               .json = keep(buf_slice(&r->json))};
}

/* Records are separated by empty lines; a line that begins with a blank goes on with the field. */
static void read_catalogue(struct demo *d)
{
    struct record r = {0};
    struct buf field = {0};
    struct buf value = {0};
    char *line = NULL;
    size_t cap = 0;
    ssize_t len = 0;
    record_begin(&r);
    while ((len = getline(&line, &cap, stdin)) >= 0) {
        if (len > 0 && line[len - 1] == '\n') len--;
        bool continues = len > 0 && (line[0] == ' ' || line[0] == '\t');
        if (continues) {
            buf_append_byte(&value, '\n');
            buf_append(&value, line, (size_t)len);
            continue;
        }
        if (field.len > 0) record_field(&r, buf_slice(&field), buf_slice(&value));
        buf_clear(&field, SIZE_MAX);
        buf_clear(&value, SIZE_MAX);
        if (len == 0) {
            record_end(d, &r);
            record_begin(&r);
            continue;
        }
        const char *colon = memchr(line, ':', (size_t)len);
        if (colon == NULL) continue;
        size_t at = (size_t)(colon - line);
        buf_append(&field, line, at);
        at++;
        while (at < (size_t)len && line[at] == ' ') at++;
        buf_append(&value, line + at, (size_t)len - at);
    }
    if (field.len > 0) record_field(&r, buf_slice(&field), buf_slice(&value));
    record_end(d, &r);
    free(line);
    buf_fini(&field);
    buf_fini(&value);
    buf_fini(&r.json);
    buf_fini(&r.name);
    buf_fini(&r.section);
    buf_fini(&r.description);
}

/* ---- the client ---- */

static void key_text(struct buf *out, const char *first, struct slice second, struct slice third)
{
    buf_clear(out, SIZE_MAX);
    buf_printf(out, "[\"%s\"", first);
    if (second.data != NULL) {
        buf_append_byte(out, ',');
        append_json_string(out, second);
    }
    if (third.data != NULL) {
        buf_append_byte(out, ',');
        append_json_string(out, third);
    }
    buf_append_byte(out, ']');
}

static void send_package(struct demo *d, const struct package *p)
{
    struct buf keys[3] = {{0}, {0}, {0}};
    struct slice none = slice_of(NULL, 0);
    key_text(&keys[0], "packages", p->name, none);
    key_text(&keys[1], "sections", p->section, p->name);
    key_text(&keys[2], "section-count", p->section, none);
    struct slice words[] = {slice_str("KV.ATOMIC"),
                            slice_str("CHECK"),
                            buf_slice(&keys[0]),
                            slice_str("NONE"),
                            slice_str("SET"),
                            buf_slice(&keys[0]),
                            p->json,
                            slice_str("SET"),
                            buf_slice(&keys[1]),
                            slice_str("true"),
                            slice_str("SUM"),
                            buf_slice(&keys[2]),
                            slice_str("1")};
    const char *argv[sizeof words / sizeof words[0]];
    size_t lens[sizeof words / sizeof words[0]];
    int argc = sizeof words / sizeof words[0];
    for (int i = 0; i < argc; i++) {
        argv[i] = (const char *)words[i].data;
        lens[i] = words[i].len;
    }
    if (redisAppendCommandArgv(d->c, argc, argv, lens) != REDIS_OK) demo_fail("%s", d->c->errstr);
    for (int i = 0; i < 3; i++) buf_fini(&keys[i]);
}

static redisReply *receive(struct demo *d)
{
    void *reply = NULL;
    if (redisGetReply(d->c, &reply) != REDIS_OK) demo_fail("connection: %s", d->c->errstr);
    redisReply *r = reply;
    if (r->type == REDIS_REPLY_ERROR) demo_fail("the server says: %s", r->str);
    return r;
}

/* As redisCommand: %s and %b. */
static redisReply *ask(struct demo *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int rc = redisvAppendCommand(d->c, format, args);
    va_end(args);
    if (rc != REDIS_OK) demo_fail("%s", d->c->errstr);
    return receive(d);
}

/* What must happen, decided without the server: the first record of a name is stored. */
static void expect_stored(struct demo *d, struct package *p)
{
    uint64_t hash = hash_bytes(p->name);
    if (htab_find(&d->names, hash, p->name) != NULL) return;
    p->is_stored = true;
    d->distinct++;
    htab_insert(&d->names, hash, &p->name);
    hash = hash_bytes(p->section);
    struct section *s = htab_find(&d->sections, hash, p->section);
    if (s == NULL) {
        s = mem_new(sizeof *s);
        s->name = p->section;
        htab_insert(&d->sections, hash, &s->name);
    }
    s->packages++;
}

static void receive_result(struct demo *d, struct package *p)
{
    redisReply *r = receive(d);
    bool was_stored = r->type == REDIS_REPLY_STRING;
    if (was_stored != p->is_stored) {
        demo_fail("%.*s: stored is %d, expected %d", (int)p->name.len, (const char *)p->name.data,
                  was_stored, p->is_stored);
    }
    freeReplyObject(r);
}

static void load(struct demo *d)
{
    double begin = demo_now_s();
    size_t bytes = 0;
    size_t received = 0;
    for (size_t i = 0; i < d->count; i++) {
        expect_stored(d, &d->packages[i]);
        send_package(d, &d->packages[i]);
        bytes += d->packages[i].json.len;
        if (i - received >= WINDOW) receive_result(d, &d->packages[received++]);
    }
    while (received < d->count) receive_result(d, &d->packages[received++]);
    double spent = demo_now_s() - begin;
    printf(
        "loaded   %zu records (%zu packages, %.1f MB of JSON), each one durable transaction of a "
        "check,\n         two sets and a counter: %.2f s, %.0f transactions/s, pipelined by %d\n",
        d->count, d->distinct, (double)bytes / 1e6, spent, (double)d->count / spent, WINDOW);
}

static void list_sections(struct demo *d)
{
    redisReply *r = ask(d, "KV.LIST PREFIX %s LIMIT 10000", "[\"section-count\"]");
    redisReply *entries = r->element[1];
    if (entries->elements != d->sections.count) demo_fail("%zu sections listed", entries->elements);
    printf("listed   %zu sections; some of them:", entries->elements);
    for (size_t i = 0; i < entries->elements; i += entries->elements / 4 + 1) {
        printf(" %s=%s", entries->element[i]->element[0]->str,
               entries->element[i]->element[1]->str);
    }
    printf("\n");
    freeReplyObject(r);
}

static void page_packages(struct demo *d)
{
    char cursor[8192] = "0";
    double begin = demo_now_s();
    size_t rows = 0;
    size_t pages = 0;
    do {
        redisReply *r = ask(d, "KV.LIST PREFIX %s LIMIT 1000 CURSOR %s", "[\"packages\"]", cursor);
        rows += r->element[1]->elements;
        pages++;
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
    double spent = demo_now_s() - begin;
    if (rows != d->distinct) demo_fail("paging saw %zu packages, not %zu", rows, d->distinct);
    printf("paged    %zu packages in %zu pages: %.2f s, %.0f entries/s\n", rows, pages, spent,
           (double)rows / spent);
}

static void compare_all(struct demo *d)
{
    struct buf key = {0};
    double begin = demo_now_s();
    size_t asked = 0;
    for (size_t i = 0; i < d->count; i++) {
        const struct package *p = &d->packages[i];
        if (!p->is_stored) continue;
        key_text(&key, "packages", p->name, slice_of(NULL, 0));
        redisReply *r = ask(d, "KV.GET %b", key.data, key.len);
        if (r->type != REDIS_REPLY_STRING || !slice_eq(slice_of(r->str, r->len), p->json)) {
            demo_fail("%.*s came back as:\n%s\nsent was:\n%.*s", (int)p->name.len,
                      (const char *)p->name.data, r->str, (int)p->json.len,
                      (const char *)p->json.data);
        }
        freeReplyObject(r);
        asked++;
    }
    double spent = demo_now_s() - begin;
    buf_fini(&key);
    printf("checked  %zu packages, byte for byte as sent: %.2f s, %.0f reads/s, one at a time\n",
           asked, spent, (double)asked / spent);
}

static void count_sections(struct demo *d)
{
    struct buf key = {0};
    double begin = demo_now_s();
    const struct section *s = NULL;
    for (size_t at = 0; (s = htab_next(&d->sections, &at)) != NULL;) {
        key_text(&key, "sections", s->name, slice_of(NULL, 0));
        redisReply *counted = ask(d, "KV.COUNT PREFIX %b", key.data, key.len);
        key_text(&key, "section-count", s->name, slice_of(NULL, 0));
        redisReply *counter = ask(d, "KV.GET %b", key.data, key.len);
        if (counted->integer != (long long)s->packages ||
            strtoull(counter->str, NULL, 10) != s->packages) {
            demo_fail("section %.*s: counted %lld, counter %s, expected %llu", (int)s->name.len,
                      (const char *)s->name.data, counted->integer, counter->str,
                      (unsigned long long)s->packages);
        }
        freeReplyObject(counted);
        freeReplyObject(counter);
    }
    printf("counted  %zu sections by range, each equal to its counter: %.2f s\n", d->sections.count,
           demo_now_s() - begin);
    buf_fini(&key);
}

int main(int argc, char **argv)
{
    struct demo d = {0};
    bool is_again = argc == 3 && strcmp(argv[2], "again") == 0;
    bool is_asking = argc == 3 && strcmp(argv[2], "questions") == 0;
    if (argc != 2 && !is_again && !is_asking) {
        demo_fail("usage: demo_catalogue port [again | questions] < catalogue");
    }
    d.c = redisConnect("127.0.0.1", (int)strtol(argv[1], NULL, 10));
    if (d.c == NULL || d.c->err != 0) demo_fail("cannot connect to port %s", argv[1]);
    read_catalogue(&d);
    if (d.count == 0) demo_fail("the catalogue is empty; run `apt-get update` first");
    if (argc == 2) {
        load(&d);
    } else {
        for (size_t i = 0; i < d.count; i++) expect_stored(&d, &d.packages[i]);
    }
    if (is_asking) {
        bool is_second = questions_index(d.c);
        questions_ask(d.c, d.packages, d.count, is_second);
    } else {
        list_sections(&d);
        page_packages(&d);
        compare_all(&d);
        count_sections(&d);
    }
    redisFree(d.c);
    return 0;
}
