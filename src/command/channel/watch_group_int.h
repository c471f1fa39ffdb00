/* watch_group_int: what the files of watch_group.h share: watch_log.c keeps what is to be told and
 * knows who has heard what, watch_tell.c tells, watch_group.c is about who listens. */
#ifndef COMMAND_CHANNEL_WATCH_GROUP_INT_H
#define COMMAND_CHANNEL_WATCH_GROUP_INT_H

#include "command/channel/watch_group.h"
#include "request/client_memory.h"

#define WATCH_BLOCK_BYTES (16u << 10) /* of messages, written at once; about */
#define WATCH_KEEP_BYTES (64u << 10)  /* of buffers, between two messages */

/* A change that some watchers have not been told. */
struct watch_item {
    struct slice key; /* first; internal; its bytes follow. Empty: everything was removed */
    uint64_t hash;
    uint64_t version;
    uint8_t *message; /* owned; NULL = the newest state is told */
    size_t len;
    bool is_superseded;        /* a later item is of the same key */
    struct watch_position *at; /* the watchers it is told next; NULL = none */
    struct watch_item *next, *prev;
};

/* Members who have heard the same. */
struct watch_position {
    struct watch_item *item;            /* NULL = everything */
    struct watch_channel *first, *last; /* those who are to be told now */
    size_t stalled;                     /* how many others, in the group's list */
};

struct watch_group {
    struct slice name; /* first; all that makes it another group; its bytes follow the struct */
    uint64_t hash;
    struct env *env;
    struct watcher watcher;
    struct watch_form form;
    size_t members;
    struct watch_item *first, *last;  /* oldest first; empty when all have been told all */
    struct watch_item *first_message; /* the oldest that may have one; NULL = none has */
    struct htab items;                /* the newest of each key */
    size_t message_bytes, key_bytes;
    struct watch_position *end; /* of those who have heard everything */
    struct watch_channel *stalled, *stalled_last;
    size_t stalled_count;
    struct watch_channel *payer; /* the client whose memory this counts as; NULL = none */
    size_t paid;

    /* What was written last, for the next at the same position. */
    struct buf block;
    struct watch_item *block_first, *block_last; /* NULL = none */
    uint64_t block_version;

    struct waiter waiter;                            /* an entry is being read from disk */
    struct watch_group *due_next, *due_prev;         /* NULL = not in watch_groups->due */
    struct watch_group *stalled_next, *stalled_prev; /* likewise, ->stalled */
};

struct watch_groups {
    struct htab table;
    struct watch_group *due;     /* ring of those with something to tell; where to go on */
    struct watch_group *stalled; /* ring of those with stalled members; likewise */
    struct buf message;          /* being written */
    bool has_cut_off;            /* a watcher is to be closed */
};

/* ---- watch_log.c ---- */

/* Something to hear for those at the end, and due. */
void watch_log_add(struct watch_group *g, const struct change *c);
/* Forgets the oldest changes, which all have been told; false: there are more of them. */
bool watch_log_trim(struct watch_group *g, size_t work);
void watch_item_free(struct watch_group *g, struct watch_item *it);
/* Counts what is kept as the memory of one of those who are not told yet. */
void watch_settle(struct watch_group *g);

struct watch_position *watch_position_new(struct watch_item *it);
/* Frees the group when it has no watcher, and with it changes that are not needed. */
void watch_position_release(struct watch_group *g, struct watch_position *p);
/* To the item; NULL = the end. The position where it was is to be released. */
void watch_move(struct watch_group *g, struct watch_channel *ch, struct watch_item *to);
/* Off its position, which is to be released. */
void watch_take_off(struct watch_group *g, struct watch_channel *ch);

/* ---- watch_tell.c ---- */

/* A message, valid until the next call; data NULL: there is no memory. */
struct slice watch_message_of(struct watch_group *g, const struct change *c);
/* Tells all watchers now, if they are few and have room. */
bool watch_tell_at_once(struct watch_group *g, const struct change *c);
/* Watchers that have room are told at the end of the turn. */
void watch_due_add(struct watch_group *g);
/* The group's waiter: an entry was read. */
void watch_was_read(struct waiter *w);
void watch_rings_leave(struct watch_group *g);

#endif
