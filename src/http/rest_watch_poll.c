/* rest_watch_poll: GET /watch/prefix/poll: what has changed below a prefix since the last answer.
 * What that was the caller says again: "<key>:<versionstamp>,..", the keys in path form, in which
 * `:` and `,` are escaped too. Keys that are known and not among the first `limit` are looked at
 * one by one, so that only those that are gone are told as deleted.
 */
#include "codec/json_lex.h"
#include "codec/key.h"
#include "http/rest.h"

#define KNOWN_MAX 1000
#define STAMP_CHARS 20

struct known {
    struct slice path, stamp;
    struct slice key; /* JSON */
    bool is_listed;   /* it is among those of now */
};

struct told {
    struct slice key, stamp; /* in the arena */
};

struct polling {
    struct slice prefix;
    struct known *known;
    size_t count;
    struct told *told; /* what the caller is to say the next time */
    size_t told_count;
    bool has_entry;
};

/* ---- what is known --------------------------------------------------------------------------- */

static bool take_known(struct exchange *x, struct polling *p, struct slice list)
{
    p->known = arena_alloc(&x->arena, KNOWN_MAX * sizeof *p->known);
    while (list.len > 0) {
        const uint8_t *comma = memchr(list.data, ',', list.len);
        struct slice one = list;
        if (comma != NULL) one.len = (size_t)(comma - list.data);
        size_t used = one.len + (comma != NULL);
        list = slice_of(list.data + used, list.len - used);
        if (one.len == 0) continue;
        if (p->count == KNOWN_MAX || one.len < STAMP_CHARS + 2 ||
            one.data[one.len - STAMP_CHARS - 1] != ':') {
            exchange_fail(x, 400, "versionstamps must be those of the previous response");
            return false;
        }
        struct known *k = &p->known[p->count++];
        *k = (struct known){.path = slice_of(one.data, one.len - STAMP_CHARS - 1),
                            .stamp = slice_of(one.data + one.len - STAMP_CHARS, STAMP_CHARS)};
        if (!rest_written_key(x, k->path, false, "versionstamps", &k->key)) return false;
    }
    return true;
}

static struct known *find(const struct polling *p, struct slice key)
{
    for (size_t i = 0; i < p->count; i++) {
        if (slice_eq(p->known[i].key, key)) return &p->known[i];
    }
    return NULL;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void tell(struct exchange *x, struct polling *p, struct slice key, struct slice stamp)
{
    p->told[p->told_count++] = (struct told){.key = arena_copy(&x->arena, key),
                                             .stamp = arena_copy(&x->arena, stamp)};
}

static void put_told(const struct told *t, struct buf *out)
{
    struct buf tuple;
    struct buf path;
    struct error e;
    buf_init(&tuple);
    buf_init(&path);
    if (key_from_json(t->key, false, NULL, &tuple, &e) == OK) key_to_path(buf_slice(&tuple), &path);
    for (size_t i = 0; i < path.len; i++) {
        uint8_t c = path.data[i];
        if (c == ':' || c == ',') {
            buf_append_str(out, c == ':' ? "%3A" : "%2C");
        } else {
            buf_append_byte(out, c);
        }
    }
    buf_append_byte(out, ':');
    buf_append(out, t->stamp.data, t->stamp.len);
    if (tuple.is_failed || path.is_failed) out->is_failed = true;
    buf_fini(&tuple);
    buf_fini(&path);
}

static void begin_entry(struct exchange *x, struct polling *p)
{
    if (p->has_entry) buf_append_byte(&x->text, ',');
    p->has_entry = true;
}

/* Paths and versionstamps have nothing that JSON escapes. */
static void finish(struct exchange *x, struct polling *p)
{
    buf_append_str(&x->text, "],\"versionstamps\":\"");
    for (size_t i = 0; i < p->told_count; i++) {
        if (i > 0) buf_append_byte(&x->text, ',');
        put_told(&p->told[i], &x->text);
    }
    buf_append_str(&x->text, "\"}");
    exchange_answer_json(x, 200);
}

/* Of those that are known and not listed: gone, or only further down. */
static void missing_came(struct exchange *x)
{
    struct polling *p = x->task;
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (rest_fails(x)) return;
    (void)rest_next(&rest, &item);
    for (size_t i = 0; i < p->count; i++) {
        const struct known *k = &p->known[i];
        if (k->is_listed) continue;
        struct slice stamp = rest_stamp_at(rest);
        if (stamp.len > 0) tell(x, p, k->key, stamp);
        if (slice_eq(stamp, k->stamp)) {
            size_t len = resp_reply_length(rest);
            rest = slice_of(rest.data + len, rest.len - len);
            continue;
        }
        begin_entry(x, p);
        rest_put_found(&x->text, k->key, &rest);
    }
    finish(x, p);
}

static void look_for_missing(struct exchange *x, struct polling *p)
{
    struct rest_words w = rest_words_of(x, "KV.MGET");
    for (size_t i = 0; i < p->count; i++) {
        if (!p->known[i].is_listed) rest_words_add(&w, p->known[i].key);
    }
    if (w.argc == 1) {
        finish(x, p);
    } else {
        rest_words_run(&w, missing_came);
    }
}

static void entries_came(struct exchange *x)
{
    struct polling *p = x->task;
    struct slice rest = buf_slice(&x->reply);
    struct resp_item item;
    if (rest_fails(x)) return;
    rest_begin(x);
    buf_append_str(&x->text, "{\"entries\":[");
    if (!rest_skip(&rest, 3, &item)) return;
    for (size_t i = item.children; i > 0; i--) {
        struct slice entry = rest;
        struct resp_item parts[4];
        for (size_t k = 0; k < 4; k++) {
            if (!rest_next(&rest, &parts[k])) return;
        }
        struct known *known = find(p, parts[1].text);
        if (known != NULL) known->is_listed = true;
        tell(x, p, parts[1].text, parts[3].text);
        if (known != NULL && slice_eq(known->stamp, parts[3].text)) continue;
        begin_entry(x, p);
        shape_write(REST_ENTRY, &entry, &x->text);
    }
    look_for_missing(x, p);
}

void rest_watch_prefix_poll_run(struct exchange *x)
{
    struct slice prefix;
    struct slice stamps = slice_of(NULL, 0);
    int64_t limit;
    struct polling *p = arena_alloc(&x->arena, sizeof *p);
    *p = (struct polling){0};
    p->told = arena_alloc(&x->arena, (KNOWN_MAX + REST_LIMIT_MAX) * sizeof *p->told);
    if (!rest_query_key(x, "prefix", &prefix) || !rest_limit(x, NULL, &limit)) return;
    if (prefix.data == NULL) {
        exchange_fail(x, 400, "Missing 'prefix' query parameter");
        return;
    }
    if (!rest_query_text(x, "versionstamps", &stamps) || !take_known(x, p, stamps)) return;
    x->task = p;
    struct rest_words w = rest_words_of(x, "KV.LIST");
    rest_words_str(&w, "PREFIX");
    rest_words_add(&w, prefix);
    rest_words_str(&w, "LIMIT");
    rest_words_number(&w, limit);
    rest_words_run(&w, entries_came);
}
