/* talk: one client of a cluster. It goes from node to node until one serves, sends one command at a
 * time, and writes what it asked and heard as lines of a history (history.h). For one thread each.
 */
#ifndef CAMPAIGN_TALK_H
#define CAMPAIGN_TALK_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TALK_NODES_MAX 8
#define TALK_WORDS_MAX 64
#define TALK_WORD_BYTES 96

struct talk_nodes {
    const char *host[TALK_NODES_MAX];
    int port[TALK_NODES_MAX];
    int count;
};

struct talk {
    const struct talk_nodes *nodes;
    int64_t until_us; /* nothing is sent after this moment */
    int reply_ms;     /* how long a reply may take; after that it is unknown */
    int node;         /* whom it talks to */
    redisContext *c;  /* owned; NULL = closed */
    FILE *out;        /* the history; borrowed */
    unsigned number, count;
    bool is_reader;       /* it never writes, and talks to one node only */
    bool is_looker;       /* a reader who says READONLY */
    unsigned connections; /* so far */
    bool is_hasty;        /* it does not wait long, and writes many keys */
    uint64_t random;
    /* The command under way. */
    char words[TALK_WORDS_MAX][TALK_WORD_BYTES];
    int word_count;
    int64_t begun_us, ended_us;
};

int64_t talk_now_us(void);
uint64_t talk_below(struct talk *t, uint64_t limit);
void talk_close(struct talk *t);

/* A new command, without words; then more words, each a format without blanks inside. */
void talk_begin(struct talk *t);
__attribute__((format(printf, 2, 3))) void talk_word(struct talk *t, const char *format, ...);

enum talk_mode {
    TALK_ONCE,  /* sent once: without a reply the outcome is unknown */
    TALK_AGAIN, /* sent until a reply comes: it has an IDEM id */
    TALK_READ,  /* the same, and the time counts from the last one */
};

/* Sends it and waits. NULL: no reply came, or the run is over (begun_us is 0 if nothing was sent).
 * The caller frees the reply. */
redisReply *talk_ask(struct talk *t, enum talk_mode mode);

#endif
