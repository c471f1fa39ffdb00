/* collection_help: collections over a real backend in a directory of its own, with the fake clock.
 * Everything that may not fail asserts. One thread.
 */
#ifndef TESTS_UNIT_COLLECTION_HELP_H
#define TESTS_UNIT_COLLECTION_HELP_H

#include "collection/collection_int.h"
#include "unit/backend/local_help.h"

#define START_MS 1700000000000
#define CBENCH_DATABASES 4 /* that an audit looks at */

struct cbench {
    struct rig rig;
    struct engine *g;
    struct collections *all;
    struct arena arena;
    struct error e;
    size_t pack_bytes, counted_bytes;
};

/* counted_bytes: a megabyte. */
void cbench_open(struct cbench *t, size_t pack_bytes);
void cbench_close(struct cbench *t);
/* Ends and starts again: cleanly, or as after kill -9 (what was committed was synced). */
void cbench_restart(struct cbench *t);
void cbench_crash(struct cbench *t);
/* One turn of the loop. */
void cbench_turn(struct cbench *t);
/* Turns until the owner rows are read and what was forgotten is removed. */
void cbench_settle(struct cbench *t);
/* The clock stands there, in ms after START_MS, and what has expired is swept. */
void cbench_at(struct cbench *t, int64_t ms);

/* A data key, of a name; in the arena. */
struct slice cbench_key(struct cbench *t, unsigned database, const char *name);
/* In the arena. */
struct slice cbench_text(struct cbench *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* So many bytes, which end with the number; two of the same length agree in all before. */
struct slice cbench_long(struct cbench *t, size_t bytes, unsigned number);

/* What an operation does; it may run again from its beginning (ERR_WAIT). Details in t->e. */
typedef enum err cbench_change(struct cbench *t, struct view *v, void *arg);
/* One evaluation over a transaction that is under way. May say ERR_WAIT. */
ERR_MUST_USE enum err cbench_evaluate(struct cbench *t, struct overlay *o, unsigned database,
                                      cbench_change *change, void *arg);
/* A transaction of one. */
enum err cbench_commit(struct cbench *t, cbench_change *change, void *arg);
/* A transaction of several evaluations, which `body` makes; it may run again. *version may be NULL.
 */
typedef enum err cbench_body(struct cbench *t, struct overlay *o, void *arg);
enum err cbench_transact(struct cbench *t, cbench_body *body, void *arg);
/* A transaction of these operations. */
enum err cbench_run(struct cbench *t, unsigned database, struct op *ops, size_t count);
enum err cbench_flush(struct cbench *t, unsigned database, bool is_drop);
/* A read outside of a transaction: again until it need not wait. */
enum err cbench_read(struct cbench *t, cbench_change *read, void *arg);

/* ---- one change each, committed ---- */

/* `count` elements of the kind at the key, numbers from `from` on: names or values "<number>",
 * scores the number. */
void cbench_fill(struct cbench *t, struct slice key, enum collection_kind kind, unsigned from,
                 unsigned count);
/* As stored; exists also when it has expired. */
struct entry cbench_stored(struct cbench *t, struct slice key);
/* Is it a spread collection, and which? */
bool cbench_is_spread(struct cbench *t, struct slice key, struct collection_head *out);

/* See collection_audit.h. How many spread collections there are. */
size_t cbench_audit(struct cbench *t);
/* Settles and audits. */
size_t cbench_audit_clean(struct cbench *t);

#endif
