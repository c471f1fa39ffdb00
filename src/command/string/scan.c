/* string_scan: the string view's commands that go through all plain keys: SCAN, KEYS, RANDOMKEY.
 *
 * Plain keys are tuples of one string part, and of one bytes part that is not UTF-8: no word means
 * the others. Between them lie longer tuples that begin with bytes or a string; a walk steps over a
 * few of them and seeks past the rest of those that begin with the same part.
 *
 * A SCAN cursor is the number of a row in a table of the last places given out, since Redis's
 * clients expect an integer. A place is a key, so a key that is there all the time is found
 * whatever is written meanwhile. The oldest is forgotten; a forgotten cursor is an error, never a
 * wrong place.
 */
#include "base/glob.h"
#include "base/mem.h"
#include "base/random.h"
#include "codec/key.h"
#include "codec/utf8.h"
#include "codec/value.h"
#include "request/args.h"
#include "request/block.h"
#include "request/feature.h"
#include "request/table.h"

#define CURSORS_MAX 4096
#define STEPS_MAX 1000              /* rows of a walk before others get a turn ... */
#define NAME_BYTES_MAX (512u << 10) /* ... and bytes that are matched with a pattern */
#define NEIGHBOURS_MAX 8 /* longer tuples with the same first part passed before seeking */
#define SCAN_COUNT_DEFAULT 10
#define BYTES_TAG 0x01 /* what is in them is escaped alike */
#define STRING_TAG 0x02

struct scan_cursor {
    uint64_t id;
    uint16_t database;
    struct buf key; /* owned: the last one given */
};

struct scan_cursors {
    struct scan_cursor rows[CURSORS_MAX];
    uint64_t next_id;
};

static struct scan_cursors *scan_cursors_new(void)
{
    struct scan_cursors *t = mem_new(sizeof *t);
    /* Another start gives other numbers, so that a cursor of before is not found. All stay below
     * 2^53. */
    uint32_t start = 0;
    random_system(&start, sizeof start);
    t->next_id = ((uint64_t)(start & 0xfffff) << 32) + 1;
    return t;
}

static void scan_cursors_free(struct scan_cursors *t)
{
    if (t == NULL) return;
    for (size_t i = 0; i < CURSORS_MAX; i++) buf_fini(&t->rows[i].key);
    mem_free(t);
}

static void scan_open(struct env *env)
{
    env->scan_cursors = scan_cursors_new();
}

static void scan_close(struct env *env)
{
    scan_cursors_free(env->scan_cursors);
    env->scan_cursors = NULL;
}

const struct feature scan_feature = {
    .open = scan_open,
    .close = scan_close,
};

static uint64_t cursor_add(struct scan_cursors *t, uint16_t database, struct slice key)
{
    uint64_t id = t->next_id++;
    struct scan_cursor *row = &t->rows[id % CURSORS_MAX];
    row->id = id;
    row->database = database;
    buf_clear(&row->key, SIZE_MAX);
    buf_append(&row->key, key.data, key.len);
    buf_require(&row->key);
    return id;
}

static const struct scan_cursor *cursor_find(const struct scan_cursors *t, uint64_t id)
{
    const struct scan_cursor *row = &t->rows[id % CURSORS_MAX];
    return row->id == id && id != 0 ? row : NULL;
}

/* ---- a walk over the plain keys ---- */

struct plain_walk {
    bool with_values; /* rows come with their values */
    struct engine_scan *scan;
    bool is_undivided; /* within one turn, and the scans that it goes on with too */
    struct buf place;  /* where the scan goes on: its start */
    uint8_t end[KEY_HEAD_BYTES + 1];
    unsigned neighbours;  /* longer tuples passed in a row with the same first part */
    struct buf neighbour; /* that part, with its head */
};

static void plain_fini(struct plain_walk *k)
{
    engine_scan_close(k->scan);
    k->scan = NULL;
    buf_fini(&k->place);
    buf_fini(&k->neighbour);
}

static void plain_start(struct plain_walk *k, uint16_t database, struct slice after)
{
    uint8_t head[KEY_HEAD_BYTES + 1] = {KEY_HEAD(database, SPACE_DATA), BYTES_TAG};
    memcpy(k->end, head, sizeof head);
    k->end[KEY_HEAD_BYTES] = STRING_TAG + 1;
    buf_clear(&k->place, SIZE_MAX);
    if (after.len > 0) {
        buf_append(&k->place, after.data, after.len);
        buf_append_byte(&k->place, 0);
    } else {
        buf_append(&k->place, head, sizeof head);
    }
}

static enum err plain_open(struct request *rq, struct plain_walk *k)
{
    struct scan_range range = {.start = buf_slice(&k->place),
                               .end = slice_of(k->end, sizeof k->end),
                               .is_undivided = k->is_undivided || rq->overlay != NULL,
                               .with_values = k->with_values};
    return engine_scan_open(rq->env->db->engine, rq->overlay, &range, &k->scan, &rq->error);
}

/* Length of the first part and its head; it ends with 00 that no ff follows. */
static size_t first_part_end(struct slice key)
{
    size_t i = KEY_HEAD_BYTES + 1;
    while (i < key.len && (key.data[i] != 0 || (i + 1 < key.len && key.data[i + 1] == 0xff))) {
        i += key.data[i] == 0 ? 2 : 1;
    }
    return i + 1;
}

/* The word that a plain key is. */
static struct slice plain_name(struct request *rq, struct slice key)
{
    struct slice tuple = engine_key_tuple(key);
    struct slice escaped = slice_of(tuple.data + 1, tuple.len - 2);
    uint8_t *p = arena_alloc(rq->arena, escaped.len);
    size_t len = 0;
    for (size_t i = 0; i < escaped.len; i++) {
        p[len++] = escaped.data[i];
        if (escaped.data[i] == 0) i++; /* 00 ff is one 00 */
    }
    return slice_of(p, len);
}

/* Does a word mean the key of one part? */
static bool is_word(struct request *rq, struct slice key)
{
    if (key.data[KEY_HEAD_BYTES] == STRING_TAG) return true;
    struct slice name = plain_name(rq, key);
    return utf8_valid_bytes(name) < name.len;
}

static void pass(struct plain_walk *k, struct slice head)
{
    k->neighbours = 0;
    buf_clear(&k->neighbour, SIZE_MAX);
    buf_append(&k->neighbour, head.data, head.len);
}

/* One row; key->len 0 at the end. When it is not plain, only that key->len is not 0 holds: the scan
 * may have been opened anew further on. */
static enum err plain_next(struct request *rq, struct plain_walk *k, struct slice *key,
                           struct entry *entry, bool *is_plain)
{
    *is_plain = false;
    enum err r = engine_scan_next(k->scan, key, entry, rq->waiter, &rq->error);
    if (r != OK || key->len == 0) return r;
    size_t part = first_part_end(*key);
    *is_plain = part == key->len && is_word(rq, *key);
    if (*is_plain) return OK;
    struct slice head = slice_of(key->data, part);
    if (part == key->len) {
        pass(k, head);
        return OK;
    }
    if (!slice_eq(head, buf_slice(&k->neighbour))) pass(k, head);
    if (++k->neighbours < NEIGHBOURS_MAX) return OK;
    depends_raise(&rq->depends, engine_scan_depends(k->scan));
    engine_scan_close(k->scan);
    k->scan = NULL;
    k->neighbours = 0;
    buf_clear(&k->place, SIZE_MAX);
    buf_append(&k->place, k->neighbour.data, k->neighbour.len);
    buf_append_byte(&k->place, 0xff);
    return plain_open(rq, k);
}

static void walk_depends(struct request *rq, const struct plain_walk *k)
{
    if (k->scan == NULL) return;
    depends_raise(&rq->depends, engine_scan_depends(k->scan));
}

/* ---- SCAN ---- */

struct scan_options {
    struct slice pattern; /* data NULL = every key */
    struct glob *glob;    /* the pattern */
    struct slice type;
    int64_t count;
    struct slice after; /* the key that the cursor stands for */
};

static enum err parse_scan(struct request *rq, struct scan_options *s)
{
    uint64_t id = 0;
    struct options o = {.rq = rq, .at = 2};
    *s = (struct scan_options){.count = SCAN_COUNT_DEFAULT};
    if (!slice_to_u64(rq->argv[1], &id)) return error_set(&rq->error, ERR_SYNTAX, "invalid cursor");
    if (id != 0) {
        const struct scan_cursor *row = cursor_find(rq->env->scan_cursors, id);
        if (row == NULL || row->database != rq->client->database) {
            return error_set(&rq->error, ERR_SYNTAX,
                             "invalid cursor: unknown or forgotten; begin again with 0");
        }
        s->after = buf_slice(&row->key);
    }
    while (o.at < rq->argc) {
        enum err r = OK;
        struct slice arg;
        if (options_take(&o, "MATCH", 0)) {
            r = options_argument(&o, "MATCH", &s->pattern);
            if (r == OK) r = arg_pattern(rq, s->pattern);
        } else if (options_take(&o, "COUNT", 1)) {
            r = options_argument(&o, "COUNT", &arg);
            if (r == OK) r = arg_integer(rq, arg, "COUNT", INT64_MIN, INT64_MAX, &s->count);
            if (r == OK && s->count < 1) { /* in Redis's words */
                r = error_set(&rq->error, ERR_SYNTAX, "syntax error: COUNT must be 1 or more");
            }
        } else if (options_take(&o, "TYPE", 2)) {
            r = options_argument(&o, "TYPE", &s->type);
        } else {
            r = options_unknown(&o);
        }
        if (r != OK) return r;
    }
    if (s->count > STEPS_MAX * 10) s->count = STEPS_MAX * 10;
    if (s->pattern.data != NULL) {
        s->glob = arena_alloc(rq->arena, sizeof *s->glob);
        glob_init(s->glob, s->pattern, false);
    }
    return OK;
}

static bool type_matches(struct slice type, struct slice value)
{
    struct slice bytes;
    bool is_string = value_bytes_of(value, &bytes);
    const char *name = is_string ? "string" : value_type_name(value);
    if (!is_string && strcmp(name, "string") == 0) name = "text";
    return slice_eq(type, slice_str(name));
}

/* Within one turn: a read that must wait begins again, with more in memory. */
static enum err scan_page(struct request *rq, const struct scan_options *s, struct plain_walk *k,
                          struct buf *names, size_t *found)
{
    struct slice key = {0};
    int64_t rows = 0;
    size_t matched = 0; /* bytes */
    struct resp_writer w = {.out = names, .proto = rq->client->proto};
    struct slice last = {0};
    k->is_undivided = true;
    enum err r = plain_open(rq, k);
    for (int64_t steps = 0; r == OK; steps++) {
        struct entry entry;
        bool is_plain = false;
        if (rows == s->count || steps == s->count + STEPS_MAX || matched > NAME_BYTES_MAX) {
            walk_depends(rq, k);
            resp_bulk_u64(rq->w, cursor_add(rq->env->scan_cursors, rq->client->database, last));
            return OK;
        }
        r = plain_next(rq, k, &key, &entry, &is_plain);
        if (r != OK) break;
        if (key.len == 0) break;
        /* A seek has ended the life of the key. */
        if (!is_plain) {
            last = arena_copy(rq->arena, buf_slice(&k->neighbour));
            continue;
        }
        rows++;
        last = arena_copy(rq->arena, key);
        struct slice name = plain_name(rq, key);
        if (s->glob != NULL) matched += name.len;
        if (s->glob != NULL && !glob_fits(s->glob, name)) continue;
        if (s->type.data != NULL && !type_matches(s->type, entry.value)) continue;
        resp_bulk(&w, name);
        ++*found;
    }
    if (r != OK) return r;
    walk_depends(rq, k);
    resp_bulk_str(rq->w, "0");
    return OK;
}

static enum err scan_run(struct request *rq)
{
    struct scan_options s;
    struct plain_walk k = {0};
    struct buf names;
    size_t found = 0;
    enum err r = parse_scan(rq, &s);
    if (r != OK) return r;
    buf_init(&names);
    k.with_values = s.type.data != NULL;
    plain_start(&k, rq->client->database, s.after);
    resp_array(rq->w, 2);
    r = scan_page(rq, &s, &k, &names, &found);
    if (r == OK && names.is_failed) r = error_set(&rq->error, ERR_NOMEM, "no memory for the keys");
    if (r == OK) {
        resp_array(rq->w, found);
        buf_append(rq->w->out, names.data, names.len);
        rq->env->stats.reads++;
    }
    buf_fini(&names);
    plain_fini(&k);
    return r;
}

const struct command cmd_scan = {
    .name = "scan",
    .arity = -2,
    .flags = CMD_READ | CMD_FOLLOWER | CMD_KEYSPACE | CMD_STRING | CMD_ALL_KEYS,
    .group = "generic",
    .since = "0.1.0",
    .summary = "Some of the plain keys and a cursor for more; 0 = there are no more.",
    .syntax = "cursor [MATCH pattern] [COUNT count] [TYPE type]",
    .run = scan_run,
};

/* ---- KEYS ---- */

struct keys_walk {
    struct pending pending; /* first */
    struct plain_walk walk;
    struct glob glob; /* its pattern is borrowed of the request, anew in each turn */
    struct buf names;
    size_t found;
};

static void keys_free(struct pending *p)
{
    struct keys_walk *k = (struct keys_walk *)p;
    plain_fini(&k->walk);
    buf_fini(&k->names);
    mem_free(k);
}

static enum err keys_step(struct request *rq, struct keys_walk *k, bool *is_done)
{
    struct resp_writer w = {.out = &k->names, .proto = rq->client->proto};
    size_t matched = 0; /* bytes */
    k->glob.pattern = rq->argv[1];
    for (unsigned i = 0;; i++) {
        struct slice key;
        struct entry entry;
        bool is_plain = false;
        if ((i == STEPS_MAX || matched > NAME_BYTES_MAX) && rq->overlay == NULL) {
            return client_yield(rq, k->walk.scan);
        }
        enum err r = plain_next(rq, &k->walk, &key, &entry, &is_plain);
        if (r != OK) return r;
        if (key.len == 0) {
            *is_done = true;
            return OK;
        }
        if (!is_plain) continue;
        struct slice name = plain_name(rq, key);
        matched += name.len;
        if (!glob_fits(&k->glob, name)) continue;
        resp_bulk(&w, name);
        k->found++;
    }
}

static enum err keys_run(struct request *rq)
{
    struct keys_walk *k = (struct keys_walk *)rq->client->pending;
    bool is_done = false;
    enum err r = arg_pattern(rq, rq->argv[1]);
    if (r != OK) return r;
    if (k == NULL) {
        k = mem_new(sizeof *k);
        glob_init(&k->glob, rq->argv[1], false);
        k->pending.free = keys_free;
        rq->client->pending = &k->pending;
        plain_start(&k->walk, rq->client->database, slice_of(NULL, 0));
        r = plain_open(rq, &k->walk);
    }
    if (r == OK) r = keys_step(rq, k, &is_done);
    if (r != OK) return r;
    if (k->names.is_failed) return error_set(&rq->error, ERR_NOMEM, "no memory for the keys");
    walk_depends(rq, &k->walk);
    rq->env->stats.reads++;
    resp_array(rq->w, k->found);
    buf_append(rq->w->out, k->names.data, k->names.len);
    return OK;
}

const struct command cmd_keys = {
    .name = "keys",
    .arity = 2,
    .flags = CMD_READ | CMD_FOLLOWER | CMD_KEYSPACE | CMD_STRING | CMD_ALL_KEYS | CMD_DANGEROUS,
    .group = "generic",
    .since = "0.1.0",
    .summary = "All plain keys that match a glob pattern.",
    .syntax = "pattern",
    .run = keys_run,
};

/* ---- RANDOMKEY ---- */

/* The first plain key at or after a random place, or else the first of all. The place is a word of
 * random letters between the first and the last key. */
static enum err key_from(struct request *rq, struct slice after, struct slice *name)
{
    struct plain_walk k = {.is_undivided = true};
    struct slice key = {0};
    bool is_plain = false;
    plain_start(&k, rq->client->database, after);
    enum err r = plain_open(rq, &k);
    *name = slice_of(NULL, 0);
    while (r == OK && !is_plain) {
        struct entry entry;
        r = plain_next(rq, &k, &key, &entry, &is_plain);
        if (r == OK && key.len == 0) break;
    }
    if (r == OK && is_plain) *name = plain_name(rq, key);
    walk_depends(rq, &k);
    plain_fini(&k);
    return r;
}

/* The last row of the view, plain or not; len 0 = there is none. */
static enum err last_key(struct request *rq, struct slice *out)
{
    uint8_t start[KEY_HEAD_BYTES + 1] = {KEY_HEAD(rq->client->database, SPACE_DATA), BYTES_TAG};
    uint8_t end[KEY_HEAD_BYTES + 1] = {KEY_HEAD(rq->client->database, SPACE_DATA), STRING_TAG + 1};
    struct scan_range range = {.start = slice_of(start, sizeof start),
                               .end = slice_of(end, sizeof end),
                               .is_reverse = true,
                               .is_undivided = true,
                               .rows_hint = 1};
    struct engine_scan *scan = NULL;
    struct entry entry;
    struct slice key = {0};
    enum err r = engine_scan_open(rq->env->db->engine, rq->overlay, &range, &scan, &rq->error);
    if (r == OK) r = engine_scan_next(scan, &key, &entry, rq->waiter, &rq->error);
    if (r == OK) *out = arena_copy(rq->arena, key);
    if (r == OK) depends_raise(&rq->depends, engine_scan_depends(scan));
    engine_scan_close(scan);
    return r;
}

static enum err randomkey_run(struct request *rq)
{
    struct slice first = {0};
    struct slice last = {0};
    struct slice name = {0};
    enum err r = key_from(rq, slice_of(NULL, 0), &first);
    if (r == OK && first.data != NULL) r = last_key(rq, &last);
    if (r != OK) return r;
    if (first.data == NULL) {
        resp_nil(rq->w);
        return OK;
    }
    /* Where first and last begin to differ, random bytes up to the last's. */
    uint8_t place[KEY_HEAD_BYTES + KEY_BYTES_MAX + 8];
    size_t same = KEY_HEAD_BYTES + 1;
    size_t known = 0;
    while (known < first.len && same < last.len && first.data[known] == last.data[same]) {
        known++;
        same++;
    }
    size_t len = same;
    memcpy(place, last.data, len);
    random_system(place + len, 8);
    if (same < last.len) {
        uint8_t low = known < first.len ? first.data[known] : 0;
        uint8_t high = last.data[same];
        place[len] = (uint8_t)(low + (high > low ? place[len] % (high - low + 1) : 0));
    }
    r = key_from(rq, slice_of(place, len + 8), &name);
    if (r != OK) return r;
    resp_bulk(rq->w, name.data != NULL ? name : first);
    rq->env->stats.reads++;
    return OK;
}

const struct command cmd_randomkey = {
    .name = "randomkey",
    .arity = 1,
    .flags = CMD_READ | CMD_FOLLOWER | CMD_KEYSPACE | CMD_STRING | CMD_ALL_KEYS,
    .group = "generic",
    .since = "0.1.0",
    .summary = "One of the plain keys, any; not each with the same chance.",
    .syntax = "",
    .run = randomkey_run,
};
