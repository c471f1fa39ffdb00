/* json_write: JSON.SET, JSON.DEL, JSON.ARRAPPEND, JSON.NUMINCRBY: a part of a value is changed in
 * its text, and the whole is read again. The key keeps its expiry.
 */
#include <math.h>

#include "codec/json_lex.h"
#include "codec/number.h"
#include "codec/value.h"
#include "command/json/json_int.h"
#include "request/keys.h"
#include "request/table.h"

/* A value as it is now, and the place in it that a command is about. */
struct edit {
    struct slice key;
    bool exists; /* the key */
    struct buf text;
    struct json_path path;
    struct json_place place;
};

static void edit_fini(struct edit *x)
{
    buf_fini(&x->text);
}

static enum err edit_begin(struct request *rq, struct slice path, struct edit *x)
{
    *x = (struct edit){.exists = false};
    buf_init(&x->text);
    enum err r = json_path_parse(rq->arena, path, &x->path, &rq->error);
    if (r == OK) r = json_read(rq, rq->argv[1], &x->key, &x->text, &x->exists);
    if (r == OK && x->exists) json_find(buf_slice(&x->text), &x->path, &x->place);
    return r;
}

/* Typed JSON as a value is stored, in the arena. */
static enum err stored(struct request *rq, struct slice json, struct slice *value)
{
    buf_clear(rq->scratch, SIZE_MAX);
    enum err r = value_from_json(json, NULL, rq->scratch, &rq->error);
    if (r != OK) return r;
    uint8_t *copy = arena_alloc_try(rq->arena, rq->scratch->len);
    if (copy == NULL) return error_set(&rq->error, ERR_NOMEM, "no memory for a value");
    memcpy(copy, rq->scratch->data, rq->scratch->len);
    *value = slice_of(copy, rq->scratch->len);
    return OK;
}

static enum err commit_value(struct request *rq, const struct edit *x, struct slice value)
{
    struct op op = {.kind = OP_SET, .key = x->key, .value = value, .ttl = TTL_KEEP};
    return request_commit(rq, &op, 1);
}

/* Bytes [from, to) of the text give way to `by`, and that is the value. */
static enum err edit_commit(struct request *rq, const struct edit *x, size_t from, size_t to,
                            struct slice by)
{
    struct slice value = {0};
    struct buf whole;
    buf_init(&whole);
    buf_append(&whole, x->text.data, from);
    buf_append(&whole, by.data, by.len);
    buf_append(&whole, x->text.data + to, x->text.len - to);
    enum err r = whole.is_failed ? error_set(&rq->error, ERR_NOMEM, "no memory for a value")
                                 : stored(rq, buf_slice(&whole), &value);
    buf_fini(&whole);
    return r == OK ? commit_value(rq, x, value) : r;
}

/* Text for a list of one or of none, or for the value itself: in rq->scratch. */
static void reply_text(struct request *rq, const struct json_path *path, struct slice text)
{
    buf_clear(rq->scratch, SIZE_MAX);
    if (path->is_list) buf_append_byte(rq->scratch, '[');
    buf_append(rq->scratch, text.data, text.len);
    if (path->is_list) buf_append_byte(rq->scratch, ']');
    buf_require(rq->scratch);
    resp_bulk(rq->w, buf_slice(rq->scratch));
}

/* ---- JSON.SET ---- */

/* The last step of the path leads nowhere yet: a member that is added, or an error. */
static enum err add_member(struct request *rq, const struct edit *x, struct slice json,
                           bool *is_done)
{
    const struct json_step *last = &x->path.steps[x->path.count - 1];
    struct slice text = buf_slice(&x->text);
    if (!x->place.has_parent) return OK;
    size_t from = x->place.parent_from;
    if (last->is_index && text.data[from] == '[') {
        return error_set(&rq->error, ERR_SYNTAX, "array index out of range");
    }
    if (last->is_index || text.data[from] != '{') return OK;
    struct buf member;
    size_t end = json_end(text, from) - 1;
    buf_init(&member);
    if (end > from + 1) buf_append_byte(&member, ',');
    json_string_write_lossy(last->name, &member);
    buf_append_byte(&member, ':');
    buf_append(&member, json.data, json.len);
    enum err r = member.is_failed ? error_set(&rq->error, ERR_NOMEM, "no memory for a value")
                                  : edit_commit(rq, x, end, end, buf_slice(&member));
    buf_fini(&member);
    *is_done = r == OK;
    return r;
}

static enum err set_value(struct request *rq, const struct edit *x, enum op_condition condition,
                          bool *is_done)
{
    struct slice json = rq->argv[3];
    struct slice value = {0};
    bool is_there = x->exists && x->place.exists;
    enum err r = stored(rq, json, &value); /* it must be one value by itself */
    if (r != OK) return r;
    if (!x->exists && x->path.count > 0) {
        return error_set(&rq->error, ERR_SYNTAX, "new objects must be created at the root");
    }
    if ((condition == IF_ABSENT && is_there) || (condition == IF_PRESENT && !is_there)) return OK;
    if (x->path.count == 0) {
        r = commit_value(rq, x, value);
    } else if (is_there) {
        r = edit_commit(rq, x, x->place.from, x->place.to, json);
    } else {
        return add_member(rq, x, json, is_done);
    }
    *is_done = r == OK;
    return r;
}

static enum err set_run(struct request *rq)
{
    struct edit x;
    bool is_done = false;
    enum op_condition condition = IF_ANY;
    struct options o = {.rq = rq, .at = 4};
    if (options_take(&o, "NX", 0)) {
        condition = IF_ABSENT;
    } else if (options_take(&o, "XX", 1)) {
        condition = IF_PRESENT;
    }
    if (o.at < rq->argc) return options_unknown(&o);
    enum err r = edit_begin(rq, rq->argv[2], &x);
    if (r == OK) r = set_value(rq, &x, condition, &is_done);
    edit_fini(&x);
    if (r != OK) return r;
    if (is_done) {
        resp_simple(rq->w, "OK");
    } else {
        resp_nil(rq->w);
    }
    return OK;
}

const struct command cmd_json_set = {
    .name = "json.set",
    .arity = -4,
    .flags = CMD_STRING | CMD_WRITE,
    .first_key = 1,
    .last_key = 1,
    .key_step = 1,
    .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE,
    .group = "json",
    .since = "0.1.0",
    .summary = "Sets a value, or what is at the path in it, to typed JSON. The expiry stays.",
    .syntax = "key path value [NX | XX]",
    .reply = "OK, or nil when the condition does not hold, or the path has no place: only its last "
             "step may be new, as a member of an object.",
    .run = set_run,
};

/* ---- JSON.DEL ---- */

static enum err delete_part(struct request *rq, const struct edit *x)
{
    size_t from = x->place.item_from;
    size_t to = x->place.to;
    if (x->text.data[to] == ',') {
        to++;
    } else if (x->text.data[from - 1] == ',') {
        from--;
    }
    return edit_commit(rq, x, from, to, slice_of(NULL, 0));
}

static enum err del_run(struct request *rq)
{
    struct edit x;
    enum err r = edit_begin(rq, rq->argc > 2 ? rq->argv[2] : slice_str("."), &x);
    bool is_there = r == OK && x.exists && x.place.exists;
    if (is_there && x.path.count > 0) {
        r = delete_part(rq, &x);
    } else if (is_there) {
        struct op op = {.kind = OP_DELETE, .key = x.key};
        r = request_commit(rq, &op, 1);
    }
    edit_fini(&x);
    if (r == OK) resp_int(rq->w, is_there);
    return r;
}
JSON_COMMAND(del, "del", -2, CMD_WRITE, KEY_RW | KEY_ACCESS | KEY_DELETE, 1, 1, 1,
             "Deletes a value, or what is at the path in it; 1 or 0.", "key [path]");

static enum err forget_run(struct request *rq)
{
    return del_run(rq);
}
JSON_COMMAND(forget, "forget", -2, CMD_WRITE, KEY_RW | KEY_ACCESS | KEY_DELETE, 1, 1, 1,
             "As JSON.DEL.", "key [path]");

/* ---- JSON.ARRAPPEND ---- */

static enum err append_items(struct request *rq, const struct edit *x, size_t *length)
{
    struct slice text = buf_slice(&x->text);
    size_t end = x->place.to - 1;
    size_t count = json_count(text, x->place.from);
    struct slice value = {0};
    struct buf items;
    enum err r = OK;
    buf_init(&items);
    for (size_t i = 3; i < rq->argc && r == OK; i++) {
        if (count + i > 3) buf_append_byte(&items, ',');
        buf_append(&items, rq->argv[i].data, rq->argv[i].len);
        r = stored(rq, rq->argv[i], &value); /* each must be one value by itself */
    }
    if (r == OK && items.is_failed) r = error_set(&rq->error, ERR_NOMEM, "no memory for a value");
    if (r == OK) r = edit_commit(rq, x, end, end, buf_slice(&items));
    buf_fini(&items);
    *length = count + rq->argc - 3;
    return r;
}

/* What must be there and of the kind that begins with `first`; false: an error, or the reply to
 * that was written. */
static bool edit_is_of(struct request *rq, const struct edit *x, const char *first,
                       const char *expected, enum err *r)
{
    struct slice text = buf_slice(&x->text);
    if (*r != OK) return false;
    if (!x->exists) {
        *r = error_set(&rq->error, ERR_SYNTAX,
                       "could not perform this operation on a key that doesn't exist");
        return false;
    }
    bool is_there = x->place.exists;
    if (is_there && strchr(first, text.data[x->place.from]) != NULL) return true;
    if (!x->path.is_list) {
        *r = is_there ? json_wrong_kind(rq, text, &x->place, expected) : json_absent(rq, &x->path);
    } else if (strcmp(expected, "array") == 0) {
        resp_array(rq->w, is_there);
        if (is_there) resp_nil(rq->w);
    } else {
        reply_text(rq, &x->path, slice_str(is_there ? "null" : ""));
    }
    return false;
}

static enum err arrappend_run(struct request *rq)
{
    struct edit x;
    size_t length = 0;
    enum err r = edit_begin(rq, rq->argv[2], &x);
    bool is_array = edit_is_of(rq, &x, "[", "array", &r);
    if (is_array) r = append_items(rq, &x, &length);
    if (r == OK && is_array) {
        if (x.path.is_list) resp_array(rq->w, 1);
        resp_int(rq->w, (int64_t)length);
    }
    edit_fini(&x);
    return r;
}
JSON_COMMAND(arrappend, "arrappend", -4, CMD_WRITE, KEY_RW | KEY_ACCESS | KEY_UPDATE, 1, 1, 1,
             "Appends items to an array; the reply is its length.", "key path value [value ...]");

/* ---- JSON.NUMINCRBY ---- */

/* At most so many characters of a number are read: no double needs more. */
#define NUMBER_CHARS_MAX 400

static bool number_read(struct slice text, struct json_number *n)
{
    struct json j = {.start = text.data, .at = text.data, .end = text.data + text.len};
    j.subject = "";
    if (text.len == 0 || text.len > NUMBER_CHARS_MAX) return false;
    if (text.data[0] != '-' && (text.data[0] < '0' || text.data[0] > '9')) return false;
    return json_number_scan(&j, n) && j.at == j.end;
}

static bool is_safe_integer(const struct json_number *n, int64_t *out)
{
    if (!n->is_integer || n->digit_count > 16 || n->magnitude > NUMBER_SAFE_MAX) return false;
    *out = n->is_negative ? -(int64_t)n->magnitude : (int64_t)n->magnitude;
    return true;
}

/* Integers within +-(2^53-1) stay such; everything else is added as doubles. */
static enum err sum_of(struct request *rq, const struct json_number *a, const struct json_number *b,
                       struct slice *out)
{
    char *text = arena_alloc(rq->arena, NUMBER_TEXT_BYTES);
    int64_t x = 0;
    int64_t y = 0;
    double sum = json_number_double(a) + json_number_double(b);
    if (is_safe_integer(a, &x) && is_safe_integer(b, &y)) sum = (double)(x + y);
    if (!isfinite(sum)) {
        return error_set(&rq->error, ERR_SYNTAX, "result is not a number or infinite");
    }
    if (sum == 0) sum = 0; /* no -0 */
    *out = slice_of(text, number_format(sum, text));
    return OK;
}

static enum err numincrby_run(struct request *rq)
{
    struct edit x;
    struct json_number old;
    struct json_number more;
    struct slice sum = {0};
    if (!number_read(rq->argv[3], &more)) {
        return error_set(&rq->error, ERR_SYNTAX, "the increment is not a number");
    }
    enum err r = edit_begin(rq, rq->argv[2], &x);
    bool is_number = edit_is_of(rq, &x, "-0123456789", "number", &r);
    if (is_number) {
        struct slice was = slice_of(x.text.data + x.place.from, x.place.to - x.place.from);
        if (!number_read(was, &old)) {
            r = error_set(&rq->error, ERR_SYNTAX, "the number is too long to add to");
        } else {
            r = sum_of(rq, &old, &more, &sum);
        }
        if (r == OK) r = edit_commit(rq, &x, x.place.from, x.place.to, sum);
        if (r == OK) reply_text(rq, &x.path, sum);
    }
    edit_fini(&x);
    return r;
}
JSON_COMMAND(numincrby, "numincrby", 4, CMD_WRITE, KEY_RW | KEY_ACCESS | KEY_UPDATE, 1, 1, 1,
             "Adds to a number; the reply is the sum.", "key path increment");
