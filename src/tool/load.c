/* load: records become the words of KV.LOAD; a full batch is sent while up to three others wait for
 * their answers, which come in the order of sending. A batch notes the numbers of its records for
 * errors, and the place after it for import_state. */
#include "tool/load.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "codec/key.h"
#include "tool/collection_words.h"
#include "tool/output.h"

#define LOAD_RECORDS 1000
#define LOAD_WORDS 20000
#define LOAD_BYTES (1u << 20)
#define LOAD_UNDER_WAY 4
#define LOAD_BYTES_UNDER_WAY (24u << 20)
#define LOAD_ARENA (256u << 10)

struct load_batch {
    struct load_batch *next;
    uint64_t *numbers; /* owned */
    size_t count;
    size_t bytes;
    struct buf map;
    struct buf keys;                /* of a live source: each record's, to name them */
    char place[SOURCE_PLACE_BYTES]; /* after it */
};

void loader_init(struct loader *l, struct wire *w, const struct source *source, const char *input)
{
    *l = (struct loader){.w = w, .source = source, .input = input};
    l->last = &l->first;
    arena_init(&l->arena, LOAD_ARENA);
    l->numbers = mem_new(LOAD_RECORDS * sizeof *l->numbers);
}

static void load_forget(struct loader *l)
{
    struct load_batch *b = l->first;
    l->first = b->next;
    if (l->first == NULL) l->last = &l->first;
    l->under_way--;
    l->bytes_under_way -= b->bytes;
    buf_fini(&b->map);
    buf_fini(&b->keys);
    mem_free(b->numbers);
    mem_free(b);
}

void loader_fini(struct loader *l)
{
    while (l->first != NULL) load_forget(l);
    arena_fini(&l->arena);
    mem_free(l->words);
    mem_free(l->numbers);
    buf_fini(&l->map);
    buf_fini(&l->keys);
    buf_fini(&l->map_done);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void load_word(struct loader *l, struct slice word)
{
    if (l->word_count == l->word_room) {
        l->word_room = l->word_room == 0 ? 4096 : l->word_room * 2;
        l->words = mem_resize(l->words, l->word_room * sizeof *l->words);
    }
    l->words[l->word_count++] = word;
    l->bytes += word.len + 16;
}

static void load_text(struct loader *l, const char *word)
{
    load_word(l, slice_str(word));
}

static void load_copy(struct loader *l, struct slice word)
{
    load_word(l, arena_copy(&l->arena, word));
}

static void load_number(struct loader *l, int64_t n)
{
    char text[32];
    int len = snprintf(text, sizeof text, "%lld", (long long)n);
    load_copy(l, slice_of(text, (size_t)len));
}

static enum tool_status load_bad(const struct loader *l, uint64_t number, const char *what)
{
    return tool_fail(TOOL_NO, "%s, %s %llu: %s", l->input, l->is_pack ? "record" : "line",
                     (unsigned long long)number, what);
}

static void load_entry(struct loader *l, const struct record *r)
{
    load_text(l, r->kind == RECORD_DELETED ? "DEL" : "SET");
    load_copy(l, r->key);
    if (r->kind == RECORD_DELETED) return;
    load_copy(l, r->value);
    if (r->expires_ms == 0) return;
    load_text(l, "PXAT");
    load_number(l, r->expires_ms);
}

/* NULL, or what is wrong. */
static const char *load_collection(struct loader *l, const struct record *r)
{
    struct collection_words words = {0};
    const char *wrong = collection_words_make(r, &l->arena, &words);
    load_text(l, "COLLECTION");
    load_copy(l, r->key);
    for (size_t i = 0; i < words.count && wrong == NULL; i++) load_copy(l, words.items[i]);
    return wrong;
}

/* BACKOFF n ms ..., UNDELIVERED n key ... */
static bool load_lists(struct loader *l, const struct record *r)
{
    struct slice *items = NULL;
    size_t count = 0;
    const struct fields *f = &r->fields;
    struct slice backoff = fields_get(f, "backoff");
    struct slice keys = fields_get(f, "undelivered");
    if (backoff.len > 0) {
        if (!field_list(f, backoff, &l->arena, &items, &count)) return false;
        load_text(l, "BACKOFF");
        load_number(l, (int64_t)count);
        for (size_t i = 0; i < count; i++) {
            int64_t ms = 0;
            if (!field_i64(f, items[i], &ms)) return false;
            load_number(l, ms);
        }
    }
    if (keys.len == 0) return true;
    if (!field_list(f, keys, &l->arena, &items, &count)) return false;
    if (count == 0) return true;
    load_text(l, "UNDELIVERED");
    load_number(l, (int64_t)count);
    for (size_t i = 0; i < count; i++) load_copy(l, items[i]);
    return true;
}

/* NULL, or what is wrong. */
static const char *load_message(struct loader *l, const struct record *r)
{
    const struct fields *f = &r->fields;
    struct slice queue = {0};
    struct slice id = {0};
    struct slice error = {0};
    int64_t time_ms = 0;
    int64_t attempts = 0;
    struct slice failed = fields_get(f, "failed");
    struct slice value = fields_get(f, "value");
    struct slice tried = fields_get(f, "attempts");
    bool is_dead = failed.len > 0;
    if (!field_text(f, fields_get(f, "queue"), &l->arena, &queue)) return "queue must be a string";
    if (!field_text(f, fields_get(f, "id"), &l->arena, &id))
        return "a message must have an id, which is a string";
    if (value.len == 0) return "a message must have a value";
    if (!field_i64(f, is_dead ? failed : fields_get(f, "due"), &time_ms)) {
        return "a message must have a time, due or failed, in milliseconds";
    }
    if (tried.len > 0 && !field_i64(f, tried, &attempts)) return "attempts must be a number";
    load_text(l, is_dead ? "DEAD" : "MESSAGE");
    load_copy(l, queue);
    load_copy(l, id);
    load_copy(l, value);
    load_number(l, time_ms);
    load_text(l, "ATTEMPTS");
    load_number(l, attempts);
    if (fields_get(f, "error").len > 0) {
        if (!field_text(f, fields_get(f, "error"), &l->arena, &error))
            return "error must be a string";
        load_text(l, "ERROR");
        load_copy(l, error);
    }
    return load_lists(l, r) ? NULL : "backoff and undelivered must be lists";
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The key of a record, as JSON: records of a live source have no numbers that say something. */
static void load_key(const struct load_batch *b, size_t at, struct buf *out)
{
    struct buf key = {.data = NULL};
    struct error e;
    size_t from = 0;
    for (size_t i = 0; i < at; i++) from += 4 + get_u32(b->keys.data + from);
    struct slice raw = slice_of(b->keys.data + from + 4, get_u32(b->keys.data + from));
    if (key_from_bare_arg(raw, false, NULL, &key, &e) == OK) {
        key_to_json(buf_slice(&key), out);
    } else {
        buf_append_str(out, e.text); /* too long, for one */
    }
    buf_append_byte(out, '\0');
    buf_require(out);
    buf_fini(&key);
}

/* The error of a batch, with the number of its record: "... (record 17)". */
static enum tool_status load_refused(const struct loader *l, const struct load_batch *b,
                                     const char *text)
{
    const char *mark = strstr(text, " (record ");
    for (const char *p = mark; p != NULL; p = strstr(p + 1, " (record ")) mark = p;
    size_t at = mark == NULL ? b->count : strtoul(mark + strlen(" (record "), NULL, 10);
    if (at >= b->count) {
        uint64_t from = b->numbers[0];
        return tool_fail(TOOL_NO, "%s, from %s %llu to %llu: %s", l->input,
                         l->is_pack ? "record" : "line", (unsigned long long)from,
                         (unsigned long long)b->numbers[b->count - 1], text);
    }
    char what[512];
    snprintf(what, sizeof what, "%.*s", (int)(mark - text), text);
    if (b->keys.len > 0) {
        struct buf key = {.data = NULL};
        load_key(b, at, &key);
        tool_fail(TOOL_NO, "%s, key %.500s: %s", l->input, (const char *)key.data, what);
        buf_fini(&key);
        return TOOL_NO;
    }
    return load_bad(l, b->numbers[at], what);
}

/* Each line of the batch's map lacks the new versionstamp. */
static void load_map(struct loader *l, const struct load_batch *b, struct slice stamp)
{
    struct slice rest = buf_slice(&b->map);
    while (rest.len > 0) {
        const uint8_t *end = memchr(rest.data, '\n', rest.len);
        size_t len = (size_t)(end - rest.data);
        buf_append(&l->map_done, rest.data, len);
        buf_append_str(&l->map_done, ",\"new\":\"");
        buf_append(&l->map_done, stamp.data, stamp.len);
        buf_append_str(&l->map_done, "\"}\n");
        rest = slice_of(end + 1, rest.len - len - 1);
    }
    buf_require(&l->map_done);
}

static enum tool_status load_hear(struct loader *l)
{
    struct load_batch *b = l->first;
    redisReply *r = NULL;
    enum tool_status s = TOOL_DONE;
    if (wire_next(l->w, -1, &r) != WIRE_REPLY) {
        return tool_fail(TOOL_BROKEN,
                         "%s. Acknowledged records are loaded; repeat the command to continue",
                         wire_why(l->w));
    }
    if (r->type == REDIS_REPLY_ERROR) {
        s = load_refused(l, b, r->str);
    } else if (!wire_is_array(r, 3) || !wire_is(r->element[0], REDIS_REPLY_STRING)) {
        s = tool_strange("KV.LOAD");
    } else {
        l->loaded += (uint64_t)r->element[1]->integer;
        l->left += (uint64_t)r->element[2]->integer;
        l->records += b->count;
        memcpy(l->place, b->place, sizeof l->place);
        load_map(l, b, wire_slice(r->element[0]));
    }
    freeReplyObject(r);
    load_forget(l);
    return s;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Integers beyond 2^53 may stand in JSON as they are (BARE): in lines of other programs. */
static void load_send(struct loader *l)
{
    struct load_batch *b = mem_new(sizeof *b);
    load_text(l, "FORMAT");
    load_text(l, l->is_pack ? "MSGPACK" : "JSON");
    if (!l->is_pack) load_text(l, "BARE");
    wire_append(l->w, l->word_count, l->words);
    b->count = l->count;
    b->bytes = l->bytes;
    b->numbers = mem_new(l->count * sizeof *b->numbers);
    memcpy(b->numbers, l->numbers, l->count * sizeof *b->numbers);
    b->map = l->map;
    l->source->kind->place(l->source, b->place);
    *l->last = b;
    l->last = &b->next;
    l->under_way++;
    l->bytes_under_way += b->bytes;
    b->keys = l->keys;
    l->map = l->keys = (struct buf){.data = NULL};
    l->word_count = l->count = l->bytes = 0;
    arena_reset(&l->arena);
}

static enum tool_status load_push(struct loader *l)
{
    enum tool_status s = TOOL_DONE;
    load_send(l);
    if (!wire_move(l->w)) return load_hear(l);
    while (s == TOOL_DONE && (l->under_way >= LOAD_UNDER_WAY ||
                              (l->bytes_under_way > LOAD_BYTES_UNDER_WAY && l->under_way > 0))) {
        s = load_hear(l);
    }
    return s;
}

static void load_note(struct loader *l, const struct record *r)
{
    bool is_there = r->kind == RECORD_ENTRY || r->kind == RECORD_COLLECTION;
    if (!l->is_mapping || !is_there || r->stamp.len == 0) return;
    struct buf key;
    struct error e;
    buf_init(&key);
    buf_append_str(&l->map, "{\"key\":");
    /* What is no key is refused by the server in a moment. */
    if (key_from_bare_arg(r->key, false, NULL, &key, &e) == OK)
        key_to_json(buf_slice(&key), &l->map);
    buf_fini(&key);
    buf_append_str(&l->map, ",\"old\":\"");
    for (size_t i = 0; i < r->stamp.len; i++) {
        uint8_t c = r->stamp.data[i];
        if (c >= '-' && c <= 'z' && c != '\\') buf_append_byte(&l->map, c);
    }
    buf_append_str(&l->map, "\"\n");
    buf_require(&l->map);
}

static void load_name(struct loader *l, struct slice key)
{
    uint8_t length[4];
    put_u32(length, (uint32_t)key.len);
    buf_append(&l->keys, length, sizeof length);
    buf_append(&l->keys, key.data, key.len);
    buf_require(&l->keys);
}

enum tool_status loader_add(struct loader *l, const struct record *r)
{
    if (l->count == 0) load_text(l, "KV.LOAD");
    l->is_pack = r->is_pack;
    const char *wrong = NULL;
    if (r->kind == RECORD_MESSAGE) {
        wrong = load_message(l, r);
    } else if (r->kind == RECORD_COLLECTION) {
        wrong = load_collection(l, r);
    } else {
        load_entry(l, r);
    }
    if (wrong != NULL) return load_bad(l, r->number, wrong);
    load_note(l, r);
    if (l->source->kind->is_live) load_name(l, r->key);
    l->numbers[l->count++] = r->number;
    bool is_full = l->count == LOAD_RECORDS || l->bytes >= LOAD_BYTES ||
                   l->word_count >= LOAD_WORDS;
    return is_full ? load_push(l) : TOOL_DONE;
}

enum tool_status loader_drain(struct loader *l)
{
    enum tool_status s = TOOL_DONE;
    if (l->count > 0) load_send(l);
    while (s == TOOL_DONE && l->first != NULL) s = load_hear(l);
    return s;
}
