/* watch_message: the messages of watches (watch.c):
 *
 *   {"key":..,"value":..,"versionstamp":..,"commit":..}     in the subscriber's format
 */
#include "codec/key.h"
#include "codec/pack.h"
#include "command/channel/channel_int.h"
#include "engine/stamp.h"
#include "request/format.h"

static void put_stamp(struct buf *out, uint64_t version, enum format format)
{
    char stamp[STAMP_CHARS];
    stamp_format(version, stamp);
    if (format == FORMAT_MSGPACK) {
        pack_str(out, slice_of(stamp, STAMP_CHARS));
        return;
    }
    buf_append_byte(out, '"');
    buf_append(out, stamp, STAMP_CHARS);
    buf_append_byte(out, '"');
}

static void put_json(struct buf *out, const struct change *c, uint64_t commit, enum format format)
{
    buf_append_str(out, "{\"key\":");
    if (c->key.len == 0) {
        buf_append_str(out, "null");
    } else {
        format_write_key(format, engine_key_tuple(c->key), out);
    }
    buf_append_str(out, ",\"value\":");
    if (c->exists) {
        format_write_value(format, c->value, out);
    } else {
        buf_append_str(out, "null");
    }
    buf_append_str(out, ",\"versionstamp\":");
    if (c->exists) {
        put_stamp(out, c->version, FORMAT_JSON);
    } else {
        buf_append_str(out, "null");
    }
    buf_append_str(out, ",\"commit\":");
    put_stamp(out, commit, FORMAT_JSON);
    buf_append_byte(out, '}');
}

#define NIL 0xc0

static void put_msgpack(struct buf *out, const struct change *c, uint64_t commit)
{
    buf_append_byte(out, 0x84);
    pack_str(out, slice_str("key"));
    if (c->key.len == 0) {
        buf_append_byte(out, NIL);
    } else {
        key_to_msgpack(engine_key_tuple(c->key), out);
    }
    pack_str(out, slice_str("value"));
    if (c->exists) {
        format_write_value(FORMAT_MSGPACK, c->value, out);
    } else {
        buf_append_byte(out, NIL);
    }
    pack_str(out, slice_str("versionstamp"));
    if (c->exists) {
        put_stamp(out, c->version, FORMAT_MSGPACK);
    } else {
        buf_append_byte(out, NIL);
    }
    pack_str(out, slice_str("commit"));
    put_stamp(out, commit, FORMAT_MSGPACK);
}

void watch_message_write(struct buf *out, const struct watch_form *f, const struct change *c,
                         uint64_t commit)
{
    struct resp_writer w = {.out = out, .proto = f->proto};
    bool is_pattern = f->is_pattern;
    if (f->write != NULL) {
        f->write(out, c, commit, f->format);
        return;
    }
    resp_push(&w, is_pattern ? 4 : 3);
    resp_bulk_str(&w, is_pattern ? "pmessage" : "message");
    resp_bulk(&w, f->name);
    if (is_pattern) {
        struct resp_mark mark = resp_bulk_begin(&w, 100);
        buf_append_str(out, KEY_CHANNEL);
        if (c->key.len > 0) key_to_path(engine_key_tuple(c->key), out);
        resp_bulk_end(&w, mark);
    }
    struct resp_mark mark = resp_bulk_begin(&w, c->value.len + c->key.len + 100);
    if (f->format == FORMAT_MSGPACK) {
        put_msgpack(out, c, commit);
    } else {
        put_json(out, c, commit, f->format);
    }
    resp_bulk_end(&w, mark);
}
