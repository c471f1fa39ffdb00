/* import_state: the lines must come in their order; a file that is of another input or target is
 * refused. */
#include "tool/import_state.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"

#define STATE_FORMAT "tupled-import 1"
#define STATE_BYTES_MAX 16384

/* Takes the next line, which must begin with the word; its rest into `out`. */
static bool state_line(struct slice *rest, const char *word, char *out, size_t cap)
{
    const uint8_t *end = rest->len == 0 ? NULL : memchr(rest->data, '\n', rest->len);
    if (end == NULL) return false;
    struct slice line = slice_of(rest->data, (size_t)(end - rest->data));
    *rest = slice_of(end + 1, rest->len - line.len - 1);
    size_t skip = strlen(word) + 1;
    if (!slice_has_prefix(line, slice_str(word)) || line.len < skip) return false;
    if (line.len - skip >= cap || line.data[skip - 1] != ' ') return false;
    memcpy(out, line.data + skip, line.len - skip);
    out[line.len - skip] = '\0';
    return true;
}

static bool state_number(struct slice *rest, const char *word, uint64_t *out)
{
    char text[32];
    return state_line(rest, word, text, sizeof text) && slice_to_u64(slice_str(text), out);
}

static bool state_parse(struct slice text, struct import_state *st)
{
    struct slice rest = text;
    char format[8];
    return state_line(&rest, "tupled-import", format, sizeof format) && strcmp(format, "1") == 0 &&
           state_line(&rest, "input", st->input, sizeof st->input) &&
           state_line(&rest, "target", st->target, sizeof st->target) &&
           state_line(&rest, "database", st->database, sizeof st->database) &&
           state_line(&rest, "place", st->place, sizeof st->place) &&
           state_number(&rest, "records", &st->records) &&
           state_number(&rest, "map", &st->map_bytes);
}

enum tool_status import_state_read(struct import_state *st, bool *found)
{
    struct import_state old = *st;
    struct buf text;
    struct error e;
    *found = false;
    if (st->path == NULL || !file_exists(st->path)) return TOOL_DONE;
    buf_init(&text);
    enum err r = file_read_all(st->path, &text, STATE_BYTES_MAX, &e);
    bool is_good = r == OK && state_parse(buf_slice(&text), &old);
    buf_fini(&text);
    if (r != OK) return tool_fail(TOOL_NO, "%s", e.text);
    if (!is_good) {
        return tool_fail(TOOL_NO,
                         "%s does not contain the progress of an import; --restart starts from "
                         "the beginning",
                         st->path);
    }
    if (strcmp(old.input, st->input) != 0) {
        return tool_fail(TOOL_NO,
                         "%s belongs to another input: %s instead of %s. --restart starts from "
                         "the beginning",
                         st->path, old.input, st->input);
    }
    if (strcmp(old.target, st->target) != 0) {
        return tool_fail(TOOL_NO,
                         "%s belongs to an import to %s, not to %s; --restart starts from the "
                         "beginning",
                         st->path, old.target, st->target);
    }
    *st = old;
    *found = true;
    return TOOL_DONE;
}

enum tool_status import_state_save(struct import_state *st)
{
    struct buf text;
    struct error e;
    if (st->path == NULL) return TOOL_DONE;
    buf_init(&text);
    buf_printf(&text, "%s\ninput %s\ntarget %s\ndatabase %s\nplace %s\nrecords %llu\nmap %llu\n",
               STATE_FORMAT, st->input, st->target, st->database, st->place,
               (unsigned long long)st->records, (unsigned long long)st->map_bytes);
    buf_require(&text);
    enum err r = file_write_all(st->path, buf_slice(&text), &e);
    buf_fini(&text);
    st->saved_us = clock_mono_us();
    return r == OK ? TOOL_DONE : tool_fail(TOOL_NO, "%s", e.text);
}

void import_state_remove(const struct import_state *st)
{
    struct error e;
    if (st->path == NULL || !file_exists(st->path)) return;
    if (file_remove(st->path, &e) != OK) tool_fail(TOOL_NO, "%s", e.text);
}
