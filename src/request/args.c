/* args: see args.h. A key or value that was decoded before (decoded.h, long_words.h) is taken as it
 * is; others are decoded into the scratch and copied into the request's arena. Also the reads,
 * commits and replies that commands share. */
#include "request/args.h"

#include <ctype.h>
#include <stdio.h>

#include "base/glob.h"
#include "codec/collection.h"
#include "codec/value.h"
#include "request/arguments.h"
#include "request/decoded.h"
#include "request/format.h"
#include "request/hint.h"
#include "request/keys.h"
#include "request/long_words.h"
#include "request/notify.h"

/* At most this much of a client's word is shown back to it. */
#define SHOWN_MAX 64

static int shown(struct slice s)
{
    return (int)(s.len < SHOWN_MAX ? s.len : SHOWN_MAX);
}

static enum err key_of(struct request *rq, struct slice arg, bool allow_empty, struct slice *key)
{
    if (decoded_find(rq, arg, DECODED_TUPLE, key)) return OK;
    buf_clear(rq->scratch, SIZE_MAX);
    enum err r = decode_tuple(rq, arg, allow_empty, rq->scratch, &rq->error);
    if (r != OK) {
        hint_key(rq, arg);
        return rq->error.code;
    }
    *key = arena_copy(rq->arena, buf_slice(rq->scratch));
    return OK;
}

enum err arg_prefix(struct request *rq, struct slice arg, struct slice *key)
{
    return key_of(rq, arg, true, key);
}

enum err arg_string_key(struct request *rq, struct slice arg, struct slice *key)
{
    if (decoded_find(rq, arg, DECODED_PLAIN, key)) return OK;
    buf_clear(rq->scratch, SIZE_MAX);
    enum err r = decode_plain(rq->client, arg, rq->scratch, &rq->error);
    if (r == OK) *key = arena_copy(rq->arena, buf_slice(rq->scratch));
    return r;
}

enum err arg_key(struct request *rq, struct slice arg, struct slice *key)
{
    if ((rq->command->flags & CMD_STRING) != 0) return arg_string_key(rq, arg, key);
    return key_of(rq, arg, false, key);
}

enum err arg_any_key(struct request *rq, struct slice arg, struct slice *key)
{
    uint8_t first = arg.len > 0 ? arg.data[0] : 0;
    /* Heads of a MessagePack array; of those with a length after them, UTF-8 has no 00 there. */
    bool is_pack = (first & 0xf0) == 0x90 ||
                   ((first == 0xdc || first == 0xdd) && arg.len > 1 && arg.data[1] == 0);
    bool is_tuple = first == '[' || is_pack;
    return is_tuple ? arg_key(rq, arg, key) : arg_string_key(rq, arg, key);
}

enum err arg_value(struct request *rq, struct slice arg, struct slice *value)
{
    bool is_known = false;
    if (decoded_find(rq, arg, DECODED_VALUE, value)) return OK;
    enum err r = long_word_value(rq, arg, &is_known, value);
    if (r != OK && r != ERR_WAIT) hint_value(rq, arg);
    if (r != OK || is_known) return r;
    if (rq->format == FORMAT_MSGPACK) {
        *value = arg;
        return value_check(arg, &rq->error);
    }
    buf_clear(rq->scratch, SIZE_MAX);
    r = value_from_json(arg, rq->placeholders, rq->scratch, &rq->error);
    if (r != OK) {
        hint_value(rq, arg);
        return r;
    }
    uint8_t *copy = arena_alloc_try(rq->arena, rq->scratch->len);
    if (copy == NULL) return error_set(&rq->error, ERR_NOMEM, "out of memory for a value");
    memcpy(copy, rq->scratch->data, rq->scratch->len);
    *value = slice_of(copy, rq->scratch->len);
    return OK;
}

enum err arg_integer(struct request *rq, struct slice arg, const char *what, int64_t min,
                     int64_t max, int64_t *out)
{
    bool is_integer = slice_to_i64(arg, out);
    if (what == NULL && (!is_integer || *out < min || *out > max)) {
        return error_set(&rq->error, ERR_SYNTAX, ARG_NOT_INTEGER);
    }
    if (!is_integer) {
        return error_set(&rq->error, ERR_SYNTAX, ARG_NOT_INTEGER ": %s '%.*s'", what, shown(arg),
                         (const char *)arg.data);
    }
    if (*out < min || *out > max) {
        return error_set(&rq->error, ERR_SYNTAX, "%s must be between %lld and %lld, not %lld", what,
                         (long long)min, (long long)max, (long long)*out);
    }
    return OK;
}

/* All commands of this server's own take FORMAT; and no program compares the errors of JSON.*. */
bool arg_is_terse(const struct request *rq)
{
    const struct command *c = rq->command;
    return (c->flags & CMD_FORMAT) == 0 && strcmp(c->group, "json") != 0 &&
           strcmp(c->group, "kv") != 0;
}

enum err arg_pattern(struct request *rq, struct slice arg)
{
    if (arg.len <= GLOB_BYTES_MAX) return OK;
    return error_set(&rq->error, ERR_LIMIT, "the pattern has %zu bytes; the maximum is %d", arg.len,
                     GLOB_BYTES_MAX);
}

enum err arg_stamp(struct request *rq, struct slice arg, struct expected *out)
{
    return stamp_parse(arg, out, &rq->error);
}

enum err arg_unexpected(struct request *rq, size_t at)
{
    struct slice word = rq->argv[at];
    if (arg_is_terse(rq)) return error_set(&rq->error, ERR_SYNTAX, "syntax error");
    if (hint_misplaced(rq, word)) return ERR_SYNTAX;
    for (size_t i = 1; i < at; i++) {
        struct slice earlier = rq->argv[i];
        if (earlier.len != word.len || word.len > 15) continue;
        char upper[16] = "";
        for (size_t k = 0; k < word.len; k++) {
            uint8_t c = earlier.data[k];
            upper[k] = (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
        }
        if (slice_is_word(word, upper)) {
            return error_set(&rq->error, ERR_SYNTAX,
                             "syntax error: '%.*s' is a duplicate or contradicts an earlier option",
                             shown(word), (const char *)word.data);
        }
    }
    return error_set(&rq->error, ERR_SYNTAX, "syntax error: unexpected '%.*s'", shown(word),
                     (const char *)word.data);
}

bool ttl_fits(struct request *rq, enum op_ttl ttl, int64_t n, int64_t unit_ms, int64_t *ms)
{
    int64_t end_ms = 0;
    if (__builtin_mul_overflow(n, unit_ms, ms)) return false;
    if (ttl != TTL_AFTER) return true;
    return !__builtin_add_overflow(engine_time_ms(rq->env->db->engine), *ms, &end_ms);
}

enum err request_get(struct request *rq, struct slice key, struct entry *out)
{
    enum err r = engine_get(rq->env->db->engine, rq->overlay, key, out, rq->waiter, &rq->error);
    if (r == OK) depends_raise(&rq->depends, out->depends);
    return r;
}

enum err request_read(struct request *rq, struct slice key, struct entry *entry)
{
    enum err r = request_get(rq, key, entry);
    if (r != OK) return r;
    rq->env->stats.reads++;
    if (entry->exists) {
        rq->env->stats.hits++;
    } else {
        rq->env->stats.misses++;
    }
    return OK;
}

enum err string_wrong_type(struct error *e)
{
    return error_set(e, ERR_TYPE, "Operation against a key holding the wrong kind of value");
}

enum err check_ops(struct request *rq, size_t keys)
{
    size_t max = engine_limits(rq->env->db->engine)->ops_max;
    char name[32];
    size_t i = 0;
    if (keys <= max) return OK;
    for (; rq->command->name[i] != '\0' && i + 1 < sizeof name; i++) {
        name[i] = (char)toupper((unsigned char)rq->command->name[i]);
    }
    name[i] = '\0';
    return error_set(&rq->error, ERR_LIMIT, "%s of %zu keys exceeds max-transaction-ops (%zu)",
                     name, keys, max);
}

/* ---- replies ---- */

void reply_stamp(struct request *rq, uint64_t version)
{
    char stamp[STAMP_CHARS];
    stamp_format(version, stamp);
    resp_bulk(rq->w, slice_of(stamp, STAMP_CHARS));
}

void reply_key(struct resp_writer *w, enum format format, struct slice key)
{
    struct resp_mark mark = resp_bulk_begin(w, key.len);
    format_write_key(format, engine_key_tuple(key), w->out);
    resp_bulk_end(w, mark);
}

static void write_value(enum format format, struct slice value, struct buf *out)
{
    struct resp_writer w = {.out = out};
    /* Text is a little longer than MessagePack. */
    struct resp_mark mark = resp_bulk_begin(&w, value.len + value.len / 8);
    format_write_value(format, value, out);
    resp_bulk_end(&w, mark);
}

/* Of drafts (base/drafts.h): any thread. */
static void write_json(struct slice value, struct buf *out)
{
    write_value(FORMAT_JSON, value, out);
}

static void write_json_bare(struct slice value, struct buf *out)
{
    write_value(FORMAT_JSON_BARE, value, out);
}

void reply_value(struct resp_writer *w, enum format format, struct slice value)
{
    if (format == FORMAT_MSGPACK && collection_is_head(value)) {
        write_value(format, value, w->out); /* a few bytes, whatever it holds */
    } else if (format == FORMAT_MSGPACK) {
        resp_bulk(w, value);
    } else {
        resp_draft(w, value, format == FORMAT_JSON ? write_json : write_json_bare);
    }
}

void reply_entry(struct resp_writer *w, enum format format, struct slice key,
                 const struct entry *entry)
{
    char stamp[STAMP_CHARS];
    resp_array(w, 3);
    reply_key(w, format, key);
    reply_value(w, format, entry->value);
    stamp_format(entry->version, stamp);
    resp_bulk(w, slice_of(stamp, STAMP_CHARS));
}

enum err request_commit(struct request *rq, struct op *ops, size_t count)
{
    struct txn t = {.overlay = rq->overlay,
                    .database = rq->client->database,
                    .ops = ops,
                    .count = count,
                    .cause = notify_cause(rq),
                    .arena = rq->arena};
    enum err r = engine_commit(rq->env->db->engine, &t, rq->waiter, &rq->error);
    depends_raise(&rq->depends, t.depends);
    if (r == OK) rq->env->stats.writes++;
    return r;
}
