/* redis_elements: elements become items of MessagePack at once; the head of the list has room for
 * any count and is filled in at the end. */
#include "tool/redis_elements.h"

#include "base/bytes.h"
#include "tool/wire_map.h"

#define HEAD_BYTES 5 /* an array of up to 2^32-1 items */

static const char *const kind_names[] = {"none", "string", "hash",   "list",
                                         "set",  "zset",   "stream", "other"};

enum redis_kind redis_kind_of(struct slice type)
{
    for (int i = REDIS_NONE; i < REDIS_OTHER; i++) {
        if (slice_eq(type, slice_str(kind_names[i]))) return (enum redis_kind)i;
    }
    return REDIS_OTHER;
}

const char *redis_kind_name(enum redis_kind kind)
{
    return kind_names[kind];
}

void redis_elements_fini(struct redis_elements *e)
{
    buf_fini(&e->bytes);
}

void redis_elements_clear(struct redis_elements *e)
{
    static const uint8_t head[HEAD_BYTES] = {0xdd};
    buf_clear(&e->bytes, 4 << 20);
    buf_append(&e->bytes, head, sizeof head);
    e->count = 0;
}

struct slice redis_elements_raw(struct redis_elements *e)
{
    buf_require(&e->bytes);
    put_u32(e->bytes.data + 1, (uint32_t)e->count);
    return buf_slice(&e->bytes);
}

/* One more item is written by the caller. */
static struct record_out item(struct redis_elements *e)
{
    e->count++;
    return (struct record_out){.out = &e->bytes, .is_pack = true};
}

static struct record_out list_item(struct redis_elements *e, size_t count)
{
    struct record_out o = item(e);
    record_item_list(&o, count, true);
    return o;
}

/* ---- hashes, lists, sets, sorted sets -------------------------------------------------------- */

static bool is_text(const redisReply *r)
{
    return wire_is(r, REDIS_REPLY_STRING);
}

static bool add_fields(struct redis_elements *e, const redisReply *page, const redisReply *expiries)
{
    size_t count = page->elements / 2;
    if (page->elements % 2 != 0) return false;
    if (expiries != NULL && !wire_is_array(expiries, count)) return false;
    for (size_t i = 0; i < count; i++) {
        int64_t expiry_ms = expiries == NULL ? 0 : expiries->element[i]->integer;
        if (!is_text(page->element[2 * i]) || !is_text(page->element[2 * i + 1])) return false;
        struct record_out o = list_item(e, expiry_ms > 0 ? 3 : 2);
        record_item_text(&o, wire_slice(page->element[2 * i]), true);
        record_item_text(&o, wire_slice(page->element[2 * i + 1]), false);
        if (expiry_ms > 0) record_item_i64(&o, expiry_ms, false);
    }
    return true;
}

static bool add_scored(struct redis_elements *e, const redisReply *page)
{
    if (page->elements % 2 != 0) return false;
    for (size_t i = 0; i < page->elements; i += 2) {
        if (!is_text(page->element[i]) || !is_text(page->element[i + 1])) return false;
        struct record_out o = list_item(e, 2);
        record_item_text(&o, wire_slice(page->element[i]), true);
        record_item_score(&o, wire_slice(page->element[i + 1]), false);
    }
    return true;
}

bool redis_elements_page(struct redis_elements *e, enum redis_kind kind, const redisReply *page,
                         const redisReply *expiries)
{
    if (!wire_is_array(page, 0)) return false;
    if (kind == REDIS_HASH) return add_fields(e, page, expiries);
    if (kind == REDIS_ZSET) return add_scored(e, page);
    for (size_t i = 0; i < page->elements; i++) {
        if (!is_text(page->element[i])) return false;
        struct record_out o = item(e);
        record_item_text(&o, wire_slice(page->element[i]), true);
    }
    return true;
}

/* ---- streams --------------------------------------------------------------------------------- */

bool redis_elements_entries(struct redis_elements *e, const redisReply *entries, size_t from)
{
    if (!wire_is_array(entries, 0)) return false;
    for (size_t i = from; i < entries->elements; i++) {
        const redisReply *entry = entries->element[i];
        if (!wire_is_array(entry, 2) || !is_text(entry->element[0])) return false;
        const redisReply *words = entry->element[1];
        if (!wire_is_array(words, 0)) return false;
        struct record_out o = list_item(e, 2);
        record_item_text(&o, wire_slice(entry->element[0]), true);
        record_item_list(&o, words->elements, false);
        for (size_t j = 0; j < words->elements; j++) {
            record_item_text(&o, wire_slice(words->element[j]), j == 0);
        }
    }
    return true;
}

/* Servers before Redis 7 do not say how many were ever added, nor what was deleted last. */
bool redis_elements_state(struct redis_elements *e, const redisReply *info)
{
    struct slice last = wire_map_text(info, "last-generated-id");
    const redisReply *added = wire_map_find(info, "entries-added");
    const redisReply *deleted = wire_map_find(info, "max-deleted-entry-id");
    if (last.len == 0) return false;
    struct record_out o = list_item(e, 4);
    record_item_text(&o, slice_str("STATE"), true);
    record_item_text(&o, last, false);
    record_item_i64(&o, added != NULL ? added->integer : wire_map_i64(info, "length"), false);
    record_item_text(&o, deleted != NULL ? wire_slice(deleted) : slice_str("0-0"), false);
    return true;
}

bool redis_elements_group(struct redis_elements *e, const redisReply *group)
{
    const redisReply *name = wire_map_find(group, "name");
    struct slice last = wire_map_text(group, "last-delivered-id");
    const redisReply *read = wire_map_find(group, "entries-read");
    bool is_known = wire_is(read, REDIS_REPLY_INTEGER);
    if (!is_text(name) || last.len == 0) return false;
    struct record_out o = list_item(e, is_known ? 4 : 3);
    record_item_text(&o, slice_str("GROUP"), true);
    record_item_text(&o, wire_slice(name), false);
    record_item_text(&o, last, false);
    if (is_known) record_item_i64(&o, read->integer, false);
    return true;
}

/* active_ms: -1 = not known, or never. */
static void add_consumer(struct redis_elements *e, struct slice group, struct slice name,
                         int64_t seen_ms, int64_t active_ms)
{
    bool is_known = active_ms > 0 && !e->is_still;
    struct record_out o = list_item(e, is_known ? 5 : 4);
    record_item_text(&o, slice_str("CONSUMER"), true);
    record_item_text(&o, group, false);
    record_item_text(&o, name, false);
    record_item_i64(&o, e->is_still || seen_ms < 0 ? 0 : seen_ms, false);
    if (is_known) record_item_i64(&o, active_ms, false);
}

struct pending {
    struct slice group, consumer, id;
    int64_t delivered_ms, deliveries;
};

static void add_pending(struct redis_elements *e, const struct pending *p)
{
    struct record_out o = list_item(e, 6);
    record_item_text(&o, slice_str("PENDING"), true);
    record_item_text(&o, p->group, false);
    record_item_text(&o, p->consumer, false);
    record_item_text(&o, p->id, false);
    record_item_i64(&o, e->is_still || p->delivered_ms < 0 ? 0 : p->delivered_ms, false);
    record_item_i64(&o, p->deliveries, false);
}

bool redis_elements_members(struct redis_elements *e, const redisReply *group)
{
    struct pending p = {.group = wire_map_text(group, "name")};
    const redisReply *consumers = wire_map_find(group, "consumers");
    const redisReply *list = wire_map_find(group, "pel");
    if (list == NULL) list = wire_map_find(group, "pending");
    if (!wire_is_array(consumers, 0) || !wire_is_array(list, 0)) return false;
    for (size_t i = 0; i < consumers->elements; i++) {
        const redisReply *c = consumers->element[i];
        const redisReply *active = wire_map_find(c, "active-time");
        if (!is_text(wire_map_find(c, "name"))) return false;
        add_consumer(e, p.group, wire_map_text(c, "name"), wire_map_i64(c, "seen-time"),
                     active != NULL ? active->integer : -1);
    }
    for (size_t i = 0; i < list->elements; i++) {
        const redisReply *row = list->element[i];
        if (!wire_is_array(row, 4)) return false;
        p.id = wire_slice(row->element[0]);
        p.consumer = wire_slice(row->element[1]);
        p.delivered_ms = row->element[2]->integer;
        p.deliveries = row->element[3]->integer;
        add_pending(e, &p);
    }
    return true;
}

bool redis_elements_consumer(struct redis_elements *e, struct slice group,
                             const redisReply *consumer, int64_t now_ms)
{
    const redisReply *inactive = wire_map_find(consumer, "inactive");
    if (!is_text(wire_map_find(consumer, "name"))) return false;
    bool is_known = wire_is(inactive, REDIS_REPLY_INTEGER) && inactive->integer >= 0;
    add_consumer(e, group, wire_map_text(consumer, "name"), now_ms - wire_map_i64(consumer, "idle"),
                 is_known ? now_ms - inactive->integer : -1);
    return true;
}

bool redis_elements_pending(struct redis_elements *e, struct slice group, const redisReply *list,
                            size_t from, int64_t now_ms)
{
    if (!wire_is_array(list, 0)) return false;
    for (size_t i = from; i < list->elements; i++) {
        const redisReply *row = list->element[i];
        if (!wire_is_array(row, 4)) return false;
        struct pending p = {.group = group,
                            .id = wire_slice(row->element[0]),
                            .consumer = wire_slice(row->element[1]),
                            .delivered_ms = now_ms - row->element[2]->integer,
                            .deliveries = row->element[3]->integer};
        add_pending(e, &p);
    }
    return true;
}
