/* kv_search: KV.SEARCH: full-text search. The query is made into an expression of the store's,
 * which a query thread runs once everything that was acknowledged is in the store.
 *
 *   SEARCHING --the backend answers--> DONE --> reply
 *       `--client gone--> GONE --the backend answers--> freed
 */
#include "search/query.h"

#include "backend/text.h"
#include "base/machine.h"
#include "base/mem.h"
#include "codec/number.h"
#include "command/index/index_int.h"
#include "request/args.h"
#include "request/table.h"
#include "request/where.h"

#define SEARCH_LIMIT_DEFAULT 10
#define SNIPPET_WORDS_MAX 64 /* FTS5's own limit */
#define ARENA_CHUNK_BYTES (64u << 10)

/* Above the seam and below it they are the same rows. */
_Static_assert((int)SPACE_TEXT == BACKEND_SPACE_TEXT, "the space of text indexes");
_Static_assert((int)SPACE_HASH_TEXT == BACKEND_SPACE_HASH_TEXT, "the space of texts of hashes");

enum search_state { SEARCH_NEW, SEARCH_RUNNING, SEARCH_DONE, SEARCH_GONE };

struct search {
    struct pending pending; /* first */
    struct text_request request;
    enum search_state state;
    struct waiter_list waiters; /* the connection's, while RUNNING */
    struct row_filter *where;   /* owned reference; NULL = every entry */
    struct arena arena;         /* of the arguments */
    bool with_scores;
    size_t path_count;
    struct slice paths[INDEX_PATHS_MAX];
};

static void search_move(struct search *s, enum search_state to)
{
    static const struct machine machine = {
        .name = "search",
        .states = {"new", "running", "done", "gone"},
        .allowed = {[SEARCH_NEW] = TO(SEARCH_RUNNING),
                    [SEARCH_RUNNING] = TO(SEARCH_DONE) | TO(SEARCH_GONE)},
    };
    MACHINE_MOVE(&machine, s, state, to);
}

static void search_destroy(struct search *s)
{
    where_unref(s->where);
    arena_fini(&s->request.arena);
    arena_fini(&s->arena);
    mem_free(s);
}

static void search_free(struct pending *p)
{
    struct search *s = (struct search *)p;
    if (s->state == SEARCH_RUNNING) {
        search_move(s, SEARCH_GONE);
        __atomic_store_n(&s->request.is_cancelled, true, __ATOMIC_RELAXED);
    } else {
        search_destroy(s);
    }
}

static void on_done(struct text_request *q)
{
    struct search *s = q->arg;
    if (s->state == SEARCH_GONE) {
        search_destroy(s);
        return;
    }
    search_move(s, SEARCH_DONE);
    waiter_wake_all(&s->waiters);
}

static struct search *search_new(struct request *rq, const struct index *x)
{
    const struct definition *d = &x->definition;
    struct search *s = mem_new(sizeof *s);
    s->pending.free = search_free;
    waiter_list_init(&s->waiters);
    arena_init(&s->arena, 4096);
    arena_init(&s->request.arena, ARENA_CHUNK_BYTES);
    s->path_count = d->path_count;
    for (size_t i = 0; i < d->path_count; i++) s->paths[i] = arena_copy(&s->arena, d->paths[i]);
    index_range(x, &s->arena, &s->request.start, &s->request.end);
    s->request.database = x->database;
    s->request.id = d->id;
    s->request.column_count = d->path_count;
    s->request.bytes_max = LIST_PAGE_BYTES_MAX;
    s->request.now_ms = engine_time_ms(rq->env->db->engine);
    s->request.done = on_done;
    s->request.arg = s;
    return s;
}

/* Asks the backend; always ERR_WAIT. */
static enum err search_start(struct request *rq, struct search *s)
{
    struct backend *b = engine_backend(rq->env->db->engine);
    search_move(s, SEARCH_RUNNING);
    s->request.filter = s->where;
    rq->client->run.pending = &s->pending;
    waiter_add(&s->waiters, rq->waiter);
    backend_search(b, &s->request);
    return error_set(&rq->error, ERR_WAIT, "the search is running");
}

/* ---- arguments ---- */

struct search_words {
    struct slice name, query;
    int64_t limit, offset, snippet_words; /* snippet_words 0 = without SNIPPET */
    struct slice where;                   /* data NULL = all */
    bool with_scores;
    int has_marks; /* HIGHLIGHT */
    struct slice open, close;
};

/* FTS5 takes text up to a NUL. */
static enum err check_marks(struct request *rq, void *bound)
{
    const struct search_words *a = bound;
    bool is_bad = (a->open.len > 0 && memchr(a->open.data, 0, a->open.len) != NULL) ||
                  (a->close.len > 0 && memchr(a->close.data, 0, a->close.len) != NULL);
    return is_bad ? error_set(&rq->error, ERR_SYNTAX, "HIGHLIGHT: a mark contains a NUL byte") : OK;
}

ARGUMENTS_WITH(search_arguments, struct search_words,
               "name query [LIMIT count] [OFFSET offset] [WHERE filter] [WITHSCORES] "
               "[HIGHLIGHT open close] [SNIPPET words]",
               WITH(.check = check_marks, .members = "WITHSCORES scores"),
               ARG_INDEX(struct search_words, name, "name", ACCESS_READ),
               ARG_WORD(struct search_words, query, "query"),
               ARG_INTEGER(struct search_words, limit, "LIMIT", 1, LIST_LIMIT_MAX,
                           SEARCH_LIMIT_DEFAULT),
               ARG_INTEGER(struct search_words, offset, "OFFSET", 0, INT64_MAX, 0),
               ARG_FILTER(struct search_words, where, "WHERE"),
               ARG_FLAG(struct search_words, with_scores, "WITHSCORES"),
               ARG_CHOICE(struct search_words, has_marks, {"HIGHLIGHT", 1}),
               ARG_WORD(struct search_words, open, "open"),
               ARG_WORD(struct search_words, close, "close"),
               ARG_INTEGER(struct search_words, snippet_words, "SNIPPET", 1, SNIPPET_WORDS_MAX, 0));

/* What the words say outlives them: the search takes turns of its own. */
static enum err search_begin(struct request *rq, struct search *s)
{
    const struct search_words *a = rq->bound;
    struct text_request *q = &s->request;
    q->limit = (uint64_t)a->limit;
    q->offset = (uint64_t)a->offset;
    q->with_texts = a->has_marks || a->snippet_words > 0;
    q->open = arena_copy(&s->arena, a->open);
    q->close = arena_copy(&s->arena, a->close);
    q->snippet_words = (unsigned)a->snippet_words;
    s->with_scores = a->with_scores;
    buf_clear(rq->scratch, SIZE_MAX);
    enum err r = query_to_fts5(a->query, s->paths, s->path_count, rq->scratch, &rq->error);
    if (r == OK) q->expression = arena_copy(&s->arena, buf_slice(rq->scratch));
    if (r == OK && a->where.data != NULL) r = arg_where(rq, a->where, &s->where);
    return r == OK ? search_start(rq, s) : r;
}

/* ---- the reply ---- */

static void reply_texts(struct request *rq, const struct search *s, const struct text_hit *hit)
{
    size_t count = 0;
    for (size_t i = 0; i < s->path_count && hit->texts != NULL; i++) {
        count += hit->texts[i].data != NULL;
    }
    resp_map(rq->w, count);
    for (size_t i = 0; i < s->path_count && hit->texts != NULL; i++) {
        if (hit->texts[i].data == NULL) continue;
        resp_bulk(rq->w, s->paths[i]);
        resp_bulk(rq->w, hit->texts[i]);
    }
}

static void reply_hit(struct request *rq, const struct search *s, const struct text_hit *hit)
{
    char stamp[STAMP_CHARS];
    bool with_more = s->with_scores || s->request.with_texts;
    resp_array(rq->w, with_more ? 5 : 3);
    reply_key(rq->w, rq->format, hit->key);
    reply_value(rq->w, rq->format, hit->value);
    stamp_format(hit->version, stamp);
    resp_bulk(rq->w, slice_of(stamp, STAMP_CHARS));
    if (!with_more) return;
    char score[NUMBER_TEXT_BYTES];
    resp_bulk(rq->w, slice_of(score, number_format(hit->score, score)));
    reply_texts(rq, s, hit);
}

static enum err kv_search_run(struct request *rq)
{
    struct search *s = (struct search *)rq->client->run.pending;
    if (s == NULL) {
        const struct index *x = NULL;
        enum err r = arg_index(rq, ((const struct search_words *)rq->bound)->name, INDEX_TEXT, &x);
        if (r == OK && index_has_rows(x)) r = index_complete(rq, x);
        if (r != OK) return r;
        s = search_new(rq, x);
        r = search_begin(rq, s);
        if (rq->client->run.pending == NULL) search_destroy(s);
        return r;
    }
    if (s->state == SEARCH_RUNNING) {
        waiter_add(&s->waiters, rq->waiter);
        return error_set(&rq->error, ERR_WAIT, "the search is running");
    }
    if (s->request.result != OK) {
        rq->error = s->request.error;
        return s->request.result;
    }
    rq->env->stats.reads++;
    resp_array(rq->w, s->request.count);
    for (size_t i = 0; i < s->request.count; i++) reply_hit(rq, s, &s->request.hits[i]);
    return OK;
}

/* HIGHLIGHT open close: any words. */
static size_t kv_search_own_words(const struct slice *argv, size_t argc)
{
    size_t end = 0;
    for (size_t at = 3; at < argc;) {
        bool is_highlight = slice_is_word(argv[at], "HIGHLIGHT");
        bool is_alone = slice_is_word(argv[at], "WITHSCORES");
        at += is_highlight ? 3 : is_alone ? 1 : 2;
        if (is_highlight) end = at;
    }
    return end;
}

const struct command kv_search = {
    .name = "kv.search",
    .flags = CMD_INDEX | CMD_READ | CMD_NO_MULTI | CMD_FORMAT,
    .group = "kv",
    .summary = "Returns entries by the words in their text, best match first.",
    .arguments = &search_arguments,
    .reply =
        "`[[key, value, versionstamp] ...]`, best match first (BM25). With WITHSCORES, HIGHLIGHT "
        "or SNIPPET each entry is `[key, value, versionstamp, score, {path: text}]`; a higher "
        "score is a better match, and the texts are those of the paths that match. Includes every "
        "acknowledged write. `-INDEXING percent` while the index is being filled.",
    .run = kv_search_run,
    .own_words = kv_search_own_words,
};

/* ---- the state of a text index, for KV.INDEX INFO ---- */

enum err text_state(struct request *rq, const struct index *x, unsigned *percent)
{
    struct search *s = (struct search *)rq->client->run.pending;
    if (s == NULL) return search_start(rq, search_new(rq, x));
    if (s->state == SEARCH_RUNNING) {
        waiter_add(&s->waiters, rq->waiter);
        return error_set(&rq->error, ERR_WAIT, "the state is being read");
    }
    *percent = s->request.percent;
    if (s->request.result == OK || s->request.result == ERR_INDEXING) return OK;
    rq->error = s->request.error;
    return s->request.result;
}
