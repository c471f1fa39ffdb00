/* command: commands by name, in a hash table with open addressing that is filled before main. Most
 * names are told apart by one number, which is made of eight of their bytes. */
#include "request/command.h"

#include <string.h>

#define NAME_BYTES_MAX 32
#define HEAD_BYTES 8
#define BUCKETS 1024 /* power of two, several times the number of commands */
#define EACH_BYTE 0x0101010101010101u

/* A to Z become a to z, eight at once: bit 7 of a byte tells where it is. Of bytes above 127 some
 * change too, which no name has. After Lamport, "Multiple byte processing with full-word
 * instructions" (1975). */
static uint64_t lower_case(uint64_t x)
{
    uint64_t low = x & 0x7f * EACH_BYTE;
    uint64_t from_a = low + (0x80 - 'A') * EACH_BYTE;
    uint64_t above_z = low + (0x7f - 'Z') * EACH_BYTE;
    uint64_t upper = (from_a ^ above_z) & 0x80 * EACH_BYTE;
    return x | (upper >> 2);
}

/* The first bytes, in lower case; all of them, for names of one length, up to HEAD_BYTES. */
static uint64_t name_head(struct slice name)
{
    uint64_t head = 0;
    uint32_t first = 0;
    uint32_t last = 0;
    if (name.len >= sizeof head) {
        memcpy(&head, name.data, sizeof head);
    } else if (name.len >= sizeof first) {
        memcpy(&first, name.data, sizeof first);
        memcpy(&last, name.data + name.len - sizeof last, sizeof last);
        head = (uint64_t)last << 32 | first;
    } else if (name.len > 0) {
        head = name.data[0] | (uint64_t)name.data[name.len / 2] << 8 |
               (uint64_t)name.data[name.len - 1] << 16;
    }
    return lower_case(head);
}

static size_t bucket_of(uint64_t head, size_t len)
{
    return (((head ^ len) * 0x9e3779b97f4a7c15u) >> 32) % BUCKETS;
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

static struct bucket {
    uint64_t head;
    size_t len;
    const struct command *command; /* NULL = it is free */
} buckets[BUCKETS];                /* constant after index_build */

/* From the constant table, before main: a program may have several engines, each in a thread of its
 * own, and none of them is the first. */
__attribute__((constructor)) static void index_build(void)
{
    for (const struct command *const *c = command_table; *c != NULL; c++) {
        struct slice name = slice_str((*c)->name);
        struct bucket b = {.head = name_head(name), .len = name.len, .command = *c};
        size_t i = bucket_of(b.head, b.len);
        while (buckets[i].command != NULL) i = (i + 1) % BUCKETS;
        buckets[i] = b;
    }
}

const struct command *command_find(struct slice name)
{
    if (name.len > NAME_BYTES_MAX) return NULL;
    uint64_t head = name_head(name);
    for (size_t i = bucket_of(head, name.len);; i = (i + 1) % BUCKETS) {
        const struct bucket *b = &buckets[i];
        if (b->command == NULL) return NULL;
        if (b->head != head || b->len != name.len) continue;
        if (name.len <= HEAD_BYTES || name_is(b->command->name, name)) return b->command;
    }
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
