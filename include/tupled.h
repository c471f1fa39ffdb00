/* tupled.h: for C programs that talk to a tupled server through a Redis client such as hiredis. It
 * builds tuple keys and reads them; commands and replies are the client library's. Only standard
 * headers, no allocation, no globals, any thread. Link with libtupled.a.
 *
 * A key argument of any KV.* command is a MessagePack array; this builds one:
 *
 *     struct tupled_key key;
 *     size_t len;
 *     tupled_key_init(&key);
 *     tupled_key_add_string(&key, "users", 5);
 *     tupled_key_add_int(&key, 42);
 *     const void *arg = tupled_key_finish(&key, &len);
 *     if (arg == NULL) fail(tupled_status_text(key.status));
 *     reply = redisCommand(c, "KV.GET %b", arg, len);
 *
 * Errors are sticky: the first one stays in key.status, later calls do nothing, and finish returns
 * NULL. The other way, for a key as the server returns it under KV.FORMAT MSGPACK:
 *
 *     struct tupled_key_reader reader;
 *     struct tupled_key_part part;
 *     tupled_key_read(&reader, reply->str, reply->len);
 *     while (tupled_key_next(&reader, &part)) ...
 *     if (reader.status != TUPLED_OK) ... damaged, or no key
 */
#ifndef TUPLED_H
#define TUPLED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define TUPLED_VERSION "0.1.0"

#define TUPLED_KEY_BYTES_MAX 2048   /* as the server stores it: what a key costs is below */
#define TUPLED_KEY_PARTS_MAX 64     /* parts of one key */
#define TUPLED_BIGINT_BYTES_MAX 255 /* magnitude of a bigint in a key */
#define TUPLED_VALUE_DEPTH_MAX 128  /* levels of arrays, objects, .. in a value */
#define TUPLED_INTEGER_MAX INT64_C(9007199254740991) /* 2^53-1: numbers beyond are bigints */

/* First words of error replies: when each is sent, then what to do. More may join them: act on an
 * unknown one as on TUPLED_ERR. */
/* ---- error codes: written by `make docs` ---- */
/* the command, a key, a value or an option is invalid, or the command failed; the text says what is
 * wrong and where. To do: correct the command. Repeating it does not help, except after `ERR disk
 * full` once there is space */
#define TUPLED_ERR "ERR"
/* the stored value, or the operand, has a type that the command does not accept. To do: look for a
 * bug in the program, or for two programs that use the same key; the text names both types */
#define TUPLED_WRONGTYPE "WRONGTYPE"
/* something exceeds a limit. To do: make it smaller, or split it. KV.LIMITS shows the limits; the
 * text names the setting if there is one */
#define TUPLED_LIMIT "LIMIT"
/* the type cannot represent the result, which is beyond +-(2^53-1), the range of a double, or 255
 * bytes of a bigint; nothing was changed. To do: store a bigint instead of a number */
#define TUPLED_OVERFLOW "OVERFLOW"
/* the sum is outside the RANGE of KV.SUM, or is NaN with RANGE or CLAMP; nothing was changed. To
 * do: treat it as a result, not as a failure: the counter is used up or full */
#define TUPLED_RANGE "RANGE"
/* another key has the value in a unique index: `DUPLICATE <index> <key>`; for KV.INDEX CREATE two
 * keys have it. To do: treat it as a result, not as a failure: use another value, or change the
 * other key */
#define TUPLED_DUPLICATE "DUPLICATE"
/* RESTORE without REPLACE: the key exists. To do: treat it as a result, not as a failure: use
 * another key, or REPLACE */
#define TUPLED_BUSYKEY "BUSYKEY"
/* EVALSHA: no script with that SHA1 is loaded. To do: send the script with EVAL; client libraries
 * do so automatically */
#define TUPLED_NOSCRIPT "NOSCRIPT"
/* the stream does not exist, or has no such consumer group. To do: create it with XGROUP CREATE ...
 * MKSTREAM */
#define TUPLED_NOGROUP "NOGROUP"
/* XGROUP CREATE: the stream already has a group of that name. To do: treat it as a result, not as a
 * failure: use the group */
#define TUPLED_BUSYGROUP "BUSYGROUP"
/* PFADD, PFCOUNT, PFMERGE: the value has the header of a HyperLogLog but invalid content. To do:
 * delete the key, or copy it again from its source */
#define TUPLED_INVALIDOBJ "INVALIDOBJ"
/* SCRIPT KILL or FUNCTION KILL: no script has run for longer than a turn. To do: treat it as a
 * result, not as a failure */
#define TUPLED_NOTBUSY "NOTBUSY"
/* stored data is damaged on disk; the key or the place follows. To do: do not retry; the operator
 * must act (docs/durability.md, Damage). Everything else still works */
#define TUPLED_CORRUPT "CORRUPT"
/* the index is still being filled; the percentage follows. To do: retry later; KV.INDEX INFO shows
 * the progress */
#define TUPLED_INDEXING "INDEXING"
/* the database has reached one of its limits (KV.DB LIMIT). To do: delete data, or raise the limit;
 * reads and deletions still work */
#define TUPLED_QUOTA "QUOTA"
/* the database does not exist, or the selected one was dropped. To do: SELECT one of those that
 * KV.DB LIST shows */
#define TUPLED_NODB "NODB"
/* libtupled only: a bug, or a failed allocation of a small object, has broken the database; all
 * further calls fail. To do: close the database and open it again; acknowledged data is kept */
#define TUPLED_BROKEN "BROKEN"
/* the history is no longer kept, or is that of another database; the oldest versionstamp that is
 * kept follows. For KV.ELEMENTS: the collection has changed since the page with this cursor. To
 * do: call KV.VERSION, read everything again with KV.LIST, then continue from that versionstamp.
 * For KV.ELEMENTS, start again without CURSOR */
#define TUPLED_STALE "STALE"
/* nothing was changed, and a retry may succeed. To do: retry after a short pause */
#define TUPLED_TRYAGAIN "TRYAGAIN"
/* EXEC had no effect; the number, name and error of the failed command follow. To do: act on the
 * code of that command, the first word after its name */
#define TUPLED_EXECABORT "EXECABORT"
/* CLIENT UNBLOCK ended the wait. To do: wait again, or stop */
#define TUPLED_UNBLOCKED "UNBLOCKED"
/* HELLO requested a protocol version that is not supported. To do: use 2 or 3 */
#define TUPLED_NOPROTO "NOPROTO"
/* protected mode: the connection comes from another machine, and no password is set. To do: connect
 * from the same machine, or see protected-mode in conf/tupled.conf */
#define TUPLED_DENIED "DENIED"
/* the connection must authenticate first. To do: send AUTH, or HELLO with AUTH */
#define TUPLED_NOAUTH "NOAUTH"
/* AUTH failed. To do: correct the user name and password */
#define TUPLED_WRONGPASS "WRONGPASS"
/* the user has no permission for the command, or for this key, channel or database. To do: request
 * the permission, or use another user */
#define TUPLED_NOPERM "NOPERM"
/* ---- end of error codes ---- */

/* Is this code the first word of an error reply's text (hiredis: reply->str, reply->len)? Of EXEC's
 * error: of the command that was wrong, too. */
int tupled_error_is(const char *text, size_t len, const char *code);

enum tupled_status {
    TUPLED_OK = 0,
    TUPLED_KEY_EMPTY,          /* no part */
    TUPLED_KEY_TOO_LONG,       /* more than TUPLED_KEY_BYTES_MAX */
    TUPLED_KEY_TOO_MANY_PARTS, /* more than TUPLED_KEY_PARTS_MAX */
    TUPLED_KEY_NOT_UTF8,       /* a string that is not UTF-8 */
    TUPLED_KEY_BAD_INTEGER,    /* add_int beyond +-(2^53-1): use a bigint */
    TUPLED_KEY_BAD_BIGINT,     /* not decimal digits, or more than 255 bytes of magnitude */
    TUPLED_KEY_DAMAGED         /* not a MessagePack array of key parts */
};

/* A sentence for people. Static. */
const char *tupled_status_text(enum tupled_status status);

/* ---- building ---- */

struct tupled_key {
    enum tupled_status status;
    size_t parts;
    size_t bytes; /* what the server will store; a string or bytes: length + NUL bytes in it + 2, a
                   * number: 9, a boolean: 1, a bigint: its magnitude + 1 or 2 */
    size_t len;   /* used of data; the first 3 bytes are kept for the head */
    unsigned char data[TUPLED_KEY_BYTES_MAX + 4 * TUPLED_KEY_PARTS_MAX];
};

/* Also to use a key again. */
void tupled_key_init(struct tupled_key *key);
void tupled_key_add_string(struct tupled_key *key, const char *utf8, size_t len);
void tupled_key_add_bytes(struct tupled_key *key, const void *bytes, size_t len);
void tupled_key_add_number(struct tupled_key *key, double number);
/* A number part; within +-(2^53-1). */
void tupled_key_add_int(struct tupled_key *key, int64_t number);
void tupled_key_add_bool(struct tupled_key *key, int value);
/* A bigint part, which is another key than the number of the same value. */
void tupled_key_add_bigint(struct tupled_key *key, int64_t value);
/* The same from decimal digits with an optional '-', NUL-ended. */
void tupled_key_add_bigint_text(struct tupled_key *key, const char *digits);
/* The argument for a command, *len bytes; points into `key`. NULL: see key->status. */
const void *tupled_key_finish(struct tupled_key *key, size_t *len);

/* ---- reading ---- */

enum tupled_part_type {
    TUPLED_PART_BYTES = 1,
    TUPLED_PART_STRING,
    TUPLED_PART_BIGINT,
    TUPLED_PART_NUMBER,
    TUPLED_PART_BOOL
};

struct tupled_key_part {
    enum tupled_part_type type;
    int boolean;
    double number;
    const unsigned char *bytes; /* bytes, string (not NUL-ended), bigint (two's complement,
                                 * big-endian); points into what is read */
    size_t len;
};

struct tupled_key_reader {
    enum tupled_status status;
    size_t left; /* parts */
    const unsigned char *at;
    const unsigned char *end;
};

/* `key` must stay while the reader and its parts are in use. */
void tupled_key_read(struct tupled_key_reader *reader, const void *key, size_t len);
/* 1 and the next part, or 0 at the end or on damage (reader->status). */
int tupled_key_next(struct tupled_key_reader *reader, struct tupled_key_part *part);
/* The value of a bigint part; 0 when it does not fit. */
int tupled_part_int64(const struct tupled_key_part *part, int64_t *value);
/* Its decimal digits, NUL-ended; 0 when it is larger than a key may hold. */
#define TUPLED_BIGINT_TEXT_BYTES 617
int tupled_part_digits(const struct tupled_key_part *part, char out[TUPLED_BIGINT_TEXT_BYTES]);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
