/* tool: what subcommands say when something is wrong, and the ways in which most of them ask the
 * server and show the reply. The command line is words.c's. */
#include "tool/tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tool/output.h"
#include "tool/wire_map.h"

#define TOOL_TEXT_BYTES 2048

/* One line on standard error, in which nothing moves a terminal's cursor. */
__attribute__((format(printf, 2, 0))) static void tool_say(const char *before, const char *format,
                                                           va_list args)
{
    char text[TOOL_TEXT_BYTES];
    fflush(stdout);
    progress_clear();
    vsnprintf(text, sizeof text, format, args);
    for (char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ' || *p == 127) *p = ' ';
    }
    fprintf(stderr, "tupledctl: %s%s\n", before, text);
}

enum tool_status tool_fail(enum tool_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tool_say("", format, args);
    va_end(args);
    return status;
}

void tool_warn(const struct tool *t, const char *format, ...)
{
    va_list args;
    if (t->is_quiet) return;
    va_start(args, format);
    tool_say("warning: ", format, args);
    va_end(args);
}

enum tool_status tool_refused(const redisReply *reply)
{
    return tool_fail(TOOL_NO, "%s", reply->str);
}

enum tool_status tool_strange(const char *command)
{
    return tool_fail(TOOL_NO,
                     "unexpected form of the reply to %s; does the version of the server differ "
                     "from tupledctl --version?",
                     command);
}

enum tool_status tool_connect(const struct tool *t, struct wire **out)
{
    char why[WIRE_WHY_BYTES];
    enum tool_status status = wire_open(&t->server, out, why);
    return status == TOOL_DONE ? status : tool_fail(status, "%s", why);
}

enum tool_status tool_ask(struct wire *w, const char *const *words, redisReply **reply)
{
    enum tool_status status = wire_call(w, words, reply);
    if (status == TOOL_BROKEN) return tool_fail(status, "%s", wire_why(w));
    if (status != TOOL_NO) return status;
    tool_refused(*reply);
    freeReplyObject(*reply);
    *reply = NULL;
    return status;
}

enum tool_status tool_confirm(const struct tool *t, const char *format, ...)
{
    char question[TOOL_TEXT_BYTES];
    char answer[16] = "";
    va_list args;
    if (tool_has(t, "--yes")) return TOOL_DONE;
    va_start(args, format);
    vsnprintf(question, sizeof question, format, args);
    va_end(args);
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        return tool_fail(TOOL_WORDS, "%s There is no terminal for a confirmation; use --yes",
                         question);
    }
    fprintf(stderr, "%s [y/N] ", question);
    if (fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y')) {
        return TOOL_DONE;
    }
    return tool_fail(TOOL_NO, "nothing was done");
}

/* A pause in which a connection that breaks is noticed. */
enum tool_status tool_pause(struct wire *w, int64_t ms)
{
    redisReply *r = NULL;
    enum wire_event event = wire_next(w, clock_mono_us() + ms * 1000, &r);
    if (event == WIRE_NOTHING) return TOOL_DONE;
    if (r != NULL) freeReplyObject(r);
    return tool_fail(TOOL_BROKEN, "%s",
                     event == WIRE_GONE ? wire_why(w) : "received an unexpected message");
}

/* One command, whose reply means that it is done. */
enum tool_status tool_do(const struct tool *t, const char *const *words)
{
    struct wire *w = NULL;
    redisReply *reply = NULL;
    enum tool_status status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = tool_ask(w, words, &reply);
    if (reply != NULL) freeReplyObject(reply);
    wire_close(w);
    return status;
}

/* One command, whose reply is shown name by name. */
enum tool_status tool_show(const struct tool *t, const char *const *words)
{
    struct wire *w = NULL;
    redisReply *reply = NULL;
    enum tool_status status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = tool_ask(w, words, &reply);
    if (status == TOOL_DONE && !wire_is_array(reply, 0)) status = tool_strange(words[0]);
    if (status == TOOL_DONE) wire_map_print(t, reply);
    if (reply != NULL) freeReplyObject(reply);
    wire_close(w);
    return status;
}

/* One command whose reply is a number. */
enum tool_status tool_count(const struct tool *t, const char *name, const char *const *words)
{
    const char *const names[] = {name, NULL};
    struct wire *w = NULL;
    redisReply *reply = NULL;
    struct sheet s;
    sheet_init(&s, names);
    enum tool_status status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = tool_ask(w, words, &reply);
    if (status == TOOL_DONE) {
        wire_map_cell(&s, reply);
        sheet_print_record(&s, t->is_json);
    }
    if (reply != NULL) freeReplyObject(reply);
    sheet_fini(&s);
    wire_close(w);
    return status;
}
