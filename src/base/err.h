/* err: the program's one list of errors. A function that may fail returns `enum err`; what a person
 * should read goes to `struct error`, the last parameter. The second column is the first word of
 * the reply a client gets (SPEC 6; the field's codes: clients act on them).
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/slice.h"

#define ERR_LIST(X)                                                                                \
    X(ERR_SYNTAX, "ERR")          /* a malformed command, option or number */                      \
    X(ERR_KEY, "ERR")             /* a malformed key */                                            \
    X(ERR_VALUE, "ERR")           /* a malformed value */                                          \
    X(ERR_LIMIT, "ERR")           /* larger than a limit allows */                                 \
    X(ERR_TYPE, "WRONGTYPE")      /* the stored value has another type */                          \
    X(ERR_OVERFLOW, "ERR")        /* arithmetic left its range */                                  \
    X(ERR_CONFLICT, "ERR")        /* a check failed; replies show it as nil, never as text */      \
    X(ERR_WAIT, "TRYAGAIN")       /* not now: the caller is parked and asked again */              \
    X(ERR_TRYAGAIN, "TRYAGAIN")   /* nothing happened, the client may retry */                     \
    X(ERR_DISK_FULL, "ERR")       /* no journal space could be reserved */                         \
    X(ERR_IO, "ERR")              /* a file operation failed */                                    \
    X(ERR_CORRUPT, "CORRUPT")     /* stored bytes that cannot be true */                           \
    X(ERR_FORMAT, "ERR")          /* data of a newer format than this program knows */             \
    X(ERR_LOCKED, "ERR")          /* the directory belongs to another running server */            \
    X(ERR_NOMEM, "ERR")           /* memory for something sized by a client */                     \
    X(ERR_PROTOCOL, "ERR")        /* the byte stream is not RESP; the connection ends */           \
    X(ERR_NOPROTO, "NOPROTO")     /* HELLO with a protocol we do not speak */                      \
    X(ERR_WRONGPASS, "WRONGPASS") /* AUTH failed */                                                \
    X(ERR_STALE, "STALE")         /* history asked for is no longer kept */                        \
    X(ERR_EXECABORT,                                                                               \
      "EXECABORT") /* a transaction was not run, or refused with all that is in it */              \
    X(ERR_UNBLOCKED, "UNBLOCKED") /* a blocked command, by CLIENT UNBLOCK */                       \
    X(ERR_DUPLICATE, "DUPLICATE") /* a unique index has another owner for the value */             \
    X(ERR_INDEXING, "INDEXING")   /* an index is not complete yet */

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

/* Fill `e` (may be NULL) and return `code`, so that `return error_set(e, ERR_KEY, ...)` reads well.
 * CR, LF and other control bytes in the result become blanks: the text travels in a RESP line. */
enum err error_set(struct error *e, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Program ends here with the reason on stderr; for broken invariants and failed small allocations.
 */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* An invariant, checked in every build. Never for bad input. */
#define INVARIANT(cond)                                                                            \
    ((cond) ? (void)0 : die("%s:%d: invariant broken: %s", __FILE__, __LINE__, #cond))

#endif
