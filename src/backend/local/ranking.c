/* ranking: see ranking.h. */
#include "backend/local/ranking.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

#define POINTER_TYPE "tupled_ranking"

/* FTS5's. */
#define K1 1.2
#define B 0.75
#define WEIGHT_MIN 1e-6

#define CAP_FIRST 64

/* ---- the best ---- */

void ranking_init(struct ranking *x, uint64_t keep)
{
    *x = (struct ranking){.keep = keep};
}

void ranking_fini(struct ranking *x)
{
    mem_free(x->best);
    mem_free(x->weights);
    mem_free(x->counts);
    *x = (struct ranking){.keep = 0};
}

static bool is_worse(const struct ranked *a, const struct ranked *b)
{
    return a->score < b->score || (a->score == b->score && a->row > b->row);
}

static void swap(struct ranked *a, struct ranked *b)
{
    struct ranked t = *a;
    *a = *b;
    *b = t;
}

static void sift_up(struct ranked *heap, size_t at)
{
    while (at > 0 && is_worse(&heap[at], &heap[(at - 1) / 2])) {
        swap(&heap[at], &heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static void sift_down(struct ranked *heap, size_t count)
{
    size_t at = 0;
    for (;;) {
        size_t worst = at;
        for (size_t child = 2 * at + 1; child < count && child <= 2 * at + 2; child++) {
            if (is_worse(&heap[child], &heap[worst])) worst = child;
        }
        if (worst == at) return;
        swap(&heap[at], &heap[worst]);
        at = worst;
    }
}

/* How many there are is what the client asks for, and what matches. */
static int make_room(struct ranking *x)
{
    if (x->count < x->cap) return SQLITE_OK;
    size_t cap = x->cap > 0 ? 2 * x->cap : CAP_FIRST;
    struct ranked *best = mem_resize_try(x->best, cap * sizeof *best);
    if (best == NULL) return SQLITE_NOMEM;
    x->best = best;
    x->cap = cap;
    return SQLITE_OK;
}

static int keep_row(struct ranking *x, const struct ranked *row)
{
    int rc = SQLITE_OK;
    if (x->count < x->keep) {
        rc = make_room(x);
        if (rc != SQLITE_OK) return rc;
        x->best[x->count++] = *row;
        sift_up(x->best, x->count - 1);
    } else if (is_worse(&x->best[0], row)) {
        x->best[0] = *row;
        sift_down(x->best, x->count);
    }
    return rc;
}

static int compare_best_first(const void *a, const void *b)
{
    return is_worse(a, b) ? 1 : is_worse(b, a) ? -1 : 0;
}

void ranking_sort(struct ranking *x)
{
    if (x->count > 0) qsort(x->best, x->count, sizeof *x->best, compare_best_first);
}

/* ---- BM25 ---- */

static int count_row(const Fts5ExtensionApi *fts, Fts5Context *ctx, void *arg)
{
    sqlite3_int64 *count = arg;
    (void)fts;
    (void)ctx;
    ++*count;
    return SQLITE_OK;
}

/* What is the same for all rows. */
static int prepare_weights(struct ranking *x, const Fts5ExtensionApi *fts, Fts5Context *ctx)
{
    sqlite3_int64 rows = 0;
    sqlite3_int64 words = 0;
    int rc = fts->xRowCount(ctx, &rows);
    if (rc == SQLITE_OK) rc = fts->xColumnTotalSize(ctx, -1, &words);
    if (rc != SQLITE_OK) return rc;
    x->phrases = (size_t)fts->xPhraseCount(ctx);
    x->words = (double)words / (double)rows;
    x->weights = mem_alloc((x->phrases + 1) * sizeof *x->weights);
    x->counts = mem_alloc((x->phrases + 1) * sizeof *x->counts);
    for (size_t i = 0; i < x->phrases && rc == SQLITE_OK; i++) {
        sqlite3_int64 with = 0;
        rc = fts->xQueryPhrase(ctx, (int)i, &with, count_row);
        double weight = log(((double)(rows - with) + 0.5) / ((double)with + 0.5));
        x->weights[i] = weight > 0 ? weight : WEIGHT_MIN;
    }
    return rc;
}

/* How often each phrase is in the row, and the most that is of any. */
static int count_phrases(struct ranking *x, const Fts5ExtensionApi *fts, Fts5Context *ctx,
                         double *most)
{
    for (size_t i = 0; i < x->phrases; i++) {
        Fts5PhraseIter it;
        int column = 0;
        int offset = 0;
        double count = 0;
        int rc = fts->xPhraseFirst(ctx, (int)i, &it, &column, &offset);
        if (rc != SQLITE_OK) return rc;
        for (; column >= 0; fts->xPhraseNext(ctx, &it, &column, &offset)) count++;
        x->counts[i] = count;
        if (count > *most) *most = count;
    }
    return SQLITE_OK;
}

/* The score of a row of so many words. It falls with them, also as it is rounded. */
static double score(const struct ranking *x, double words)
{
    double sum = 0;
    for (size_t i = 0; i < x->phrases; i++) {
        sum += x->weights[i] *
               ((x->counts[i] * (K1 + 1.0)) / (x->counts[i] + K1 * (1 - B + B * words / x->words)));
    }
    return sum;
}

static int rank_row(struct ranking *x, const Fts5ExtensionApi *fts, Fts5Context *ctx)
{
    struct ranked row = {.row = fts->xRowid(ctx)};
    double most = 0;
    int words = 0;
    int rc = x->weights == NULL ? prepare_weights(x, fts, ctx) : SQLITE_OK;
    if (rc == SQLITE_OK) rc = count_phrases(x, fts, ctx, &most);
    if (rc != SQLITE_OK) return rc;
    x->matches++;
    row.score = score(x, most);
    if (x->count == x->keep && !is_worse(&x->best[0], &row)) return SQLITE_OK;
    x->measured++;
    rc = fts->xColumnSize(ctx, -1, &words);
    row.score = score(x, words);
    return rc == SQLITE_OK ? keep_row(x, &row) : rc;
}

static void ranking_row(const Fts5ExtensionApi *fts, Fts5Context *fts_context, sqlite3_context *ctx,
                        int argc, sqlite3_value **argv)
{
    struct ranking *x = argc == 1 ? sqlite3_value_pointer(argv[0], POINTER_TYPE) : NULL;
    int rc = x != NULL ? rank_row(x, fts, fts_context) : SQLITE_MISUSE;
    if (rc != SQLITE_OK) sqlite3_result_error_code(ctx, rc);
}

int ranking_register(fts5_api *api)
{
    return api->xCreateFunction(api, "ranking_row", NULL, ranking_row, NULL);
}

int ranking_bind(sqlite3_stmt *stmt, int at, struct ranking *x)
{
    return sqlite3_bind_pointer(stmt, at, x, POINTER_TYPE, NULL);
}
