/* decoded: see decoded.h. Words are kept in the order of the input, and commands ask for them in
 * about that order: the next one is tried first, then a binary search by address. */
#include "request/decoded.h"

#include "base/mem.h"
#include "codec/key.h"
#include "codec/utf8.h"
#include "codec/value.h"
#include "request/format.h"
#include "request/view.h"

#define KEEP_BYTES (32 * 1024)
#define WORD_BYTES_MAX (16 * 1024) /* larger ones would be in memory twice */

void decoded_fini(struct decoded *d)
{
    buf_fini(&d->bytes);
    mem_free(d->words);
    *d = (struct decoded){0};
}

void decoded_clear(struct decoded *d)
{
    buf_clear(&d->bytes, KEEP_BYTES);
    d->count = d->next = d->fetched = 0;
    d->end = NULL;
}

size_t decoded_held(const struct decoded *d)
{
    return d->bytes.cap + d->cap * sizeof *d->words;
}

/* ---- decoding ---- */

enum err decode_tuple(const struct request *rq, struct slice word, bool allow_empty,
                      struct buf *out, struct error *e)
{
    engine_key_begin(out, rq->client->database);
    return format_read_key(rq->format, word, allow_empty, rq->placeholders, out, e);
}

enum err decode_plain(const struct client *c, struct slice word, struct buf *out, struct error *e)
{
    size_t from = out->len;
    engine_key_begin(out, c->database);
    if (view_is_tuples(c)) {
        enum err r = key_from_loose_path(word, out, e);
        if (r != OK) return r;
    } else if (word.len < KEY_BYTES_MAX && utf8_valid_bytes(word) == word.len) {
        key_add_string(out, word);
    } else if (word.len < KEY_BYTES_MAX) {
        key_add_bytes(out, word);
    }
    size_t len = out->len - from;
    if (len == KEY_HEAD_BYTES || len > KEY_HEAD_BYTES + KEY_BYTES_MAX) {
        return error_set(e, ERR_LIMIT, "invalid key: larger than %d bytes", KEY_BYTES_MAX);
    }
    return OK;
}

static bool has_room(struct decoded *d)
{
    if (d->count < d->cap) return true;
    size_t cap = d->cap == 0 ? 4 : d->cap * 2;
    struct decoded_word *words = mem_resize_try(d->words, cap * sizeof *words);
    if (words == NULL) return false;
    d->words = words;
    d->cap = cap;
    return true;
}

void decoded_add(struct decoded *d, const struct request *rq, struct slice word,
                 enum decoded_kind kind)
{
    struct error e;
    enum err r = OK;
    size_t from = d->bytes.len;
    if (word.len > WORD_BYTES_MAX || !has_room(d)) return;
    switch (kind) {
    case DECODED_TUPLE: r = decode_tuple(rq, word, false, &d->bytes, &e); break;
    case DECODED_PLAIN: r = decode_plain(rq->client, word, &d->bytes, &e); break;
    case DECODED_VALUE:
        r = rq->format == FORMAT_MSGPACK ? value_check(word, &e)
                                         : value_from_json(word, NULL, &d->bytes, &e);
        break;
    }
    if (r != OK || d->bytes.is_failed) {
        d->bytes.len = from;
        return;
    }
    d->words[d->count++] = (struct decoded_word){.word = word.data,
                                                 .at = from,
                                                 .len = d->bytes.len - from,
                                                 .kind = kind,
                                                 .format = rq->format};
    d->database = rq->client->database;
    d->is_tuples = view_is_tuples(rq->client);
}

/* ---- finding ---- */

/* The first one that is not before `word` in the input. */
static size_t place_of(const struct decoded *d, const uint8_t *word)
{
    size_t from = 0, to = d->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (d->words[middle].word < word) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

bool decoded_find(struct request *rq, struct slice word, enum decoded_kind kind, struct slice *out)
{
    struct decoded *d = rq->decoded;
    if (d == NULL || d->count == 0) return false;
    size_t i = d->next;
    if (i == d->count || d->words[i].word != word.data) i = place_of(d, word.data);
    if (i == d->count || d->words[i].word != word.data) return false;
    const struct decoded_word *x = &d->words[i];
    d->next = i + 1;
    if (x->kind != kind || x->format != rq->format) return false;
    if (d->database != rq->client->database) return false;
    if (d->is_tuples != view_is_tuples(rq->client)) return false;
    *out = x->len == 0 ? word : decoded_at(d, i);
    rq->env->stats.decoded_ahead++;
    return true;
}

struct slice decoded_at(const struct decoded *d, size_t i)
{
    return slice_of(d->bytes.data + d->words[i].at, d->words[i].len);
}
