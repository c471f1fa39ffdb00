/* channel_int: what the commands about channels share (pubsub.c, publish.c, watch.c). */
#ifndef COMMAND_CHANNEL_CHANNEL_INT_H
#define COMMAND_CHANNEL_CHANNEL_INT_H

#include "request/permission.h"
#include "watch/watch.h"

/* pubsub.c */
/* Is the name of a channel short enough? */
ERR_MUST_USE enum err check_channel(struct request *rq, struct slice name);

/* watch.c: channels kv:watch: and kv:prefix: among those of SUBSCRIBE and PSUBSCRIBE */
struct watch_target {
    enum watch_kind kind;
    struct slice name;  /* as watch_add wants it */
    struct entry entry; /* WATCH_KEY: as it is now */
};
/* False: an ordinary channel or pattern. */
bool watch_is_channel(struct slice name, bool is_pattern);
/* What it watches, in the selected database. ERR_WAIT: the entry is being read. */
ERR_MUST_USE enum err watch_parse(struct request *rq, struct slice name, bool is_pattern,
                                  struct watch_target *t);
/* What it touches: the channel with the key in path form, and the key, or what lies below it. */
void watch_subjects(struct subjects *s, struct slice name, bool is_pattern);
void watch_subscribe(struct request *rq, struct slice name, const struct watch_target *t);
/* Appends the first message of a watched key, its current state; after all confirmations of its
 * SUBSCRIBE. */
void watch_reply_first(struct request *rq, struct slice name, const struct watch_target *t);
/* Harmless when it is none of the server's own. */
void watch_unsubscribe(struct client *c, struct slice name, bool is_pattern);

/* ---- watch_message.c ---- */

#define KEY_CHANNEL "kv:watch:"

/* What a message depends on beside the change. */
struct watch_form {
    struct slice name; /* of the channel or pattern, as subscribed */
    int proto;
    enum format format;
    bool is_pattern;
    watch_writer *write; /* in place of frames; NULL = none */
};

/* Appends a whole frame, or what the form's `write` makes of it; `commit` is the version of the
 * change, c->version that of the entry. */
void watch_message_write(struct buf *out, const struct watch_form *f, const struct change *c,
                         uint64_t commit);

#endif
