/* env_help: one whole database with its commands and without a network, for fuzz targets. */
#ifndef TESTS_FUZZ_ENV_HELP_H
#define TESTS_FUZZ_ENV_HELP_H

#include "request/command.h"

/* In a directory of its own, which is removed at the program's end; `name` is a part of its. Once in
 * a process. */
void env_start(struct env *env, const char *name);
/* What belongs to a turn of the loop. */
void env_turn(struct env *env);

#endif
