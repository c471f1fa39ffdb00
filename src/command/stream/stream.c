/* stream: the commands on the entries of a stream, but for XREAD. */
#include "command/stream/stream_int.h"

/* ---- XADD, XTRIM ---- */

enum add_id { ADD_ID_GIVEN, ADD_ID_ANY, ADD_SEQ_ANY };

struct xadd {
    struct slice key;
    struct slices words;
    /* Of the words: */
    bool makes_none, has_trim, has_limit;
    struct stream_trim trim;
    enum add_id how;
    struct stream_id id;
    struct slices fields;
    /* results */
    struct stream_id added; /* zeros: nothing was */
    uint64_t removed;
};

/* The threshold of MAXLEN or MINID at words[*at], with = or ~ before it. */
static enum err read_threshold(struct request *rq, struct xadd *a, bool by_id, size_t *at)
{
    const struct slices *w = &a->words;
    int64_t length = 0;
    if (a->has_trim) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error, MAXLEN and MINID options at the same time are not "
                         "compatible");
    }
    a->has_trim = true;
    a->trim = (struct stream_trim){.by_id = by_id, .limit = a->trim.limit};
    if (w->count - *at >= 2) {
        a->trim.is_rough = slice_eq(w->items[*at], slice_str("~"));
        if (a->trim.is_rough || slice_eq(w->items[*at], slice_str("="))) ++*at;
    }
    struct slice word = w->items[(*at)++];
    if (by_id) return stream_id_word(rq, word, 0, &a->trim.from);
    if (!slice_to_i64(word, &length)) {
        return error_set(&rq->error, ERR_SYNTAX, ARG_NOT_INTEGER);
    }
    a->trim.length = (uint64_t)length;
    if (length >= 0) return OK;
    return error_set(&rq->error, ERR_SYNTAX, "The MAXLEN argument must be >= 0.");
}

static enum err read_limit(struct request *rq, struct xadd *a, struct slice word)
{
    int64_t limit = 0;
    if (!slice_to_i64(word, &limit)) return error_set(&rq->error, ERR_SYNTAX, ARG_NOT_INTEGER);
    if (limit < 0) {
        return error_set(&rq->error, ERR_SYNTAX, "The LIMIT argument must be >= 0.");
    }
    a->has_limit = true;
    a->trim.limit = (uint64_t)limit;
    return OK;
}

/* One option; *is_none: the word is another. */
static enum err read_option(struct request *rq, struct xadd *a, bool adds, size_t *at,
                            bool *is_none)
{
    struct slice word = a->words.items[*at];
    bool has_more = a->words.count - *at > 1;
    *is_none = false;
    ++*at;
    if (has_more && slice_is_word(word, "MAXLEN")) return read_threshold(rq, a, false, at);
    if (has_more && slice_is_word(word, "MINID")) return read_threshold(rq, a, true, at);
    if (has_more && slice_is_word(word, "LIMIT")) {
        return read_limit(rq, a, a->words.items[(*at)++]);
    }
    if (adds && slice_is_word(word, "NOMKSTREAM")) {
        a->makes_none = true;
        return OK;
    }
    --*at;
    *is_none = true;
    return OK;
}

static enum err check_limit(struct request *rq, const struct xadd *a)
{
    if (a->has_limit && a->trim.limit != 0 && !a->has_trim) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error, LIMIT cannot be used without specifying a trimming "
                         "strategy");
    }
    if (a->has_limit && !a->trim.is_rough) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error, LIMIT cannot be used without the special ~ option");
    }
    return OK;
}

static enum err read_add_id(struct request *rq, struct xadd *a, struct slice word)
{
    size_t len = word.len;
    if (slice_eq(word, slice_str("*"))) {
        a->how = ADD_ID_ANY;
        return OK;
    }
    if (len > 2 && word.data[len - 1] == '*' && word.data[len - 2] == '-') {
        a->how = ADD_SEQ_ANY;
        bool is_good = memchr(word.data, '-', len - 2) == NULL &&
                       stream_id_read(slice_of(word.data, len - 2), 0, &a->id);
        return is_good ? OK : stream_bad_id(rq);
    }
    a->how = ADD_ID_GIVEN;
    return stream_id_word(rq, word, 0, &a->id);
}

static enum err xadd_check(struct request *rq, void *bound)
{
    struct xadd *a = bound;
    size_t at = 0;
    bool is_none = false;
    enum err r = OK;
    while (r == OK && at < a->words.count && !is_none) r = read_option(rq, a, true, &at, &is_none);
    if (r == OK && is_none) r = read_add_id(rq, a, a->words.items[at++]);
    if (r == OK) r = check_limit(rq, a);
    if (r != OK) return r;
    a->fields = (struct slices){.items = a->words.items + at, .count = a->words.count - at};
    if (!is_none || a->fields.count < 2 || a->fields.count % 2 != 0) {
        return error_set(&rq->error, ERR_SYNTAX, "wrong number of arguments for 'xadd' command");
    }
    if (a->how == ADD_ID_GIVEN && stream_id_is_zero(a->id)) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "The ID specified in XADD must be greater than 0-0");
    }
    return OK;
}

ARGUMENTS_WITH(xadd_arguments, struct xadd, "key word [word ...]",
               WITH(.shown = "key [NOMKSTREAM] [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] "
                             "<* | id> field value [field value ...]",
                    .words_least = 4, .check = xadd_check),
               ARG_KEY(struct xadd, key, "key", 0), ARG_WORDS(struct xadd, words, "word"));

/* The id of the new entry. */
static enum err choose_id(struct request *rq, const struct xadd *a, const struct view *v,
                          const struct stream_head *s, struct stream_id *out)
{
    struct stream_id last = s->last;
    bool is_last = stream_id_order(last, STREAM_ID_MOST) == 0;
    if (is_last) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "The stream has exhausted the last possible ID, unable to add more items");
    }
    *out = a->id;
    if (a->how == ADD_ID_ANY) {
        *out = (struct stream_id){.ms = (uint64_t)v->told_ms};
        if (out->ms <= last.ms) *out = last;
        if (out->ms == last.ms && !stream_id_next(out)) return ERR_SYNTAX;
        return OK;
    }
    if (a->how == ADD_SEQ_ANY) {
        out->seq = out->ms == last.ms && last.seq < UINT64_MAX ? last.seq + 1 : 0;
    }
    if (stream_id_order(*out, last) > 0) return OK;
    return error_set(&rq->error, ERR_SYNTAX,
                     "The ID specified in XADD is equal or smaller than the target stream top "
                     "item");
}

static enum err xadd_change(struct request *rq, struct view *v, void *arg)
{
    struct xadd *a = arg;
    struct collection c;
    struct buf *fields = rq->scratch;
    struct stream_id id = {0};
    a->added = STREAM_ID_LEAST;
    enum err r = stream_open(rq, v, a->key, &c);
    if (r != OK || (!c.exists && a->makes_none)) return r;
    r = choose_id(rq, a, v, &c.head.stream, &id);
    if (r != OK) return r;
    if (!c.exists) stream_make(&c);
    buf_clear(fields, SIZE_MAX);
    stream_fields_write(a->fields.items, a->fields.count, fields);
    if (fields->is_failed) return error_set(&rq->error, ERR_NOMEM, "out of memory for an entry");
    r = stream_add(&c, id, arena_copy(v->arena, buf_slice(fields)), &rq->error);
    if (r == OK && a->has_trim) r = stream_trim(&c, &a->trim, &a->removed, &rq->error);
    if (r != OK) return r;
    a->added = id;
    return elements_save_as(rq, &c, "xadd");
}

static enum err xadd_run(struct request *rq)
{
    struct xadd *a = rq->bound;
    enum err r = elements_commit(rq, xadd_change, a);
    if (r != OK) return r;
    if (stream_id_is_zero(a->added)) {
        resp_nil(rq->w);
    } else {
        reply_stream_id(rq->w, a->added);
    }
    return OK;
}
STREAM_COMMAND(xadd, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE,
               "Appends an entry to a stream, which is created if it does not exist.",
               xadd_arguments,
               "The id of the entry, or nil with NOMKSTREAM if the stream does not exist.",
               xadd_run);

static enum err xtrim_check(struct request *rq, void *bound)
{
    struct xadd *a = bound;
    size_t at = 0;
    bool is_none = false;
    enum err r = OK;
    while (r == OK && at < a->words.count) {
        r = read_option(rq, a, false, &at, &is_none);
        if (r == OK && is_none) return error_set(&rq->error, ERR_SYNTAX, "syntax error");
    }
    if (r == OK && !a->has_trim) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "syntax error, XTRIM must be called with MINID or MAXLEN");
    }
    return r == OK ? check_limit(rq, a) : r;
}

ARGUMENTS_WITH(xtrim_arguments, struct xadd, "key word [word ...]",
               WITH(.shown = "key <MAXLEN | MINID> [= | ~] threshold [LIMIT count]",
                    .words_least = 3, .check = xtrim_check),
               ARG_KEY(struct xadd, key, "key", 0), ARG_WORDS(struct xadd, words, "word"));

static enum err xtrim_change(struct request *rq, struct view *v, void *arg)
{
    struct xadd *a = arg;
    struct collection c;
    a->removed = 0;
    enum err r = stream_open(rq, v, a->key, &c);
    if (r == OK && c.exists) r = stream_trim(&c, &a->trim, &a->removed, &rq->error);
    return r == OK && a->removed > 0 ? elements_save_as(rq, &c, "xtrim") : r;
}

static enum err xtrim_run(struct request *rq)
{
    struct xadd *a = rq->bound;
    enum err r = elements_commit(rq, xtrim_change, a);
    if (r == OK) resp_int(rq->w, (int64_t)a->removed);
    return r;
}
STREAM_COMMAND(xtrim, CMD_WRITE, KEY_RW | KEY_DELETE,
               "Removes entries from the beginning of a stream.", xtrim_arguments,
               "The number of elements removed.", xtrim_run);

/* ---- XLEN, XRANGE, XREVRANGE ---- */

static enum err xlen_run(struct request *rq)
{
    const struct one_key *a = rq->bound;
    struct collection c;
    enum err r = elements_open(rq, elements_view(rq), a->key, COLLECTION_STREAM, &c);
    if (r == OK) resp_int(rq->w, (int64_t)c.head.count);
    return r;
}
STREAM_COMMAND(xlen, CMD_READ | CMD_FAST | CMD_FOLLOWER, KEY_RO,
               "Returns the number of entries in a stream.", one_key_arguments,
               "The number, 0 if the key does not exist.", xlen_run);

struct xrange {
    struct slice key;
    struct stream_id from, to;
    int64_t count;
    bool is_reverse;
};
#define COUNT_ANY INT64_MIN
#define ARG_COUNT_OPTION                                                                           \
    ARG_INTEGER_OR(struct xrange, count, "COUNT", INT64_MIN, INT64_MAX, COUNT_ANY, ARG_NOT_INTEGER)
ARGUMENTS(xrange_arguments, struct xrange, "key start end [COUNT count]",
          ARG_KEY(struct xrange, key, "key", 0), ARG_STREAM_START(struct xrange, from, "start"),
          ARG_STREAM_END(struct xrange, to, "end"), ARG_COUNT_OPTION);
ARGUMENTS(xrevrange_arguments, struct xrange, "key end start [COUNT count]",
          ARG_KEY(struct xrange, key, "key", 0), ARG_STREAM_END(struct xrange, to, "end"),
          ARG_STREAM_START(struct xrange, from, "start"), ARG_COUNT_OPTION,
          ARG_FIXED(struct xrange, is_reverse, 1));

static enum err xrange_range(struct request *rq, struct collection *c, struct walk_range *range)
{
    const struct xrange *a = rq->bound;
    stream_range(c, a->from, a->to, range);
    range->is_reverse = a->is_reverse;
    range->max = a->count > 0 ? (uint64_t)a->count : 0;
    range->hint = a->count > 0 && a->count < COLLECTION_ROWS_MAX ? (size_t)a->count : 0;
    return OK;
}

static void tell_entry(struct resp_writer *w, const struct element *x, size_t *count)
{
    reply_stream_entry(w, stream_id_of(x), x->value);
    ++*count;
}

static enum err xrange_run(struct request *rq)
{
    const struct xrange *a = rq->bound;
    struct telling t = {.kind = COLLECTION_STREAM,
                        .key = a->key,
                        .range = xrange_range,
                        .tell = tell_entry,
                        .begin = elements_begin_array};
    if (a->count != COUNT_ANY && a->count <= 0) { /* as Redis answers it */
        struct collection c;
        enum err r = elements_open(rq, elements_view(rq), a->key, COLLECTION_STREAM, &c);
        if (r == OK) c.exists ? resp_nil_array(rq->w) : resp_array(rq->w, 0);
        return r;
    }
    return elements_tell(rq, &t);
}
STREAM_COMMAND(xrange, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
               "Returns the entries of a stream from one id to another; - is the lowest, + the "
               "highest, and ( before an id excludes it.",
               xrange_arguments, "An array of `[id, [field, value ...]]`.", xrange_run);
STREAM_COMMAND(xrevrange, CMD_READ | CMD_FOLLOWER, KEY_RO | KEY_ACCESS,
               "Returns the entries of a stream as XRANGE does, highest id first.",
               xrevrange_arguments, "An array of `[id, [field, value ...]]`.", xrange_run);

/* ---- XSETID ---- */

#define ADDED_LEFT_OUT INT64_MIN

struct xsetid {
    struct slice key;
    struct stream_id last, deleted;
    int64_t added; /* ADDED_LEFT_OUT = not given */
    bool has_deleted;
};
ARGUMENTS(deleted_arguments, struct xsetid, "max-deleted-id",
          ARG_STREAM_ID(struct xsetid, deleted, "max-deleted-id"),
          ARG_FIXED(struct xsetid, has_deleted, 1));
ARGUMENTS(xsetid_arguments, struct xsetid,
          "key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
          ARG_KEY(struct xsetid, key, "key", 0), ARG_STREAM_ID(struct xsetid, last, "last-id"),
          ARG_INTEGER_OR(struct xsetid, added, "ENTRIESADDED", INT64_MIN, INT64_MAX, ADDED_LEFT_OUT,
                         ARG_NOT_INTEGER),
          ARG_ALSO("MAXDELETEDID", deleted_arguments));

static enum err xsetid_fits(struct request *rq, const struct xsetid *a, const struct collection *c)
{
    const struct stream_head *s = &c->head.stream;
    const char *wrong = NULL;
    if (a->has_deleted && stream_id_order(a->last, a->deleted) < 0) {
        wrong = "The ID specified in XSETID is smaller than the provided max_deleted_entry_id";
    } else if (stream_id_order(a->last, s->last) < 0) {
        /* Of an empty stream too: ids that were given do not come back. */
        wrong = "The ID specified in XSETID is smaller than the target stream top item";
    } else if (a->added >= 0 && (uint64_t)a->added < c->head.count) {
        wrong = "The entries_added specified in XSETID is smaller than the target stream length";
    }
    return wrong == NULL ? OK : error_set(&rq->error, ERR_SYNTAX, "%s", wrong);
}

static enum err xsetid_change(struct request *rq, struct view *v, void *arg)
{
    const struct xsetid *a = arg;
    struct collection c;
    enum err r = stream_open(rq, v, a->key, &c);
    if (r == OK && !c.exists) return error_set(&rq->error, ERR_SYNTAX, "no such key");
    if (r == OK) r = xsetid_fits(rq, a, &c);
    if (r != OK) return r;
    c.head.stream.last = a->last;
    if (a->added >= 0) c.head.stream.added = (uint64_t)a->added;
    if (a->has_deleted && !stream_id_is_zero(a->deleted)) c.head.stream.deleted = a->deleted;
    c.is_changed = true;
    return elements_save_as(rq, &c, "xsetid");
}

static enum err xsetid_run(struct request *rq)
{
    const struct xsetid *a = rq->bound;
    if (a->added < 0 && a->added != ADDED_LEFT_OUT) {
        return error_set(&rq->error, ERR_SYNTAX, "entries_added must be positive");
    }
    enum err r = elements_commit(rq, xsetid_change, rq->bound);
    if (r == OK) resp_simple(rq->w, "OK");
    return r;
}
STREAM_COMMAND(xsetid, CMD_WRITE | CMD_FAST, KEY_RW | KEY_UPDATE,
               "Sets the last id of a stream; the ids of later entries are greater.",
               xsetid_arguments, "OK.", xsetid_run);
