#include "unit/collection/collection_audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/key.h"

struct collection_owner {
    struct slice key;
    uint16_t database;
    struct collection_head head;
    uint64_t tagged[256]; /* rows, by tag */
    uint64_t bytes;       /* of names and values, by the rows f, m and i */
    unsigned owner_rows;
};

static void owner_found(struct collection_audit *a, struct slice key, const struct entry *entry)
{
    struct collection_head h;
    if (!collection_is_head(entry->value)) return;
    assert_true(collection_head_read(entry->value, &h));
    assert_true(h.count > 0 || h.kind == COLLECTION_STREAM);
    if (!h.is_spread) return;
    if (a->spread == a->cap) {
        a->cap = a->cap == 0 ? 16 : a->cap * 2;
        a->owners = mem_resize(a->owners, a->cap * sizeof *a->owners);
    }
    a->owners[a->spread++] = (struct collection_owner){
        .key = arena_copy(a->arena, key), .database = key_database(key), .head = h};
}

static struct collection_owner *owner_of(struct collection_audit *a, struct slice key)
{
    struct slice id = slice_of(key.data + KEY_HEAD_BYTES, INCARNATION_ID_BYTES);
    assert_true(key.len >= KEY_HEAD_BYTES + INCARNATION_ID_BYTES);
    for (size_t i = 0; i < a->spread; i++) {
        struct collection_owner *x = &a->owners[i];
        if (x->database == key_database(key) &&
            memcmp(x->head.incarnation, id.data, INCARNATION_ID_BYTES) == 0) {
            return x;
        }
    }
    return NULL;
}

static void owner_row(struct collection_audit *a, struct slice key)
{
    struct collection_owner *x = owner_of(a, key);
    struct slice tuple = slice_of(key.data + KEY_HEAD_BYTES + INCARNATION_ID_BYTES,
                                  key.len - KEY_HEAD_BYTES - INCARNATION_ID_BYTES);
    if (x == NULL) fail_msg("an owner row of no collection");
    if (!slice_eq(tuple, engine_key_tuple(x->key))) fail_msg("an owner row with another's key");
    x->owner_rows++;
}

static bool has_garbage(const struct collection_audit *a)
{
    struct backend_stats stats;
    backend_stats(a->backend, &stats);
    return stats.has_garbage || a->has_garbage;
}

static void element_row(struct collection_audit *a, struct slice key, const struct entry *entry)
{
    struct collection_owner *x = owner_of(a, key);
    struct element item;
    if (x == NULL) {
        if (!has_garbage(a)) fail_msg("a row of a collection that is not there");
        return;
    }
    enum row_tag tag = row_tag_of(key);
    x->tagged[(uint8_t)tag]++;
    bool is_stream = x->head.kind == COLLECTION_STREAM;
    if (tag == ROW_EXPIRY || (is_stream && tag != ROW_ENTRY)) return;
    assert_true(row_read(x->head.kind, key, entry, &item));
    if (tag != ROW_SCORE) x->bytes += (is_stream ? 0 : item.name.len) + item.value.len;
}

static void waiter_told(struct waiter *w)
{
    (void)w;
}

/* False after a fatal error. */
static bool scan_space(struct collection_audit *a, unsigned database, enum space space)
{
    uint8_t start[KEY_HEAD_BYTES];
    uint8_t end[KEY_HEAD_BYTES];
    key_head_write(start, (uint16_t)database, (uint8_t)space);
    key_head_write(end, (uint16_t)database, (uint8_t)(space + 1));
    struct scan_range range = {.start = slice_of(start, sizeof start),
                               .end = slice_of(end, sizeof end),
                               .with_values = true};
    struct waiter w = {.ready = waiter_told};
    struct scan *scan = NULL;
    struct error e = {.text = ""};
    bool goes_on = true;
    assert_int_equal(backend_scan_open(a->backend, &range, &scan, &e), OK);
    while (goes_on) {
        struct slice key;
        struct entry entry;
        enum err r = backend_scan_next(scan, &key, &entry, &w, &e);
        if (r == ERR_WAIT) {
            waiter_cancel(&w);
            goes_on = a->turn(a->arg);
            continue;
        }
        if (r != OK) fail_msg("audit: %s", e.text);
        if (key.len == 0) break;
        if (space == SPACE_DATA) owner_found(a, key, &entry);
        if (space == SPACE_COLLECTION) owner_row(a, key);
        if (space == SPACE_ELEMENT) element_row(a, key, &entry);
    }
    backend_scan_close(scan);
    return goes_on;
}

/* How many rows groups have. Those of groups and consumers that are gone are forgotten as ranges. */
static uint64_t check_groups(const struct collection_audit *a, const struct collection_owner *x)
{
    const uint64_t *n = x->tagged;
    assert_int_equal(n[ROW_GROUP], x->head.stream.groups);
    if (!has_garbage(a)) {
        assert_int_equal(n[ROW_CONSUMER], n[ROW_CONSUMER_NAME]);
        assert_int_equal(n[ROW_PENDING], n[ROW_OWNED]);
    }
    return n[ROW_GROUP] + n[ROW_CONSUMER] + n[ROW_CONSUMER_NAME] + n[ROW_PENDING] + n[ROW_OWNED];
}

static void check_owner(const struct collection_audit *a, const struct collection_owner *x)
{
    const struct collection_head *h = &x->head;
    static const uint8_t tags[COLLECTION_KINDS] = {[COLLECTION_HASH] = ROW_FIELD,
                                                   [COLLECTION_LIST] = ROW_POSITION,
                                                   [COLLECTION_SET] = ROW_MEMBER,
                                                   [COLLECTION_ZSET] = ROW_MEMBER,
                                                   [COLLECTION_STREAM] = ROW_ENTRY};
    uint64_t sum = 0;
    assert_int_equal(x->owner_rows, 1);
    assert_true(collections_may_be_spread(a->all, x->key));
    for (size_t i = 0; i < 256; i++) sum += x->tagged[i];
    assert_int_equal(x->tagged[tags[h->kind]], h->count);
    assert_int_equal(x->bytes, h->bytes);
    if (h->kind == COLLECTION_ZSET) {
        assert_int_equal(x->tagged[ROW_SCORE], h->count);
        sum -= h->count;
    }
    if (h->kind == COLLECTION_HASH) {
        assert_int_equal(x->tagged[ROW_EXPIRY], h->expiring);
        sum -= h->expiring;
    }
    if (h->kind == COLLECTION_STREAM) sum -= check_groups(a, x);
    assert_int_equal(sum, h->count);
}

bool collection_audit_run(struct collection_audit *a)
{
    bool goes_on = true;
    a->spread = 0;
    for (unsigned d = 0; d < a->databases && goes_on; d++) goes_on = scan_space(a, d, SPACE_DATA);
    for (unsigned d = 0; d < a->databases && goes_on; d++) {
        goes_on = scan_space(a, d, SPACE_COLLECTION) && scan_space(a, d, SPACE_ELEMENT);
    }
    for (size_t i = 0; i < a->spread && goes_on; i++) check_owner(a, &a->owners[i]);
    mem_free(a->owners);
    a->owners = NULL;
    a->cap = 0;
    return goes_on;
}
