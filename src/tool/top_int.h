/* top_int: what `tupledctl top` asks for (top_sample.c) and shows (top.c). */
#ifndef TOOL_TOP_INT_H
#define TOOL_TOP_INT_H

#include "tool/output.h"
#include "tool/tool.h"
#include "tool/wire.h"

enum { TOP_INFO, TOP_COMMANDS, TOP_LATENCY, TOP_SLOW, TOP_REPLIES };

/* What the server said at one moment. */
struct top_sample {
    int64_t at_us;
    redisReply *replies[TOP_REPLIES]; /* owned; NULL or an error: it is not known */
};

/* Two of them: rates are what happened in between. */
struct top_pair {
    struct top_sample before, now;
    const char *missing; /* a field that INFO did not have; NULL = it had all */
};

struct top_command {
    struct slice name; /* in the sample */
    double calls_per_second, failed_per_second;
    double usec_per_call;  /* of those in between */
    double p50_us, p99_us; /* since the start of the server */
};

#define TOP_COMMANDS_MAX 512
#define TOP_SLOWEST 5

enum tool_status top_take(struct wire *w, struct top_sample *s);
void top_sample_fini(struct top_sample *s);

/* A figure of INFO now; what it grew by each second. One that is not there is 0, or "". */
int64_t top_now(struct top_pair *p, const char *name);
double top_rate(struct top_pair *p, const char *name);
struct slice top_text(struct top_pair *p, const char *name);
/* Share of one processor. */
double top_cpu_percent(struct top_pair *p);
/* Milliseconds of a sync of the journal, of those in between; 0 when there was none. */
double top_sync_ms(struct top_pair *p);

/* Commands that ran in between, the most frequent first. */
size_t top_commands(const struct top_pair *p, struct top_command out[TOP_COMMANDS_MAX]);
/* The nth of the slow log: microseconds and its words; false when there are not so many. */
bool top_slow(const struct top_pair *p, size_t nth, int64_t *us, struct buf *words);

void top_json(struct top_pair *p);

#endif
