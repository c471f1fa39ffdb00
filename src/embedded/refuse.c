/* refuse: commands that are about a connection, a server or its clients, and what a program does in
 * their place. Everything else runs as it does on the server.
 */
#include "embedded/embedded_int.h"

#define NEEDS_SESSION                                                                              \
    "applies to a connection: use it in a session (tupled_session_open, tupled_session_command)"
#define NEEDS_WATCH                                                                                \
    "applies to a connection to a server: use tupled_watch_key and tupled_watch_prefix"
#define NEEDS_OPTIONS                                                                              \
    "applies to a server's settings: pass them to tupled_open (struct tupled_options)"
#define NEEDS_CLIENTS "applies to the clients of a server: an embedded database has none"
#define NEEDS_CONNECTION "applies to a connection to a server: an embedded database has none"

struct refused {
    const char *name;     /* of the command, or of its container and of it */
    bool is_for_sessions; /* can be run in one */
    const char *why;
};

static const struct refused refused[] = {
    {"select", true, NEEDS_SESSION},
    {"multi", true, NEEDS_SESSION},
    {"exec", true, NEEDS_SESSION},
    {"discard", true, NEEDS_SESSION},
    {"watch", true, NEEDS_SESSION},
    {"unwatch", true, NEEDS_SESSION},
    {"kv.format", true, NEEDS_SESSION},
    {"subscribe", false, NEEDS_WATCH},
    {"psubscribe", false, NEEDS_WATCH},
    {"ssubscribe", false, NEEDS_WATCH},
    {"unsubscribe", false, NEEDS_WATCH},
    {"punsubscribe", false, NEEDS_WATCH},
    {"sunsubscribe", false, NEEDS_WATCH},
    {"publish", false, NEEDS_CLIENTS},
    {"spublish", false, NEEDS_CLIENTS},
    {"pubsub", false, NEEDS_CLIENTS},
    {"monitor", false, NEEDS_CLIENTS},
    {"kv.queue|prefetch", false, NEEDS_CLIENTS},
    {"auth", false, NEEDS_CONNECTION},
    {"hello", false, NEEDS_CONNECTION},
    {"quit", false, NEEDS_CONNECTION},
    {"reset", false, NEEDS_CONNECTION},
    {"asking", false, NEEDS_CONNECTION},
    {"client", false, NEEDS_CLIENTS},
    {"acl", false, NEEDS_CLIENTS},
    {"shutdown", false, "applies to a server: use tupled_close"},
    {"config", false, NEEDS_OPTIONS},
    {"debug", false, "is for tests of a server"},
};

static bool is_named(const char *name, const struct command *parent, const struct command *c)
{
    size_t len = strlen(parent != NULL ? parent->name : c->name);
    if (parent == NULL) return strcmp(name, c->name) == 0;
    if (strncmp(name, parent->name, len) != 0) return false;
    return name[len] == '\0' || (name[len] == '|' && strcmp(name + len + 1, c->name) == 0);
}

const char *refuse_command(const struct slice *argv, size_t argc, bool is_session)
{
    const struct command *parent = NULL;
    const struct command *c = command_of_words(argv, argc, &parent);
    if (c == NULL) c = command_find(argv[0]); /* a container without such a subcommand */
    if (c == NULL) return NULL;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const struct refused *r = &refused[i];
        if (!is_named(r->name, parent, c)) continue;
        return r->is_for_sessions && is_session ? NULL : r->why;
    }
    return NULL;
}
