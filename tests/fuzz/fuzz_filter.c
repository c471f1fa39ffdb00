/* Filter, zero byte, value (typed JSON, else MessagePack). Whatever both are: no crash; a filter
 * and its $not never both match; $and and $or of a filter with itself are the filter; a value is
 * equal to itself written as a literal; a path finds one whole value inside the value. */
#include <stdlib.h>

#include "codec/value.h"
#include "filter/filter.h"
#include "filter/path.h"

#define NOW_MS INT64_C(1700000000000)

static void check(bool holds)
{
    if (!holds) abort();
}

/* A filter put between two texts. NULL when it is none, or too much of one. */
static struct filter *compile(const char *before, struct slice text, const char *after)
{
    struct buf whole;
    struct filter *f = NULL;
    struct error e;
    buf_init(&whole);
    buf_append_str(&whole, before);
    buf_append(&whole, text.data, text.len);
    buf_append_str(&whole, after);
    enum err err = filter_compile(buf_slice(&whole), NOW_MS, &f, &e);
    buf_fini(&whole);
    if (err == OK) return f;
    check(f == NULL && (err == ERR_SYNTAX || err == ERR_LIMIT));
    check(memcmp(e.text, "where: ", 7) == 0);
    return NULL;
}

static void compare(struct slice where, struct slice value, bool want)
{
    struct buf both;
    buf_init(&both);
    buf_append(&both, where.data, where.len);
    buf_append_byte(&both, ',');
    buf_append(&both, where.data, where.len);
    static const char *const before[] = {"{\"$and\":[", "{\"$or\":["};
    for (int i = 0; i < 2; i++) {
        struct filter *f = compile(before[i], buf_slice(&both), "]}");
        if (f != NULL) check(filter_matches(f, value) == want);
        filter_unref(f);
    }
    struct filter *not = compile("{\"$not\":", where, "}");
    if (not != NULL) check(!(want && filter_matches(not, value)));
    filter_unref(not );
    struct filter *twice = compile("{\"$not\":{\"$not\":", where, "}}");
    if (twice != NULL) check(filter_matches(twice, value) == want);
    filter_unref(twice);
    buf_fini(&both);
}

/* But for what is equal to nothing, and for what means the time in a filter. */
static void check_itself(struct slice value)
{
    struct buf json;
    buf_init(&json);
    value_to_json(value, &json);
    struct filter *same = compile("{\"$\":{\"$eq\":", buf_slice(&json), "}}");
    struct filter *list = compile("{\"$\":{\"$in\":[0,\"\",", buf_slice(&json), "]}}");
    struct filter *other = compile("{\"$\":{\"$ne\":", buf_slice(&json), "}}");
    bool is_other = memmem(json.data, json.len, "\"NaN\"", 5) != NULL ||
                    memmem(json.data, json.len, "{\"$date\":null}", 14) != NULL ||
                    memmem(json.data, json.len, "\"$now\"", 6) != NULL;
    if (same != NULL && !is_other) check(filter_matches(same, value));
    if (list != NULL && !is_other) check(filter_matches(list, value));
    if (other != NULL && !is_other) check(!filter_matches(other, value));
    filter_unref(same);
    filter_unref(list);
    filter_unref(other);
    buf_fini(&json);
}

static void check_path(struct slice text, struct slice value)
{
    struct arena arena;
    struct error e;
    const struct path *path = NULL;
    struct slice found;
    arena_init(&arena, 4096);
    if (path_compile(text, &arena, &path, &e) == OK && path_find(path, value, &found)) {
        check(found.data >= value.data && found.data + found.len <= value.data + value.len);
        check(found.len > 0 && found.len == value_length(found));
    }
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size > 0 ? memchr(data, 0, size) : NULL;
    if (zero == NULL) return 0;
    struct slice where = slice_of(data, (size_t)(zero - data));
    struct slice rest = slice_of(zero + 1, size - where.len - 1);
    struct buf value;
    struct error e;
    buf_init(&value);
    bool has_value = value_from_json(rest, NULL, &value, &e) == OK;
    if (!has_value && value_check(rest, &e) == OK) {
        buf_append(&value, rest.data, rest.len);
        has_value = true;
    }
    struct filter *f = compile("", where, "");
    if (has_value) {
        check_itself(buf_slice(&value));
        check_path(where, buf_slice(&value));
    }
    if (has_value && f != NULL) {
        bool is_match = filter_matches(f, buf_slice(&value));
        check(filter_matches(f, buf_slice(&value)) == is_match);
        compare(where, buf_slice(&value), is_match);
    }
    filter_unref(f);
    buf_fini(&value);
    return 0;
}
