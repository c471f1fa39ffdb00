/* engine: transactions over a backend. A command hands in parsed operations; the engine loads what
 * they may touch, evaluates them against the newest state, and commits the result: all or nothing,
 * in one turn of the loop, so that no lock exists.
 *
 * Keys here are internal keys, made by engine_key_begin and the tuple's bytes: database, space,
 * tuple. Features (expiry, later indexes and queues) are layers: they see the mutations of every
 * transaction before it commits, may add their own, and are called after; no command calls them.
 *
 * ERR_WAIT from any call: nothing has happened; the waiter will be woken; call again with the same
 * arguments, from the start.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "backend/backend.h"
#include "backend/txn.h"
#include "base/arena.h"
#include "codec/arith.h"
#include "engine/stamp.h"

enum space {
    SPACE_DATA = 1,   /* tuple -> value */
    SPACE_EXPIRY = 2, /* expiry ms (8 bytes, big-endian), tuple -> nothing; see expiry.c */
    SPACE_IDEM = 3,   /* user length (1 byte), user, id -> time ms (8 bytes, big-endian),
                       * fingerprint, reply */
    /* Of the queues; queue/rows.h says what is in them. */
    SPACE_QUEUE = 4,
    SPACE_MESSAGE = 5,
    SPACE_READY = 6,
    SPACE_STATE = 7,
    SPACE_LEASE = 8,
    SPACE_DEAD = 9,
    SPACE_DEDUP = 10,
    /* Of the indexes; index/rows.h says what is in them. */
    SPACE_INDEX = 11,
    SPACE_INDEX_ENTRY = 12,
    SPACE_TEXT = 13,     /* the backend reads this one: BACKEND_SPACE_TEXT */
    SPACE_DATABASE = 14, /* of the catalog; database/database.h says what is in it */
    /* Of hashes, lists, sets, sorted sets and streams; collection/rows.h says what is in them. */
    SPACE_ELEMENT = 15,
    SPACE_COLLECTION = 16,
    SPACE_HASH_TEXT = 17, /* of the indexes; the backend reads it: BACKEND_SPACE_HASH_TEXT */
    SPACE_END,
};

struct engine;
struct overlay;
struct layer_op;

struct engine_options {
    struct backend *backend;
    uint64_t value_bytes_max;
    uint64_t txn_bytes_max;
    size_t ops_max;
    unsigned expire_batch; /* entries removed by one transaction of the sweeper */
    int64_t idem_window_ms;
    uint64_t idem_entries_max;
    bool is_frozen;    /* nothing can be committed */
    bool is_following; /* likewise, but by another process: engine_follow */
};

struct engine *engine_new(const struct engine_options *options);
void engine_free(struct engine *g);
struct backend *engine_backend(struct engine *g);
const struct engine_options *engine_limits(const struct engine *g);
/* value_bytes_max, txn_bytes_max, ops_max, expire_batch and idem_* of these apply from the next
 * call on. */
void engine_set_limits(struct engine *g, const struct engine_options *limits);

/* Appends the head of a data key: the tuple's bytes follow. */
void engine_key_begin(struct buf *out, uint16_t database);
/* The data keys that lie below the tuple: [*start, *end), in the arena. */
void engine_range_below(struct arena *arena, uint16_t database, struct slice tuple,
                        struct slice *start, struct slice *end);
/* The tuple part of a data key. */
static inline struct slice engine_key_tuple(struct slice key)
{
    return slice_of(key.data + KEY_HEAD_BYTES, key.len - KEY_HEAD_BYTES);
}

/* ---- transactions ---- */

enum op_kind {
    OP_CHECK,
    OP_SET,
    OP_DELETE,
    OP_ARITH,  /* SUM, MIN, MAX */
    OP_JOIN,   /* APPEND, PREPEND */
    OP_EXPIRE, /* EXPIRE and relatives, PERSIST */
    OP_EDIT,   /* the new value is what `edit` makes of the old one; keeps the TTL */
    OP_LAYER,  /* what `layer` says: an operation that only its layer understands */
};

enum op_condition {
    IF_ANY,
    IF_ABSENT,  /* NX */
    IF_PRESENT, /* XX */
    IF_VERSION, /* IFVERSION */
    /* OP_EXPIRE only: */
    IF_NO_EXPIRY,      /* NX */
    IF_EXPIRY,         /* XX */
    IF_LATER,          /* GT: no expiry counts as infinitely late */
    IF_EARLIER,        /* LT */
    IF_EXPIRY_EARLIER, /* XX and LT; XX and GT is IF_LATER */
};

enum op_ttl {
    TTL_NONE,  /* never expires */
    TTL_KEEP,  /* as it was */
    TTL_AFTER, /* ttl_ms after transaction time */
    TTL_AT,    /* at ttl_ms, wall clock */
};

struct op {
    enum op_kind kind;
    enum op_condition condition;
    enum op_ttl ttl;
    bool is_prepend;  /* OP_JOIN */
    bool counts_live; /* OP_DELETE: the result must tell whether it was there */
    int64_t ttl_ms;
    struct slice key;
    struct slice value;       /* OP_SET, OP_JOIN */
    struct expected expected; /* OP_CHECK, IF_VERSION */
    struct arith arith;       /* OP_ARITH */
    /* OP_SET, OP_DELETE; NULL = any. Sees the entry before; its error refuses the transaction. */
    enum err (*guard)(const struct entry *old, struct error *e);
    /* OP_EDIT. `stored` NULL = absent; appends the new value. Sees nothing but its arguments. */
    enum err (*edit)(const struct op *op, const struct slice *stored, struct buf *out,
                     struct error *e);
    int64_t delta;          /* for `edit` */
    struct layer_op *layer; /* OP_LAYER */
    /* results */
    bool is_met;         /* the condition held, or what was to be deleted was there */
    bool has_failed;     /* it is a check, and made the transaction a conflict */
    bool has_current;    /* a failed check: the key is there, with ... */
    uint64_t current;    /* ... this version */
    struct slice result; /* OP_ARITH, OP_EDIT: the new value */
    struct entry old;    /* with a guard: the entry before; borrowed until the end of the turn */
    uint64_t count;      /* OP_JOIN: the new length */
};

/* What a key was written for, for those who are told of commits (struct mutation). It is not kept:
 * of what is replayed, or came from another node, nothing is known. */
enum cause {
    CAUSE_NONE,
    CAUSE_SET,
    CAUSE_SET_EXPIRING, /* with a time to live of its own */
    CAUSE_DELETE,
    CAUSE_ADD, /* to a number: OP_ARITH, OP_EDIT */
    CAUSE_JOIN,
    CAUSE_EXPIRE, /* its time to live was changed; a time that has passed deletes it */
    CAUSE_EXPIRED,
    CAUSE_FIELDS_EXPIRED, /* a part of it has: see engine_on_due */
    CAUSE_COMMAND, /* this and what follows: who made the transaction knows better (txn.cause) */
};

struct txn {
    struct overlay *overlay; /* NULL: a transaction of its own, committed at once; else one of those
                              * between engine_begin and engine_end */
    uint16_t database;
    bool commits_always; /* takes a version even when it changes nothing (KV.ATOMIC) */
    uint16_t cause;      /* of its operations; 0 = as their kind says */
    bool has_flush;      /* everything in the database is removed first */
    bool is_drop;        /* with has_flush: what would stay of it (definitions of indexes) too */
    struct op *ops;
    size_t count;
    struct arena *arena; /* for results and scratch; lives as long as the reply needs them */
    /* results */
    bool is_conflict; /* a check failed: nothing happened; see the ops */
    uint64_t version; /* 0 = nothing was committed; over an overlay: that it will get */
    uint64_t depends; /* of the reply; `version` included, but for an overlay's */
    size_t failed_op; /* the op that an error is about; `count`: what follows from all of them */
};

ERR_MUST_USE enum err engine_commit(struct engine *g, struct txn *t, struct waiter *w,
                                    struct error *e);

/* Several evaluations in one transaction (EXEC, IDEM): each sees what the earlier ones wrote; all
 * of it is committed by engine_end, or none. Within one turn of the loop: a caller that must wait
 * discards and begins again. Before the first write: engine_admit. */
struct overlay *engine_begin(struct engine *g, struct arena *arena);
/* It may have so many operations, or options.ops_max if that is more. */
void engine_allow_ops(struct overlay *o, size_t ops);
/* What its evaluations do besides evaluating operations and passing rows: a step is a nanosecond
 * or so of processor time, estimated from sizes. ERR_LIMIT: it has taken ENGINE_STEPS_MAX and may
 * begin nothing more; what is begun before may take any number. Without an overlay there is no
 * limit. */
#define ENGINE_STEPS_MAX 100000000
ERR_MUST_USE enum err engine_take_steps(struct overlay *o, uint64_t steps, struct error *e);
/* The same of what has been done. */
void engine_count_steps(struct overlay *o, uint64_t steps);
uint64_t engine_steps(const struct overlay *o);
/* It may take any number: it does not run in one turn. */
void engine_allow_steps(struct overlay *o);
/* May anything be written now? ERR_WAIT, ERR_DISK_FULL. engine_commit asks this itself, but for an
 * overlay. */
ERR_MUST_USE enum err engine_admit(struct engine *g, struct waiter *w, struct error *e);
/* Before each of many transactions of one command: waits until they do not slow down others. */
ERR_MUST_USE enum err engine_admit_bulk(struct engine *g, struct waiter *w, struct error *e);
/* Commits and frees it, also on error. *version 0 = there was nothing to commit. */
ERR_MUST_USE enum err engine_end(struct overlay *o, uint64_t *version, struct waiter *w,
                                 struct error *e);
void engine_discard(struct overlay *o); /* may be NULL */
/* Between two evaluations: a place to go back to. They are nested: what is done to one ends those
 * that came after it. Good until the overlay ends. */
struct savepoint;
struct savepoint *engine_mark(struct overlay *o);
/* What was evaluated since stays, as far as no earlier one is gone back to. */
void engine_release(struct overlay *o, struct savepoint *s);
/* As if what was evaluated since had not been. False: it cannot, for a database was flushed since;
 * the overlay must be discarded. */
bool engine_undo(struct overlay *o, struct savepoint *s);
/* The overlay is used in several turns, and never committed: what it writes is copied, and its
 * entries have the version, which stands for the one that a commit would get. At its beginning. */
void engine_keep(struct overlay *o, uint64_t version);
/* What was evaluated over `first` is evaluated over `o` once more, later: what it tells and writes
 * as the time is the same. What has ended meanwhile is not there any more. At its beginning. */
void engine_tell_time_of(struct overlay *o, const struct overlay *first);
/* Was there one that is not small (ENGINE_SMALL_*) since this was last asked? */
bool engine_take_large(struct engine *g);
/* Grows with each evaluation that has something to commit. */
unsigned engine_overlay_changes(const struct overlay *o);
/* The version that its entries have. */
uint64_t engine_overlay_version(const struct overlay *o);
/* Is it a row of a collection that this transaction has spread? What it did not write of those is
 * not there, and must not be read: another attempt has another incarnation. */
bool engine_is_new_row(const struct overlay *o, struct slice key);
/* The version that a commit gets if it is made in this turn and before any other. */
uint64_t engine_version_next(struct engine *g);

/* ---- request ids ---- */

#define IDEM_ID_BYTES_MAX 255
#define IDEM_FINGERPRINT_BYTES 16

struct idem_request {
    uint16_t database;
    struct slice user, id;                       /* at most IDEM_ID_BYTES_MAX each */
    uint8_t fingerprint[IDEM_FINGERPRINT_BYTES]; /* of the command and its arguments */
    /* results of idem_find */
    bool is_repeat; /* the id was used within the window ... */
    struct slice
        reply; /* ... with this reply, as given to idem_keep; good until the end of the turn */
    uint64_t depends;
};

/* Has the id been used within the window? ERR_SYNTAX: used for something else. ERR_TRYAGAIN: no
 * room for a new id. ERR_WAIT: rows are being read. */
ERR_MUST_USE enum err idem_find(struct overlay *o, struct idem_request *q, struct waiter *w,
                                struct error *e);
/* The reply becomes part of the overlay's commit. `reply` is copied. */
void idem_keep(struct overlay *o, const struct idem_request *q, struct slice reply);
/* Ids kept, for INFO. */
uint64_t engine_idem_count(const struct engine *g);

/* ---- reads ---- */

/* The live entry (an expired one does not exist), as the overlay has it (NULL: as it is). The
 * answer depends on out->depends, whatever it is. */
ERR_MUST_USE enum err engine_get(struct engine *g, struct overlay *o, struct slice key,
                                 struct entry *out, struct waiter *w, struct error *e);
/* The first database from `from` on that has something, as the overlay (may be NULL) has it; one
 * that it flushed counts. False: there is none. */
bool engine_database_next(struct engine *g, const struct overlay *o, uint32_t from, uint16_t *out);
/* The entries of user data in a database, also those that have expired and are not yet removed.
 * With an overlay, as the transaction has them; else always OK. ERR_WAIT: what it wrote is looked
 * up. */
ERR_MUST_USE enum err engine_count(struct engine *g, struct overlay *o, uint16_t database,
                                   uint64_t *out, struct waiter *w, struct error *e);
/* Transaction time of what is evaluated now. */
int64_t engine_time_ms(struct engine *g);
/* What of a stored value counts against value_bytes_max: of bytes and text that are all of it,
 * their own bytes, as the client sent them. */
size_t engine_value_bytes(struct slice value);
bool engine_is_expired(const struct entry *entry, int64_t now_ms);

/* Scans are the backend's, filtered: expired entries are passed over as of the scan's opening, each
 * of which takes SCAN_WORK_ROW off work_left too. One over an overlay sees its writes and must be
 * undivided; what it may pass is the overlay's. */
struct engine_scan;
ERR_MUST_USE enum err engine_scan_open(struct engine *g, struct overlay *o,
                                       const struct scan_range *range, struct engine_scan **out,
                                       struct error *e);
/* key->len 0 at the end. */
ERR_MUST_USE enum err engine_scan_next(struct engine_scan *s, struct slice *key, struct entry *out,
                                       struct waiter *w, struct error *e);
/* The live entries of these keys as the scan sees them, borrowed as its rows are. ERR_WAIT: ask
 * again for the same. */
ERR_MUST_USE enum err engine_scan_load(struct engine_scan *s, const struct slice *keys,
                                       size_t count, struct entry *out, struct waiter *w,
                                       struct error *e);
/* Does the entry match, by rows as the scan sees them (row_filter_decide)? ERR_WAIT: ask again for
 * the same. What engine_scan_next returns matches. */
struct row_look {
    struct slice key, value;
    /* results */
    bool matches;
    uint64_t work; /* of rows that were asked for */
};
ERR_MUST_USE enum err engine_scan_matches(struct engine_scan *s, const struct row_filter *f,
                                          struct row_look *look, struct waiter *w, struct error *e);
ERR_MUST_USE enum err engine_scan_pause(struct engine_scan *s, struct error *e);
/* As backend_scan_place, of one without an overlay. */
struct slice engine_scan_place(const struct engine_scan *s);
uint64_t engine_scan_depends(const struct engine_scan *s);
void engine_scan_close(struct engine_scan *s);

/* ---- layers ---- */

/* The mutations of a transaction that is about to commit. */
struct write_set {
    struct mutation *items; /* in the arena */
    size_t count, cap;
    unsigned kinds; /* LAYER_* of all items */
    struct arena *arena;
    int64_t time_ms;
    const struct entry **before; /* what each replaces, in the arena; NULL = not looked up */
    bool is_exempt;              /* the server's own work: no limit of a database refuses it */
};

void write_set_add(struct write_set *ws, enum mutation_kind kind, struct slice key,
                   struct slice value, int64_t expiry_ms);

/* What one evaluation did to an entry of the data space. */
struct data_change {
    struct slice key;
    bool exists;   /* afterwards */
    bool is_offer; /* written by view_offer: what cannot be is taken back, and is no error */
    struct slice value;
    int64_t expiry_ms;
    /* Before, as it was stored: an expired entry that was not swept yet is there. Known only when
     * the transaction itself had written it; else view_stored says so. */
    bool is_known;
    struct entry before;
    const struct data_passed *passed; /* what it was between the two; the newest first */
};

struct data_passed {
    const struct data_passed *next;
    struct slice value;
};

struct view;

/* Kinds of mutations, as bits: those of one space, and flushes of a database. */
#define LAYER_SPACE(space) (1u << (space))
#define LAYER_FLUSH (1u << 31)

struct layer {
    /* At the end of each evaluation, what it changed: the layer adds what follows, in the same
     * transaction (indexes). May wait; its error refuses the evaluation. May be NULL; not called
     * when is_idle says that nothing can follow in the view's database. */
    bool (*is_idle)(const void *arg, const struct view *v);
    enum err (*derive)(void *arg, struct view *v, struct data_change *changes, size_t count,
                       struct error *e);
    /* The evaluation has flushed v's database, and nothing came after: may write what must not go
     * with it. May be NULL. */
    enum err (*flushed)(void *arg, struct view *v, struct error *e);
    /* Sees the mutations made so far and may add others. May be NULL. */
    void (*before_commit)(void *arg, struct write_set *ws);
    /* When the set is complete: may refuse it, or wait, and fill in `before`. May be NULL. */
    enum err (*admit)(void *arg, struct write_set *ws, struct waiter *w, struct error *e);
    /* After each commit that has something of `kinds`, in commit order; not yet durable. This is
     * the one feed of what has changed. May be NULL. */
    unsigned kinds;
    void (*on_commit)(void *arg, uint64_t version, const struct write_set *ws);
    void *arg;
};

#define LAYERS_MAX 16
void engine_add_layer(struct engine *g, const struct layer *layer);
/* Parts of an entry that have ended. */
struct due_parts {
    int64_t time_ms; /* those that ended then ... */
    bool is_from;    /* ... or all that have ended by now: of view_due_from */
    /* Where to begin, as view_due_from or the call before said; len 0 = at the first. The call
     * leaves here, in the view's arena, where to go on; len 0 = nothing is left. */
    struct slice place;
};
/* Entries of the data space may have parts that end: at a time that was said, or later, the sweeper
 * calls this for the entry's key, in a transaction of several such calls. It removes so much of
 * what has ended as is work for a moment. One layer. */
void engine_on_due(struct engine *g,
                   enum err (*due)(void *arg, struct view *v, struct slice key,
                                   struct due_parts *parts, struct error *e),
                   void *arg);

/* What an operation of a layer (OP_LAYER) sees of its transaction, and writes to it. */
struct view {
    struct engine *engine;
    struct overlay *overlay;
    struct arena *arena; /* as long as the reply */
    struct waiter *waiter;
    uint16_t database;
    int64_t now_ms;   /* transaction time: what has ended by then is not there */
    int64_t told_ms;  /* and what is told and written as the time: see engine_tell_time_of */
    uint64_t version; /* that the commit gets */
    uint64_t depends; /* of the reply; the operation raises it by what it knows from elsewhere */
};

/* First member of the layer's own struct, which has arguments and results. */
struct layer_op {
    /* With the checks, against the state before the transaction. NULL = it is none. */
    enum err (*check)(struct layer_op *op, struct view *v, bool *holds, struct error *e);
    /* In its turn. *is_met: whether it did what it was to do. */
    enum err (*apply)(struct layer_op *op, struct view *v, bool *is_met, struct error *e);
};

/* What layers may derive in one transaction: it runs in one turn of the loop. */
#define ENGINE_DERIVED_MAX 100000
/* Above these a transaction may take longer than a turn of the loop ordinarily does. */
#define ENGINE_SMALL_OPS 1000 /* operations, rows that are derived or scanned */
#define ENGINE_SMALL_BYTES (4u << 20)
#define ENGINE_SMALL_STEPS 10000000
#define ENGINE_LENT_MAX 5000000 /* rows: see view_lend */

struct view_row {
    struct slice key;
    bool exists;
    struct slice value;
};

/* For reads outside of an operation. */
struct view view_over(struct engine *g, struct overlay *o, uint16_t database, struct waiter *w);
/* For reads of a command, which may be outside of a transaction (o NULL): nothing is written. */
struct view view_reading(struct engine *g, struct overlay *o, uint16_t database,
                         struct arena *arena, struct waiter *w);
/* What is stored below the transaction, expired or not; raises v->depends. */
ERR_MUST_USE enum err view_stored(struct view *v, struct slice key, struct entry *out,
                                  struct error *e);
/* As engine_get over the transaction; raises v->depends. */
ERR_MUST_USE enum err view_get(struct view *v, struct slice key, struct entry *out,
                               struct error *e);
/* Has this transaction written the key, or flushed its database? Then *out is what it left. */
bool view_own(const struct view *v, struct slice key, struct entry *out);
bool view_is_flushed(const struct view *v);
/* What this transaction wrote in [start, end), deletions too, by key; in the arena. */
size_t view_range(struct view *v, struct slice start, struct slice end, struct view_row **out);
/* Keys and values must live as long as the arena. */
void view_set(struct view *v, struct slice key, struct slice value);
void view_set_expiring(struct view *v, struct slice key, struct slice value, int64_t expiry_ms);
/* Of a row of a layer's own space: was it there before the transaction? Kept with the mutation
 * that the transaction comes to (struct mutation). */
enum row_cause { ROW_UNKNOWN, ROW_WAS_ABSENT, ROW_WAS_THERE };
/* Likewise, or deleted, of a space of the layer's own. The cause is that of the key's first write.
 * A row that was absent and is deleted again is not written. */
void view_set_for(struct view *v, struct slice key, struct slice value, int64_t expiry_ms,
                  enum row_cause cause);
void view_delete_for(struct view *v, struct slice key, enum row_cause cause);
/* What this transaction wrote in [start, end), by key, with the causes: lent until it writes. */
struct written;
struct view_causes {
    struct written *const *rows;
    size_t count;
};
struct view_cause {
    struct slice key;
    bool exists;
    uint16_t cause;
};
struct view_causes view_causes(struct view *v, struct slice start, struct slice end);
struct view_cause view_cause(const struct view_causes *own, size_t i);
/* What scans of a transaction pass is bounded for all of them together. From here to view_lend_end
 * so many rows, which the caller bounds by what it knows, are not part of that, as long as all that
 * was lent so is not more than ENGINE_LENT_MAX. */
struct view_loan {
    size_t left, lent;
};
struct view_loan view_lend(struct view *v, size_t rows);
void view_lend_end(struct view *v, const struct view_loan *loan);
/* An entry of the data space, which becomes part of the transaction unless an index refuses it:
 * then the key stays as it was. For writes that no client waits for and that must not stop what
 * they are part of. */
void view_offer(struct view *v, struct slice key, struct slice value);
void view_delete(struct view *v, struct slice key);
/* See engine_on_due: a part ends then. */
void view_due_at(struct view *v, struct slice key, int64_t time_ms);
/* Likewise: parts end of which that was said for another key, or not at all. A call at this time is
 * about all from the place on. */
void view_due_from(struct view *v, struct slice key, int64_t time_ms, struct slice place);
/* The transaction is work of the server's own: no limit of a database refuses it. */
void view_exempt(struct view *v);
/* No key of [start, end) is read or written after this transaction; they are removed in the
 * background. Borrowed until the commit. */
void view_forget(struct view *v, struct slice start, struct slice end);
/* A layer that derives has `rows` more to look at. ERR_LIMIT: too many for a transaction. */
ERR_MUST_USE enum err view_derives(struct view *v, size_t rows, struct error *e);
/* 0, 1, 2 ...: another number each time within one transaction. */
uint32_t view_sequence(struct view *v);
/* How many keys of the space, in whatever database, the transaction has written so far. */
size_t view_keys(const struct view *v, enum space space);
/* What it writes from now on is for this (enum cause), until the next operation. */
void view_for(struct view *v, uint16_t cause);
/* Grows with every write to the transaction. */
unsigned view_writes(const struct view *v);
/* Bytes of keys and values that the transaction has so far. */
uint64_t view_bytes(const struct view *v);

/* Every 10 ms or so: removes what expired and request ids that left their window, a batch a time.
 */
void engine_tick(struct engine *g);
/* In how many ms a tick may find something to do; INT64_MAX = nothing is known of. */
int64_t engine_rest_ms(struct engine *g);
/* In a turn in which nothing was asked: goes on with what ticks do. True when it did something. */
bool engine_idle(struct engine *g);
/* For tests: whether it does (at first yes). Reads see no difference. */
void engine_set_active_expire(struct engine *g, bool is_on);
uint64_t engine_expired_count(const struct engine *g);

/* Another process has committed this, and the backend has it: the layers are told. Those that only
 * serve writes (request ids) do not take part. ERR_STALE: it changed what layers keep in memory
 * while that was being read: open the database again. */
ERR_MUST_USE enum err engine_follow(struct engine *g, const struct txn_view *txn, struct error *e);

#endif
