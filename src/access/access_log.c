/* access_log: a list, the oldest first. A new entry is compared with the newest few; one that is
 * the same moves to the end and counts. */
#include "access/access_log.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"

#define TEXT_BYTES_MAX 512
#define SAME_MS 60000
#define SAME_LOOK 10 /* of the newest entries that one is compared with */

struct row {
    struct access_log_entry entry;
    struct row *next, *prev;
    char *texts; /* owned */
};

struct access_log {
    struct row *first, *last; /* oldest first */
    size_t count, max;
    uint64_t last_id;
    uint64_t totals[ACCESS_LOG_REASONS];
};

struct access_log *access_log_new(void)
{
    struct access_log *log = mem_new(sizeof *log);
    log->max = 128;
    return log;
}

static void drop_oldest(struct access_log *log)
{
    struct row *x = log->first;
    log->first = x->next;
    if (log->first != NULL) log->first->prev = NULL;
    if (log->first == NULL) log->last = NULL;
    log->count--;
    mem_free(x->texts);
    mem_free(x);
}

void access_log_reset(struct access_log *log)
{
    while (log->first != NULL) drop_oldest(log);
}

void access_log_free(struct access_log *log)
{
    if (log == NULL) return;
    access_log_reset(log);
    mem_free(log);
}

void access_log_set_max(struct access_log *log, size_t entries)
{
    log->max = entries;
    while (log->count > log->max && log->first != NULL) drop_oldest(log);
}

static struct slice cut(struct slice s)
{
    return slice_of(s.data, s.len < TEXT_BYTES_MAX ? s.len : TEXT_BYTES_MAX);
}

/* The texts of the row are those of `entry`. */
static void row_fill(struct row *x, const struct access_log_entry *entry)
{
    struct slice from[] = {cut(entry->object), cut(entry->user), cut(entry->client)};
    struct slice *to[] = {&x->entry.object, &x->entry.user, &x->entry.client};
    char *texts = mem_alloc(from[0].len + from[1].len + from[2].len + 1);
    size_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        bytes_copy(texts + at, from[i].data, from[i].len);
        *to[i] = slice_of(texts + at, from[i].len);
        at += from[i].len;
    }
    mem_free(x->texts);
    x->texts = texts;
}

static bool is_same(const struct access_log_entry *a, const struct access_log_entry *b,
                    int64_t now_ms)
{
    return a->reason == b->reason && a->is_in_transaction == b->is_in_transaction &&
           now_ms - a->created_ms < SAME_MS && slice_eq(a->object, cut(b->object)) &&
           slice_eq(a->user, cut(b->user));
}

void access_log_add(struct access_log *log, const struct access_log_entry *entry)
{
    int64_t now_ms = clock_wall_ms();
    struct row *x = log->last;
    log->totals[entry->reason]++;
    if (log->max == 0) return;
    for (size_t i = 0; x != NULL && !is_same(&x->entry, entry, now_ms); i++) {
        x = i + 1 < SAME_LOOK ? x->prev : NULL;
    }
    if (x != NULL) {
        LIST_UNLINK(log->first, log->last, x, next, prev);
        log->count--;
    } else {
        x = mem_new(sizeof *x);
        x->entry.reason = entry->reason;
        x->entry.is_in_transaction = entry->is_in_transaction;
        x->entry.id = log->last_id++;
        x->entry.created_ms = now_ms;
    }
    row_fill(x, entry);
    x->entry.count++;
    x->entry.updated_ms = now_ms;
    LIST_APPEND(log->first, log->last, x, next, prev);
    log->count++;
    access_log_set_max(log, log->max);
}

uint64_t access_log_total(const struct access_log *log, enum access_log_reason reason)
{
    return log->totals[reason];
}

size_t access_log_count(const struct access_log *log)
{
    return log->count;
}

const struct access_log_entry *access_log_at(const struct access_log *log, size_t i)
{
    const struct row *x = log->last;
    while (x != NULL && i > 0) {
        x = x->prev;
        i--;
    }
    return x != NULL ? &x->entry : NULL;
}
