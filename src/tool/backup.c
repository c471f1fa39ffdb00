/* backup: `tupledctl backup`. The file is made by the server, on its machine, in its backup-dir. */
#include "base/clock.h"
#include "tool/commands.h"
#include "tool/info.h"
#include "tool/output.h"

#define BACKUP_LOOK_MS 100

const struct tool_option backup_options[] = {
    {"--wait", 'w', NULL, "wait until the backup is complete, and print its name"},
    {.name = NULL},
};

struct backup_state {
    bool is_running, is_good;
    int64_t running_s, took_s, count;
    struct slice file, version, error; /* in `reply` */
    redisReply *reply;                 /* owned */
};

static enum tool_status backup_look(struct wire *w, struct backup_state *k)
{
    struct slice status = slice_of("", 0);
    if (k->reply != NULL) freeReplyObject(k->reply);
    *k = (struct backup_state){.reply = NULL};
    enum tool_status s = tool_ask(w, TOOL_WORDS_OF("INFO", "persistence"), &k->reply);
    if (s != TOOL_DONE) return s;
    struct slice text = wire_slice(k->reply);
    if (!info_text(text, "backup_file", &k->file) ||
        !info_text(text, "rdb_last_bgsave_status", &status)) {
        return tool_strange("INFO persistence");
    }
    info_text(text, "backup_last_version", &k->version);
    info_text(text, "backup_last_error", &k->error);
    k->is_running = info_i64(text, "rdb_bgsave_in_progress") != 0;
    k->is_good = slice_eq(status, slice_str("ok"));
    k->running_s = info_i64(text, "rdb_current_bgsave_time_sec");
    k->took_s = info_i64(text, "rdb_last_bgsave_time_sec");
    k->count = info_i64(text, "rdb_saves");
    return TOOL_DONE;
}

static enum tool_status backup_show(const struct tool *t, const struct backup_state *k,
                                    bool has_ended)
{
    static const char *const names[] = {"file", "state", "version", "seconds", NULL};
    struct sheet s;
    sheet_init(&s, names);
    sheet_text(&s, k->file);
    sheet_text(&s, slice_str(has_ended ? "done" : "running"));
    if (has_ended) {
        sheet_text(&s, k->version);
        sheet_i64(&s, k->took_s);
    } else {
        sheet_null(&s);
        sheet_null(&s);
    }
    sheet_print_record(&s, t->is_json);
    sheet_fini(&s);
    return TOOL_DONE;
}

static enum tool_status backup_wait(const struct tool *t, struct wire *w, struct backup_state *k)
{
    struct progress p;
    enum tool_status status = TOOL_DONE;
    progress_init(&p, t);
    while (status == TOOL_DONE && k->is_running) {
        if (progress_is_due(&p)) {
            progress_show(&p, "backup: %.*s, %lld s", (int)k->file.len, (const char *)k->file.data,
                          (long long)k->running_s);
        }
        status = tool_pause(w, BACKUP_LOOK_MS);
        if (status == TOOL_DONE) status = backup_look(w, k);
    }
    progress_end(&p);
    return status;
}

enum tool_status backup_run(struct tool *t)
{
    struct wire *w = NULL;
    redisReply *reply = NULL;
    struct backup_state k = {.reply = NULL};
    enum tool_status status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = tool_ask(w, TOOL_WORDS_OF("BGSAVE"), &reply);
    if (reply != NULL) freeReplyObject(reply);
    if (status == TOOL_DONE) status = backup_look(w, &k);
    if (status == TOOL_DONE && tool_has(t, "--wait")) {
        status = backup_wait(t, w, &k);
        if (status == TOOL_DONE && !k.is_good) {
            status = tool_fail(TOOL_NO, "backup failed: %.*s", (int)k.error.len,
                               (const char *)k.error.data);
        }
        if (status == TOOL_DONE) status = backup_show(t, &k, true);
    } else if (status == TOOL_DONE) {
        status = backup_show(t, &k, false);
    }
    if (k.reply != NULL) freeReplyObject(k.reply);
    wire_close(w);
    return status;
}
