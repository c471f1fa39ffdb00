/* sequence: commands that both servers are to be sent, one after another. */
#ifndef TESTS_DIFF_SEQUENCE_H
#define TESTS_DIFF_SEQUENCE_H

#include <stdio.h>

#include "base/arena.h"

struct call {
    struct slice *words; /* of the arena of its sequence */
    size_t count;
    unsigned connection; /* 0, or 1 for what happens between WATCH and EXEC */
    bool has_mistake;    /* one was made in it on purpose */
    bool is_whole;       /* with fewer words it would take an element at random */
};

struct sequence {
    struct arena arena;
    struct call *calls; /* owned */
    size_t count, cap;
};

void sequence_init(struct sequence *s);
void sequence_fini(struct sequence *s);
/* Forgets all calls. */
void sequence_clear(struct sequence *s);
/* An empty call at the end; good until the next one. */
struct call *sequence_add(struct sequence *s, unsigned connection);
/* A call of these words, which blanks separate. */
void sequence_say(struct sequence *s, unsigned connection, const char *words);
/* The word is copied. */
void sequence_word(struct sequence *s, struct slice word);
/* Is it this command? `upper`: in capitals. */
bool call_is(const struct call *c, const char *upper);
/* As redis-cli takes it; in front of it 2> for the second connection. */
void call_show(FILE *to, const struct call *c);

#endif
