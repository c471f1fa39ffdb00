/* selector: one set of permissions: commands, keys, channels, databases. A user has one, and
 * others in parentheses; a command is allowed when one of them allows all of it. The words are
 * those of Redis's ACL rules, applied in order, the last one counts; databases are Valkey's.
 */
#ifndef ACCESS_SELECTOR_H
#define ACCESS_SELECTOR_H

#include "access/patterns.h"
#include "base/err.h"

#define ACCESS_COMMANDS_MAX 1024

/* What the table of commands says; constant. A container's subcommands have the numbers after its
 * own. */
struct access_catalog {
    /* Of commands and subcommands; their numbers are below it, fewer than ACCESS_COMMANDS_MAX. */
    size_t (*count)(void);
    /* "get", or "config|get"; lower case. */
    const char *(*name)(size_t number);
    /* How many subcommands a container has; 0 of others. */
    size_t (*parts)(size_t number);
    /* Whether it is one that every client may use, as AUTH is. */
    bool (*is_free)(size_t number);
    /* "keyspace", ... without @; NULL when i is past the last. */
    const char *(*category)(size_t i);
    bool (*is_in)(size_t number, size_t category);
};

/* A database by name or number, as the rule has it. */
struct access_word {
    struct access_word *next;
    char *text; /* owned */
};

/* `+select|0`: a command, but only with this first word. */
struct access_first {
    struct access_first *next;
    size_t number;
    char *word; /* owned; lower case */
};

struct selector {
    struct selector *next; /* of the user */
    /* A bit a command; the last one, which is no command's, says whether the rules began with all.
     */
    uint64_t allowed[ACCESS_COMMANDS_MAX / 64];
    bool allows_all_commands;
    struct access_first *firsts;
    size_t first_count;
    struct access_word *rules, **rules_last; /* of commands, as given; what was overruled is out */
    struct patterns keys, channels;
    bool allows_all_databases;
    struct patterns databases; /* their names as they stand: patterns_have */
};

/* Allows nothing, but in every database. */
void selector_init(struct selector *s);
void selector_fini(struct selector *s);
void selector_copy(struct selector *to, const struct selector *from);

/* Applies one word: +get, ~key*, allkeys, ... ERR_SYNTAX: what is wrong, in Redis's words. */
ERR_MUST_USE enum err selector_rule(struct selector *s, const struct access_catalog *catalog,
                                    struct slice word, struct error *e);
/* After the last rule, before anything is asked. */
void selector_ready(struct selector *s);
/* The words that make it out of an empty one: `~a* resetchannels -@all +get`. */
void selector_describe(const struct selector *s, struct buf *out);
/* Parts of that, for ACL GETUSER; a blank may follow the last. */
void selector_describe_commands(const struct selector *s, struct buf *out);
void selector_describe_keys(const struct selector *s, struct buf *out);
void selector_describe_channels(const struct selector *s, struct buf *out);
void selector_describe_databases(const struct selector *s, struct buf *out);

/* By name in any case, without @. */
bool access_category_find(const struct access_catalog *catalog, struct slice name, size_t *out);

/* May the command be used at all, with this first word (empty: it has none)? */
bool selector_allows_command(const struct selector *s, const struct access_catalog *catalog,
                             size_t number, struct slice first);
/* By name, and by number as text. */
bool selector_allows_database(const struct selector *s, struct slice name, struct slice number);

#endif
