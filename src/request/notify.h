/* notify: keyspace notifications: what became of a key, published on ordinary channels, as Redis
 * does it:
 *
 *   __keyspace@<database>__:<key>     the event, such as set
 *   __keyevent@<database>__:<event>   the key, as request/key_name.h has it
 *
 * They come from commits, not from commands: of each key of a transaction one event, the last, when
 * the commit is durable. Which events there are is in docs/notifications.md. With
 * notify-keyspace-events "" there is nothing but a look at a number in each commit.
 */
#ifndef REQUEST_NOTIFY_H
#define REQUEST_NOTIFY_H

#include "request/command.h"

/* notify-keyspace-events: where it is told, and which kinds of events are. Those of types that are
 * not here are accepted. */
enum notify_flag {
    NOTIFY_KEYSPACE = 1 << 0, /* K */
    NOTIFY_KEYEVENT = 1 << 1, /* E */
    NOTIFY_GENERIC = 1 << 2,  /* g */
    NOTIFY_STRING = 1 << 3,   /* $ */
    NOTIFY_EXPIRED = 1 << 4,  /* x */
    NOTIFY_LIST = 1 << 8,     /* l */
    NOTIFY_SET = 1 << 9,      /* s */
    NOTIFY_HASH = 1 << 10,    /* h */
    NOTIFY_ZSET = 1 << 11,    /* z */
    NOTIFY_STREAM = 1 << 13,  /* t */
    NOTIFY_MODULE = 1 << 14,  /* d: of the commands JSON.* */
};

/* The setting's text, in flags. ERR_SYNTAX. */
ERR_MUST_USE enum err notify_parse(struct slice text, uint64_t *flags, struct error *e);
/* Appends the text, in the order in which Redis shows it. */
void notify_write(uint64_t flags, struct buf *out);

/* Why the running command writes, for struct txn: 0 when its operations say it, or it is not asked
 * for. */
uint16_t notify_cause(const struct request *rq);
/* Of a command that does something else to one of its keys than its name says: as this one does it.
 * 0 likewise. */
uint16_t notify_cause_as(const struct request *rq, const char *command);

#endif
