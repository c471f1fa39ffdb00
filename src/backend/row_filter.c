/* row_filter: the error for a filter that is more work on one value than is allowed. */
#include "backend/backend.h"

enum err row_filter_check(const struct row_filter *f, struct slice value, uint64_t max,
                          struct error *e)
{
    if (row_filter_work(f, value) <= max) return OK;
    return error_set(e, ERR_LIMIT,
                     "where: %zu conditions on a value of %zu bytes exceed the limit for work "
                     "(%llu bytes to scan)",
                     f->passes, value.len, (unsigned long long)max);
}
