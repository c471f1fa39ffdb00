/* sheet: tables of output.h. */
#include <stdio.h>

#include "base/mem.h"
#include "codec/utf8.h"
#include "tool/output.h"

enum sheet_kind { SHEET_TEXT, SHEET_NUMBER, SHEET_RAW, SHEET_NULL };

struct sheet_cell {
    size_t at, len; /* in bytes */
    enum sheet_kind kind;
};

void sheet_init(struct sheet *s, const char *const *names)
{
    *s = (struct sheet){.names = names};
    while (names[s->columns] != NULL) s->columns++;
    buf_init(&s->bytes);
}

void sheet_fini(struct sheet *s)
{
    mem_free(s->cells);
    buf_fini(&s->bytes);
}

static void sheet_add(struct sheet *s, struct slice text, enum sheet_kind kind)
{
    if (s->count == s->room) {
        s->room = s->room == 0 ? 64 : s->room * 2;
        s->cells = mem_resize(s->cells, s->room * sizeof *s->cells);
    }
    s->cells[s->count++] = (struct sheet_cell){s->bytes.len, text.len, kind};
    buf_append(&s->bytes, text.data, text.len);
    buf_require(&s->bytes);
}

void sheet_text(struct sheet *s, struct slice text)
{
    sheet_add(s, text, SHEET_TEXT);
}

void sheet_i64(struct sheet *s, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    sheet_add(s, slice_str(text), SHEET_NUMBER);
}

void sheet_double(struct sheet *s, double value, int digits)
{
    char text[64];
    snprintf(text, sizeof text, "%.*f", digits, value);
    sheet_add(s, slice_str(text), SHEET_NUMBER);
}

void sheet_bool(struct sheet *s, bool value)
{
    sheet_add(s, slice_str(value ? "true" : "false"), SHEET_RAW);
}

void sheet_null(struct sheet *s)
{
    sheet_add(s, slice_str(""), SHEET_NULL);
}

void sheet_raw(struct sheet *s, struct slice json)
{
    sheet_add(s, json, SHEET_RAW);
}

static struct slice sheet_slice(const struct sheet *s, size_t cell)
{
    return slice_of(s->bytes.data + s->cells[cell].at, s->cells[cell].len);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void sheet_json_row(const struct sheet *s, size_t row, struct json_out *j)
{
    json_out_open(j, '{');
    for (size_t i = 0; i < s->columns; i++) {
        size_t cell = row * s->columns + i;
        json_out_name(j, s->names[i]);
        switch (s->cells[cell].kind) {
        case SHEET_TEXT: json_out_text(j, sheet_slice(s, cell)); break;
        case SHEET_NUMBER:
        case SHEET_RAW: json_out_raw(j, sheet_slice(s, cell)); break;
        case SHEET_NULL: json_out_null(j); break;
        }
    }
    json_out_close(j, '}');
}

static void sheet_json(const struct sheet *s, bool is_record)
{
    struct json_out j;
    json_out_init(&j);
    if (!is_record) json_out_open(&j, '[');
    size_t rows = s->columns > 0 ? s->count / s->columns : 0;
    for (size_t row = 0; row < rows; row++) sheet_json_row(s, row, &j);
    if (is_record && rows == 0) json_out_raw(&j, slice_str("{}"));
    if (!is_record) json_out_close(&j, ']');
    json_out_print(&j);
    json_out_fini(&j);
}

/* ---- as text --------------------------------------------------------------------------------- */

/* How many columns of a terminal it takes, if each character takes one. */
static size_t sheet_width(struct slice s)
{
    size_t width = 0;
    for (size_t i = 0; i < s.len; i++) width += (s.data[i] & 0xc0) != 0x80;
    return width;
}

static void sheet_pad(struct buf *out, size_t count)
{
    while (count-- > 0) buf_append_byte(out, ' ');
}

/* The cell as it is shown, in `out`; "-" when there is nothing. */
static struct slice sheet_shown(const struct sheet *s, size_t cell, struct buf *out)
{
    buf_clear(out, 65536);
    if (s->cells[cell].kind == SHEET_NULL) {
        buf_append_str(out, "-");
    } else {
        text_clean(sheet_slice(s, cell), out);
    }
    buf_require(out);
    return buf_slice(out);
}

static void sheet_put(struct buf *out, struct slice text, size_t width, bool is_right, bool is_last)
{
    size_t own = sheet_width(text);
    size_t pad = width > own ? width - own : 0;
    if (is_right) sheet_pad(out, pad);
    buf_append(out, text.data, text.len);
    if (!is_right && !is_last) sheet_pad(out, pad);
    buf_append_str(out, is_last ? "\n" : "  ");
}

static void sheet_rows(const struct sheet *s, const size_t *widths)
{
    struct buf line;
    struct buf cell;
    INVARIANT(s->columns > 0);
    buf_init(&line);
    buf_init(&cell);
    for (size_t i = 0; i < s->columns; i++) {
        bool is_right = s->count > 0 && s->cells[i].kind == SHEET_NUMBER;
        sheet_put(&line, slice_str(s->names[i]), widths[i], is_right, i + 1 == s->columns);
    }
    for (size_t i = 0; i < s->count; i++) {
        size_t column = i % s->columns;
        sheet_put(&line, sheet_shown(s, i, &cell), widths[column], s->cells[i].kind == SHEET_NUMBER,
                  column + 1 == s->columns);
        if (column + 1 == s->columns) text_print(&line);
    }
    text_print(&line);
    buf_fini(&line);
    buf_fini(&cell);
}

void sheet_print(struct sheet *s, bool is_json)
{
    if (is_json) {
        sheet_json(s, false);
        return;
    }
    struct buf cell;
    INVARIANT(s->columns > 0);
    size_t *widths = mem_new(s->columns * sizeof *widths);
    buf_init(&cell);
    for (size_t i = 0; i < s->columns; i++) widths[i] = sheet_width(slice_str(s->names[i]));
    for (size_t i = 0; i < s->count; i++) {
        size_t width = sheet_width(sheet_shown(s, i, &cell));
        if (width > widths[i % s->columns]) widths[i % s->columns] = width;
    }
    sheet_rows(s, widths);
    buf_fini(&cell);
    mem_free(widths);
    output_flush();
}

void sheet_print_record(struct sheet *s, bool is_json)
{
    if (is_json) {
        sheet_json(s, true);
        return;
    }
    struct buf line;
    struct buf cell;
    size_t width = 0;
    buf_init(&line);
    buf_init(&cell);
    for (size_t i = 0; i < s->columns; i++) {
        size_t own = sheet_width(slice_str(s->names[i]));
        if (own > width) width = own;
    }
    for (size_t i = 0; i < s->columns && i < s->count; i++) {
        sheet_put(&line, slice_str(s->names[i]), width, false, false);
        sheet_put(&line, sheet_shown(s, i, &cell), 0, false, true);
    }
    text_print(&line);
    buf_fini(&line);
    buf_fini(&cell);
    output_flush();
}
