/* shared: ids as words and in replies, and how the stream commands open streams and groups. */
#include "command/stream/stream_int.h"
#include "request/view.h"

/* ---- words ---- */

/* *is_open: it is after "(": not itself part of the range. */
static enum err read_bound(struct request *rq, struct slice word, uint64_t seq, bool *is_open,
                           struct stream_id *id)
{
    *is_open = word.len > 1 && word.data[0] == '(';
    if (*is_open) word = slice_of(word.data + 1, word.len - 1);
    if (!*is_open && slice_eq(word, slice_str("-"))) {
        *id = STREAM_ID_LEAST;
        return OK;
    }
    if (!*is_open && slice_eq(word, slice_str("+"))) {
        *id = STREAM_ID_MOST;
        return OK;
    }
    return stream_id_word(rq, word, seq, id);
}

static enum err read_start(struct request *rq, const struct argument *a, struct slice word,
                           void *to)
{
    struct stream_id id;
    bool is_open = false;
    (void)a;
    enum err r = read_bound(rq, word, 0, &is_open, &id);
    if (r == OK && is_open && !stream_id_next(&id)) {
        r = error_set(&rq->error, ERR_SYNTAX, "invalid start ID for the interval");
    }
    if (r == OK) memcpy(to, &id, sizeof id);
    return r;
}
const struct argument_kind arg_kind_stream_start = {.read = read_start};

static enum err read_end(struct request *rq, const struct argument *a, struct slice word, void *to)
{
    struct stream_id id;
    bool is_open = false;
    (void)a;
    enum err r = read_bound(rq, word, UINT64_MAX, &is_open, &id);
    if (r == OK && is_open && !stream_id_previous(&id)) {
        r = error_set(&rq->error, ERR_SYNTAX, "invalid end ID for the interval");
    }
    if (r == OK) memcpy(to, &id, sizeof id);
    return r;
}
const struct argument_kind arg_kind_stream_end = {.read = read_end};

/* ---- replies ---- */

void stream_reply_key(struct request *rq, struct slice key)
{
    struct resp_mark mark = resp_bulk_begin(rq->w, key.len);
    view_name(rq->client, key, rq->w->out);
    resp_bulk_end(rq->w, mark);
}

#define SHOWN_MAX 100 /* of a name in an error */

static int shown(struct slice name)
{
    return (int)(name.len < SHOWN_MAX ? name.len : SHOWN_MAX);
}

/* The key as the client sees it, in the arena. */
static struct slice key_name(struct request *rq, struct slice key)
{
    struct buf name;
    buf_init(&name);
    view_name(rq->client, key, &name);
    struct slice copy = arena_copy(rq->arena, buf_slice(&name));
    buf_fini(&name);
    return copy;
}

enum err stream_no_group(struct request *rq, struct slice key, struct slice group)
{
    struct slice name = key_name(rq, key);
    return error_set(&rq->error, ERR_NOGROUP, "No such key '%.*s' or consumer group '%.*s'",
                     shown(name), (const char *)name.data, shown(group), (const char *)group.data);
}

enum err stream_no_such_group(struct request *rq, struct slice key, struct slice group)
{
    struct slice name = key_name(rq, key);
    return error_set(&rq->error, ERR_NOGROUP, "No such consumer group '%.*s' for key name '%.*s'",
                     shown(group), (const char *)group.data, shown(name), (const char *)name.data);
}

/* ---- in a transaction ---- */

enum err stream_open(struct request *rq, struct view *v, struct slice key, struct collection *c)
{
    return collection_open(rq->env->db->collections, v, key, COLLECTION_STREAM, c, &rq->error);
}

enum err stream_open_group(struct request *rq, struct view *v, struct slice key, struct slice name,
                           struct collection *c, struct stream_group *g)
{
    bool found = false;
    enum err r = stream_open(rq, v, key, c);
    if (r == OK) r = group_find(c, name, &found, g, &rq->error);
    return r == OK && !found ? stream_no_group(rq, key, name) : r;
}

static enum err too_many(struct request *rq)
{
    return error_set(&rq->error, ERR_LIMIT,
                     "more entries than one command reads (%d, or max-transaction-size bytes); say "
                     "COUNT",
                     COLLECTION_ROWS_MAX);
}

enum err stream_read(struct request *rq, struct collection *c, struct stream_page *p)
{
    struct walk_range range = {.hint = p->max < COLLECTION_ROWS_MAX ? (size_t)p->max : 0};
    struct element_walk w = {0};
    struct arena *arena = c->view->arena;
    size_t cap = 0;
    uint64_t bytes = 0;
    uint64_t bytes_max = engine_limits(c->view->engine)->txn_bytes_max;
    bool is_end = false;
    p->items = NULL;
    p->count = 0;
    stream_range(c, p->from, p->to, &range);
    if (range.is_empty) return OK;
    enum err r = element_walk_begin(&w, c, &range, &rq->error);
    while (r == OK && (p->max == 0 || p->count < p->max)) {
        struct element x;
        r = element_walk_next(&w, &x, &is_end, &rq->error);
        if (r != OK || is_end) break;
        bytes += x.value.len;
        if (p->count == COLLECTION_ROWS_MAX || bytes > bytes_max) {
            r = too_many(rq);
            break;
        }
        p->items = arena_grow(arena, p->items, p->count, &cap, sizeof *p->items);
        p->items[p->count++] = (struct stream_entry){stream_id_of(&x), arena_copy(arena, x.value)};
    }
    element_walk_end(&w);
    return r;
}
