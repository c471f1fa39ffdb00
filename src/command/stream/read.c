/* read: XREAD and XREADGROUP, which wait for entries with BLOCK. Each who waits in XREAD gets what
 * is added; of XREADGROUP the one that has waited longest does. */
#include "command/stream/stream_int.h"
#include "request/lines.h"
#include "request/selected.h"

#define BLOCKED_COUNT 1000 /* entries that one who waited gets when COUNT is not said */

/* An id as the client says it: what comes after it is wanted. */
enum read_from { FROM_ID, FROM_LAST, FROM_NEW, FROM_NEWEST };

struct xread {
    struct slice group, consumer;
    int64_t count;
    int64_t block_ms; /* -1 = it does not wait */
    bool needs_no_ack, is_group;
    struct slices keys, ids;
};

static enum err read_block(struct request *rq, const struct argument *a, struct slice word,
                           void *to)
{
    int64_t ms = 0;
    (void)a;
    if (!slice_to_i64(word, &ms)) {
        return error_set(&rq->error, ERR_SYNTAX, "timeout is not an integer or out of range");
    }
    if (ms < 0) return error_set(&rq->error, ERR_SYNTAX, "timeout is negative");
    memcpy(to, &ms, sizeof ms);
    return OK;
}
static const struct argument_kind block_kind = {.read = read_block, .type = WORD_INTEGER};

static enum err xread_check(struct request *rq, void *bound)
{
    struct xread *a = bound;
    const char *name = a->is_group ? "xreadgroup" : "xread";
    if (a->count < 0) a->count = 0;
    if (a->keys.count != a->ids.count) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "Unbalanced '%s' list of streams: for each stream key an ID%s must be "
                         "specified.",
                         name, a->is_group ? " or '>'" : ", '+', or '$'");
    }
    return OK;
}

#define STREAMS(uses)                                                                              \
    {ARG_MANY(struct xread, keys, struct slice, "key", arg_kind_key), .flags = (uses),             \
     .is_half = true},                                                                             \
        ARG_WORDS(struct xread, ids, "id")
#define OPTIONS                                                                                    \
    ARG_INTEGER_OR(struct xread, count, "COUNT", INT64_MIN, INT64_MAX, 0, ARG_NOT_INTEGER),        \
    {                                                                                              \
        ARG_ONE(struct xread, block_ms, int64_t, "BLOCK", block_kind), .otherwise = -1             \
    }
ARGUMENTS_WITH(xread_arguments, struct xread,
               "[COUNT count] [BLOCK milliseconds] STREAMS key [key ...] [id ...]",
               WITH(.shown = "[COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]",
                    .words_least = 3, .check = xread_check),
               OPTIONS, STREAMS(KEY_RO | KEY_ACCESS));
ARGUMENTS(group_arguments, struct xread, "group consumer", ARG_WORD(struct xread, group, "group"),
          ARG_WORD(struct xread, consumer, "consumer"), ARG_FIXED(struct xread, is_group, 1));
static enum err xreadgroup_check(struct request *rq, void *bound)
{
    const struct xread *a = bound;
    if (a->group.data == NULL) {
        return error_set(&rq->error, ERR_SYNTAX, "Missing GROUP option for XREADGROUP");
    }
    return xread_check(rq, bound);
}

ARGUMENTS_WITH(xreadgroup_arguments, struct xread,
               "[GROUP group-consumer] [COUNT count] [BLOCK milliseconds] [NOACK] STREAMS key "
               "[key ...] [id ...]",
               WITH(.shown = "GROUP group consumer [COUNT count] [BLOCK milliseconds] [NOACK] "
                             "STREAMS key [key ...] id [id ...]",
                    .words_least = 6, .check = xreadgroup_check),
               ARG_ALSO("GROUP", group_arguments), OPTIONS,
               ARG_FLAG(struct xread, needs_no_ack, "NOACK"), STREAMS(KEY_RO | KEY_ACCESS));

/* ---- what is read ---- */

/* Of one stream. */
struct part {
    struct slice key;
    struct stream_entry *entries; /* fields NULL: it is pending, and was deleted */
    size_t count;
    bool is_told;
};

static void reply_parts(struct request *rq, const struct part *parts, size_t count)
{
    size_t told = 0;
    for (size_t i = 0; i < count; i++) told += parts[i].is_told;
    if (rq->w->proto == 3) {
        resp_map(rq->w, told);
    } else {
        resp_array(rq->w, told);
    }
    for (size_t i = 0; i < count; i++) {
        const struct part *p = &parts[i];
        if (!p->is_told) continue;
        if (rq->w->proto != 3) resp_array(rq->w, 2);
        stream_reply_key(rq, p->key);
        resp_array(rq->w, p->count);
        for (size_t k = 0; k < p->count; k++) {
            const struct stream_entry *x = &p->entries[k];
            if (x->fields.data != NULL) {
                reply_stream_entry(rq->w, x->id, x->fields);
            } else {
                resp_array(rq->w, 2);
                reply_stream_id(rq->w, x->id);
                resp_nil_array(rq->w);
            }
        }
    }
}

/* What is kept with a key of one who waits: the id. */
static struct slice id_bytes(struct arena *arena, struct stream_id id)
{
    uint8_t *p = arena_alloc(arena, STREAM_ID_BYTES);
    stream_id_put(p, id);
    return slice_of(p, STREAM_ID_BYTES);
}

/* ---- XREAD ---- */

static enum err read_after(struct request *rq, struct view *v, const struct line_command *x,
                           size_t i, struct part *out)
{
    struct collection c;
    struct stream_id after = stream_id_get(x->with.items[i].data);
    *out = (struct part){.key = x->keys.items[i]};
    enum err r = elements_open(rq, v, out->key, COLLECTION_STREAM, &c);
    if (r != OK || !c.exists || !stream_id_next(&after)) return r;
    struct stream_page page = {.from = after, .to = STREAM_ID_MOST, .max = x->count};
    r = stream_read(rq, &c, &page);
    out->entries = page.items;
    out->count = page.count;
    out->is_told = page.count > 0;
    return r;
}

static enum err xread_attempt(struct request *rq, const struct line_command *x, bool *is_done)
{
    struct view *v = elements_view(rq);
    struct part *parts = arena_alloc(rq->arena, x->keys.count * sizeof *parts);
    enum err r = OK;
    for (size_t i = 0; i < x->keys.count && r == OK; i++) {
        r = read_after(rq, v, x, i, &parts[i]);
        *is_done = *is_done || (r == OK && parts[i].is_told);
    }
    elements_read(rq, v);
    if (r == OK && *is_done) reply_parts(rq, parts, x->keys.count);
    return r;
}

/* $ is what the last id is now; + the one before the last entry. */
static enum err start_of(struct request *rq, struct slice key, struct slice word,
                         struct stream_id *out)
{
    struct collection c;
    bool is_newest = slice_eq(word, slice_str("+"));
    if (slice_eq(word, slice_str(">"))) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "The > ID can be specified only when calling XREADGROUP using the GROUP "
                         "<group> <consumer> option.");
    }
    bool is_last = slice_eq(word, slice_str("$"));
    if (!is_last && !is_newest) return stream_id_word(rq, word, 0, out);
    struct view *v = elements_view(rq);
    enum err r = elements_open(rq, v, key, COLLECTION_STREAM, &c);
    if (r == OK) *out = c.head.stream.last;
    if (r == OK && is_newest && c.head.count > 0) {
        bool found = false;
        r = stream_seek(&c, STREAM_ID_MOST, true, &found, out, &rq->error);
        if (r == OK && found) (void)stream_id_previous(out);
    }
    elements_read(rq, v);
    return r;
}

static enum err wait_or_answer(struct request *rq, struct line_command *x)
{
    const struct xread *a = rq->bound;
    bool is_done = false;
    if (a->block_ms >= 0) {
        x->timeout_ms = a->block_ms;
        if (x->count == 0) x->count = BLOCKED_COUNT;
        return lines_run(rq, x);
    }
    enum err r = x->attempt(rq, x, &is_done);
    if (r == OK && !is_done) resp_nil_array(rq->w);
    return r;
}

static enum err xread_run(struct request *rq)
{
    const struct xread *a = rq->bound;
    struct line_command x = {.attempt = xread_attempt,
                             .keys = a->keys,
                             .kind = COLLECTION_STREAM,
                             .count = (uint64_t)a->count};
    enum err r = OK;
    x.with.items = arena_alloc(rq->arena, a->keys.count * sizeof *x.with.items);
    x.with.count = a->keys.count;
    for (size_t i = 0; i < a->keys.count && r == OK; i++) {
        struct stream_id from = {0};
        r = start_of(rq, a->keys.items[i], a->ids.items[i], &from);
        x.with.items[i] = id_bytes(rq->arena, from);
    }
    return r == OK ? wait_or_answer(rq, &x) : r;
}
STREAM_COMMAND(xread, CMD_READ | CMD_BLOCKING, KEY_RO | KEY_ACCESS,
               "Returns the entries of streams after an id each; $ means new entries only. With "
               "BLOCK it waits for entries.",
               xread_arguments, "An array of `[key, entries]` (a map in RESP3), or nil.",
               xread_run);

/* ---- XREADGROUP ---- */

struct handing {
    const struct line_command *what;
    bool needs_no_ack;
    struct part *parts;
    bool is_done;
};

/* The words of the command that each key's part is read with. */
enum group_word { WORD_GROUP, WORD_CONSUMER, WORD_IDS };

struct reading {
    struct collection c;
    struct stream_group g;
    struct stream_consumer x;
    bool is_known; /* the consumer is there */
};

static enum err open_reading(struct request *rq, struct view *v, const struct handing *d, size_t i,
                             struct reading *out)
{
    const struct slices *words = &d->what->more;
    *out = (struct reading){.is_known = false};
    enum err r = stream_open_group(rq, v, d->what->keys.items[i], words->items[WORD_GROUP], &out->c,
                                   &out->g);
    if (r == ERR_NOGROUP) error_add(&rq->error, " in XREADGROUP with GROUP option");
    if (r != OK) return r;
    return consumer_find(&out->c, &out->g, words->items[WORD_CONSUMER], &out->is_known, &out->x,
                         &rq->error);
}

static void know_consumer(struct reading *t, struct slice name)
{
    if (!t->is_known) consumer_make(&t->c, &t->g, name, &t->x);
    t->is_known = true;
    t->x.seen_ms = t->c.view->told_ms;
}

/* What is pending for the consumer after the id, as if it were delivered again. */
static enum err read_history(struct request *rq, const struct handing *d, size_t i,
                             struct reading *t)
{
    struct collection *c = &t->c;
    struct part *p = &d->parts[i];
    struct pending_range range = {.to = STREAM_ID_MOST,
                                  .from = stream_id_get(d->what->with.items[i].data),
                                  .max = d->what->count != 0 && d->what->count < COLLECTION_ROWS_MAX
                                             ? (size_t)d->what->count
                                             : COLLECTION_ROWS_MAX};
    struct stream_pending *pending = NULL;
    size_t count = 0;
    know_consumer(t, d->what->more.items[WORD_CONSUMER]);
    range.consumer = t->x.number;
    bool is_any = stream_id_next(&range.from);
    enum err r = is_any ? pending_list(c, &t->g, &range, &pending, &count, &rq->error) : OK;
    p->entries = arena_alloc(rq->arena, count * sizeof *p->entries);
    for (size_t k = 0; k < count && r == OK; k++) {
        struct stream_entry *x = &p->entries[k];
        bool found = false;
        *x = (struct stream_entry){.id = pending[k].id};
        r = stream_find(c, x->id, &found, &x->fields, &rq->error);
        if (r != OK || !found) continue;
        pending[k].delivered_ms = c->view->told_ms;
        pending[k].deliveries++;
        pending_save(c, &t->g, &pending[k], t->x.number);
    }
    p->count = count;
    p->is_told = true;
    group_save(c, &t->g);
    consumer_save(c, &t->g, &t->x);
    return r == OK ? collection_writes(c, &rq->error) : r;
}

/* The entry becomes one that is pending for the consumer; another may have it, after XGROUP SETID.
 */
static enum err make_pending(struct request *rq, struct reading *t, struct stream_id id)
{
    struct collection *c = &t->c;
    struct stream_pending p = {.id = id};
    bool found = false;
    enum err r = pending_find(c, &t->g, id, &found, &p, &rq->error);
    if (r != OK) return r;
    uint64_t was = found ? p.consumer : 0;
    if (found && was != t->x.number) {
        struct stream_consumer other;
        r = consumer_get(c, &t->g, was, &other, &rq->error);
        if (r != OK) return r;
        other.pending--;
        consumer_save(c, &t->g, &other);
    }
    if (was != t->x.number) t->x.pending++;
    if (!found) t->g.pending++;
    p.consumer = t->x.number;
    p.delivered_ms = c->view->told_ms;
    p.deliveries = 1;
    pending_save(c, &t->g, &p, was);
    return OK;
}

/* How many entries the group has read, when it has read this one. */
static void count_read(struct reading *t, struct stream_id id)
{
    const struct stream_head *s = &t->c.head.stream;
    uint64_t length = t->c.head.count;
    if (t->g.entries_read >= 0 && !stream_has_gaps_after(s, length, id)) {
        t->g.entries_read++;
    } else if (s->added > 0) {
        t->g.entries_read = stream_entries_upto(s, length, id);
    }
}

static enum err read_new(struct request *rq, const struct handing *d, size_t i, struct reading *t)
{
    struct collection *c = &t->c;
    struct part *p = &d->parts[i];
    struct stream_page page = {.from = t->g.last, .to = STREAM_ID_MOST, .max = d->what->count};
    bool is_any = stream_id_order(c->head.stream.last, page.from) > 0 && stream_id_next(&page.from);
    enum err r = is_any ? stream_read(rq, c, &page) : OK;
    p->entries = page.items;
    p->count = page.count;
    if (r != OK || p->count == 0) return r;
    know_consumer(t, d->what->more.items[WORD_CONSUMER]);
    t->x.active_ms = c->view->told_ms;
    for (size_t k = 0; k < p->count && r == OK; k++) {
        struct stream_id id = p->entries[k].id;
        count_read(t, id);
        t->g.last = id;
        if (!d->needs_no_ack) r = make_pending(rq, t, id);
    }
    p->is_told = true;
    group_save(c, &t->g);
    consumer_save(c, &t->g, &t->x);
    return r == OK ? collection_writes(c, &rq->error) : r;
}

static enum err deliver(struct request *rq, struct view *v, void *arg)
{
    struct handing *d = arg;
    const struct line_command *x = d->what;
    enum err r = OK;
    d->is_done = false;
    for (size_t i = 0; i < x->keys.count && r == OK; i++) {
        struct reading t;
        d->parts[i] = (struct part){.key = x->keys.items[i]};
        r = open_reading(rq, v, d, i, &t);
        if (r != OK) return r;
        bool is_history = x->with.items[i].len > 0;
        r = is_history ? read_history(rq, d, i, &t) : read_new(rq, d, i, &t);
        d->is_done = d->is_done || d->parts[i].is_told;
    }
    return r;
}

static enum err xreadgroup_attempt(struct request *rq, const struct line_command *x, bool *is_done)
{
    struct handing d = {.what = x, .needs_no_ack = x->how[0] != 0};
    d.parts = arena_alloc(rq->arena, x->keys.count * sizeof *d.parts);
    enum err r = elements_commit(rq, deliver, &d);
    *is_done = r == OK && d.is_done;
    if (*is_done) reply_parts(rq, d.parts, x->keys.count);
    return r;
}

static enum err xreadgroup_run(struct request *rq)
{
    const struct xread *a = rq->bound;
    struct slice words[WORD_IDS] = {[WORD_GROUP] = a->group, [WORD_CONSUMER] = a->consumer};
    struct line_command x = {.attempt = xreadgroup_attempt,
                             .keys = a->keys,
                             .kind = COLLECTION_STREAM,
                             .how = {a->needs_no_ack},
                             .count = (uint64_t)a->count,
                             .more = {.items = words, .count = WORD_IDS},
                             .ends_with_key = true};
    enum err r = OK;
    x.with.items = arena_alloc(rq->arena, a->keys.count * sizeof *x.with.items);
    x.with.count = a->keys.count;
    for (size_t i = 0; i < a->keys.count && r == OK; i++) {
        struct slice word = a->ids.items[i];
        struct stream_id id;
        x.with.items[i] = slice_of(NULL, 0);
        if (slice_eq(word, slice_str(">"))) continue;
        if (slice_eq(word, slice_str("$"))) {
            return error_set(&rq->error, ERR_SYNTAX,
                             "The $ ID is meaningless in the context of XREADGROUP: you want to "
                             "read the history of this consumer by specifying a proper ID, or use "
                             "the > ID to get new messages. The $ ID would just return an empty "
                             "result set.");
        }
        r = stream_id_word(rq, word, 0, &id);
        if (r == OK) x.with.items[i] = id_bytes(rq->arena, id);
    }
    return r == OK ? wait_or_answer(rq, &x) : r;
}
STREAM_COMMAND(xreadgroup, CMD_WRITE | CMD_BLOCKING, KEY_RO | KEY_ACCESS,
               "Delivers entries to a consumer of a group: > means entries that no consumer has "
               "received, an id the consumer's own pending entries after it. With BLOCK it waits "
               "for entries.",
               xreadgroup_arguments, "An array of `[key, entries]` (a map in RESP3), or nil.",
               xreadgroup_run);
