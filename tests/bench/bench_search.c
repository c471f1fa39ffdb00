/* bench_search: how long one text search takes, beside FTS5 of SQLite on the same documents.
 *
 *   bench_search fill port documents              KV.SET of all; prints the rate
 *   bench_search table file documents             makes the same in a SQLite file
 *   bench_search ask port documents kind calls    KV.SEARCH, one after the other; prints p50 and
 *                                                 p99 in us, how many were found, and a sum over
 *                                                 them
 *   bench_search fts file documents kind calls    the same of the SQLite file
 *
 * Kinds of queries:
 *
 *       rare     one word that about 30 of 100,000 documents have
 *       common   one word that a tenth to a third of them have
 *       two      two words, of which each is in 0.4 to 4 % of them
 *       phrase   two words that stand beside each other in some document
 *       prefix   three letters with which about ten words begin
 *
 * A document has 30 to 60 words in `title` and `body`, drawn from 20,000 so that the word of rank r
 * comes as often as 1/r (Zipf). All is made from the number of the document or of the call, so both
 * sides have the same documents and are asked the same. FTS5 is used as one would in a program:
 * rank, LIMIT 10, then the documents by their rowids; statements prepared once, 64 MB of pages.
 */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/random.h"
#include "bench/help.h"

#define WORDS 20000
#define WINDOW 256
#define DOCUMENT_WORDS_MAX 60
#define SEED_CALLS 1000000007

static double share_below[WORDS]; /* of words of this rank and below, of all words written */

static void fail(const char *why)
{
    fprintf(stderr, "bench_search: %s\n", why);
    exit(1);
}

/* ---- documents --------------------------------------------------------------------------------
 */

static void words_init(void)
{
    double sum = 0;
    for (int i = 0; i < WORDS; i++) share_below[i] = sum += 1.0 / (i + 1);
    for (int i = 0; i < WORDS; i++) share_below[i] /= sum;
}

static unsigned word_draw(struct rng *rng)
{
    double at = (double)(rng_next(rng) >> 11) / 9007199254740992.0; /* 2 to the 53rd */
    unsigned low = 0;
    unsigned high = WORDS - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (share_below[middle] <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Three syllables, another word for each rank: 7919 has no divisor in common with 1,000,000. */
static void word_text(unsigned rank, char text[7])
{
    uint64_t number = ((uint64_t)rank * 7919 + 13) % 1000000;
    for (int i = 0; i < 3; i++, number /= 100) {
        text[2 * i] = "bcdfghjklmnprstvwxzq"[number % 100 / 5];
        text[2 * i + 1] = "aeiou"[number % 5];
    }
    text[6] = '\0';
}

struct document {
    unsigned words[DOCUMENT_WORDS_MAX];
    unsigned count, title_count;
    char title[80], body[480], value[640];
};

static void join(const unsigned *words, unsigned count, char *out)
{
    for (unsigned i = 0; i < count; i++, out += 7) {
        word_text(words[i], out);
        out[6] = i + 1 < count ? ' ' : '\0';
    }
}

static void document_make(struct document *d, uint64_t number)
{
    struct rng rng;
    *d = (struct document){0};
    rng_init(&rng, number);
    d->count = 30 + (unsigned)rng_below(&rng, 31);
    d->title_count = 3 + (unsigned)rng_below(&rng, 6);
    for (unsigned i = 0; i < d->count; i++) d->words[i] = word_draw(&rng);
    join(d->words, d->title_count, d->title);
    join(d->words + d->title_count, d->count - d->title_count, d->body);
    snprintf(d->value, sizeof d->value, "{\"title\":\"%s\",\"body\":\"%s\",\"number\":%" PRIu64 "}",
             d->title, d->body, number);
}

/* ---- queries ----------------------------------------------------------------------------------
 */

static void query_make(const char *kind, uint64_t call, uint64_t documents, char *out, size_t size)
{
    struct rng rng;
    char a[7];
    char b[7];
    rng_init(&rng, SEED_CALLS + call);
    if (strcmp(kind, "rare") == 0) {
        word_text(10000 + (unsigned)rng_below(&rng, 10000), a);
        snprintf(out, size, "%s", a);
    } else if (strcmp(kind, "common") == 0) {
        word_text(10 + (unsigned)rng_below(&rng, 40), a);
        snprintf(out, size, "%s", a);
    } else if (strcmp(kind, "two") == 0) {
        word_text(100 + (unsigned)rng_below(&rng, 450), a);
        word_text(550 + (unsigned)rng_below(&rng, 450), b);
        snprintf(out, size, "%s %s", a, b);
    } else if (strcmp(kind, "phrase") == 0) {
        struct document d;
        document_make(&d, rng_below(&rng, documents));
        unsigned at = d.title_count + (unsigned)rng_below(&rng, d.count - d.title_count - 1);
        word_text(d.words[at], a);
        word_text(d.words[at + 1], b);
        snprintf(out, size, "\"%s %s\"", a, b);
    } else if (strcmp(kind, "prefix") == 0) {
        word_text((unsigned)rng_below(&rng, WORDS), a);
        snprintf(out, size, "%.3s*", a);
    } else {
        fail("rare, common, two, phrase or prefix");
    }
}

/* What asking brought: the same on both sides, or they did not do the same. */
struct result {
    int64_t *took_us;
    size_t calls;
    uint64_t found, sum;
};

/* Adds the number of a document that was found. */
static void result_add(struct result *r, const char *value)
{
    const char *from = strstr(value, "\"number\":");
    if (from == NULL) fail("a document without its number");
    r->sum += strtoull(from + 9, NULL, 10);
    r->found++;
}

static void result_print(struct result *r)
{
    qsort(r->took_us, r->calls, sizeof *r->took_us, bench_by_value);
    printf("%" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 "\n", r->took_us[r->calls / 2],
           r->took_us[r->calls * 99 / 100], r->found, r->sum);
    mem_free(r->took_us);
}

/* ---- tupled -----------------------------------------------------------------------------------
 */

static void fill(const char *port, uint64_t documents)
{
    static struct document d;
    redisContext *c = bench_connect(port);
    int64_t from_us = bench_now_us();
    uint64_t received = 0;
    for (uint64_t i = 0; i < documents; i++) {
        document_make(&d, i);
        redisAppendCommand(c, "KV.SET [\"doc\",%" PRIu64 "] %s", i, d.value);
        if (i - received < WINDOW) continue;
        freeReplyObject(bench_take(c));
        received++;
    }
    while (received++ < documents) freeReplyObject(bench_take(c));
    printf("%.0f\n", (double)documents * 1e6 / (double)(bench_now_us() - from_us));
    redisFree(c);
}

static void ask(const char *port, uint64_t documents, const char *kind, size_t calls)
{
    redisContext *c = bench_connect(port);
    struct result result = {.took_us = mem_alloc(calls * sizeof(int64_t)), .calls = calls};
    for (size_t i = 0; i < calls; i++) {
        char query[64];
        query_make(kind, i, documents, query, sizeof query);
        int64_t from_us = bench_now_us();
        redisAppendCommand(c, "KV.SEARCH docs %s LIMIT 10", query);
        redisReply *r = bench_take(c);
        result.took_us[i] = bench_now_us() - from_us;
        for (size_t k = 0; k < r->elements; k++) {
            result_add(&result, r->element[k]->element[1]->str);
        }
        freeReplyObject(r);
    }
    result_print(&result);
    redisFree(c);
}

/* ---- SQLite -----------------------------------------------------------------------------------
 */

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) fail(sqlite3_errmsg(db));
    return stmt;
}

static sqlite3 *open_file(const char *file)
{
    sqlite3 *db = NULL;
    if (sqlite3_open(file, &db) != SQLITE_OK) fail(file);
    run(db, "PRAGMA journal_mode=WAL; PRAGMA cache_size=-65536;");
    return db;
}

static void table(const char *file, uint64_t documents)
{
    static struct document d;
    sqlite3 *db = open_file(file);
    run(db, "CREATE VIRTUAL TABLE t USING fts5(title,body,tokenize='unicode61');"
            "CREATE TABLE document(id INTEGER PRIMARY KEY, value TEXT NOT NULL); BEGIN;");
    sqlite3_stmt *text = prepare(db, "INSERT INTO t(rowid,title,body) VALUES(?,?,?)");
    sqlite3_stmt *value = prepare(db, "INSERT INTO document VALUES(?,?)");
    for (uint64_t i = 0; i < documents; i++) {
        document_make(&d, i);
        sqlite3_bind_int64(text, 1, (sqlite3_int64)i + 1);
        sqlite3_bind_text(text, 2, d.title, -1, SQLITE_STATIC);
        sqlite3_bind_text(text, 3, d.body, -1, SQLITE_STATIC);
        sqlite3_bind_int64(value, 1, (sqlite3_int64)i + 1);
        sqlite3_bind_text(value, 2, d.value, -1, SQLITE_STATIC);
        if (sqlite3_step(text) != SQLITE_DONE) fail(sqlite3_errmsg(db));
        if (sqlite3_step(value) != SQLITE_DONE) fail(sqlite3_errmsg(db));
        sqlite3_reset(text);
        sqlite3_reset(value);
        if (i % 1000 == 999) run(db, "COMMIT; BEGIN;");
    }
    run(db, "COMMIT;");
    sqlite3_finalize(text);
    sqlite3_finalize(value);
    sqlite3_close(db);
}

static void fts(const char *file, uint64_t documents, const char *kind, size_t calls)
{
    sqlite3 *db = open_file(file);
    sqlite3_stmt *text = prepare(db, "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT 10");
    sqlite3_stmt *value = prepare(db, "SELECT value FROM document WHERE id=?");
    struct result result = {.took_us = mem_alloc(calls * sizeof(int64_t)), .calls = calls};
    static char values[10][640];
    for (size_t i = 0; i < calls; i++) {
        char query[64];
        size_t count = 0;
        query_make(kind, i, documents, query, sizeof query);
        int64_t from_us = bench_now_us();
        sqlite3_bind_text(text, 1, query, -1, SQLITE_STATIC);
        int rc = sqlite3_step(text);
        for (; rc == SQLITE_ROW; rc = sqlite3_step(text)) {
            sqlite3_bind_int64(value, 1, sqlite3_column_int64(text, 0));
            if (sqlite3_step(value) != SQLITE_ROW) fail("a document is missing");
            snprintf(values[count++], sizeof values[0], "%s",
                     (const char *)sqlite3_column_text(value, 0));
            sqlite3_reset(value);
        }
        sqlite3_reset(text);
        result.took_us[i] = bench_now_us() - from_us;
        if (rc != SQLITE_DONE) fail(sqlite3_errmsg(db));
        for (size_t k = 0; k < count; k++) result_add(&result, values[k]);
    }
    result_print(&result);
    sqlite3_finalize(text);
    sqlite3_finalize(value);
    sqlite3_close(db);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    uint64_t documents = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    size_t calls = argc > 5 ? strtoul(argv[5], NULL, 10) : 0;
    words_init();
    if (argc == 4 && strcmp(what, "fill") == 0) {
        fill(argv[2], documents);
    } else if (argc == 4 && strcmp(what, "table") == 0) {
        table(argv[2], documents);
    } else if (argc == 6 && strcmp(what, "ask") == 0 && calls > 0) {
        ask(argv[2], documents, argv[4], calls);
    } else if (argc == 6 && strcmp(what, "fts") == 0 && calls > 0) {
        fts(argv[2], documents, argv[4], calls);
    } else {
        fprintf(stderr, "usage: bench_search fill port documents | table file documents\n"
                        "       bench_search ask port|fts file documents kind calls\n");
        return 2;
    }
    return 0;
}
