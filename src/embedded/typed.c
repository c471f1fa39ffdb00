/* typed: the everyday calls, as words of the commands that do the same on the server. */
#include <stdio.h>

#include "base/list.h"
#include "base/mem.h"
#include "embedded/embedded_int.h"
#include "resp/item.h"

/* ---- words ---- */

static void words_slice(struct words *w, struct slice word)
{
    if (w->count == WORDS_MAX) w->is_full = true;
    if (!w->is_full) w->items[w->count++] = word;
}

void words_add(struct words *w, const char *word)
{
    words_slice(w, slice_str(word));
}

void words_bytes(struct words *w, struct tupled_bytes bytes)
{
    words_slice(w, slice_of(bytes.data, bytes.len));
}

void words_number(struct words *w, int64_t n)
{
    if (w->number_count == NUMBERS_MAX) w->is_full = true;
    if (w->is_full) return;
    char *text = w->numbers[w->number_count++];
    snprintf(text, sizeof w->numbers[0], "%lld", (long long)n);
    words_add(w, text);
}

static void words_option(struct words *w, const char *name, struct tupled_bytes value)
{
    if (value.len == 0) return;
    words_add(w, name);
    words_bytes(w, value);
}

static bool words_check(const struct words *w, struct tupled_error *e)
{
    if (w->is_full) (void)error_give(e, ERR_LIMIT, "too many arguments");
    return !w->is_full;
}

int call_tree(struct call *c, struct tupled_reply **out, struct tupled_error *e)
{
    int outcome = call_outcome(c, e);
    *out = NULL;
    if (outcome < 0) return outcome;
    *out = reply_parse(buf_slice(&c->out), NULL);
    if (*out != NULL) return outcome;
    bool is_whole = resp_reply_length(buf_slice(&c->out)) > 0;
    return error_give(e, ERR_NOMEM,
                      is_whole
                          ? "out of memory for a reply; the command has taken effect"
                          : "the command has taken effect, but the library produced an invalid "
                            "reply; please report this bug");
}

int typed_run(struct tupled_db *db, struct slice *argv, size_t argc, struct tupled_reply **out,
              struct tupled_error *e)
{
    struct call c = {.kind = CALL_TYPED, .argv = argv, .argc = argc};
    call_run(db, &c);
    int outcome = call_tree(&c, out, e);
    buf_fini(&c.out);
    return outcome;
}

int words_run(struct tupled_db *db, const struct words *w, struct tupled_reply **out,
              struct tupled_error *e)
{
    struct slice argv[WORDS_MAX];
    *out = NULL;
    if (!words_check(w, e)) return TUPLED_FAILED;
    memcpy(argv, w->items, w->count * sizeof argv[0]);
    return typed_run(db, argv, w->count, out, e);
}

void copy_text(char *to, size_t size, const struct tupled_reply *r)
{
    bool has_text = r->type == TUPLED_REPLY_STRING && r->len < size;
    if (has_text) memcpy(to, r->text, r->len);
    to[has_text ? r->len : 0] = '\0';
}

/* ---- any command ---- */

/* A copy of the caller's vector: commands may move words in theirs. */
static struct slice *copy_words(const struct tupled_bytes *words, size_t count,
                                struct tupled_error *e)
{
    if (count == 0) {
        (void)error_give(e, ERR_SYNTAX, "a command must have a name");
        return NULL;
    }
    struct slice *argv = mem_alloc_try(count * sizeof *argv);
    if (argv == NULL)
        (void)error_give(e, ERR_NOMEM, "out of memory for the arguments of a command");
    for (size_t i = 0; argv != NULL && i < count; i++) {
        argv[i] = slice_of(words[i].data, words[i].len);
    }
    return argv;
}

static int command_on(struct tupled_db *db, struct seat *seat, const struct tupled_bytes *words,
                      size_t count, struct tupled_reply **out, struct tupled_error *e)
{
    struct call c = {.kind = CALL_COMMAND, .argc = count, .seat = seat};
    *out = NULL;
    c.argv = copy_words(words, count, e);
    if (c.argv == NULL) return TUPLED_FAILED;
    call_run(db, &c);
    int outcome = call_tree(&c, out, e);
    buf_fini(&c.out);
    mem_free(c.argv);
    return outcome;
}

int tupled_command(struct tupled_db *db, const struct tupled_bytes *words, size_t count,
                   struct tupled_reply **out, struct tupled_error *e)
{
    return command_on(db, NULL, words, count, out, e);
}

static void finish_reply(struct call *c)
{
    struct tupled_error e;
    struct tupled_reply *reply = NULL;
    int outcome = call_tree(c, &reply, &e);
    ((tupled_on_reply *)c->callback)(c->arg, outcome, reply, &e);
}

/* Submits a call that was made, for a callback. */
static int submit(struct tupled_db *db, struct call *c, void (*finish)(struct call *c), void *arg)
{
    c->finish = finish;
    c->arg = arg;
    return call_submit(db, c);
}

int tupled_command_async(struct tupled_db *db, const struct tupled_bytes *words, size_t count,
                         tupled_on_reply *done, void *arg)
{
    struct slice *argv = copy_words(words, count, NULL);
    if (argv == NULL) return TUPLED_FAILED;
    struct call *c = call_new(CALL_COMMAND, argv, count);
    mem_free(argv);
    if (c == NULL) return TUPLED_FAILED;
    c->callback = (void (*)(void))done;
    return submit(db, c, finish_reply, arg);
}

/* ---- sessions ---- */

static void session_begin(void *arg)
{
    struct tupled_session *s = arg;
    struct tupled_db *db = s->db;
    db_enter(db);
    s->seat = seat_take(db);
    s->seat->is_kept = true;
    STACK_PUSH(db->sessions, s, next, prev);
    db_leave(db);
}

int tupled_session_open(struct tupled_db *db, struct tupled_session **out, struct tupled_error *e)
{
    struct tupled_session *s = mem_new_try(sizeof *s);
    *out = NULL;
    if (s == NULL) return error_give(e, ERR_NOMEM, "out of memory for a session");
    s->db = db;
    if (!db_guard(db, session_begin, s)) {
        mem_free(s);
        return db_broken(db, e);
    }
    *out = s;
    error_none(e);
    return TUPLED_YES;
}

int tupled_session_command(struct tupled_session *s, const struct tupled_bytes *words, size_t count,
                           struct tupled_reply **out, struct tupled_error *e)
{
    return command_on(s->db, s->seat, words, count, out, e);
}

/* Its seat is lost when the database is broken. */
static void session_end(void *arg)
{
    struct tupled_session *s = arg;
    struct tupled_db *db = s->db;
    db_lock(db);
    STACK_UNLINK(db->sessions, s, next, prev);
    db_unlock(db);
    db_enter(db);
    seat_free(s->seat);
    db_leave(db);
}

void tupled_session_close(struct tupled_session *s)
{
    if (s == NULL) return;
    (void)db_guard(s->db, session_end, s);
    mem_free(s);
}

/* ---- get, set, delete ---- */

static int take_entry(struct call *c, struct tupled_entry **out, struct tupled_error *e)
{
    *out = c->entry;
    c->entry = NULL;
    int outcome = call_outcome(c, e);
    return outcome < 0 ? outcome : *out != NULL ? TUPLED_YES : TUPLED_NO;
}

int tupled_get(struct tupled_db *db, struct tupled_bytes key, struct tupled_entry **out,
               struct tupled_error *e)
{
    struct slice argv[1] = {slice_of(key.data, key.len)};
    struct call c = {.kind = CALL_GET, .argv = argv, .argc = 1};
    call_run(db, &c);
    int outcome = take_entry(&c, out, e);
    buf_fini(&c.out);
    return outcome;
}

static void finish_entry(struct call *c)
{
    struct tupled_error e;
    struct tupled_entry *entry = NULL;
    int outcome = take_entry(c, &entry, &e);
    ((tupled_on_entry *)c->callback)(c->arg, outcome, entry, &e);
}

int tupled_get_async(struct tupled_db *db, struct tupled_bytes key, tupled_on_entry *done,
                     void *arg)
{
    struct slice argv[1] = {slice_of(key.data, key.len)};
    struct call *c = call_new(CALL_GET, argv, 1);
    if (c == NULL) return TUPLED_FAILED;
    c->callback = (void (*)(void))done;
    return submit(db, c, finish_entry, arg);
}

static void words_set(struct words *w, struct tupled_bytes key, struct tupled_bytes value,
                      const struct tupled_set_options *o)
{
    *w = (struct words){0};
    words_add(w, "KV.SET");
    words_bytes(w, key);
    words_bytes(w, value);
    if (o == NULL) return;
    if (o->ttl_ms != 0) {
        words_add(w, "PX");
        words_number(w, o->ttl_ms);
    }
    if (o->keeps_ttl != 0) words_add(w, "KEEPTTL");
    if (o->condition == TUPLED_IF_ABSENT) words_add(w, "NX");
    if (o->condition == TUPLED_IF_PRESENT) words_add(w, "XX");
    if (o->condition == TUPLED_IF_VERSION) {
        words_add(w, "IFVERSION");
        words_add(w, o->versionstamp == NULL ? "NONE" : o->versionstamp);
    }
    if (o->idem == NULL) return;
    words_add(w, "IDEM");
    words_add(w, o->idem);
}

/* The text of a bulk reply, without a tree: "$20\r\n<stamp>\r\n". */
static int take_stamp(const struct call *c, char stamp[TUPLED_STAMP_BYTES], struct tupled_error *e)
{
    struct slice r = buf_slice(&c->out);
    int outcome = call_outcome(c, e);
    stamp[0] = '\0';
    if (outcome < 0) return outcome;
    if (r.len != 5 + TUPLED_STAMP_BYTES - 1 + 2) return TUPLED_NO;
    memcpy(stamp, r.data + 5, TUPLED_STAMP_BYTES - 1);
    stamp[TUPLED_STAMP_BYTES - 1] = '\0';
    return TUPLED_YES;
}

int tupled_set(struct tupled_db *db, struct tupled_bytes key, struct tupled_bytes value,
               const struct tupled_set_options *o, char stamp[TUPLED_STAMP_BYTES],
               struct tupled_error *e)
{
    struct words w;
    char mine[TUPLED_STAMP_BYTES];
    words_set(&w, key, value, o);
    struct call c = {.kind = CALL_TYPED, .argv = w.items, .argc = w.count};
    call_run(db, &c);
    int outcome = take_stamp(&c, stamp != NULL ? stamp : mine, e);
    buf_fini(&c.out);
    return outcome;
}

static void finish_stamp(struct call *c)
{
    struct tupled_error e;
    char stamp[TUPLED_STAMP_BYTES];
    int outcome = take_stamp(c, stamp, &e);
    ((tupled_on_stamp *)c->callback)(c->arg, outcome, stamp, &e);
}

int tupled_set_async(struct tupled_db *db, struct tupled_bytes key, struct tupled_bytes value,
                     const struct tupled_set_options *o, tupled_on_stamp *done, void *arg)
{
    struct words w;
    words_set(&w, key, value, o);
    struct call *c = call_new(CALL_TYPED, w.items, w.count);
    if (c == NULL) return TUPLED_FAILED;
    c->callback = (void (*)(void))done;
    return submit(db, c, finish_stamp, arg);
}

int tupled_delete(struct tupled_db *db, struct tupled_bytes key, struct tupled_error *e)
{
    struct words w = {0};
    words_add(&w, "KV.DEL");
    words_bytes(&w, key);
    return words_count(db, &w, e);
}

int words_count(struct tupled_db *db, const struct words *w, struct tupled_error *e)
{
    struct tupled_reply *r = NULL;
    int outcome = words_run(db, w, &r, e);
    if (outcome > 0 && r->integer == 0) outcome = TUPLED_NO;
    mem_free(r);
    return outcome;
}

/* ---- ranges, indexes, search ---- */

static void words_range(struct words *w, const struct tupled_range *range)
{
    if (range->is_reverse != 0) words_add(w, "REVERSE");
    if (range->keys_only != 0) words_add(w, "KEYSONLY");
    words_option(w, "WHERE", range->where);
    if (range->cursor != NULL) words_option(w, "CURSOR", tupled_text(range->cursor));
    if (range->limit == 0) return;
    words_add(w, "LIMIT");
    words_number(w, range->limit > INT64_MAX ? INT64_MAX : (int64_t)range->limit);
}

int tupled_list(struct tupled_db *db, const struct tupled_range *range, struct tupled_page **out,
                struct tupled_error *e)
{
    struct words w = {0};
    words_add(&w, "KV.LIST");
    words_option(&w, "PREFIX", range->prefix);
    words_option(&w, "START", range->start);
    words_option(&w, "END", range->end);
    words_range(&w, range);
    return page_run(db, &w, PAGE_LIST, out, e);
}

int tupled_find(struct tupled_db *db, const char *index, const struct tupled_range *range,
                struct tupled_page **out, struct tupled_error *e)
{
    struct words w = {0};
    *out = NULL;
    if (range->value_count > WORDS_MAX / 2) {
        return error_give(e, ERR_LIMIT, "more values than the paths of any index");
    }
    words_add(&w, "KV.FIND");
    words_add(&w, index);
    for (size_t i = 0; i < range->value_count; i++) words_bytes(&w, range->values[i]);
    words_option(&w, "FROM", range->start);
    words_option(&w, "TO", range->end);
    words_range(&w, range);
    return page_run(db, &w, PAGE_LIST, out, e);
}

int tupled_search(struct tupled_db *db, const char *index, struct tupled_bytes query,
                  const struct tupled_range *range, struct tupled_page **out,
                  struct tupled_error *e)
{
    struct words w = {0};
    words_add(&w, "KV.SEARCH");
    words_add(&w, index);
    words_bytes(&w, query);
    words_add(&w, "WITHSCORES");
    if (range != NULL) {
        words_option(&w, "WHERE", range->where);
        if (range->limit != 0) {
            words_add(&w, "LIMIT");
            words_number(&w, range->limit > INT64_MAX ? INT64_MAX : (int64_t)range->limit);
        }
    }
    return page_run(db, &w, PAGE_SEARCH, out, e);
}
