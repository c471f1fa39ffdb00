/* scan: the commands that go through all keys of the client's view (request/view.h): SCAN, KEYS,
 * RANDOMKEY. The view of tuples has all there are. In the plain view:
 *
 * Plain keys are tuples of one string part, and of one bytes part that is not UTF-8: no word means
 * the others. Between them lie longer tuples that begin with bytes or a string; a walk steps over a
 * few of them and seeks past the rest of those that begin with the same part.
 *
 * Cursors are those of request/scan_cursors.h; a place is a key.
 */
#include <strings.h>

#include "access/ask.h"
#include "base/glob.h"
#include "base/mem.h"
#include "base/random.h"
#include "codec/key.h"
#include "codec/utf8.h"
#include "request/args.h"
#include "request/block.h"
#include "request/scan_cursors.h"
#include "request/shapes.h"
#include "request/table.h"
#include "request/view.h"

#define STEPS_MAX 1000              /* rows of a walk before others get a turn ... */
#define NAME_BYTES_MAX (512u << 10) /* ... and bytes that are matched with a pattern */
#define RANDOMKEY_STEPS 100000      /* engine_take_steps */
#define NEIGHBOURS_MAX 8 /* longer tuples with the same first part passed before seeking */
#define SCAN_COUNT_DEFAULT 10
#define BYTES_TAG 0x01 /* what is in them is escaped alike */
#define STRING_TAG 0x02

/* ---- a walk over the keys of a view ---- */

struct key_walk {
    bool of_tuples;   /* the view */
    bool with_values; /* rows come with their values */
    struct engine_scan *scan;
    bool is_undivided; /* within one turn, and the scans that it goes on with too */
    struct buf place;  /* where the scan goes on: its start */
    struct buf end;
    unsigned neighbours;  /* longer tuples passed in a row with the same first part */
    struct buf neighbour; /* that part, with its head */
};

static void walk_fini(struct key_walk *k)
{
    engine_scan_close(k->scan);
    k->scan = NULL;
    buf_fini(&k->place);
    buf_fini(&k->end);
    buf_fini(&k->neighbour);
}

/* In the view of tuples, keys that begin as the pattern does, as far as those are whole parts, are
 * all that can fit it: their prefix; empty = any key. */
static struct slice prefix_of(struct request *rq, struct slice pattern)
{
    struct slice text = glob_literal(pattern);
    struct error ignored;
    while (text.len > 0 && text.data[text.len - 1] != '/') text.len--;
    if (text.len == 0) return text;
    text.len--;
    buf_clear(rq->scratch, SIZE_MAX);
    if (key_from_path(text, true, rq->scratch, &ignored) != OK) return slice_of(NULL, 0);
    return arena_copy(rq->arena, buf_slice(rq->scratch));
}

static void set(struct buf *b, struct slice bytes)
{
    buf_clear(b, SIZE_MAX);
    buf_append(b, bytes.data, bytes.len);
    buf_require(b);
}

/* What the view has, from the one after `after` on (empty: the first), of what can fit the pattern
 * (empty: everything). */
static void walk_start(struct request *rq, struct key_walk *k, struct slice pattern,
                       struct slice after)
{
    uint16_t database = rq->client->database;
    struct slice start = {0};
    struct slice end = {0};
    k->of_tuples = view_is_tuples(rq->client);
    if (k->of_tuples) {
        engine_range_below(rq->arena, database, prefix_of(rq, pattern), &start, &end);
        set(&k->place, start);
        set(&k->end, end);
    } else {
        uint8_t head[KEY_HEAD_BYTES + 1] = {KEY_HEAD(database, SPACE_DATA), BYTES_TAG};
        set(&k->place, slice_of(head, sizeof head));
        head[KEY_HEAD_BYTES] = STRING_TAG + 1;
        set(&k->end, slice_of(head, sizeof head));
    }
    if (after.len == 0 || slice_cmp(after, buf_slice(&k->place)) < 0) return;
    if (slice_cmp(after, buf_slice(&k->end)) >= 0) {
        set(&k->place, buf_slice(&k->end)); /* a cursor of a scan with another pattern */
        return;
    }
    set(&k->place, after);
    buf_append_byte(&k->place, 0);
}

static enum err walk_open(struct request *rq, struct key_walk *k)
{
    struct scan_range range = {.start = buf_slice(&k->place),
                               .end = buf_slice(&k->end),
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

static struct slice name_of(struct request *rq, struct slice key)
{
    buf_clear(rq->scratch, SIZE_MAX);
    view_name(rq->client, key, rq->scratch);
    buf_require(rq->scratch);
    return arena_copy(rq->arena, buf_slice(rq->scratch));
}

/* Does a word mean the key, which is of one part? */
static bool is_word(struct request *rq, struct slice key)
{
    struct slice escaped = slice_of(key.data + KEY_HEAD_BYTES + 1, key.len - KEY_HEAD_BYTES - 2);
    if (key.data[KEY_HEAD_BYTES] == STRING_TAG) return true;
    struct buf *bytes = rq->scratch;
    buf_clear(bytes, SIZE_MAX);
    for (size_t i = 0; i < escaped.len; i++) {
        buf_append_byte(bytes, escaped.data[i]);
        if (escaped.data[i] == 0) i++; /* 00 ff is one 00 */
    }
    buf_require(bytes);
    return utf8_valid_bytes(buf_slice(bytes)) < bytes->len;
}

static void pass(struct key_walk *k, struct slice head)
{
    k->neighbours = 0;
    set(&k->neighbour, head);
}

/* One row; key->len 0 at the end. When the view does not have it, only that key->len is not 0
 * holds: the scan may have been opened anew further on. */
static enum err walk_next(struct request *rq, struct key_walk *k, struct slice *key,
                          struct entry *entry, bool *is_seen)
{
    *is_seen = false;
    enum err r = engine_scan_next(k->scan, key, entry, rq->waiter, &rq->error);
    if (r != OK || key->len == 0) return r;
    *is_seen = k->of_tuples;
    if (*is_seen) return OK;
    size_t part = first_part_end(*key);
    *is_seen = part == key->len && is_word(rq, *key);
    if (*is_seen) return OK;
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
    set(&k->place, buf_slice(&k->neighbour));
    buf_append_byte(&k->place, 0xff);
    return walk_open(rq, k);
}

static void walk_depends(struct request *rq, const struct key_walk *k)
{
    if (k->scan == NULL) return;
    depends_raise(&rq->depends, engine_scan_depends(k->scan));
}

/* ---- SCAN ---- */

struct scan_words {
    struct slice cursor;
    struct slice pattern, type; /* data NULL = of every key */
    int64_t count;
    /* What is made of them. */
    struct glob *glob;
    struct slice after; /* the key that the cursor stands for */
};

static enum err check_scan(struct request *rq, void *bound)
{
    struct scan_words *a = bound;
    enum err r = scan_cursor_read(rq, a->cursor, &a->after);
    if (r == OK && a->count < 1) r = error_set(&rq->error, ERR_SYNTAX, "syntax error");
    if (r != OK) return r;
    if (a->count > STEPS_MAX * 10) a->count = STEPS_MAX * 10;
    if (a->pattern.data != NULL) {
        a->glob = arena_alloc(rq->arena, sizeof *a->glob);
        glob_init(a->glob, a->pattern, false);
    }
    return OK;
}

ARGUMENTS_WITH(scan_arguments, struct scan_words,
               "cursor [MATCH pattern] [COUNT count] [TYPE type]", WITH(.check = check_scan),
               ARG_WORD(struct scan_words, cursor, "cursor"),
               ARG_PATTERN(struct scan_words, pattern, "MATCH"),
               ARG_INTEGER(struct scan_words, count, "COUNT", INT64_MIN, INT64_MAX,
                           SCAN_COUNT_DEFAULT),
               ARG_WORD(struct scan_words, type, "TYPE"));

/* In any case, as in Redis. */
static bool type_matches(struct request *rq, struct slice type, struct slice value)
{
    const char *name = view_type(rq->client, value);
    return strlen(name) == type.len && strncasecmp(name, (const char *)type.data, type.len) == 0;
}

/* Within one turn: a read that must wait begins again, with more in memory. */
static enum err scan_page(struct request *rq, const struct scan_words *s, struct key_walk *k,
                          struct buf *names, size_t *found)
{
    struct slice key = {0};
    int64_t rows = 0;
    size_t matched = 0; /* bytes */
    struct resp_writer w = {.out = names, .proto = rq->client->settings.proto};
    struct slice last = {0};
    k->is_undivided = true;
    enum err r = walk_open(rq, k);
    for (int64_t steps = 0; r == OK; steps++) {
        struct entry entry;
        bool is_seen = false;
        if (rows == s->count || steps == s->count + STEPS_MAX || matched > NAME_BYTES_MAX) {
            walk_depends(rq, k);
            resp_bulk_u64(rq->w, scan_cursor_add(rq, last));
            return OK;
        }
        r = walk_next(rq, k, &key, &entry, &is_seen);
        if (r != OK) break;
        if (key.len == 0) break;
        /* A seek has ended the life of the key. */
        if (!is_seen) {
            last = arena_copy(rq->arena, buf_slice(&k->neighbour));
            continue;
        }
        rows++;
        last = arena_copy(rq->arena, key);
        struct slice name = name_of(rq, key);
        if (s->glob != NULL) matched += name.len;
        if (s->glob != NULL && !glob_fits(s->glob, name)) continue;
        if (s->type.data != NULL && !type_matches(rq, s->type, entry.value)) continue;
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
    const struct scan_words *a = rq->bound;
    struct key_walk k = {.with_values = a->type.data != NULL};
    struct buf names;
    size_t found = 0;
    buf_init(&names);
    walk_start(rq, &k, a->pattern, a->after);
    resp_array(rq->w, 2);
    enum err r = scan_page(rq, a, &k, &names, &found);
    if (r == OK && names.is_failed)
        r = error_set(&rq->error, ERR_NOMEM, "out of memory for the keys");
    if (r == OK) {
        resp_array(rq->w, found);
        buf_append(rq->w->out, names.data, names.len);
        rq->env->stats.reads++;
    }
    buf_fini(&names);
    walk_fini(&k);
    return r;
}

const struct command cmd_scan = {
    .name = "scan",
    .flags = CMD_READ | CMD_FOLLOWER | CMD_KEYSPACE | CMD_STRING | CMD_ALL_KEYS,
    .group = "generic",
    .summary = "Iterates over the keys of the client's view. Cursor 0 means that the iteration is "
               "complete.",
    .arguments = &scan_arguments,
    .run = scan_run,
};

/* ---- KEYS ---- */

struct keys_walk {
    struct pending pending; /* first */
    struct key_walk walk;
    struct glob glob; /* its pattern is borrowed of the request, anew in each turn */
    struct buf names;
    size_t found;
};

static void keys_free(struct pending *p)
{
    struct keys_walk *k = (struct keys_walk *)p;
    walk_fini(&k->walk);
    buf_fini(&k->names);
    mem_free(k);
}

struct keys_words {
    struct slice pattern;
};
ARGUMENTS(keys_arguments, struct keys_words, "pattern",
          ARG_PATTERN(struct keys_words, pattern, "pattern"));

static enum err keys_step(struct request *rq, struct keys_walk *k, bool *is_done)
{
    struct resp_writer w = {.out = &k->names, .proto = rq->client->settings.proto};
    size_t matched = 0; /* bytes */
    k->glob.pattern = ((const struct keys_words *)rq->bound)->pattern;
    for (unsigned i = 0;; i++) {
        struct slice key;
        struct entry entry;
        bool is_seen = false;
        if ((i == STEPS_MAX || matched > NAME_BYTES_MAX) && rq->overlay == NULL) {
            return client_yield(rq, k->walk.scan);
        }
        enum err r = walk_next(rq, &k->walk, &key, &entry, &is_seen);
        if (r != OK) return r;
        if (key.len == 0) {
            *is_done = true;
            return OK;
        }
        if (!is_seen) continue;
        struct slice name = name_of(rq, key);
        matched += name.len;
        if (!glob_fits(&k->glob, name)) continue;
        resp_bulk(&w, name);
        k->found++;
    }
}

static enum err keys_run(struct request *rq)
{
    struct keys_walk *k = (struct keys_walk *)rq->client->run.pending;
    const struct keys_words *a = rq->bound;
    bool is_done = false;
    enum err r = OK;
    if (k == NULL) {
        k = mem_new(sizeof *k);
        glob_init(&k->glob, a->pattern, false);
        k->pending.free = keys_free;
        rq->client->run.pending = &k->pending;
        walk_start(rq, &k->walk, a->pattern, slice_of(NULL, 0));
        r = walk_open(rq, &k->walk);
    }
    if (r == OK) r = keys_step(rq, k, &is_done);
    if (r != OK) return r;
    if (k->names.is_failed) return error_set(&rq->error, ERR_NOMEM, "out of memory for the keys");
    walk_depends(rq, &k->walk);
    rq->env->stats.reads++;
    resp_array(rq->w, k->found);
    buf_append(rq->w->out, k->names.data, k->names.len);
    return OK;
}

const struct command cmd_keys = {
    .name = "keys",
    .flags = CMD_READ | CMD_FOLLOWER | CMD_KEYSPACE | CMD_STRING | CMD_ALL_KEYS | CMD_DANGEROUS,
    .group = "generic",
    .summary = "Returns all keys of the client's view that match a glob pattern.",
    .arguments = &keys_arguments,
    .run = keys_run,
};

/* ---- RANDOMKEY ---- */

/* The first key of the view at or after a place, or else the first of all (`after` empty);
 * data NULL = there is none. */
static enum err key_from(struct request *rq, struct slice after, struct slice *found)
{
    struct key_walk k = {.is_undivided = true};
    struct slice key = {0};
    bool is_seen = false;
    walk_start(rq, &k, slice_of(NULL, 0), after);
    enum err r = walk_open(rq, &k);
    *found = slice_of(NULL, 0);
    while (r == OK && !is_seen) {
        struct entry entry;
        r = walk_next(rq, &k, &key, &entry, &is_seen);
        if (r == OK && key.len == 0) break;
    }
    if (r == OK && is_seen) *found = arena_copy(rq->arena, key);
    walk_depends(rq, &k);
    walk_fini(&k);
    return r;
}

/* The last row in the range of the view, seen or not; len 0 = there is none. */
static enum err last_key(struct request *rq, struct slice *out)
{
    struct key_walk k = {0};
    struct entry entry;
    struct slice key = {0};
    walk_start(rq, &k, slice_of(NULL, 0), slice_of(NULL, 0));
    struct scan_range range = {.start = buf_slice(&k.place),
                               .end = buf_slice(&k.end),
                               .is_reverse = true,
                               .is_undivided = true,
                               .rows_hint = 1};
    enum err r = engine_scan_open(rq->env->db->engine, rq->overlay, &range, &k.scan, &rq->error);
    if (r == OK) r = engine_scan_next(k.scan, &key, &entry, rq->waiter, &rq->error);
    if (r == OK) *out = arena_copy(rq->arena, key);
    if (r == OK) walk_depends(rq, &k);
    walk_fini(&k);
    return r;
}

/* Where first and last begin to differ, random bytes up to the last's. */
static enum err key_between(struct request *rq, struct slice first, struct slice last,
                            struct slice *found)
{
    uint8_t place[KEY_HEAD_BYTES + KEY_BYTES_MAX + 8];
    size_t same = 0;
    while (same < first.len && same < last.len && first.data[same] == last.data[same]) same++;
    memcpy(place, last.data, same);
    random_system(place + same, 8);
    if (same < last.len) {
        uint8_t low = same < first.len ? first.data[same] : 0;
        uint8_t high = last.data[same];
        place[same] = (uint8_t)(low + (high > low ? place[same] % (high - low + 1) : 0));
    }
    return key_from(rq, slice_of(place, same + 8), found);
}

static enum err randomkey_run(struct request *rq)
{
    struct slice first = {0};
    struct slice last = {0};
    struct slice found = {0};
    enum err r = request_take_steps(rq, RANDOMKEY_STEPS);
    if (r == OK) r = key_from(rq, slice_of(NULL, 0), &first);
    if (r == OK && first.data != NULL) r = last_key(rq, &last);
    if (r != OK) return r;
    if (first.data == NULL) {
        resp_nil(rq->w);
        return OK;
    }
    r = key_between(rq, first, last, &found);
    if (r != OK) return r;
    resp_bulk(rq->w, name_of(rq, found.data != NULL ? found : first));
    rq->env->stats.reads++;
    return OK;
}

const struct command cmd_randomkey = {
    .name = "randomkey",
    .flags = CMD_READ | CMD_FOLLOWER | CMD_KEYSPACE | CMD_STRING | CMD_ALL_KEYS,
    .group = "generic",
    .summary = "Returns an arbitrary key of the client's view. Keys are not equally likely.",
    .arguments = &no_arguments,
    .run = randomkey_run,
};
