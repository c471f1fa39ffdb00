/* check: `tupledctl check DIR`: what is wrong in the files of a data directory or an archive. It
 * needs no server, and changes nothing (offline/check.h).
 */
#include "offline/check.h"

#include <stdlib.h>

#include "tool/commands.h"
#include "tool/output.h"

const struct tool_option check_options[] = {
    {"--files", 0, NULL, "check only files and checksums; copies nothing"},
    {"--scratch", 0, "DIR", "directory for the temporary copy (default: TMPDIR, or beside DIR)"},
    {.name = NULL},
};

struct checking {
    const struct tool *tool;
    struct progress progress;
    struct json_out json;
    struct buf line;
};

static void check_found(void *arg, const struct check_line *l)
{
    struct checking *c = arg;
    const char *kind = l->kind == CHECK_DAMAGE ? "damage" : "note";
    if (c->tool->is_json) {
        json_out_open(&c->json, '{');
        json_out_name(&c->json, "kind");
        json_out_text(&c->json, slice_str(kind));
        json_out_name(&c->json, "part");
        json_out_text(&c->json, slice_str(l->part));
        json_out_name(&c->json, "place");
        json_out_text(&c->json, slice_str(l->place));
        json_out_name(&c->json, "text");
        json_out_text(&c->json, slice_str(l->text));
        json_out_close(&c->json, '}');
        return;
    }
    buf_clear(&c->line, SIZE_MAX);
    buf_printf(&c->line, "%s  %s: ", kind, l->part);
    text_clean(slice_str(l->place), &c->line);
    buf_printf(&c->line, ": ");
    text_clean(slice_str(l->text), &c->line);
    buf_append_byte(&c->line, '\n');
    progress_clear();
    text_print(&c->line);
    output_flush();
}

static void check_show_progress(void *arg, const char *part, uint64_t done, uint64_t total)
{
    struct checking *c = arg;
    if (total == 0 || !progress_is_due(&c->progress)) return;
    progress_show(&c->progress, "check: %s, %d %%", part, (int)(done * 100 / total));
}

static void check_figure(struct checking *c, const char *name, uint64_t value)
{
    json_out_name(&c->json, name);
    json_out_i64(&c->json, (int64_t)value);
}

static void check_figures(struct checking *c, const struct check *k)
{
    static const char *const names[] = {
        "pages",    "segments",      "transactions", "bases", "entries", "index-rows",
        "messages", "scratch-bytes", "damaged",      "notes", NULL};
    const uint64_t values[] = {k->pages,      k->segments, k->transactions,  k->bases,   k->entries,
                               k->index_rows, k->messages, k->scratch_bytes, k->damaged, k->notes};
    struct sheet s;
    if (c->tool->is_json) {
        json_out_close(&c->json, ']');
        for (size_t i = 0; names[i] != NULL; i++) check_figure(c, names[i], values[i]);
        json_out_close(&c->json, '}');
        json_out_print(&c->json);
        return;
    }
    sheet_init(&s, names);
    for (size_t i = 0; names[i] != NULL; i++) sheet_i64(&s, (int64_t)values[i]);
    sheet_print_record(&s, false);
    sheet_fini(&s);
}

enum tool_status check_command_run(struct tool *t)
{
    struct checking c = {.tool = t};
    struct check k = {.dir = t->words[0],
                      .found = check_found,
                      .progress = check_show_progress,
                      .arg = &c,
                      .files_only = tool_has(t, "--files"),
                      .scratch = tool_text(t, "--scratch")};
    struct error e = {.text = ""};
    enum tool_status status = TOOL_DONE;
    if (k.scratch == NULL) k.scratch = getenv("TMPDIR");
    if (k.scratch != NULL && k.scratch[0] == '\0') k.scratch = NULL;
    progress_init(&c.progress, t);
    json_out_init(&c.json);
    buf_init(&c.line);
    json_out_open(&c.json, '{');
    json_out_name(&c.json, "found");
    json_out_open(&c.json, '[');
    enum err r = check_run(&k, &e);
    progress_end(&c.progress);
    if (r != OK) {
        status = tool_fail(r == ERR_SYNTAX ? TOOL_WORDS : TOOL_BROKEN, "%s", e.text);
    } else {
        check_figures(&c, &k);
    }
    json_out_fini(&c.json);
    buf_fini(&c.line);
    if (r == OK && k.damaged > 0) {
        status = tool_fail(TOOL_NO, "%s is damaged; docs/durability.md explains what to do", k.dir);
    }
    return status;
}
