/* redis_open: a Redis or Valkey server as a source is opened and closed. With --follow the events
 * are listened to before anything is read. */
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codec/utf8.h"
#include "tool/msgpack.h"
#include "tool/output.h"
#include "tool/redis_source.h"

void redis_key_pack(struct slice name, struct buf *out)
{
    mp_add_array(out, 1);
    if (utf8_valid_bytes(name) == name.len) {
        mp_add_str(out, name);
    } else {
        mp_add_bin(out, name);
    }
}

void redis_key_show(struct slice name, struct buf *out)
{
    buf_append_byte(out, '"');
    text_clean(name, out);
    buf_append_byte(out, '"');
}

/* ---- opening --------------------------------------------------------------------------------- */

enum tool_status redis_source_look(struct redis_source *x)
{
    redisReply *info = NULL;
    size_t count = 0;
    uint64_t keys = 0;
    enum tool_status s = redis_ask(&x->reader, TOOL_WORDS_OF("INFO", "keyspace"), &info);
    if (s != TOOL_DONE) return s;
    uint32_t *all = redis_databases(wire_slice(info), &count, &keys);
    freeReplyObject(info);
    if (x->is_all) {
        mem_free(x->databases);
        x->databases = all;
        x->database_count = count;
        x->keys_all = keys;
        return s;
    }
    mem_free(all);
    s = redis_ask(&x->reader, TOOL_WORDS_OF("DBSIZE"), &info);
    if (s == TOOL_DONE) x->keys_all = (uint64_t)info->integer;
    freeReplyObject(info);
    return s;
}

enum tool_status redis_source_select(struct redis_source *x, uint32_t database)
{
    redisReply *r = NULL;
    char digits[24];
    if (x->selected == database) return TOOL_DONE;
    snprintf(digits, sizeof digits, "%u", database);
    enum tool_status s = redis_ask(&x->reader, TOOL_WORDS_OF("SELECT", digits), &r);
    freeReplyObject(r);
    if (s == TOOL_DONE) x->selected = database;
    return s;
}

static enum tool_status look_at_server(struct redis_source *x)
{
    redisReply *info = NULL;
    enum tool_status s = redis_ask(&x->reader, TOOL_WORDS_OF("INFO"), &info);
    if (s != TOOL_DONE) return s;
    struct slice run = redis_info_get(wire_slice(info), "run_id");
    snprintf(x->run_id, sizeof x->run_id, "%.*s", (int)run.len, (const char *)run.data);
    if (slice_eq(redis_info_get(wire_slice(info), "cluster_enabled"), slice_str("1"))) {
        tool_warn(x->t,
                  "%s is a cluster node: only its own keys are read. Import each master with a "
                  "separate command",
                  x->who);
    }
    freeReplyObject(info);
    return s;
}

static enum tool_status check_words(struct source *s, struct redis_source *x, int64_t database)
{
    if (s->prefix.len > 0) {
        return tool_fail(TOOL_WORDS, "--prefix does not apply to Redis, whose keys are not tuples");
    }
    if (x->follows && tool_has(s->t, "--dry-run")) {
        return tool_fail(TOOL_WORDS, "--follow loads changes, but --dry-run loads nothing");
    }
    if (tool_has(s->t, "--set-events") && !x->follows) {
        return tool_fail(TOOL_WORDS, "--set-events needs --follow");
    }
    if (database < 0 && s->t->server.database != NULL && !tool_has(s->t, "--dry-run")) {
        return tool_fail(TOOL_WORDS,
                         "the source's URL names no database, so all are imported by their "
                         "numbers, but a target database is given too. Name the source's database "
                         "in its URL: redis://host/0");
    }
    return TOOL_DONE;
}

enum tool_status redis_source_open(struct source *s, const char *from)
{
    struct redis_source *x = mem_new(sizeof *x);
    char why[WIRE_WHY_BYTES];
    char place[WIRE_WHY_BYTES];
    int64_t database = -1;
    s->state = x;
    x->t = s->t;
    x->follows = tool_has(s->t, "--follow");
    arena_init(&x->arena, 65536);
    enum tool_status status = redis_options_read(s->t, from, &x->options, &database);
    if (status == TOOL_DONE) status = check_words(s, x, database);
    if (status != TOOL_DONE) return status;
    wire_place(&x->options, place);
    snprintf(x->who, sizeof x->who, "the source %.400s", place);
    x->is_all = database < 0;
    x->selected = x->is_all ? 0 : (uint32_t)database;
    snprintf(x->cursor, sizeof x->cursor, "0");
    if (!x->is_all) {
        x->databases = mem_new(sizeof *x->databases);
        x->databases[0] = x->selected;
        x->database_count = 1;
    }
    status = wire_open(&x->options, &x->w, why);
    if (status != TOOL_DONE) return tool_fail(status, "the source: %s", why);
    status = redis_reader_init(&x->reader, x->w, x->who);
    if (status == TOOL_DONE) status = look_at_server(x);
    if (status == TOOL_DONE && x->follows) {
        x->is_following = true;
        status = redis_follow_open(&x->follow, &x->reader, &x->options, database,
                                   tool_has(s->t, "--set-events"));
    }
    /* Only now: no change after this is missed. */
    if (status == TOOL_DONE) status = redis_source_look(x);
    if (x->follows) wire_attend(x->w, &x->follow.also);
    x->begun_us = clock_mono_us();
    return status;
}

void redis_source_close(struct source *s)
{
    struct redis_source *x = s->state;
    if (x == NULL) return;
    redis_source_forget_keys(x);
    if (x->is_following) redis_follow_close(&x->follow, &x->reader);
    wire_close(x->w);
    freeReplyObject(x->page);
    redis_long_end(&x->long_key);
    redis_names_fini(&x->last);
    redis_elements_fini(&x->elements);
    arena_fini(&x->arena);
    buf_fini(&x->key);
    buf_fini(&x->value);
    for (size_t i = 0; i < x->unknown_count; i++) buf_fini(&x->unknown[i].example);
    mem_free(x->databases);
    mem_free(x);
}
