/* elements: see elements.h. */
#include "tool/elements.h"

#include "tool/tool.h"

#define ELEMENTS_PAGE "5000"

bool elements_are_of(const redisReply *value, bool is_pack)
{
    static const char json[] = "{\"$collection\":";
    static const char pack[] = "\x81\xab"
                               "$collection";
    return wire_is(value, REDIS_REPLY_STRING) &&
           slice_has_prefix(wire_slice(value), slice_str(is_pack ? pack : json));
}

void elements_ask(struct wire *w, struct slice key, struct slice cursor, bool is_pack)
{
    const struct slice words[] = {slice_str("KV.ELEMENTS"),
                                  key,
                                  slice_str("LIMIT"),
                                  slice_str(ELEMENTS_PAGE),
                                  slice_str("CURSOR"),
                                  cursor,
                                  slice_str("GROUPS"),
                                  slice_str("FORMAT"),
                                  slice_str(is_pack ? "MSGPACK" : "JSON")};
    wire_append(w, sizeof words / sizeof words[0], words);
}

enum tool_status elements_hear(struct wire *w, redisReply **out, enum elements_end *end)
{
    if (wire_next(w, -1, out) != WIRE_REPLY) return tool_fail(TOOL_BROKEN, "%s", wire_why(w));
    const redisReply *r = *out;
    *end = ELEMENTS_READ;
    if (wire_is(r, REDIS_REPLY_NIL)) {
        *end = ELEMENTS_GONE;
    } else if (wire_is(r, REDIS_REPLY_ERROR)) {
        bool is_changed = slice_has_prefix(wire_slice(r), slice_str("STALE"));
        bool is_other = slice_has_prefix(wire_slice(r), slice_str("WRONGTYPE"));
        if (!is_changed && !is_other) return tool_refused(r);
        *end = is_changed ? ELEMENTS_CHANGED : ELEMENTS_OTHER;
    } else if (!wire_is_array(r, 6) || !wire_is(r->element[4], REDIS_REPLY_STRING) ||
               !wire_is_array(r->element[5], 0)) {
        return tool_strange("KV.ELEMENTS");
    }
    return TOOL_DONE;
}

/* [field, value, expiry ms or nil] as [field, value] or [field, value, expiry ms] */
static bool write_field(struct record_out *o, const redisReply *field, bool is_first)
{
    if (!wire_is_array(field, 3)) return false;
    bool expires = wire_is(field->element[2], REDIS_REPLY_INTEGER);
    record_item_list(o, expires ? 3 : 2, is_first);
    record_item_text(o, wire_slice(field->element[0]), true);
    record_item_text(o, wire_slice(field->element[1]), false);
    if (expires) record_item_i64(o, field->element[2]->integer, false);
    record_list_end(o);
    return true;
}

static bool write_scored(struct record_out *o, const redisReply *member, bool is_first)
{
    if (!wire_is_array(member, 2)) return false;
    record_item_list(o, 2, is_first);
    record_item_text(o, wire_slice(member->element[0]), true);
    record_item_score(o, wire_slice(member->element[1]), false);
    record_list_end(o);
    return true;
}

/* A part of a stream: [id, [field, value ...]], or a word, texts and numbers; a nil, which only
 * comes last, is left out. */
static bool write_part(struct record_out *o, const redisReply *part, bool is_first)
{
    size_t count = part->elements;
    bool is_good = wire_is(part, REDIS_REPLY_ARRAY) && count > 0;
    if (is_good && wire_is(part->element[count - 1], REDIS_REPLY_NIL)) count--;
    if (!is_good) return false;
    record_item_list(o, count, is_first);
    for (size_t i = 0; i < count && is_good; i++) {
        const redisReply *item = part->element[i];
        if (wire_is(item, REDIS_REPLY_ARRAY)) {
            is_good = write_part(o, item, i == 0);
        } else if (wire_is(item, REDIS_REPLY_INTEGER)) {
            record_item_i64(o, item->integer, i == 0);
        } else if (wire_is(item, REDIS_REPLY_STRING)) {
            record_item_text(o, wire_slice(item), i == 0);
        } else {
            is_good = false;
        }
    }
    record_list_end(o);
    return is_good;
}

bool elements_write(struct record_out *o, struct slice type, const redisReply *element,
                    bool is_first)
{
    if (slice_eq(type, slice_str("hash"))) return write_field(o, element, is_first);
    if (slice_eq(type, slice_str("zset"))) return write_scored(o, element, is_first);
    if (slice_eq(type, slice_str("stream"))) return write_part(o, element, is_first);
    if (!wire_is(element, REDIS_REPLY_STRING)) return false;
    record_item_text(o, wire_slice(element), is_first);
    return true;
}
