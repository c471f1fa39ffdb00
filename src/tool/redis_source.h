/* redis_source: what the files of `import redis://...` share: the source (from_redis.c), how it is
 * reached (redis_options.c), and what import does with it besides loading its records
 * (import_live.c, import_compare.c).
 */
#ifndef TOOL_REDIS_SOURCE_H
#define TOOL_REDIS_SOURCE_H

#include "tool/redis_follow.h"
#include "tool/redis_long.h"
#include "tool/source.h"

/* In the database that is loaded: where a key of several records lies until it is whole. */
#define REDIS_ASIDE "tupledctl:import"
#define REDIS_CURSOR_BYTES 24

enum redis_phase {
    REDIS_SCAN,   /* all keys of all databases */
    REDIS_SWEEP,  /* what the source no longer has is to be removed */
    REDIS_FOLLOW, /* keys that change, until a signal comes */
    REDIS_DRAIN,  /* what had changed until then */
    REDIS_OVER,
};

/* Keys that cannot be imported, of one type. */
struct redis_unknown {
    char type[32];
    uint64_t count;
    struct buf example; /* owned */
};

struct redis_source {
    const struct tool *t;
    struct wire_options options;
    char who[WIRE_WHY_BYTES]; /* for people */
    char run_id[64];          /* of this start of the server: cursors are good as long */
    struct wire *w;           /* owned */
    struct redis_reader reader;
    bool follows, is_all; /* is_all: every database, each into the one of its number */
    struct redis_follow follow;
    bool is_following; /* `follow` is open */
    /* Where it is. */
    enum redis_phase phase;
    uint32_t *databases; /* owned; that have keys */
    size_t database_count, database_at;
    uint32_t selected;
    int64_t told_database;                /* of the newest RECORD_DATABASE */
    bool is_begun;                        /* of databases[database_at] */
    char cursor[REDIS_CURSOR_BYTES];      /* of the page in hand, or of the next when it is done */
    char next_cursor[REDIS_CURSOR_BYTES]; /* "" = this is the last page */
    bool sweeps;                          /* changes were missed: what went must be looked for */
    bool is_again;                        /* all was loaded once: a stop waits for the rest */
    bool is_paused;                       /* the caller has been told to wait */
    struct redis_names last;              /* REDIS_DRAIN: what is still to be read */
    /* What was read. */
    redisReply *page; /* owned: of SCAN */
    size_t page_at;
    struct redis_key keys[REDIS_AT_ONCE];
    size_t key_count, key_at;
    struct arena arena; /* names that come from events */
    struct redis_long long_key;
    bool is_long, is_renaming;
    struct redis_elements elements;
    struct buf key, value; /* of the record */
    char number[24];       /* of its database */
    /* Figures. */
    uint64_t number_of, bytes, keys_done, keys_all, changes, torn;
    uint64_t keys_before; /* done by an earlier call */
    struct redis_unknown unknown[16];
    size_t unknown_count;
    int64_t begun_us;
};

/* redis_options.c */

/* The options of the connection to it: from the URL and the options --source-*. *database: of the
 * URL; -1 = it names none. What is wrong is said. */
ERR_MUST_USE enum tool_status redis_options_read(const struct tool *t, const char *url,
                                                 struct wire_options *o, int64_t *database);
/* The databases of INFO keyspace that have keys, ascending; the caller's: mem_free. *keys: of all
 * of them. */
uint32_t *redis_databases(struct slice info, size_t *count, uint64_t *keys);
/* A member of INFO; "" when it is not there. */
struct slice redis_info_get(struct slice info, const char *name);

/* redis_open.c */

enum tool_status redis_source_open(struct source *s, const char *from);
void redis_source_close(struct source *s);
/* The databases it has now, and how many keys. */
ERR_MUST_USE enum tool_status redis_source_look(struct redis_source *x);
ERR_MUST_USE enum tool_status redis_source_select(struct redis_source *x, uint32_t database);
/* MessagePack of a plain key. */
void redis_key_pack(struct slice name, struct buf *out);
/* For people. */
void redis_key_show(struct slice name, struct buf *out);

/* from_redis.c */

/* The keys in hand are done. */
void redis_source_forget_keys(struct redis_source *x);

#endif
