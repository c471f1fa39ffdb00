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
/* the command, a key, a value or an option is wrong, or it could not be done; the text says what is
 * wrong and where. To do: correct the command; sending it again does not help, but for `ERR disk
 * full`, which ends when there is space again */
#define TUPLED_ERR "ERR"
/* the stored value, or the operand, has a type that the command is not for. To do: look for a
 * mistake in the program, or for two programs that use the key; the text names both types */
#define TUPLED_WRONGTYPE "WRONGTYPE"
/* something is larger, longer or more than a limit allows. To do: make it smaller, or split it;
 * KV.LIMITS shows the limits, the text names the setting if there is one */
#define TUPLED_LIMIT "LIMIT"
/* the result is a number that the type cannot hold: beyond +-(2^53-1), the range of a double, or
 * 255 bytes of a bigint; nothing was changed. To do: keep a bigint there in place of a number */
#define TUPLED_OVERFLOW "OVERFLOW"
/* the sum is outside of KV.SUM's RANGE, or is NaN where it has RANGE or CLAMP; nothing was
 * changed. To do: take it for an answer, not a mistake: what is counted is used up or full */
#define TUPLED_RANGE "RANGE"
/* a unique index has the value already: `DUPLICATE <index> <key>`, the key that has it; of KV.INDEX
 * CREATE two keys. To do: take it for an answer, not a mistake: choose another value, or change
 * that key */
#define TUPLED_DUPLICATE "DUPLICATE"
/* RESTORE without REPLACE: the key is there. To do: take it for an answer, not a mistake: choose
 * another key, or say REPLACE */
#define TUPLED_BUSYKEY "BUSYKEY"
/* EVALSHA: the server does not know a script of that SHA1. To do: send the script with EVAL; client
 * libraries do so by themselves */
#define TUPLED_NOSCRIPT "NOSCRIPT"
/* there is no such stream, or it has no such consumer group. To do: make it with XGROUP CREATE ...
 * MKSTREAM */
#define TUPLED_NOGROUP "NOGROUP"
/* XGROUP CREATE: the stream has a group of that name. To do: take it for an answer, not a mistake:
 * the group can be used */
#define TUPLED_BUSYGROUP "BUSYGROUP"
/* PFADD, PFCOUNT, PFMERGE: the value begins as a HyperLogLog, but what follows is none. To do:
 * delete the key, or copy it again from where it came */
#define TUPLED_INVALIDOBJ "INVALIDOBJ"
/* SCRIPT KILL or FUNCTION KILL: nothing runs longer than a turn. To do: take it for an answer, not
 * a mistake */
#define TUPLED_NOTBUSY "NOTBUSY"
/* what was stored cannot be read: the disk gave it back damaged; the key or the place follows. To
 * do: do not repeat it; the operator must act (docs/durability.md, Damage). All else goes on */
#define TUPLED_CORRUPT "CORRUPT"
/* the index is still being filled; the percentage follows. To do: ask again later; KV.INDEX INFO
 * shows how far it is */
#define TUPLED_INDEXING "INDEXING"
/* the database holds as much as its limits (KV.DB LIMIT) allow. To do: remove something, or raise
 * the limit; reading and removing go on */
#define TUPLED_QUOTA "QUOTA"
/* there is no such database, or the selected one was dropped. To do: KV.DB LIST shows those there
 * are; SELECT one of them */
#define TUPLED_NODB "NODB"
/* of libtupled only: a defect, or no memory for something small, has broken the database; nothing
 * is done any more. To do: close it and open it again: what was acknowledged is there */
#define TUPLED_BROKEN "BROKEN"
/* the history asked for is no longer kept, or not of this database; the oldest versionstamp that is
 * follows. Of KV.ELEMENTS: the collection has changed since the page that gave the cursor. To
 * do: read everything again with KV.LIST, then go on from the KV.VERSION of before that; of
 * KV.ELEMENTS begin again without CURSOR */
#define TUPLED_STALE "STALE"
/* nothing happened, and it may work next time. To do: send it again after a short pause */
#define TUPLED_TRYAGAIN "TRYAGAIN"
/* EXEC did nothing; number, name and error of the command that was wrong follow. To do: act on the
 * code of that command, the first word after its name */
#define TUPLED_EXECABORT "EXECABORT"
/* CLIENT UNBLOCK ended the wait. To do: wait again, or stop */
#define TUPLED_UNBLOCKED "UNBLOCKED"
/* HELLO asked for a protocol that the server does not speak. To do: use 2 or 3 */
#define TUPLED_NOPROTO "NOPROTO"
/* protected mode: the connection comes from another machine and there is no password. To do:
 * connect from the same machine, or see protected-mode in conf/tupled.conf */
#define TUPLED_DENIED "DENIED"
/* the connection must say AUTH first. To do: send AUTH or HELLO with AUTH */
#define TUPLED_NOAUTH "NOAUTH"
/* AUTH failed. To do: correct the user and password */
#define TUPLED_WRONGPASS "WRONGPASS"
/* the user may not run the command, or not on this key, channel or database. To do: ask for the
 * permission, or use another user */
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
