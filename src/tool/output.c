/* output: JSON with its commas, text without what would move a terminal's cursor, and the end when
 * nothing reads standard output any more. Tables are sheet.c's, progress is progress.c's. */
#include "tool/output.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "codec/json_lex.h"
#include "codec/utf8.h"

/* ---- JSON ------------------------------------------------------------------------------------ */

void json_out_init(struct json_out *j)
{
    *j = (struct json_out){.depth = 0};
    buf_init(&j->text);
}

void json_out_fini(struct json_out *j)
{
    buf_fini(&j->text);
}

/* What stands before a value or a name. */
static void json_out_begin(struct json_out *j)
{
    if (!j->is_named && j->depth > 0) {
        if (j->has_member[j->depth - 1]) buf_append_byte(&j->text, ',');
        j->has_member[j->depth - 1] = true;
    }
    j->is_named = false;
}

void json_out_open(struct json_out *j, char bracket)
{
    INVARIANT(j->depth < JSON_OUT_DEPTH);
    json_out_begin(j);
    buf_append_byte(&j->text, (uint8_t)bracket);
    j->has_member[j->depth++] = false;
}

void json_out_close(struct json_out *j, char bracket)
{
    INVARIANT(j->depth > 0);
    j->depth--;
    buf_append_byte(&j->text, (uint8_t)bracket);
}

void json_out_name(struct json_out *j, const char *name)
{
    json_out_begin(j);
    json_string_write_lossy(slice_str(name), &j->text);
    buf_append_byte(&j->text, ':');
    j->is_named = true;
}

void json_out_text(struct json_out *j, struct slice s)
{
    json_out_begin(j);
    json_string_write_lossy(s, &j->text);
}

void json_out_i64(struct json_out *j, int64_t value)
{
    json_out_begin(j);
    buf_append_i64(&j->text, value);
}

void json_out_double(struct json_out *j, double value, int digits)
{
    if (!isfinite(value)) {
        json_out_null(j);
        return;
    }
    json_out_begin(j);
    buf_printf(&j->text, "%.*f", digits, value);
}

void json_out_bool(struct json_out *j, bool value)
{
    json_out_raw(j, slice_str(value ? "true" : "false"));
}

void json_out_null(struct json_out *j)
{
    json_out_raw(j, slice_str("null"));
}

void json_out_raw(struct json_out *j, struct slice json)
{
    json_out_begin(j);
    buf_append(&j->text, json.data, json.len);
}

void json_out_print(struct json_out *j)
{
    buf_append_byte(&j->text, '\n');
    text_print(&j->text);
    output_flush();
}

/* ---- text ------------------------------------------------------------------------------------ */

void text_clean(struct slice s, struct buf *out)
{
    size_t at = 0;
    while (at < s.len) {
        unsigned step = utf8_step(s.data + at, s.len - at);
        uint8_t c = s.data[at];
        /* C1 controls (U+0080 to U+009F) move cursors too. */
        bool is_c1 = step == 2 && c == 0xc2 && s.data[at + 1] < 0xa0;
        if (step == 0 || c < ' ' || c == 127) {
            buf_printf(out, "\\x%02x", c);
            at++;
        } else if (is_c1) {
            buf_printf(out, "\\xc2\\x%02x", s.data[at + 1]);
            at += 2;
        } else {
            buf_append(out, s.data + at, step);
            at += step;
        }
    }
}

void text_print(struct buf *b)
{
    buf_require(b);
    if (b->len > 0) fwrite(b->data, 1, b->len, stdout);
    buf_clear(b, 65536);
}

void output_flush(void)
{
    if (fflush(stdout) == 0) return;
    int code = errno;
    if (code == EPIPE) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    fprintf(stderr, "tupledctl: cannot write to standard output: %s\n", strerror(code));
    _exit(1);
}
