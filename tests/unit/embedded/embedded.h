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

struct host {
    char dir[64];
    struct tupled_options options;
    struct tupled_db *db;
};

/* `o` NULL: small defaults. */
void host_init(struct host *t, const struct tupled_options *o);
void host_reopen(struct host *t);
/* Closes it, and removes the directory. */
void host_fini(struct host *t);
/* The words of a line, parted by blanks; `text` is cut up. */
size_t host_split(char *text, struct tupled_bytes *words);
/* Runs the line; it must not be an error. */
struct tupled_reply *host_ask(struct host *t, const char *line);
void host_say(struct host *t, const char *line);
struct tupled_reply *host_ask_in(struct tupled_session *s, const char *line);
struct tupled_reply *host_say_in(struct tupled_session *s, const char *line); /* NULL: freed */
/* It must be an error with this in its text. */
void host_refuse(struct host *t, const char *line, const char *text);
void host_has(struct host *t, struct tupled_bytes key, const char *json);
/* KV.FIND by_name, or without a value KV.SEARCH people, as soon as they are filled. */
int host_await_page(struct host *t, struct tupled_page **out, const struct tupled_bytes *value);

#endif
