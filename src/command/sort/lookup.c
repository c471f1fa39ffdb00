/* lookup: the values that BY and GET of SORT mean. Each is a read of a key that the command does
 * not name. What has to wait for the disk begins some of those that follow together, so that the
 * command does not run again for each of them.
 */
#include "codec/value.h"
#include "command/sort/sort_int.h"

#define LOOKUPS_MAX COLLECTION_ROWS_MAX /* of one command, in its turn of the loop */
#define PREFETCH_MAX 256

struct sort_pattern sort_pattern_of(struct slice word)
{
    struct sort_pattern p = {.is_element = slice_eq(word, slice_str("#"))};
    const uint8_t *star = word.len > 0 ? memchr(word.data, '*', word.len) : NULL;
    p.is_constant = star == NULL && !p.is_element;
    if (star == NULL) return p;
    p.before = slice_of(word.data, (size_t)(star - word.data));
    p.after = slice_of(star + 1, word.len - p.before.len - 1);
    const uint8_t *arrow = memmem(p.after.data, p.after.len, "->", 2);
    if (arrow == NULL) return p;
    size_t key = (size_t)(arrow - p.after.data);
    if (p.after.len == key + 2) return p; /* no field: it is part of the key */
    p.field = slice_of(arrow + 2, p.after.len - key - 2);
    p.after.len = key;
    return p;
}

/* False: no key can be called so. */
static bool key_of(struct request *rq, const struct sort_pattern *p, struct slice element,
                   struct slice *key)
{
    size_t len = p->before.len + element.len + p->after.len;
    uint8_t *word = arena_alloc(rq->arena, len + 1);
    bytes_copy(word, p->before.data, p->before.len);
    bytes_copy(word + p->before.len, element.data, element.len);
    bytes_copy(word + p->before.len + element.len, p->after.data, p->after.len);
    return arg_string_key(rq, slice_of(word, len), key) == OK;
}

/* What is there is told from nothing, also when it is empty. */
static struct slice there(struct slice value)
{
    return value.len > 0 ? value : slice_of("", 0);
}

/* What is no string, or no hash, is as one that is not there. */
static enum err value_of(struct request *rq, struct view *v, const struct sort_pattern *p,
                         struct slice key, struct slice *out)
{
    struct collection c;
    struct element field;
    struct entry entry;
    struct slice bytes;
    bool is_one = false;
    bool found = false;
    if (p->field.data == NULL) {
        enum err r = view_get(v, key, &entry, &rq->error);
        if (r == OK && entry.exists && value_bytes_of(entry.value, &bytes)) *out = there(bytes);
        return r;
    }
    enum err r = collection_look(rq->env->db->collections, v, key, &c, &is_one, &rq->error);
    if (r != OK || !is_one || c.head.kind != COLLECTION_HASH) return r;
    r = collection_find(&c, p->field, &found, &field, &rq->error);
    if (r == OK && found) *out = there(field.value);
    return r;
}

static enum err look_up(struct request *rq, struct view *v, const struct sort_pattern *p,
                        struct slice element, struct slice *out)
{
    struct slice key;
    *out = p->is_element ? element : slice_of(NULL, 0);
    if (p->is_element || p->is_constant || !key_of(rq, p, element, &key)) return OK;
    return value_of(rq, v, p, key, out);
}

static void ignore_ready(struct waiter *w)
{
    (void)w;
}

/* The keys of the items from number `from` on; what is read of them is kept for the request. */
static void prefetch(struct request *rq, const struct sort_patterns *patterns,
                     const struct sort_items *of, size_t from)
{
    size_t begun = 0;
    size_t count = patterns->count;
    for (size_t i = from * count; i < of->count * count && begun < PREFETCH_MAX; i++) {
        const struct sort_pattern *p = &patterns->items[i % count];
        struct waiter w = {.ready = ignore_ready, .keep_for = rq->waiter};
        struct error error = {0};
        struct slice key;
        struct entry entry;
        if (p->is_element || p->is_constant) continue;
        if (!key_of(rq, p, of->items[i / count].element, &key)) continue;
        begun += engine_get(rq->env->db->engine, NULL, key, &entry, &w, &error) == ERR_WAIT;
        waiter_cancel(&w);
    }
}

enum err sort_look_up(struct request *rq, struct view *v, const struct sort_patterns *patterns,
                      const struct sort_items *of, struct slice **out)
{
    uint64_t bytes_max = engine_limits(rq->env->db->engine)->txn_bytes_max;
    uint64_t bytes = 0;
    size_t count = of->count * patterns->count;
    if (count > LOOKUPS_MAX) {
        return error_set(&rq->error, ERR_LIMIT,
                         "BY and GET of %zu elements need more reads than one command may make "
                         "(%d)",
                         of->count, LOOKUPS_MAX);
    }
    struct slice *values = arena_alloc(rq->arena, (count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        size_t item = i / patterns->count;
        const struct sort_pattern *p = &patterns->items[i % patterns->count];
        enum err r = look_up(rq, v, p, of->items[item].element, &values[i]);
        if (r == ERR_WAIT) prefetch(rq, patterns, of, item);
        if (r != OK) return r;
        bytes += values[i].len;
        if (bytes > bytes_max) {
            return error_set(&rq->error, ERR_LIMIT,
                             "the values read by BY or GET of SORT exceed max-transaction-size "
                             "(%llu)",
                             (unsigned long long)bytes_max);
        }
    }
    *out = values;
    return OK;
}
