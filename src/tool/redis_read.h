/* redis_read: what the keys of a Redis or Valkey server hold, read with the commands that any
 * client has: a key as it was at one moment.
 *
 *   small  most keys. Many of them at a time: type and size are asked for first, then each key
 *          is read by one MULTI with its expiry, so that no other client comes between
 *   long   (redis_long.h) one key, page by page
 *
 * The same reader reads the server that was loaded, to compare the two.
 */
#ifndef TOOL_REDIS_READ_H
#define TOOL_REDIS_READ_H

#include "tool/redis_elements.h"
#include "tool/source.h"

#define REDIS_AT_ONCE 500            /* keys whose replies are held together */
#define REDIS_SMALL_BYTES (64 << 10) /* by MEMORY USAGE; what has more is long */
#define REDIS_PAGE 5000              /* elements of a record (docs/export.md) */
#define REDIS_RECORD_BYTES (1u << 20)

struct redis_reader {
    struct wire *w;       /* borrowed */
    const char *who;      /* the server's name, for errors */
    bool has_expiretime;  /* PEXPIRETIME: Redis 7; else PTTL */
    bool has_field_times; /* HPEXPIRETIME: Redis 7.4, Valkey 9 */
    int64_t ahead_ms;     /* the server's clock, against ours */
};

/* One that is to be read, and what was read. */
struct redis_key {
    struct slice name; /* the caller's */
    enum redis_kind kind;
    char type[32];       /* as the server calls it; of REDIS_OTHER */
    int64_t expires_ms;  /* 0 = never */
    bool is_long;        /* it is to be read by redis_long.h */
    redisReply *value;   /* owned: the reply of EXEC; NULL = none */
    redisReply *expires; /* owned: of the fields of a hash; NULL = none has one */
};

/* What this server knows, and its time. What goes wrong is said. */
ERR_MUST_USE enum tool_status redis_reader_init(struct redis_reader *r, struct wire *w,
                                                const char *who);
/* A command; an error is said, with the server's name and advice. *reply is NULL unless TOOL_DONE.
 * `words` ends with NULL. */
ERR_MUST_USE enum tool_status redis_ask(struct redis_reader *r, const char *const *words,
                                        redisReply **reply);
/* The next reply, which may be an error. TOOL_BROKEN: it was said why. */
ERR_MUST_USE enum tool_status redis_hear(struct redis_reader *r, redisReply **reply);
/* Says an error of the server's; TOOL_NO. */
enum tool_status redis_refused(const struct redis_reader *r, const redisReply *reply);
enum tool_status redis_strange(const struct redis_reader *r, const char *command);
/* Unix time of the server, as it was said at the beginning. */
int64_t redis_now_ms(const struct redis_reader *r);
/* When a key ends, from the reply to redis_append_expiry; 0 = never; -1 = there is no such key. */
void redis_append_expiry(struct redis_reader *r, struct slice name);
int64_t redis_expiry_of(const struct redis_reader *r, const redisReply *reply);
/* The command for a word and a key. */
void redis_append(struct redis_reader *r, const char *command, struct slice name);

/* Asks when the fields of a hash end: those of a page of HSCAN, at least one. */
void redis_append_times(struct redis_reader *r, struct slice name, const redisReply *page);

/* Reads `count` keys, at most REDIS_AT_ONCE; of those that are long only kind and expiry. */
ERR_MUST_USE enum tool_status redis_read(struct redis_reader *r, struct redis_key *keys,
                                         size_t count);
void redis_key_clear(struct redis_key *key);
/* The elements of a key that is no string and not long. False: it is long after all, or its
 * reply has a form that is not known. */
bool redis_key_elements(const struct redis_key *key, struct redis_elements *out);
/* The bytes of a string that is not long. */
struct slice redis_key_bytes(const struct redis_key *key);
/* Has the stream groups? */
bool redis_key_has_groups(const struct redis_key *key);

#endif
