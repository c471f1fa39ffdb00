/* users: all of them, by name. `default` is always there: connections that name no user have it.
 * Belongs to the loop thread.
 */
#ifndef ACCESS_USERS_H
#define ACCESS_USERS_H

#include "access/ask.h"

struct users;

/* What a user may do has changed, or the user is gone (u->is_deleted). */
typedef void users_changed(void *arg, struct user *u);

/* With default `on nopass ~* &* +@all`. `catalog` outlives it. `changed` may be NULL. */
struct users *users_new(const struct access_catalog *catalog, users_changed *changed, void *arg);
/* When no user is held any more. x may be NULL. */
void users_free(struct users *x);
/* New users have `allchannels` (acl-pubsub-default). */
void users_set_channels(struct users *x, bool allows_all);

/* NULL: there is none. Borrowed until the next change. */
struct user *users_find(struct users *x, struct slice name);
struct user *users_default(struct users *x);
size_t users_count(const struct users *x);
/* By name; NULL when i is past the last. */
struct user *users_at(const struct users *x, size_t i);

/* The user with this name and password; NULL: there is none that is on. Takes as long for a name
 * that is not there as for one that is. */
struct user *users_login(struct users *x, struct slice name, struct slice password);
/* u stays where it is, deleted or not, until as many releases. */
struct user *users_hold(struct user *u);
void users_release(struct user *u);

/* ACL SETUSER: makes or changes one; all of the words or none. */
ERR_MUST_USE enum err users_set(struct users *x, struct slice name, const struct slice *words,
                                size_t count, struct error *e);
/* False: there is none, or it is `default`. */
bool users_delete(struct users *x, struct slice name);

/* A copy, for trying a change: what becomes of its users is not reported, and none of them is held.
 * To be freed by users_free. */
struct users *users_copy(const struct users *x);

/* `user <name> <words>` lines: of all, by name. for_load: with what users_load needs to know them
 * for the same. */
void users_describe(const struct users *x, bool for_load, struct buf *out);
/* Such lines, empty ones and comments (#) in place of all that there are; all of it or, on an
 * error, nothing: ERR_SYNTAX says each line that is wrong, after the name `from`. A user that is in
 * both keeps its incarnation; without a line, default is as at first. */
ERR_MUST_USE enum err users_load(struct users *x, struct slice text, const char *from,
                                 struct error *e);

#endif
