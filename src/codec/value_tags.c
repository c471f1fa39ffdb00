/* value_tags: typed JSON's tags on their way in. The rule: an object whose only name is a
 * tag is that tag; so is one with exactly "$id" and "value", in this order. A plain object that
 * looks like one is written {"$object":{..}}. */
#include "codec/base64.h"
#include "codec/bigint.h"
#include "codec/date.h"
#include "codec/number.h"
#include "codec/pack.h"
#include "codec/v8.h"
#include "codec/value_json_int.h"

/* Brackets of text per level of depth: a $map takes three ("{[["); no reader gets further. */
#define SWEEP_DEPTH (VALUE_DEPTH_MAX * 4)

unsigned value_read_brace(struct value_reader *r)
{
    const uint8_t *open = r->j.at++;
    if (open >= r->swept_end || r->counts_next >= r->counts.len) return 0;
    return r->counts.data[r->counts_next++];
}

/* Counts the members of the object at `open` and of all inside. Text that is not JSON only has to
 * end the sweep: the reader, following, stops at the same place or before. */
static void sweep(struct value_reader *r, const uint8_t *open)
{
    size_t stack[SWEEP_DEPTH] = {0}; /* index into counts; SIZE_MAX for an array */
    size_t depth = 0;
    struct json probe = r->j;
    probe.e = NULL;
    probe.at = open;
    r->counts.len = 0;
    r->counts_next = 1; /* its own count is used at once */
    while (probe.at < probe.end) {
        uint8_t c = *probe.at;
        struct slice raw;
        bool has_escape = false;
        if (c == '"') {
            if (!json_string_scan(&probe, &raw, &has_escape)) break;
            continue;
        }
        probe.at++;
        if (c == '{' || c == '[') {
            if (depth == SWEEP_DEPTH) break;
            stack[depth++] = c == '{' ? r->counts.len : SIZE_MAX;
            if (c == '{') buf_append_byte(&r->counts, 1);
        } else if (c == '}' || c == ']') {
            if (--depth == 0) break; /* never below: the first byte is '{' */
        } else if (c == ',' && depth > 0 && depth <= SWEEP_DEPTH && stack[depth - 1] != SIZE_MAX &&
                   !r->counts.is_failed) {
            uint8_t *count = &r->counts.data[stack[depth - 1]];
            if (*count < 3) ++*count;
        }
    }
    r->swept_end = probe.at;
}

static unsigned count_members(struct value_reader *r, const uint8_t *open, unsigned members)
{
    if (members != 0) return members;
    sweep(r, open);
    return r->counts.is_failed ? 0 : r->counts.data[0];
}

/* Moves past a value that is no container. */
static bool skip_scalar(struct json *j)
{
    struct slice raw;
    bool has_escape = false;
    if (json_peek(j) == '"') return json_string_scan(j, &raw, &has_escape);
    if (json_peek(j) == '{' || json_peek(j) == '[') return false;
    while (j->at<j->end && * j->at> ' ' && *j->at != ',' && *j->at != '}') j->at++;
    return true;
}

static enum value_tag tag_of_text(struct value_reader *r, struct slice raw, bool has_escape)
{
    if (!has_escape) return value_tag_of(raw);
    if (raw.len > 6 * 16) return TAG_NONE; /* longer than any tag in escapes */
    r->scratch.len = 0;
    json_string_unescape(raw, &r->scratch);
    return value_tag_of(buf_slice(&r->scratch));
}

bool value_names_tag(struct slice name)
{
    return value_tag_of(name) != TAG_NONE;
}

enum value_tag value_find_tag(struct value_reader *r, const uint8_t *open, unsigned members)
{
    struct json probe = r->j;
    struct slice raw;
    bool has_escape = false;
    probe.e = NULL;
    if (!json_string_scan(&probe, &raw, &has_escape)) return TAG_NONE;
    enum value_tag tag = tag_of_text(r, raw, has_escape);
    if (tag == TAG_NONE || !json_expect(&probe, ':')) return TAG_NONE;
    uint8_t c = json_peek(&probe);
    const uint8_t *value = probe.at;
    bool is_tag = false;
    if (c == '{' || c == '[') {
        is_tag = count_members(r, open, members) == 1;
    } else if (skip_scalar(&probe)) {
        is_tag = json_peek(&probe) == '}';
        if (tag == TAG_ID && json_peek(&probe) == ',') {
            probe.at++;
            is_tag = json_peek(&probe) == '"' && json_string_scan(&probe, &raw, &has_escape) &&
                     json_string_is(raw, has_escape, "value") &&
                     count_members(r, open, members) == 2;
        }
    }
    if (!is_tag) return TAG_NONE;
    r->j.at = value;
    return tag;
}

/* The text of the string that must be next; good until the next string. */
static bool take_string(struct value_reader *r, struct slice *text, const char *what)
{
    bool has_escape = false;
    if (json_peek(&r->j) != '"') return json_fail(&r->j, r->j.at, "%s", what);
    if (!json_string_scan(&r->j, text, &has_escape)) return false;
    if (!has_escape) return true;
    r->scratch.len = 0;
    json_string_unescape(*text, &r->scratch);
    if (r->scratch.is_failed) return value_nomem(r);
    *text = buf_slice(&r->scratch);
    return true;
}

/* Room for the head of an extension. Long text gets the long head: a wrong guess moves the content
 * once per level, and this way only short content is moved. */
static size_t ext_room(const struct value_reader *r)
{
    return r->j.end - r->j.at > 60000 ? 6 : 3;
}

/* Ends an extension whose payload begins with `inner` (the head of an array). */
static bool close_ext(struct value_reader *r, size_t opened, size_t room, int8_t ext,
                      uint64_t count)
{
    if (r->out->is_failed) return value_nomem(r);
    uint8_t head[PACK_HEAD_BYTES * 2], inner[PACK_HEAD_BYTES];
    size_t inner_len = pack_head(PACK_ARRAY, 0, count, inner);
    size_t len = pack_head(PACK_EXT, ext, r->out->len - opened - room + inner_len, head);
    memcpy(head + len, inner, inner_len);
    pack_close(r->out, opened, room, head, len + inner_len);
    return true;
}

static bool read_bigint(struct value_reader *r)
{
    struct slice text = {0};
    const uint8_t *from = r->j.at;
    const char *why = NULL;
    if (!take_string(r, &text, "$bigint must be a string of decimal digits")) return false;
    size_t room = ext_room(r), opened = pack_open(r->out, room);
    if (!bigint_text_to_twos(text, r->out, &why)) return json_fail(&r->j, from, "%s", why);
    if (r->out->is_failed) return value_nomem(r);
    size_t len = r->out->len - opened - room;
    const uint8_t *twos = r->out->data + opened + room;
    if (len <= 9) {
        /* Beyond +-(2^53-1) MessagePack's own integers mean the same and are shorter. */
        bool is_negative = twos[0] >= 0x80;
        uint64_t u = is_negative ? UINT64_MAX : 0;
        for (size_t i = 0; i < len; i++) u = u << 8 | twos[i];
        bool is_int = len <= 8 || twos[0] == 0;
        uint64_t magnitude = is_negative ? 0 - u : u;
        if (is_int && magnitude > NUMBER_SAFE_MAX) {
            r->out->len = opened;
            if (is_negative) {
                pack_int(r->out, (int64_t)u);
            } else {
                pack_uint(r->out, u);
            }
            return true;
        }
    }
    uint8_t head[PACK_HEAD_BYTES];
    pack_close(r->out, opened, room, head, pack_head(PACK_EXT, EXT_BIGINT, len, head));
    return true;
}

static bool read_u64(struct value_reader *r)
{
    struct slice text = {0};
    uint64_t u = 0;
    uint8_t body[8];
    const uint8_t *from = r->j.at;
    if (r->depth > 0) return json_fail(&r->j, from, "u64 below the top level");
    if (!take_string(r, &text, "$u64 must be a string of decimal digits")) return false;
    if (!slice_to_u64(text, &u)) return json_fail(&r->j, from, "$u64 must be from 0 to 2^64-1");
    for (size_t i = 8; i-- > 0; u >>= 8) body[i] = (uint8_t)u;
    pack_ext(r->out, EXT_U64, slice_of(body, 8));
    return true;
}

static bool read_bytes(struct value_reader *r)
{
    struct slice text = {0};
    uint8_t head[PACK_HEAD_BYTES];
    const uint8_t *from = r->j.at;
    if (!take_string(r, &text, "$bytes must be a base64 string")) return false;
    if (text.len % 4 != 0) return json_fail(&r->j, from, "$bytes is not valid base64");
    buf_append(r->out, head, pack_head(PACK_BIN, 0, base64_decoded_bytes(text), head));
    return base64_decode(text, r->out) || json_fail(&r->j, from, "$bytes is not valid base64");
}

static bool read_v8(struct value_reader *r)
{
    struct slice text = {0};
    struct v8_reader v8;
    struct buf objects;
    uint8_t head[PACK_HEAD_BYTES];
    const uint8_t *from = r->j.at;
    if (r->depth > 0) return json_fail(&r->j, from, "V8 value below the top level");
    if (!take_string(r, &text, "$v8 must be a base64 string")) return false;
    if (text.len % 4 != 0) return json_fail(&r->j, from, "$v8 is not valid base64");
    buf_append(r->out, head, pack_head(PACK_EXT, EXT_V8, base64_decoded_bytes(text), head));
    size_t opened = r->out->len;
    if (!base64_decode(text, r->out)) return json_fail(&r->j, from, "$v8 is not valid base64");
    if (r->out->is_failed) return value_nomem(r);
    buf_init(&objects);
    bool ok = v8_scan(&v8, slice_of(r->out->data + opened, r->out->len - opened), &objects);
    buf_fini(&objects);
    if (v8.is_nomem) return value_nomem(r);
    return ok || json_fail(&r->j, from, "$v8 has %s at offset %zu of its bytes", v8.why, v8.where);
}

static bool read_date(struct value_reader *r)
{
    struct slice text = {0};
    int64_t ms = 0;
    const uint8_t *from = r->j.at;
    if (json_take_word(&r->j, "null")) {
        pack_ext(r->out, EXT_DATE, slice_of("\xff", 1));
        return true;
    }
    if (!take_string(r, &text, "$date must be an ISO 8601 string or null")) return false;
    if (!date_parse(text, &ms)) {
        return json_fail(&r->j, from, "$date must be YYYY-MM-DDTHH:mm:ss.sssZ within +-8.64e15 ms");
    }
    date_to_ext(ms, r->out);
    return true;
}

static bool read_undefined(struct value_reader *r)
{
    if (!json_take_word(&r->j, "true")) {
        return json_fail(&r->j, r->j.at, "$undefined must be true");
    }
    pack_ext(r->out, EXT_UNDEFINED, slice_of("\0", 1));
    return true;
}

static bool read_number(struct value_reader *r)
{
    static const char what[] = "$number must be \"NaN\", \"Infinity\", \"-Infinity\" or \"-0\"";
    struct slice text = {0};
    double d = 0;
    const uint8_t *from = r->j.at;
    if (!take_string(r, &text, what)) return false;
    if (!number_from_name(text, false, &d)) return json_fail(&r->j, from, "%s", what);
    pack_float(r->out, d);
    return true;
}

static bool read_pair(struct value_reader *r, size_t from, bool *is_text)
{
    if (!json_expect(&r->j, '[')) return false;
    json_skip_blanks(&r->j);
    const uint8_t *where = r->j.at;
    size_t start = r->out->len;
    if (!value_read(r)) return false;
    if (r->out->is_failed) return value_nomem(r);
    const uint8_t *key = r->out->data + start;
    const uint8_t *end = r->out->data + r->out->len;
    struct name name = {.at = start, .tag = (r->out->len - start) * 2};
    name.where = (size_t)(where - r->j.start);
    struct pack_item item;
    if (pack_read(&key, end, &item) == PACK_OK && item.type == PACK_STR) {
        name.at = (size_t)(item.body.data - r->out->data);
        name.tag = item.body.len * 2 + 1;
    } else {
        *is_text = false;
    }
    if (!names_add(&r->names, from, r->out->data, name.at, name.tag, name.where)) {
        return json_fail(&r->j, where, "duplicate key");
    }
    return json_expect(&r->j, ',') && value_read(r) && json_expect(&r->j, ']');
}

static bool read_map(struct value_reader *r)
{
    bool is_text = true; /* every key so far is a string */
    size_t count = 0, from = r->names.count;
    size_t room = ext_room(r) + 1, opened = pack_open(r->out, room);
    const uint8_t *open = r->j.at;
    if (!value_enter(r, open)) return false;
    if (json_peek(&r->j) != '[')
        return json_fail(&r->j, open, "$map must be an array of [key, value]");
    r->j.at++;
    while (json_peek(&r->j) != ']') {
        if (count > 0 && !json_expect(&r->j, ',')) return false;
        if (!read_pair(r, from, &is_text)) return false;
        count++;
    }
    r->j.at++;
    r->depth--;
    const struct name *again = names_end(&r->names, from, r->out->data);
    if (r->out->is_failed || r->names.is_failed) return value_nomem(r);
    if (again != NULL) return json_fail(&r->j, r->j.start + again->where, "duplicate key");
    if (is_text) return close_ext(r, opened, room, EXT_MAP, 2 * (uint64_t)count);
    uint8_t head[PACK_HEAD_BYTES];
    pack_close(r->out, opened, room, head, pack_head(PACK_MAP, 0, count, head));
    return true;
}

static bool read_set(struct value_reader *r)
{
    uint64_t count = 0;
    size_t room = ext_room(r) + 1, opened = pack_open(r->out, room);
    if (json_peek(&r->j) != '[') return json_fail(&r->j, r->j.at, "$set must be an array");
    if (!value_enter(r, r->j.at) || !value_read_items(r, &count)) return false;
    r->depth--;
    return close_ext(r, opened, room, EXT_SET, count);
}

static bool read_regexp(struct value_reader *r)
{
    static const char what[] = "$regexp must be [\"source\",\"flags\"]";
    size_t bytes = 0;
    size_t room = ext_room(r) + 1, opened = pack_open(r->out, room);
    if (json_peek(&r->j) != '[') return json_fail(&r->j, r->j.at, "%s", what);
    r->j.at++;
    if (json_peek(&r->j) != '"') return json_fail(&r->j, r->j.at, "%s", what);
    if (!value_read_string(r, &bytes) || !json_expect(&r->j, ',')) return false;
    if (json_peek(&r->j) != '"') return json_fail(&r->j, r->j.at, "%s", what);
    if (!value_read_string(r, &bytes) || !json_expect(&r->j, ']')) return false;
    return close_ext(r, opened, room, EXT_REGEXP, 2);
}

static bool read_error(struct value_reader *r)
{
    if (json_peek(&r->j) != '{') return json_fail(&r->j, r->j.at, "$error must be an object");
    (void)value_read_brace(r);
    size_t room = ext_room(r), opened = pack_open(r->out, room);
    if (!value_read_members(r, true)) return false;
    if (r->out->is_failed) return value_nomem(r);
    uint8_t head[PACK_HEAD_BYTES];
    size_t len = r->out->len - opened - room;
    pack_close(r->out, opened, room, head, pack_head(PACK_EXT, EXT_ERROR, len, head));
    return true;
}

static bool read_typed(struct value_reader *r)
{
    struct slice text = {0};
    uint8_t head[PACK_HEAD_BYTES];
    const uint8_t *from = r->j.at;
    if (!json_expect(&r->j, '[')) return false;
    if (!take_string(r, &text, "$typed must be [\"<kind>Array\",\"<base64>\"]")) return false;
    int code = value_typed_code(text);
    if (code < 0) return json_fail(&r->j, from, "typed array of unknown kind");
    if (!json_expect(&r->j, ',')) return false;
    if (!take_string(r, &text, "$typed must be [\"<kind>Array\",\"<base64>\"]")) return false;
    if (text.len % 4 != 0) return json_fail(&r->j, from, "$typed is not valid base64");
    size_t bytes = base64_decoded_bytes(text), element = 1;
    (void)value_typed_name((uint8_t)code, &element);
    if (bytes % element != 0)
        return json_fail(&r->j, from, "typed array that is not a whole number of elements");
    buf_append(r->out, head, pack_head(PACK_EXT, EXT_TYPED, bytes + 1, head));
    buf_append_byte(r->out, (uint8_t)code);
    if (!base64_decode(text, r->out)) return json_fail(&r->j, from, "$typed is not valid base64");
    return json_expect(&r->j, ']');
}

static bool read_id(struct value_reader *r, uint32_t *id)
{
    struct json_number n = {0};
    const uint8_t *from = r->j.at;
    bool is_number = from < r->j.end && *from >= '0' && *from <= '9';
    if (is_number && !json_number_scan(&r->j, &n)) return false;
    if (!n.is_integer || n.digit_count > 10 || n.magnitude < 1 || n.magnitude > UINT32_MAX) {
        return json_fail(&r->j, from, "an id must be an integer from 1 to 2^32-1");
    }
    *id = (uint32_t)n.magnitude;
    return true;
}

static bool read_shared(struct value_reader *r)
{
    uint32_t id = 0;
    struct slice name;
    const uint8_t *from = r->j.at;
    size_t room = ext_room(r) + 1, opened = pack_open(r->out, room);
    if (!read_id(r, &id)) return false;
    if (!names_add_id(&r->names, id)) return json_fail(&r->j, from, "id used twice");
    if (r->names.is_failed) return value_nomem(r);
    pack_uint(r->out, id);
    if (json_peek(&r->j) == '}') return json_fail(&r->j, from, "$id without a value");
    if (!json_expect(&r->j, ',') || !take_string(r, &name, "expected \"value\"")) return false;
    if (!json_expect(&r->j, ':')) return false;
    if (!value_enter(r, from) || !value_read(r)) return false;
    r->depth--;
    return close_ext(r, opened, room, EXT_ID, 2);
}

static bool read_reference(struct value_reader *r)
{
    uint32_t id = 0;
    uint8_t body[PACK_HEAD_BYTES];
    const uint8_t *from = r->j.at;
    if (!read_id(r, &id)) return false;
    if (!names_has_id(&r->names, id)) {
        return json_fail(&r->j, from, "reference to an id that does not precede it");
    }
    struct buf *out = r->out;
    size_t start = out->len;
    pack_uint(out, id);
    if (out->is_failed) return value_nomem(r);
    size_t len = out->len - start;
    memcpy(body, out->data + start, len);
    out->len = start;
    pack_ext(out, EXT_REF, slice_of(body, len));
    return true;
}

static bool read_escaped(struct value_reader *r)
{
    if (json_peek(&r->j) != '{') return json_fail(&r->j, r->j.at, "$object must be an object");
    (void)value_read_brace(r);
    return value_read_members(r, false);
}

static bool read_placeholder(struct value_reader *r, bool is_uuid)
{
    char text[UUID_CHARS];
    size_t len = 0;
    if (!placeholder_read(&r->j, r->placeholders, is_uuid, text, &len)) return false;
    pack_str(r->out, slice_of(text, len));
    return true;
}

static bool read_uuid(struct value_reader *r)
{
    return read_placeholder(r, true);
}

static bool read_versionstamp(struct value_reader *r)
{
    return read_placeholder(r, false);
}

static bool refuse_collection(struct value_reader *r)
{
    return json_fail(&r->j, r->j.at,
                     "$collection shows a hash, list or other collection; only its own commands "
                     "can write it (HSET, RPUSH, ...)");
}

bool value_read_tag(struct value_reader *r, enum value_tag tag)
{
    static bool (*const readers[])(struct value_reader *) = {
        [TAG_BIGINT] = read_bigint,
        [TAG_U64] = read_u64,
        [TAG_BYTES] = read_bytes,
        [TAG_DATE] = read_date,
        [TAG_UNDEFINED] = read_undefined,
        [TAG_NUMBER] = read_number,
        [TAG_MAP] = read_map,
        [TAG_SET] = read_set,
        [TAG_REGEXP] = read_regexp,
        [TAG_ERROR] = read_error,
        [TAG_TYPED] = read_typed,
        [TAG_ID] = read_shared,
        [TAG_REF] = read_reference,
        [TAG_V8] = read_v8,
        [TAG_OBJECT] = read_escaped,
        [TAG_UUIDV7] = read_uuid,
        [TAG_VERSIONSTAMP] = read_versionstamp,
        [TAG_COLLECTION] = refuse_collection,
    };
    return readers[tag](r) && json_expect(&r->j, '}');
}
