/* tupled_db.h: the database of the tupled server inside of a C or C++ program. No server runs and
 * no socket is opened: the program opens a directory, and the engine works on it with a few threads
 * of its own. Link with -ltupled (pkg-config libtupled).
 *
 *     struct tupled_db *db;
 *     struct tupled_error e;
 *     struct tupled_entry *entry;
 *     char stamp[TUPLED_STAMP_BYTES];
 *
 *     if (tupled_open("/srv/data", NULL, &db, &e) < 0) fail(e.text);
 *     if (tupled_set(db, tupled_text("[\"users\",1]"), tupled_text("{\"name\":\"Ada\"}"), NULL,
 *                    stamp, &e) < 0) fail(e.text);
 *     if (tupled_get(db, tupled_text("[\"users\",1]"), &entry, &e) > 0) {
 *         printf("%s at %s\n", (const char *)entry->value.data, entry->versionstamp);
 *         tupled_free(entry);
 *     }
 *     tupled_close(db, &e);
 *
 * ONE DIRECTORY, ONE PROCESS. What is opened is a directory as the server has it in its setting
 * `dir`: the server can be started on it later, and the other way round, but one of them at a time;
 * the second gets an error. A program may have several databases open, each on a directory of its
 * own: they do not know of each other. After fork() a child must not use those of its parent.
 *
 * RESULTS. A call returns TUPLED_YES (1: it was done, or it is there), TUPLED_NO (0: nothing was
 * there, or a condition did not hold, and nothing was changed) or TUPLED_FAILED (-1: an error, and
 * nothing was changed unless the text says that it is not known; only commands that are several
 * transactions, such as KV.DELRANGE of very much, may have done a part). The library never ends the
 * program, sets no signal handler, changes no signal mask but those of its own threads, and prints
 * nothing.
 *
 * ERRORS. `code` is one of the words that the server's error replies begin with; tupled.h, a header
 * beside this one, lists them with what to do: "ERR", "LIMIT", "WRONGTYPE", "DUPLICATE", "CORRUPT",
 * "TRYAGAIN", ... `text` is a sentence for people. `e` may be NULL. When the disk can no longer be
 * trusted (a write or sync of the journal failed, or the files were removed), the database
 * stops: this call and all later ones fail with the reason, until it is closed and opened again.
 *
 * BROKEN. When there is no memory for a small structure of the library's own, or it finds a defect
 * of its own (an invariant that does not hold), the database is broken: calls that are under way,
 * on all threads, and all later ones fail with the code TUPLED_BROKEN, no callback is called any
 * more, also not for calls that are under way, and the library's threads stop. Other databases of
 * the program go on. Whether what was under way has happened is not known; what was acknowledged
 * has. tupled_close, which fails too, ends the threads and gives back files and locks; then the
 * directory can be opened again. The memory that a broken database has is lost.
 *
 * WHAT A RESULT PROMISES is what a reply of the server promises. A write is on disk (durability
 * TUPLED_ALWAYS, the default) when the call returns; whatever a read returns is on disk too.
 *
 * THREADS. Any number of threads may use a database at once. A call that needs no wait (a read of
 * what is in memory) is carried out by the thread that makes it; a write waits until it is durable,
 * together with those of other threads. A call that is made when another one has given its result
 * sees what that has done; calls that are under way at the same time, those with a callback too,
 * may take effect in any order. Callbacks come from a thread of the library's (or from
 * tupled_turn), one at a time; they may make any call but tupled_close. One that takes long keeps
 * the others waiting. All threads of the library have all signals blocked. Do not cancel a thread
 * inside a call, and make no call from a signal handler.
 *
 * YOUR OWN LOOP. With `is_driven` the library has no threads for turns and callbacks (only those
 * that read and write files): tupled_fd is readable when there is something to do, and then
 * tupled_turn does it and calls callbacks. Calls that wait must then be made by the thread that
 * makes the turns; those with a callback by any.
 *
 * OWNERSHIP. What goes in is borrowed for the call and copied where it must last. What comes out of
 * `struct tupled_x **out` is the caller's, in one piece: tupled_free. What a callback is given is
 * good until it returns, unless it says otherwise. Bytes that come out have a NUL after them that
 * is not counted in `len`.
 *
 * KEYS are arrays of parts: JSON text, ["users",1], or MessagePack, told apart by the first byte.
 * To make them from parts, use tupled_key_init, tupled_key_add_string, ... tupled_key_finish of
 * tupled.h, which this library has too. VALUES are typed JSON text or MessagePack: one of them for
 * a database (option `format`), both ways. VERSIONSTAMPS are 20 hexadecimal digits. Times are in
 * milliseconds, sizes in bytes, unless the name says otherwise.
 */
#ifndef TUPLED_DB_H
#define TUPLED_DB_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct tupled_db;      /* an open database */
struct tupled_atomic;  /* a transaction being put together */
struct tupled_session; /* what a connection is to the server */
struct tupled_watch;   /* a callback for changes */

#define TUPLED_STAMP_BYTES 21 /* a versionstamp and its NUL */
#define TUPLED_ID_BYTES 25    /* the id of a message and its NUL */

enum tupled_outcome { TUPLED_FAILED = -1, TUPLED_NO = 0, TUPLED_YES = 1 };

struct tupled_error {
    char code[16];  /* "" = no error */
    char text[256]; /* one line */
};

struct tupled_bytes {
    const void *data;
    size_t len;
};

/* Of text that ends with NUL. */
static inline struct tupled_bytes tupled_text(const char *text)
{
    struct tupled_bytes b;
    b.data = text;
    b.len = strlen(text);
    return b;
}

/* Frees what a call gave; NULL is nothing. */
void tupled_free(void *p);

/* ---- opening and closing --------------------------------------------------------------------- */

enum tupled_durability {
    TUPLED_ALWAYS,   /* a write returns when it is on disk */
    TUPLED_INTERVAL, /* at once; it is on disk within durability_interval_ms */
    TUPLED_NEVER     /* at once; the system decides when it goes to the disk */
};

enum tupled_format { TUPLED_JSON, TUPLED_MSGPACK };

enum tupled_log_level {
    TUPLED_LOG_DEBUG,
    TUPLED_LOG_VERBOSE,
    TUPLED_LOG_NOTICE,
    TUPLED_LOG_WARNING
};

/* conf/tupled.conf explains those that are settings of the server too; defaults in brackets. */
struct tupled_options {
    size_t struct_bytes; /* set by tupled_options_init: the library knows your version of it */
    enum tupled_durability durability;
    enum tupled_format
        format; /* of values and keys that come out, and of values that go in [JSON] */
    uint64_t durability_interval_ms;  /* with TUPLED_INTERVAL: 1 to 60000 [1000] */
    uint64_t cache_bytes;             /* entries in memory [256 MB] */
    uint64_t store_cache_bytes;       /* pages of the database file, at least 1 MB [64 MB] */
    uint64_t memtable_bytes;          /* what is new and not in the file, 1 MB to 4 GB [64 MB] */
    uint64_t memtable_age_ms;         /* then it goes to the file, at least 1 [5000] */
    uint64_t write_buffer_bytes;      /* writers wait from here on, at least 1 MB [256 MB] */
    uint64_t journal_segment_bytes;   /* 4 MB to 4 GB [96 MB] */
    uint64_t changes_retention_ms;    /* history for KV.CHANGES [a day] */
    uint64_t changes_retention_bytes; /* [1 GB] */
    uint64_t value_bytes_max;         /* 1 KB to 256 MB [16 MB] */
    uint64_t transaction_bytes_max;   /* 64 KB to 1 GB; two thirds of a segment at most [64 MB] */
    uint64_t transaction_ops_max;     /* 1 to 1,000,000 [20,000] */
    uint64_t queue_lease_ms; /* of a message, unless the call says it; at least 1 [30,000] */
    unsigned query_threads;  /* that read files, 1 to 64 [2] */
    unsigned databases;      /* there are so many, 1 to 16 [16] ... */
    unsigned database;       /* ... and calls are for this one [0] */
    int is_driven;           /* by the caller's loop: see above [0] */
    /* Gets a line for everything that the server would log; any thread; NULL = none [NULL]. It
     * must make no call of this library. */
    void (*log)(void *arg, enum tupled_log_level level, const char *line);
    void *log_arg;
    enum tupled_log_level log_level; /* less is not told [NOTICE] */
};

#define tupled_options_init(o) tupled_options_init_sized((o), sizeof *(o))
void tupled_options_init_sized(struct tupled_options *o, size_t struct_bytes);

/* Creates the directory if need be, and recovers what an earlier process left. `o` NULL: the
 * defaults. FAILED: the directory cannot be used or is in use, an option is out of its range, what
 * is stored is damaged or of a newer version. */
int tupled_open(const char *dir, const struct tupled_options *o, struct tupled_db **out,
                struct tupled_error *e);
/* Calls that have been carried out get their result; those that still wait (for a message, for
 * room, for the disk) end with an error; callbacks not yet called are called. Watches and sessions
 * that are open end too and must not be used any more. Frees in any case. FAILED: not everything
 * could be moved to the database file (it is in the journal), or the database is broken, or the
 * call comes from a callback, and then nothing was done. No other thread may begin a call. db may
 * be NULL. */
int tupled_close(struct tupled_db *db, struct tupled_error *e);

/* With is_driven: a descriptor to poll for reading; it is the library's. -1 without. */
int tupled_fd(const struct tupled_db *db);
/* With is_driven: does what there is to do and calls callbacks; never waits. YES: there is more to
 * do, call again without polling. FAILED: the database has stopped, or is broken. */
int tupled_turn(struct tupled_db *db, struct tupled_error *e);

/* ---- keys and values ------------------------------------------------------------------------- */

struct tupled_entry {
    struct tupled_bytes key;   /* in the format; of tupled_get empty */
    struct tupled_bytes value; /* data NULL: not asked for */
    char versionstamp[TUPLED_STAMP_BYTES];
    int64_t expiry_ms; /* when it expires, ms since 1970; 0 = never. Of tupled_get only */
    double score;      /* of tupled_search, higher is better */
};

enum tupled_condition {
    TUPLED_IF_ANY,
    TUPLED_IF_ABSENT,
    TUPLED_IF_PRESENT,
    TUPLED_IF_VERSION /* the entry has this versionstamp */
};

/* {0} is: no condition, no expiry. */
struct tupled_set_options {
    enum tupled_condition condition;
    const char *versionstamp; /* with TUPLED_IF_VERSION */
    int64_t ttl_ms;           /* it expires in so many milliseconds; 0 = never */
    int keeps_ttl;            /* it expires when the entry there would have */
    const char *idem;         /* a request id: with the same one the write happens once */
};

/* NO: the key is not there. */
int tupled_get(struct tupled_db *db, struct tupled_bytes key, struct tupled_entry **out,
               struct tupled_error *e);
/* `o` NULL: {0}. The versionstamp of the write goes to `stamp`, which may be NULL. NO: the
 * condition does not hold. */
int tupled_set(struct tupled_db *db, struct tupled_bytes key, struct tupled_bytes value,
               const struct tupled_set_options *o, char stamp[TUPLED_STAMP_BYTES],
               struct tupled_error *e);
/* NO: it was not there. */
int tupled_delete(struct tupled_db *db, struct tupled_bytes key, struct tupled_error *e);

/* Which entries, and how many: {0} is the first 100 of all. A key or text with len 0 is not given.
 * */
struct tupled_range {
    struct tupled_bytes prefix, start, end; /* below; from, inclusive; to, exclusive */
    struct tupled_bytes where;              /* a filter, JSON: docs/filters.md */
    const char *cursor;                     /* of the page before */
    size_t limit;                           /* 0 = 100; at most 10,000 */
    int is_reverse;
    int keys_only;
    /* Of tupled_find: so many values, in the format, from the first path of the index on. */
    const struct tupled_bytes *values;
    size_t value_count;
};

struct tupled_page {
    size_t count;
    struct tupled_entry *entries;
    const char *cursor; /* for the next page; NULL = there is none */
};

int tupled_list(struct tupled_db *db, const struct tupled_range *range, struct tupled_page **out,
                struct tupled_error *e);

/* The entries that an index has for `values`, in its order; of `range` count too: where, cursor,
 * limit, is_reverse, keys_only; and start and end are values of the next path: from, to. Indexes
 * are made with KV.INDEX CREATE, by tupled_command. */
int tupled_find(struct tupled_db *db, const char *index, const struct tupled_range *range,
                struct tupled_page **out, struct tupled_error *e);
/* Full text, best first, with scores. Of `range`: where and limit; may be NULL. */
int tupled_search(struct tupled_db *db, const char *index, struct tupled_bytes query,
                  const struct tupled_range *range, struct tupled_page **out,
                  struct tupled_error *e);

/* ---- transactions ---------------------------------------------------------------------------- */

/* Checks first, then the rest in order; all of it or nothing. What is added is copied. A mistake
 * (no memory) is kept and told by the commit; so tupled_atomic_new may give NULL, which all of
 * these calls take. An operation has a number, from 0. */
struct tupled_atomic *tupled_atomic_new(void);
void tupled_atomic_free(struct tupled_atomic *a);
/* Only if the key has this versionstamp; NULL: only if it does not exist. */
void tupled_atomic_check(struct tupled_atomic *a, struct tupled_bytes key,
                         const char *versionstamp);
void tupled_atomic_set(struct tupled_atomic *a, struct tupled_bytes key, struct tupled_bytes value);
/* ... and it expires in so many milliseconds. */
void tupled_atomic_set_expiring(struct tupled_atomic *a, struct tupled_bytes key,
                                struct tupled_bytes value, int64_t ttl_ms);
void tupled_atomic_delete(struct tupled_atomic *a, struct tupled_bytes key);
/* Numbers, bigints, u64: the entry is replaced by the sum, the lesser, the greater. */
void tupled_atomic_sum(struct tupled_atomic *a, struct tupled_bytes key, struct tupled_bytes value);
void tupled_atomic_min(struct tupled_atomic *a, struct tupled_bytes key, struct tupled_bytes value);
void tupled_atomic_max(struct tupled_atomic *a, struct tupled_bytes key, struct tupled_bytes value);
/* Arrays: elements are added at the end, at the start. */
void tupled_atomic_append(struct tupled_atomic *a, struct tupled_bytes key,
                          struct tupled_bytes elements);
void tupled_atomic_prepend(struct tupled_atomic *a, struct tupled_bytes key,
                           struct tupled_bytes elements);
void tupled_atomic_enqueue(struct tupled_atomic *a, const char *queue, struct tupled_bytes value,
                           int64_t delay_ms);
/* A check too: the receipt must still be good. */
void tupled_atomic_ack(struct tupled_atomic *a, const char *receipt);
/* The words of the operations that KV.ATOMIC has and this header has not: docs/transactions.md. One
 * operation at a time. */
void tupled_atomic_words(struct tupled_atomic *a, const struct tupled_bytes *words, size_t count);
/* With the same id the transaction happens once, and a repeat gets the first result. */
void tupled_atomic_idem(struct tupled_atomic *a, const char *idem);

struct tupled_commit {
    char versionstamp[TUPLED_STAMP_BYTES]; /* of the transaction; "" when a check failed */
    /* When a check failed: the first one that did, and the versionstamp that its key has; "" when
     * the key is not there, or the operation is an ack. */
    size_t failed_operation;
    char current[TUPLED_STAMP_BYTES];
};

/* NO: a check failed, nothing has happened, and *out says which. `out` may be NULL. The transaction
 * stays as it is: it can be committed again, and must be freed. */
int tupled_atomic_commit(struct tupled_db *db, const struct tupled_atomic *a,
                         struct tupled_commit *out, struct tupled_error *e);

/* ---- queues ---------------------------------------------------------------------------------- */

struct tupled_enqueue_options {
    int64_t delay_ms;  /* not before */
    const char *dedup; /* another one with this id, within some minutes, is not taken */
};

/* `o` may be NULL. The message's id goes to `id`, which may be NULL. NO: dedup has seen the id. */
int tupled_enqueue(struct tupled_db *db, const char *queue, struct tupled_bytes value,
                   const struct tupled_enqueue_options *o, char id[TUPLED_ID_BYTES],
                   struct tupled_error *e);

struct tupled_message {
    const char *queue, *id;
    struct tupled_bytes value;
    int64_t attempt;     /* 1 = the first */
    const char *receipt; /* for tupled_ack and relatives */
};

struct tupled_messages {
    size_t count;
    struct tupled_message *items;
};

/* Waits up to so long for a message; 0: not at all, -1: for ever (until the database is closed).
 * The message is the caller's for the time of the lease, queue_lease_ms. Up to `count` that are
 * there are given. NO: there was none. */
int tupled_dequeue(struct tupled_db *db, const char *queue, size_t count, int64_t wait_ms,
                   struct tupled_messages **out, struct tupled_error *e);
/* The work is done. NO: the receipt is no longer good; another consumer has the message. */
int tupled_ack(struct tupled_db *db, const char *receipt, struct tupled_error *e);
/* It is not: the message comes again, after delay_ms; -1: as its backoff says. `why` may be NULL.
 * */
int tupled_nack(struct tupled_db *db, const char *receipt, int64_t delay_ms, const char *why,
                struct tupled_error *e);
/* The lease ends in so long from now. */
int tupled_extend(struct tupled_db *db, const char *receipt, int64_t lease_ms,
                  struct tupled_error *e);

/* ---- any command ----------------------------------------------------------------------------- */

enum tupled_reply_type {
    TUPLED_REPLY_NIL,
    TUPLED_REPLY_STRING,  /* text, len */
    TUPLED_REPLY_INTEGER, /* integer */
    TUPLED_REPLY_DOUBLE,  /* number */
    TUPLED_REPLY_BOOLEAN, /* integer: 0 or 1 */
    TUPLED_REPLY_ERROR,   /* text: inside of an array only */
    TUPLED_REPLY_ARRAY,   /* count, items */
    TUPLED_REPLY_MAP,     /* the same: name, value, name, value, ... */
    TUPLED_REPLY_SET      /* the same */
};

/* As the server's reply in RESP3. One piece: free the root with tupled_free. */
struct tupled_reply {
    enum tupled_reply_type type;
    int64_t integer;
    double number;
    const char *text;
    size_t len;
    size_t count;
    const struct tupled_reply *items;
};

/* A command as the server takes it: docs/commands.md. An error of the command is FAILED. Commands
 * that are about a connection (SELECT, MULTI, KV.FORMAT, ...) need a session; those that are about
 * a server or its clients (SUBSCRIBE, CONFIG, MONITOR, SHUTDOWN, CLIENT KILL, ...) say what to do
 * instead. A command with BLOCK waits. */
int tupled_command(struct tupled_db *db, const struct tupled_bytes *words, size_t count,
                   struct tupled_reply **out, struct tupled_error *e);

/* A session keeps what a connection would: MULTI ... EXEC, WATCH, SELECT, KV.FORMAT. One thread at
 * a time. Close it before the database, or let that end it. */
int tupled_session_open(struct tupled_db *db, struct tupled_session **out, struct tupled_error *e);
int tupled_session_command(struct tupled_session *s, const struct tupled_bytes *words, size_t count,
                           struct tupled_reply **out, struct tupled_error *e);
void tupled_session_close(struct tupled_session *s);

/* ---- with a callback ------------------------------------------------------------------------- */

/* `outcome` and what comes with it are what the call of the same name would have returned. The
 * callback is called once, never inside the call, unless the call itself returned FAILED (there was
 * no memory for it, or the database is being closed, or is broken) or the database broke before
 * that: then tupled_close, which says so, is the end of calls under way too. Nothing but
 * memory bounds how many calls may be under way. A reply, an entry: the callback's to free
 * (tupled_free), NULL when there is none. */
typedef void tupled_on_reply(void *arg, int outcome, struct tupled_reply *reply,
                             const struct tupled_error *e);
typedef void tupled_on_entry(void *arg, int outcome, struct tupled_entry *entry,
                             const struct tupled_error *e);
/* Of tupled_set: the versionstamp is "" unless the outcome is YES. */
typedef void tupled_on_stamp(void *arg, int outcome, const char *versionstamp,
                             const struct tupled_error *e);
typedef void tupled_on_commit(void *arg, int outcome, const struct tupled_commit *commit,
                              const struct tupled_error *e);

int tupled_command_async(struct tupled_db *db, const struct tupled_bytes *words, size_t count,
                         tupled_on_reply *done, void *arg);
int tupled_get_async(struct tupled_db *db, struct tupled_bytes key, tupled_on_entry *done,
                     void *arg);
int tupled_set_async(struct tupled_db *db, struct tupled_bytes key, struct tupled_bytes value,
                     const struct tupled_set_options *o, tupled_on_stamp *done, void *arg);
int tupled_atomic_commit_async(struct tupled_db *db, const struct tupled_atomic *a,
                               tupled_on_commit *done, void *arg);

/* ---- watching -------------------------------------------------------------------------------- */

struct tupled_change {
    struct tupled_bytes key;   /* in the format; len 0: everything in the database was removed */
    struct tupled_bytes value; /* data NULL: deleted, or expired */
    char versionstamp[TUPLED_STAMP_BYTES]; /* of the entry; "" when there is none */
    char commit[TUPLED_STAMP_BYTES];       /* of the change */
};

/* `change` NULL: the watch has ended by itself, as the callback was too slow for too long or the
 * database has stopped (`e` says which); it must still be ended with tupled_unwatch. */
typedef void tupled_on_change(void *arg, const struct tupled_change *change,
                              const struct tupled_error *e);

/* What kv:watch: and kv:prefix: give a subscriber of the server (docs/watch.md): of a key its
 * current state first, then every change after it is durable; of a prefix every change below it. A
 * callback that does not keep up gets the newest state of each key, not every one. */
int tupled_watch_key(struct tupled_db *db, struct tupled_bytes key, tupled_on_change *changed,
                     void *arg, struct tupled_watch **out, struct tupled_error *e);
int tupled_watch_prefix(struct tupled_db *db, struct tupled_bytes prefix, tupled_on_change *changed,
                        void *arg, struct tupled_watch **out, struct tupled_error *e);
/* When it returns, the callback is not running and is not called any more; from inside the
 * callback: it is not called again. */
void tupled_unwatch(struct tupled_watch *w);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
