/* json_write: JSON.SET, JSON.DEL, JSON.ARRAPPEND, JSON.NUMINCRBY: a part of a value is changed in
 * its text, and the whole is read again. The key keeps its expiry.
 */
#include <math.h>

#include "codec/arith.h"
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

static enum err edit_begin(struct request *rq, struct slice key, struct slice path, struct edit *x)
{
    *x = (struct edit){.key = key};
    buf_init(&x->text);
    enum err r = json_path_parse(rq->arena, path, &x->path, &rq->error);
    if (r == OK) r = json_read(rq, key, &x->text, &x->exists);
    if (r == OK && x->exists) {
        r = json_find(buf_slice(&x->text), &x->path, &x->place, &rq->error);
    }
    return r;
}

/* Typed JSON as a value is stored, in the arena. */
static enum err stored(struct request *rq, struct slice json, struct slice *value)
{
    buf_clear(rq->scratch, SIZE_MAX);
    enum err r = request_take_steps(rq, json.len * JSON_BYTE_STEPS);
    if (r == OK) r = value_from_json(json, NULL, rq->scratch, &rq->error);
    if (r != OK) return r;
    uint8_t *copy = arena_alloc_try(rq->arena, rq->scratch->len);
    if (copy == NULL) return error_set(&rq->error, ERR_NOMEM, "out of memory for a value");
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
    enum err r = whole.is_failed ? error_set(&rq->error, ERR_NOMEM, "out of memory for a value")
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

/* An object that would be read as a tag without this around it. */
#define WRAPPED "{\"$object\":{"

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
    bool is_first = end == from + 1;
    bool wraps = is_first && !x->place.is_wrapped && value_names_tag(last->name);
    buf_init(&member);
    if (wraps) buf_append_str(&member, WRAPPED);
    if (!is_first) buf_append_byte(&member, ',');
    json_string_write_lossy(last->name, &member);
    buf_append_byte(&member, ':');
    buf_append(&member, json.data, json.len);
    if (wraps) buf_append_str(&member, "}}");
    enum err r = member.is_failed ? error_set(&rq->error, ERR_NOMEM, "out of memory for a value")
                                  : edit_commit(rq, x, wraps ? from : end, wraps ? end + 1 : end,
                                                buf_slice(&member));
    buf_fini(&member);
    *is_done = r == OK;
    return r;
}

struct set {
    struct slice key, path, json;
    enum op_condition condition;
};
ARGUMENTS(set_arguments, struct set, "key path value [NX | XX]", ARG_KEY(struct set, key, "key", 0),
          ARG_WORD(struct set, path, "path"), ARG_WORD(struct set, json, "value"),
          ARG_CHOICE(struct set, condition, {"NX", IF_ABSENT}, {"XX", IF_PRESENT}));

static enum err set_value(struct request *rq, const struct edit *x, const struct set *a,
                          bool *is_done)
{
    struct slice json = a->json;
    enum op_condition condition = a->condition;
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
    const struct set *a = rq->bound;
    struct edit x;
    bool is_done = false;
    enum err r = edit_begin(rq, a->key, a->path, &x);
    if (r == OK) r = set_value(rq, &x, a, &is_done);
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
    .flags = CMD_STRING | CMD_WRITE,
    .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE,
    .group = "json",
    .summary = "Sets a value, or the part at a path, to typed JSON. Keeps the expiry.",
    .arguments = &set_arguments,
    .reply = "OK, or nil if the condition is not met or the path cannot be created: only its last "
             "step may be new, as a member of an object.",
    .run = set_run,
};

/* ---- JSON.DEL ---- */

/* What remains of the object must not become a tag. */
static enum err delete_part(struct request *rq, const struct edit *x)
{
    size_t from = x->place.item_from;
    size_t to = x->place.to;
    if (x->text.data[to] == ',') {
        to++;
    } else if (x->text.data[from - 1] == ',') {
        from--;
    }
    size_t open = x->place.parent_from;
    size_t rest = from == open + 1 ? to : open + 1; /* the first that stays */
    bool wraps = x->text.data[open] == '{' && !x->place.is_wrapped && x->text.data[rest] == '"' &&
                 x->text.data[rest + 1] == '$';
    if (!wraps) return edit_commit(rq, x, from, to, slice_of(NULL, 0));
    struct buf object;
    size_t end = json_end(buf_slice(&x->text), open);
    buf_init(&object);
    buf_append_str(&object, WRAPPED);
    buf_append(&object, x->text.data + open + 1, from - open - 1);
    buf_append(&object, x->text.data + to, end - to);
    buf_append_byte(&object, '}');
    enum err r = object.is_failed ? error_set(&rq->error, ERR_NOMEM, "out of memory for a value")
                                  : edit_commit(rq, x, open, end, buf_slice(&object));
    buf_fini(&object);
    return r;
}

static enum err del_run(struct request *rq)
{
    const struct json_at *a = rq->bound;
    struct edit x;
    enum err r = edit_begin(rq, a->key, json_path_word(a->path), &x);
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
JSON_COMMAND(del, "del", CMD_WRITE, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Deletes a value, or the part at a path. Returns 1, or 0 if it does not exist.",
             json_at_arguments, del_run);

JSON_COMMAND(forget, "forget", CMD_WRITE, KEY_RW | KEY_ACCESS | KEY_DELETE,
             "Deletes a value, or the part at a path; the same as JSON.DEL. Returns 1, or 0 if it "
             "does not exist.",
             json_at_arguments, del_run);

/* ---- JSON.ARRAPPEND ---- */

struct arrappend {
    struct slice key, path;
    struct slices items;
};
ARGUMENTS(arrappend_arguments, struct arrappend, "key path value [value ...]",
          ARG_KEY(struct arrappend, key, "key", 0), ARG_WORD(struct arrappend, path, "path"),
          ARG_WORDS(struct arrappend, items, "value"));

static enum err append_items(struct request *rq, const struct edit *x, const struct slices *more,
                             size_t *length)
{
    struct slice text = buf_slice(&x->text);
    size_t end = x->place.to - 1;
    size_t count = json_count(text, x->place.from);
    struct slice value = {0};
    struct buf items;
    enum err r = OK;
    buf_init(&items);
    for (size_t i = 0; i < more->count && r == OK; i++) {
        struct slice item = more->items[i];
        if (count + i > 0) buf_append_byte(&items, ',');
        buf_append(&items, item.data, item.len);
        r = stored(rq, item, &value); /* each must be one value by itself */
    }
    if (r == OK && items.is_failed)
        r = error_set(&rq->error, ERR_NOMEM, "out of memory for a value");
    if (r == OK) r = edit_commit(rq, x, end, end, buf_slice(&items));
    buf_fini(&items);
    *length = count + more->count;
    return r;
}

static bool is_kind(struct slice text, size_t from, const char *expected)
{
    struct slice kind = json_type_name(text, from);
    return slice_eq(kind, slice_str(expected)) ||
           (strcmp(expected, "number") == 0 && slice_eq(kind, slice_str("integer")));
}

/* What must be there and of that kind, "array" or "number"; false: an error, or the reply to that
 * was written. */
static bool edit_is_of(struct request *rq, const struct edit *x, const char *expected, enum err *r)
{
    struct slice text = buf_slice(&x->text);
    if (*r != OK) return false;
    if (!x->exists) {
        *r = error_set(&rq->error, ERR_SYNTAX,
                       "could not perform this operation on a key that doesn't exist");
        return false;
    }
    bool is_there = x->place.exists;
    if (is_there && is_kind(text, x->place.from, expected)) return true;
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
    const struct arrappend *a = rq->bound;
    struct edit x;
    size_t length = 0;
    enum err r = edit_begin(rq, a->key, a->path, &x);
    bool is_array = edit_is_of(rq, &x, "array", &r);
    if (is_array) r = append_items(rq, &x, &a->items, &length);
    if (r == OK && is_array) {
        if (x.path.is_list) resp_array(rq->w, 1);
        resp_int(rq->w, (int64_t)length);
    }
    edit_fini(&x);
    return r;
}
JSON_COMMAND(arrappend, "arrappend", CMD_WRITE, KEY_RW | KEY_ACCESS | KEY_UPDATE,
             "Appends elements to an array and returns its length.", arrappend_arguments,
             arrappend_run);

/* ---- JSON.NUMINCRBY ---- */

/* At most so many characters of a number are read: no double and no bigint needs more. */
#define NUMBER_CHARS_MAX 700

/* A number as JSON has it, and whether it is a bigint whatever its size. */
struct operand {
    struct slice text;
    struct json_number number;
    bool is_bigint;
};

static bool operand_read(struct slice text, struct operand *out)
{
    struct json j = {.start = text.data, .at = text.data, .end = text.data + text.len};
    j.subject = "";
    out->text = text;
    if (text.len == 0 || text.len > NUMBER_CHARS_MAX) return false;
    if (text.data[0] != '-' && (text.data[0] < '0' || text.data[0] > '9')) return false;
    return json_number_scan(&j, &out->number) && j.at == j.end;
}

static bool is_safe_integer(const struct json_number *n)
{
    return n->is_integer && n->digit_count <= 16 && n->magnitude <= NUMBER_SAFE_MAX;
}

/* What is at the place: a literal, {"$bigint":"5"} or {"$number":"NaN"}. */
static enum err operand_at(struct request *rq, struct slice text, const struct json_place *place,
                           struct operand *out)
{
    struct json_tag tag;
    struct slice digits = slice_of(text.data + place->from, place->to - place->from);
    bool is_tag = digits.data[0] == '{' && json_is_tag(text, place->from, &tag);
    out->is_bigint = is_tag && slice_eq(tag.name, slice_str("bigint"));
    if (is_tag) digits = slice_of(text.data + tag.value + 1, place->to - tag.value - 3);
    if (is_tag && !out->is_bigint && !slice_eq(digits, slice_str("-0"))) {
        return error_set(&rq->error, ERR_SYNTAX, "result is not a number or infinite");
    }
    if (!operand_read(digits, out)) {
        return error_set(&rq->error, ERR_SYNTAX, "the number is too long for an addition");
    }
    out->is_bigint = out->is_bigint || (out->number.is_integer && !is_safe_integer(&out->number));
    return OK;
}

static enum err bigint_of(const struct operand *a, struct buf *out, struct error *e)
{
    struct buf json;
    buf_init(&json);
    buf_append_str(&json, "{\"$bigint\":\"");
    buf_append(&json, a->text.data, a->text.len);
    buf_append_str(&json, "\"}");
    buf_require(&json);
    enum err r = value_from_json(buf_slice(&json), NULL, out, e);
    buf_fini(&json);
    return r;
}

/* Typed JSON {"$bigint":"5"}, in the arena. */
static enum err exact_sum(struct request *rq, const struct operand *a, const struct operand *b,
                          struct slice *out)
{
    struct buf old;
    struct buf more;
    struct buf sum;
    buf_init(&old);
    buf_init(&more);
    buf_init(&sum);
    enum err r = bigint_of(a, &old, &rq->error);
    if (r == OK) r = bigint_of(b, &more, &rq->error);
    struct slice stored = buf_slice(&old);
    struct arith x = {.op = ARITH_SUM, .operand = buf_slice(&more)};
    if (r == OK) r = arith_apply(&x, &stored, &sum, &rq->error);
    if (r == OK) {
        buf_clear(&old, SIZE_MAX);
        value_to_json(buf_slice(&sum), &old);
        buf_require(&old);
        *out = arena_copy(rq->arena, buf_slice(&old));
    }
    buf_fini(&old);
    buf_fini(&more);
    buf_fini(&sum);
    return r;
}

static enum err double_sum(struct request *rq, const struct operand *a, const struct operand *b,
                           struct slice *out)
{
    char *text = arena_alloc(rq->arena, NUMBER_TEXT_BYTES);
    double sum = json_number_double(&a->number) + json_number_double(&b->number);
    if (!isfinite(sum)) {
        return error_set(&rq->error, ERR_SYNTAX, "result is not a number or infinite");
    }
    if (sum == 0) sum = 0; /* no -0 */
    *out = slice_of(text, number_format(sum, text));
    return OK;
}

/* Whole numbers are added exactly: a bigint stays one, and a number becomes one beyond +-(2^53-1).
 * Everything else is added as doubles. *shown: the sum without a tag. */
static enum err sum_of(struct request *rq, const struct operand *a, const struct operand *b,
                       struct slice *stored, struct slice *shown)
{
    static const size_t head = sizeof "{\"$bigint\":\"" - 1;
    enum err r = OK;
    if (!a->number.is_integer || !b->number.is_integer) {
        r = double_sum(rq, a, b, stored);
        *shown = *stored;
        return r;
    }
    r = exact_sum(rq, a, b, stored);
    if (r != OK) return r;
    *shown = slice_of(stored->data + head, stored->len - head - 2);
    if (!a->is_bigint) *stored = *shown;
    return OK;
}

struct numincrby {
    struct slice key, path, increment;
};
ARGUMENTS(numincrby_arguments, struct numincrby, "key path increment",
          ARG_KEY(struct numincrby, key, "key", 0), ARG_WORD(struct numincrby, path, "path"),
          ARG_WORD(struct numincrby, increment, "increment"));

static enum err numincrby_run(struct request *rq)
{
    const struct numincrby *a = rq->bound;
    struct edit x;
    struct operand old;
    struct operand more;
    struct slice sum = {0};
    struct slice shown = {0};
    if (!operand_read(a->increment, &more)) {
        return error_set(&rq->error, ERR_SYNTAX, "the increment is not a number");
    }
    enum err r = edit_begin(rq, a->key, a->path, &x);
    bool is_number = edit_is_of(rq, &x, "number", &r);
    if (is_number) {
        r = operand_at(rq, buf_slice(&x.text), &x.place, &old);
        if (r == OK) r = sum_of(rq, &old, &more, &sum, &shown);
        if (r == OK) r = edit_commit(rq, &x, x.place.from, x.place.to, sum);
        if (r == OK) reply_text(rq, &x.path, shown);
    }
    edit_fini(&x);
    return r;
}
JSON_COMMAND(numincrby, "numincrby", CMD_WRITE, KEY_RW | KEY_ACCESS | KEY_UPDATE,
             "Adds to a number or bigint, exactly for integers, and returns the sum.",
             numincrby_arguments, numincrby_run);
