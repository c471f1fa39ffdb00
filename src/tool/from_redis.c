/* from_redis: a live Redis or Valkey server (docs/export.md): all keys by SCAN, each read whole
 * (redis_read.h, redis_long.h); with --follow the keys that change, until a signal comes.
 *
 *   SCAN --> SWEEP --> FOLLOW --> DRAIN --> OVER     without --follow: SCAN --> OVER
 *    ^         |         |          |
 *    '---------'---------'----------'  events were lost: everything is read again, and what the
 *                                      source no longer has is looked for
 *
 * A place is the database, and the cursor of the page in hand until all of it has been given: a
 * page is read again after an interruption, which does no harm. Cursors mean something to one run
 * of the server only, which is in the identity. With --follow nothing is kept but that it had
 * begun: what changed meanwhile nothing tells, so all is read again.
 *
 * A key that takes several records is loaded under another name, REDIS_ASIDE, and renamed when it
 * is whole (RECORD_RENAME): no client sees a part of it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tool/msgpack.h"
#include "tool/redis_source.h"

#define SCAN_COUNT "1000"
#define WAIT_MS 100
#define AGAIN_S 60            /* so long a lost connection for events is tried again */
#define PLACE_FOLLOW "follow" /* how far it was would not help */

void redis_source_forget_keys(struct redis_source *x)
{
    for (size_t i = 0; i < x->key_count; i++) redis_key_clear(&x->keys[i]);
    x->key_count = x->key_at = 0;
    arena_reset(&x->arena);
}

/* ---- records --------------------------------------------------------------------------------- */

static void make_record(struct redis_source *x, enum record_kind kind, struct slice name,
                        struct record *out)
{
    buf_clear(&x->key, 65536);
    redis_key_pack(name, &x->key);
    buf_require(&x->key);
    *out = (struct record){
        .kind = kind, .number = ++x->number_of, .is_pack = true, .key = buf_slice(&x->key)};
}

static void make_entry(struct redis_source *x, struct slice name, struct slice bytes,
                       int64_t expires_ms, struct record *out)
{
    make_record(x, RECORD_ENTRY, name, out);
    buf_clear(&x->value, 1 << 20);
    mp_add_bin(&x->value, bytes);
    buf_require(&x->value);
    out->value = buf_slice(&x->value);
    out->expires_ms = expires_ms;
    x->bytes += bytes.len;
}

static void make_collection(struct redis_source *x, struct slice name, enum redis_kind kind,
                            struct slice elements, uint64_t before, struct record *out)
{
    make_record(x, RECORD_COLLECTION, name, out);
    struct field *f = out->fields.items;
    out->fields.is_pack = true;
    buf_clear(&x->value, 65536);
    mp_add_str(&x->value, slice_str(redis_kind_name(kind)));
    size_t word = x->value.len;
    mp_add_i64(&x->value, (int64_t)before);
    buf_require(&x->value);
    f[0] = (struct field){slice_str("collection"), slice_of(x->value.data, word)};
    f[1] = (struct field){slice_str("elements"), elements};
    f[2] = (struct field){slice_str("more"), slice_of(x->value.data + word, x->value.len - word)};
    out->fields.count = before > 0 ? 3 : 2;
    x->bytes += elements.len;
}

static void note_unknown(struct redis_source *x, const char *type, struct slice name)
{
    size_t i = 0;
    while (i < x->unknown_count && strcmp(x->unknown[i].type, type) != 0) i++;
    if (i == sizeof x->unknown / sizeof x->unknown[0]) i--;
    struct redis_unknown *u = &x->unknown[i];
    if (i == x->unknown_count) {
        snprintf(u->type, sizeof u->type, "%s", type);
        redis_key_show(name, &u->example);
        buf_append_byte(&u->example, '\0');
        buf_require(&u->example);
        x->unknown_count++;
    }
    u->count++;
}

static void note_groups(struct redis_source *x, struct slice name, bool has_groups)
{
    if (!x->follows || !has_groups) return;
    redis_names_add(&x->follow.groups, x->selected, name, clock_mono_us());
}

static void count_key(struct redis_source *x)
{
    if (x->phase == REDIS_SCAN) {
        x->keys_done++;
    } else {
        x->changes++;
    }
}

static void give_key(struct redis_source *x, struct redis_key *key, struct record *out)
{
    if (!key->is_long && key->kind != REDIS_NONE && key->kind != REDIS_OTHER &&
        key->kind != REDIS_STRING) {
        key->is_long = !redis_key_elements(key, &x->elements);
    }
    if (key->is_long) {
        x->is_long = true;
        redis_long_begin(&x->long_key, &x->reader, key->name);
        /* A change has an event, so it is read again anyhow. */
        if (x->follows) x->long_key.tries_max = 1;
        return;
    }
    count_key(x);
    if (key->kind == REDIS_NONE) {
        make_record(x, RECORD_DELETED, key->name, out);
    } else if (key->kind == REDIS_OTHER) {
        note_unknown(x, key->type, key->name);
    } else if (key->kind == REDIS_STRING) {
        make_entry(x, key->name, redis_key_bytes(key), key->expires_ms, out);
    } else {
        make_collection(x, key->name, key->kind, redis_elements_raw(&x->elements), 0, out);
        out->expires_ms = key->expires_ms;
        note_groups(x, key->name, redis_key_has_groups(key));
    }
}

static void long_is_over(struct redis_source *x)
{
    struct redis_long *l = &x->long_key;
    x->is_long = false;
    /* With --follow an event has told of the change, and the key is read again. */
    x->torn += l->is_torn && !x->follows;
    note_groups(x, l->name, l->has_groups);
    count_key(x);
}

static void give_page(struct redis_source *x, struct record *out)
{
    struct redis_long *l = &x->long_key;
    bool is_all = l->is_over && l->told == 0;
    if (l->new.count > 0) {
        make_collection(x, is_all ? l->name : slice_str(REDIS_ASIDE), l->kind,
                        redis_elements_raw(&l->new), l->told, out);
        out->expires_ms = l->expires_ms;
    }
    x->is_renaming = l->is_over && l->told > 0;
}

static enum tool_status give_long(struct redis_source *x, struct record *out)
{
    struct redis_long *l = &x->long_key;
    if (x->is_renaming) {
        x->is_renaming = false;
        make_record(x, RECORD_RENAME, l->name, out);
        out->name = l->name;
        long_is_over(x);
        return TOOL_DONE;
    }
    enum tool_status s = redis_long_next(l);
    if (s != TOOL_DONE) return s;
    if (l->kind == REDIS_NONE) {
        make_record(x, RECORD_DELETED, l->name, out);
    } else if (l->kind == REDIS_OTHER) {
        note_unknown(x, l->type, l->name);
    } else if (l->kind == REDIS_STRING) {
        make_entry(x, l->name, buf_slice(&l->bytes), l->expires_ms, out);
    } else {
        give_page(x, out);
    }
    if (l->is_over && !x->is_renaming) long_is_over(x);
    return s;
}

/* ---- keys by SCAN ---------------------------------------------------------------------------- */

static enum tool_status read_keys(struct redis_source *x)
{
    x->key_at = 0;
    if (x->follows) {
        /* What was told of them so far is in what is read now. */
        for (size_t i = 0; i < x->key_count; i++) {
            redis_names_forget(&x->follow.dirty, x->selected, x->keys[i].name);
        }
    }
    return redis_read(&x->reader, x->keys, x->key_count);
}

static enum tool_status scan_page(struct redis_source *x)
{
    freeReplyObject(x->page);
    x->page = NULL;
    x->page_at = 0;
    enum tool_status s = redis_ask(&x->reader,
                                   TOOL_WORDS_OF("SCAN", x->cursor, "COUNT", SCAN_COUNT), &x->page);
    if (s != TOOL_DONE) return s;
    const redisReply *p = x->page;
    if (!wire_is_array(p, 2) || !wire_is(p->element[0], REDIS_REPLY_STRING) ||
        !wire_is_array(p->element[1], 0) || p->element[0]->len >= sizeof x->cursor) {
        return redis_strange(&x->reader, "SCAN");
    }
    bool is_last = strcmp(p->element[0]->str, "0") == 0;
    snprintf(x->next_cursor, sizeof x->next_cursor, "%s", is_last ? "" : p->element[0]->str);
    return s;
}

/* The next database is begun. */
static enum tool_status scan_database(struct redis_source *x, struct record *out)
{
    uint32_t database = x->databases[x->database_at];
    enum tool_status s = redis_source_select(x, database);
    x->is_begun = true;
    x->told_database = database;
    if (s != TOOL_DONE || !x->is_all) return s;
    snprintf(x->number, sizeof x->number, "%u", database);
    *out = (struct record){.kind = RECORD_DATABASE,
                           .is_pack = true,
                           .number = ++x->number_of,
                           .name = slice_str(x->number)};
    return s;
}

static enum tool_status scan_more(struct redis_source *x, struct record *out)
{
    const redisReply *names = x->page == NULL ? NULL : x->page->element[1];
    if (names != NULL && x->page_at < names->elements) {
        while (x->key_count < REDIS_AT_ONCE && x->page_at < names->elements) {
            x->keys[x->key_count++].name = wire_slice(names->element[x->page_at++]);
        }
        return read_keys(x);
    }
    if (names != NULL) { /* all of the page has been given */
        bool is_last = x->next_cursor[0] == '\0';
        snprintf(x->cursor, sizeof x->cursor, "%s", is_last ? "0" : x->next_cursor);
        freeReplyObject(x->page);
        x->page = NULL;
        x->database_at += is_last;
        x->is_begun = !is_last;
    }
    if (x->database_at == x->database_count) {
        x->phase = !x->follows ? REDIS_OVER : x->sweeps ? REDIS_SWEEP : REDIS_FOLLOW;
        return TOOL_DONE;
    }
    return x->is_begun ? scan_page(x) : scan_database(x, out);
}

/* ---- keys by events -------------------------------------------------------------------------- */

/* Everything is read again. */
static enum tool_status scan_again(struct redis_source *x)
{
    int64_t until_us = clock_mono_us() + AGAIN_S * 1000000LL;
    enum tool_status s = TOOL_DONE;
    tool_warn(x->t, "%s: lost the connection for change notifications (%s); reading all keys again",
              x->who, x->follow.why);
    do {
        s = redis_follow_again(&x->follow);
        if (s != TOOL_DONE) redis_follow_wait(&x->follow, 1000);
    } while (s == TOOL_BROKEN && clock_mono_us() < until_us && !x->follow.is_stopping);
    if (s == TOOL_DONE) s = redis_source_look(x);
    x->phase = REDIS_SCAN;
    x->sweeps = x->is_again = true;
    x->database_at = 0;
    x->is_begun = false;
    x->keys_done = 0;
    x->unknown_count = 0;
    freeReplyObject(x->page);
    x->page = NULL;
    snprintf(x->cursor, sizeof x->cursor, "0");
    return s;
}

static void give_pause(struct redis_source *x, struct record *out)
{
    *out = (struct record){.kind = RECORD_PAUSE, .is_pack = true, .number = x->number_of};
    x->is_paused = true;
}

/* Some of the oldest of one database. Another database than before comes first, as a record. */
static enum tool_status take_names(struct redis_source *x, struct redis_names *names,
                                   struct record *out)
{
    uint32_t database = x->selected;
    const struct redis_name *n = redis_names_first(names, &database);
    x->is_paused = false;
    if (database != x->selected) {
        enum tool_status s = redis_source_select(x, database);
        if (s != TOOL_DONE) return s;
    }
    snprintf(x->number, sizeof x->number, "%u", database);
    if (x->is_all && x->told_database != (int64_t)database) {
        x->told_database = database;
        *out = (struct record){.kind = RECORD_DATABASE,
                               .is_pack = true,
                               .number = ++x->number_of,
                               .name = slice_str(x->number)};
        return TOOL_DONE;
    }
    for (; n != NULL && x->key_count < REDIS_AT_ONCE; n = redis_names_first(names, &database)) {
        if (database != x->selected) break;
        x->keys[x->key_count++].name = arena_copy(&x->arena, n->key);
        redis_names_forget(names, database, n->key);
    }
    return read_keys(x);
}

static enum tool_status follow_more(struct redis_source *x, struct record *out)
{
    struct redis_follow *f = &x->follow;
    redis_follow_wait(f, f->dirty.count == 0 && x->is_paused ? WAIT_MS : 0);
    if (f->is_lost) return scan_again(x);
    if (f->is_stopping) {
        redis_follow_ping(f);
        x->phase = REDIS_DRAIN;
        x->is_paused = false;
        return TOOL_DONE;
    }
    if (f->dirty.count > 0) return take_names(x, &f->dirty, out);
    give_pause(x, out);
    return TOOL_DONE;
}

/* What was told before the answer to PING is read, and no more: writers that go on would never let
 * it end. */
static enum tool_status drain_more(struct redis_source *x, struct record *out)
{
    struct redis_follow *f = &x->follow;
    if (f->is_lost) return scan_again(x);
    if (!redis_follow_is_answered(f)) {
        redis_follow_wait(f, WAIT_MS);
        if (redis_follow_is_answered(f)) {
            redis_names_join(&x->last, &f->dirty, clock_mono_us());
            redis_names_join(&x->last, &f->groups, clock_mono_us());
            redis_names_fini(&f->dirty);
            redis_names_fini(&f->groups);
        }
        return TOOL_DONE;
    }
    if (x->last.count > 0) return take_names(x, &x->last, out);
    x->phase = REDIS_OVER;
    return TOOL_DONE;
}

/* ---- next ------------------------------------------------------------------------------------ */

static enum tool_status get_more(struct redis_source *x, struct record *out)
{
    redis_source_forget_keys(x);
    switch (x->phase) {
    case REDIS_SCAN:
        if (x->is_following && x->follow.is_lost) return scan_again(x);
        if (x->is_following && x->follow.is_stopping && !x->is_again) {
            return tool_fail(TOOL_NO, "stopped before all keys were read; with --state FILE, "
                                      "repeat the command to start again");
        }
        return scan_more(x, out);
    case REDIS_SWEEP:
        *out = (struct record){.kind = RECORD_SWEEP, .is_pack = true, .number = x->number_of};
        x->sweeps = false;
        x->phase = REDIS_FOLLOW;
        return TOOL_DONE;
    case REDIS_FOLLOW: return follow_more(x, out);
    case REDIS_DRAIN: return drain_more(x, out);
    case REDIS_OVER: break;
    }
    return TOOL_DONE;
}

static enum tool_status source_next(struct source *s, struct record *out)
{
    struct redis_source *x = s->state;
    enum tool_status status = TOOL_DONE;
    *out = (struct record){.kind = RECORD_NONE};
    while (status == TOOL_DONE && out->kind == RECORD_NONE && x->phase != REDIS_OVER) {
        if (x->is_long) {
            status = give_long(x, out);
        } else if (x->key_at < x->key_count) {
            give_key(x, &x->keys[x->key_at++], out);
        } else {
            status = get_more(x, out);
        }
    }
    return status;
}

/* ---- where it is ----------------------------------------------------------------------------- */

static void source_place(const struct source *s, char out[SOURCE_PLACE_BYTES])
{
    const struct redis_source *x = s->state;
    bool is_over = x->database_at >= x->database_count;
    if (x->follows) {
        snprintf(out, SOURCE_PLACE_BYTES, PLACE_FOLLOW);
        return;
    }
    bool is_given = x->page != NULL && !x->is_long && x->key_at == x->key_count &&
                    x->page_at == x->page->element[1]->elements && x->next_cursor[0] != '\0';
    snprintf(out, SOURCE_PLACE_BYTES, "db=%u,cursor=%s,done=%llu",
             is_over ? UINT32_MAX : x->databases[x->database_at],
             is_given ? x->next_cursor : x->cursor, (unsigned long long)x->keys_done);
}

/* "db=3,cursor=17,done=1000" */
static bool place_read(const char *place, uint64_t *database, char cursor[REDIS_CURSOR_BYTES],
                       uint64_t *done)
{
    const char *at = strstr(place, ",cursor=");
    const char *end = at == NULL ? NULL : strstr(at, ",done=");
    if (end == NULL || strncmp(place, "db=", 3) != 0) return false;
    struct slice digits = slice_of(at + 8, (size_t)(end - at) - 8);
    uint64_t number = 0;
    if (digits.len >= REDIS_CURSOR_BYTES || !slice_to_u64(digits, &number)) return false;
    memcpy(cursor, digits.data, digits.len);
    cursor[digits.len] = '\0';
    return slice_to_u64(slice_of(place + 3, (size_t)(at - place) - 3), database) &&
           slice_to_u64(slice_str(end + 6), done);
}

static enum tool_status source_seek(struct source *s, const char *place)
{
    struct redis_source *x = s->state;
    uint64_t database = 0;
    uint64_t done = 0;
    char cursor[REDIS_CURSOR_BYTES] = "";
    if (x->follows && strcmp(place, PLACE_FOLLOW) == 0) {
        x->sweeps = true;
        return TOOL_DONE;
    }
    if (!place_read(place, &database, cursor, &done)) {
        return tool_fail(TOOL_NO, "invalid position \"%s\"", place);
    }
    while (x->database_at < x->database_count && x->databases[x->database_at] < database) {
        x->database_at++;
    }
    x->keys_done = x->keys_before = done;
    if (x->database_at == x->database_count || x->databases[x->database_at] > database) {
        return TOOL_DONE;
    }
    snprintf(x->cursor, sizeof x->cursor, "%s", cursor);
    x->is_begun = strcmp(cursor, "0") != 0;
    x->told_database = (int64_t)database;
    return redis_source_select(x, (uint32_t)database);
}

/* A cursor means nothing to another start of the server; with --follow there is none. */
static void source_identity(const struct source *s, char out[SOURCE_PLACE_BYTES])
{
    const struct redis_source *x = s->state;
    char place[WIRE_WHY_BYTES];
    char database[24] = "all";
    wire_place(&x->options, place);
    if (!x->is_all) snprintf(database, sizeof database, "%u", x->databases[0]);
    snprintf(out, SOURCE_PLACE_BYTES, "redis=%s,database=%s,%s=%s", place, database,
             x->follows ? "mode" : "run", x->follows ? "follow" : x->run_id);
}

static void source_share(const struct source *s, uint64_t *done, uint64_t *all)
{
    const struct redis_source *x = s->state;
    *done = x->bytes;
    *all = 0;
}

static void source_progress(const struct source *s, char *out, size_t room)
{
    const struct redis_source *x = s->state;
    double seconds = (double)(clock_mono_us() - x->begun_us) / 1e6;
    double rate = seconds > 0 ? (double)(x->keys_done - x->keys_before) / seconds : 0;
    int64_t since_us = redis_names_since_us(&x->follow.dirty);
    double lag = since_us == 0 ? 0 : (double)(clock_mono_us() - since_us) / 1e6;
    if (x->phase == REDIS_FOLLOW || x->phase == REDIS_DRAIN) {
        snprintf(out, room, "following: %llu keys read again, %zu pending, %.1f s behind",
                 (unsigned long long)x->changes, x->follow.dirty.count + x->last.count, lag);
        return;
    }
    double left = rate > 0 && x->keys_all > x->keys_done
                      ? (double)(x->keys_all - x->keys_done) / rate
                      : 0;
    snprintf(out, room, "%llu of %llu keys, %.0f MB, %.0f keys/s, %.0f s left",
             (unsigned long long)x->keys_done, (unsigned long long)x->keys_all,
             (double)x->bytes / 1e6, rate, left);
}

const struct source_kind source_redis = {
    .name = "redis",
    .what = "a Redis or Valkey server",
    .is_service = true,
    .is_live = true,
    .open = redis_source_open,
    .next = source_next,
    .place = source_place,
    .seek = source_seek,
    .identity = source_identity,
    .share = source_share,
    .progress = source_progress,
    .close = redis_source_close,
};
