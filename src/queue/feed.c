/* feed: what commits do to the queues in memory, to pushing and to those who wait in line. */
#include "queue/queue_int.h"

static void on_ready(struct queue *q, const struct slot *s, bool is_set)
{
    if (!is_set) {
        window_remove(&q->ready, s);
        window_remove(&q->upcoming, s);
        return;
    }
    window_set(&q->ready, s);
    if (slot_cmp(s, &q->counts.split) > 0) window_set(&q->upcoming, s);
}

/* A queue of a new incarnation has no rows but those of this commit. */
static void on_counts(struct queue *q, const struct mutation *mu)
{
    struct counts after = {0};
    bool is_set = mu->kind == MUTATION_SET;
    if (is_set) counts_read(mu->value, &after);
    if (q->counts.incarnation != after.incarnation) {
        queue_windows_empty(q);
        push_on_purge(q->queues, q);
    }
    if (is_set) queue_count_flow(q, &after);
    queue_set_counts(q, is_set ? &after : NULL);
}

static void on_flush(struct queues *qs, uint16_t database, uint64_t version)
{
    for (struct queue *q = qs->all.next; q != &qs->all;) {
        struct queue *next = q->next;
        if (key_database(q->key) == database) {
            queue_set_counts(q, NULL);
            q->version = version;
            queue_windows_empty(q);
            queue_drop_unused(qs, q);
        }
        q = next;
    }
    id_window_forget(&qs->dedup, database);
    push_on_flush(qs, database);
}

static void on_dedup(struct queues *qs, const struct mutation *mu)
{
    if (mu->kind == MUTATION_SET) {
        id_window_put(&qs->dedup, mu->key, (int64_t)get_u64(mu->value.data));
    } else {
        id_window_remove(&qs->dedup, mu->key);
    }
}

/* A row of READY or LEASE. Those of another incarnation went with a PURGE of the same commit. */
static void on_slot(struct queues *qs, const struct mutation *mu)
{
    struct row_place place;
    struct slice rest;
    struct slot s;
    bool is_set = mu->kind == MUTATION_SET;
    if (!row_split(mu->key, &place, &rest) || rest.len != SLOT_BYTES) return;
    struct queue *q = queue_find(qs, place.database, place.queue);
    if (q == NULL || !q->exists || q->counts.incarnation != place.incarnation) return;
    memcpy(s.bytes, rest.data, SLOT_BYTES);
    if (key_space(mu->key) == SPACE_READY) {
        on_ready(q, &s, is_set);
    } else if (is_set) {
        window_set(&q->leases, &s);
    } else {
        window_remove(&q->leases, &s);
    }
}

/* One that is loaded may be older than all that there were. */
static void on_dead(struct queues *qs, const struct mutation *mu)
{
    struct row_place place;
    struct slice rest;
    if (mu->kind != MUTATION_SET || !row_split(mu->key, &place, &rest)) return;
    struct queue *q = queue_find(qs, place.database, place.queue);
    if (q == NULL || rest.len != SLOT_BYTES) return;
    int64_t failed_ms = (int64_t)get_u64(rest.data);
    if (failed_ms < q->dead_from_ms) q->dead_from_ms = failed_ms;
}

/* The figures come first: they say which rows are ready. */
static bool on_figures(struct queues *qs, uint64_t version, const struct write_set *ws)
{
    bool has_any = false;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        if (mu->kind == MUTATION_FLUSH) {
            on_flush(qs, key_database(mu->key), version);
        } else if (is_ids_row(mu->key)) {
            ids_row_read(qs, mu->value);
        } else if (key_space(mu->key) == SPACE_QUEUE) {
            struct queue *q = queue_make(qs, key_database(mu->key), queue_name_of(mu->key));
            q->version = version;
            queue_activate(qs, q);
            on_counts(q, mu);
            has_any = true;
        } else if (key_space(mu->key) == SPACE_DEDUP) {
            on_dedup(qs, mu);
        }
    }
    return has_any;
}

void feed_on_commit(void *arg, uint64_t version, const struct write_set *ws)
{
    struct queues *qs = arg;
    if (!on_figures(qs, version, ws)) return;
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        if (mu->kind == MUTATION_FLUSH || mu->kind == MUTATION_FORGET) continue;
        uint8_t space = key_space(mu->key);
        if (space == SPACE_READY || space == SPACE_LEASE) on_slot(qs, mu);
        if (space == SPACE_STATE) push_on_state(qs, mu);
        if (space == SPACE_DEAD) on_dead(qs, mu);
    }
    for (size_t i = 0; i < ws->count; i++) {
        const struct mutation *mu = &ws->items[i];
        if (mu->kind == MUTATION_FLUSH || mu->kind == MUTATION_FORGET) continue;
        if (key_space(mu->key) != SPACE_QUEUE || is_ids_row(mu->key)) continue;
        struct queue *q = queue_find(qs, key_database(mu->key), queue_name_of(mu->key));
        line_wake(q);
        queue_drop_unused(qs, q);
    }
}
