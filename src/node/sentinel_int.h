/* sentinel_int: what sentinel.c (connections) and sentinel_commands.c share. */
#ifndef NODE_SENTINEL_INT_H
#define NODE_SENTINEL_INT_H

#include "node/node.h"
#include "resp/writer.h"

struct sentinel_facts {
    struct node *node;
    const char *master;
};

/* A connection, as its commands see it. */
struct sentinel_call {
    const struct sentinel_facts *facts;
    uint64_t id;
    const char *address; /* of the client */
    bool is_early;       /* it came before the users were known */
    bool is_known;       /* it has said who it is, or needs not */
    bool is_over;        /* nothing more of it is run */
    struct slice *argv;  /* of the command */
    size_t argc;
    struct resp_writer w;
    char name[CLIENT_NAME_MAX];
    /* What it listens to, names and patterns; each ends with NUL; owned. */
    struct buf channels, patterns;
    size_t channel_count, pattern_count;
};

/* As the user `default`, if it needs no password; once the users are known. */
void sentinel_let_in(struct sentinel_call *c);
/* Runs the command: the reply is written. */
void sentinel_run(struct sentinel_call *c);
/* A message, if it listens to the channel; once for each pattern too. */
void sentinel_tell(struct sentinel_call *c, const char *channel, const char *text);
void sentinel_call_fini(struct sentinel_call *c);

#endif
