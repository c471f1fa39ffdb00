#include "sim/index_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "backend/text.h"
#include "codec/value.h"
#include "search/text.h"

#define ROWS_MAX 1000
#define TURNS_MAX 100000

static void on_ready(struct waiter *w)
{
    (void)w;
}

static void turn(struct index_check *c)
{
    waiter_cancel(&c->waiter);
    assert_true(c->turn(c->arg));
}

static void commit(struct index_check *c, struct op *op)
{
    struct error e = {.text = ""};
    enum err r = ERR_WAIT;
    for (int i = 0; r == ERR_WAIT && i < TURNS_MAX; i++) {
        struct txn t = {.ops = op, .count = 1, .arena = &c->arena};
        r = engine_commit(c->db->engine, &t, &c->waiter, &e);
        if (r == ERR_WAIT) turn(c);
    }
    if (r != OK) fail_msg("%s", e.text);
}

static void create(struct index_check *c, const char *name, enum index_kind kind)
{
    struct index_create x = {.indexes = c->db->indexes,
                             .definition = {.kind = kind,
                                            .name = slice_str(name),
                                            .path_count = 1,
                                            .paths = {slice_str("$")},
                                            .tokenizer = slice_str("unicode61")}};
    struct text_spec spec = {.path_count = 1};
    struct buf bytes = {0};
    struct error e;
    if (index_find(c->db->indexes, 0, slice_str(name)) != NULL) return;
    assert_int_equal(path_compile(slice_str("$"), &c->arena, &spec.paths[0], &e), OK);
    text_spec_write(&spec, &bytes);
    x.text_spec = arena_copy(&c->arena, buf_slice(&bytes));
    buf_fini(&bytes);
    struct op op = index_create_op(&x);
    commit(c, &op);
}

void index_check_open(struct index_check *c)
{
    c->waiter.ready = on_ready;
    arena_init(&c->arena, 65536);
    for (int i = 0; !engine_start_is_over(c->db->engine, SPACE_INDEX) && i < TURNS_MAX; i++)
        turn(c);
    create(c, "value", INDEX_VALUE);
    create(c, "text", INDEX_TEXT);
}

void index_check_close(struct index_check *c)
{
    waiter_cancel(&c->waiter);
    arena_fini(&c->arena);
}

/* ---- looking ---- */

struct row {
    struct slice key, value;
    int64_t expiry_ms;
};

static size_t read_space(struct index_check *c, enum space space, struct row *out)
{
    uint8_t start[KEY_HEAD_BYTES] = {KEY_HEAD(0, space)};
    uint8_t end[KEY_HEAD_BYTES] = {KEY_HEAD(0, (uint8_t)(space + 1))};
    struct scan_range range = {.start = slice_of(start, sizeof start),
                               .end = slice_of(end, sizeof end),
                               .with_values = true};
    struct scan *scan = NULL;
    struct error e;
    size_t count = 0;
    assert_int_equal(backend_scan_open(c->db->backend, &range, &scan, &e), OK);
    for (;;) {
        struct slice key;
        struct entry entry;
        enum err r = backend_scan_next(scan, &key, &entry, &c->waiter, &e);
        if (r == ERR_WAIT) {
            turn(c);
            continue;
        }
        if (r != OK) fail_msg("%s", e.text);
        if (key.len == 0) break;
        assert_true(count < ROWS_MAX);
        out[count++] = (struct row){arena_copy(&c->arena, key), arena_copy(&c->arena, entry.value),
                                    entry.expiry_ms};
    }
    backend_scan_close(scan);
    return count;
}

static bool has_row(const struct row *rows, size_t count, struct slice key, int64_t expiry_ms)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_eq(rows[i].key, key)) return rows[i].expiry_ms == expiry_ms;
    }
    return false;
}

static void told(struct text_request *q)
{
    *(bool *)q->arg = true;
}

/* How many hits; SIZE_MAX when what is searched could not be applied. */
static size_t search(struct index_check *c, struct slice value, int64_t now_ms)
{
    const struct index *x = index_find(c->db->indexes, 0, slice_str("text"));
    static const uint8_t start[] = {KEY_HEAD(0, SPACE_DATA)};
    static const uint8_t end[] = {KEY_HEAD(0, SPACE_DATA + 1)};
    struct buf word = {0};
    bool is_done = false;
    buf_append_byte(&word, '"');
    value_to_json(value, &word);
    buf_append_byte(&word, '"');
    struct text_request q = {.id = x->definition.id,
                             .start = slice_of(start, sizeof start),
                             .end = slice_of(end, sizeof end),
                             .expression = buf_slice(&word),
                             .limit = ROWS_MAX,
                             .bytes_max = SIZE_MAX,
                             .now_ms = now_ms,
                             .column_count = 1,
                             .done = told,
                             .arg = &is_done};
    do {
        is_done = false;
        arena_init(&q.arena, 4096);
        backend_search(c->db->backend, &q);
        for (int i = 0; i < TURNS_MAX && !is_done; i++) turn(c);
        assert_true(is_done);
        arena_fini(&q.arena);
    } while (q.result == ERR_INDEXING);
    buf_fini(&word);
    struct backend_stats stats;
    backend_stats(c->db->backend, &stats);
    if (q.result == ERR_IO && stats.is_store_failing) return SIZE_MAX;
    if (q.result != OK) fail_msg("search: %s", q.error.text);
    return q.count;
}

/* The same number may be stored in several encodings. */
static bool same_text(struct slice a, struct slice b)
{
    struct buf x = {0};
    struct buf y = {0};
    value_to_json(a, &x);
    value_to_json(b, &y);
    bool is_same = slice_eq(buf_slice(&x), buf_slice(&y));
    buf_fini(&x);
    buf_fini(&y);
    return is_same;
}

/* Entries that live and have this value. */
static size_t count_value(const struct row *data, size_t count, struct slice value, int64_t now_ms)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_live = data[i].expiry_ms == 0 || data[i].expiry_ms > now_ms;
        found += is_live && same_text(data[i].value, value);
    }
    return found;
}

void index_check_all(struct index_check *c, int64_t now_ms)
{
    static struct row rows[ROWS_MAX];
    static struct row data[ROWS_MAX];
    const struct index *x = index_find(c->db->indexes, 0, slice_str("value"));
    assert_non_null(x);
    assert_int_equal(x->definition.state, INDEX_READY);
    size_t data_count = read_space(c, SPACE_DATA, data);
    size_t row_count = 0;
    for (;;) { /* what has expired may be removed between two scans, and nothing else happens */
        row_count = read_space(c, SPACE_INDEX_ENTRY, rows);
        size_t before = data_count;
        data_count = read_space(c, SPACE_DATA, data);
        if (data_count == before) break;
    }
    assert_int_equal(row_count, data_count);
    for (size_t i = 0; i < data_count; i++) {
        struct index_rows wanted;
        struct error e;
        assert_int_equal(index_rows(x, data[i].key, data[i].value, &c->arena, &wanted, &e), OK);
        assert_int_equal(wanted.count, 1);
        assert_true(has_row(rows, row_count, wanted.keys[0], data[i].expiry_ms));
    }
    for (size_t i = 0; i < data_count; i += 7) {
        size_t wanted = count_value(data, data_count, data[i].value, now_ms);
        size_t found = search(c, data[i].value, now_ms);
        assert_true(found == wanted || found == SIZE_MAX);
    }
    arena_reset(&c->arena);
}
