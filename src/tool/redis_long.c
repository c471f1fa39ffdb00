/* redis_long: pages by kind; of a stream first entries, then its state and groups, then of each
 * group its consumers and what is pending. Pages are cut so that a record has about a megabyte. */
#include "tool/redis_long.h"

#include <stdio.h>

#include "base/mem.h"
#include "tool/wire_map.h"

#define FIRST_COUNT 100 /* elements; how long they are is not known yet */
#define STRING_BYTES (4u << 20)

enum stage { STAGE_ENTRIES, STAGE_STATE, STAGE_CONSUMERS, STAGE_PENDING, STAGE_OVER };

void redis_long_begin(struct redis_long *l, struct redis_reader *r, struct slice name)
{
    l->r = r;
    l->name = name;
    l->tries = 0;
    l->tries_max = REDIS_LONG_TRIES;
    l->is_over = l->is_torn = false;
    l->kind = REDIS_NONE;
    l->count = 0;
}

static void forget(struct redis_long *l)
{
    freeReplyObject(l->groups);
    l->groups = NULL;
}

void redis_long_end(struct redis_long *l)
{
    forget(l);
    redis_elements_fini(&l->new);
    buf_fini(&l->bytes);
    buf_fini(&l->at);
    *l = (struct redis_long){.r = NULL};
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* What was appended last. */
static enum tool_status hear(struct redis_long *l, redisReply **reply)
{
    enum tool_status s = redis_hear(l->r, reply);
    if (s != TOOL_DONE || (*reply)->type != REDIS_REPLY_ERROR) return s;
    /* The key went or has another type now: EXEC will say that it changed. */
    struct slice text = wire_slice(*reply);
    bool is_changed = slice_has_prefix(text, slice_str("WRONGTYPE")) ||
                      slice_has_prefix(text, slice_str("NOGROUP")) ||
                      slice_has_prefix(text, slice_str("ERR no such key"));
    if (!is_changed) s = redis_refused(l->r, *reply);
    freeReplyObject(*reply);
    *reply = NULL;
    if (is_changed) {
        l->is_over = true;
        l->is_torn = true;
    }
    return s;
}

static enum tool_status ask(struct redis_long *l, size_t count, const struct slice *words,
                            redisReply **reply)
{
    wire_append(l->r->w, count, words);
    return hear(l, reply);
}

static void at_set(struct redis_long *l, struct slice text)
{
    buf_clear(&l->at, 4096);
    buf_append(&l->at, text.data, text.len);
    buf_require(&l->at);
}

static enum tool_status begin(struct redis_long *l)
{
    redisReply *replies[3] = {NULL};
    enum tool_status s = TOOL_DONE;
    forget(l);
    redis_append(l->r, "WATCH", l->name);
    redis_append(l->r, "TYPE", l->name);
    redis_append_expiry(l->r, l->name);
    for (size_t i = 0; i < 3 && s == TOOL_DONE; i++) s = redis_hear(l->r, &replies[i]);
    for (size_t i = 0; i < 3 && s == TOOL_DONE; i++) {
        if (replies[i]->type == REDIS_REPLY_ERROR) s = redis_refused(l->r, replies[i]);
    }
    if (s == TOOL_DONE) {
        l->kind = redis_kind_of(wire_slice(replies[1]));
        snprintf(l->type, sizeof l->type, "%s", replies[1]->str);
        l->expires_ms = redis_expiry_of(l->r, replies[2]);
        if (l->expires_ms < 0) l->kind = REDIS_NONE;
        at_set(l, slice_str(l->kind == REDIS_STREAM ? "-" : "0"));
        buf_clear(&l->bytes, REDIS_RECORD_BYTES);
        redis_elements_clear(&l->new);
        l->count = FIRST_COUNT;
        l->stage = STAGE_ENTRIES;
        l->told = l->group = 0;
        l->has_groups = l->is_torn = false;
    }
    for (size_t i = 0; i < 3; i++) freeReplyObject(replies[i]);
    return s;
}

/* ---- pages of strings, lists, hashes, sets --------------------------------------------------- */

/* As many as make about half a megabyte, by the newest page. */
static void adjust(struct redis_long *l)
{
    size_t bytes = l->new.bytes.len / (l->new.count + 1) + 1;
    size_t count = REDIS_RECORD_BYTES / 2 / bytes;
    l->count = count < 1 ? 1 : count > 2000 ? 2000 : count;
}

static enum tool_status string_page(struct redis_long *l, bool *is_last)
{
    char from[24];
    char to[24];
    redisReply *r = NULL;
    snprintf(from, sizeof from, "%zu", l->bytes.len);
    snprintf(to, sizeof to, "%zu", l->bytes.len + STRING_BYTES - 1);
    const struct slice words[] = {slice_str("GETRANGE"), l->name, slice_str(from), slice_str(to)};
    enum tool_status s = ask(l, 4, words, &r);
    if (s != TOOL_DONE || r == NULL) return s;
    buf_append(&l->bytes, r->str, r->len);
    *is_last = r->len < STRING_BYTES;
    freeReplyObject(r);
    return l->bytes.is_failed ? tool_fail(TOOL_NO, "out of memory for a string") : TOOL_DONE;
}

static enum tool_status list_page(struct redis_long *l, bool *is_last)
{
    char from[24];
    char to[24];
    redisReply *r = NULL;
    snprintf(from, sizeof from, "%llu", (unsigned long long)l->told);
    snprintf(to, sizeof to, "%llu", (unsigned long long)l->told + l->count - 1);
    const struct slice words[] = {slice_str("LRANGE"), l->name, slice_str(from), slice_str(to)};
    enum tool_status s = ask(l, 4, words, &r);
    if (s != TOOL_DONE || r == NULL) return s;
    bool is_good = redis_elements_page(&l->new, l->kind, r, NULL);
    *is_last = l->new.count < l->count;
    freeReplyObject(r);
    return is_good ? TOOL_DONE : redis_strange(l->r, "LRANGE");
}

static enum tool_status field_times(struct redis_long *l, const redisReply *page, redisReply **out)
{
    size_t fields = page->elements / 2;
    if (!l->r->has_field_times || l->kind != REDIS_HASH || fields == 0) return TOOL_DONE;
    redis_append_times(l->r, l->name, page);
    enum tool_status s = hear(l, out);
    if (s == TOOL_DONE && *out != NULL && !wire_is_array(*out, fields)) {
        freeReplyObject(*out);
        *out = NULL;
    }
    return s;
}

static enum tool_status scan_page(struct redis_long *l, bool *is_last)
{
    const char *command = l->kind == REDIS_HASH  ? "HSCAN"
                          : l->kind == REDIS_SET ? "SSCAN"
                                                 : "ZSCAN";
    char digits[24];
    redisReply *r = NULL;
    redisReply *times = NULL;
    snprintf(digits, sizeof digits, "%zu", l->count);
    const struct slice words[] = {slice_str(command), l->name, buf_slice(&l->at),
                                  slice_str("COUNT"), slice_str(digits)};
    enum tool_status s = ask(l, 5, words, &r);
    if (s != TOOL_DONE || r == NULL) return s;
    bool is_good = wire_is_array(r, 2) && wire_is(r->element[0], REDIS_REPLY_STRING) &&
                   wire_is_array(r->element[1], 0);
    if (is_good) s = field_times(l, r->element[1], &times);
    if (s == TOOL_DONE) {
        is_good = is_good && redis_elements_page(&l->new, l->kind, r->element[1], times);
        if (is_good) at_set(l, wire_slice(r->element[0]));
        *is_last = slice_eq(buf_slice(&l->at), slice_str("0"));
        if (!is_good) s = redis_strange(l->r, command);
    }
    freeReplyObject(times);
    freeReplyObject(r);
    return s;
}

/* ---- pages of streams ------------------------------------------------------------------------ */

/* Of a list whose items begin with an id: where it goes on after the newest one that was given. A
 * range includes its beginning: servers before Redis 6.2 know no other. */
static size_t skip_given(const struct redis_long *l, const redisReply *list)
{
    if (!wire_is_array(list, 1) || !wire_is_array(list->element[0], 1)) return 0;
    return slice_eq(wire_slice(list->element[0]->element[0]), buf_slice(&l->at));
}

static void at_last(struct redis_long *l, const redisReply *list)
{
    const redisReply *last = list->element[list->elements - 1];
    if (wire_is_array(last, 1)) at_set(l, wire_slice(last->element[0]));
}

static enum tool_status entries_page(struct redis_long *l)
{
    char digits[24];
    redisReply *r = NULL;
    snprintf(digits, sizeof digits, "%zu", l->count + 1);
    const struct slice words[] = {slice_str("XRANGE"), l->name,
                                  buf_slice(&l->at),   slice_str("+"),
                                  slice_str("COUNT"),  slice_str(digits)};
    enum tool_status s = ask(l, 6, words, &r);
    if (s != TOOL_DONE || r == NULL) return s;
    bool is_good = redis_elements_entries(&l->new, r, skip_given(l, r));
    if (is_good && r->elements > 0) at_last(l, r);
    if (r->elements < l->count + 1) l->stage = STAGE_STATE;
    freeReplyObject(r);
    return is_good ? TOOL_DONE : redis_strange(l->r, "XRANGE");
}

static enum tool_status state_page(struct redis_long *l)
{
    redisReply *r = NULL;
    const struct slice state[] = {slice_str("XINFO"), slice_str("STREAM"), l->name};
    const struct slice groups[] = {slice_str("XINFO"), slice_str("GROUPS"), l->name};
    enum tool_status s = ask(l, 3, state, &r);
    if (s != TOOL_DONE || r == NULL) return s;
    bool is_good = redis_elements_state(&l->new, r);
    freeReplyObject(r);
    if (!is_good) return redis_strange(l->r, "XINFO STREAM");
    s = ask(l, 3, groups, &l->groups);
    if (s != TOOL_DONE || l->groups == NULL) return s;
    if (!wire_is_array(l->groups, 0)) return redis_strange(l->r, "XINFO GROUPS");
    for (size_t i = 0; i < l->groups->elements && is_good; i++) {
        is_good = redis_elements_group(&l->new, l->groups->element[i]);
    }
    l->has_groups = l->groups->elements > 0;
    l->stage = l->has_groups ? STAGE_CONSUMERS : STAGE_OVER;
    return is_good ? TOOL_DONE : redis_strange(l->r, "XINFO GROUPS");
}

static enum tool_status consumers_page(struct redis_long *l)
{
    redisReply *r = NULL;
    bool is_good = true;
    struct slice group = wire_map_text(l->groups->element[l->group], "name");
    const struct slice words[] = {slice_str("XINFO"), slice_str("CONSUMERS"), l->name, group};
    enum tool_status s = ask(l, 4, words, &r);
    if (s != TOOL_DONE || r == NULL) return s;
    for (size_t i = 0; i < r->elements && is_good; i++) {
        is_good = redis_elements_consumer(&l->new, group, r->element[i], redis_now_ms(l->r));
    }
    freeReplyObject(r);
    l->stage = STAGE_PENDING;
    at_set(l, slice_str("-"));
    return is_good ? TOOL_DONE : redis_strange(l->r, "XINFO CONSUMERS");
}

static enum tool_status pending_page(struct redis_long *l)
{
    redisReply *r = NULL;
    struct slice group = wire_map_text(l->groups->element[l->group], "name");
    const struct slice words[] = {slice_str("XPENDING"), l->name,        group,
                                  buf_slice(&l->at),     slice_str("+"), slice_str("2001")};
    enum tool_status s = ask(l, 6, words, &r);
    if (s != TOOL_DONE || r == NULL) return s;
    bool is_good = redis_elements_pending(&l->new, group, r, skip_given(l, r), redis_now_ms(l->r));
    if (is_good && r->elements > 0) at_last(l, r);
    if (r->elements < 2001) {
        l->group++;
        l->stage = l->group < l->groups->elements ? STAGE_CONSUMERS : STAGE_OVER;
    }
    freeReplyObject(r);
    return is_good ? TOOL_DONE : redis_strange(l->r, "XPENDING");
}

static enum tool_status stream_page(struct redis_long *l, bool *is_last)
{
    enum tool_status s = TOOL_DONE;
    switch ((enum stage)l->stage) {
    case STAGE_ENTRIES: s = entries_page(l); break;
    case STAGE_STATE: s = state_page(l); break;
    case STAGE_CONSUMERS: s = consumers_page(l); break;
    case STAGE_PENDING: s = pending_page(l); break;
    case STAGE_OVER: break;
    }
    *is_last = l->stage == STAGE_OVER;
    return s;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Did the key change since WATCH? */
static enum tool_status finish(struct redis_long *l, bool *is_changed)
{
    redisReply *r = NULL;
    enum tool_status s = redis_ask(l->r, TOOL_WORDS_OF("MULTI"), &r);
    freeReplyObject(r);
    if (s != TOOL_DONE) return s;
    s = redis_ask(l->r, TOOL_WORDS_OF("EXEC"), &r);
    *is_changed = s == TOOL_DONE && wire_is(r, REDIS_REPLY_NIL);
    freeReplyObject(r);
    return s;
}

static enum tool_status page(struct redis_long *l, bool *is_last)
{
    switch (l->kind) {
    case REDIS_STRING: {
        enum tool_status s = TOOL_DONE;
        while (s == TOOL_DONE && !*is_last && !l->is_over) s = string_page(l, is_last);
        return s;
    }
    case REDIS_LIST: return list_page(l, is_last);
    case REDIS_HASH:
    case REDIS_SET:
    case REDIS_ZSET: return scan_page(l, is_last);
    case REDIS_STREAM: return stream_page(l, is_last);
    case REDIS_NONE:
    case REDIS_OTHER: *is_last = true; break;
    }
    return TOOL_DONE;
}

enum tool_status redis_long_next(struct redis_long *l)
{
    bool is_last = false;
    bool is_changed = false;
    enum tool_status s = TOOL_DONE;
    if (l->count == 0) {
        s = begin(l);
    } else {
        l->told += l->new.count;
        adjust(l);
        redis_elements_clear(&l->new);
    }
    if (s == TOOL_DONE) s = page(l, &is_last);
    if (s != TOOL_DONE || !(is_last || l->is_over)) return s;
    s = finish(l, &is_changed);
    is_changed = is_changed || l->is_over;
    l->is_over = true;
    if (s != TOOL_DONE || !is_changed) return s;
    l->is_torn = true;
    if (++l->tries >= l->tries_max) return TOOL_DONE;
    l->is_over = false;
    l->count = 0;
    redis_elements_clear(&l->new);
    return redis_long_next(l);
}
