/* wire: a connection to the server, over hiredis's reader and writer. hiredis only cuts replies
 * out of bytes and makes bytes of commands; dialling, time limits and TLS (secure.h) are done here,
 * so that it can be said what went wrong, and so that a wait can be ended.
 *
 *   wire_append  words wait in the connection, nothing is sent yet
 *   wire_next    sends what waits, reads until a reply is there: the next in order
 *   wire_call    both, for one command
 *
 * For several connections at a time: poll for wire_fd (to write too, if wire_wants_out), then
 * wire_move, and wire_take until there is no more.
 *
 * A connection that broke stays so: every call says it again, and wire_why says why.
 */
#ifndef TOOL_WIRE_H
#define TOOL_WIRE_H

#include <hiredis/hiredis.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "tool/status.h"

struct wire_options {
    const char *host, *port;     /* NULL with `path` */
    const char *path;            /* of a Unix socket; NULL = TCP */
    const char *user, *password; /* NULL = none */
    const char *database;        /* name or number; NULL = the one of the beginning */
    bool is_tls;
    bool is_insecure;        /* the certificate is not checked */
    const char *cacert;      /* file; NULL = those of the system */
    const char *cert, *key;  /* files; NULL = none */
    const char *server_name; /* that the certificate must have; NULL = host */
    int64_t timeout_s;       /* for connecting, until the server has answered */
    int stop_fd;             /* a wait ends when it can be read; -1 = none */
    const char *password_of; /* for advice: where a password comes from; NULL = as main.c does it */
};

/* redis://[user[:password]@]host[:port][/database], rediss://, unix:///path[?db=database]. Changes
 * what the URL says; %41 is a byte in hex. ERR_SYNTAX says what is wrong. */
ERR_MUST_USE enum err wire_url_read(const char *url, struct arena *a, struct wire_options *o,
                                    struct error *e);

#define WIRE_WHY_BYTES 768

struct wire;

/* Connected, logged in, the database selected. TOOL_BROKEN: no connection; TOOL_NO: the server
 * refused something. `why` says what, where, and what to do. */
enum tool_status wire_open(const struct wire_options *o, struct wire **out,
                           char why[WIRE_WHY_BYTES]);
/* w may be NULL. */
void wire_close(struct wire *w);
const char *wire_why(const struct wire *w);

void wire_append(struct wire *w, size_t count, const struct slice *words);
/* `words` ends with NULL. */
void wire_append_text(struct wire *w, const char *const *words);

enum wire_event {
    WIRE_REPLY,
    WIRE_NOTHING, /* the time is over */
    WIRE_STOPPED, /* stop_fd */
    WIRE_GONE,    /* the connection broke */
};

/* Until `until_us` of clock_mono_us; -1 = for ever. *reply is the caller's: freeReplyObject. */
enum wire_event wire_next(struct wire *w, int64_t until_us, redisReply **reply);
/* Waits for the reply. TOOL_NO: *reply is an error, the caller's too. TOOL_BROKEN: *reply is NULL;
 * so it is when the wait was stopped. `words` ends with NULL. */
enum tool_status wire_call(struct wire *w, const char *const *words, redisReply **reply);
enum tool_status wire_call_slices(struct wire *w, size_t count, const struct slice *words,
                                  redisReply **reply);

/* What is attended while wire_next waits: `attend` is called when one of `fds` can be read; -1 =
 * none. It may change them. */
struct wire_also {
    int fds[2];
    void (*attend)(void *arg);
    void *arg;
};
/* From now on; the caller's, until another one or NULL. */
void wire_attend(struct wire *w, const struct wire_also *also);

int wire_fd(const struct wire *w);
bool wire_wants_out(const struct wire *w);
/* Writes and reads what can be done without waiting. False: it broke. */
bool wire_move(struct wire *w);
/* Writes what can be written without waiting. False: it broke. */
bool wire_write(struct wire *w);
/* A reply that has been read; NULL: none. False: the bytes make no sense. */
bool wire_take(struct wire *w, redisReply **reply);

/* Where it goes to, for people: 127.0.0.1:6379. */
void wire_place(const struct wire_options *o, char out[WIRE_WHY_BYTES]);

static inline struct slice wire_slice(const redisReply *r)
{
    return r->str == NULL ? slice_of("", 0) : slice_of(r->str, r->len);
}
static inline bool wire_is(const redisReply *r, int type)
{
    return r != NULL && r->type == type;
}
/* An array of at least so many elements? */
static inline bool wire_is_array(const redisReply *r, size_t count_min)
{
    return wire_is(r, REDIS_REPLY_ARRAY) && r->elements >= count_min;
}

#endif
