/* sparse: a map from small numbers (16 bits: databases) to pointers, which costs nothing where
 * nothing is: two levels of 256, made when they are needed. NULL is absence.
 */
#ifndef BASE_SPARSE_H
#define BASE_SPARSE_H

#include <stddef.h>
#include <stdint.h>

#define SPARSE_MAX 65536

struct sparse {
    void ***pages; /* 256 pages of 256; owned; NULL = nothing was ever put */
};

static inline void *sparse_get(const struct sparse *s, uint16_t i)
{
    if (s->pages == NULL) return NULL;
    void **page = s->pages[i >> 8];
    return page == NULL ? NULL : page[i & 255];
}

/* The place of i, made if need be; good until sparse_fini. */
void **sparse_slot(struct sparse *s, uint16_t i);
/* What is at the smallest number from *i on, which *i then is; NULL at the end. For all of them:
 * for (uint32_t i = 0; (x = sparse_next(s, &i)) != NULL; i++) */
void *sparse_next(const struct sparse *s, uint32_t *i);
/* Of the pages; what the pointers lead to is the caller's. Empty again. */
void sparse_fini(struct sparse *s);

#endif
