/* command: the commands, from parsed arguments to a reply. One table (src/command/table.c)
 * dispatches them and is what COMMAND shows. A command is one `const struct command` above its
 * function; nothing here knows sockets.
 *
 * A command function reads rq->bound, which its arguments describe (arguments.h), writes its reply
 * through rq->w, raises rq->depends to the newest version its answer depends on, and returns OK; or
 * ERR_WAIT after the backend took rq->waiter (what it wrote is dropped and it is called again with
 * the same arguments when the waiter is woken); or another error, described in rq->error (what it
 * wrote is dropped, and the error is the reply).
 *
 * What must survive from one call to the next is kept in client->run.pending, whose owner is the
 * command.
 */
#ifndef REQUEST_COMMAND_H
#define REQUEST_COMMAND_H

#include "base/arena.h"
#include "codec/placeholder.h"
#include "request/env.h"
#include "resp/writer.h"

struct exec_messages; /* what EXEC publishes: publication.c */
struct exec_counts;
struct key_uses;   /* keys.h */
struct uuid_table; /* the UUIDs of a transaction: idem.c */
struct subjects;   /* subjects.h */
struct arguments;  /* arguments.h */
struct decoded;    /* decoded.h */

struct request {
    struct env *env;
    struct client *client;
    const struct command *command;
    struct slice *argv;
    size_t argc;
    uint8_t words_before; /* of argv, that are its name */
    bool words_are_wrong; /* they did not bind when permission was asked: nothing is run */
    void *bound;          /* the others, as the command's arguments say (bind.h); NULL = not yet */
    struct arena *arena;  /* until the reply is written */
    struct buf *scratch;  /* cleared by the function that uses it, and when the command is over */
    struct resp_writer *w;
    struct waiter *waiter;
    uint64_t depends;
    bool is_evaluated; /* its reply may depend on data, whatever version (serving.h) */
    struct error error;
    /* NULL outside EXEC and IDEM; else all reads and writes go through it, nothing may take more
     * than this turn, and a blocking command answers at once. */
    struct overlay *overlay;
    const struct placeholders *placeholders; /* NULL = the command does not write */
    struct exec_messages *messages; /* NULL outside EXEC; publishing waits for its commit */
    struct uuid_table *uuids;       /* NULL = none yet */
    struct slice idem;              /* the id given with IDEM; data NULL = none */
    enum format format;             /* of its values, and of those in the reply */
    bool has_format;                /* its own words said it: not the connection's */
    struct ran *ran;          /* what it ran itself, when it is over (observe.h); NULL = nothing */
    const struct ran *is_ran; /* it is one of these; NULL: it is the client's own */
    bool decodes_aside;       /* long words may be decoded by a thread (long_words.h): they stay
                               * where they are while it waits */
    struct decoded *decoded;  /* of its words, before it was run (decoded.h); NULL = nothing */
};

enum command_flag {
    CMD_READ = 1 << 0,
    CMD_WRITE = 1 << 1,
    CMD_ADMIN = 1 << 2,
    CMD_FAST = 1 << 3,
    CMD_NO_AUTH = 1 << 4,
    CMD_CONNECTION = 1 << 5,
    CMD_DANGEROUS = 1 << 6,
    CMD_KEYSPACE = 1 << 7,
    CMD_IDEM = 1 << 9,      /* takes IDEM id, as its last words */
    CMD_NO_MULTI = 1 << 10, /* refused between MULTI and EXEC */
    CMD_TRANSACTION = 1 << 11,
    CMD_STRING = 1 << 12, /* of the string view: its keys are plain words */
    /* A container whose run() answers what is none of its subcommands, or has too many words for
     * one: in Redis it is a plain command, and so all of it is counted as one. */
    CMD_ANY_WORD = 1 << 8,
    CMD_IDEM_FIRST = 1 << 13, /* with CMD_IDEM: its first words, not its last */
    CMD_BLOCKING = 1 << 14,   /* may wait for something other than the disk */
    CMD_PUBSUB = 1 << 15,
    CMD_SUBSCRIBED = 1 << 16, /* allowed in RESP2 while the connection listens to something */
    CMD_FORMAT = 1 << 17,     /* takes FORMAT and its word, as its last words before IDEM */
    CMD_UNQUEUED = 1 << 18,   /* runs at once, also between MULTI and EXEC */
    CMD_PUBLISHES = 1 << 19,  /* sends messages: counts as a write while writes are paused */
    CMD_UNPAUSED = 1 << 20,   /* runs also while everything is paused */
    CMD_RUNS_QUEUE = 1 << 21, /* runs what MULTI has queued, and counts as all of it */
    CMD_UNBOUNDED = 1 << 22,  /* block-max is not for it: it waits as long as it says */
    CMD_QUEUE = 1 << 23,      /* these three: categories of permissions */
    CMD_INDEX = 1 << 24,
    CMD_WATCHES = 1 << 25,
    CMD_ALL_KEYS = 1 << 26, /* shows or changes keys that it does not name */
    CMD_AUDITED = 1 << 27,  /* in the audit log */
    CMD_NODE = 1 << 28,     /* also answered by a node that does not lead ... */
    CMD_FOLLOWER = 1 << 29, /* ... to those who said READONLY, of what it has */
    CMD_BITMAP = 1 << 30,   /* a category of permissions: it is about the bits of a value */
};

struct command {
    const char *name;   /* lower case; of a subcommand its own part */
    unsigned flags;     /* enum command_flag */
    unsigned key_flags; /* enum key_flag: what becomes of keys whose row does not say it */
    /* With KEY_VARIABLE: what becomes of them with these words; the name is counted. */
    unsigned (*key_flags_of)(const struct slice *argv, size_t argc);
    const char *group;                 /* of COMMAND DOCS */
    const char *const *categories;     /* of types of values, NULL-ended, when it is about several;
                                        * else NULL: by its group */
    const char *since;                 /* first version that has it; NULL = COMMAND_SINCE */
    const char *summary;               /* one line */
    const struct arguments *arguments; /* what it takes (arguments.h), without IDEM and FORMAT */
    const char *brief; /* what COMMAND DOCS shows in its place, where a hint must fit a line */
    const char *reply; /* one line for the manual; NULL = the summary says it */
    enum err (*run)(struct request *rq);
    /* Of a command that takes a number of words that may be any: where they end, counted from the
     * name. FORMAT before that is one of them. NULL: it has none. */
    size_t (*own_words)(const struct slice *argv, size_t argc);
    const struct command *const *subcommands; /* NULL-ended, or NULL */
    /* Is the i-th word a password? NULL: none is. Such words are in no log. */
    bool (*is_secret)(const struct slice *argv, size_t argc, size_t i);
    bool names_before_values; /* every other argument is a value: not for the audit trail */
    bool is_own; /* its reply depends on nothing that was evaluated, as with CMD_NODE (serving.h) */
};

/* Every command, NULL-ended, sorted by name: src/command/table.c. */
extern const struct command *const command_table[];
size_t command_count(void);
/* How many words are its name: 2 of a subcommand, else 1. */
size_t command_words_before(const struct command *c);
/* May it have `argc` words, of which `before` are its name? IDEM and FORMAT must be off. */
bool command_arity_fits(const struct command *c, size_t before, size_t argc);
/* The fewest words it may have with its name, without IDEM and FORMAT; negative: or more. */
int command_arity_own(const struct command *c);
/* The fewest words of the request's command, with its name. */
size_t request_words_least(const struct request *rq);
/* Has the request as many words as its command may have? IDEM and FORMAT must be off. */
bool request_arity_fits(const struct request *rq);
/* By name in any case; NULL when there is none. */
const struct command *command_find(struct slice name);
/* The first version of this server that has it, as COMMAND DOCS and the manual say it. */
#define COMMAND_SINCE "0.1.0"
const char *command_since(const struct command *c);
/* The command of words that begin with its name, and how it is called as a subcommand; NULL when
 * there is none, or when a container has no such subcommand. */
const struct command *command_of_words(const struct slice *argv, size_t argc,
                                       const struct command **parent);
/* "config" or "config|get"; *parent is set of a subcommand, else NULL. */
const struct command *command_find_full(struct slice name, const struct command **parent);
/* A command of one of Redis's types of values, whose name is its id. */
#define TYPE_COMMAND(of_group, id, more, uses, text, its_arguments, says, function)                \
    const struct command cmd_##id = {                                                              \
        .name = #id,                                                                               \
        .flags = CMD_STRING | (more),                                                              \
        .key_flags = uses,                                                                         \
        .group = (of_group),                                                                       \
        .since = "0.2.0",                                                                          \
        .summary = text,                                                                           \
        .arguments = &(its_arguments),                                                             \
        .reply = says,                                                                             \
        .run = function,                                                                           \
    }

/* HELP of the container that the request names: its subcommands, taken from the table. */
enum err command_help_run(struct request *rq);
extern const struct arguments no_arguments; /* shapes.h */
/* The subcommand HELP of a container: a struct of its own, so that it is counted apart. */
#define COMMAND_HELP(of_group, its_flags)                                                          \
    static const struct command sub_help = {                                                       \
        .name = "help",                                                                            \
        .flags = (its_flags),                                                                      \
        .group = of_group,                                                                         \
        .summary = "Returns a help text about the subcommands.",                                   \
        .arguments = &no_arguments,                                                                \
        .run = command_help_run,                                                                   \
    }

/* What HELLO and INFO call the version of Redis that libraries may take this server for: those that
 * gate features by it find what they expect. The setting redis-version may say 7.4.0 instead, since
 * some libraries want that before they use CLIENT TRACKING. */
#define REDIS_COMPATIBLE_VERSION "7.0.15"
const char *redis_version(const struct env *env);
/* Of one page of KV.LIST and its like. */
#define LIST_LIMIT_MAX 10000
#define LIST_PAGE_BYTES_MAX (16u << 20)

/* Runs one command: OK = a reply (maybe an error) was appended to rq->w->out, ERR_WAIT = parked. */
enum err command_run(struct request *rq);
/* Finds the command of rq->argv, takes IDEM and FORMAT off its arguments and checks their number;
 * for who only asks about it. */
ERR_MUST_USE enum err command_find_words(struct request *rq);
/* What rq->w has from `mark` on is dropped, with what is known about it. */
void reply_cut(struct request *rq, size_t mark);
/* A copy of a request becomes one of another command, with these words: those of its own. */
void request_be(struct request *rq, const struct command *c, struct slice *argv, size_t argc);
/* A resolved command, inside EXEC or not: its reply is appended, or its error returned. */
enum err command_call(struct request *rq);
/* Every 10 ms or so: ends pauses and blocked commands whose time has come. */
void command_tick(struct env *env);
/* In how many ms a tick may find something to do; INT64_MAX = nothing is known of. */
int64_t command_rest_ms(const struct env *env);
/* At the end of every turn of the loop, before db_turn_end. True when there is more to do, so that
 * the loop must not sleep. */
bool command_turn(struct env *env);

#endif
