/* shared: see shared.h. The ids are found by one walk over all items, without regard to nesting,
 * then sorted and searched by halves. */
#include "foreign/shared.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/pack.h"
#include "codec/value.h"

static int compare(const void *a, const void *b)
{
    const struct shared_id *one = a, *two = b;
    return one->id < two->id ? -1 : one->id > two->id;
}

/* What is in an extension follows its head, so all items of the value can be walked in a row. */
static bool next_id(const uint8_t **at, const uint8_t *end, uint32_t *id)
{
    struct pack_item item;
    while (pack_read(at, end, &item) == PACK_OK) {
        if (item.type != PACK_EXT) continue;
        bool is_nested = item.ext == EXT_SET || item.ext == EXT_MAP || item.ext == EXT_ERROR;
        if (is_nested) *at = item.body.data;
        if (item.ext != EXT_ID) continue;
        *at = item.body.data;
        if (pack_read(at, end, &item) != PACK_OK) return false; /* [id, value] */
        if (pack_read(at, end, &item) != PACK_OK) return false;
        *id = (uint32_t)item.u;
        return true;
    }
    return false;
}

bool shared_gather(struct shared_ids *s, struct slice value)
{
    const uint8_t *at = value.data, *end = value.data + value.len;
    size_t cap = 0;
    uint32_t id = 0;
    *s = (struct shared_ids){0};
    while (next_id(&at, end, &id)) {
        if (s->count == cap) {
            cap = cap == 0 ? 16 : 2 * cap;
            struct shared_id *list = mem_resize_try(s->list, cap * sizeof *list);
            if (list == NULL) return false;
            s->list = list;
        }
        s->list[s->count++] = (struct shared_id){.id = id};
    }
    if (s->count > 0) qsort(s->list, s->count, sizeof *s->list, compare);
    return true;
}

void shared_fini(struct shared_ids *s)
{
    mem_free(s->list);
}

struct shared_id *shared_find(const struct shared_ids *s, uint32_t id)
{
    struct shared_id wanted = {.id = id};
    struct shared_id *found = bsearch(&wanted, s->list, s->count, sizeof wanted, compare);
    INVARIANT(found != NULL);
    return found;
}
