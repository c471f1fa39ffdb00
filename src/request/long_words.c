/* long_words: a list for each client of the words that a thread decodes, or has decoded. A job owns
 * its word and the copy of it until it is done; one whose client is gone frees itself then.
 */
#include "request/long_words.h"

#include "backend/worker.h"
#include "base/mem.h"
#include "codec/value.h"

#define LONG_BYTES (256 * 1024) /* to decode so much takes a millisecond or more */

struct long_word {
    struct job job;         /* first */
    struct long_word *next; /* of the client */
    const uint8_t *place;   /* of the word */
    enum format format;
    struct buf word, value; /* owned; the word is a copy, until it is decoded */
    size_t bytes;           /* of the word */
    struct waiter_list waiting;
    enum err result;
    struct error error;
    bool is_done;
    bool is_abandoned; /* its client does not want it any more */
};

static void word_free(struct long_word *x)
{
    buf_fini(&x->word);
    buf_fini(&x->value);
    mem_free(x);
}

static void decode_run(struct job *job)
{
    struct long_word *x = (struct long_word *)job;
    struct slice word = buf_slice(&x->word);
    x->result = x->format == FORMAT_MSGPACK ? value_check(word, &x->error)
                                            : value_from_json(word, NULL, &x->value, &x->error);
    if (x->format == FORMAT_MSGPACK || x->value.is_failed) return;
    buf_fini(&x->word);
}

static void decode_done(struct job *job)
{
    struct long_word *x = (struct long_word *)job;
    x->is_done = true;
    if (x->is_abandoned) {
        word_free(x);
    } else {
        waiter_wake_all(&x->waiting);
    }
}

static struct worker *decoder(struct env *env)
{
    const struct worker_options options = {
        .name = "decode", .threads = 1, .wake = env->server.wake, .arg = env->server.wake_arg};
    if (env->decoder == NULL && env->server.wake != NULL) env->decoder = worker_new(&options);
    return env->decoder;
}

/* NULL: there is no thread, or no memory. */
static struct long_word *word_begin(struct request *rq, struct slice word)
{
    struct worker *w = decoder(rq->env);
    struct long_word *x = w != NULL ? mem_new_try(sizeof *x) : NULL;
    if (x == NULL) return NULL;
    buf_append(&x->word, word.data, word.len);
    if (x->word.is_failed) {
        word_free(x);
        return NULL;
    }
    x->place = word.data;
    x->bytes = word.len;
    x->format = rq->format;
    x->job = (struct job){.run = decode_run, .done = decode_done};
    waiter_list_init(&x->waiting);
    x->next = rq->client->run.long_words;
    rq->client->run.long_words = x;
    worker_post(w, &x->job);
    rq->env->stats.decoded_aside++;
    return x;
}

static struct long_word *word_find(const struct request *rq, struct slice word)
{
    struct long_word *x = rq->client->run.long_words;
    while (x != NULL && (x->place != word.data || x->format != rq->format)) x = x->next;
    return x;
}

enum err long_word_value(struct request *rq, struct slice word, bool *is_known, struct slice *value)
{
    *is_known = false;
    if (word.len < LONG_BYTES || !rq->decodes_aside) return OK;
    struct long_word *x = word_find(rq, word);
    if (x == NULL) x = word_begin(rq, word);
    if (x == NULL) return OK;
    if (!x->is_done) {
        waiter_add(&x->waiting, rq->waiter);
        return error_set(&rq->error, ERR_WAIT, "a long value is decoded");
    }
    if (x->value.is_failed) return error_set(&rq->error, ERR_NOMEM, "out of memory for a value");
    /* A placeholder is what the transaction says it is. */
    if (x->result != OK && rq->placeholders != NULL) return OK;
    *is_known = true;
    if (x->result != OK) {
        rq->error = x->error;
        return x->result;
    }
    *value = x->format == FORMAT_MSGPACK ? word : buf_slice(&x->value);
    return OK;
}

void long_words_clear(struct client *c)
{
    while (c->run.long_words != NULL) {
        struct long_word *x = c->run.long_words;
        c->run.long_words = x->next;
        if (x->is_done) {
            word_free(x);
        } else {
            waiter_drop_all(&x->waiting);
            x->is_abandoned = true;
        }
    }
}

size_t long_words_bytes(const struct client *c)
{
    size_t sum = 0;
    for (const struct long_word *x = c->run.long_words; x != NULL; x = x->next) {
        sum += sizeof *x + x->bytes + (x->is_done ? x->value.cap : 0);
    }
    return sum;
}

void long_words_turn(struct env *env)
{
    if (env->decoder != NULL) worker_poll(env->decoder);
}

void long_words_close(struct env *env)
{
    if (env->decoder != NULL) worker_free(env->decoder);
    env->decoder = NULL;
}
