/* refuse: commands that are about a connection, a server or its clients, and what a program does in
 * their place. Everything else runs as it does on the server.
 */
#include "command/commands.h"
#include "embedded/embedded_int.h"

#define NEEDS_SESSION                                                                              \
    "is about a connection: use it in a session (tupled_session_open, tupled_session_command)"
#define NEEDS_WATCH                                                                                \
    "is about a connection to a server: tupled_watch_key and tupled_watch_prefix tell of changes"
#define NEEDS_OPTIONS                                                                              \
    "is about a server's settings: give them to tupled_open (struct tupled_options)"
#define NEEDS_CLIENTS "is about the clients of a server: an embedded database has none"
#define NEEDS_CONNECTION "is about a connection to a server: an embedded database has none"

struct refused {
    const struct command *command;
    bool is_for_sessions; /* can be run in one */
    const char *why;
};

static const struct refused refused[] = {
    {&cmd_select, true, NEEDS_SESSION},
    {&cmd_multi, true, NEEDS_SESSION},
    {&cmd_exec, true, NEEDS_SESSION},
    {&cmd_discard, true, NEEDS_SESSION},
    {&cmd_watch, true, NEEDS_SESSION},
    {&cmd_unwatch, true, NEEDS_SESSION},
    {&kv_format, true, NEEDS_SESSION},
    {&cmd_subscribe, false, NEEDS_WATCH},
    {&cmd_psubscribe, false, NEEDS_WATCH},
    {&cmd_ssubscribe, false, NEEDS_WATCH},
    {&cmd_unsubscribe, false, NEEDS_WATCH},
    {&cmd_punsubscribe, false, NEEDS_WATCH},
    {&cmd_sunsubscribe, false, NEEDS_WATCH},
    {&cmd_publish, false, NEEDS_CLIENTS},
    {&cmd_spublish, false, NEEDS_CLIENTS},
    {&cmd_pubsub, false, NEEDS_CLIENTS},
    {&cmd_monitor, false, NEEDS_CLIENTS},
    {&queue_prefetch, false, NEEDS_CLIENTS},
    {&cmd_auth, false, NEEDS_CONNECTION},
    {&cmd_hello, false, NEEDS_CONNECTION},
    {&cmd_quit, false, NEEDS_CONNECTION},
    {&cmd_reset, false, NEEDS_CONNECTION},
    {&cmd_asking, false, NEEDS_CONNECTION},
    {&cmd_shutdown, false, "is about a server: use tupled_close"},
    {&cmd_config, false, NEEDS_OPTIONS},
    {&cmd_debug, false, "is for tests of a server"},
};

const char *refuse_command(const struct slice *argv, size_t argc, bool is_session)
{
    const struct command *parent = NULL;
    const struct command *c = command_of_words(argv, argc, &parent);
    if (c == NULL) c = command_find(argv[0]); /* a container without such a subcommand */
    if (c == NULL) return NULL;
    if (parent == &cmd_client || c == &cmd_client) return NEEDS_CLIENTS;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const struct refused *r = &refused[i];
        if (r->command != c && (r->command != parent || parent == NULL)) continue;
        return r->is_for_sessions && is_session ? NULL : r->why;
    }
    return NULL;
}
