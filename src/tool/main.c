/* main: `tupledctl [option ...] <what> [word ...]`. The table below is all it can do. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "tool/commands.h"
#include "tool/tool.h"
#include "tupled.h"

#define MAIN_PASSWORD_BYTES_MAX 65536

static const struct tool_command main_table[] = {
    {.name = "ping",
     .synopsis = "",
     .summary = "Is the server there, and is it well",
     .help = "Exit status 0 only when the server answers and says that its health is ok.\n",
     .run = ping_run},
    {.name = "backup",
     .synopsis = "",
     .summary = "Make a backup, on the server's machine",
     .help = "One file in the server's backup-dir with one moment of all databases\n"
             "(docs/durability.md).\n",
     .options = backup_options,
     .run = backup_run},
    {.name = "verify",
     .synopsis = "",
     .summary = "Read all that is stored, and say what is damaged",
     .help = "Others are served meanwhile. It goes on in the server when tupledctl is stopped.\n"
             "Exit status 1: something is damaged.\n",
     .options = verify_options,
     .run = verify_run},
    {.name = "check",
     .synopsis = "DIR",
     .summary = "Look at a data directory or an archive, and say what is damaged",
     .help =
         "No server is asked, none may have DIR open, and nothing is changed. Checksums of all\n"
         "pages, the journal, the files of an archive; then what is in a data directory's pages:\n"
         "entries, indexes, queues and counts, in a copy that is removed at the end.\n"
         "Exit status 1: something is damaged; 3: it could not be looked at.\n",
     .options = check_options,
     .words_min = 1,
     .words_max = 1,
     .run = check_command_run},
    {.name = "restore",
     .synopsis = "--from ARCHIVE --to DIR",
     .summary = "Make a data directory as it was at a commit, out of an archive",
     .help = "No server is asked. Start one with `dir` set to DIR afterwards. It is a timeline of\n"
             "its own: its versionstamps are above all that were ever given (docs/archive.md).\n"
             "Without --version and --time: all that the archive has.\n",
     .options = restore_options,
     .run = restore_command_run},
    {.name = "export",
     .synopsis = "",
     .summary = "Write what a database has, as one state, for import",
     .help = "To standard output, or to FILE. See docs/export.md for what it looks like.\n",
     .options = export_options,
     .run = export_run},
    {.name = "import",
     .synopsis = "FILE|-|URL",
     .summary = "Load what export wrote, or what other systems have",
     .help =
         "The same call goes on where an earlier one was stopped. redis://host is a live Redis or\n"
         "Valkey; with --follow what changes there is loaded too, until Ctrl-C. See\n"
         "docs/export.md.\n",
     .options = import_options,
     .words_min = 1,
     .words_max = 1,
     .run = import_run},
    {.name = "digest",
     .synopsis = "",
     .summary = "A number for all entries, to compare two databases",
     .help =
         "Equal where keys, values and expiries are equal. docs/export.md says how it is made.\n",
     .options = digest_options,
     .run = digest_run},
    {.name = "watch",
     .synopsis = "[KEY...]",
     .summary = "Show changes of keys, a line each, as they happen",
     .help =
         "The current state of each KEY comes first, unless --since is given. It goes on after a\n"
         "lost connection and a restart of the server without missing a change. When the server\n"
         "no longer has the changes it says STALE, and that is the end, with exit status 1.\n",
     .options = watch_options,
     .words_max = 1000,
     .run = watch_run},
    {.name = "top",
     .synopsis = "",
     .summary = "What the server is doing, again and again",
     .help = "q ends it. Rates are of the last interval; p50 and p99 of a command count since the\n"
             "start of the server.\n",
     .options = top_options,
     .run = top_run},
    {.name = "bench",
     .synopsis = "[MIX...]",
     .summary = "How fast is the server: everyday operations, with percentiles",
     .help =
         "MIX is get, set, atomic, queue, list, watch, plain-get or plain-set; all of them when\n"
         "none is named. It writes below a prefix of its own and removes that at the end, after\n"
         "Ctrl-C too. A server that others use is slower for them meanwhile.\n",
     .options = bench_options,
     .words_max = 100,
     .run = bench_run},
    {.name = "queue",
     .summary = "Queues: figures, messages, leases",
     .options = queue_options,
     .actions = queue_actions},
    {.name = "dlq",
     .summary = "Dead letters: look, requeue, delete",
     .options = dead_options,
     .actions = dead_actions},
    {.name = "db",
     .summary = "Databases: make, limit, rename, drop",
     .options = database_options,
     .actions = database_actions},
    {.name = "user",
     .summary = "Users and what they may do",
     .options = user_options,
     .actions = user_actions},
    {.name = NULL},
};

/* ---- where the server is, and as whom -------------------------------------------------------- */

static enum tool_status main_password(struct tool *t)
{
    const char *path = tool_text(t, "--password-file");
    const char *password = getenv("TUPLEDCTL_PASSWORD");
    if (path != NULL) {
        struct buf text;
        struct error e;
        buf_init(&text);
        if (file_read_all(path, &text, MAIN_PASSWORD_BYTES_MAX, &e) != OK) {
            buf_fini(&text);
            return tool_fail(TOOL_WORDS, "--password-file: %s", e.text);
        }
        buf_append_byte(&text, '\0');
        buf_require(&text);
        struct slice line = slice_str((const char *)text.data);
        size_t len = strcspn((const char *)line.data, "\r\n");
        char *copy = arena_alloc(&t->arena, len + 1);
        memcpy(copy, line.data, len);
        copy[len] = '\0';
        t->server.password = copy;
        buf_fini(&text);
    } else if (t->server.password == NULL && password != NULL) {
        t->server.password = password;
    }
    if (t->server.user != NULL && t->server.password == NULL) {
        return tool_fail(TOOL_WORDS, "the URL has a user, but there is no password: "
                                     "TUPLEDCTL_PASSWORD or --password-file has it");
    }
    return TOOL_DONE;
}

static enum tool_status main_server(struct tool *t)
{
    struct error e = {.text = ""};
    struct wire_options *o = &t->server;
    const char *url = tool_text(t, "--url");
    if (url == NULL) url = getenv("TUPLEDCTL_URL");
    if (url == NULL || url[0] == '\0') url = "redis://127.0.0.1:6379";
    if (wire_url_read(url, &t->arena, o, &e) != OK) return tool_fail(TOOL_WORDS, "%s", e.text);
    if (tool_text(t, "--db") != NULL) o->database = tool_text(t, "--db");
    o->cacert = tool_text(t, "--cacert");
    o->cert = tool_text(t, "--cert");
    o->key = tool_text(t, "--key");
    o->server_name = tool_text(t, "--tls-name");
    o->is_insecure = tool_has(t, "--insecure");
    o->timeout_s = 5;
    o->stop_fd = -1;
    bool has_tls = o->cacert != NULL || o->cert != NULL || o->key != NULL || o->is_insecure;
    if (has_tls && !o->is_tls) {
        return tool_fail(TOOL_WORDS, "there are options for TLS, but the URL is without: use "
                                     "rediss://");
    }
    enum tool_status status = tool_number(t, "--timeout", 1, 86400, &o->timeout_s);
    return status == TOOL_DONE ? main_password(t) : status;
}

/* ---- help ------------------------------------------------------------------------------------ */

/* `tupledctl help [what]`, or --help among the words. */
static enum tool_status main_help(const struct tool *t, const char *what)
{
    const struct tool_command *c = t->command;
    if (what != NULL) c = tool_find(main_table, what);
    if (what != NULL && c == NULL) {
        return tool_fail(TOOL_WORDS, "there is no subcommand %s", what);
    }
    if (c == NULL) {
        tool_help_all(main_table);
    } else {
        tool_help_of(c);
    }
    return TOOL_DONE;
}

static enum tool_status main_run(struct tool *t, int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "help") == 0) {
        if (argc > 3) return tool_fail(TOOL_WORDS, "it is tupledctl help [what]");
        return main_help(t, argc > 2 ? argv[2] : NULL);
    }
    enum tool_status status = tool_words_read(t, main_table, argc, argv);
    if (status != TOOL_DONE) return status;
    if (tool_wants_version(t)) {
        printf("tupledctl %s\n", TUPLED_VERSION);
        return TOOL_DONE;
    }
    if (tool_has(t, "--help")) return main_help(t, NULL);
    if (t->command == NULL) {
        return tool_fail(TOOL_WORDS, "what is to be done? tupledctl --help lists what there is");
    }
    status = main_server(t);
    return status == TOOL_DONE ? t->action->run(t) : status;
}

int main(int argc, char **argv)
{
    struct tool t = {.command = NULL};
    signal(SIGPIPE, SIG_IGN);
    arena_init(&t.arena, 4096);
    enum tool_status status = main_run(&t, argc, argv);
    arena_fini(&t.arena);
    return (int)status;
}
