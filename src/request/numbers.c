/* numbers: see numbers.h. Filled before main; the number of a command is found by its address, in a
 * hash table with open addressing. */
#include "request/numbers.h"

#include <stdio.h>

#define SLOTS 1024 /* power of two, several times the number of commands and subcommands */
#define NAME_BYTES 64

static struct numbered numbered[SLOTS / 2]; /* constant after numbers_build, as all of these */
static char names[SLOTS / 2][NAME_BYTES];   /* "get", "config|get" */
static size_t parts[SLOTS / 2];
static size_t count;
static struct {
    const struct command *command;
    size_t number;
} slots[SLOTS]; /* by the command's address */

static size_t address_slot(const struct command *c)
{
    uint64_t h = (uint64_t)(uintptr_t)c * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 54); /* 10 bits, as SLOTS */
}

static void slot_take(const struct command *c, size_t number)
{
    size_t i = address_slot(c);
    while (slots[i].command != NULL) {
        INVARIANT(slots[i].command != c); /* each belongs to one container */
        i = (i + 1) % SLOTS;
    }
    slots[i].command = c;
    slots[i].number = number;
}

static void add(const struct command *c, const struct command *parent)
{
    INVARIANT(count < SLOTS / 2);
    numbered[count] = (struct numbered){.command = c, .parent = parent};
    snprintf(names[count], NAME_BYTES, "%s%s%s", parent != NULL ? parent->name : "",
             parent != NULL ? "|" : "", c->name);
    slot_take(c, count++);
}

/* From the constant table, before main, as the names (command.c). */
__attribute__((constructor)) static void numbers_build(void)
{
    for (const struct command *const *c = command_table; *c != NULL; c++) {
        size_t own = count;
        bool is_one = ((*c)->flags & CMD_ANY_WORD) != 0;
        add(*c, NULL);
        const struct command *const *sub = (*c)->subcommands;
        for (; sub != NULL && *sub != NULL; sub++) {
            if (is_one) {
                slot_take(*sub, own);
            } else {
                add(*sub, *c);
            }
        }
        parts[own] = count - own - 1;
    }
}

const char *numbers_name(size_t number)
{
    INVARIANT(number < count);
    return names[number];
}

size_t numbers_parts(size_t number)
{
    INVARIANT(number < count);
    return parts[number];
}

size_t numbers_count(void)
{
    return count;
}

const struct numbered *numbers_at(size_t number)
{
    INVARIANT(number < count);
    return &numbered[number];
}

size_t number_of(const struct command *c)
{
    for (size_t i = address_slot(c); slots[i].command != NULL; i = (i + 1) % SLOTS) {
        if (slots[i].command == c) return slots[i].number;
    }
    die("command %s is not in the table", c->name);
}
