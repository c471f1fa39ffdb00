/* metrics_families: the table of families: metrics_int.h lists them. */
#include "http/metrics_int.h"

static const struct metric table[] = {
#define METRIC_ROW(id, kind, name, help) [M_##id] = {name, METRIC_##kind, help},
    METRICS(METRIC_ROW)
#undef METRIC_ROW
};

size_t metrics_count(void)
{
    return M_COUNT;
}

const struct metric *metrics_at(size_t i)
{
    INVARIANT(i < M_COUNT);
    return &table[i];
}
