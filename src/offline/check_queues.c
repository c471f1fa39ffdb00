/* check_queues: the queues of a database. Each row is decoded, and looks for those that belong to
 * it: of a message that waits MESSAGE and READY; of one that is leased MESSAGE, STATE and LEASE; of
 * a dead letter MESSAGE, STATE and DEAD. What there is of each is counted, so that a row too few is
 * seen too, and compared with the queue's own figures.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/htab.h"
#include "base/mem.h"
#include "codec/key.h"
#include "codec/value.h"
#include "offline/check_contents.h"
#include "queue/rows.h"

#define PART "queues"
#define TIME_BYTES 8
#define ATTEMPTS_BYTES 4
#define IDS_BYTES 8

struct content_queue {
    struct slice name; /* first: the table looks here */
    struct slice key;  /* of the first row of it that came */
    bool has_figures;
    struct counts counts; /* as the row has them */
    /* As counted. */
    uint64_t messages, ready, delayed, leased, leases;
    uint64_t dead_messages, dead_states, dead;
};

static struct content_queue *queue_of(struct contents *c, struct slice name, struct slice key)
{
    uint64_t hash = hash_bytes(name);
    struct content_queue *q = htab_find(&c->queues, hash, name);
    if (q != NULL) return q;
    q = arena_alloc(&c->own, sizeof *q);
    *q = (struct content_queue){.name = arena_copy(&c->own, name), .key = arena_copy(&c->own, key)};
    htab_insert(&c->queues, hash, &q->name);
    return q;
}

/* A row of the same queue in another space; *out is not to be looked at when this is false. */
static bool other_row(struct contents *c, const struct row_place *place, enum space space,
                      struct slice rest, struct entry *out)
{
    return contents_get(c, row_key(&c->arena, place, space, rest), out);
}

static void must_have(struct contents *c, const struct store_row *row,
                      const struct row_place *place, enum space space, struct slice rest)
{
    static const char *const names[] = {[SPACE_MESSAGE] = "message",
                                        [SPACE_READY] = "row among the waiting messages",
                                        [SPACE_STATE] = "state",
                                        [SPACE_LEASE] = "lease",
                                        [SPACE_DEAD] = "row among the dead letters"};
    struct entry other;
    if (!other_row(c, place, space, rest, &other) || other.exists) return;
    contents_say(c, PART, row->key, "it has no %s", names[space]);
}

/* ---- rows ---- */

static void figures_row(struct contents *c, const struct store_row *row, struct slice name)
{
    if (name.len == 0 && c->database == IDS_DATABASE) {
        if (row->value.len == IDS_BYTES) return;
        contents_say(c, PART, row->key, "the addend of ids has %zu bytes", row->value.len);
        return;
    }
    if (row->value.len != COUNTS_BYTES || name.len == 0) {
        contents_say(c, PART, row->key, "its statistics have %zu bytes, not %d", row->value.len,
                     COUNTS_BYTES);
        return;
    }
    struct content_queue *q = queue_of(c, name, row->key);
    q->has_figures = true;
    counts_read(row->value, &q->counts);
    if (q->counts.incarnation > c->applied || q->counts.incarnation == INCARNATION_DEAD) {
        contents_say(c, PART, row->key, "it was created at version %llu, but the newest is %llu",
                     (unsigned long long)q->counts.incarnation, (unsigned long long)c->applied);
    }
}

/* Keys that get the value when the message could not be delivered. */
static bool undelivered_are_good(const struct message *m)
{
    const uint8_t *at = m->undelivered;
    const uint8_t *end = at + m->undelivered_bytes;
    struct error ignored;
    for (size_t i = 0; i < m->undelivered_count; i++) {
        if (end - at < 2) return false;
        size_t len = (size_t)at[0] << 8 | at[1];
        if ((size_t)(end - at - 2) < len) return false;
        if (len == 0 || key_check(slice_of(at + 2, len), &ignored) != OK) return false;
        at += 2 + len;
    }
    return at == end;
}

static void message_check(struct contents *c, const struct store_row *row)
{
    struct message m;
    struct error why;
    c->k->messages++;
    if (message_read(row->value, &m, &why) != OK) {
        contents_say(c, PART, row->key, "it cannot be decoded: %.200s", why.text);
    } else if (!undelivered_are_good(&m)) {
        contents_say(c, PART, row->key, "its UNDELIVERED keys cannot be decoded");
    } else if (value_check(m.value, &why) != OK) {
        contents_say(c, PART, row->key, "its value cannot be decoded: %.200s", why.text);
    }
}

static void message_row_check(struct contents *c, struct content_queue *q,
                              const struct store_row *row, const struct row_place *place,
                              struct slice id)
{
    struct row_place alive = *place;
    struct entry other;
    message_check(c, row);
    if (place->incarnation != INCARNATION_DEAD) {
        q->messages++;
        return;
    }
    q->dead_messages++;
    must_have(c, row, place, SPACE_STATE, id);
    if (!q->has_figures) return;
    alive.incarnation = q->counts.incarnation;
    if (other_row(c, &alive, SPACE_MESSAGE, id, &other) && other.exists) {
        contents_say(c, PART, row->key, "the message is among the dead letters, but is not one");
    }
}

static void attempts_check(struct contents *c, const struct store_row *row)
{
    if (row->value.len >= ATTEMPTS_BYTES) return;
    contents_say(c, PART, row->key, "it has no number of attempts");
}

static void ready_row_check(struct contents *c, struct content_queue *q,
                            const struct store_row *row, const struct row_place *place,
                            struct slice rest)
{
    struct slot slot;
    struct entry other;
    memcpy(slot.bytes, rest.data, SLOT_BYTES);
    struct slice id = slice_of(rest.data + TIME_BYTES, ID_BYTES);
    *(slot_cmp(&slot, &q->counts.split) <= 0 ? &q->ready : &q->delayed) += 1;
    attempts_check(c, row);
    must_have(c, row, place, SPACE_MESSAGE, id);
    if (other_row(c, place, SPACE_STATE, id, &other) && other.exists) {
        contents_say(c, PART, row->key, "the message is both waiting and leased");
    }
}

static void state_row_check(struct contents *c, struct content_queue *q,
                            const struct store_row *row, const struct row_place *place,
                            struct slice id)
{
    struct state s;
    struct error why;
    struct message_id message;
    bool is_dead = place->incarnation == INCARNATION_DEAD;
    memcpy(message.bytes, id.data, ID_BYTES);
    *(is_dead ? &q->dead_states : &q->leased) += 1;
    must_have(c, row, place, SPACE_MESSAGE, id);
    if (state_read(row->value, &s, &why) != OK) {
        contents_say(c, PART, row->key, "it cannot be decoded: %.200s", why.text);
        return;
    }
    if (s.kind != (is_dead ? STATE_DEAD : STATE_LEASED) || s.version > c->applied) {
        contents_say(c, PART, row->key, "unexpected state of kind %d and version %llu", (int)s.kind,
                     (unsigned long long)s.version);
        return;
    }
    struct slot slot = slot_of(s.time_ms, &message);
    must_have(c, row, place, is_dead ? SPACE_DEAD : SPACE_LEASE, slice_of(slot.bytes, SLOT_BYTES));
}

/* A lease or a dead letter, in the order of time: the state says the same time. */
static void timed_row_check(struct contents *c, struct content_queue *q,
                            const struct store_row *row, const struct row_place *place,
                            struct slice rest)
{
    struct slice id = slice_of(rest.data + TIME_BYTES, ID_BYTES);
    struct entry other;
    struct state s;
    struct error ignored;
    bool is_dead = key_space(row->key) == SPACE_DEAD;
    *(is_dead ? &q->dead : &q->leases) += 1;
    if (is_dead) attempts_check(c, row);
    if (!is_dead && row->value.len > 0) contents_say(c, PART, row->key, "a lease has a value");
    if (!other_row(c, place, SPACE_STATE, id, &other)) return;
    if (!other.exists) {
        contents_say(c, PART, row->key, "it has no state");
    } else if (state_read(other.value, &s, &ignored) == OK &&
               s.time_ms != (int64_t)get_u64(rest.data)) {
        contents_say(c, PART, row->key, "its time is %llu, but that in its state is %lld",
                     (unsigned long long)get_u64(rest.data), (long long)s.time_ms);
    }
}

static bool rest_is_good(enum space space, struct slice rest)
{
    switch (space) {
    case SPACE_QUEUE: return rest.len == 0;
    case SPACE_MESSAGE:
    case SPACE_STATE: return rest.len == ID_BYTES;
    case SPACE_DEDUP: return rest.len > 0;
    default: return rest.len == SLOT_BYTES;
    }
}

/* Rows of what was purged are forgotten ranges, and do not come here. */
static bool incarnation_is_good(struct contents *c, const struct content_queue *q,
                                const struct store_row *row, const struct row_place *place)
{
    enum space space = key_space(row->key);
    bool may_be_dead = space == SPACE_MESSAGE || space == SPACE_STATE;
    if (space == SPACE_DEAD || !q->has_figures) return true;
    if (place->incarnation == q->counts.incarnation) return true;
    if (may_be_dead && place->incarnation == INCARNATION_DEAD) return true;
    contents_say(c, PART, row->key, "it belongs to incarnation %llu of the queue, but that is %llu",
                 (unsigned long long)place->incarnation, (unsigned long long)q->counts.incarnation);
    return false;
}

void check_queues_row(struct contents *c, const struct store_row *row)
{
    struct row_place place;
    struct slice rest;
    enum space space = key_space(row->key);
    if (!row_split(row->key, &place, &rest) || !rest_is_good(space, rest)) {
        contents_say(c, PART, row->key, "its key cannot be decoded");
        return;
    }
    if (space == SPACE_QUEUE) {
        figures_row(c, row, place.queue);
        return;
    }
    if (space == SPACE_DEDUP) { /* these outlive the figures of an empty queue */
        if (row->value.len == TIME_BYTES) return;
        contents_say(c, PART, row->key, "its time has %zu bytes", row->value.len);
        return;
    }
    struct content_queue *q = queue_of(c, place.queue, row->key);
    if (!incarnation_is_good(c, q, row, &place)) return;
    switch (space) {
    case SPACE_MESSAGE: message_row_check(c, q, row, &place, rest); break;
    case SPACE_READY: ready_row_check(c, q, row, &place, rest); break;
    case SPACE_STATE: state_row_check(c, q, row, &place, rest); break;
    default: timed_row_check(c, q, row, &place, rest); break;
    }
}

/* ---- figures ---- */

static void figure_check(struct contents *c, const struct content_queue *q, const char *what,
                         uint64_t is, uint64_t said)
{
    if (is == said) return;
    contents_say(c, PART, q->key, "recorded are %llu %s, but there are %llu",
                 (unsigned long long)said, what, (unsigned long long)is);
}

/* Ids of what waits, to name the message that does not. */
struct waiting {
    struct contents *c;
    struct message_id *ids; /* owned */
    size_t count, cap;
};

static void waiting_add(void *arg, const struct store_row *row)
{
    struct waiting *w = arg;
    if (row->key.len < ID_BYTES) return;
    if (w->count == w->cap) {
        w->cap = w->cap == 0 ? 1024 : 2 * w->cap;
        w->ids = mem_resize(w->ids, w->cap * sizeof *w->ids);
    }
    memcpy(w->ids[w->count++].bytes, row->key.data + row->key.len - ID_BYTES, ID_BYTES);
}

static int by_id(const void *a, const void *b)
{
    return memcmp(a, b, ID_BYTES);
}

static void message_find(void *arg, const struct store_row *row)
{
    struct waiting *w = arg;
    struct contents *c = w->c;
    struct row_place place;
    struct slice id;
    struct entry state;
    if (!row_split(row->key, &place, &id) || id.len != ID_BYTES) return;
    bool waits = w->count > 0 && bsearch(id.data, w->ids, w->count, sizeof *w->ids, by_id) != NULL;
    if (!waits && other_row(c, &place, SPACE_STATE, id, &state) && !state.exists) {
        contents_say(c, PART, row->key, "the message is neither waiting nor leased");
    }
    arena_reset(&c->arena);
}

/* Each message waits or is leased, and once. */
static void messages_end(struct contents *c, const struct content_queue *q)
{
    struct waiting w = {.c = c};
    struct row_place place = {
        .database = c->database, .queue = q->name, .incarnation = q->counts.incarnation};
    struct slice none = {0};
    if (q->messages == q->ready + q->delayed + q->leased) return;
    contents_range(c, row_key(&c->own, &place, SPACE_READY, none),
                   row_key_end(&c->own, &place, SPACE_READY), waiting_add, &w);
    if (w.count > 1) qsort(w.ids, w.count, sizeof *w.ids, by_id);
    for (size_t i = 1; i < w.count; i++) {
        char text[ID_CHARS];
        if (by_id(&w.ids[i - 1], &w.ids[i]) != 0) continue;
        id_format(&w.ids[i], text);
        contents_say(c, PART, q->key, "message %.*s is waiting twice", ID_CHARS, text);
    }
    contents_range(c, row_key(&c->own, &place, SPACE_MESSAGE, none),
                   row_key_end(&c->own, &place, SPACE_MESSAGE), message_find, &w);
    mem_free(w.ids);
}

static void queue_end(struct contents *c, const struct content_queue *q)
{
    const struct counts *said = &q->counts;
    if (!q->has_figures) {
        contents_say(c, PART, q->key, "a row of queue '%.*s', which has no statistics",
                     (int)q->name.len, (const char *)q->name.data);
        return;
    }
    figure_check(c, q, "ready messages", q->ready, said->ready);
    figure_check(c, q, "delayed messages", q->delayed, said->delayed);
    figure_check(c, q, "leased messages", q->leased, said->leased);
    figure_check(c, q, "leases", q->leases, said->leased);
    figure_check(c, q, "dead letters", q->dead, said->dead);
    figure_check(c, q, "messages of dead letters", q->dead_messages, said->dead);
    figure_check(c, q, "states of dead letters", q->dead_states, said->dead);
    messages_end(c, q);
}

void check_queues_end(struct contents *c)
{
    const struct content_queue *q = NULL;
    for (size_t at = 0; (q = htab_next(&c->queues, &at)) != NULL;) {
        if (!c->is_unreadable && !c->has_aside) queue_end(c, q);
    }
    htab_fini(&c->queues);
    htab_init(&c->queues);
}
