/* sparse: the upper byte of a number chooses a page, the lower one its slot. */
#include "base/sparse.h"

#include "base/mem.h"

#define PAGE 256

void **sparse_slot(struct sparse *s, uint16_t i)
{
    if (s->pages == NULL) s->pages = mem_new(PAGE * sizeof *s->pages);
    void ***page = &s->pages[i / PAGE];
    if (*page == NULL) *page = mem_new(PAGE * sizeof **page);
    return &(*page)[i % PAGE];
}

void *sparse_next(const struct sparse *s, uint32_t *i)
{
    if (s->pages == NULL) return NULL;
    while (*i < SPARSE_MAX) {
        void **page = s->pages[*i / PAGE];
        if (page == NULL) {
            *i = (*i / PAGE + 1) * PAGE;
            continue;
        }
        if (page[*i % PAGE] != NULL) return page[*i % PAGE];
        ++*i;
    }
    return NULL;
}

void sparse_fini(struct sparse *s)
{
    if (s->pages == NULL) return;
    for (unsigned i = 0; i < PAGE; i++) mem_free(s->pages[i]);
    mem_free(s->pages);
    s->pages = NULL;
}
