/* filter: WHERE (docs/filters.md): a JSON object, compiled once, run on stored MessagePack
 * bytes without building a tree. Fails closed: whatever it does not know is an error when it is
 * compiled, and what is unknown about a value does not match.
 *
 * Conditions are three-valued: a missing or null field makes a comparison unknown; unknown does not
 * match, also under $not. So is an order between different types (or with NaN, or the invalid
 * Date), a text operator on what is no text, and whatever is asked of a reference to a shared
 * value, but $exists and $null.
 *
 * {"$now":true} is a number, compared with numbers, and also the Date of that instant, compared
 * with Dates. undefined is null. Equality is deep (literal_int.h): Sets and Maps are equal in the
 * same order only.
 *
 * A compiled filter is immutable: any thread may run it. Its references belong to the loop thread.
 */
#ifndef FILTER_FILTER_H
#define FILTER_FILTER_H

#include "base/err.h"
#include "base/slice.h"

#define FILTER_BYTES_MAX (256 * 1024) /* of the JSON text */
#define FILTER_DEPTH_MAX 32           /* of $and, $or, $not */
/* Each operator, literal, $and, $or, $not and {} is one. */
#define FILTER_CONDITIONS_MAX 1000

struct filter;

/* {"$now":true} means now_ms. One reference, the caller's. ERR_SYNTAX "where: <what>", ERR_LIMIT
 * and ERR_NOMEM likewise; then *out is as before. A filter takes at most some 50 bytes of memory
 * for each of its text. */
ERR_MUST_USE enum err filter_compile(struct slice json, int64_t now_ms, struct filter **out,
                                     struct error *e);
void filter_ref(struct filter *f);
void filter_unref(struct filter *f); /* may be NULL */
/* `value` has passed value_check. Takes no memory; the time is at most one pass over the value and
 * the literals for each condition. */
bool filter_matches(const struct filter *f, struct slice value);
/* The names that paths of it begin with, each once, at most `max` of them; how many there are.
 * SIZE_MAX: a path begins with none (`$`), and is about all. */
size_t filter_names(const struct filter *f, struct slice *names, size_t max);
/* How many conditions it has: passes over a value, at most. */
size_t filter_conditions(const struct filter *f);

#endif
