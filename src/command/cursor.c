#include "command/cursor.h"

#define CURSOR_FORMAT 1
#define CURSOR_HEAD_BYTES 9 /* format, fingerprint */

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* URL-safe base64 without padding (RFC 4648, 5). */
static void base64url_write(struct slice in, struct buf *out)
{
    for (size_t i = 0; i < in.len; i += 3) {
        size_t n = in.len - i < 3 ? in.len - i : 3;
        uint32_t v = (uint32_t)in.data[i] << 16;
        if (n > 1) v |= (uint32_t)in.data[i + 1] << 8;
        if (n > 2) v |= in.data[i + 2];
        for (size_t k = 0; k <= n; k++) {
            buf_append_byte(out, (uint8_t)base64_digits[(v >> (18 - 6 * k)) & 63]);
        }
    }
}

static bool base64url_read(struct slice in, struct buf *out)
{
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < in.len; i++) {
        const char *digit = in.data[i] == 0 ? NULL : strchr(base64_digits, in.data[i]);
        if (digit == NULL) return false;
        bits = bits << 6 | (uint32_t)(digit - base64_digits);
        count += 6;
        if (count >= 8) {
            count -= 8;
            buf_append_byte(out, (uint8_t)(bits >> count));
        }
    }
    return count < 6 && (bits & ((1u << count) - 1)) == 0;
}

void reply_cursor(struct request *rq, uint64_t fingerprint, struct slice last, bool is_done)
{
    if (is_done) {
        resp_bulk_str(rq->w, "0");
        return;
    }
    buf_clear(rq->scratch, SIZE_MAX);
    buf_append_byte(rq->scratch, CURSOR_FORMAT);
    buf_append(rq->scratch, &fingerprint, sizeof fingerprint);
    buf_append(rq->scratch, last.data, last.len);
    struct resp_mark mark = resp_bulk_begin(rq->w, 10);
    base64url_write(buf_slice(rq->scratch), rq->w->out);
    resp_bulk_end(rq->w, mark);
}

enum err arg_cursor(struct request *rq, struct slice text, uint64_t fingerprint, struct slice *last)
{
    *last = slice_of(NULL, 0);
    if (text.len == 1 && text.data[0] == '0') return OK;
    buf_clear(rq->scratch, SIZE_MAX);
    bool is_good = text.len > 0 && base64url_read(text, rq->scratch);
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

enum err cursor_narrow(struct request *rq, struct slice last, bool is_reverse, struct slice *start,
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
