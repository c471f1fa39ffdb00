/* permission: may the client's user do what the request says? Asked of every command before
 * anything is looked up (dispatch), again of each that EXEC runs, and each time a command that
 * waited is run again.
 */
#ifndef REQUEST_PERMISSION_H
#define REQUEST_PERMISSION_H

#include "request/subjects.h"

struct denial {
    enum access_verdict verdict;
    const struct command *command; /* which was not allowed, or whose subject was not */
    struct slice object;           /* of a key, channel or database; empty = it is not told */
    unsigned needs;                /* of a key: enum access_need */
    bool is_prefix;                /* all keys that fit `object` */
    bool is_of_index;              /* of what an index is of, which may not be told */
};

/* ERR_NOAUTH, ERR_NOPERM (in the access log too), ERR_WAIT, OK. */
ERR_MUST_USE enum err permission_ask(struct request *rq);
/* The same of any user, without log: ERR_NOPERM with *d. */
ERR_MUST_USE enum err permission_check(struct request *rq, const struct user *u, struct denial *d);
/* For what shows only what the user may see. */
bool may_read_below(const struct request *rq, struct slice tuple);
bool may_read_index(const struct request *rq, const struct definition *d);
bool may_read_queue(const struct request *rq, struct slice name);
bool may_use_database(const struct request *rq, const struct database *d);

/* Outside of any command: may the client say these words, may it use the database? */
bool client_may(struct env *env, struct client *c, const struct command *command,
                struct slice *argv, size_t argc);
bool client_may_use(struct env *env, struct client *c, uint16_t database);
/* May it say the command about x in that database? x NULL: about nothing in it. The texts of x are
 * in `arena`, where more is put. */
bool client_may_see(const struct client *c, const struct command *command, const struct database *d,
                    const struct access_subject *x, struct arena *arena);

/* The error of a command, as its user may see it: keys, indexes and types that it may not read are
 * left out of it. */
void permission_hide(struct request *rq, enum err r);

#endif
