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
     .summary = "Check that the server responds and is healthy",
     .help = "The exit status is 0 only if the server responds and reports its health as ok.\n",
     .run = ping_run},
    {.name = "backup",
     .synopsis = "",
     .summary = "Make a backup on the server's machine",
     .help = "Writes one file to the server's backup-dir, with a snapshot of all "
             "databases\n(docs/durability.md).\n",
     .options = backup_options,
     .run = backup_run},
    {.name = "verify",
     .synopsis = "",
     .summary = "Check all stored data on the server for damage",
     .help = "Other clients are served meanwhile. If tupledctl is stopped, the server "
             "continues.\nThe exit status is 1 if something is damaged.\n",
     .options = verify_options,
     .run = verify_run},
    {.name = "check",
     .synopsis = "DIR",
     .summary = "Check a data directory or an archive for damage",
     .help = "Works without a server: no server may have DIR open, and nothing is changed. "
             "Verifies\nthe checksums of all pages, the journal, and the files of an archive; "
             "then the contents\nof a data directory (entries, indexes, queues and counts) in a "
             "temporary copy.\nThe exit status is 1 if something is damaged, and 3 if it could "
             "not be checked.\n",
     .options = check_options,
     .words_min = 1,
     .words_max = 1,
     .run = check_command_run},
    {.name = "restore",
     .synopsis = "--from ARCHIVE --to DIR",
     .summary = "Restore a data directory from an archive, as of any commit",
     .help = "Works without a server. Then start one with `dir` set to DIR. It is a new timeline: "
             "its\nversionstamps are greater than all earlier ones (docs/archive.md).\nWithout "
             "--version and --time, restores everything in the archive.\n",
     .options = restore_options,
     .run = restore_command_run},
    {.name = "export",
     .synopsis = "",
     .summary = "Export a database as one consistent state",
     .help = "Writes to standard output, or to FILE. The format is described in docs/export.md.\n",
     .options = export_options,
     .run = export_run},
    {.name = "import",
     .synopsis = "FILE|-|URL",
     .summary = "Import an export, or data of other systems",
     .help = "To resume an interrupted import, repeat the command. redis://host is a live Redis "
             "or\nValkey server; --follow then loads its changes until Ctrl-C. See "
             "docs/export.md.\n",
     .options = import_options,
     .words_min = 1,
     .words_max = 1,
     .run = import_run},
    {.name = "digest",
     .synopsis = "",
     .summary = "Compute a digest of all entries, to compare two databases",
     .help = "Digests are equal if keys, values and expiries are equal. docs/export.md describes "
             "how\nthe digest is computed.\n",
     .options = digest_options,
     .run = digest_run},
    {.name = "watch",
     .synopsis = "[KEY...]",
     .summary = "Print changes of keys as they happen, one per line",
     .help = "Starts with the current state of each KEY, unless --since is given. Continues after "
             "a\nlost connection or a restart of the server without missing a change. If the "
             "server no\nlonger has the changes, prints STALE and ends with exit status 1.\n",
     .options = watch_options,
     .words_max = 1000,
     .run = watch_run},
    {.name = "top",
     .synopsis = "",
     .summary = "Show what the server is doing, continuously",
     .help = "q quits. Rates are those of the last interval; p50 and p99 of a command are those "
             "since\nthe start of the server.\n",
     .options = top_options,
     .run = top_run},
    {.name = "bench",
     .synopsis = "[MIX...]",
     .summary = "Measure the speed of everyday operations, with percentiles",
     .help = "MIX is get, set, atomic, queue, list, watch, plain-get or plain-set; the default is "
             "all\nof them. Writes below a prefix of its own and deletes that at the end, also "
             "after\nCtrl-C. Slows the server down for other clients meanwhile.\n",
     .options = bench_options,
     .words_max = 100,
     .run = bench_run},
    {.name = "queue",
     .summary = "Queues: statistics, messages, leases",
     .options = queue_options,
     .actions = queue_actions},
    {.name = "dlq",
     .summary = "Dead letters: list, requeue, delete",
     .options = dead_options,
     .actions = dead_actions},
    {.name = "db",
     .summary = "Databases: create, limit, rename, delete",
     .options = database_options,
     .actions = database_actions},
    {.name = "user",
     .summary = "Users and their rights",
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
        return tool_fail(TOOL_WORDS, "the URL has a user but no password; set TUPLEDCTL_PASSWORD "
                                     "or give --password-file");
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
        return tool_fail(TOOL_WORDS, "TLS options need a URL with TLS: rediss://");
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
        return tool_fail(TOOL_WORDS, "unknown subcommand %s", what);
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
        if (argc > 3) return tool_fail(TOOL_WORDS, "usage: tupledctl help [subcommand]");
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
        return tool_fail(TOOL_WORDS, "no subcommand given; see tupledctl --help");
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
