/* ranking: the best of the rows that match an expression of FTS5, by BM25, without ordering all of
 * them. It is an auxiliary function of FTS5 that a statement calls for each row that matches:
 *
 *   SELECT ranking_row(t, ?2) FROM t WHERE t MATCH ?1      ?2: bound to the struct ranking
 *
 * The scores are those of FTS5's own bm25(), with the same constants. For one phrase of idf i that
 * a row of D words has f times, where rows have A words on average, that is
 *
 *   i * f * (k1 + 1) / (f + k1 * (1 - b + b * D / A))
 *
 * D is a row of another table, and most of the work. A row has at least as many words as it has of
 * any one phrase; if even with so few its score would be no higher than the worst that is kept, its
 * length is not read.
 *
 * Sources: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009);
 * "The bm25() function" and "Custom Auxiliary Functions" in SQLite's document FTS5. To leave out
 * what cannot be among the best by a bound of its score is from Turtle and Flood, "Query
 * Evaluation: Strategies and Optimizations" (1995).
 */
#ifndef BACKEND_LOCAL_RANKING_H
#define BACKEND_LOCAL_RANKING_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct ranked {
    double score; /* higher is better */
    sqlite3_int64 row;
};

/* Of equal scores the row that comes first is the better one: so the best ten are the first of the
 * best hundred. */
struct ranking {
    struct ranked *best; /* owned; a heap with the worst on top until ranking_sort */
    size_t count, cap;
    uint64_t keep;     /* so many at most, >= 1 */
    uint64_t matches;  /* rows that were ranked */
    uint64_t measured; /* of these, those whose length was read */
    size_t phrases;    /* of the expression */
    double *weights;   /* owned; the idf of each; NULL before the first row */
    double *counts;    /* of each in the row */
    double words;      /* of a row, on average */
};

/* For each connection, once; a result of SQLite. */
int ranking_register(fts5_api *api);

void ranking_init(struct ranking *x, uint64_t keep);
void ranking_fini(struct ranking *x);
/* Binds it to a parameter of a statement, which must end before it. */
int ranking_bind(sqlite3_stmt *stmt, int at, struct ranking *x);
/* The best first. Nothing can be added then. */
void ranking_sort(struct ranking *x);

#endif
