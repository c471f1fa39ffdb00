/* collection_words: see collection_words.h. */
#include "tool/collection_words.h"

#include <stdio.h>

static const struct {
    const char *name, *word;
} types[] = {
    {"hash", "HASH"}, {"list", "LIST"}, {"set", "SET"}, {"zset", "ZSET"}, {"stream", "STREAM"}};
#define TYPE_COUNT (sizeof types / sizeof types[0])
enum collection_type { TYPE_HASH, TYPE_LIST, TYPE_SET, TYPE_ZSET, TYPE_STREAM };

static void add(struct collection_words *w, struct arena *a, struct slice word)
{
    w->items = arena_grow(a, w->items, w->count, &w->cap, sizeof *w->items);
    w->items[w->count++] = word;
}

static void add_number(struct collection_words *w, struct arena *a, int64_t n)
{
    char text[32];
    int len = snprintf(text, sizeof text, "%lld", (long long)n);
    add(w, a, arena_copy(a, slice_of(text, (size_t)len)));
}

/* [field, value], [field, value, expiry] */
static bool add_field(const struct fields *f, struct slice raw, struct arena *a,
                      struct collection_words *w)
{
    struct slice *items = NULL;
    struct slice name = {0};
    struct slice value = {0};
    int64_t expiry_ms = 0;
    size_t count = 0;
    bool is_good = field_list(f, raw, a, &items, &count) && (count == 2 || count == 3) &&
                   field_text(f, items[0], a, &name) && field_text(f, items[1], a, &value) &&
                   (count == 2 || field_i64(f, items[2], &expiry_ms));
    add(w, a, name);
    add(w, a, value);
    add_number(w, a, expiry_ms);
    return is_good && expiry_ms >= 0;
}

/* [member, score] */
static bool add_scored(const struct fields *f, struct slice raw, struct arena *a,
                       struct collection_words *w)
{
    struct slice *items = NULL;
    struct slice member = {0};
    struct slice score = {0};
    size_t count = 0;
    bool is_good = field_list(f, raw, a, &items, &count) && count == 2 &&
                   field_text(f, items[0], a, &member) && field_score(f, items[1], a, &score);
    add(w, a, score);
    add(w, a, member);
    return is_good;
}

/* ---- parts of a stream ---- */

/* What a part has after its name: t a text, n a number, m one that may be missing. */
static const struct {
    const char *name, *has;
} parts[] = {{"STATE", "tnt"}, {"GROUP", "ttm"}, {"CONSUMER", "ttnm"}, {"PENDING", "tttnn"}};
#define PART_COUNT (sizeof parts / sizeof parts[0])

/* [id, [field, value ...]] */
static bool add_entry(const struct fields *f, struct slice id, struct slice raw, struct arena *a,
                      struct collection_words *w)
{
    struct slice *items = NULL;
    size_t count = 0;
    bool is_good = field_list(f, raw, a, &items, &count) && count > 0 && count % 2 == 0;
    add(w, a, slice_str("ENTRY"));
    add(w, a, id);
    add_number(w, a, (int64_t)count);
    for (size_t i = 0; i < count && is_good; i++) {
        struct slice word = {0};
        is_good = field_text(f, items[i], a, &word);
        add(w, a, word);
    }
    return is_good;
}

static bool add_numbers(const struct fields *f, const char *has, const struct slice *items,
                        size_t count, struct arena *a, struct collection_words *w)
{
    bool is_good = true;
    for (size_t i = 0; has[i] != '\0' && is_good; i++) {
        struct slice text = {0};
        int64_t n = -1;
        if (has[i] == 't') {
            is_good = i < count && field_text(f, items[i], a, &text);
            add(w, a, text);
            continue;
        }
        is_good = (i == count && has[i] == 'm') || (i < count && field_i64(f, items[i], &n));
        add_number(w, a, n);
    }
    return is_good && count <= strlen(has);
}

static bool add_part(const struct fields *f, struct slice raw, struct arena *a,
                     struct collection_words *w)
{
    struct slice *items = NULL;
    struct slice name = {0};
    size_t count = 0;
    if (!field_list(f, raw, a, &items, &count) || count < 2) return false;
    if (!field_text(f, items[0], a, &name)) return false;
    for (size_t i = 0; i < PART_COUNT; i++) {
        if (!slice_eq(name, slice_str(parts[i].name))) continue;
        add(w, a, name);
        return add_numbers(f, parts[i].has, items + 1, count - 1, a, w);
    }
    return count == 2 && add_entry(f, name, items[1], a, w);
}

/* ---- elements ---- */

static const char *add_element(const struct fields *f, size_t type, struct slice raw,
                               struct arena *a, struct collection_words *w)
{
    struct slice text = {0};
    switch ((enum collection_type)type) {
    case TYPE_HASH:
        if (add_field(f, raw, a, w)) return NULL;
        return "an element of a hash must be a list of field, value and, if it has one, expiry";
    case TYPE_ZSET:
        if (add_scored(f, raw, a, w)) return NULL;
        return "an element of a zset must be a list of member and score";
    case TYPE_STREAM:
        if (add_part(f, raw, a, w)) return NULL;
        return "an element of a stream must be a list of an id and its fields and values, or of "
               "STATE, GROUP, CONSUMER or PENDING and its members";
    case TYPE_LIST:
    case TYPE_SET: break;
    }
    if (!field_text(f, raw, a, &text)) return "an element must be a string or bytes";
    add(w, a, text);
    return NULL;
}

const char *collection_words_make(const struct record *r, struct arena *a,
                                  struct collection_words *out)
{
    const struct fields *f = &r->fields;
    struct slice name = {0};
    struct slice *items = NULL;
    struct slice more = fields_get(f, "more");
    int64_t before = 0;
    size_t count = 0;
    size_t type = 0;
    const char *wrong = NULL;
    bool is_text = field_text(f, fields_get(f, "collection"), a, &name);
    while (is_text && type < TYPE_COUNT && !slice_eq(name, slice_str(types[type].name))) type++;
    if (!is_text || type == TYPE_COUNT)
        return "a collection must be a hash, list, set, zset or stream";
    if (more.len > 0 && (!field_i64(f, more, &before) || before < 1)) {
        return "more must be the number of elements in the records before";
    }
    if (!field_list(f, fields_get(f, "elements"), a, &items, &count) || count == 0) {
        return "a collection must have a list of elements";
    }
    *out = (struct collection_words){.items = NULL};
    add(out, a, slice_str(types[type].word));
    if (r->expires_ms != 0) {
        add(out, a, slice_str("PXAT"));
        add_number(out, a, r->expires_ms);
    }
    if (before > 0) {
        add(out, a, slice_str("MORE"));
        add_number(out, a, before);
    }
    add_number(out, a, (int64_t)count);
    for (size_t i = 0; i < count && wrong == NULL; i++) {
        wrong = add_element(f, type, items[i], a, out);
    }
    return wrong;
}
