/* path_int: what filters need of paths beyond path.h. */
#ifndef FILTER_PATH_INT_H
#define FILTER_PATH_INT_H

#include "filter/path.h"

/* As path_find, without looking for the end of what was found: *end is only past it. NULL: it is
 * missing. What is there may be a shared value. */
const uint8_t *path_locate(const struct path *p, struct slice value, const uint8_t **end);

/* Do they name the same place, however they are written? */
bool path_equal(const struct path *a, const struct path *b);

/* As much of a path or name as an error shows: whole characters. */
struct slice path_shown(struct slice text);

#endif
