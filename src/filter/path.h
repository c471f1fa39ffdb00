/* path: names a place inside a value: dotted names, `items[0].p`, `items[#-1]` (the last item),
 * `"a.b".c` (a quoted name, with JSON's escapes), `$` (the whole value), `$.a` and `$[0]`. A first
 * name that begins with `$` or `[` is quoted; a name without quotes is not empty. Compiled
 * once, then found in stored MessagePack bytes without building a tree. Filters, secondary indexes
 * and text indexes share it, so that a path means the same everywhere.
 *
 * Names go into objects and into Maps with such a string key, numbers into arrays; a value with an
 * id (shared references) is looked through, also when it is what was found; a reference to one is
 * not followed. What is not there is missing, never an error. Pure functions; a compiled path is
 * immutable, any thread may use it.
 */
#ifndef FILTER_PATH_H
#define FILTER_PATH_H

#include "base/arena.h"
#include "base/err.h"

#define PATH_BYTES_MAX 1024
#define PATH_STEPS_MAX 32

struct path;

/* In the arena, text copied. ERR_SYNTAX: "invalid path '<text>': <what>". */
ERR_MUST_USE enum err path_compile(struct slice text, struct arena *arena, const struct path **out,
                                   struct error *e);
/* As it was given. */
struct slice path_text(const struct path *p);
/* The name that it begins with, borrowed from the path. False: it begins with none. */
bool path_first_name(const struct path *p, struct slice *name);
/* Is it one name and nothing else? Then *name is that, borrowed from the path. */
bool path_is_name(const struct path *p, struct slice *name);
/* `value` has passed value_check. True: *found is the encoded value there, borrowed from `value`.
 */
bool path_find(const struct path *p, struct slice value, struct slice *found);

#endif
