/* script_int: what the commands of scripts share: the scripts that are known, what redis.call does,
 * and scripts that take longer than a turn.
 *
 * EVAL is one transaction: its commands run over one overlay, as those of EXEC do. At first it is
 * tried within a turn of the loop (attempt.c): one that must wait for the disk is dropped and runs
 * again from its start when what it waits for is there. One that takes longer than SHORT_US goes on
 * as a long run (long.h), from its start too: nothing that it did was anywhere but in its overlay.
 */
#ifndef COMMAND_SCRIPT_SCRIPT_INT_H
#define COMMAND_SCRIPT_SCRIPT_INT_H

#include "base/htab.h"
#include "base/list.h"
#include "base/log_limit.h"
#include "request/args.h"
#include "request/keys.h"
#include "request/shapes.h"
#include "script/sandbox.h"

/* Processor time of a script within a turn of the loop, and between MULTI and EXEC. */
#define SHORT_US 2000
#define SHORT_IN_EXEC_US 40000
#define SHORT_MEMORY_BYTES (8u << 20)
/* Of which compiled scripts take so much before all are compiled anew as they are needed. */
#define COMPILED_BYTES_MAX (SHORT_MEMORY_BYTES / 4 * 3)
/* A long script's last try holds what others write (request/exclusive.h) for so long at most. */
#define EXCLUSIVE_MS 1000
/* What it does in C at once, in that turn. */
#define SHORT_CHARGE_BYTES (256u << 10)
/* Commands of one script, and its operations: max-transaction-ops, but so many at least; programs
 * written for Redis put much into one. As it is committed in one turn, the processor time that its
 * commands may take there is limited too: so much for each that it may run. */
#define SCRIPT_CALLS_MIN 100000
#define SCRIPT_CALL_US 2
/* Scripts that are kept; those that were not used for longest are forgotten first. */
#define SCRIPTS_MAX 10000
#define SCRIPTS_BYTES_MAX (32u << 20)
/* Lines of redis.log in a second, of all scripts. */
#define SCRIPT_LOG_LINES 100

struct worker;
struct long_run;
struct libraries;

/* A script that is known by its SHA1. */
struct script {
    struct slice key;           /* first: the table looks here; of `sha` */
    struct slice text;          /* the other table looks here; of `code` */
    struct slice body;          /* of `text`: what is compiled, without the first line of flags */
    struct script *next, *prev; /* by use, the newest first */
    char sha[SANDBOX_SHA_CHARS + 1];
    uint8_t *code; /* owned */
    struct script_head head;
    int ref;            /* in the sandbox of the loop, when `compiled` is its number */
    uint64_t compiled;  /* 0 = it was not */
    unsigned long_left; /* it took longer than a turn: so many times it is not tried in one */
};

/* Of the server: env->scripts. */
struct scripts {
    struct htab by_sha;
    struct htab by_text;  /* an EVAL of one that is known takes no SHA1 */
    struct script newest; /* head of the circular list */
    struct scripts_counts counts;
    struct sandbox *sandbox;     /* owned: of scripts within a turn; NULL = none yet */
    uint64_t sandbox_number;     /* counts those made */
    struct worker *worker;       /* owned: threads of long runs; NULL = none yet */
    unsigned processors;         /* that the server may use; set with `worker` */
    struct long_run *runs;       /* circular list; NULL = none */
    struct libraries *libraries; /* owned: library.c */
    struct log_limit log_limit;  /* of redis.log */
};

/* What is run: a script or a function of a library. */
struct program {
    const char *name;      /* SHA1 or name of the function; borrowed */
    struct slice code;     /* of the script, or of the library; borrowed */
    struct script *script; /* NULL = a function */
    struct slice function; /* of the library `code`; data NULL = a script */
    struct slice library;  /* its name ... */
    uint64_t version;      /* ... and the version of its row */
    unsigned flags;        /* enum script_flag */
    bool is_readonly;      /* EVAL_RO, FCALL_RO, or its flags say so */
    const struct slice *keys, *args;
    size_t key_count, arg_count;
};

/* ---- cache.c ---- */

/* The script of that SHA1 (any case); NULL = it is not known. It is the newest then. */
struct script *script_find(struct scripts *x, struct slice sha);
/* Knows the script from now on. ERR_SYNTAX: its first line; ERR_LIMIT: it is too large. */
ERR_MUST_USE enum err script_add(struct scripts *x, struct slice code, struct script **out,
                                 struct error *e);
void script_forget(struct scripts *x, struct script *s);
void scripts_forget(struct scripts *x);
/* The sandbox of the loop; another one when the last was changed by a script, or when what was
 * compiled takes too much of its memory. ERR_NOMEM. */
ERR_MUST_USE enum err scripts_sandbox(struct scripts *x, struct error *e);
/* The program's function in it. ERR_SYNTAX; ERR_LIMIT: it has no memory for that. */
ERR_MUST_USE enum err program_compile(struct scripts *x, const struct program *p, int *ref,
                                      struct error *e);

/* ---- call.c: one command of a script ---- */

/* How many commands a script may run. */
size_t script_calls_max(const struct request *rq);
/* As engine_begin, for a script: as many operations as commands. */
struct overlay *script_overlay(const struct request *rq, struct arena *arena);

struct calling {
    struct request *rq; /* the script's own command, in its present run */
    struct overlay *overlay;
    struct arena *arena; /* as long as the overlay */
    struct exec_messages *messages;
    struct uuid_table *uuids;
    bool is_readonly;
    bool is_admitted; /* it may write: engine_admit */
    size_t calls;
    uint64_t depends;
    /* The database that the script has selected. */
    uint16_t database;
    uint64_t created;
    struct called *first, *newest; /* what it ran, in order */
    struct error error;            /* why it must end */
};

/* One command that was run to its reply, in the arena. */
struct called {
    struct called *next;
    const struct command *command; /* NULL: there is no such command, or not with these words */
    struct slice *argv;            /* all its words */
    size_t argc;
    int proto;
    uint16_t database; /* that is selected after it */
    int64_t took_us;
    enum err result;
    uint64_t reply; /* hash of it: long.c */
    int64_t ttl;    /* what the reply said, of those that say how long a key lives: long.c */
};

/* `arena` outlives it. */
void calling_init(struct calling *c, struct request *rq, struct arena *arena, struct overlay *o);
/* Runs it: its reply, maybe an error, is in `reply`, and c->newest is about it. Another result:
 * nothing of it happened, and the script must end (c->error) or, ERR_WAIT and ERR_BEHIND, be run
 * again: rq's waiter was taken. */
ERR_MUST_USE enum err calling_run(struct calling *c, const struct slice *argv, size_t argc,
                                  int proto, struct buf *reply);
/* redis.acl_check_cmd. */
bool calling_may(struct calling *c, struct slice *argv, size_t argc, bool *is_known);
/* The script is over: its commands are told of with its own (observe.h), and, if they have
 * happened, to the audit trail. The arena must live as long as the request. */
void calling_tell(struct calling *c, bool has_happened);
/* redis.log; any thread. */
void script_log(struct scripts *x, int level, struct slice text);
/* Now and then: tells of lines that were left out. */
void script_log_tick(struct scripts *x);

/* ---- attempt.c ---- */

/* Runs it within this turn. *is_long: it takes longer; nothing happened. *counts, which the caller
 * owns, is kept from one attempt to the next (exec_messages_new). */
ERR_MUST_USE enum err script_attempt(struct request *rq, const struct program *p,
                                     struct exec_counts **counts, bool *is_long);
/* What an error says that a script returned: a reply without its type. */
struct slice script_error_text(struct slice reply);
/* The error line of a script, without the type of a reply, becomes the reply of its command, or, in
 * EXEC, its error. */
ERR_MUST_USE enum err script_failed(struct request *rq, struct slice line);

/* ---- eval.c ---- */

/* A script, or the name of a function, then its keys and arguments. */
struct program_words {
    struct slice what;
    struct slices keys, args;
};
extern const struct argument_kind program_key_kind;
#define PROGRAM_ARGUMENTS(id, label, kind_of, no_number)                                           \
    ARGUMENTS(id, struct program_words, label " numkeys [key ...] [arg ...]",                      \
              ARG_OF(struct program_words, what, struct slice, label, kind_of),                    \
              ARG_COUNT_EACH("numkeys", 0, INT64_MAX, no_number,                                   \
                             "Number of keys can't be negative",                                   \
                             "Number of keys can't be greater than number of args"),               \
              {ARG_MANY(struct program_words, keys, struct slice, "key", program_key_kind)},       \
              ARG_WORDS(struct program_words, args, "arg"))
/* Puts the keys and arguments, which are of rq->argv, into *p. */
void program_words(struct request *rq, struct program *p);

/* Of SCRIPT FLUSH and FUNCTION FLUSH: both words are the same. */
struct flush_words {
    bool is_async;
};

/* Within this turn, or over several. */
ERR_MUST_USE enum err program_run(struct request *rq, const struct program *p);

#endif
