/* catalogue: what the demo knows of a package by itself, to tell whether the server is right. */
#ifndef DEMO_CATALOGUE_H
#define DEMO_CATALOGUE_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct package {
    struct slice name; /* first: the table looks here */
    struct slice section;
    struct slice description; /* empty = none */
    struct slice json;        /* as sent */
    int64_t size;             /* bytes; -1 = not told */
    bool has_homepage;
    bool is_stored; /* this record won */
};

/* Monotonic seconds. */
double demo_now_s(void);
/* Says so and ends the program with status 1. */
void demo_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Makes indexes of the packages below ["packages"], unless they are there, and waits until they are
 * complete. True when all of them were there. */
bool questions_index(redisContext *c);
/* Asks what one asks of a catalogue; fails unless each answer is the one that the packages give.
 * Quiet: says only that all is well. */
void questions_ask(redisContext *c, const struct package *packages, size_t count, bool is_quiet);

#endif
