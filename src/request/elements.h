/* elements: how commands read and change collections (src/collection): one at a key, several in a
 * transaction, and replies of many elements, which are made in slices so that others are served in
 * between.
 */
#ifndef REQUEST_ELEMENTS_H
#define REQUEST_ELEMENTS_H

#include "collection/walk.h"
#include "request/arguments.h"

/* Redis's words for INT64_MIN where a number is negated. */
#define ELEMENTS_NOT_NEGATABLE                                                                     \
    "value is out of range, value must between -9223372036854775807 and 9223372036854775807"

/* ---- reading ---- */

/* What a reading command sees: in rq->arena, until the command has run. */
struct view *elements_view(struct request *rq);
/* The collection at the key as the command sees it; counted as a read. ERR_TYPE. */
ERR_MUST_USE enum err elements_open(struct request *rq, struct view *v, struct slice key,
                                    enum collection_kind kind, struct collection *out);
/* Replies with an array of what `tell` writes of each name in a hash, set or sorted set; x NULL: it
 * has no such element. */
ERR_MUST_USE enum err elements_tell_each(struct request *rq, enum collection_kind kind,
                                         struct slice key, const struct slices *names,
                                         void (*tell)(struct resp_writer *w,
                                                      const struct element *x));
/* The reply is complete, or begins anew: what it depends on. */
void elements_read(struct request *rq, const struct view *v);

/* What it draws at random by: the same when it runs again (ERR_WAIT), another one for each command
 * of a transaction. */
uint64_t elements_seed(struct request *rq, struct view *v);

/* What a command reads in one turn may pass so much that is gone or has expired (work_left of a
 * struct walk_range), and may then go on in slices ... */
#define ELEMENTS_WORK (4000 * SCAN_WORK_ROW)
/* ... unless it must see one moment, as a client that caches. */
#define ELEMENTS_WORK_MAX ((size_t)COLLECTION_ROWS_MAX * SCAN_WORK_ROW)
/* Does the error say that it has passed so much? */
static inline bool elements_are_many(const struct request *rq, enum err r, size_t work_left)
{
    return r == ERR_LIMIT && rq->overlay == NULL && work_left < SCAN_WORK_ROW;
}

/* How many elements are alive. It may take several turns (ERR_WAIT): then the command is called
 * again, and `c` may be NULL. `version` is that of what was opened: if it is another in the end it
 * is counted anew; 0 = it may be. */
ERR_MUST_USE enum err elements_length(struct request *rq, struct collection *c, uint64_t version,
                                      uint64_t *out);

/* What was told so far of a collection. */
struct told {
    const struct collection *of;
    size_t passed;   /* elements, with those that were skipped */
    size_t elements; /* that were told */
    size_t replies;  /* that those were */
    uint64_t found;  /* for `look` */
};

/* How a reply of many elements is told. */
struct telling {
    enum collection_kind kind;
    struct slice key;
    /* The part of them; NULL = all. */
    enum err (*range)(struct request *rq, struct collection *c, struct walk_range *range);
    /* Writes one; the number of replies that it was, in *count. */
    void (*tell)(struct resp_writer *w, const struct element *x, size_t *count);
    /* Or, in its place: looks at one, the last of those that were passed, and may write it; its
     * replies are counted in `told`. False: no more are wanted. */
    bool (*look)(struct request *rq, struct resp_writer *w, const struct element *x,
                 struct told *told);
    /* Writes what comes before them, when `count` replies of `elements` elements do. */
    void (*begin)(struct resp_writer *w, size_t count, size_t elements);
};
/* For `begin`: an array of the replies. */
void elements_begin_array(struct resp_writer *w, size_t count, size_t elements);

/* Tells them to rq->w: at once when they are few, or in a transaction; else in slices, as of one
 * moment. ERR_WAIT: to be called again, as engine_get. */
ERR_MUST_USE enum err elements_tell(struct request *rq, const struct telling *t);

/* A score: a double in RESP3, a bulk in RESP2, as Redis 7.2 and later write it. */
void reply_score(struct resp_writer *w, double score);
/* The id of an entry of a stream; the entry, [id, [field, value ...]]. */
void reply_stream_id(struct resp_writer *w, struct stream_id id);
void reply_stream_entry(struct resp_writer *w, struct stream_id id, struct slice fields);
/* Unix time in ms; nil = never. */
void reply_expiry(struct resp_writer *w, int64_t expiry_ms);
/* As KV.ELEMENTS shows it: of a hash [field, value, expiry], of a sorted set [member, score], of a
 * stream the entry, else the element. */
void reply_element(struct resp_writer *w, enum collection_kind kind, const struct element *x);

/* ---- words ---- */

/* A score; infinities by their names. */
extern const struct argument_kind arg_kind_score;
#define ARG_SCORE(in, member, label)                                                               \
    {                                                                                              \
        ARG_ONE(in, member, double, label, arg_kind_score)                                         \
    }

/* An id of a stream: <ms> or <ms>-<seq>; `seq` is what one without it means. ERR_SYNTAX in Redis's
 * words. */
ERR_MUST_USE enum err stream_id_word(struct request *rq, struct slice word, uint64_t seq,
                                     struct stream_id *out);
ERR_MUST_USE enum err stream_bad_id(struct request *rq);
extern const struct argument_kind arg_kind_stream_id;
#define ARG_STREAM_ID(in, member, label)                                                           \
    {                                                                                              \
        ARG_ONE(in, member, struct stream_id, label, arg_kind_stream_id)                           \
    }

/* ---- writing ---- */

/* Saves it, and tells those who are notified that it was done as this command does it. */
ERR_MUST_USE enum err elements_save_as(struct request *rq, struct collection *c,
                                       const char *command);

/* What a command does in a transaction: it opens collections over the view, changes and saves them.
 * It may run again from its beginning (ERR_WAIT): what it leaves in `arg` begins anew too. */
ERR_MUST_USE enum err elements_commit(struct request *rq,
                                      enum err (*change)(struct request *rq, struct view *v,
                                                         void *arg),
                                      void *arg);

#endif
