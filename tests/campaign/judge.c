/* judge: the parts that all rules use, and the counts. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/judge_int.h"

#define PROBLEMS_SHOWN 50

void judge_problem(struct judge *j, const char *format, ...)
{
    va_list args;
    if (j->result.problems++ >= PROBLEMS_SHOWN) return;
    va_start(args, format);
    vfprintf(j->out, format, args);
    va_end(args);
    fputc('\n', j->out);
}

void *judge_room(size_t count, size_t bytes)
{
    void *p = calloc(count + 1, bytes);
    if (p == NULL) abort();
    return p;
}

const struct history_row *judge_row(const struct judge *j, size_t i)
{
    return (const struct history_row *)j->h->feed.items + i;
}

struct judge_commit *judge_commit(const struct judge *j, size_t i)
{
    return (struct judge_commit *)j->commits.items + i;
}

struct judge_commit *judge_find_commit(const struct judge *j, uint64_t version)
{
    size_t lo = 0;
    size_t hi = j->commits.count;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (judge_commit(j, mid)->version < version)
            lo = mid + 1;
        else
            hi = mid;
    }
    bool is_there = lo < j->commits.count && judge_commit(j, lo)->version == version;
    return is_there ? judge_commit(j, lo) : NULL;
}

/* How many rows of the key are not after the version. */
static size_t rows_until(const struct judge *j, size_t key, uint64_t version)
{
    size_t lo = j->row_start[key];
    size_t hi = j->row_start[key + 1];
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (judge_row(j, j->rows[mid])->version <= version)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo - j->row_start[key];
}

const struct history_row *judge_state(const struct judge *j, size_t key, uint64_t version)
{
    size_t n = rows_until(j, key, version);
    return n == 0 ? NULL : judge_row(j, j->rows[j->row_start[key] + n - 1]);
}

const struct history_row *judge_next(const struct judge *j, size_t key, uint64_t version)
{
    size_t at = j->row_start[key] + rows_until(j, key, version);
    return at == j->row_start[key + 1] ? NULL : judge_row(j, j->rows[at]);
}

/* The feed as commits; they must rise. */
static void make_commits(struct judge *j)
{
    struct judge_commit *last = NULL;
    for (size_t i = 0; i < j->h->feed.count; i++) {
        const struct history_row *row = judge_row(j, i);
        if (last != NULL && row->version == last->version) {
            last->count++;
            continue;
        }
        if (last != NULL && row->version < last->version) {
            judge_problem(j, "feed: version %" PRIx64 " comes after %" PRIx64, row->version,
                          last->version);
        }
        last = history_add(&j->commits);
        *last = (struct judge_commit){.version = row->version, .first = i, .count = 1, .op = NO_OP};
    }
}

static void sort_rows(struct judge *j)
{
    size_t *at = judge_room(j->h->keys.count, sizeof *at);
    for (size_t i = 0; i < j->h->feed.count; i++) j->row_start[judge_row(j, i)->key + 1]++;
    for (size_t k = 0; k < j->h->keys.count; k++) j->row_start[k + 1] += j->row_start[k];
    memcpy(at, j->row_start, j->h->keys.count * sizeof *at);
    for (size_t i = 0; i < j->h->feed.count; i++) j->rows[at[judge_row(j, i)->key]++] = i;
    free(at);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void count_ops(struct judge *j)
{
    int64_t *ends = judge_room(j->h->ops.count, sizeof *ends);
    struct judge_result *r = &j->result;
    size_t n = 0;
    for (size_t i = 0; i < j->h->ops.count; i++) {
        const struct history_op *op = &history_ops(j->h)[i];
        r->reads += op->kind == HISTORY_READ;
        r->looks += op->kind == HISTORY_LOOK;
        r->takes += op->kind == HISTORY_TAKE;
        if (op->kind != HISTORY_WRITE) continue;
        r->acknowledged += op->outcome == HISTORY_DONE;
        r->unknown += op->outcome == HISTORY_UNKNOWN;
        r->refused += op->outcome == HISTORY_REFUSED;
        if (op->outcome == HISTORY_DONE && op->ended_us <= j->h->stop_us) ends[n++] = op->ended_us;
    }
    qsort(ends, n, sizeof *ends, by_time);
    for (size_t i = 1; i < n; i++) {
        if (ends[i] - ends[i - 1] > r->gap_us) r->gap_us = ends[i] - ends[i - 1];
    }
    free(ends);
}

struct judge_result judge_history(const struct history *h, FILE *out)
{
    struct judge j = {.h = h, .out = out, .commits = {.item_bytes = sizeof(struct judge_commit)}};
    j.commit_of = judge_room(h->ops.count, sizeof *j.commit_of);
    j.row_start = judge_room(h->keys.count + 1, sizeof *j.row_start);
    j.rows = judge_room(h->feed.count, sizeof *j.rows);
    count_ops(&j);
    make_commits(&j);
    if (j.result.problems == 0) {
        sort_rows(&j);
        judge_owners(&j);
        judge_replay(&j);
        judge_order(&j);
        judge_queue(&j);
    }
    free(j.commit_of);
    free(j.row_start);
    free(j.rows);
    free(j.commits.items);
    return j.result;
}
