/* members: the arguments of a command by name, for callers that have no words one after another:
 * members of a JSON object, parameters of a URL, fields of a form.
 *
 *   [PREFIX key]                    prefix    a key
 *   [KEYSONLY]                      keysonly  true or false
 *   [ON count path [path ...]]      on        a list
 *   [CLAMP lo hi]                   clamp     both of them
 *   [EX seconds | KEEPTTL]          ex, keepttl    one of them at most
 *
 * A member is named after its token, in lower case, or after the argument when it has none;
 * `members` of struct arguments gives other names. In the order of the members their words are
 * those of a command.
 */
#ifndef REQUEST_MEMBERS_H
#define REQUEST_MEMBERS_H

#include "request/arguments.h"

enum member_type {
    MEMBER_TEXT,
    MEMBER_KEY,
    MEMBER_VALUE,
    MEMBER_NUMBER, /* a value, as the next one */
    MEMBER_ARRAY,
    MEMBER_INTEGER, /* min, max */
    MEMBER_FILTER,
    MEMBER_VERSION, /* a versionstamp, or that there is no entry */
    MEMBER_FLAG,    /* its token alone */
    MEMBER_OBJECTS, /* a list, each of it one of `variants` */
};

struct member {
    const char *name;
    const char *token; /* before its words; NULL = none */
    enum member_type type;
    int64_t min, max;
    bool is_required;
    bool is_list;
    bool has_count;           /* of a list: its number comes before it */
    int64_t count_min;        /* of a list */
    unsigned words;           /* of each; more than one: these, none of them a list (parts) */
    const char *const *parts; /* their names, when words > 1 */
    unsigned alternative;     /* 0 = none; of those with one number at most one may be there ... */
    bool is_needed;           /* ... and one of them must */
    const struct members *variants; /* of MEMBER_OBJECTS, ended by one without a name */
};

/* In the order of their words. */
struct members {
    const char *name;  /* of a variant: of its type */
    const char *token; /* likewise: its first word */
    const struct member *items;
    size_t count;
};

/* Made when it is first asked for, for ever. */
const struct members *arguments_members(const struct arguments *of);
/* NULL = there is none of the name. */
const struct member *member_find(const struct members *of, struct slice name);

#endif
