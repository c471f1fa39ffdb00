/* redis_read: two rounds for many keys. TYPE and MEMORY USAGE first; then for each small key
 * MULTI, its expiry, one command that has all of it, EXEC. What turns out to be longer than it
 * seemed, or has another type by then, is long: redis_long.h reads it whatever it is.
 *
 * The times of a hash's fields can only be asked for by name, so a hash is read once more
 * together with them where the server knows such times. If it has other fields by then it is long.
 */
#include "tool/redis_read.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tool/wire_map.h"

#define PAGE_TEXT "5000" /* REDIS_PAGE */

/* ---- asking ---------------------------------------------------------------------------------- */

enum tool_status redis_refused(const struct redis_reader *r, const redisReply *reply)
{
    static const struct {
        const char *begins, *advice;
    } table[] = {
        {"LOADING", ". Retry when it has loaded its data"},
        {"MOVED", ". It is a cluster node: import each master with a separate command, while no "
                  "slots are migrated"},
        {"ASK", ". It is a cluster node: import each master with a separate command, while no "
                "slots are migrated"},
        {"NOPERM", ". docs/export.md lists the permissions that the user needs"},
        {"MASTERDOWN", ". It is a replica that has lost its master"},
    };
    const char *advice = "";
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (slice_has_prefix(wire_slice(reply), slice_str(table[i].begins))) {
            advice = table[i].advice;
        }
    }
    return tool_fail(TOOL_NO, "%s: %s%s", r->who, reply->str, advice);
}

enum tool_status redis_strange(const struct redis_reader *r, const char *command)
{
    return tool_fail(TOOL_NO, "%s: unexpected form of the reply to %s", r->who, command);
}

enum tool_status redis_hear(struct redis_reader *r, redisReply **reply)
{
    if (wire_next(r->w, -1, reply) == WIRE_REPLY && *reply != NULL) return TOOL_DONE;
    *reply = NULL;
    tool_fail(TOOL_BROKEN, "%s: %s. Repeat the command to continue", r->who, wire_why(r->w));
    return TOOL_BROKEN;
}

enum tool_status redis_ask(struct redis_reader *r, const char *const *words, redisReply **reply)
{
    wire_append_text(r->w, words);
    enum tool_status s = redis_hear(r, reply);
    if (s != TOOL_DONE || (*reply)->type != REDIS_REPLY_ERROR) return s;
    s = redis_refused(r, *reply);
    freeReplyObject(*reply);
    *reply = NULL;
    return s;
}

void redis_append(struct redis_reader *r, const char *command, struct slice name)
{
    const struct slice words[] = {slice_str(command), name};
    wire_append(r->w, 2, words);
}

/* Does the server know the command? */
static enum tool_status knows(struct redis_reader *r, const char *const *words, bool *out)
{
    redisReply *reply = NULL;
    wire_append_text(r->w, words);
    enum tool_status s = redis_hear(r, &reply);
    if (s != TOOL_DONE) return s;
    *out = !slice_has_prefix(wire_slice(reply), slice_str("ERR unknown command"));
    if (*out && reply->type == REDIS_REPLY_ERROR) s = redis_refused(r, reply);
    freeReplyObject(reply);
    return s;
}

enum tool_status redis_reader_init(struct redis_reader *r, struct wire *w, const char *who)
{
    redisReply *time = NULL;
    *r = (struct redis_reader){.w = w, .who = who};
    enum tool_status s = knows(r, TOOL_WORDS_OF("PEXPIRETIME", "tupledctl:import"),
                               &r->has_expiretime);
    if (s == TOOL_DONE) {
        s = knows(r, TOOL_WORDS_OF("HPEXPIRETIME", "tupledctl:import", "FIELDS", "1", "f"),
                  &r->has_field_times);
    }
    if (s == TOOL_DONE) s = redis_ask(r, TOOL_WORDS_OF("TIME"), &time);
    if (s != TOOL_DONE) return s;
    bool is_good = wire_is_array(time, 2) && wire_is(time->element[1], REDIS_REPLY_STRING);
    if (is_good) {
        int64_t ms = strtoll(time->element[0]->str, NULL, 10) * 1000 +
                     strtoll(time->element[1]->str, NULL, 10) / 1000;
        r->ahead_ms = ms - clock_wall_ms();
    }
    freeReplyObject(time);
    return is_good ? TOOL_DONE : redis_strange(r, "TIME");
}

int64_t redis_now_ms(const struct redis_reader *r)
{
    return clock_wall_ms() + r->ahead_ms;
}

void redis_append_expiry(struct redis_reader *r, struct slice name)
{
    redis_append(r, r->has_expiretime ? "PEXPIRETIME" : "PTTL", name);
}

int64_t redis_expiry_of(const struct redis_reader *r, const redisReply *reply)
{
    if (!wire_is(reply, REDIS_REPLY_INTEGER) || reply->integer == -1) return 0;
    if (reply->integer < 0) return -1;
    /* 0 would be never, and what ends now ends. */
    int64_t at = r->has_expiretime ? reply->integer : redis_now_ms(r) + reply->integer;
    return at > 0 ? at : 1;
}

/* ---- the first round: types and sizes -------------------------------------------------------- */

static void append_size(struct redis_reader *r, struct slice name)
{
    const struct slice words[] = {slice_str("MEMORY"), slice_str("USAGE"), name};
    redis_append(r, "TYPE", name);
    wire_append(r->w, 3, words);
}

/* Of a key: its type, and whether it is long. A server that refuses MEMORY is no matter: a key
 * that has more than a page is long too. */
static enum tool_status hear_size(struct redis_reader *r, struct redis_key *key,
                                  redisReply **refusal)
{
    redisReply *type = NULL;
    redisReply *bytes = NULL;
    enum tool_status s = redis_hear(r, &type);
    if (s == TOOL_DONE) s = redis_hear(r, &bytes);
    if (s == TOOL_DONE && type->type == REDIS_REPLY_ERROR && *refusal == NULL) {
        *refusal = type;
        type = NULL;
    } else if (s == TOOL_DONE && type->str != NULL) {
        key->kind = redis_kind_of(wire_slice(type));
        snprintf(key->type, sizeof key->type, "%s", type->str);
        key->is_long = wire_is(bytes, REDIS_REPLY_INTEGER) && bytes->integer > REDIS_SMALL_BYTES;
    }
    freeReplyObject(type);
    freeReplyObject(bytes);
    return s;
}

/* ---- the second round: values ---------------------------------------------------------------- */

/* One command that has all of a small key. */
static void append_whole(struct redis_reader *r, const struct redis_key *key)
{
    struct slice words[7] = {slice_str(""), key->name, slice_str("0"), slice_str("COUNT"),
                             slice_str(PAGE_TEXT)};
    size_t count = 5;
    switch (key->kind) {
    case REDIS_HASH: words[0] = slice_str("HSCAN"); break;
    case REDIS_SET: words[0] = slice_str("SSCAN"); break;
    case REDIS_ZSET: words[0] = slice_str("ZSCAN"); break;
    case REDIS_STRING:
        words[0] = slice_str("GETRANGE");
        words[3] = slice_str("65535");
        count = 4;
        break;
    case REDIS_LIST:
        words[0] = slice_str("LRANGE");
        words[3] = slice_str("4999");
        count = 4;
        break;
    case REDIS_STREAM:
        words[0] = slice_str("XINFO");
        words[1] = slice_str("STREAM");
        words[2] = key->name;
        words[3] = slice_str("FULL");
        words[4] = slice_str("COUNT");
        words[5] = slice_str(PAGE_TEXT);
        count = 6;
        break;
    case REDIS_NONE:
    case REDIS_OTHER: break;
    }
    wire_append(r->w, count, words);
}

static bool is_to_read(const struct redis_key *key)
{
    return !key->is_long && key->kind != REDIS_NONE && key->kind != REDIS_OTHER;
}

static void append_value(struct redis_reader *r, const struct redis_key *key)
{
    wire_append_text(r->w, TOOL_WORDS_OF("MULTI"));
    redis_append_expiry(r, key->name);
    append_whole(r, key);
    wire_append_text(r->w, TOOL_WORDS_OF("EXEC"));
}

/* The replies of a MULTI with `count` commands: what EXEC answered; NULL when it was refused, and
 * the first refusal is kept. */
static enum tool_status hear_exec(struct redis_reader *r, size_t count, redisReply **out,
                                  redisReply **refusal)
{
    enum tool_status s = TOOL_DONE;
    *out = NULL;
    for (size_t i = 0; i < count + 2 && s == TOOL_DONE; i++) {
        redisReply *reply = NULL;
        s = redis_hear(r, &reply);
        if (s != TOOL_DONE) break;
        if (reply->type == REDIS_REPLY_ERROR) {
            if (*refusal == NULL) {
                *refusal = reply;
                continue;
            }
        } else if (i == count + 1 && wire_is_array(reply, count)) {
            *out = reply;
            continue;
        }
        freeReplyObject(reply);
    }
    return s;
}

/* More than a page, or something else than was expected? */
static bool value_is_long(const struct redis_key *key)
{
    const redisReply *v = key->value->element[1];
    switch (key->kind) {
    case REDIS_STRING: return !wire_is(v, REDIS_REPLY_STRING) || v->len == REDIS_SMALL_BYTES;
    case REDIS_LIST: return !wire_is_array(v, 0) || v->elements == REDIS_PAGE;
    case REDIS_HASH:
    case REDIS_SET:
    case REDIS_ZSET:
        return !wire_is_array(v, 2) || !slice_eq(wire_slice(v->element[0]), slice_str("0")) ||
               v->element[1]->elements > REDIS_PAGE * 2;
    case REDIS_STREAM: break;
    case REDIS_NONE:
    case REDIS_OTHER: return false;
    }
    const redisReply *groups = wire_map_find(v, "groups");
    bool is_long = !wire_is_array(groups, 0) || wire_map_i64(v, "length") > REDIS_PAGE;
    for (size_t i = 0; !is_long && i < groups->elements; i++) {
        is_long = wire_map_i64(groups->element[i], "pel-count") > REDIS_PAGE;
    }
    return is_long;
}

static enum tool_status hear_value(struct redis_reader *r, struct redis_key *key,
                                   redisReply **refusal)
{
    enum tool_status s = hear_exec(r, 2, &key->value, refusal);
    if (s != TOOL_DONE || key->value == NULL) return s;
    key->expires_ms = redis_expiry_of(r, key->value->element[0]);
    if (key->expires_ms < 0) {
        key->kind = REDIS_NONE;
    } else {
        key->is_long = value_is_long(key);
    }
    return s;
}

/* ---- times of fields ------------------------------------------------------------------------- */

static const redisReply *fields_of(const struct redis_key *key)
{
    return key->value->element[1]->element[1];
}

/* All fields may have ended, and the key not yet. */
static bool wants_times(const struct redis_reader *r, const struct redis_key *key)
{
    return r->has_field_times && key->kind == REDIS_HASH && is_to_read(key) &&
           fields_of(key)->elements > 1;
}

void redis_append_times(struct redis_reader *r, struct slice name, const redisReply *page)
{
    size_t fields = page->elements / 2;
    char digits[24];
    struct slice *words = mem_new((fields + 4) * sizeof *words);
    snprintf(digits, sizeof digits, "%zu", fields);
    words[0] = slice_str("HPEXPIRETIME");
    words[1] = name;
    words[2] = slice_str("FIELDS");
    words[3] = slice_str(digits);
    for (size_t i = 0; i < fields; i++) words[4 + i] = wire_slice(page->element[2 * i]);
    wire_append(r->w, fields + 4, words);
    mem_free(words);
}

static void append_times(struct redis_reader *r, const struct redis_key *key)
{
    wire_append_text(r->w, TOOL_WORDS_OF("MULTI"));
    redis_append_expiry(r, key->name);
    append_whole(r, key);
    redis_append_times(r, key->name, fields_of(key));
    wire_append_text(r->w, TOOL_WORDS_OF("EXEC"));
}

static bool has_same_fields(const redisReply *a, const redisReply *b)
{
    bool is_same = wire_is_array(a, 0) && wire_is_array(b, 0) && a->elements == b->elements;
    for (size_t i = 0; is_same && i < a->elements; i += 2) {
        is_same = slice_eq(wire_slice(a->element[i]), wire_slice(b->element[i]));
    }
    return is_same;
}

static enum tool_status hear_times(struct redis_reader *r, struct redis_key *key,
                                   redisReply **refusal)
{
    redisReply *again = NULL;
    enum tool_status s = hear_exec(r, 3, &again, refusal);
    if (again == NULL) return s;
    const redisReply *page = again->element[1];
    bool is_same = wire_is_array(page, 2) && has_same_fields(fields_of(key), page->element[1]) &&
                   wire_is_array(again->element[2], fields_of(key)->elements / 2);
    key->is_long = !is_same;
    if (is_same) {
        key->expires_ms = redis_expiry_of(r, again->element[0]);
        freeReplyObject(key->value);
        key->value = again;
        key->expires = again->element[2];
    } else {
        freeReplyObject(again);
    }
    return s;
}

/* ---- many keys ------------------------------------------------------------------------------- */

struct round {
    bool (*wants)(const struct redis_reader *r, const struct redis_key *key);
    void (*append)(struct redis_reader *r, const struct redis_key *key);
    enum tool_status (*hear)(struct redis_reader *r, struct redis_key *key, redisReply **refusal);
};

static bool wants_size(const struct redis_reader *r, const struct redis_key *key)
{
    (void)r;
    return key->kind == REDIS_NONE;
}

static void append_type(struct redis_reader *r, const struct redis_key *key)
{
    append_size(r, key->name);
}

static bool wants_value(const struct redis_reader *r, const struct redis_key *key)
{
    (void)r;
    return is_to_read(key);
}

static enum tool_status run_round(struct redis_reader *r, const struct round *round,
                                  struct redis_key *keys, size_t count)
{
    redisReply *refusal = NULL;
    enum tool_status s = TOOL_DONE;
    bool wants[REDIS_AT_ONCE];
    for (size_t i = 0; i < count; i++) {
        wants[i] = round->wants(r, &keys[i]);
        if (wants[i]) round->append(r, &keys[i]);
    }
    for (size_t i = 0; i < count && s == TOOL_DONE; i++) {
        if (wants[i]) s = round->hear(r, &keys[i], &refusal);
    }
    if (s == TOOL_DONE && refusal != NULL) s = redis_refused(r, refusal);
    freeReplyObject(refusal);
    return s;
}

enum tool_status redis_read(struct redis_reader *r, struct redis_key *keys, size_t count)
{
    static const struct round rounds[] = {{wants_size, append_type, hear_size},
                                          {wants_value, append_value, hear_value},
                                          {wants_times, append_times, hear_times}};
    enum tool_status s = TOOL_DONE;
    for (size_t i = 0; i < count; i++) {
        keys[i] = (struct redis_key){.name = keys[i].name};
    }
    for (size_t i = 0; i < sizeof rounds / sizeof rounds[0] && s == TOOL_DONE; i++) {
        s = run_round(r, &rounds[i], keys, count);
    }
    return s;
}

void redis_key_clear(struct redis_key *key)
{
    freeReplyObject(key->value);
    key->value = NULL;
    key->expires = NULL;
}

/* ---- what was read --------------------------------------------------------------------------- */

bool redis_key_elements(const struct redis_key *key, struct redis_elements *out)
{
    const redisReply *v = key->value->element[1];
    bool is_good = true;
    redis_elements_clear(out);
    if (key->kind == REDIS_LIST) {
        is_good = redis_elements_page(out, key->kind, v, NULL);
    } else if (key->kind != REDIS_STREAM) {
        is_good = redis_elements_page(out, key->kind, v->element[1], key->expires);
    } else {
        const redisReply *groups = wire_map_find(v, "groups");
        is_good = redis_elements_entries(out, wire_map_find(v, "entries"), 0) &&
                  redis_elements_state(out, v);
        for (size_t i = 0; i < groups->elements && is_good; i++) {
            is_good = redis_elements_group(out, groups->element[i]) &&
                      redis_elements_members(out, groups->element[i]);
        }
    }
    return is_good && out->count > 0 && out->count <= REDIS_PAGE &&
           out->bytes.len <= REDIS_RECORD_BYTES;
}

struct slice redis_key_bytes(const struct redis_key *key)
{
    return wire_slice(key->value->element[1]);
}

bool redis_key_has_groups(const struct redis_key *key)
{
    if (key->kind != REDIS_STREAM || key->value == NULL) return false;
    const redisReply *groups = wire_map_find(key->value->element[1], "groups");
    return wire_is_array(groups, 1);
}
