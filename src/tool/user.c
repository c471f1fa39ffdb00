/* user: `tupledctl user`, who may do what. A password never stands in the command line, where
 * others see it in the list of processes.
 */
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "tool/commands.h"
#include "tool/output.h"
#include "tool/wire_map.h"

#define USER_PASSWORD_BYTES_MAX 16384

const struct tool_option user_options[] = {
    {"--new-password-file", 0, "FILE",
     "add, password: file with the password in its first line; - is standard input"},
    {"--no-password", 0, NULL, "add: no password; log in with a certificate only"},
    {"--save", 0, NULL, "make the change permanent with ACL SAVE, or CONFIG REWRITE"},
    {.name = NULL},
};

const struct tool_command user_actions[] = {
    {.name = "list",
     .synopsis = "",
     .summary = "list the users and their rules",
     .run = user_list_run},
    {.name = "show",
     .synopsis = "NAME",
     .summary = "show the rights of a user",
     .words_min = 1,
     .words_max = 1,
     .run = user_show_run},
    {.name = "add",
     .synopsis = "NAME [RULE...]",
     .summary = "create a user with a password and rules (docs/users.md)",
     .words_min = 1,
     .words_max = 1000,
     .run = user_add_run},
    {.name = "rules",
     .synopsis = "NAME RULE...",
     .summary = "add rules to a user",
     .words_min = 2,
     .words_max = 1000,
     .run = user_rules_run},
    {.name = "password",
     .synopsis = "NAME",
     .summary = "replace all passwords of a user",
     .words_min = 1,
     .words_max = 1,
     .run = user_password_run},
    {.name = "delete",
     .synopsis = "NAME...",
     .summary = "delete users and close their connections; asks for confirmation",
     .words_min = 1,
     .words_max = 1000,
     .run = user_delete_run},
    {.name = "may",
     .synopsis = "NAME COMMAND...",
     .summary = "test whether a user may run a command, without running it",
     .words_min = 2,
     .words_max = 1000,
     .run = user_may_run},
    {.name = "whoami",
     .synopsis = "",
     .summary = "show the user of this connection",
     .run = user_whoami_run},
    {.name = NULL},
};

/* ---- looking --------------------------------------------------------------------------------- */

/* A line of ACL LIST is `user <name> <rules>`. */
enum tool_status user_list_run(struct tool *t)
{
    static const char *const names[] = {"user", "rules", NULL};
    struct wire *w = NULL;
    redisReply *list = NULL;
    struct sheet s;
    sheet_init(&s, names);
    enum tool_status status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = tool_ask(w, TOOL_WORDS_OF("ACL", "LIST"), &list);
    for (size_t i = 0; status == TOOL_DONE && i < list->elements; i++) {
        struct slice line = wire_slice(list->element[i]);
        if (!slice_has_prefix(line, slice_str("user "))) {
            status = tool_strange("ACL LIST");
            break;
        }
        line = slice_of(line.data + 5, line.len - 5);
        const uint8_t *blank = memchr(line.data, ' ', line.len);
        size_t len = blank == NULL ? line.len : (size_t)(blank - line.data);
        sheet_text(&s, slice_of(line.data, len));
        sheet_text(&s, blank == NULL ? slice_of("", 0) : slice_of(blank + 1, line.len - len - 1));
    }
    if (status == TOOL_DONE) sheet_print(&s, t->is_json);
    if (list != NULL) freeReplyObject(list);
    sheet_fini(&s);
    wire_close(w);
    return status;
}

static enum tool_status user_is_there(struct wire *w, const char *name, redisReply **reply)
{
    enum tool_status status = tool_ask(w, TOOL_WORDS_OF("ACL", "GETUSER", name), reply);
    if (status != TOOL_DONE || (*reply)->type != REDIS_REPLY_NIL) return status;
    return tool_fail(TOOL_NO, "the user %s does not exist", name);
}

enum tool_status user_show_run(struct tool *t)
{
    struct wire *w = NULL;
    redisReply *reply = NULL;
    enum tool_status status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = user_is_there(w, t->words[0], &reply);
    if (status == TOOL_DONE && !wire_is_array(reply, 0)) status = tool_strange("ACL GETUSER");
    if (status == TOOL_DONE) wire_map_print(t, reply);
    if (reply != NULL) freeReplyObject(reply);
    wire_close(w);
    return status;
}

enum tool_status user_whoami_run(struct tool *t)
{
    return tool_count(t, "user", TOOL_WORDS_OF("ACL", "WHOAMI"));
}

enum tool_status user_may_run(struct tool *t)
{
    const char **words = mem_new((t->word_count + 3) * sizeof *words);
    struct wire *w = NULL;
    redisReply *reply = NULL;
    words[0] = "ACL";
    words[1] = "DRYRUN";
    for (size_t i = 0; i < t->word_count; i++) words[i + 2] = t->words[i];
    enum tool_status status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = tool_ask(w, words, &reply);
    if (status == TOOL_DONE && !slice_eq(wire_slice(reply), slice_str("OK"))) {
        status = tool_fail(TOOL_NO, "%s", reply->str);
    }
    if (reply != NULL) freeReplyObject(reply);
    wire_close(w);
    mem_free(words);
    return status;
}

/* ---- passwords ------------------------------------------------------------------------------- */

/* A line from the terminal that is not shown, or from standard input. */
static bool user_read_line(const char *prompt, struct buf *out)
{
    char line[USER_PASSWORD_BYTES_MAX];
    struct termios before = {.c_lflag = 0};
    bool is_terminal = isatty(STDIN_FILENO) != 0 && tcgetattr(STDIN_FILENO, &before) == 0;
    if (is_terminal) {
        struct termios silent = before;
        silent.c_lflag &= ~(tcflag_t)ECHO;
        fputs(prompt, stderr);
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
    }
    bool is_read = fgets(line, sizeof line, stdin) != NULL;
    if (is_terminal) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        fputc('\n', stderr);
    }
    if (is_read) buf_append(out, line, strcspn(line, "\r\n"));
    memset(line, 0, sizeof line);
    return is_read;
}

static enum tool_status user_twice(struct buf *out)
{
    struct buf again;
    buf_init(&again);
    bool is_same = user_read_line("New password: ", out);
    if (is_same && isatty(STDIN_FILENO) != 0) {
        is_same = user_read_line("Repeat: ", &again) && slice_eq(buf_slice(out), buf_slice(&again));
    }
    buf_fini(&again);
    return is_same ? TOOL_DONE : tool_fail(TOOL_WORDS, "no password given, or the two differ");
}

/* The rule that sets it, ">secret", in `out`. */
static enum tool_status user_password(const struct tool *t, struct buf *out)
{
    const char *path = tool_text(t, "--new-password-file");
    enum tool_status status = TOOL_DONE;
    struct buf text;
    struct error e;
    buf_init(&text);
    if (path != NULL && strcmp(path, "-") != 0) {
        if (file_read_all(path, &text, USER_PASSWORD_BYTES_MAX, &e) != OK) {
            status = tool_fail(TOOL_WORDS, "--new-password-file: %s", e.text);
        }
    } else if (path == NULL && isatty(STDIN_FILENO) == 0) {
        status = tool_fail(TOOL_WORDS, "no terminal to read a password from; give "
                                       "--new-password-file FILE, or - for standard input");
    } else {
        status = user_twice(&text);
    }
    buf_append_byte(&text, '\0');
    buf_require(&text);
    size_t len = strcspn((const char *)text.data, "\r\n");
    if (status == TOOL_DONE && len == 0) status = tool_fail(TOOL_WORDS, "the password is empty");
    buf_append_byte(out, '>');
    buf_append(out, text.data, len);
    buf_append_byte(out, '\0');
    buf_require(out);
    memset(text.data, 0, text.len);
    buf_fini(&text);
    return status;
}

/* ---- changing -------------------------------------------------------------------------------- */

/* What would put a password into the list of processes. */
static enum tool_status user_rules_check(const struct tool *t)
{
    for (size_t i = 1; i < t->word_count; i++) {
        if (t->words[i][0] != '>' && t->words[i][0] != '<') continue;
        return tool_fail(TOOL_WORDS,
                         "a password on the command line is visible to others; use `tupledctl "
                         "user password` or --new-password-file");
    }
    return TOOL_DONE;
}

/* In PostgreSQL: then they stay without more ado. */
static enum tool_status users_are_kept(struct wire *w, bool *out)
{
    redisReply *reply = NULL;
    enum tool_status status = tool_ask(w, TOOL_WORDS_OF("CONFIG", "GET", "backend"), &reply);
    if (status != TOOL_DONE) return status;
    *out = wire_is_array(reply, 2) && strcmp(reply->element[1]->str, "postgresql") == 0;
    freeReplyObject(reply);
    return TOOL_DONE;
}

/* Without an aclfile users are lines of the configuration. */
static enum tool_status user_save(const struct tool *t, struct wire *w)
{
    redisReply *reply = NULL;
    bool is_kept = false;
    (void)users_are_kept(w, &is_kept); /* who may not ask is told what holds for one machine */
    if (is_kept) return TOOL_DONE;
    if (!tool_has(t, "--save")) {
        tool_warn(t, "the change is lost when the server restarts; --save makes it permanent");
        return TOOL_DONE;
    }
    enum tool_status status = tool_ask(w, TOOL_WORDS_OF("CONFIG", "GET", "aclfile"), &reply);
    if (status != TOOL_DONE) return status;
    bool has_file = wire_is_array(reply, 2) && reply->element[1]->len > 0;
    freeReplyObject(reply);
    reply = NULL;
    status = tool_ask(
        w, has_file ? TOOL_WORDS_OF("ACL", "SAVE") : TOOL_WORDS_OF("CONFIG", "REWRITE"), &reply);
    if (reply != NULL) freeReplyObject(reply);
    if (status == TOOL_NO)
        tool_fail(status, "the change was made, but could not be made permanent");
    return status;
}

/* ACL SETUSER name before... rules... password */
static enum tool_status user_set(const struct tool *t, struct wire *w, const char *before,
                                 const char *password)
{
    const char **words = mem_new((t->word_count + 8) * sizeof *words);
    redisReply *reply = NULL;
    size_t count = 0;
    words[count++] = "ACL";
    words[count++] = "SETUSER";
    words[count++] = t->words[0];
    if (before != NULL) words[count++] = before;
    for (size_t i = 1; i < t->word_count; i++) words[count++] = t->words[i];
    if (password != NULL) words[count++] = password;
    enum tool_status status = tool_ask(w, words, &reply);
    if (reply != NULL) freeReplyObject(reply);
    mem_free(words);
    return status == TOOL_DONE ? user_save(t, w) : status;
}

/* A new user is `on`, unless the rules say otherwise. */
enum tool_status user_add_run(struct tool *t)
{
    struct wire *w = NULL;
    redisReply *reply = NULL;
    struct buf password;
    buf_init(&password);
    enum tool_status status = user_rules_check(t);
    if (status == TOOL_DONE) status = tool_connect(t, &w);
    if (status == TOOL_DONE) {
        status = tool_ask(w, TOOL_WORDS_OF("ACL", "GETUSER", t->words[0]), &reply);
    }
    if (status == TOOL_DONE && reply->type != REDIS_REPLY_NIL) {
        status = tool_fail(TOOL_NO,
                           "the user %s exists; change its rights with `tupledctl user rules`",
                           t->words[0]);
    }
    bool has_password = !tool_has(t, "--no-password");
    if (status == TOOL_DONE && has_password) status = user_password(t, &password);
    if (status == TOOL_DONE) {
        status = user_set(t, w, "on", has_password ? (const char *)password.data : NULL);
    }
    if (reply != NULL) freeReplyObject(reply);
    if (password.data != NULL) memset(password.data, 0, password.len);
    buf_fini(&password);
    wire_close(w);
    return status;
}

enum tool_status user_rules_run(struct tool *t)
{
    struct wire *w = NULL;
    redisReply *reply = NULL;
    enum tool_status status = user_rules_check(t);
    if (status == TOOL_DONE) status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = user_is_there(w, t->words[0], &reply);
    if (status == TOOL_DONE) status = user_set(t, w, NULL, NULL);
    if (reply != NULL) freeReplyObject(reply);
    wire_close(w);
    return status;
}

enum tool_status user_password_run(struct tool *t)
{
    struct wire *w = NULL;
    redisReply *reply = NULL;
    struct buf password;
    buf_init(&password);
    enum tool_status status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = user_is_there(w, t->words[0], &reply);
    if (status == TOOL_DONE) status = user_password(t, &password);
    if (status == TOOL_DONE) status = user_set(t, w, "resetpass", (const char *)password.data);
    if (reply != NULL) freeReplyObject(reply);
    if (password.data != NULL) memset(password.data, 0, password.len);
    buf_fini(&password);
    wire_close(w);
    return status;
}

enum tool_status user_delete_run(struct tool *t)
{
    const char **words = mem_new((t->word_count + 3) * sizeof *words);
    struct wire *w = NULL;
    redisReply *reply = NULL;
    words[0] = "ACL";
    words[1] = "DELUSER";
    for (size_t i = 0; i < t->word_count; i++) words[i + 2] = t->words[i];
    enum tool_status status = tool_confirm(t,
                                           "%zu user%s will be deleted, and their connections "
                                           "closed.",
                                           t->word_count, t->word_count == 1 ? "" : "s");
    if (status == TOOL_DONE) status = tool_connect(t, &w);
    if (status == TOOL_DONE) status = tool_ask(w, words, &reply);
    if (status == TOOL_DONE && (size_t)reply->integer < t->word_count) {
        status = tool_fail(TOOL_NO, "%lld of %zu users existed", reply->integer, t->word_count);
    }
    if (status == TOOL_DONE) status = user_save(t, w);
    if (reply != NULL) freeReplyObject(reply);
    wire_close(w);
    mem_free(words);
    return status;
}
