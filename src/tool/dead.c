/* dead: `tupledctl dlq`, the dead letters of queues. */
#include "base/clock.h"
#include "base/mem.h"
#include "tool/commands.h"
#include "tool/output.h"
#include "tool/wire_map.h"

#define DEAD_PAGE "500"
#define DEAD_WORDS_MAX 100000

const struct tool_option dead_options[] = {
    {"--where", 0, "FILTER", "list: only those whose value matches"},
    {"--count", 0, "N", "list: maximum number (default: 100; 0 = all)"},
    {"--all", 0, NULL, "requeue, delete: all of the queue"},
    {.name = NULL},
};

const struct tool_command dead_actions[] = {
    {.name = "list",
     .synopsis = "QUEUE",
     .summary = "list the dead letters of a queue, newest first",
     .words_min = 1,
     .words_max = 1,
     .run = dead_list_run},
    {.name = "show",
     .synopsis = "QUEUE ID",
     .summary = "show a dead letter",
     .words_min = 2,
     .words_max = 2,
     .run = dead_show_run},
    {.name = "requeue",
     .synopsis = "QUEUE ID...|--all",
     .summary = "enqueue dead letters again",
     .words_min = 1,
     .words_max = DEAD_WORDS_MAX,
     .run = dead_requeue_run},
    {.name = "delete",
     .synopsis = "QUEUE ID...|--all",
     .summary = "delete dead letters; asks for confirmation",
     .words_min = 1,
     .words_max = DEAD_WORDS_MAX,
     .run = dead_delete_run},
    {.name = NULL},
};

static const char *const dead_names[] = {"id", "attempts", "failed", "error", "value", NULL};

static bool dead_row(struct sheet *s, const redisReply *m)
{
    char text[CLOCK_UTC_BYTES];
    if (!wire_is_array(m, 5)) return false;
    sheet_text(s, wire_slice(m->element[0]));
    sheet_i64(s, m->element[2]->integer);
    clock_format_utc(m->element[4]->integer, text);
    sheet_text(s, slice_str(text));
    sheet_text(s, wire_slice(m->element[3]));
    sheet_raw(s, wire_slice(m->element[1]));
    return true;
}

/* A page; *cursor is where the next one begins, "0" at the end. */
static enum tool_status dead_page(const struct tool *t, struct wire *w, struct sheet *s,
                                  int64_t *left, struct buf *cursor)
{
    const char *where = tool_text(t, "--where");
    const char *words[] = {
        "KV.DLQ", "LIST", t->words[0], "COUNT", DEAD_PAGE, "CURSOR", (const char *)cursor->data,
        "WHERE",  where,  "FORMAT",    "JSON",  NULL};
    redisReply *page = NULL;
    if (where == NULL) {
        words[7] = "FORMAT";
        words[8] = "JSON";
        words[9] = NULL;
    }
    enum tool_status status = tool_ask(w, words, &page);
    if (status != TOOL_DONE) return status;
    if (!wire_is_array(page, 2) || !wire_is_array(page->element[1], 0)) {
        freeReplyObject(page);
        return tool_strange("KV.DLQ LIST");
    }
    const redisReply *rows = page->element[1];
    for (size_t i = 0; i<rows->elements && * left> 0; i++, (*left)--) {
        if (!dead_row(s, rows->element[i])) status = tool_strange("KV.DLQ LIST");
    }
    buf_clear(cursor, 4096);
    buf_append(cursor, page->element[0]->str, page->element[0]->len);
    buf_append_byte(cursor, '\0');
    buf_require(cursor);
    freeReplyObject(page);
    return status;
}

enum tool_status dead_list_run(struct tool *t)
{
    struct wire *w = NULL;
    struct sheet s;
    struct buf cursor;
    int64_t left = 100;
    enum tool_status status = tool_number(t, "--count", 0, INT64_MAX, &left);
    if (status != TOOL_DONE) return status;
    if (left == 0) left = INT64_MAX;
    sheet_init(&s, dead_names);
    buf_init(&cursor);
    buf_append(&cursor, "0", 2);
    buf_require(&cursor);
    status = tool_connect(t, &w);
    while (status == TOOL_DONE && left > 0) {
        status = dead_page(t, w, &s, &left, &cursor);
        if (strcmp((const char *)cursor.data, "0") == 0) break;
    }
    if (status == TOOL_DONE) sheet_print(&s, t->is_json);
    sheet_fini(&s);
    buf_fini(&cursor);
    wire_close(w);
    return status;
}

enum tool_status dead_show_run(struct tool *t)
{
    struct wire *w = NULL;
    redisReply *reply = NULL;
    struct sheet s;
    sheet_init(&s, dead_names);
    enum tool_status status = tool_connect(t, &w);
    if (status == TOOL_DONE) {
        status = tool_ask(
            w, TOOL_WORDS_OF("KV.DLQ", "GET", t->words[0], t->words[1], "FORMAT", "JSON"), &reply);
    }
    if (status == TOOL_DONE && reply->type == REDIS_REPLY_NIL) {
        status = tool_fail(TOOL_NO, "%s has no dead letter %s", t->words[0], t->words[1]);
    } else if (status == TOOL_DONE && !dead_row(&s, reply)) {
        status = tool_strange("KV.DLQ GET");
    } else if (status == TOOL_DONE) {
        sheet_print_record(&s, t->is_json);
    }
    if (reply != NULL) freeReplyObject(reply);
    sheet_fini(&s);
    wire_close(w);
    return status;
}

/* Ids, or --all: one of both. */
static enum tool_status dead_which(const struct tool *t)
{
    if (tool_has(t, "--all") == (t->word_count > 1)) {
        return tool_fail(TOOL_WORDS, "no dead letters given; give their ids, or --all");
    }
    return TOOL_DONE;
}

/* KV.DLQ <what> queue id ... */
static enum tool_status dead_named(const struct tool *t, const char *what, const char *name)
{
    const char **words = mem_new((t->word_count + 4) * sizeof *words);
    size_t count = 0;
    words[count++] = "KV.DLQ";
    words[count++] = what;
    for (size_t i = 0; i < t->word_count; i++) words[count++] = t->words[i];
    enum tool_status status = tool_count(t, name, words);
    mem_free(words);
    return status;
}

enum tool_status dead_requeue_run(struct tool *t)
{
    enum tool_status status = dead_which(t);
    if (status != TOOL_DONE) return status;
    if (t->word_count > 1) return dead_named(t, "REQUEUE", "requeued");
    return tool_count(t, "requeued", TOOL_WORDS_OF("KV.DLQ", "REQUEUE", t->words[0], "ALL"));
}

enum tool_status dead_delete_run(struct tool *t)
{
    enum tool_status status = dead_which(t);
    if (status == TOOL_DONE) {
        status = tool_confirm(t, "%s dead letters of %s will be deleted.",
                              t->word_count > 1 ? "These" : "All", t->words[0]);
    }
    if (status != TOOL_DONE) return status;
    if (t->word_count > 1) return dead_named(t, "DEL", "removed");
    return tool_count(t, "removed", TOOL_WORDS_OF("KV.DLQ", "PURGE", t->words[0]));
}
