/* check_help: a directory is looked at, and what is found is kept. */
#ifndef TESTS_UNIT_CHECK_HELP_H
#define TESTS_UNIT_CHECK_HELP_H

#include "offline/check.h"
#include "unit/backend/local_help.h"

struct looks {
    struct rig rig;
    struct check k;
    struct error e;
    struct buf lines; /* "damage|note <part> <place>: <text>\n" of each */
    size_t told;
};

/* cmocka's setup and teardown; *state is a struct looks. k.dir is the rig's. */
int looks_enter(void **state);
int looks_leave(void **state);
/* It is looked at, whatever is found. */
void looks_run(struct looks *t);
/* A line that was found has all of this in it. */
void looks_found(struct looks *t, const char *kind_part_place, const char *text);

#endif
