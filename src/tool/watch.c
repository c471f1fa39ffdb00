/* watch: `tupledctl watch`, changes as lines. It stands on the change feed, not on a subscription:
 * a caller that knows the versionstamp of the last line misses nothing when the connection is lost,
 * and the server says so (STALE) when that is no longer possible.
 *
 *   connect -> KV.VERSION v -> current state of the keys -> KV.CHANGES v, next ... -> lost: connect
 *                                                              -> STALE, refused: end
 *
 * The server is asked for one prefix that covers all that is watched; what else lies below it is
 * left out here.
 */
#include <poll.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codec/key.h"
#include "tool/commands.h"
#include "tool/output.h"

#define WATCH_BLOCK_MS "10000"
#define WATCH_ANSWER_US 30000000 /* after that the connection counts as lost */
#define WATCH_AGAIN_MS_MIN 200
#define WATCH_AGAIN_MS_MAX 5000
#define WATCH_STAMP_BYTES 64

const struct tool_option watch_options[] = {
    {"--prefix", 'p', "KEY", "watch all keys below this one, [] for all keys; may be repeated"},
    {"--since", 0, "VERSION", "print all changes after this versionstamp; 0 is the beginning"},
    {"--count", 0, "N", "exit after this number of lines"},
    {.name = NULL},
};

struct watch_item {
    const char *text; /* as it was given; borrowed */
    struct buf key;   /* encoded */
    bool is_prefix;
    char shown[WATCH_STAMP_BYTES]; /* of a key: what was shown of it first; "" = nothing */
};

struct watch {
    const struct tool *tool;
    struct watch_item *items; /* owned */
    size_t count;
    struct buf prefix; /* JSON, NUL-ended: what the server is asked for */
    char version[WATCH_STAMP_BYTES];
    int64_t lines_left;
    bool shows_state; /* not yet */
    struct buf key;   /* scratch */
    struct buf line;
};

/* ---- what is watched ------------------------------------------------------------------------- */

/* The bytes of the parts that both begin with. */
static size_t watch_common(struct slice a, struct slice b)
{
    struct key_part part;
    size_t at = 0;
    for (size_t next = 0; key_next(a, &next, &part); at = next) {
        if (next > b.len || memcmp(a.data + at, b.data + at, next - at) != 0) break;
    }
    return at;
}

/* Without its last part. */
static struct slice watch_parent(struct slice key)
{
    struct key_part part;
    size_t at = 0;
    for (size_t next = 0; key_next(key, &next, &part) && next < key.len;) at = next;
    return slice_of(key.data, at);
}

static enum tool_status watch_add(struct watch *k, const char *text, bool is_prefix)
{
    struct watch_item *item = &k->items[k->count];
    struct error e;
    *item = (struct watch_item){.text = text, .is_prefix = is_prefix};
    buf_init(&item->key);
    if (key_from_json(slice_str(text), is_prefix, NULL, &item->key, &e) != OK) {
        return tool_fail(TOOL_WORDS, "%s: %s; write '[\"users\",1]'", text, e.text);
    }
    k->count++;
    return TOOL_DONE;
}

static void watch_cover(struct watch *k)
{
    struct slice cover = slice_of("", 0);
    for (size_t i = 0; i < k->count; i++) {
        struct slice own = buf_slice(&k->items[i].key);
        if (!k->items[i].is_prefix) own = watch_parent(own);
        cover = i == 0 ? own : slice_of(cover.data, watch_common(cover, own));
    }
    key_to_json(cover, &k->prefix);
    buf_append_byte(&k->prefix, '\0');
    buf_require(&k->prefix);
}

static enum tool_status watch_read(struct watch *k)
{
    const struct tool *t = k->tool;
    enum tool_status status = TOOL_DONE;
    const char *since = tool_text(t, "--since");
    int64_t count = INT64_MAX;
    const char *prefix = NULL;
    k->items = mem_new((t->word_count + t->given_count + 1) * sizeof *k->items);
    for (size_t i = 0; i < t->word_count && status == TOOL_DONE; i++) {
        status = watch_add(k, t->words[i], false);
    }
    for (size_t i = 0; status == TOOL_DONE && (prefix = tool_text_at(t, "--prefix", i)); i++) {
        status = watch_add(k, prefix, true);
    }
    if (status == TOOL_DONE && k->count == 0) {
        status = tool_fail(TOOL_WORDS, "nothing to watch; give keys, or --prefix KEY");
    }
    if (status == TOOL_DONE) status = tool_number(t, "--count", 1, INT64_MAX, &count);
    if (since != NULL && strlen(since) >= sizeof k->version) {
        status = tool_fail(TOOL_WORDS, "--since: %s is not a versionstamp", since);
    }
    if (status != TOOL_DONE) return status;
    k->lines_left = count;
    k->shows_state = since == NULL;
    if (since != NULL) snprintf(k->version, sizeof k->version, "%s", since);
    watch_cover(k);
    return TOOL_DONE;
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct watch_row {
    struct slice key;     /* JSON; empty = a flush */
    struct slice version; /* of the commit */
    struct slice value;   /* JSON; empty = it is gone */
    const redisReply *expiry;
};

static void watch_json(struct watch *k, const struct watch_row *row)
{
    struct json_out j;
    json_out_init(&j);
    json_out_open(&j, '{');
    json_out_name(&j, "versionstamp");
    json_out_text(&j, row->version);
    json_out_name(&j, "key");
    json_out_raw(&j, row->key.len > 0 ? row->key : slice_str("null"));
    json_out_name(&j, "value");
    json_out_raw(&j, row->value.len > 0 ? row->value : slice_str("null"));
    json_out_name(&j, "gone");
    json_out_bool(&j, row->value.len == 0);
    if (wire_is(row->expiry, REDIS_REPLY_INTEGER)) {
        json_out_name(&j, "expires_ms");
        json_out_i64(&j, row->expiry->integer);
    }
    json_out_close(&j, '}');
    buf_append(&k->line, j.text.data, j.text.len);
    json_out_fini(&j);
}

static void watch_text(struct watch *k, const struct watch_row *row)
{
    text_clean(row->version, &k->line);
    buf_append_str(&k->line, "  ");
    text_clean(row->key.len > 0 ? row->key : slice_str("(all keys)"), &k->line);
    buf_append_str(&k->line, "  ");
    text_clean(row->value.len > 0 ? row->value : slice_str("(gone)"), &k->line);
}

static void watch_show(struct watch *k, const struct watch_row *row)
{
    if (k->lines_left == 0) return;
    k->lines_left--;
    if (k->tool->is_json) {
        watch_json(k, row);
    } else {
        watch_text(k, row);
    }
    buf_append_byte(&k->line, '\n');
    text_print(&k->line);
}

/* Is the key watched, and newer than what was shown? */
static bool watch_wants(struct watch *k, const struct watch_row *row)
{
    struct error e;
    if (row->key.len == 0) return true;
    buf_clear(&k->key, 65536);
    if (key_from_json(row->key, false, NULL, &k->key, &e) != OK) return false;
    struct slice key = buf_slice(&k->key);
    bool is_wanted = false;
    for (size_t i = 0; i < k->count; i++) {
        const struct watch_item *item = &k->items[i];
        if (item->is_prefix) {
            is_wanted |= key_is_below(key, buf_slice(&item->key));
        } else if (slice_eq(key, buf_slice(&item->key))) {
            if (slice_cmp(row->version, slice_str(item->shown)) <= 0) return false;
            is_wanted = true;
        }
    }
    return is_wanted;
}

static struct slice watch_slice(const redisReply *r)
{
    return wire_is(r, REDIS_REPLY_STRING) ? wire_slice(r) : slice_of("", 0);
}

/* ---- the server ------------------------------------------------------------------------------ */

/* As wire_call, with an end to waiting. Errors are said; a lost connection is not. */
static enum tool_status watch_ask(struct watch *k, struct wire *w, const char *const *words,
                                  redisReply **reply)
{
    wire_append_text(w, words);
    enum wire_event event = wire_next(w, clock_mono_us() + WATCH_ANSWER_US, reply);
    if (event != WIRE_REPLY) return TOOL_BROKEN;
    if ((*reply)->type != REDIS_REPLY_ERROR) return TOOL_DONE;
    tool_refused(*reply);
    if (slice_has_prefix(wire_slice(*reply), slice_str("STALE"))) {
        tool_fail(TOOL_NO,
                  "changes after %s were missed; read the data again, then watch from there",
                  k->version);
    }
    freeReplyObject(*reply);
    *reply = NULL;
    return TOOL_NO;
}

static enum tool_status watch_state(struct watch *k, struct wire *w)
{
    redisReply *r = NULL;
    enum tool_status status = watch_ask(k, w, TOOL_WORDS_OF("KV.VERSION"), &r);
    if (status != TOOL_DONE) return status;
    snprintf(k->version, sizeof k->version, "%.*s", (int)r->len, r->str);
    freeReplyObject(r);
    for (size_t i = 0; i < k->count && status == TOOL_DONE; i++) {
        struct watch_item *item = &k->items[i];
        if (item->is_prefix) continue;
        r = NULL;
        status = watch_ask(k, w,
                           TOOL_WORDS_OF("KV.GET", item->text, "WITHEXPIRY", "FORMAT", "JSON"), &r);
        if (status != TOOL_DONE) break;
        struct watch_row row = {.key = slice_str(item->text), .version = slice_str(k->version)};
        if (wire_is_array(r, 3)) {
            row.value = watch_slice(r->element[0]);
            row.version = watch_slice(r->element[1]);
            row.expiry = r->element[2];
            snprintf(item->shown, sizeof item->shown, "%s", r->element[1]->str);
        }
        watch_show(k, &row);
        freeReplyObject(r);
    }
    output_flush();
    k->shows_state = status != TOOL_DONE;
    return status;
}

static enum tool_status watch_page(struct watch *k, struct wire *w)
{
    redisReply *r = NULL;
    enum tool_status status = watch_ask(k, w,
                                        TOOL_WORDS_OF("KV.CHANGES", k->version, "PREFIX",
                                                      (const char *)k->prefix.data, "COUNT", "1000",
                                                      "BLOCK", WATCH_BLOCK_MS, "FORMAT", "JSON"),
                                        &r);
    if (status != TOOL_DONE) return status;
    bool is_known = wire_is_array(r, 2) && wire_is_array(r->element[1], 0);
    for (size_t i = 0; is_known && i < r->element[1]->elements; i++) {
        const redisReply *m = r->element[1]->element[i];
        is_known = wire_is_array(m, 4);
        if (!is_known) break;
        struct watch_row row = {.key = watch_slice(m->element[0]),
                                .value = watch_slice(m->element[1]),
                                .version = watch_slice(m->element[2]),
                                .expiry = m->element[3]};
        if (watch_wants(k, &row)) watch_show(k, &row);
    }
    if (is_known) snprintf(k->version, sizeof k->version, "%s", r->element[0]->str);
    freeReplyObject(r);
    output_flush();
    return is_known ? TOOL_DONE : tool_strange("KV.CHANGES");
}

/* Until the connection is lost, or something ends it. */
static enum tool_status watch_follow(struct watch *k, struct wire *w)
{
    enum tool_status status = k->shows_state ? watch_state(k, w) : TOOL_DONE;
    while (status == TOOL_DONE && k->lines_left > 0) status = watch_page(k, w);
    return status;
}

/* The first connection must be there; one that is lost is made again, for ever. */
static enum tool_status watch_go(struct watch *k)
{
    char why[WIRE_WHY_BYTES];
    struct wire *w = NULL;
    int pause_ms = 0;
    enum tool_status status = tool_connect(k->tool, &w);
    while (status == TOOL_DONE) {
        status = watch_follow(k, w);
        if (status == TOOL_BROKEN) {
            tool_warn(k->tool, "%s; reconnecting",
                      wire_why(w)[0] != '\0' ? wire_why(w) : "no reply for 30 s");
        }
        wire_close(w);
        w = NULL;
        if (status != TOOL_BROKEN) return status;
        pause_ms = WATCH_AGAIN_MS_MIN;
        while ((status = wire_open(&k->tool->server, &w, why)) == TOOL_BROKEN) {
            poll(NULL, 0, pause_ms);
            pause_ms = pause_ms * 2 > WATCH_AGAIN_MS_MAX ? WATCH_AGAIN_MS_MAX : pause_ms * 2;
        }
        if (status != TOOL_DONE) return tool_fail(status, "%s", why);
        tool_warn(k->tool, "reconnected, continuing after %s", k->version);
    }
    return status;
}

enum tool_status watch_run(struct tool *t)
{
    struct watch k = {.tool = t};
    buf_init(&k.prefix);
    buf_init(&k.key);
    buf_init(&k.line);
    enum tool_status status = watch_read(&k);
    if (status == TOOL_DONE) status = watch_go(&k);
    for (size_t i = 0; i < k.count; i++) buf_fini(&k.items[i].key);
    mem_free(k.items);
    buf_fini(&k.prefix);
    buf_fini(&k.key);
    buf_fini(&k.line);
    return status;
}
