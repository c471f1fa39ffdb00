/* source: where import has its records from: one file for each kind, from_*.c, with the functions
 * below. A source gives one record after the other and can say where it is, as a text; the same
 * call of import later goes on there.
 *
 * A new kind: a struct source_kind in a file of its own, and its row in the table in import.c.
 */
#ifndef TOOL_SOURCE_H
#define TOOL_SOURCE_H

#include "tool/records.h"
#include "tool/tool.h"

#define SOURCE_PLACE_BYTES 4160 /* a key in hex digits, and a little */

enum record_kind {
    RECORD_NONE, /* there is no more */
    RECORD_HEAD,
    RECORD_DATABASE, /* what follows is of this one: `name` */
    RECORD_ENTRY,
    RECORD_DELETED,    /* the entry went while the export was made */
    RECORD_COLLECTION, /* an entry that is a hash, list, ...: `fields` */
    RECORD_MESSAGE,    /* or a dead letter: `fields` */
    RECORD_INDEX,      /* `fields` */
    RECORD_LIMITS,     /* `fields` */
    RECORD_LIBRARY,    /* of functions: `fields` */
    RECORD_END,
    /* Of kinds that are live: */
    RECORD_RENAME, /* what was loaded as REDIS_ASIDE gets the name `name` */
    RECORD_PAUSE,  /* nothing comes for the moment: what was given is to be loaded now */
    RECORD_SWEEP,  /* what the source does not have is to be removed */
};

/* Slices are good until the next record. */
struct record {
    enum record_kind kind;
    uint64_t number;    /* from 1: of the line, or of the record */
    bool is_pack;       /* of key and value: MessagePack, else typed JSON */
    struct slice key;   /* RECORD_ENTRY, RECORD_DELETED, RECORD_COLLECTION */
    struct slice value; /* RECORD_ENTRY */
    struct slice stamp; /* its old versionstamp, for --map; empty = it has none */
    int64_t expires_ms; /* 0 = never */
    struct slice name;  /* RECORD_DATABASE, RECORD_RENAME */
    struct fields fields;
};

struct source;

struct source_kind {
    const char *name; /* for --from */
    const char *what; /* of what, for people */
    bool is_service;  /* it is named by a URL: no file lies beside it */
    bool is_live;     /* a server with the commands of ours: redis_source.h */
    /* What goes wrong in these is said. `from`: what the user named. */
    enum tool_status (*open)(struct source *s, const char *from);
    enum tool_status (*next)(struct source *s, struct record *out);
    /* After the record given last: no blanks or control characters. */
    void (*place)(const struct source *s, char out[SOURCE_PLACE_BYTES]);
    /* Goes on after that place; before the first record. */
    enum tool_status (*seek)(struct source *s, const char *place);
    /* Which input it is: differs for another one. In the same form as a place. */
    void (*identity)(const struct source *s, char out[SOURCE_PLACE_BYTES]);
    /* Bytes so far, and of all; 0 = that is not known. */
    void (*share)(const struct source *s, uint64_t *done, uint64_t *all);
    /* The line of progress; NULL: one of records and bytes. */
    void (*progress)(const struct source *s, char *out, size_t room);
    void (*close)(struct source *s);
};

struct source {
    const struct source_kind *kind;
    const struct tool *t;
    struct slice prefix; /* encoded: entries below it are wanted only; empty = all. More may come */
    void *state;         /* of the kind */
};

extern const struct source_kind source_lines;
extern const struct source_kind source_keyval;
extern const struct source_kind source_deno;
extern const struct source_kind source_connect;
extern const struct source_kind source_redis;

#endif
