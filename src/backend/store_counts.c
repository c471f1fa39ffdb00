/* store_counts: figures by database in a sparse map. The sum over all is kept apart and changed
 * before a merge, by the difference that it will make. */
#include "backend/store_counts.h"

#include "base/mem.h"

struct store_counts store_counts_get(const struct sparse *counts, uint16_t database)
{
    static const struct store_counts none;
    const struct store_counts *c = sparse_get(counts, database);
    return c == NULL ? none : *c;
}

void store_counts_put(struct sparse *counts, uint16_t database, const struct store_counts *c)
{
    struct store_counts **slot = (struct store_counts **)sparse_slot(counts, database);
    if (*slot == NULL) *slot = mem_new(sizeof **slot);
    **slot = *c;
}

static bool is_empty(const struct store_counts *c)
{
    return c->entries == 0 && c->expiring == 0 && c->bytes == 0;
}

void store_counts_merge(struct sparse *into, const struct sparse *from)
{
    const struct store_counts *c;
    for (uint32_t i = 0; (c = sparse_next(from, &i)) != NULL; i++) {
        if (!is_empty(c)) {
            store_counts_put(into, (uint16_t)i, c);
        } else if (sparse_get(into, (uint16_t)i) != NULL) {
            void **slot = sparse_slot(into, (uint16_t)i);
            mem_free(*slot);
            *slot = NULL;
        }
    }
}

void store_counts_sum(const struct sparse *into, const struct sparse *from,
                      struct store_counts *sum)
{
    const struct store_counts *c;
    for (uint32_t i = 0; (c = sparse_next(from, &i)) != NULL; i++) {
        struct store_counts before = store_counts_get(into, (uint16_t)i);
        sum->entries += c->entries - before.entries;
        sum->expiring += c->expiring - before.expiring;
        sum->bytes += c->bytes - before.bytes;
    }
}

void store_counts_fini(struct sparse *map)
{
    void *x;
    for (uint32_t i = 0; (x = sparse_next(map, &i)) != NULL; i++) mem_free(x);
    sparse_fini(map);
}

void store_change_add(struct sparse *changes, uint16_t database, const struct store_change *c)
{
    struct store_change **slot = (struct store_change **)sparse_slot(changes, database);
    if (*slot == NULL) *slot = mem_new(sizeof **slot);
    (*slot)->entries += c->entries;
    (*slot)->expiring += c->expiring;
    (*slot)->bytes += c->bytes;
}
