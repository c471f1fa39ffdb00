/* start_read: which databases a layer has read its rows of after a start. One that keeps rows in
 * memory (request ids, queues, definitions of indexes) asks which one to read next and says how it
 * went; its operations ask whether they may go on.
 *
 *   UNREAD --read--> READ
 *      |
 *      +--could not be read--> FAILED --a second later: tried again--> READ or FAILED
 *
 * A database that cannot be read stops nobody but those who need it: they get the error.
 */
#ifndef ENGINE_START_READ_H
#define ENGINE_START_READ_H

#include "engine/engine.h"

struct start_read {
    const char *what; /* in the log and in errors: "request ids" */
    uint8_t databases;
    unsigned unread, failed; /* how many */
    int64_t again_us;        /* failed ones are tried again then; monotonic */
    enum start_state { START_UNREAD, START_READ, START_FAILED } states[DATABASES_MAX];
    struct error errors[DATABASES_MAX];
};

/* `what` must live as long. */
void start_read_init(struct start_read *s, const char *what, uint8_t databases);
/* False: nothing is to be read now. */
bool start_read_next(struct start_read *s, uint8_t *database);
void start_read_done(struct start_read *s, uint8_t database);
void start_read_failed(struct start_read *s, uint8_t database, const struct error *why);
/* All were tried at least once. */
bool start_read_is_over(const struct start_read *s);
/* OK; ERR_WAIT: not yet, the caller puts its waiter somewhere; else why it cannot be. */
ERR_MUST_USE enum err start_read_check(const struct start_read *s, uint8_t database,
                                       struct error *e);

#endif
