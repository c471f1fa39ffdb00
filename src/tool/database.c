/* database: `tupledctl db`. */
#include "tool/commands.h"
#include "tool/output.h"
#include "tool/wire_map.h"

#define DATABASE_WORDS 16

const struct tool_option database_options[] = {
    {"--max-bytes", 0, "SIZE", "limit: size of keys and values, such as 1gb; 0 = none"},
    {"--max-entries", 0, "N", "limit: entries; 0 = none"},
    {"--rate", 0, "N", "limit: commands per second; 0 = none"},
    {"--backup", 0, "YES|NO", "whether base backups of the archive include it"},
    {"--keep", 0, "N", "least number of base backups to keep"},
    {"--comment", 0, "TEXT", "comment"},
    {.name = NULL},
};

const struct tool_command database_actions[] = {
    {.name = "list",
     .synopsis = "",
     .summary = "list the databases with their size and limits",
     .run = database_list_run},
    {.name = "info",
     .synopsis = "NAME",
     .summary = "show everything about a database",
     .words_min = 1,
     .words_max = 1,
     .run = database_info_run},
    {.name = "create",
     .synopsis = "NAME",
     .summary = "create a database, with limits and a comment",
     .words_min = 1,
     .words_max = 1,
     .run = database_create_run},
    {.name = "limit",
     .synopsis = "NAME",
     .summary = "change limits and comment; others do not change",
     .words_min = 1,
     .words_max = 1,
     .run = database_create_run},
    {.name = "rename",
     .synopsis = "NAME NEW",
     .summary = "rename a database; its number does not change",
     .words_min = 2,
     .words_max = 2,
     .run = database_rename_run},
    {.name = "drop",
     .synopsis = "NAME",
     .summary = "delete a database and all its data; asks for confirmation",
     .words_min = 1,
     .words_max = 1,
     .run = database_drop_run},
    {.name = NULL},
};

/* Of each database, asked for together. One that is dropped meanwhile is left out. */
static enum tool_status database_rows(struct wire *w, const redisReply *list, struct sheet *s)
{
    static const char *const names[] = {"number",  "name",      "entries",     "bytes", "queues",
                                        "indexes", "max-bytes", "max-entries", "rate",  "comment"};
    redisReply *info = NULL;
    for (size_t i = 0; i < list->elements; i++) {
        const redisReply *row = list->element[i];
        if (!wire_is_array(row, 2) || row->element[1]->str == NULL)
            return tool_strange("KV.DB LIST");
        wire_append_text(w, TOOL_WORDS_OF("KV.DB", "INFO", row->element[1]->str));
    }
    for (size_t i = 0; i < list->elements; i++) {
        if (wire_next(w, -1, &info) != WIRE_REPLY) return tool_fail(TOOL_BROKEN, "%s", wire_why(w));
        bool is_gone = wire_is(info, REDIS_REPLY_ERROR) &&
                       slice_has_prefix(wire_slice(info), slice_str("NODB"));
        if (info->type == REDIS_REPLY_ERROR && !is_gone) {
            enum tool_status status = tool_refused(info);
            freeReplyObject(info);
            return status;
        }
        for (size_t k = 0; !is_gone && k < sizeof names / sizeof names[0]; k++) {
            const redisReply *value = wire_map_find(info, names[k]);
            if (value != NULL) {
                wire_map_cell(s, value);
            } else {
                sheet_null(s);
            }
        }
        freeReplyObject(info);
    }
    return TOOL_DONE;
}

enum tool_status database_list_run(struct tool *t)
{
    static const char *const names[] = {"number", "name",    "entries",   "bytes",
                                        "queues", "indexes", "max_bytes", "max_entries",
                                        "rate",   "comment", NULL};
    struct wire *w = NULL;
    redisReply *list = NULL;
    struct sheet s;
    sheet_init(&s, names);
    enum tool_status status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = tool_ask(w, TOOL_WORDS_OF("KV.DB", "LIST"), &list);
    if (status == TOOL_DONE && !wire_is_array(list, 0)) status = tool_strange("KV.DB LIST");
    if (status == TOOL_DONE) status = database_rows(w, list, &s);
    if (status == TOOL_DONE) sheet_print(&s, t->is_json);
    if (list != NULL) freeReplyObject(list);
    sheet_fini(&s);
    wire_close(w);
    return status;
}

enum tool_status database_info_run(struct tool *t)
{
    return tool_show(t, TOOL_WORDS_OF("KV.DB", "INFO", t->words[0]));
}

/* create and limit: the options, as the server calls them. */
enum tool_status database_create_run(struct tool *t)
{
    static const char *const options[][2] = {
        {"--max-entries", "MAXENTRIES"}, {"--rate", "RATE"},     {"--keep", "KEEP"},
        {"--max-bytes", "MAXBYTES"},     {"--backup", "BACKUP"}, {"--comment", "COMMENT"}};
    const char *words[DATABASE_WORDS] = {"KV.DB", "CREATE", t->words[0]};
    bool is_limit = strcmp(t->action->name, "limit") == 0;
    size_t count = 3;
    if (is_limit) words[1] = "LIMIT";
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        int64_t number = 0;
        if (!tool_has(t, options[i][0])) continue;
        words[count++] = options[i][1];
        words[count++] = tool_text(t, options[i][0]);
        bool is_number = i < 3; /* what the others may be is said by the server */
        if (!is_number) continue;
        enum tool_status status = tool_number(t, options[i][0], 0, INT64_MAX, &number);
        if (status != TOOL_DONE) return status;
    }
    if (is_limit && count == 3) {
        return tool_fail(TOOL_WORDS,
                         "nothing to change; give --max-bytes, --max-entries, --rate, --backup, "
                         "--keep or --comment");
    }
    return tool_do(t, words);
}

enum tool_status database_rename_run(struct tool *t)
{
    return tool_do(t, TOOL_WORDS_OF("KV.DB", "RENAME", t->words[0], t->words[1]));
}

enum tool_status database_drop_run(struct tool *t)
{
    enum tool_status status = tool_confirm(t, "The database %s and all its data will be deleted.",
                                           t->words[0]);
    if (status != TOOL_DONE) return status;
    return tool_do(t, TOOL_WORDS_OF("KV.DB", "DROP", t->words[0]));
}
