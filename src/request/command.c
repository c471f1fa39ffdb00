/* command: commands by name, in a hash table with open addressing that is filled before main. */
#include "request/command.h"

#define NAME_BYTES_MAX 32
#define BUCKETS 2048 /* power of two, several times the number of commands */

static uint32_t name_hash(struct slice name)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < name.len; i++) h = (h ^ (name.data[i] | 0x20u)) * 16777619u;
    return h;
}

static bool name_is(const char *name, struct slice given)
{
    for (size_t i = 0; i < given.len; i++) {
        uint8_t c = given.data[i];
        if ((uint8_t)(c - 'A') < 26) c |= 0x20;
        if (c == '\0' || c != (uint8_t)name[i]) return false;
    }
    return name[given.len] == '\0';
}

static const struct command *buckets[BUCKETS]; /* constant after index_build */

/* From the constant table, before main: a program may have several engines, each in a thread of its
 * own, and none of them is the first. */
__attribute__((constructor)) static void index_build(void)
{
    for (const struct command *const *c = command_table; *c != NULL; c++) {
        size_t i = name_hash(slice_str((*c)->name)) % BUCKETS;
        while (buckets[i] != NULL) i = (i + 1) % BUCKETS;
        buckets[i] = *c;
    }
}

const struct command *command_find(struct slice name)
{
    if (name.len > NAME_BYTES_MAX) return NULL;
    for (size_t i = name_hash(name) % BUCKETS; buckets[i] != NULL; i = (i + 1) % BUCKETS) {
        if (name_is(buckets[i]->name, name)) return buckets[i];
    }
    return NULL;
}

const char *command_since(const struct command *c)
{
    return c->since != NULL ? c->since : COMMAND_SINCE;
}

static const struct command *command_find_sub(const struct command *c, struct slice name)
{
    if (c->subcommands == NULL) return NULL;
    for (const struct command *const *s = c->subcommands; *s != NULL; s++) {
        if (name_is((*s)->name, name)) return *s;
    }
    return NULL;
}

const struct command *command_find_full(struct slice name, const struct command **parent)
{
    const uint8_t *bar = name.len == 0 ? NULL : memchr(name.data, '|', name.len);
    *parent = NULL;
    if (bar == NULL) return command_find(name);
    size_t len = (size_t)(bar - name.data);
    *parent = command_find(slice_of(name.data, len));
    if (*parent == NULL) return NULL;
    return command_find_sub(*parent, slice_of(bar + 1, name.len - len - 1));
}

const struct command *command_of_words(const struct slice *argv, size_t argc,
                                       const struct command **parent)
{
    const struct command *c = command_find(argv[0]);
    *parent = NULL;
    if (c == NULL || c->subcommands == NULL || argc < 2) return c;
    const struct command *sub = command_find_sub(c, argv[1]);
    bool takes_any = (c->flags & CMD_ANY_WORD) != 0;
    if (sub == NULL) return takes_any ? c : NULL;
    if (takes_any && !command_arity_fits(sub, 2, argc)) return c; /* it has words for that too */
    *parent = c;
    return sub;
}

size_t command_count(void)
{
    size_t n = 0;
    while (command_table[n] != NULL) n++;
    return n;
}
