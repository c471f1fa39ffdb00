/* err: the program's one list of errors. A function that may fail returns `enum err`; what a person
 * should read goes to `struct error`, the last parameter. The second column is the first word of
 * the reply a client gets, its code: one of ERROR_CODES below, on which clients act.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/slice.h"

#define ERR_LIST(X)                                                                                \
    X(ERR_SYNTAX, "ERR")          /* a malformed command, option or number */                      \
    X(ERR_KEY, "ERR")             /* a malformed key */                                            \
    X(ERR_VALUE, "ERR")           /* a malformed value */                                          \
    X(ERR_LIMIT, "LIMIT")         /* larger than a limit allows */                                 \
    X(ERR_TYPE, "WRONGTYPE")      /* the stored value has another type */                          \
    X(ERR_OVERFLOW, "OVERFLOW")   /* the type has no such number */                                \
    X(ERR_RANGE, "RANGE")         /* the caller's bounds forbid the number */                      \
    X(ERR_CONFLICT, "ERR")        /* a check failed; replies show it as nil, never as text */      \
    X(ERR_WAIT, "TRYAGAIN")       /* not now: the caller is parked and asked again */              \
    X(ERR_TRYAGAIN, "TRYAGAIN")   /* nothing happened, the client may retry */                     \
    X(ERR_BEHIND, "TRYAGAIN")     /* a node that follows does not have yet what the store has */   \
    X(ERR_DISK_FULL, "ERR")       /* no journal space could be reserved */                         \
    X(ERR_IO, "ERR")              /* a file operation failed */                                    \
    X(ERR_CORRUPT, "CORRUPT")     /* stored bytes that cannot be true */                           \
    X(ERR_FORMAT, "ERR")          /* data of a newer format than this program knows */             \
    X(ERR_FROZEN, "ERR")          /* a restore shows a moment of the past */                       \
    X(ERR_LOCKED, "ERR")          /* the directory belongs to another running server */            \
    X(ERR_NOMEM, "ERR")           /* memory for something sized by a client */                     \
    X(ERR_PROTOCOL, "ERR")        /* the byte stream is not RESP; the connection ends */           \
    X(ERR_NOPROTO, "NOPROTO")     /* HELLO with a protocol we do not speak */                      \
    X(ERR_WRONGPASS, "WRONGPASS") /* AUTH failed */                                                \
    X(ERR_NOAUTH, "NOAUTH")       /* the client has not logged in yet */                           \
    X(ERR_NOPERM, "NOPERM")       /* the user may not */                                           \
    X(ERR_STALE, "STALE")         /* history asked for is no longer kept */                        \
    X(ERR_EXECABORT,                                                                               \
      "EXECABORT") /* a transaction was not run, or refused with all that is in it */              \
    X(ERR_UNBLOCKED, "UNBLOCKED") /* a blocked command, by CLIENT UNBLOCK */                       \
    X(ERR_BUSYKEY, "BUSYKEY")     /* RESTORE: the key is there */                                  \
    X(ERR_NOSCRIPT, "NOSCRIPT")   /* EVALSHA: the script is not known */                           \
    X(ERR_SCRIPT, "ERR")          /* of a script, in EXEC: the text begins with its own code */    \
    X(ERR_NOTBUSY, "NOTBUSY")     /* SCRIPT KILL: there is nothing to end */                       \
    X(ERR_DUPLICATE, "DUPLICATE") /* a unique index has another owner for the value */             \
    X(ERR_INDEXING, "INDEXING")   /* an index is not complete yet */                               \
    X(ERR_QUOTA, "QUOTA")         /* the database is full */                                       \
    X(ERR_NODB, "NODB")           /* there is no such database, or no more */                      \
    X(ERR_NOGROUP, "NOGROUP")     /* a stream has no such consumer group */                        \
    X(ERR_BUSYGROUP, "BUSYGROUP") /* it has one already */                                         \
    X(ERR_INVALIDOBJ,                                                                              \
      "INVALIDOBJ")         /* the bytes of a HyperLogLog, which a client has set, are damaged */  \
    X(ERR_BROKEN, "BROKEN") /* of libtupled: base/host.h */

/* The codes, for clients: word, when it is the first word of an error, what to do. The table
 * in docs/protocol.md and the list in include/tupled.h are written from this one (`make docs`).
 * Client libraries act on some words by themselves (MOVED, ASK, LOADING, READONLY, BUSY, ...): none
 * of those may come to mean something here. */
#define ERROR_CODES(X)                                                                             \
    X(ERR,                                                                                         \
      "the command, a key, a value or an option is invalid, or the command failed; the text "      \
      "says what is wrong and where",                                                              \
      "correct the command. Repeating it does not help, except after `ERR disk full` once there "  \
      "is space")                                                                                  \
    X(WRONGTYPE, "the stored value, or the operand, has a type that the command does not accept",  \
      "look for a bug in the program, or for two programs that use the same key; the text names "  \
      "both types")                                                                                \
    X(LIMIT, "something exceeds a limit",                                                          \
      "make it smaller, or split it. KV.LIMITS shows the limits; the text names the setting if "   \
      "there is one")                                                                              \
    X(OVERFLOW,                                                                                    \
      "the type cannot represent the result, which is beyond +-(2^53-1), the range of a double, "  \
      "or 255 bytes of a bigint; nothing was changed",                                             \
      "store a bigint instead of a number")                                                        \
    X(RANGE,                                                                                       \
      "the sum is outside the RANGE of KV.SUM, or is NaN with RANGE or CLAMP; nothing was "        \
      "changed",                                                                                   \
      "treat it as a result, not as a failure: the counter is used up or full")                    \
    X(DUPLICATE,                                                                                   \
      "another key has the value in a unique index: `DUPLICATE <index> <key>`; for KV.INDEX "      \
      "CREATE two keys have it",                                                                   \
      "treat it as a result, not as a failure: use another value, or change the other key")        \
    X(BUSYKEY, "RESTORE without REPLACE: the key exists",                                          \
      "treat it as a result, not as a failure: use another key, or REPLACE")                       \
    X(NOSCRIPT, "EVALSHA: no script with that SHA1 is loaded",                                     \
      "send the script with EVAL; client libraries do so automatically")                           \
    X(NOGROUP, "the stream does not exist, or has no such consumer group",                         \
      "create it with XGROUP CREATE ... MKSTREAM")                                                 \
    X(BUSYGROUP, "XGROUP CREATE: the stream already has a group of that name",                     \
      "treat it as a result, not as a failure: use the group")                                     \
    X(INVALIDOBJ,                                                                                  \
      "PFADD, PFCOUNT, PFMERGE: the value has the header of a HyperLogLog but invalid content",    \
      "delete the key, or copy it again from its source")                                          \
    X(NOTBUSY, "SCRIPT KILL or FUNCTION KILL: no script has run for longer than a turn",           \
      "treat it as a result, not as a failure")                                                    \
    X(CORRUPT, "stored data is damaged on disk; the key or the place follows",                     \
      "do not retry; the operator must act (docs/durability.md, Damage). Everything else still "   \
      "works")                                                                                     \
    X(INDEXING, "the index is still being filled; the percentage follows",                         \
      "retry later; KV.INDEX INFO shows the progress")                                             \
    X(QUOTA, "the database has reached one of its limits (KV.DB LIMIT)",                           \
      "delete data, or raise the limit; reads and deletions still work")                           \
    X(NODB, "the database does not exist, or the selected one was dropped",                        \
      "SELECT one of those that KV.DB LIST shows")                                                 \
    X(BROKEN,                                                                                      \
      "libtupled only: a bug, or a failed allocation of a small object, has broken the "           \
      "database; all further calls fail",                                                          \
      "close the database and open it again; acknowledged data is kept")                           \
    X(STALE,                                                                                       \
      "the history is no longer kept, or is that of another database; the oldest versionstamp "    \
      "that is kept follows. For KV.ELEMENTS: the collection has changed since the page with "     \
      "this cursor",                                                                               \
      "call KV.VERSION, read everything again with KV.LIST, then continue from that "              \
      "versionstamp. For KV.ELEMENTS, start again without CURSOR")                                 \
    X(TRYAGAIN, "nothing was changed, and a retry may succeed", "retry after a short pause")       \
    X(EXECABORT, "EXEC had no effect; the number, name and error of the failed command follow",    \
      "act on the code of that command, the first word after its name")                            \
    X(UNBLOCKED, "CLIENT UNBLOCK ended the wait", "wait again, or stop")                           \
    X(NOPROTO, "HELLO requested a protocol version that is not supported", "use 2 or 3")           \
    X(DENIED, "protected mode: the connection comes from another machine, and no password is set", \
      "connect from the same machine, or see protected-mode in conf/tupled.conf")                  \
    X(NOAUTH, "the connection must authenticate first", "send AUTH, or HELLO with AUTH")           \
    X(WRONGPASS, "AUTH failed", "correct the user name and password")                              \
    X(NOPERM, "the user has no permission for the command, or for this key, channel or database",  \
      "request the permission, or use another user")

enum err {
    OK = 0,
#define X(name, prefix) name,
    ERR_LIST(X)
#undef X
        ERR_COUNT
};

#define ERROR_TEXT_BYTES 256

struct error {
    enum err code;
    char text[ERROR_TEXT_BYTES]; /* NUL-ended, one line, no prefix */
};

#define ERR_MUST_USE __attribute__((warn_unused_result))

/* First word of the reply for an error: "ERR", "WRONGTYPE", ... */
const char *err_prefix(enum err code);
/* What a reply has before the text: its first word and a blank; nothing of ERR_SCRIPT. */
const char *err_lead(enum err code);

struct error_code {
    const char *word, *when, *advice;
};
/* The rows of ERROR_CODES, ended by one without a word. */
extern const struct error_code error_codes[];

/* Fill `e` (may be NULL) and return `code`, so that `return error_set(e, ERR_KEY, ...)` reads well.
 * CR, LF and other control bytes in the result become blanks: the text travels in a RESP line. */
enum err error_set(struct error *e, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends to the text that is there: what to do about it. Harmless when e is NULL. */
void error_add(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For broken invariants and failed small allocations: the host of the calling thread is broken
 * (host.h), or, if it does not survive that or there is none, the program ends with the reason on
 * stderr. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* An invariant, checked in every build. Never for bad input. */
#define INVARIANT(cond)                                                                            \
    ((cond) ? (void)0 : die("%s:%d: invariant broken: %s", __FILE__, __LINE__, #cond))

#endif
