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

/* The codes, for clients: word, when it is the first word of an error, what to do then. The table
 * in docs/protocol.md and the list in include/tupled.h are written from this one (`make docs`).
 * Client libraries act on some words by themselves (MOVED, ASK, LOADING, READONLY, BUSY, ...): none
 * of those may come to mean something here. */
#define ERROR_CODES(X)                                                                             \
    X(ERR,                                                                                         \
      "the command, a key, a value or an option is wrong, or it could not be done; the text"       \
      " says what is wrong and where",                                                             \
      "correct the command; sending it again does not help, but for `ERR disk full`, which "       \
      "ends when there is space again")                                                            \
    X(WRONGTYPE, "the stored value, or the operand, has a type that the command is not for",       \
      "look for a mistake in the program, or for two programs that use the key; the text "         \
      "names both types")                                                                          \
    X(LIMIT, "something is larger, longer or more than a limit allows",                            \
      "make it smaller, or split it; KV.LIMITS shows the limits, the text names the setting"       \
      " if there is one")                                                                          \
    X(OVERFLOW,                                                                                    \
      "the result is a number that the type cannot hold: beyond +-(2^53-1), the range of a "       \
      "double, or 255 bytes of a bigint; nothing was changed",                                     \
      "keep a bigint there in place of a number")                                                  \
    X(RANGE,                                                                                       \
      "the sum is outside of KV.SUM's RANGE, or is NaN where it has RANGE or CLAMP; nothing"       \
      " was changed",                                                                              \
      "take it for an answer, not a mistake: what is counted is used up or full")                  \
    X(DUPLICATE,                                                                                   \
      "a unique index has the value already: `DUPLICATE <index> <key>`, the key that has "         \
      "it; of KV.INDEX CREATE two keys",                                                           \
      "take it for an answer, not a mistake: choose another value, or change that key")            \
    X(BUSYKEY, "RESTORE without REPLACE: the key is there",                                        \
      "take it for an answer, not a mistake: choose another key, or say REPLACE")                  \
    X(NOSCRIPT, "EVALSHA: the server does not know a script of that SHA1",                         \
      "send the script with EVAL; client libraries do so by themselves")                           \
    X(NOGROUP, "there is no such stream, or it has no such consumer group",                        \
      "make it with XGROUP CREATE ... MKSTREAM")                                                   \
    X(BUSYGROUP, "XGROUP CREATE: the stream has a group of that name",                             \
      "take it for an answer, not a mistake: the group can be used")                               \
    X(INVALIDOBJ,                                                                                  \
      "PFADD, PFCOUNT, PFMERGE: the value begins as a HyperLogLog, but what follows is none",      \
      "delete the key, or copy it again from where it came")                                       \
    X(NOTBUSY, "SCRIPT KILL or FUNCTION KILL: nothing runs longer than a turn",                    \
      "take it for an answer, not a mistake")                                                      \
    X(CORRUPT,                                                                                     \
      "what was stored cannot be read: the disk gave it back damaged; the key or the place "       \
      "follows",                                                                                   \
      "do not repeat it; the operator must act (docs/durability.md, Damage). All else goes on")    \
    X(INDEXING, "the index is still being filled; the percentage follows",                         \
      "ask again later; KV.INDEX INFO shows how far it is")                                        \
    X(QUOTA, "the database holds as much as its limits (KV.DB LIMIT) allow",                       \
      "remove something, or raise the limit; reading and removing go on")                          \
    X(NODB, "there is no such database, or the selected one was dropped",                          \
      "KV.DB LIST shows those there are; SELECT one of them")                                      \
    X(BROKEN,                                                                                      \
      "of libtupled only: a defect, or no memory for something small, has broken the database; "   \
      "nothing is done any more",                                                                  \
      "close it and open it again: what was acknowledged is there")                                \
    X(STALE,                                                                                       \
      "the history asked for is no longer kept, or not of this database; the oldest "              \
      "versionstamp that is follows. Of KV.ELEMENTS: the collection has changed since the page "   \
      "that gave the cursor",                                                                      \
      "read everything again with KV.LIST, then go on from the KV.VERSION of before that; of "     \
      "KV.ELEMENTS begin again without CURSOR")                                                    \
    X(TRYAGAIN, "nothing happened, and it may work next time",                                     \
      "send it again after a short pause")                                                         \
    X(EXECABORT, "EXEC did nothing; number, name and error of the command that was wrong follow",  \
      "act on the code of that command, the first word after its name")                            \
    X(UNBLOCKED, "CLIENT UNBLOCK ended the wait", "wait again, or stop")                           \
    X(NOPROTO, "HELLO asked for a protocol that the server does not speak", "use 2 or 3")          \
    X(DENIED,                                                                                      \
      "protected mode: the connection comes from another machine and there is no password",        \
      "connect from the same machine, or see protected-mode in conf/tupled.conf")                  \
    X(NOAUTH, "the connection must say AUTH first", "send AUTH or HELLO with AUTH")                \
    X(WRONGPASS, "AUTH failed", "correct the user and password")                                   \
    X(NOPERM, "the user may not run the command, or not on this key, channel or database",         \
      "ask for the permission, or use another user")

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
