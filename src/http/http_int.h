/* http_int: what the files of this folder share. */
#ifndef HTTP_HTTP_INT_H
#define HTTP_HTTP_INT_H

#include "http/http.h"
#include "http/http1_reader.h"
#include "http/json_body.h"
#include "http/message.h"
#include "http/origin.h"
#include "node/node.h"
#include "request/runner.h"

struct exchange;
struct session_http;
struct route;

/* ---- exchange.c: one request and its answer -------------------------------------------------- */

/*   IDLE --exchange_begin--> READY --run_command: it must wait--> PARKED --exchange_ready--> READY
 *                              |  \--exchange_delay--> DELAYED --exchange_check--> READY
 *                              |--exchange_answer--> ANSWERED --exchange_reset--> IDLE
 *                              \--exchange_stream--> STREAMING --exchange_end_stream--> ANSWERED
 *   any --client_close, exchange_end, QUIT--> CLOSED
 *
 * Invariants:
 *   1. It is PARKED exactly while its runner is.
 *   2. A request is answered once: by exchange_answer, or as a stream; then no command is left.
 *   3. counts.streams has it exactly while it is STREAMING.
 *   4. An exchange that begins has nothing of the request before. */
enum exchange_state {
    EXCHANGE_IDLE,
    EXCHANGE_READY,
    EXCHANGE_PARKED,
    EXCHANGE_DELAYED,
    EXCHANGE_STREAMING,
    EXCHANGE_ANSWERED,
    EXCHANGE_CLOSED
};

/* What is to be done when the command has its reply (x->reply), or at first. It gives the next
 * command (exchange_command), answers, or opens a stream of events. */
typedef void exchange_step(struct exchange *x);
/* A message for a client that listens: one frame of RESP. */
typedef void exchange_message(struct exchange *x, struct slice frame, uint64_t version);

#define ANSWER_HEADERS_MAX 12

struct answer {
    int status;
    const char *type; /* Content-Type; NULL = there is no body */
    struct slice body;
    bool is_stream; /* its bytes come later, its length is not known */
};

/* How an answer reaches the peer: http1.c, http2.c. */
struct exchange_ops {
    void (*answer)(struct exchange *x, const struct answer *a);
    /* Of a stream. */
    void (*send)(struct exchange *x, struct slice bytes, uint64_t version);
    void (*end)(struct exchange *x);
    /* It has something to do: exchange_go is called soon. */
    void (*queue)(struct exchange *x);
};

struct exchange {
    struct client client; /* first */
    struct link link;     /* of HTTP/2; that of HTTP/1.1 is its stream's */
    const struct exchange_ops *ops;
    struct http *http;
    struct session_http *session;
    enum exchange_state state; /* EXCHANGE_PARKED while its runner is parked */
    struct runner runner;
    const struct http_message *message; /* borrowed from its reader, until the answer */
    const struct route *route;
    struct slice path;     /* of the message, without /db/<name> */
    struct slice rest;     /* of the path, raw: from what the route's first : or * stands for */
    struct slice database; /* name; data NULL = the default one */
    struct arena arena;    /* until the answer */
    struct arena words;    /* of one command among several */
    void *task;            /* of the route, in the arena */
    size_t task_bytes;     /* that the task holds beside it */
    exchange_step *step;
    struct slice *argv; /* of the command to be run; NULL = `step` is next */
    size_t argc;
    struct buf reply;     /* of the last command, in RESP */
    struct buf text;      /* the answer's body, while it is made */
    uint64_t depends;     /* newest version that any reply depended on */
    bool is_evaluated;    /* a reply of a command that evaluated something is among them */
    uint64_t reply_from;  /* offset of the client's stream where its replies began */
    uint64_t reply_bytes; /* of all of them */
    exchange_message *on_message;
    struct slice heartbeat;  /* sent when nothing else was for 15 s */
    const char *stream_type; /* Content-Type of its stream; NULL = events */
    struct buf behind;       /* messages that came before the stream was open ... */
    uint64_t behind_version;
    struct slice cors; /* the origin that may read the answer; data NULL = none */
    struct http_header headers[ANSWER_HEADERS_MAX];
    size_t header_count;
    int64_t until_ms;              /* DELAYED: monotonic */
    int64_t sent_ms;               /* STREAMING: when something was last sent */
    exchange_step *on_stream_over; /* the stream of events has ended; NULL = not called */
    char ticket[33];               /* that opened it; "" = none */
    struct exchange *queue_next;   /* http2.c: of those with something to do */
    bool is_queued;
};

/* A client without a user yet; `link` outlives it. */
void exchange_init(struct exchange *x, struct session_http *s, struct link *link,
                   const struct exchange_ops *ops);
/* The client is gone. What it listened to ends in exchange_forget, as protocol->forget. */
void exchange_end(struct exchange *x);
bool exchange_forget(struct exchange *x, size_t *work);
/* begin.c: the request has come; then exchange_go. */
void exchange_begin(struct exchange *x, const struct http_message *m);
void exchange_start(struct exchange *x, const struct http_message *m);
/* In place of a request that could not be read. */
void exchange_refuse(struct exchange *x, const struct http_refusal *why);
/* The name of the database that is asked for, by the path or a header; data NULL = none is. */
struct slice exchange_database(const struct exchange *x);
/* Goes on until it waits, has answered, or the turn is full: then it is queued again. */
void exchange_go(struct exchange *x);
/* It has answered, and is for the next request. */
void exchange_reset(struct exchange *x);
/* Nothing more of it runs for so long. */
void exchange_delay(struct exchange *x, int64_t ms);
/* Now and then (protocol->check), and when the server stops. */
void exchange_check(struct exchange *x, int64_t now_ms);
size_t exchange_bytes(const struct exchange *x);

/* ---- for routes ---- */

/* Runs a command, then `step`. The words are borrowed until then. */
void exchange_command(struct exchange *x, struct slice *argv, size_t argc, exchange_step *step);
/* exchange_words(x, step, WORDS("KV.QUEUE", "LIST")): texts that last until the command has run. */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
void exchange_words(struct exchange *x, exchange_step *step, const char *const *words);
/* x->runner.waiter was put into a list: the command, or the step, is run again when it is told. */
void exchange_park(struct exchange *x);
/* A step that is no command took time: what is left of the work may be for another turn. */
void exchange_spent(struct exchange *x);
struct slice *exchange_argv(struct exchange *x, size_t count);
/* A header of the answer; the name in lower case and constant, the value good until the answer. */
void exchange_header(struct exchange *x, const char *name, struct slice value);
void exchange_answer(struct exchange *x, int status, const char *type, struct slice body);
/* x->text as application/json. */
void exchange_answer_json(struct exchange *x, int status);
/* {"error":".."} */
void exchange_fail(struct exchange *x, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The reply is an error: answers that, true. */
bool exchange_fails(struct exchange *x);
/* The status of an error of a command, by its first word. */
int exchange_status_of(struct slice error);
/* Opens a stream of events, with these bytes; from now on on_message is called for each frame that
 * the client hears. NULL: what it hears are events already, and go out as they are (hearing). */
void exchange_stream(struct exchange *x, struct slice first, exchange_message *on_message);
void exchange_send(struct exchange *x, struct slice bytes, uint64_t version);
void exchange_end_stream(struct exchange *x);

/* ---- answer.c: the headers that all answers have --------------------------------------------- */

/* Fills `out` (ANSWER_HEADERS_ALL); `length`: Content-Length as text, data NULL = none.
 * Names are in lower case. */
size_t answer_headers(struct exchange *x, const struct answer *a, struct slice length,
                      struct http_header *out);
#define ANSWER_HEADERS_ALL (ANSWER_HEADERS_MAX + 8)
/* gzip, if the peer takes it and it is worth it: then the body is in x->reply. */
void answer_compress(struct exchange *x, struct answer *a);

/* ---- route.c --------------------------------------------------------------------------------- */

enum route_flag {
    ROUTE_OPEN = 1 << 0,   /* no user, and any host */
    ROUTE_ACTS = 1 << 1,   /* a GET of it may change something */
    ROUTE_TICKET = 1 << 2, /* a ticket opens it */
    ROUTE_REST = 1 << 3,   /* below http_options.rest_base */
    ROUTE_STATIC = 1 << 4, /* it holds no data of users: no user */
    ROUTE_TYPED = 1 << 8,  /* of typed REST */
    ROUTE_STEPS = 1 << 9,  /* more than one transaction: Idempotency-Key cannot be kept */
    ROUTE_BARE = 1 << 5,   /* a body would mean nothing: it is refused */
    ROUTE_TOKEN = 1 << 6,  /* of KV Connect: its user is that of a token */
    ROUTE_NODE = 1 << 7,   /* a node that stands by answers it itself */
};

/* A row of the tables of what can be asked for. */
struct route {
    const char *path; /* {name} is a part of it, {name...} at its end all that follows */
    unsigned methods; /* enum http_method */
    unsigned flags;
    exchange_step *run;
    /* Of REST, what requests are checked by, and what the OpenAPI document says; NULL = none. */
    const char *summary; /* one line; NULL = the document does not have it */
    const char *words;   /* the command that it is: its arguments are parameters, or the body */
    const char *without; /* names of arguments that are not taken here, with blanks between */
    const char *given;   /* words after those of the request */
    const char *query;   /* parameters beside them, "name:type" with blanks between */
    const char *body;    /* members of the body, likewise, ! after those that must be there; "*" =
                          * any JSON */
    int64_t limit_max;   /* of the argument `limit`; 0 = as the command has it */
    const char *answer;  /* its shape (reply_json.h); "ok" = {"ok":true} */
    const char *absent;  /* 404 with this text, when the reply is nil or, with "ok", 0 */
};

/* The first four, and what else there is: .summary = "..", .words = "..". */
#define ROUTE(of_path, of_methods, of_flags, function, ...)                                        \
    {                                                                                              \
        .path = (of_path), .methods = (of_methods), .flags = (of_flags), .run = (function),        \
        __VA_ARGS__                                                                                \
    }

/* Those below rest-base, ended by one without a path. */
extern const struct route rest_routes[];

/* The route of x->path and the method, or of another method; NULL: there is none. Sets x->rest. */
const struct route *route_match(struct exchange *x);
/* It is there, and takes this method. False: answered (404, 405, or what OPTIONS asks). */
bool route_takes(struct exchange *x);
struct members;
/* The arguments of its command; without one: none. */
const struct members *route_members(const struct route *r);
/* Are the arguments members of the body? Else they are parameters. */
bool route_has_object(const struct route *r);
/* Is the argument taken here? */
bool route_has_member(const struct route *r, const char *name);

/* ---- session.c: a connection ----------------------------------------------------------------- */

struct http {
    struct env *env;
    struct http_options options;
    struct http_counts counts;
    struct arena arena; /* of the command being run */
    struct buf scratch;
    struct host_name own; /* this machine's name */
    struct failures *failures;
    struct tickets *tickets;
    const char *(*why_not_ready)(void *arg);
    void *ready_arg;
    bool is_stopping;                 /* the server: connections end after what is under way */
    struct connect_watching *changed; /* with something to tell: connect_watch.c */
    struct connect_known *known;      /* owned: connect_login.c; NULL = nothing yet */
    int64_t date_s;
    char date[40];
};

/* SESSION_PASSING: to the node that leads, unread (node/node.h). */
enum session_kind { SESSION_NEW, SESSION_HTTP1, SESSION_HTTP2, SESSION_PASSING };

struct session_http {
    struct stream *stream;
    struct http *http;
    enum session_kind kind;
    const struct session_ops *ops; /* NULL = SESSION_NEW */
    struct http1_reader reader;    /* of HTTP/1.1, and until it is known what it speaks */
    struct http1 *http1;           /* owned; NULL = it speaks something else, as the next */
    struct http2 *http2;
    int64_t begun_ms;      /* monotonic: when the request that is being read began; 0 = none */
    int64_t idle_ms;       /* monotonic: since when there is none */
    size_t read_bytes;     /* of the next read, at most */
    size_t got_bytes;      /* by the last one, whose work is not done yet; ... */
    int64_t got_us;        /* ... it began at this monotonic time */
    unsigned drips;        /* reads in a row that brought few bytes and nothing whole */
    unsigned rests;        /* checks until it is read again; 0 = it is read */
    struct node_pass pass; /* to the node that leads ... */
    struct waiter waiter;  /* ... which it waits for */
    bool drops_input;      /* what comes is nothing: the request was refused before its end */
    uint64_t incarnation;  /* of the user whose login was last told of this connection; 0 = none */
};

/* Is the peer a proxy that is trusted (http-trusted-proxies)? What it says of whom it speaks for
 * counts. */
bool session_is_proxied(const struct session_http *s);
/* The host that is asked for; does the peer, or whom it speaks for, use TLS? */
struct slice session_host(const struct session_http *s, const struct http_message *m);
bool session_is_secure(const struct session_http *s, const struct http_message *m);
/* Of the peer, or of whom it speaks for: without a port. */
struct slice session_address(const struct session_http *s, const struct http_message *m);

/* ---- http1.c, http2.c: what session.c asks of them ------------------------------------------- */

struct session_ops {
    void (*begin)(struct session_http *s);
    bool (*wants_input)(const struct session_http *s);
    void (*run)(struct session_http *s);
    void (*check)(struct session_http *s, int64_t now_ms);
    void (*end)(struct session_http *s);
    bool (*forget)(struct session_http *s, size_t *work);
    bool (*is_busy)(const struct session_http *s); /* with a request, or a stream of events */
    bool (*has_events)(const struct session_http *s);
    bool (*is_blocked)(const struct session_http *s); /* a command of it is */
};

extern const struct session_ops http1_ops, http2_ops;
/* What came for HTTP/2; false: the connection must end. */
bool http2_receive(struct session_http *s, struct slice bytes);

#endif
