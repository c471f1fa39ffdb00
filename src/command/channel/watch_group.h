/* watch_group: those who watch the same and are told in the same form. What is told is written once
 * for all of them and kept, in the order of the changes, until each watcher has it:
 *
 *   change 7   change 8   change 9   change 10
 *      ^                     ^                    ^
 *      A, stalled            B, C                 D, E, F: they have heard everything
 *
 * A member that has no room in its output is stalled and stays where it is. Of what is kept only
 * so many bytes are messages: the oldest are given up, and only the key is remembered, once for all
 * of its changes. Who comes to it then is told of the newest state. So a slow member costs no more
 * than the keys that have changed, and a thousand of them cost no more than one.
 *
 * A commit that few are to be told of is written into their outputs at once. All else is told at
 * the end of the turn, for a bounded time, and in the turns that follow.
 */
#ifndef COMMAND_CHANNEL_WATCH_GROUP_H
#define COMMAND_CHANNEL_WATCH_GROUP_H

#include "base/htab.h"
#include "command/channel/channel_int.h"

struct watch_group;
struct watch_position;

/* One channel of one client. */
struct watch_channel {
    struct slice name; /* first; as subscribed; its bytes follow the struct */
    uint64_t hash;
    struct client *client;
    uint16_t database;
    enum watch_kind kind;
    size_t bytes;                      /* counted as the client's */
    struct watch_channel *next, *prev; /* of the client */

    /* watch_group.c's */
    struct watch_group *group;
    struct watch_position *position;               /* what it is told next */
    struct watch_channel *group_next, *group_prev; /* with it at the position, or stalled */
    bool is_stalled;
    uint64_t since; /* changes up to this version are no news to it */
};

struct client_watches {
    struct htab channels[2]; /* SUBSCRIBE, PSUBSCRIBE */
    struct watch_channel *first;
    size_t channel_bytes;
    size_t kept_bytes;       /* of groups, kept for it alone or for it most */
    const char *cut_off_why; /* it is to be closed, as something cannot be told; NULL = it is not */
    bool is_ended;           /* the client has gone; what it has here is being freed */
};

/* A channel begins to listen, in the protocol and format that its client has now. */
void watch_group_join(struct env *env, struct watch_channel *ch, const struct watch_target *t);
/* It ends; at most *work changes are forgotten with it, and counted down. False: some are left, and
 * it is to be called again. */
bool watch_group_leave(struct watch_channel *ch, size_t *work);
/* Bytes that it costs beside its own name and struct: its part of the group. */
size_t watch_group_cost(const struct watch_channel *ch);

/* At the end of each turn. True while there is more to tell now. */
bool watch_groups_turn(struct env *env);
/* Every 10 ms or so: looks for stalled members that have room again. */
void watch_groups_tick(struct env *env);

void watch_groups_open(struct env *env);
void watch_groups_close(struct env *env);

#endif
