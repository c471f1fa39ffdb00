/* bench_where: many small objects, and filtered counts of them.
 *
 *   bench_where fill port entries           KV.SET of all, pipelined; prints the rate
 *   bench_where sql entries                 prints SQL that makes table t(key, value) of the same
 *   bench_where count port filter           one KV.COUNT WHERE; prints how many matched, seconds
 *   bench_where again port seconds filter   KV.COUNT WHERE one after the other; prints how many
 *                                           there were, and the median and the longest in ms
 *
 * An entry, about 100 bytes of JSON; its keys are those of bench_paced:
 *   ["key","000000004711"]  {"name":"user 000000000815","status":"open","n":815123,"price":17.25,
 *                            "tags":["red","small"]}
 * There are 10,000 names in no order, 5 states, n below 1,000,000, prices below 100.
 */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/random.h"
#include "bench/help.h"

#define WINDOW 1024
#define COUNTS_MAX 100000

/* ---- the entries ------------------------------------------------------------------------------
 */

struct row {
    char key[40], value[160];
};

static void row_make(struct row *row, uint64_t number)
{
    static const char *const states[] = {"new", "open", "paid", "sent", "done"};
    static const char *const colours[] = {"red", "green", "blue", "grey"};
    static const char *const sizes[] = {"small", "medium", "large"};
    struct rng rng;
    rng_init(&rng, number);
    uint64_t name = rng_below(&rng, 10000);
    uint64_t cents = rng_below(&rng, 10000);
    snprintf(row->key, sizeof row->key, "[\"key\",\"%012" PRIu64 "\"]", number);
    snprintf(row->value, sizeof row->value,
             "{\"name\":\"user %012" PRIu64 "\",\"status\":\"%s\",\"n\":%" PRIu64
             ",\"price\":%" PRIu64 ".%02" PRIu64 ",\"tags\":[\"%s\",\"%s\"]}",
             name, states[rng_below(&rng, 5)], rng_below(&rng, 1000000), cents / 100, cents % 100,
             colours[rng_below(&rng, 4)], sizes[rng_below(&rng, 3)]);
}

static int fill(const char *port, uint64_t entries)
{
    redisContext *c = bench_connect(port);
    struct row row;
    int64_t from_us = bench_now_us();
    uint64_t received = 0;
    for (uint64_t i = 0; i < entries; i++) {
        row_make(&row, i);
        redisAppendCommand(c, "KV.SET %s %s", row.key, row.value);
        if (i - received < WINDOW) continue;
        freeReplyObject(bench_take(c));
        received++;
    }
    while (received++ < entries) freeReplyObject(bench_take(c));
    printf("%.0f\n", (double)entries * 1e6 / (double)(bench_now_us() - from_us));
    redisFree(c);
    return 0;
}

static int print_sql(uint64_t entries)
{
    struct row row;
    puts("CREATE TABLE t(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;\nBEGIN;");
    for (uint64_t i = 0; i < entries; i++) {
        row_make(&row, i); /* no ' in it */
        printf("INSERT INTO t VALUES('%s','%s');\n", row.key, row.value);
    }
    puts("COMMIT;");
    return 0;
}

/* ---- counting ---------------------------------------------------------------------------------
 */

static int64_t count_once(redisContext *c, const char *filter, long long *matched)
{
    int64_t from_us = bench_now_us();
    redisAppendCommand(c, "KV.COUNT PREFIX [\"key\"] WHERE %s", filter);
    redisReply *r = bench_take(c);
    *matched = r->integer;
    freeReplyObject(r);
    return bench_now_us() - from_us;
}

static int count(const char *port, const char *filter)
{
    redisContext *c = bench_connect(port);
    long long matched = 0;
    int64_t took_us = count_once(c, filter, &matched);
    printf("%lld %.6f\n", matched, (double)took_us / 1e6);
    redisFree(c);
    return 0;
}

static int again(const char *port, int64_t seconds, const char *filter)
{
    redisContext *c = bench_connect(port);
    int64_t *took_us = mem_alloc(COUNTS_MAX * sizeof *took_us);
    int64_t from_us = bench_now_us();
    size_t counts = 0;
    while (counts < COUNTS_MAX && (counts == 0 || bench_now_us() - from_us < seconds * 1000000)) {
        long long matched = 0;
        took_us[counts++] = count_once(c, filter, &matched);
    }
    qsort(took_us, counts, sizeof *took_us, bench_by_value);
    int64_t median_us = took_us[counts / 2];
    int64_t longest_us = took_us[counts - 1];
    printf("%zu %.0f %.0f\n", counts, (double)median_us / 1e3, (double)longest_us / 1e3);
    mem_free(took_us);
    redisFree(c);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (argc == 4 && strcmp(what, "fill") == 0) return fill(argv[2], strtoull(argv[3], NULL, 10));
    if (argc == 3 && strcmp(what, "sql") == 0) return print_sql(strtoull(argv[2], NULL, 10));
    if (argc == 4 && strcmp(what, "count") == 0) return count(argv[2], argv[3]);
    if (argc == 5 && strcmp(what, "again") == 0) {
        return again(argv[2], strtoll(argv[3], NULL, 10), argv[4]);
    }
    fprintf(stderr, "usage: bench_where fill port entries | sql entries | count port filter | "
                    "again port seconds filter\n");
    return 2;
}
