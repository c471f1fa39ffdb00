/* kept: see kept.h. A keep's number holds its slot and a count, so that the number of one that is
 * gone finds nothing. Entries are shared by reference; a value that is replaced stays until the end
 * of the turn, for callers that borrowed it. Pages are kept_page.c's. */
#include "backend/kept.h"

#include "base/clock.h"
#include "base/mem.h"

#define SLOT_BITS 24 /* of a number: where the keep is; above: which it is */
#define IDLE_US 60000000
#define SWEEP_US 1000000

/* That a keep has an entry; in a list of each. */
struct kept_ref {
    struct kept_ref *next, **link; /* of the keep */
    struct kept_ref *next_holder;  /* of the entry; few */
    struct keep *keep;
    struct kept_entry *entry;
    bool is_used; /* it answered the keep's waiter */
};

struct keep {
    uint64_t id;
    int64_t used_us;
    struct kept_ref *refs;
    struct kept_page *pages;
};

void kept_init(struct kept *k)
{
    *k = (struct kept){0};
    htab_init(&k->entries);
}

/* ---- keeps ---- */

static size_t slot_of(uint64_t id)
{
    return (size_t)(id & ((1u << SLOT_BITS) - 1));
}

static struct keep *keep_find(const struct kept *k, const struct waiter *w)
{
    const struct waiter *owner = w->keep_for != NULL ? w->keep_for : w;
    size_t slot = slot_of(owner->keep_id);
    if (owner->keep_id == 0 || slot >= k->keep_cap) return NULL;
    struct keep *keep = k->keeps[slot];
    return keep != NULL && keep->id == owner->keep_id ? keep : NULL;
}

/* From where the last one was found: freed ones lie anywhere. */
static size_t slot_free(struct kept *k)
{
    size_t slot = k->slot_next;
    if (k->keep_count == k->keep_cap) {
        slot = k->keep_cap;
        k->keep_cap = slot == 0 ? 16 : 2 * slot;
        INVARIANT(k->keep_cap < (1u << SLOT_BITS));
        k->keeps = mem_resize(k->keeps, k->keep_cap * sizeof *k->keeps);
        memset(&k->keeps[slot], 0, (k->keep_cap - slot) * sizeof *k->keeps);
    }
    while (k->keeps[slot] != NULL) slot = (slot + 1) % k->keep_cap;
    k->slot_next = (slot + 1) % k->keep_cap;
    return slot;
}

static struct keep *keep_make(struct kept *k, struct waiter *w)
{
    struct waiter *owner = w->keep_for != NULL ? w->keep_for : w;
    struct keep *keep = keep_find(k, w);
    if (keep == NULL) {
        size_t slot = slot_free(k);
        keep = mem_new(sizeof *keep);
        keep->id = ++k->numbers << SLOT_BITS | slot;
        owner->keep_id = keep->id;
        k->keeps[slot] = keep;
        k->keep_count++;
    }
    keep->used_us = clock_mono_us();
    return keep;
}

static void page_drop(struct kept_page *g)
{
    if (g->state == KEPT_PENDING) {
        g->is_dropped = true;
    } else {
        kept_page_free(g);
    }
}

static struct kept_ref *ref_find(const struct keep *keep, const struct kept_entry *entry)
{
    struct kept_ref *ref = entry->holders;
    while (ref != NULL && ref->keep != keep) ref = ref->next_holder;
    return ref;
}

static void ref_drop(struct kept *k, struct kept_ref *ref)
{
    struct kept_ref **at = &ref->entry->holders;
    while (*at != ref) at = &(*at)->next_holder;
    *at = ref->next_holder;
    *ref->link = ref->next;
    if (ref->next != NULL) ref->next->link = ref->link;
    kept_unref(k, ref->entry);
    mem_free(ref);
}

static void keep_end(struct kept *k, struct keep *keep)
{
    while (keep->refs != NULL) ref_drop(k, keep->refs);
    while (keep->pages != NULL) {
        struct kept_page *g = keep->pages;
        keep->pages = g->next;
        page_drop(g);
    }
    k->keeps[slot_of(keep->id)] = NULL;
    k->keep_count--;
    mem_free(keep);
}

void kept_end_used(struct kept *k, struct waiter *w)
{
    struct keep *keep = keep_find(k, w);
    for (struct kept_ref *ref = keep == NULL ? NULL : keep->refs, *next = NULL; ref != NULL;
         ref = next) {
        next = ref->next;
        if (ref->is_used) ref_drop(k, ref);
    }
    struct kept_page **page = keep == NULL ? NULL : &keep->pages;
    while (page != NULL && *page != NULL) {
        struct kept_page *g = *page;
        if (g->is_used) {
            *page = g->next;
            page_drop(g);
        } else {
            page = &g->next;
        }
    }
    if (keep != NULL && keep->refs == NULL && keep->pages == NULL) kept_end(k, w);
}

void kept_end(struct kept *k, struct waiter *w)
{
    struct keep *keep = keep_find(k, w);
    if (keep != NULL) keep_end(k, keep);
    if (w->keep_for == NULL) w->keep_id = 0;
}

void kept_sweep(struct kept *k, int64_t now_us)
{
    if (k->keep_count == 0 || now_us - k->swept_us < SWEEP_US) return;
    k->swept_us = now_us;
    for (size_t i = 0; i < k->keep_cap; i++) {
        struct keep *keep = k->keeps[i];
        if (keep != NULL && now_us - keep->used_us > IDLE_US) keep_end(k, keep);
    }
}

struct kept_page **kept_pages(struct kept *k, struct waiter *w, bool makes)
{
    struct keep *keep = makes ? keep_make(k, w) : keep_find(k, w);
    if (keep == NULL) return NULL;
    keep->used_us = clock_mono_us();
    return &keep->pages;
}

/* ---- entries ---- */

struct kept_entry *kept_find(const struct kept *k, uint64_t hash, struct slice key)
{
    return k->entries.count == 0 ? NULL : htab_find(&k->entries, hash, key);
}

static size_t entry_bytes(const struct kept_entry *entry)
{
    return sizeof *entry + entry->key.len + entry->value.len;
}

/* The old value may be borrowed until the turn ends. */
static void value_leave(struct kept *k, struct kept_entry *entry)
{
    struct kept_entry *rest = mem_new(sizeof *rest);
    rest->value = entry->value;
    waiter_list_init(&rest->waiters);
    rest->dying = k->dying;
    k->dying = rest;
    buf_init(&entry->value);
}

static void entry_set(struct kept *k, struct kept_entry *entry, const struct entry *value)
{
    k->bytes -= entry_bytes(entry);
    if (entry->value.len > 0) value_leave(k, entry);
    buf_append(&entry->value, value->value.data, value->value.len);
    if (entry->value.is_failed) {
        buf_fini(&entry->value);
        entry->state = KEPT_FAILED;
        (void)error_set(&entry->error, ERR_NOMEM, "out of memory for a value");
    } else {
        entry->state = KEPT_GOOD;
        entry->entry = *value;
        entry->entry.value = buf_slice(&entry->value);
    }
    k->bytes += entry_bytes(entry);
}

static void ref_add(struct kept *k, struct kept_entry *entry, struct waiter *w)
{
    struct keep *keep = keep_make(k, w);
    if (ref_find(keep, entry) != NULL) return;
    struct kept_ref *ref = mem_new(sizeof *ref);
    *ref = (struct kept_ref){.next = keep->refs,
                             .link = &keep->refs,
                             .next_holder = entry->holders,
                             .keep = keep,
                             .entry = entry};
    if (keep->refs != NULL) keep->refs->link = &ref->next;
    keep->refs = entry->holders = ref;
    entry->refs++;
}

struct kept_entry *kept_add(struct kept *k, uint64_t hash, struct slice key, struct waiter *w)
{
    struct kept_entry *entry = mem_new(sizeof *entry + key.len);
    memcpy(entry + 1, key.data, key.len);
    entry->key = slice_of(entry + 1, key.len);
    entry->hash = hash;
    entry->state = KEPT_PENDING;
    entry->refs = 1;
    buf_init(&entry->value);
    waiter_list_init(&entry->waiters);
    waiter_add(&entry->waiters, w);
    htab_insert(&k->entries, hash, &entry->key);
    k->bytes += entry_bytes(entry);
    ref_add(k, entry, w);
    return entry;
}

void kept_unref(struct kept *k, struct kept_entry *entry)
{
    INVARIANT(entry->refs > 0);
    if (--entry->refs > 0) return;
    htab_remove(&k->entries, entry->hash, &entry->key);
    k->bytes -= entry_bytes(entry);
    entry->dying = k->dying;
    k->dying = entry;
}

void kept_turn_end(struct kept *k)
{
    while (k->dying != NULL) {
        struct kept_entry *entry = k->dying;
        k->dying = entry->dying;
        waiter_drop_all(&entry->waiters);
        buf_fini(&entry->value);
        mem_free(entry);
    }
}

enum err kept_answer(struct kept *k, struct kept_entry *entry, struct entry *out, struct waiter *w,
                     bool *is_again, struct error *e)
{
    struct keep *keep = keep_find(k, w);
    *is_again = false;
    if (keep != NULL) keep->used_us = clock_mono_us();
    struct kept_ref *ref = keep != NULL ? ref_find(keep, entry) : NULL;
    if (entry->state == KEPT_GOOD) {
        if (ref != NULL) ref->is_used = true;
        *out = entry->entry;
        return OK;
    }
    if (entry->state == KEPT_FAILED) {
        if (ref != NULL) {
            struct error failed = entry->error;
            ref_drop(k, ref);
            return error_set(e, failed.code, "%s", failed.text);
        }
        entry->state = KEPT_PENDING;
        entry->refs++;
        *is_again = true;
    }
    ref_add(k, entry, w);
    waiter_add(&entry->waiters, w);
    return error_set(e, ERR_WAIT, "the data is being read from disk");
}

void kept_read(struct kept *k, struct kept_entry *entry, const struct entry *value,
               const struct error *failed)
{
    if (entry->state != KEPT_PENDING) return; /* a memtable said it meanwhile */
    if (failed != NULL) {
        entry->state = KEPT_FAILED;
        entry->error = *failed;
    } else {
        entry_set(k, entry, value);
    }
}

void kept_refresh(struct kept *k, uint64_t hash, struct slice key, const struct entry *value)
{
    struct kept_entry *entry = kept_find(k, hash, key);
    if (entry != NULL) entry_set(k, entry, value);
}

void kept_flush(struct kept *k, uint16_t database)
{
    static const struct entry nothing;
    struct kept_entry *entry = NULL;
    for (size_t at = 0; (entry = htab_next(&k->entries, &at)) != NULL;) {
        if (key_database(entry->key) == database) entry_set(k, entry, &nothing);
    }
}

void kept_forget_pages(struct kept *k, const struct memtable *m)
{
    for (size_t i = 0; k->keep_count > 0 && i < k->keep_cap; i++) {
        struct kept_page **at = k->keeps[i] == NULL ? NULL : &k->keeps[i]->pages;
        while (at != NULL && *at != NULL) {
            struct kept_page *g = *at;
            bool is_touched = kept_page_touches(g, m);
            if (is_touched && g->state == KEPT_PENDING) g->is_stale = true;
            if (is_touched && g->state == KEPT_GOOD) {
                *at = g->next;
                kept_page_free(g);
            } else {
                at = &g->next;
            }
        }
    }
}

void kept_fini(struct kept *k)
{
    for (size_t i = 0; i < k->keep_cap; i++) {
        if (k->keeps[i] != NULL) keep_end(k, k->keeps[i]);
    }
    INVARIANT(k->entries.count == 0);
    kept_turn_end(k);
    htab_fini(&k->entries);
    mem_free(k->keeps);
}
