/* watch_message: the messages of watches (watch.c):
 *
 *   {"key":..,"value":..,"versionstamp":..,"commit":..}     in the subscriber's format
 *
 * Of a change there is one message for each name, format and protocol: the last one is kept for the
 * next who listens to the same.
 */
#include "base/mem.h"
#include "codec/key.h"
#include "codec/pack.h"
#include "command/channel/channel_int.h"
#include "engine/stamp.h"
#include "request/format.h"

#define KEEP_BYTES (64 * 1024)

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
        buf_append(out, c->value.data, c->value.len);
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

/* A whole frame; `commit` is the version of the change, c->version that of the entry. */
void watch_message_write(struct buf *out, const struct watch_form *f, const struct change *c,
                         uint64_t commit)
{
    struct resp_writer w = {.out = out, .proto = f->proto};
    bool is_pattern = f->is_pattern;
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

/* ---- the last one ---- */

struct watch_frame {
    struct buf bytes;
    struct buf names; /* of the channel and the key, one after the other */
    size_t name_bytes;
    uint64_t version, commit; /* version 0: there is none; no change has that */
    int proto;
    enum format format;
    bool is_pattern, exists;
};

static bool is_same(const struct watch_frame *f, const struct watch_form *form,
                    const struct change *c, uint64_t commit)
{
    struct slice key = slice_of(f->names.data + f->name_bytes, f->names.len - f->name_bytes);
    return f->version == c->version && f->version != 0 && f->commit == commit &&
           f->exists == c->exists && f->proto == form->proto && f->format == form->format &&
           f->is_pattern == form->is_pattern && slice_eq(key, c->key) &&
           slice_eq(slice_of(f->names.data, f->name_bytes), form->name);
}

static void make(struct watch_frame *f, const struct watch_form *form, const struct change *c,
                 uint64_t commit)
{
    buf_clear(&f->bytes, KEEP_BYTES);
    buf_clear(&f->names, KEEP_BYTES);
    buf_append(&f->names, form->name.data, form->name.len);
    buf_append(&f->names, c->key.data, c->key.len);
    watch_message_write(&f->bytes, form, c, commit);
    bool is_failed = f->bytes.is_failed || f->names.is_failed;
    f->name_bytes = form->name.len;
    f->version = is_failed ? 0 : c->version;
    f->commit = commit;
    f->proto = form->proto;
    f->format = form->format;
    f->is_pattern = form->is_pattern;
    f->exists = c->exists;
}

struct slice watch_message(struct env *env, const struct watch_form *form, const struct change *c,
                           uint64_t commit)
{
    struct watch_frame *f = env->watch_frame;
    if (!is_same(f, form, c, commit)) make(f, form, c, commit);
    return f->bytes.is_failed ? slice_of(NULL, 0) : buf_slice(&f->bytes);
}

void watch_message_open(struct env *env)
{
    env->watch_frame = mem_new(sizeof *env->watch_frame);
}

void watch_message_close(struct env *env)
{
    buf_fini(&env->watch_frame->bytes);
    buf_fini(&env->watch_frame->names);
    mem_free(env->watch_frame);
}
