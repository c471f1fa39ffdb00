/* judge_queue: rule 6, the queue. */
#include <inttypes.h>
#include <stdlib.h>

#include "campaign/judge_int.h"

struct message {
    int64_t number;
    size_t enqueued, acked; /* by which write that happened; NO_OP = by none */
    size_t takes;
};

struct note {
    int64_t message, attempt;
    size_t op;
};

static int by_number(const void *a, const void *b)
{
    int64_t x = ((const struct message *)a)->number;
    int64_t y = ((const struct message *)b)->number;
    return (x > y) - (x < y);
}

static int by_attempt(const void *a, const void *b)
{
    const struct note *x = a;
    const struct note *y = b;
    if (x->message != y->message) return x->message < y->message ? -1 : 1;
    return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

static struct message *find(const struct history_list *messages, int64_t number)
{
    struct message key = {.number = number};
    if (messages->count == 0) return NULL;
    return bsearch(&key, messages->items, messages->count, sizeof key, by_number);
}

static const char *name_of(const struct judge *j, size_t op)
{
    return history_ops(j->h)[op].name;
}

/* Those that were enqueued by a write that happened. */
static void collect(struct judge *j, struct history_list *messages)
{
    for (size_t i = 0; i < j->h->ops.count; i++) {
        const struct history_op *op = &history_ops(j->h)[i];
        for (size_t k = 0; j->commit_of[i] != 0 && k < op->count; k++) {
            const struct history_effect *e = &history_effects(j->h, op)[k];
            if (e->kind != HISTORY_ENQUEUE) continue;
            struct message *m = history_add(messages);
            *m = (struct message){.number = e->n, .enqueued = i, .acked = NO_OP};
        }
    }
    if (messages->count > 0) {
        qsort(messages->items, messages->count, sizeof(struct message), by_number);
    }
}

static void take_ack(struct judge *j, const struct history_list *messages, size_t i, int64_t number)
{
    struct message *m = find(messages, number);
    if (m == NULL) {
        judge_problem(j, "write %s acknowledged message %" PRId64 ", which no write enqueued",
                      name_of(j, i), number);
    } else if (m->acked != NO_OP) {
        judge_problem(j, "message %" PRId64 " was acknowledged twice: by %s and %s", number,
                      name_of(j, m->acked), name_of(j, i));
    } else {
        m->acked = i;
    }
}

static size_t take_acks(struct judge *j, const struct history_list *messages)
{
    size_t acks = 0;
    for (size_t i = 0; i < j->h->ops.count; i++) {
        const struct history_op *op = &history_ops(j->h)[i];
        for (size_t k = 0; j->commit_of[i] != 0 && k < op->count; k++) {
            const struct history_effect *e = &history_effects(j->h, op)[k];
            if (e->kind != HISTORY_ACK) continue;
            take_ack(j, messages, i, e->n);
            acks++;
        }
    }
    return acks;
}

static void take_delivery(struct judge *j, const struct history_list *messages, size_t i)
{
    const struct history_op *ops = history_ops(j->h);
    struct message *m = find(messages, ops[i].message);
    if (m == NULL) {
        judge_problem(j, "take %s: message %" PRId64 " was enqueued by nobody", ops[i].name,
                      ops[i].message);
        return;
    }
    m->takes++;
    if (ops[i].ended_us < ops[m->enqueued].begun_us) {
        judge_problem(j, "take %s: message %" PRId64 " came before %s enqueued it", ops[i].name,
                      ops[i].message, ops[m->enqueued].name);
    }
    if (m->acked != NO_OP && ops[m->acked].outcome == HISTORY_DONE &&
        ops[m->acked].ended_us < ops[i].begun_us) {
        judge_problem(j, "take %s: message %" PRId64 " came after %s had acknowledged it",
                      ops[i].name, ops[i].message, ops[m->acked].name);
    }
}

static void take_deliveries(struct judge *j, const struct history_list *messages)
{
    struct note *notes = judge_room(j->h->ops.count, sizeof *notes);
    const struct history_op *ops = history_ops(j->h);
    size_t n = 0;
    for (size_t i = 0; i < j->h->ops.count; i++) {
        if (ops[i].kind != HISTORY_TAKE) continue;
        take_delivery(j, messages, i);
        notes[n++] = (struct note){ops[i].message, ops[i].attempt, i};
    }
    qsort(notes, n, sizeof *notes, by_attempt);
    for (size_t i = 1; i < n; i++) {
        if (by_attempt(&notes[i], &notes[i - 1]) != 0) continue;
        judge_problem(j,
                      "message %" PRId64 " was delivered twice as attempt %" PRId64 ": %s and %s",
                      notes[i].message, notes[i].attempt, name_of(j, notes[i - 1].op),
                      name_of(j, notes[i].op));
    }
    free(notes);
}

static void compare(struct judge *j, const char *what, int64_t said, size_t wanted)
{
    if (said == (int64_t)wanted) return;
    judge_problem(j, "the queue says %" PRId64 " %s, should be %zu", said, what, wanted);
}

void judge_queue(struct judge *j)
{
    struct history_list messages = {.item_bytes = sizeof(struct message)};
    collect(j, &messages);
    size_t acks = take_acks(j, &messages);
    take_deliveries(j, &messages);
    for (size_t i = 0; i < messages.count; i++) {
        const struct message *m = (const struct message *)messages.items + i;
        if (m->acked == NO_OP) {
            judge_problem(j, "message %" PRId64 " of %s is lost: enqueued, never acknowledged",
                          m->number, name_of(j, m->enqueued));
        } else if (m->takes == 0) {
            judge_problem(j, "message %" PRId64 " was acknowledged by %s, but delivered to nobody",
                          m->number, name_of(j, m->acked));
        }
    }
    if (j->h->has_queue) {
        compare(j, "enqueued", j->h->enqueued, messages.count);
        compare(j, "acknowledged", j->h->acked, acks);
        compare(j, "left", j->h->left, 0);
        compare(j, "dead", j->h->dead, 0);
    }
    free(messages.items);
}
