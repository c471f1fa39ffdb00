/* ask: the one question: may this user do that? Code that runs something, whatever protocol it came
 * by, asks here with all that it touches, before anything is looked up.
 */
#ifndef ACCESS_ASK_H
#define ACCESS_ASK_H

#include "access/user.h"

enum access_kind {
    ACCESS_KEY,      /* a key in path form, or a queue as !queue/<name> */
    ACCESS_PREFIX,   /* all names that begin with the text: a pattern must cover them */
    ACCESS_CHANNEL,  /* a channel */
    ACCESS_CHANNELS, /* a pattern of channels: an allowed one as it stands, or one that only fits
                      * what an allowed prefix fits */
    ACCESS_DATABASE, /* another one than the selected: `text` is its name, empty = it has none */
    ACCESS_DATABASES /* all there are */
};

struct access_subject {
    enum access_kind kind;
    struct slice text;
    unsigned needs;      /* enum access_need; of keys and prefixes. 0: any pattern will do */
    struct slice number; /* of a database, as text */
};

struct access_question {
    size_t command;                         /* its number in the catalog */
    struct slice first;                     /* its first argument; empty = none */
    bool has_database;                      /* it reads or writes one: */
    struct slice database, database_number; /* its name (empty = none), its number as text */
    const struct access_subject *subjects;
    size_t subject_count;
};

enum access_verdict {
    ACCESS_ALLOWED,
    /* The later, the closer it came with some selector. */
    ACCESS_DENIED_COMMAND,
    ACCESS_DENIED_DATABASE,
    ACCESS_DENIED_KEY,
    ACCESS_DENIED_CHANNEL,
};

/* One selector must allow all of it. *which: the subject that was denied, of the selector that came
 * closest; for DENIED_KEY, DENIED_CHANNEL, and DENIED_DATABASE if it is of one: else SIZE_MAX. */
enum access_verdict access_ask(const struct user *u, const struct access_catalog *catalog,
                               const struct access_question *q, size_t *which);
/* Does some selector allow the subject, whatever the command? For lists that show only what the
 * user may see. */
bool access_may(const struct user *u, const struct access_subject *x);

#endif
