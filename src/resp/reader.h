/* reader: the request side of RESP: feed bytes, get commands. No sockets; one reader per
 * connection.
 *
 *   feed bytes -> [ READ_START ] --'*n'--> [ READ_BULKS: n arguments to come ] --last--> command
 *                       |
 *                       +--anything else--> one inline line, split like a shell --> command
 *
 * Rules and texts of the errors are Redis's (docs/protocol.md): empty lines, `*0` and `*-1` are
 * skipped; a malformed frame is an error after which the connection ends. Memory is bounded by what
 * has arrived, never by what a header announces.
 */
#ifndef RESP_READER_H
#define RESP_READER_H

#include "base/buf.h"
#include "base/err.h"

#define RESP_INLINE_BYTES_MAX (64 * 1024)
#define RESP_ARGS_MAX (1024 * 1024)
/* As in Redis, for those who have not said who they are. */
#define RESP_LIMITED_ARGS_MAX 10
#define RESP_LIMITED_BULK_BYTES_MAX (16 * 1024)

struct resp_arg {
    size_t at; /* offset from the command's first byte */
    size_t len;
};

struct resp_reader {
    struct buf in;         /* owned; bytes received and not yet given back */
    size_t begin;          /* first byte of the command being read */
    size_t at;             /* next byte to look at */
    struct resp_arg *args; /* owned; arguments found so far */
    struct slice *argv;    /* owned; what resp_reader_next gives */
    size_t args_cap;
    size_t argc;
    size_t args_left;       /* arguments still to come; 0 = READ_START */
    struct buf inline_args; /* owned; unescaped arguments of an inline command */
    size_t bulk_bytes_max;  /* proto-max-bulk-len */
    bool is_closed;         /* an error was reported */
    bool is_limited;        /* of a client that has not logged in: few and small words */
    bool is_over_limit;     /* that was the error */
};

/* Buffers that no reader needs at the moment. A reader needs them from the first byte of a command
 * until the command has run: of many connections few do at one time. */
#define RESP_SPARES 16
struct resp_spares {
    struct resp_spare {
        struct buf in;
        struct resp_arg *args;
        struct slice *argv;
        size_t args_cap;
    } items[RESP_SPARES]; /* owned: `count` of them */
    size_t count;
};

enum resp_result { RESP_MORE, RESP_COMMAND, RESP_BROKEN };

void resp_reader_init(struct resp_reader *r, size_t bulk_bytes_max);
void resp_reader_fini(struct resp_reader *r);

/* Where to put up to *len more bytes (at least `want`); NULL when there is no memory. Slices handed
 * out before are dead. */
uint8_t *resp_reader_room(struct resp_reader *r, size_t want, size_t *len);
/* `len` bytes were put there. */
void resp_reader_fed(struct resp_reader *r, size_t len);

/* The next whole command: RESP_COMMAND with *argv (good until the next call on r) and *argc >= 1.
 * RESP_MORE: feed first. RESP_BROKEN: e->text is the line to answer before closing. */
enum resp_result resp_reader_next(struct resp_reader *r, struct slice **argv, size_t *argc,
                                  struct error *e);
/* The reader's buffers, unless something is buffered, are the next one's that takes some: slices
 * handed out before are dead. */
void resp_reader_give(struct resp_reader *r, struct resp_spares *to);
/* Before resp_reader_room: a reader that has no buffer gets one, if there is one. */
void resp_reader_take(struct resp_reader *r, struct resp_spares *from);
void resp_spares_fini(struct resp_spares *s);
/* Bytes received and not yet consumed; the query buffer that limits are about. */
size_t resp_reader_buffered(const struct resp_reader *r);
/* These bytes: of the commands after the last one that was given. */
struct slice resp_reader_rest(const struct resp_reader *r);
/* What is going to come: the first words of the whole command at `*at` of resp_reader_rest, 0 at
 * first, which goes to the next one. The number of words, at most `max`; 0 when there is no whole
 * command, or it is not an array of bulks as clients send it. Takes nothing. */
size_t resp_reader_peek(const struct resp_reader *r, size_t *at, struct slice *words, size_t max);
/* Bytes allocated. */
size_t resp_reader_held(const struct resp_reader *r);
/* Bytes the argument being read still needs, 0 when unknown: how much one read may ask for. */
size_t resp_reader_missing(const struct resp_reader *r);

#endif
