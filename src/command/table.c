/* table: every command, sorted by name (a test checks it), and every feature. */
#include "request/table.h"

#define ADDRESS(name) &name,

const struct command *const command_table[] = {COMMANDS(ADDRESS) NULL};

const struct feature *const feature_table[] = {FEATURES(ADDRESS) NULL};
