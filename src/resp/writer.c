/* writer: see writer.h. Where RESP2 and RESP3 differ, `proto` decides here, so that commands need
 * not know. */
#include "resp/writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void write_header(struct buf *out, char type, uint64_t n)
{
    uint8_t *p = buf_reserve(out, 24);
    if (p == NULL) return;
    p[0] = (uint8_t)type;
    size_t digits = u64_format(n, (char *)p + 1);
    p[1 + digits] = '\r';
    p[2 + digits] = '\n';
    out->len += digits + 3;
}

void resp_simple(struct resp_writer *w, const char *text)
{
    buf_append_byte(w->out, '+');
    buf_append_str(w->out, text);
    buf_append(w->out, "\r\n", 2);
}

void resp_error_line(struct resp_writer *w, const char *line)
{
    buf_append_byte(w->out, '-');
    for (const char *p = line; *p != '\0'; p++) {
        buf_append_byte(w->out, (uint8_t)*p < 0x20 ? ' ' : (uint8_t)*p);
    }
    buf_append(w->out, "\r\n", 2);
}

void resp_error(struct resp_writer *w, const struct error *e)
{
    buf_append_byte(w->out, '-');
    buf_append_str(w->out, err_lead(e->code));
    buf_append_str(w->out, e->text);
    buf_append(w->out, "\r\n", 2);
}

void resp_int(struct resp_writer *w, int64_t value)
{
    buf_append_byte(w->out, ':');
    buf_append_i64(w->out, value);
    buf_append(w->out, "\r\n", 2);
}

void resp_bulk(struct resp_writer *w, struct slice bytes)
{
    write_header(w->out, '$', bytes.len);
    uint8_t *p = buf_reserve(w->out, bytes.len + 2);
    if (p == NULL) return;
    bytes_copy(p, bytes.data, bytes.len);
    p[bytes.len] = '\r';
    p[bytes.len + 1] = '\n';
    w->out->len += bytes.len + 2;
}

void resp_bulk_str(struct resp_writer *w, const char *text)
{
    resp_bulk(w, slice_str(text));
}

void resp_bulk_u64(struct resp_writer *w, uint64_t value)
{
    char digits[20];
    resp_bulk(w, slice_of(digits, u64_format(value, digits)));
}

void resp_nil(struct resp_writer *w)
{
    buf_append_str(w->out, w->proto == 3 ? "_\r\n" : "$-1\r\n");
}

void resp_nil_array(struct resp_writer *w)
{
    buf_append_str(w->out, w->proto == 3 ? "_\r\n" : "*-1\r\n");
}

void resp_array(struct resp_writer *w, size_t count)
{
    write_header(w->out, '*', count);
}

void resp_map(struct resp_writer *w, size_t pairs)
{
    write_header(w->out, w->proto == 3 ? '%' : '*', w->proto == 3 ? pairs : pairs * 2);
}

void resp_set(struct resp_writer *w, size_t count)
{
    write_header(w->out, w->proto == 3 ? '~' : '*', count);
}

void resp_push(struct resp_writer *w, size_t count)
{
    write_header(w->out, w->proto == 3 ? '>' : '*', count);
}

void resp_double(struct resp_writer *w, double value)
{
    char text[32];
    int n = 0;
    if (isnan(value)) {
        n = snprintf(text, sizeof text, "nan");
    } else if (isinf(value)) {
        n = snprintf(text, sizeof text, value > 0 ? "inf" : "-inf");
    } else {
        n = snprintf(text, sizeof text, "%.15g", value);
        if (strtod(text, NULL) != value) n = snprintf(text, sizeof text, "%.17g", value);
    }
    if (w->proto != 3) {
        resp_bulk(w, slice_of(text, (size_t)n));
        return;
    }
    buf_append_byte(w->out, ',');
    buf_append(w->out, text, (size_t)n);
    buf_append(w->out, "\r\n", 2);
}

void resp_bool(struct resp_writer *w, bool value)
{
    if (w->proto == 3) {
        buf_append_str(w->out, value ? "#t\r\n" : "#f\r\n");
    } else {
        resp_int(w, value);
    }
}

void resp_text(struct resp_writer *w, struct slice text)
{
    if (w->proto != 3) {
        resp_bulk(w, text);
        return;
    }
    write_header(w->out, '=', text.len + 4);
    buf_append_str(w->out, "txt:");
    buf_append(w->out, text.data, text.len);
    buf_append(w->out, "\r\n", 2);
}

void resp_replay(struct resp_writer *w, struct slice reply)
{
    if (w->proto != 3) {
        buf_append(w->out, reply.data, reply.len);
        return;
    }
    for (size_t at = 0; at < reply.len;) {
        const uint8_t *line = reply.data + at;
        const uint8_t *end = memchr(line, '\n', reply.len - at);
        INVARIANT(end != NULL && end - line >= 2);
        size_t len = (size_t)(end - line) + 1;
        uint64_t body = 0;
        bool is_nil = (line[0] == '$' || line[0] == '*') && line[1] == '-';
        if (line[0] == '$' && !is_nil) {
            INVARIANT(slice_to_u64(slice_of(line + 1, len - 3), &body));
            len += (size_t)body + 2;
        }
        INVARIANT(len <= reply.len - at);
        if (is_nil) {
            resp_nil(w);
        } else {
            buf_append(w->out, line, len);
        }
        at += len;
    }
}

void resp_draft(struct resp_writer *w, struct slice draft, draft_write *writes)
{
    if (w->drafts == NULL || draft.len < w->draft_bytes_min) {
        writes(draft, w->out);
        return;
    }
    buf_append(w->out, draft.data, draft.len);
    drafts_add(w->drafts, w->out, draft.len, writes);
}

void resp_cut(struct resp_writer *w, size_t len)
{
    w->out->len = len;
    if (w->drafts != NULL) drafts_cut(w->drafts, len);
}

struct resp_mark resp_bulk_begin(struct resp_writer *w, size_t bytes_guess)
{
    char digits[20];
    struct resp_mark mark = {.at = w->out->len,
                             .header_bytes = u64_format(bytes_guess, digits) + 3};
    if (buf_reserve(w->out, mark.header_bytes) != NULL) w->out->len += mark.header_bytes;
    return mark;
}

void resp_bulk_end(struct resp_writer *w, struct resp_mark mark)
{
    if (w->out->is_failed) return;
    size_t body = mark.at + mark.header_bytes;
    size_t len = w->out->len - body;
    char header[24];
    header[0] = '$';
    size_t n = 1 + u64_format(len, header + 1);
    header[n++] = '\r';
    header[n++] = '\n';
    if (buf_reserve(w->out, n + 2) == NULL) return;
    uint8_t *data = w->out->data;
    if (n != mark.header_bytes) memmove(data + mark.at + n, data + body, len);
    memcpy(data + mark.at, header, n);
    memcpy(data + mark.at + n + len, "\r\n", 2);
    w->out->len = mark.at + n + len + 2;
}
