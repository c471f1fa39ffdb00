/* output: what goes to standard output, as text for people or as JSON for programs, and progress
 * on standard error. JSON is one object or array for each call of tupledctl, or one object a line
 * where there is no end (watch). Bytes that are no UTF-8 are U+FFFD in JSON; in text, what could
 * move a terminal's cursor is written \x1b.
 */
#ifndef TOOL_OUTPUT_H
#define TOOL_OUTPUT_H

#include "base/buf.h"
#include "base/slice.h"

struct tool;

/* ---- JSON ---- */

#define JSON_OUT_DEPTH 32

struct json_out {
    struct buf text;
    unsigned depth;
    bool has_member[JSON_OUT_DEPTH]; /* by depth: a comma comes first */
    bool is_named;                   /* a name was written, its value follows */
};

void json_out_init(struct json_out *j);
void json_out_fini(struct json_out *j);
void json_out_open(struct json_out *j, char bracket);
void json_out_close(struct json_out *j, char bracket);
void json_out_name(struct json_out *j, const char *name);
void json_out_text(struct json_out *j, struct slice s);
void json_out_i64(struct json_out *j, int64_t value);
/* With `digits` after the point; null when it is no finite number. */
void json_out_double(struct json_out *j, double value, int digits);
void json_out_bool(struct json_out *j, bool value);
void json_out_null(struct json_out *j);
/* JSON text as it is. */
void json_out_raw(struct json_out *j, struct slice json);
/* Prints it with the end of the line, flushes, forgets it. */
void json_out_print(struct json_out *j);

/* ---- text ---- */

/* Appends s; control bytes and what is no UTF-8 as \x1b. */
void text_clean(struct slice s, struct buf *out);
/* Prints and empties b. */
void text_print(struct buf *b);
/* Flushes standard output. When it has no reader any more (| head) the program ends, as others do.
 */
void output_flush(void);

/* ---- tables: rows of named cells ---- */

struct sheet {
    const char *const *names; /* borrowed, ended by NULL: names in JSON, heads in text */
    size_t columns;
    struct sheet_cell *cells; /* owned */
    size_t count, room;
    struct buf bytes; /* of the cells */
};

void sheet_init(struct sheet *s, const char *const *names);
void sheet_fini(struct sheet *s);
/* Cells come row by row, left to right. */
void sheet_text(struct sheet *s, struct slice text);
void sheet_i64(struct sheet *s, int64_t value);
void sheet_double(struct sheet *s, double value, int digits);
void sheet_bool(struct sheet *s, bool value);
void sheet_null(struct sheet *s);
/* Shown as text as it is; in JSON it is that JSON. */
void sheet_raw(struct sheet *s, struct slice json);
/* A table with heads, or an array of objects. */
void sheet_print(struct sheet *s, bool is_json);
/* Of the one row: `name  value` a line, or one object. */
void sheet_print_record(struct sheet *s, bool is_json);

/* ---- progress: one line that is written over, when standard error is a terminal ---- */

struct progress {
    bool is_shown, is_terminal;
    int64_t next_us; /* not before that */
};

void progress_init(struct progress *p, const struct tool *t);
/* Is it time to show something again? Ten times a second on a terminal, else once a second. */
bool progress_is_due(struct progress *p);
void progress_show(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Takes the line away. */
void progress_end(struct progress *p);
/* The same, before something else is written to standard error. */
void progress_clear(void);

#endif
