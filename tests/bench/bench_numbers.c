/* bench_numbers: values that are numbers, to JSON and back, without a server; and campaigns.
 *
 *   bench_numbers speed rounds           of each kind of number 1 MB of MessagePack: milliseconds of
 *                                        processor time (median of the rounds) as value_to_json and
 *                                        value_from_json take, and as printf and strtod take for the
 *                                        same numbers, as long as there was no other way
 *   bench_numbers floats from step       every step'th binary32 of from..2139095039 (0 and 1: all
 *                                        that are not negative), as a double: printed as printf and
 *                                        strtod say, and read back
 *   bench_numbers random seconds seed    the same of doubles of random bits, of texts of 1 to 22
 *                                        digits and of the middle between two doubles
 *
 * The campaigns print how many there were, and end with 1 at the first that is wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/random.h"
#include "bench/help.h"
#include "codec/json_lex.h"
#include "codec/number.h"
#include "codec/pack.h"
#include "codec/value.h"
#include "number_oracle.h"

#define VALUE_BYTES (1 << 20)
#define ROUNDS_MAX 1000
#define FLOAT_LAST 0x7f7fffff /* bits of the largest */

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t bits_of(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

/* ---- speed ------------------------------------------------------------------------------------
 */

static double make_unit(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

static double make_any(struct rng *rng)
{
    double d = oracle_double(rng_next(rng));
    return isfinite(d) ? d : 0.1;
}

static double make_large(struct rng *rng)
{
    return 1.79e308;
}

static double make_float(struct rng *rng)
{
    return (double)(float)make_unit(rng);
}

static double make_price(struct rng *rng)
{
    return (double)(rng_next(rng) % 10000) / 100 + 0.01;
}

static double make_middle(struct rng *rng)
{
    return 9007199254740992.0;
}

struct kind {
    const char *name;
    double (*make)(struct rng *rng);
    const char *text; /* what is read, when it is not what was printed */
};

static const struct kind kinds[] = {
    {"0 to 1", make_unit, NULL},    {"of any size", make_any, NULL},
    {"1.79e308", make_large, NULL}, {"binary32", make_float, NULL},
    {"prices", make_price, NULL},   {"9007199254740993.0001", make_middle, "9007199254740993.0001"},
};

/* Nanoseconds of each round. */
struct times {
    int64_t print[ROUNDS_MAX], print_before[ROUNDS_MAX];
    int64_t parse[ROUNDS_MAX], parse_before[ROUNDS_MAX];
};

static double median_ms(int64_t *ns, size_t rounds)
{
    qsort(ns, rounds, sizeof *ns, bench_by_value);
    return (double)ns[rounds / 2] / 1e6;
}

static size_t print_before(const double *numbers, size_t count, struct buf *out)
{
    out->len = 0;
    for (size_t i = 0; i < count; i++) {
        char text[ORACLE_BYTES];
        oracle_format(numbers[i], text);
        buf_append_str(out, text);
        buf_append_byte(out, ',');
    }
    return out->len;
}

/* An array's. */
static double parse_before(const struct buf *json)
{
    double sum = 0;
    char *p = (char *)json->data;
    while (*p != ']') sum += strtod(p + 1, &p);
    return sum;
}

static void fill(const struct kind *k, double *numbers, size_t count, struct buf *packed)
{
    uint8_t head[PACK_HEAD_BYTES];
    struct rng rng;
    rng_init(&rng, 1);
    buf_append(packed, head, pack_head(PACK_ARRAY, 0, count, head));
    for (size_t i = 0; i < count; i++) {
        numbers[i] = k->make(&rng);
        pack_number(packed, numbers[i]);
    }
}

static void make_json(const struct kind *k, size_t count, struct buf *json)
{
    if (k->text == NULL) return;
    json->len = 0;
    for (size_t i = 0; i < count; i++) {
        buf_append_byte(json, i == 0 ? '[' : ',');
        buf_append_str(json, k->text);
    }
    buf_append_byte(json, ']');
}

static void measure(const struct kind *k, size_t rounds, struct times *t)
{
    struct buf packed, json, again;
    size_t count = VALUE_BYTES / 9;
    double *numbers = mem_alloc(count * sizeof *numbers);
    buf_init(&packed);
    buf_init(&json);
    buf_init(&again);
    fill(k, numbers, count, &packed);
    volatile double sum = 0;
    for (size_t i = 0; i < rounds; i++) {
        int64_t from = cpu_ns();
        json.len = 0;
        value_to_json(buf_slice(&packed), &json);
        t->print[i] = cpu_ns() - from;
        from = cpu_ns();
        print_before(numbers, count, &again);
        t->print_before[i] = cpu_ns() - from;
        make_json(k, count, &json);
        from = cpu_ns();
        again.len = 0;
        if (value_from_json(buf_slice(&json), NULL, &again, NULL) != OK) exit(1);
        t->parse[i] = cpu_ns() - from;
        buf_append_byte(&json, 0);
        from = cpu_ns();
        sum += parse_before(&json);
        t->parse_before[i] = cpu_ns() - from;
    }
    buf_fini(&packed);
    buf_fini(&json);
    buf_fini(&again);
    mem_free(numbers);
}

static int speed(size_t rounds)
{
    static struct times t;
    if (rounds < 1 || rounds > ROUNDS_MAX) return 2;
    printf("%-24s%10s%10s%10s%10s%10s%10s\n", "ms", "print", "before", "ratio", "parse", "before",
           "ratio");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        measure(&kinds[i], rounds, &t);
        double print = median_ms(t.print, rounds), parse = median_ms(t.parse, rounds);
        double print_was = median_ms(t.print_before, rounds);
        double parse_was = median_ms(t.parse_before, rounds);
        printf("%-24s%10.2f%10.2f%10.1f%10.2f%10.2f%10.1f\n", kinds[i].name, print, print_was,
               print_was / print, parse, parse_was, parse_was / parse);
    }
    return 0;
}

/* ---- campaigns --------------------------------------------------------------------------------
 */

static double parse(const char *text)
{
    struct json j = {.code = ERR_VALUE, .subject = "invalid number"};
    struct json_number n;
    j.start = j.at = (const uint8_t *)text;
    j.end = j.start + strlen(text);
    return json_number_scan(&j, &n) && j.at == j.end ? json_number_double(&n) : (double)NAN;
}

static void check_parse(const char *text)
{
    double expected = strtod(text, NULL), d = parse(text);
    if (bits_of(d) == bits_of(expected)) return;
    printf("%s is read as %a, strtod says %a\n", text, d, expected);
    exit(1);
}

static void check_print(double d)
{
    char text[NUMBER_TEXT_BYTES + 1], expected[ORACLE_BYTES];
    if (!isfinite(d) || (d == 0 && signbit(d))) return;
    text[number_format(d, text)] = '\0';
    oracle_format(d, expected);
    if (strcmp(text, expected) != 0 || bits_of(parse(text)) != bits_of(d)) {
        printf("%a is printed as %s, and should be %s\n", d, text, expected);
        exit(1);
    }
}

static int floats(uint64_t from, uint64_t step)
{
    uint64_t count = 0;
    for (uint64_t i = from; i <= FLOAT_LAST; i += step, count++) {
        uint32_t bits = (uint32_t)i;
        float f;
        memcpy(&f, &bits, sizeof f);
        check_print((double)f);
        if (count % (1u << 24) == 0) {
            printf("%" PRIu64 " from %" PRIu64 " on\n", count, i);
            fflush(stdout);
        }
    }
    printf("%" PRIu64 " floats\n", count);
    return 0;
}

static void check_random(struct rng *rng)
{
    char text[ORACLE_BYTES];
    double d = oracle_double(rng_next(rng));
    check_print(d);
    if (!isfinite(d)) return;
    snprintf(text, sizeof text, "%.*e", (int)rng_below(rng, 22), d);
    check_parse(text);
    /* x86: a long double has room for the middle, of which 21 digits are exact or nearly */
    long double e = (long double)(double)(rng_next(rng) >> 11) + 0.5L;
    int places = (int)rng_below(rng, 60) - 20;
    snprintf(text, sizeof text, "%.21Le", ldexpl(e, -places));
    check_parse(text);
}

static int run_random(int64_t seconds, uint64_t seed)
{
    struct rng rng;
    uint64_t count = 0;
    rng_init(&rng, seed);
    for (int64_t stop_us = bench_now_us() + seconds * 1000000; bench_now_us() < stop_us;) {
        for (int i = 0; i < 10000; i++, count++) check_random(&rng);
    }
    printf("%" PRIu64 " doubles, %" PRIu64 " texts\n", count, 2 * count);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    uint64_t second = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    if (argc == 3 && strcmp(what, "speed") == 0) return speed((size_t)first);
    if (argc == 4 && strcmp(what, "floats") == 0 && second > 0) return floats(first, second);
    if (argc == 4 && strcmp(what, "random") == 0) return run_random((int64_t)first, second);
    fprintf(stderr, "usage: bench_numbers speed rounds | floats from step | random seconds seed\n");
    return 2;
}
