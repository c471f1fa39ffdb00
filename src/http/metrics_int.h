/* metrics_int: what the files that write metrics share. */
#ifndef HTTP_METRICS_INT_H
#define HTTP_METRICS_INT_H

#include "command/observe/figures.h"
#include "http/metrics.h"

/* One writing of all of it. */
struct metrics {
    struct env *env;
    struct client *client;
    const struct metrics_options *options;
    struct metrics_out out;
    struct figures figures;
    struct arena arena;
    struct arena scratch; /* of one question */
};

const struct metric *metrics_at(enum metric_id id);
/* Begins the family, or the one with a single sample. */
void metrics_family(struct metrics *m, enum metric_id id);
void metrics_figure(struct metrics *m, enum metric_id id, uint64_t value);

/* Families that are no plain figures. metrics_server.c */
void metrics_build(struct metrics *m);
void metrics_nodes(struct metrics *m);
void metrics_commands(struct metrics *m);
void metrics_syncs(struct metrics *m);
/* metrics_names.c */
void metrics_queues(struct metrics *m);
void metrics_indexes(struct metrics *m);
void metrics_databases(struct metrics *m);

#endif
