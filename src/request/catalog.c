/* catalog: what permissions know of the commands: names by number, and their categories. */
#include "request/describe.h"
#include "request/numbers.h"

static size_t catalog_count(void)
{
    return numbers_count();
}

static const char *catalog_name(size_t number)
{
    return numbers_name(number);
}

static size_t catalog_parts(size_t number)
{
    return numbers_parts(number);
}

static bool catalog_is_free(size_t number)
{
    return (numbers_at(number)->command->flags & CMD_NO_AUTH) != 0;
}

static bool catalog_is_in(size_t number, size_t category)
{
    const struct numbered *n = numbers_at(number);
    return command_is_in(n->parent, n->command, category);
}

const struct access_catalog command_catalog = {
    .count = catalog_count,
    .name = catalog_name,
    .parts = catalog_parts,
    .is_free = catalog_is_free,
    .category = category_name,
    .is_in = catalog_is_in,
};
