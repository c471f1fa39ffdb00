/* embedded: an open database on a scratch directory, and short ways to ask it, for its tests. */
#ifndef TESTS_UNIT_EMBEDDED_EMBEDDED_H
#define TESTS_UNIT_EMBEDDED_EMBEDDED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "tupled_db.h"

#define KEY1 tupled_text("[\"users\",1]")
#define KEY2 tupled_text("[\"users\",2]")
#define WORDS_MAX_OF_A_LINE 32

struct program {
    char dir[64];
    struct tupled_options options;
    struct tupled_db *db;
};

/* `o` NULL: small defaults. */
void program_init(struct program *t, const struct tupled_options *o);
void program_reopen(struct program *t);
/* Closes it, and removes the directory. */
void program_fini(struct program *t);
/* Its faults, from now on: those that the test's thread has are taken over only at an opening. */
void program_arm(struct program *t, const char *prefix, uint64_t nth, bool is_sticky);
void program_delay_syncs(struct program *t, unsigned delay_ms);
/* The words of a line, parted by blanks; `text` is cut up. */
size_t program_split(char *text, struct tupled_bytes *words);
/* Runs the line; it must not be an error. */
struct tupled_reply *program_ask(struct program *t, const char *line);
void program_say(struct program *t, const char *line);
struct tupled_reply *program_ask_in(struct tupled_session *s, const char *line);
struct tupled_reply *program_say_in(struct tupled_session *s, const char *line); /* NULL: freed */
/* It must be an error with this in its text. */
void program_refuse(struct program *t, const char *line, const char *text);
void program_has(struct program *t, struct tupled_bytes key, const char *json);
/* KV.FIND by_name, or without a value KV.SEARCH people, as soon as they are filled. */
int program_await_page(struct program *t, struct tupled_page **out,
                       const struct tupled_bytes *value);

#endif
