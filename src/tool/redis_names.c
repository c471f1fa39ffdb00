/* redis_names: a table and a list for each database; databases are few and looked through. */
#include "tool/redis_names.h"

#include "base/list.h"
#include "base/mem.h"

static struct redis_names_of *names_of(const struct redis_names *n, uint32_t database)
{
    for (size_t i = 0; i < n->databases; i++) {
        if (n->all[i].database == database) return &n->all[i];
    }
    return NULL;
}

static void remove_name(struct redis_names *n, struct redis_names_of *of, struct redis_name *x)
{
    htab_remove(&of->table, hash_bytes(x->key), &x->key);
    LIST_UNLINK(of->first, of->last, x, next, prev);
    mem_free(x);
    n->count--;
}

void redis_names_fini(struct redis_names *n)
{
    for (size_t i = 0; i < n->databases; i++) {
        while (n->all[i].first != NULL) remove_name(n, &n->all[i], n->all[i].first);
        htab_fini(&n->all[i].table);
    }
    mem_free(n->all);
    *n = (struct redis_names){.all = NULL};
}

void redis_names_add(struct redis_names *n, uint32_t database, struct slice name, int64_t at_us)
{
    uint64_t hash = hash_bytes(name);
    struct redis_names_of *of = names_of(n, database);
    if (of == NULL) {
        n->all = mem_resize(n->all, (n->databases + 1) * sizeof *n->all);
        of = &n->all[n->databases++];
        *of = (struct redis_names_of){.database = database};
        htab_init(&of->table);
    }
    if (htab_find(&of->table, hash, name) != NULL) return;
    struct redis_name *x = mem_alloc(sizeof *x + name.len);
    x->key = slice_of(x->bytes, name.len);
    x->at_us = at_us;
    bytes_copy(x->bytes, name.data, name.len);
    htab_insert(&of->table, hash, &x->key);
    LIST_APPEND(of->first, of->last, x, next, prev);
    n->count++;
}

bool redis_names_has(const struct redis_names *n, uint32_t database, struct slice name)
{
    const struct redis_names_of *of = names_of(n, database);
    return of != NULL && htab_find(&of->table, hash_bytes(name), name) != NULL;
}

void redis_names_forget(struct redis_names *n, uint32_t database, struct slice name)
{
    struct redis_names_of *of = names_of(n, database);
    if (of == NULL || of->first == NULL) return;
    struct redis_name *x = htab_find(&of->table, hash_bytes(name), name);
    if (x != NULL) remove_name(n, of, x);
}

const struct redis_name *redis_names_first(const struct redis_names *n, uint32_t *database)
{
    const struct redis_names_of *of = names_of(n, *database);
    for (size_t i = 0; i < n->databases && (of == NULL || of->first == NULL); i++) {
        of = &n->all[i];
    }
    if (of == NULL || of->first == NULL) return NULL;
    *database = of->database;
    return of->first;
}

int64_t redis_names_since_us(const struct redis_names *n)
{
    int64_t since_us = 0;
    for (size_t i = 0; i < n->databases; i++) {
        const struct redis_name *x = n->all[i].first;
        if (x != NULL && (since_us == 0 || x->at_us < since_us)) since_us = x->at_us;
    }
    return since_us;
}

void redis_names_join(struct redis_names *n, const struct redis_names *from, int64_t at_us)
{
    for (size_t i = 0; i < from->databases; i++) {
        for (const struct redis_name *x = from->all[i].first; x != NULL; x = x->next) {
            redis_names_add(n, from->all[i].database, x->key, at_us);
        }
    }
}
