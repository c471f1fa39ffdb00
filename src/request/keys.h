/* keys: which words of a command are keys, and what becomes of them: for COMMAND GETKEYS, and for
 * what must be known before a command runs. Its arguments say it (arguments.h). The keys are words
 * as the client sent them, in whatever form.
 */
#ifndef REQUEST_KEYS_H
#define REQUEST_KEYS_H

#include "request/command.h"
#include "request/syntax.h"

/* As in Redis's key specifications; the first four exclude one another. */
enum key_flag {
    KEY_RO = 1 << 0,     /* neither the value nor that it is there changes */
    KEY_RW = 1 << 1,     /* what is there matters for what is written */
    KEY_OW = 1 << 2,     /* it does not */
    KEY_RM = 1 << 3,     /* deleted */
    KEY_ACCESS = 1 << 4, /* something of the value is shown */
    KEY_UPDATE = 1 << 5,
    KEY_INSERT = 1 << 6,
    KEY_DELETE = 1 << 7,
    /* Bounds of a range: all keys below it, from it on, up to it. */
    KEY_PREFIX = 1 << 8,
    KEY_START = 1 << 9,
    KEY_END = 1 << 10,
    KEY_VARIABLE = 1 << 11, /* other words may make it less */
};

struct key_use {
    struct slice word; /* borrowed from argv */
    unsigned flags;    /* enum key_flag */
};

struct key_uses {
    /* Of items; the caller sets it, all else zero. Or it sets items and cap, and this is NULL: keys
     * that do not fit there are left out. */
    struct arena *arena;
    struct key_use *items; /* in the order of the words */
    size_t count, cap;
};

/* Does any of its words name a key? */
bool command_has_keys(const struct command *c);
/* Adds the keys of a command's words, which are those run() gets: IDEM and FORMAT are taken off,
 * their number was checked. False: the command will refuse the words; keys before the wrong one
 * were added. */
bool command_keys(const struct command *c, const struct slice *argv, size_t argc,
                  struct key_uses *out);

/* Where keys stand, for COMMAND INFO. */
enum key_place {
    KEYS_FIXED,   /* first, last, step */
    KEYS_COUNTED, /* right after word `first`, which says how many */
    KEYS_KEYWORD, /* right after a token */
    KEYS_UNKNOWN, /* ask COMMAND GETKEYS */
};

struct key_spec {
    enum key_place place;
    const char *keyword;   /* of KEYS_KEYWORD, which stands at word `first` or after it */
    bool is_multiple;      /* keys up to the end follow the keyword ... */
    bool is_half;          /* ... or up to the middle of what follows it */
    int first, last, step; /* words of KEYS_FIXED; last below 0: from the end */
    unsigned flags;        /* enum key_flag: of each */
};

#define KEY_SPECS_MAX 8

/* The key specifications of a command, whose arguments `args` are then numbered by them. The
 * result is how many there are. */
size_t key_specs(const struct command *c, struct syntax_args *args,
                 struct key_spec specs[KEY_SPECS_MAX]);
/* Has the command keys, and are all of them in optional arguments? */
bool keys_are_optional(const struct syntax_args *args);
/* The keys in fixed places: *first 0 = none are. */
void keys_fixed(const struct command *c, int *first, int *last, int *step);
/* Can these not tell all keys? */
bool keys_are_movable(const struct command *c);

/* "RO", "access", ... of the bit, for those that Redis has; NULL when i is past the last. */
const char *key_flag_name(size_t i, unsigned *flag);

#endif
