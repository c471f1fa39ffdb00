/* atomic: a transaction being put together: the words of a KV.ATOMIC, which is what carries it out.
 */
#include <stdio.h>

#include "base/mem.h"
#include "embedded/embedded_int.h"

#define HEAD_WORDS 4 /* KV.ATOMIC IDEM id DETAILS */

struct tupled_atomic {
    struct buf bytes; /* of all words, one after the other */
    struct buf ends;  /* size_t: where each ends */
    struct buf idem;
};

struct tupled_atomic *tupled_atomic_new(void)
{
    return mem_new_try(sizeof(struct tupled_atomic));
}

void tupled_atomic_free(struct tupled_atomic *a)
{
    if (a == NULL) return;
    buf_fini(&a->bytes);
    buf_fini(&a->ends);
    buf_fini(&a->idem);
    mem_free(a);
}

/* NULL: there was no memory for it, as the commit says. */
static void add_bytes(struct tupled_atomic *a, struct tupled_bytes word)
{
    if (a == NULL) return;
    buf_append(&a->bytes, word.data, word.len);
    size_t end = a->bytes.len;
    buf_append(&a->ends, &end, sizeof end);
}

static void add(struct tupled_atomic *a, const char *word)
{
    add_bytes(a, tupled_text(word));
}

static void add_number(struct tupled_atomic *a, int64_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)n);
    add(a, text);
}

static void add_operation(struct tupled_atomic *a, const char *word, struct tupled_bytes key,
                          struct tupled_bytes value)
{
    add(a, word);
    add_bytes(a, key);
    add_bytes(a, value);
}

void tupled_atomic_check(struct tupled_atomic *a, struct tupled_bytes key, const char *versionstamp)
{
    add_operation(a, "CHECK", key, tupled_text(versionstamp == NULL ? "NONE" : versionstamp));
}

void tupled_atomic_set(struct tupled_atomic *a, struct tupled_bytes key, struct tupled_bytes value)
{
    add_operation(a, "SET", key, value);
}

void tupled_atomic_set_expiring(struct tupled_atomic *a, struct tupled_bytes key,
                                struct tupled_bytes value, int64_t ttl_ms)
{
    add_operation(a, "SET", key, value);
    add(a, "PX");
    add_number(a, ttl_ms);
}

void tupled_atomic_delete(struct tupled_atomic *a, struct tupled_bytes key)
{
    add(a, "DEL");
    add_bytes(a, key);
}

void tupled_atomic_sum(struct tupled_atomic *a, struct tupled_bytes key, struct tupled_bytes value)
{
    add_operation(a, "SUM", key, value);
}

void tupled_atomic_min(struct tupled_atomic *a, struct tupled_bytes key, struct tupled_bytes value)
{
    add_operation(a, "MIN", key, value);
}

void tupled_atomic_max(struct tupled_atomic *a, struct tupled_bytes key, struct tupled_bytes value)
{
    add_operation(a, "MAX", key, value);
}

void tupled_atomic_append(struct tupled_atomic *a, struct tupled_bytes key,
                          struct tupled_bytes elements)
{
    add_operation(a, "APPEND", key, elements);
}

void tupled_atomic_prepend(struct tupled_atomic *a, struct tupled_bytes key,
                           struct tupled_bytes elements)
{
    add_operation(a, "PREPEND", key, elements);
}

void tupled_atomic_enqueue(struct tupled_atomic *a, const char *queue, struct tupled_bytes value,
                           int64_t delay_ms)
{
    add_operation(a, "ENQUEUE", tupled_text(queue), value);
    if (delay_ms == 0) return;
    add(a, "DELAY");
    add_number(a, delay_ms);
}

void tupled_atomic_ack(struct tupled_atomic *a, const char *receipt)
{
    add(a, "ACK");
    add(a, receipt);
}

void tupled_atomic_words(struct tupled_atomic *a, const struct tupled_bytes *words, size_t count)
{
    for (size_t i = 0; i < count; i++) add_bytes(a, words[i]);
}

void tupled_atomic_idem(struct tupled_atomic *a, const char *idem)
{
    if (a == NULL) return;
    buf_clear(&a->idem, SIZE_MAX);
    buf_append_str(&a->idem, idem);
}

/* The words of the command, owned by the caller; NULL and *e without memory. */
static struct slice *words_of(const struct tupled_atomic *a, size_t *count, struct tupled_error *e)
{
    size_t operations = a != NULL ? a->ends.len / sizeof(size_t) : 0;
    bool is_failed = a == NULL || a->bytes.is_failed || a->ends.is_failed || a->idem.is_failed;
    struct slice *words = is_failed ? NULL
                                    : mem_alloc_try((HEAD_WORDS + operations) * sizeof *words);
    if (words == NULL) {
        (void)error_give(e, ERR_NOMEM, "out of memory for a transaction");
        return NULL;
    }
    size_t n = 0;
    words[n++] = slice_str("KV.ATOMIC");
    if (a->idem.len > 0) {
        words[n++] = slice_str("IDEM");
        words[n++] = buf_slice(&a->idem);
    }
    words[n++] = slice_str("DETAILS");
    const size_t *ends = (const size_t *)(const void *)a->ends.data;
    for (size_t i = 0; i < operations; i++) {
        size_t from = i == 0 ? 0 : ends[i - 1];
        words[n++] = slice_of(a->bytes.data + from, ends[i] - from);
    }
    *count = n;
    return words;
}

/* [versionstamp, results], or [nil, [[operation, versionstamp or nil] ...]]. */
static int take_commit(const struct tupled_reply *r, struct tupled_commit *out)
{
    *out = (struct tupled_commit){0};
    if (r->items[0].type != TUPLED_REPLY_NIL) {
        copy_text(out->versionstamp, sizeof out->versionstamp, &r->items[0]);
        return TUPLED_YES;
    }
    const struct tupled_reply *failed = &r->items[1];
    if (failed->count == 0) return TUPLED_NO;
    out->failed_operation = (size_t)failed->items[0].items[0].integer;
    copy_text(out->current, sizeof out->current, &failed->items[0].items[1]);
    return TUPLED_NO;
}

int tupled_atomic_commit(struct tupled_db *db, const struct tupled_atomic *a,
                         struct tupled_commit *out, struct tupled_error *e)
{
    size_t count = 0;
    struct tupled_commit mine;
    struct tupled_reply *r = NULL;
    if (out == NULL) out = &mine;
    *out = (struct tupled_commit){0};
    struct slice *words = words_of(a, &count, e);
    if (words == NULL) return TUPLED_FAILED;
    int outcome = typed_run(db, words, count, &r, e);
    if (r != NULL) outcome = take_commit(r, out);
    mem_free(r);
    mem_free(words);
    return outcome;
}

static void finish_commit(struct call *c)
{
    struct tupled_error e;
    struct tupled_commit commit = {0};
    struct tupled_reply *r = NULL;
    int outcome = call_tree(c, &r, &e);
    if (r != NULL) outcome = take_commit(r, &commit);
    mem_free(r);
    ((tupled_on_commit *)c->callback)(c->arg, outcome, &commit, &e);
}

int tupled_atomic_commit_async(struct tupled_db *db, const struct tupled_atomic *a,
                               tupled_on_commit *done, void *arg)
{
    size_t count = 0;
    struct slice *words = words_of(a, &count, NULL);
    if (words == NULL) return TUPLED_FAILED;
    struct call *c = call_new(CALL_TYPED, words, count);
    mem_free(words);
    if (c == NULL) return TUPLED_FAILED;
    c->callback = (void (*)(void))done;
    c->finish = finish_commit;
    c->arg = arg;
    return call_submit(db, c);
}
