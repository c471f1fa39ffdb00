/* ahead: a look over commands in the buffer, without taking them (resp_reader_peek); their words
 * are walked by the plan of the command, and keys and values decoded. ahead_fetch remembers how far
 * keys were fetched, so that each is fetched once. */
#include "session/ahead.h"

#include "request/arguments.h"
#include "request/walk.h"

/* A command of so many words or more is passed over: it alone has more keys than are fetched at
 * once. */
#define WORDS_MAX 32

struct decoding {
    struct decoded *to;
    const struct request *rq;
    enum decoded_kind key_kind;
};

static void decode(const struct decoding *x, const struct argument *a, struct slice word)
{
    if (a->kind->is_key) decoded_add(x->to, x->rq, word, x->key_kind);
    if (a->kind->is_value) decoded_add(x->to, x->rq, word, DECODED_VALUE);
}

static enum err decode_word(struct walk *w, const struct argument *a, void *to)
{
    (void)to;
    decode(w->arg, a, w->argv[w->at]);
    return OK;
}

/* Of most commands: without a look at what comes behind the last key and the last value. */
static void decode_row(const struct decoding *x, const struct plan *p, size_t from)
{
    const struct request *rq = x->rq;
    for (size_t i = 0; i < p->decoded_words && from + i < rq->argc; i++) {
        decode(x, p->row[i].argument, rq->argv[from + i]);
    }
}

/* Words that are wrong make no key, or one that nothing asks for: nothing is promised here. */
static void decode_command(struct decoded *d, struct request *rq)
{
    static const struct walk_ops ops = {.word = decode_word, .count = walk_count};
    struct decoding x = {.to = d, .rq = rq};
    if (command_find_words(rq) != OK) return;
    const struct command *c = rq->command;
    x.key_kind = (c->flags & CMD_STRING) != 0 ? DECODED_PLAIN : DECODED_TUPLE;
    const struct plan *p = c->arguments->plan;
    if (p->decoded_words != WORDS_ANY) {
        decode_row(&x, p, command_words_before(c));
        return;
    }
    struct walk w = {
        .ops = &ops, .arg = &x, .argv = rq->argv, .argc = rq->argc, .at = command_words_before(c)};
    (void)(walk_words(&w, c->arguments, NULL) == OK);
}

void ahead_decode(struct decoded *d, struct env *env, struct client *client,
                  const struct resp_reader *r, size_t commands)
{
    struct slice words[WORDS_MAX];
    struct arena arena; /* of words, when IDEM stands before them */
    size_t at = 0;
    if (client->user == NULL) return;
    arena_init(&arena, WORDS_MAX * sizeof words[0]);
    for (size_t i = 0; i < commands; i++) {
        struct request rq = {.env = env, .client = client, .argv = words, .arena = &arena};
        rq.argc = resp_reader_peek(r, &at, words, WORDS_MAX);
        if (rq.argc == 0) break;
        if (rq.argc < WORDS_MAX) decode_command(d, &rq);
        arena_reset(&arena);
    }
    arena_fini(&arena);
    d->end = resp_reader_rest(r).data + at;
}

static bool has_several(const struct resp_reader *r)
{
    struct slice word;
    size_t at = 0;
    return resp_reader_peek(r, &at, &word, 1) > 0 && at < resp_reader_rest(r).len;
}

void ahead_fetch(struct decoded *d, struct env *env, struct client *client,
                 const struct resp_reader *r)
{
    struct backend *b = env->db->backend;
    struct slice keys[BACKEND_EXPECT_MAX];
    size_t count = 0;
    if (!b->is_far) return;
    const uint8_t *next = resp_reader_rest(r).data;
    if (next >= d->end) {
        if (!has_several(r)) return;
        decoded_clear(d);
        ahead_decode(d, env, client, r, BACKEND_EXPECT_MAX);
    }
    if (d->fetched > 0 && d->words[d->fetched - 1].word >= next) return;
    for (; d->fetched < d->count && count < BACKEND_EXPECT_MAX; d->fetched++) {
        const struct decoded_word *x = &d->words[d->fetched];
        if (x->kind != DECODED_VALUE && x->word >= next) keys[count++] = decoded_at(d, d->fetched);
    }
    if (count > 1) backend_expect(b, keys, count);
}
