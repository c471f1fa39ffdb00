/* page: see page.h. Entries are kept as they are stored, and written when the reply is sent (a
 * draft). A page that grows long is written as it comes, so that its limit is one of written bytes.
 * A cursor is a byte for its format, the fingerprint and the place. */
#include "request/page.h"

#include "base/hash.h"
#include "codec/base64.h"
#include "request/args.h"
#include "request/client_memory.h"
#include "request/where.h"

#define CURSOR_FORMAT 1
#define CURSOR_HEAD_BYTES 9   /* format, fingerprint */
#define CURSOR_CHARS_MAX 8192 /* more than any place takes: a key, a row of an index */

/* Of entries that are not written yet. What is written of them is shorter than a page may be: no
 * byte of a key or a value takes more than 16 (a false in JSON has 6 with its comma). */
#define KEPT_BYTES_MAX (256 * 1024)
_Static_assert(KEPT_BYTES_MAX * 16 < LIST_PAGE_BYTES_MAX, "a page may be too long");

static void reply_cursor(struct request *rq, const struct page *p)
{
    buf_clear(rq->scratch, SIZE_MAX);
    buf_append_byte(rq->scratch, CURSOR_FORMAT);
    buf_append(rq->scratch, &p->fingerprint, sizeof p->fingerprint);
    buf_append(rq->scratch, p->last.data, p->last.len);
    struct resp_mark mark = resp_bulk_begin(rq->w, 10);
    base64url_encode(buf_slice(rq->scratch), rq->w->out);
    resp_bulk_end(rq->w, mark);
}

/* The place in a cursor, in the arena; len 0: the cursor is "0", from the beginning. */
static enum err read_cursor(struct request *rq, struct slice text, uint64_t fingerprint,
                            struct slice *last)
{
    *last = slice_of(NULL, 0);
    if (text.len == 1 && text.data[0] == '0') return OK;
    buf_clear(rq->scratch, SIZE_MAX);
    /* One that can never be right is not decoded: it may have a hundred megabytes. */
    bool is_good = text.len > 0 && text.len <= CURSOR_CHARS_MAX &&
                   base64url_decode(text, rq->scratch);
    struct slice c = buf_slice(rq->scratch);
    is_good = is_good && c.data != NULL && c.len > CURSOR_HEAD_BYTES + KEY_HEAD_BYTES &&
              c.data[0] == CURSOR_FORMAT;
    if (!is_good) return error_set(&rq->error, ERR_SYNTAX, "invalid cursor");
    if (memcmp(c.data + 1, &fingerprint, sizeof fingerprint) != 0) {
        return error_set(&rq->error, ERR_SYNTAX,
                         "invalid cursor: it belongs to another range or direction");
    }
    *last = arena_copy(rq->arena, slice_of(c.data + CURSOR_HEAD_BYTES, c.len - CURSOR_HEAD_BYTES));
    return OK;
}

static enum err narrow(struct request *rq, struct slice last, bool is_reverse, struct slice *start,
                       struct slice *end)
{
    if (last.len == 0) return OK;
    if (slice_cmp(last, *start) < 0 || slice_cmp(last, *end) >= 0) {
        return error_set(&rq->error, ERR_SYNTAX, "invalid cursor: it is outside the range");
    }
    if (is_reverse) {
        *end = last;
        return OK;
    }
    uint8_t *p = arena_alloc(rq->arena, last.len + 1); /* its successor */
    memcpy(p, last.data, last.len);
    p[last.len] = 0;
    *start = slice_of(p, last.len + 1);
    return OK;
}

static uint64_t fingerprint_of(struct request *rq, const struct page *p, struct slice start,
                               struct slice end, struct slice where)
{
    buf_clear(rq->scratch, SIZE_MAX);
    buf_append_byte(rq->scratch, p->is_reverse);
    buf_append_u64(rq->scratch, rq->client->entered.created);
    buf_append_u64(rq->scratch, start.len);
    buf_append(rq->scratch, start.data, start.len);
    buf_append(rq->scratch, end.data, end.len);
    if (where.len > 0) {
        buf_append_byte(rq->scratch, 0);
        buf_append(rq->scratch, where.data, where.len);
    }
    return checksum_bytes(buf_slice(rq->scratch));
}

enum err page_begin(struct request *rq, struct page *p, const struct page_words *a,
                    struct slice *start, struct slice *end)
{
    struct slice last;
    struct slice cursor = a->cursor.data != NULL ? a->cursor : slice_str("0");
    p->is_reverse = a->is_reverse;
    p->keys_only = a->keys_only;
    p->with_expiry = a->with_expiry;
    p->limit = (uint64_t)a->limit;
    enum err r = a->where.data != NULL ? arg_where(rq, a->where, &p->where) : OK;
    if (r != OK) return r;
    p->fingerprint = fingerprint_of(rq, p, *start, *end, a->where);
    r = read_cursor(rq, cursor, p->fingerprint, &last);
    return r == OK ? narrow(rq, last, p->is_reverse, start, end) : r;
}

SHARED_ARGUMENTS_WITH(
    page_arguments, struct page_words,
    "[REVERSE] [LIMIT count] [CURSOR cursor] [KEYSONLY] [WITHEXPIRY] [WHERE filter]",
    WITH(.members = "KEYSONLY keysOnly WITHEXPIRY -"),
    ARG_FLAG(struct page_words, is_reverse, "REVERSE"),
    ARG_INTEGER(struct page_words, limit, "LIMIT", 1, LIST_LIMIT_MAX, PAGE_LIMIT_DEFAULT),
    ARG_WORD(struct page_words, cursor, "CURSOR"),
    ARG_FLAG(struct page_words, keys_only, "KEYSONLY"),
    ARG_FLAG(struct page_words, with_expiry, "WITHEXPIRY"),
    ARG_FILTER(struct page_words, where, "WHERE"));

/* ---- entries ---- */

/* What kept entries begin with: how they are written. */
struct kept_form {
    enum format format;
    int proto;
    bool keys_only, with_expiry;
};

/* An entry of a page as it is kept until it is written. After it come the key and the value. */
struct kept {
    uint64_t version;
    int64_t expiry_ms;
    uint32_t key_bytes, value_bytes;
};

void page_fini(struct page *p)
{
    where_unref(p->where);
    buf_fini(&p->kept);
    buf_fini(&p->written);
    buf_fini(&p->last);
}

void page_restart(struct page *p)
{
    p->rows = 0;
    buf_clear(&p->kept, SIZE_MAX);
    buf_clear(&p->written, SIZE_MAX);
    buf_clear(&p->last, SIZE_MAX);
}

size_t page_bytes(const struct page *p)
{
    return p->kept.cap + p->written.cap + p->last.cap;
}

bool page_is_full(const struct page *p)
{
    return p->rows == p->limit || p->written.len >= LIST_PAGE_BYTES_MAX;
}

/* ---- writing ---- */

/* [k, v, vs, expiry ms or nil] */
static void reply_expiring_entry(struct resp_writer *w, enum format format, struct slice key,
                                 const struct entry *entry)
{
    char stamp[STAMP_CHARS];
    stamp_format(entry->version, stamp);
    resp_array(w, 4);
    reply_key(w, format, key);
    reply_value(w, format, entry->value);
    resp_bulk(w, slice_of(stamp, STAMP_CHARS));
    if (entry->expiry_ms != 0) {
        resp_int(w, entry->expiry_ms);
    } else {
        resp_nil(w);
    }
}

static void write_entry(struct resp_writer *w, const struct kept_form *form, struct slice key,
                        const struct entry *entry)
{
    if (form->keys_only) {
        reply_key(w, form->format, key);
    } else if (form->with_expiry) {
        reply_expiring_entry(w, form->format, key, entry);
    } else {
        reply_entry(w, form->format, key, entry);
    }
}

/* A draft of output: any thread, perhaps when the page and its command are long gone. */
static void write_kept(struct slice kept, struct buf *out)
{
    struct kept_form form;
    INVARIANT(kept.data != NULL && kept.len >= sizeof form);
    const uint8_t *p = kept.data;
    const uint8_t *end = p + kept.len;
    memcpy(&form, p, sizeof form);
    p += sizeof form;
    struct resp_writer w = {.out = out, .proto = form.proto};
    while (p != end) {
        struct kept head;
        memcpy(&head, p, sizeof head);
        p += sizeof head;
        struct slice key = slice_of(p, head.key_bytes);
        p += head.key_bytes;
        struct entry entry = {.value = slice_of(p, head.value_bytes),
                              .version = head.version,
                              .expiry_ms = head.expiry_ms};
        p += head.value_bytes;
        INVARIANT(p <= end);
        write_entry(&w, &form, key, &entry);
    }
}

static void keep_form(const struct request *rq, struct page *p)
{
    struct kept_form form = {.format = rq->format,
                             .proto = rq->w->proto,
                             .keys_only = p->keys_only,
                             .with_expiry = p->with_expiry};
    buf_append(&p->kept, &form, sizeof form);
}

static void keep(struct page *p, struct slice key, const struct entry *entry)
{
    struct kept head = {.key_bytes = (uint32_t)key.len};
    if (!p->keys_only) {
        head.version = entry->version;
        head.expiry_ms = entry->expiry_ms;
        head.value_bytes = (uint32_t)entry->value.len;
    }
    uint8_t *to = buf_reserve(&p->kept, sizeof head + head.key_bytes + head.value_bytes);
    if (to == NULL) return;
    memcpy(to, &head, sizeof head);
    to += sizeof head;
    bytes_copy(to, key.data, key.len);
    to += key.len;
    if (head.value_bytes > 0) bytes_copy(to, entry->value.data, entry->value.len);
    p->kept.len += sizeof head + head.key_bytes + head.value_bytes;
}

void page_add(struct request *rq, struct page *p, struct slice key, const struct entry *entry,
              struct slice place)
{
    size_t before = page_bytes(p);
    p->rows++;
    if (p->kept.len == 0) keep_form(rq, p);
    keep(p, key, entry);
    if (p->kept.len > KEPT_BYTES_MAX || p->written.len > 0) {
        /* A long page, whose bytes are counted from now on. */
        if (p->kept.is_failed) {
            p->written.is_failed = true;
        } else {
            write_kept(buf_slice(&p->kept), &p->written);
        }
        buf_clear(&p->kept, 2 * KEPT_BYTES_MAX);
    }
    buf_clear(&p->last, SIZE_MAX);
    buf_append(&p->last, place.data, place.len);
    client_memory_grow(rq->env, page_bytes(p) - before);
}

enum err page_reply(struct request *rq, const struct page *p, bool is_done)
{
    if (p->kept.is_failed || p->written.is_failed || p->last.is_failed) {
        return error_set(&rq->error, ERR_NOMEM, "out of memory for the page");
    }
    resp_array(rq->w, 2);
    if (is_done) {
        resp_bulk_str(rq->w, "0");
    } else {
        reply_cursor(rq, p);
    }
    resp_array(rq->w, p->rows);
    buf_append(rq->w->out, p->written.data, p->written.len);
    if (p->kept.len > 0) resp_draft(rq->w, buf_slice(&p->kept), write_kept);
    return OK;
}
