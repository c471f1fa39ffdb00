/* feature: what a family of commands keeps beyond one command, and wants to be called for. A family
 * defines a `const struct feature` beside the state that is its own; src/command/table.c lists
 * them. So what runs commands (this folder) knows no family by name.
 *
 * Any member may be NULL. Everything is called on the loop thread.
 */
#ifndef REQUEST_FEATURE_H
#define REQUEST_FEATURE_H

#include "request/client_memory.h"

/* Channels of pub/sub that mean something of the server's own. */
struct feature_channel {
    bool (*is_mine)(struct slice name);
    /* May the client listen to it? Asked of all names before the first is subscribed to. */
    enum err (*check)(struct request *rq, struct slice name);
    /* What it touches besides the channel and the selected database. */
    void (*subjects)(struct subjects *s, struct slice name);
    /* After the confirmation. Again for one that it listens to: harmless. */
    void (*subscribe)(struct request *rq, struct slice name);
    /* Harmless when it does not listen. */
    void (*unsubscribe)(struct client *c, struct slice name);
};

struct feature {
    /* When env is filled, and at the end, when all clients are gone. */
    void (*open)(struct env *env);
    void (*close)(struct env *env);
    /* After `open`, and when commands run on another database: before its engine's first commit, so
     * that layers can be added. */
    void (*use_engine)(struct env *env, struct engine *g);
    /* At the end of each turn of the loop. True: it has more to do at once. */
    bool (*turn)(struct env *env);
    /* Every 10 ms or so. */
    void (*tick)(struct env *env);
    /* The client is gone. What may be much ends in client_end. */
    void (*client_gone)(struct env *env, struct client *c);
    /* It ends its session itself: QUIT, RESET. */
    void (*client_reset)(struct env *env, struct client *c);
    /* The client's user may do other things now. False: the client must go, what it has of this
     * feature is not allowed any more. */
    bool (*user_changed)(struct env *env, struct client *c);
    /* Ends at most *work of what it left, and counts it down; true when none is left. */
    bool (*client_end)(struct env *env, struct client *c, size_t *work);
    /* Adds what it holds; not to the total. */
    void (*client_bytes)(const struct client *c, struct client_memory *out);
    /* Its output ends at the offset `end` of its stream: what came after was dropped. */
    void (*reply_cut)(struct client *c, uint64_t end);
    /* What its replies after the offset `from` of its stream said was sent as something else, which
     * ends at `end`. */
    void (*reply_placed)(struct client *c, uint64_t from, uint64_t end);
    /* The command has its reply, took so long, and this may matter: it was slow by the
     * settings, or there are monitors. */
    void (*command_done)(struct request *rq, int64_t took_us);
    /* The command waits for something that may never come, and there are monitors: called once,
     * with client->run.is_shown set from then on. */
    void (*command_blocks)(struct request *rq);
    /* A turn of the loop lasted at least latency-monitor-threshold. */
    void (*turn_was_long)(struct env *env, int64_t took_us);
    const struct feature_channel *channel;
};

/* All of them, NULL-ended: src/command/table.c. */
extern const struct feature *const feature_table[];

#endif
