/* bench_int: the parts of `tupledctl bench`: what is asked for (bench_mix.c), how it is asked for
 * over many connections at a time (bench_load.c), and the subcommand (bench.c).
 */
#ifndef TOOL_BENCH_INT_H
#define TOOL_BENCH_INT_H

#include "base/histogram.h"
#include "base/random.h"
#include "tool/tool.h"

#define BENCH_ID_CHARS 9 /* with its end */
#define BENCH_STAMP_BYTES 64
#define BENCH_RECEIPT_BYTES 512

/* What one operation keeps from step to step. Each is under way once at a time. */
struct bench_slot {
    size_t number; /* of all slots, from 0 */
    unsigned step;
    int64_t started_us;
    bool has_reply, has_message; /* watch: an operation is over with both */
    char stamp[BENCH_STAMP_BYTES];
    char receipt[BENCH_RECEIPT_BYTES];
};

struct bench {
    const struct tool *tool;
    int64_t connections, pipeline, seconds, requests, keys, value_bytes;
    char id[BENCH_ID_CHARS]; /* of this run: all it writes has it in its name */
    char *value;             /* JSON, owned */
    struct rng rng;
    int stop_fd; /* can be read when the run is to end early */
};

enum bench_verdict {
    BENCH_STEP, /* the operation goes on with its next command */
    BENCH_OVER,
    BENCH_BAD, /* the reply is not what it should be */
};

struct bench_mix {
    const char *name, *summary;
    bool needs_keys; /* those that are written beforehand */
    bool is_watched; /* a second connection for each hears of what the first one writes */
    /* Appends the next command of the slot. */
    void (*ask)(struct bench *b, struct bench_slot *s, struct wire *w);
    /* Of a reply that is no error. */
    enum bench_verdict (*hear)(struct bench *b, struct bench_slot *s, const redisReply *r);
};

struct bench_result {
    struct histogram times;
    uint64_t done;
    int64_t took_us, worst_us;
    bool was_stopped;
};

extern const struct bench_mix bench_mixes[]; /* ended by one without a name */

/* The key with that number, as JSON and as a plain key. */
#define BENCH_KEY_BYTES 96
void bench_key(const struct bench *b, uint64_t number, char out[BENCH_KEY_BYTES]);
void bench_plain_key(const struct bench *b, uint64_t number, char out[BENCH_KEY_BYTES]);

/* Writes the keys / takes away everything that has the id. What is wrong is said. */
enum tool_status bench_fill(struct bench *b, struct wire *w);
enum tool_status bench_clean(struct bench *b, struct wire *w);

/* Runs a mix over its connections. */
enum tool_status bench_load(struct bench *b, const struct bench_mix *mix, struct bench_result *out);

#endif
