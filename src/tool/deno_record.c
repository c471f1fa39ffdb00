/* deno_record: see deno_record.h. A message is written as a record of an export and read again as
 * one, so that import has one way for both. Its id is made of a hash of Deno's own, and laid out so
 * that it does not collide with those that a server gives. */
#include "tool/deno_record.h"

#include <stdio.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "codec/key.h"
#include "codec/value.h"
#include "foreign/deno.h"

#define DENO_EXPIRY_MS_MAX ((INT64_C(1) << 53) - 1) /* beyond it KV.LOAD has no time */
#define DENO_BACKOFF "[100,1000,5000,30000,60000]"  /* of a message without a schedule of its own */
#define DENO_NAME_CHARS 200                         /* of a key, in an error */

/* Ids of messages: so many bits of the hash stand where a server has the version of a commit, so
 * that the ids which it gives later, and which come after those, are not pushed far. The rest
 * stands where it numbers the messages of a commit, with the highest bit, which it never sets. */
#define DENO_ID_HIGH_BITS 40
#define DENO_ID_LOW_BITS 31

void deno_record_fini(struct deno_record *d)
{
    buf_fini(&d->key);
    buf_fini(&d->value);
    buf_fini(&d->message);
    if (d->begun) arena_fini(&d->arena);
}

static void deno_record_begin(struct deno_record *d)
{
    if (!d->begun) arena_init(&d->arena, 4096);
    d->begun = true;
    arena_reset(&d->arena);
    buf_clear(&d->key, 1 << 20);
    buf_clear(&d->value, 1 << 20);
    buf_clear(&d->message, 1 << 20);
}

/* ---- places ---------------------------------------------------------------------------------- */

void deno_record_hex(struct slice bytes, struct buf *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.len; i++) {
        buf_append_byte(out, (uint8_t)digits[bytes.data[i] >> 4]);
        buf_append_byte(out, (uint8_t)digits[bytes.data[i] & 15]);
    }
    buf_require(out);
}

static int deno_record_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool deno_record_unhex(struct slice text, struct buf *out)
{
    if (text.len % 2 != 0) return false;
    for (size_t i = 0; i < text.len; i += 2) {
        int high = deno_record_digit(text.data[i]);
        int low = deno_record_digit(text.data[i + 1]);
        if (high < 0 || low < 0) return false;
        buf_append_byte(out, (uint8_t)(high << 4 | low));
    }
    buf_require(out);
    return true;
}

void deno_record_range(struct slice prefix, struct buf *start, struct buf *end)
{
    buf_append(start, prefix.data, prefix.len);
    buf_append_byte(start, 0);
    buf_append(end, prefix.data, prefix.len);
    buf_append_byte(end, 0xff);
    buf_require(start);
    buf_require(end);
}

/* ---- entries --------------------------------------------------------------------------------- */

static enum tool_status deno_record_bad(const struct deno_entry *x, const char *what)
{
    struct error ignored;
    struct buf name;
    buf_init(&name);
    if (x->key.len > 0 && key_check(x->key, &ignored) == OK) {
        key_to_json(x->key, &name);
    } else {
        buf_append_str(&name, "with the key of the bytes ");
        deno_record_hex(x->key, &name);
    }
    buf_require(&name);
    bool is_long = name.len > DENO_NAME_CHARS;
    tool_fail(TOOL_NO, "%s, entry %.*s%s: %s", x->where, is_long ? DENO_NAME_CHARS : (int)name.len,
              (const char *)name.data, is_long ? "..." : "", what);
    buf_fini(&name);
    return TOOL_NO;
}

enum tool_status deno_record_entry(struct deno_record *d, const struct deno_entry *x,
                                   struct record *out)
{
    struct error e = {.text = ""};
    struct buf stamp;
    deno_record_begin(d);
    if (x->key.len == 0) return deno_record_bad(x, "a key must have at least one part");
    if (key_check(x->key, &e) != OK) return deno_record_bad(x, e.text);
    key_to_msgpack(x->key, &d->key);
    if (deno_to_value(x->encoding, x->data, &d->value, &e) != OK) {
        return deno_record_bad(x, e.text);
    }
    buf_require(&d->key);
    buf_require(&d->value);
    buf_init(&stamp);
    deno_record_hex(slice_of(x->stamp, DENO_STAMP_BYTES), &stamp);
    memcpy(d->stamp, stamp.data, stamp.len);
    d->stamp[stamp.len] = '\0';
    buf_fini(&stamp);
    out->kind = RECORD_ENTRY;
    out->is_pack = true;
    out->key = buf_slice(&d->key);
    out->value = buf_slice(&d->value);
    out->stamp = slice_str(d->stamp);
    out->expires_ms = x->expires_ms < 0 ? 0 : x->expires_ms;
    if (out->expires_ms > DENO_EXPIRY_MS_MAX) out->expires_ms = DENO_EXPIRY_MS_MAX;
    return TOOL_DONE;
}

/* ---- messages -------------------------------------------------------------------------------- */

static enum tool_status deno_record_bad_message(const struct deno_message *x, const char *what)
{
    int len = x->id.len > DENO_NAME_CHARS ? DENO_NAME_CHARS : (int)x->id.len;
    return tool_fail(TOOL_NO, "%s, message %.*s: %s", x->where, len, (const char *)x->id.data,
                     what);
}

static bool deno_record_is_none(struct slice json)
{
    return json.len == 0 || slice_eq(json, slice_str("null"));
}

/* The list's items, in the arena; none of null. */
static bool deno_record_list(struct deno_record *d, struct slice json, struct slice **items,
                             size_t *count)
{
    struct fields f = {.is_pack = false};
    *count = 0;
    return deno_record_is_none(json) || field_list(&f, json, &d->arena, items, count);
}

static bool deno_record_backoff(struct deno_record *d, struct slice json, struct record_out *r)
{
    struct fields f = {.is_pack = false};
    struct slice *items = NULL;
    size_t count = 0;
    if (deno_record_is_none(json)) json = slice_str(DENO_BACKOFF);
    if (!deno_record_list(d, json, &items, &count)) return false;
    record_list(r, "backoff", count);
    for (size_t i = 0; i < count; i++) {
        int64_t ms = 0;
        if (!field_i64(&f, items[i], &ms)) return false;
        record_item_i64(r, ms, i == 0);
    }
    record_list_end(r);
    return true;
}

/* The key whose bytes are the numbers of the list, in d->key. */
static bool deno_record_key(struct deno_record *d, struct slice json)
{
    struct error ignored;
    struct fields f = {.is_pack = false};
    struct slice *items = NULL;
    size_t count = 0;
    if (!deno_record_list(d, json, &items, &count) || count == 0) return false;
    uint8_t *bytes = arena_alloc(&d->arena, count);
    for (size_t i = 0; i < count; i++) {
        int64_t n = 0;
        if (!field_i64(&f, items[i], &n) || n < 0 || n > UINT8_MAX) return false;
        bytes[i] = (uint8_t)n;
    }
    if (key_check(slice_of(bytes, count), &ignored) != OK) return false;
    buf_clear(&d->key, 1 << 20);
    key_to_msgpack(slice_of(bytes, count), &d->key);
    buf_require(&d->key);
    return true;
}

static bool deno_record_undelivered(struct deno_record *d, struct slice json, struct record_out *r)
{
    struct slice *items = NULL;
    size_t count = 0;
    if (!deno_record_list(d, json, &items, &count)) return false;
    if (count == 0) return true;
    record_list(r, "undelivered", count);
    for (size_t i = 0; i < count; i++) {
        if (!deno_record_key(d, items[i])) return false;
        record_item_raw(r, buf_slice(&d->key), i == 0);
    }
    record_list_end(r);
    return true;
}

static void deno_record_id(struct slice own, char out[25])
{
    XXH128_hash_t h = XXH3_128bits(own.data, own.len);
    uint64_t high = h.high64 >> (64 - DENO_ID_HIGH_BITS);
    uint32_t low = (uint32_t)(h.low64 >> (64 - DENO_ID_LOW_BITS)) | UINT32_C(1) << DENO_ID_LOW_BITS;
    snprintf(out, 25, "%016llx%08x", (unsigned long long)high, low);
}

enum tool_status deno_record_message(struct deno_record *d, const struct deno_message *x,
                                     struct record *out)
{
    struct error e = {.text = ""};
    struct record_out r;
    char id[25];
    size_t used = 0;
    deno_record_begin(d);
    if (deno_to_value(DENO_V8, x->data, &d->value, &e) != OK) {
        return deno_record_bad_message(x, e.text);
    }
    buf_require(&d->value);
    deno_record_id(x->id, id);
    record_begin(&r, &d->message, true);
    record_text(&r, "queue", slice_str(DENO_QUEUE));
    record_text(&r, "id", slice_str(id));
    record_raw(&r, "value", buf_slice(&d->value));
    record_i64(&r, "due", x->due_ms < 0 ? 0 : x->due_ms);
    record_i64(&r, "attempts", x->attempts);
    if (!deno_record_backoff(d, x->backoff, &r)) {
        return deno_record_bad_message(x, "its backoff schedule is not a list of milliseconds");
    }
    if (!deno_record_undelivered(d, x->undelivered, &r)) {
        return deno_record_bad_message(x, "its keysIfUndelivered is not a list of keys");
    }
    record_end(&r);
    buf_require(&d->message);
    if (fields_read_pack(buf_slice(&d->message), &out->fields, &used, &e) != OK || used == 0) {
        return deno_record_bad_message(x, e.text);
    }
    out->kind = RECORD_MESSAGE;
    out->is_pack = true;
    return TOOL_DONE;
}
