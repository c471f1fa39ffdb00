/* page: replies that are lists of entries or messages, as arrays of structs in one piece of memory:
 * the struct, its array, then all texts, each with a NUL.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "embedded/embedded_int.h"

/* Bytes of all texts below the node, with their NULs. */
static size_t text_bytes(const struct tupled_reply *r)
{
    size_t bytes = r->text != NULL ? r->len + 1 : 0;
    for (size_t i = 0; i < r->count; i++) bytes += text_bytes(&r->items[i]);
    return bytes;
}

/* Copies the text to *at, which moves on. data NULL when it is none. */
static struct tupled_bytes put(char **at, const struct tupled_reply *r)
{
    struct tupled_bytes b = {NULL, 0};
    if (r->text == NULL) return b;
    b = (struct tupled_bytes){*at, r->len};
    bytes_copy(*at, r->text, r->len);
    (*at)[r->len] = '\0';
    *at += r->len + 1;
    return b;
}

static void put_entry(char **at, const struct tupled_reply *r, struct tupled_entry *out)
{
    *out = (struct tupled_entry){0};
    if (r->type != TUPLED_REPLY_ARRAY) {
        out->key = put(at, r); /* keys_only */
        return;
    }
    if (r->count < 3) return;
    out->key = put(at, &r->items[0]);
    out->value = put(at, &r->items[1]);
    copy_text(out->versionstamp, sizeof out->versionstamp, &r->items[2]);
    if (r->count > 3 && r->items[3].text != NULL) out->score = strtod(r->items[3].text, NULL);
}

int page_run(struct tupled_db *db, const struct words *w, enum page_kind kind,
             struct tupled_page **out, struct tupled_error *e)
{
    struct tupled_reply *r = NULL;
    *out = NULL;
    int outcome = words_run(db, w, &r, e);
    if (outcome < 0) return outcome;
    const struct tupled_reply *list = kind == PAGE_LIST ? &r->items[1] : r;
    struct tupled_page *page = mem_alloc_try(sizeof *page + list->count * sizeof page->entries[0] +
                                             text_bytes(r) + 1);
    if (page == NULL) {
        mem_free(r);
        return error_give(e, ERR_NOMEM, "out of memory for a page of entries");
    }
    page->count = list->count;
    page->entries = (struct tupled_entry *)(void *)(page + 1);
    page->cursor = NULL;
    char *at = (char *)(page->entries + page->count);
    if (kind == PAGE_LIST && strcmp(r->items[0].text, "0") != 0) {
        page->cursor = put(&at, &r->items[0]).data;
    }
    for (size_t i = 0; i < list->count; i++) put_entry(&at, &list->items[i], &page->entries[i]);
    mem_free(r);
    *out = page;
    return TUPLED_YES;
}

/* ---- messages ---- */

static int take_messages(struct tupled_reply *r, struct tupled_messages **out,
                         struct tupled_error *e)
{
    struct tupled_messages *m = mem_alloc_try(sizeof *m + r->count * sizeof m->items[0] +
                                              text_bytes(r));
    if (m == NULL) return error_give(e, ERR_NOMEM, "out of memory for messages");
    m->count = r->count;
    m->items = (struct tupled_message *)(void *)(m + 1);
    char *at = (char *)(m->items + m->count);
    for (size_t i = 0; i < r->count; i++) {
        const struct tupled_reply *x = r->items[i].items;
        m->items[i] = (struct tupled_message){.attempt = x[3].integer};
        m->items[i].queue = put(&at, &x[0]).data;
        m->items[i].id = put(&at, &x[1]).data;
        m->items[i].value = put(&at, &x[2]);
        m->items[i].receipt = put(&at, &x[4]).data;
    }
    *out = m;
    return TUPLED_YES;
}

int tupled_dequeue(struct tupled_db *db, const char *queue, size_t count, int64_t wait_ms,
                   struct tupled_messages **out, struct tupled_error *e)
{
    struct words w = {0};
    struct tupled_reply *r = NULL;
    *out = NULL;
    words_add(&w, "KV.DEQUEUE");
    words_add(&w, queue);
    words_add(&w, "COUNT");
    words_number(&w, count > INT64_MAX ? INT64_MAX : (int64_t)count);
    if (wait_ms != 0) {
        words_add(&w, "BLOCK");
        words_number(&w, wait_ms < 0 ? 0 : wait_ms);
    }
    int outcome = words_run(db, &w, &r, e);
    if (outcome > 0) {
        outcome = r->type == TUPLED_REPLY_NIL ? TUPLED_NO : take_messages(r, out, e);
    }
    mem_free(r);
    return outcome;
}

int tupled_enqueue(struct tupled_db *db, const char *queue, struct tupled_bytes value,
                   const struct tupled_enqueue_options *o, char id[TUPLED_ID_BYTES],
                   struct tupled_error *e)
{
    struct words w = {0};
    struct tupled_reply *r = NULL;
    words_add(&w, "KV.ENQUEUE");
    words_add(&w, queue);
    words_bytes(&w, value);
    if (o != NULL && o->delay_ms != 0) {
        words_add(&w, "DELAY");
        words_number(&w, o->delay_ms);
    }
    if (o != NULL && o->dedup != NULL) {
        words_add(&w, "DEDUP");
        words_add(&w, o->dedup);
    }
    int outcome = words_run(db, &w, &r, e);
    if (id != NULL) id[0] = '\0';
    if (outcome > 0 && id != NULL) copy_text(id, TUPLED_ID_BYTES, r);
    if (outcome > 0 && r->type == TUPLED_REPLY_NIL) outcome = TUPLED_NO;
    mem_free(r);
    return outcome;
}

int tupled_ack(struct tupled_db *db, const char *receipt, struct tupled_error *e)
{
    struct words w = {0};
    words_add(&w, "KV.ACK");
    words_add(&w, receipt);
    return words_count(db, &w, e);
}

int tupled_nack(struct tupled_db *db, const char *receipt, int64_t delay_ms, const char *why,
                struct tupled_error *e)
{
    struct words w = {0};
    words_add(&w, "KV.NACK");
    words_add(&w, receipt);
    if (why != NULL) {
        words_add(&w, "ERROR");
        words_add(&w, why);
    }
    if (delay_ms >= 0) {
        words_add(&w, "DELAY");
        words_number(&w, delay_ms);
    }
    return words_count(db, &w, e);
}

int tupled_extend(struct tupled_db *db, const char *receipt, int64_t lease_ms,
                  struct tupled_error *e)
{
    struct words w = {0};
    words_add(&w, "KV.EXTEND");
    words_add(&w, receipt);
    words_number(&w, lease_ms);
    return words_count(db, &w, e);
}
