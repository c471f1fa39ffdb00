/* collection_words: see collection_words.h. */
#include "tool/collection_words.h"

#include <stdio.h>

#define WORDS_BEFORE 6 /* type, PXAT and MORE with their numbers, how many elements */

static const struct {
    const char *name, *word;
} types[] = {{"hash", "HASH"}, {"list", "LIST"}, {"set", "SET"}, {"zset", "ZSET"}};
#define TYPE_COUNT (sizeof types / sizeof types[0])
enum collection_type { TYPE_HASH, TYPE_LIST, TYPE_SET, TYPE_ZSET };

static void add(struct collection_words *w, struct slice word)
{
    w->items[w->count++] = word;
}

static void add_number(struct collection_words *w, struct arena *a, int64_t n)
{
    char text[32];
    int len = snprintf(text, sizeof text, "%lld", (long long)n);
    add(w, arena_copy(a, slice_of(text, (size_t)len)));
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
    add(w, name);
    add(w, value);
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
    add(w, score);
    add(w, member);
    return is_good;
}

static const char *add_element(const struct fields *f, size_t type, struct slice raw,
                               struct arena *a, struct collection_words *w)
{
    struct slice text = {0};
    switch ((enum collection_type)type) {
    case TYPE_HASH:
        if (add_field(f, raw, a, w)) return NULL;
        return "an element of a hash is a list: field, value, and its expiry if it has one";
    case TYPE_ZSET:
        if (add_scored(f, raw, a, w)) return NULL;
        return "an element of a zset is a list: member and score";
    case TYPE_LIST:
    case TYPE_SET: break;
    }
    if (!field_text(f, raw, a, &text)) return "an element is text or bytes";
    add(w, text);
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
    if (!is_text || type == TYPE_COUNT) return "a collection is a hash, list, set or zset";
    if (more.len > 0 && (!field_i64(f, more, &before) || before < 1)) {
        return "more is the number of elements in the records before";
    }
    if (!field_list(f, fields_get(f, "elements"), a, &items, &count) || count == 0) {
        return "a collection has a list of elements";
    }
    out->count = 0;
    out->items = arena_alloc(a, (WORDS_BEFORE + 3 * count) * sizeof *out->items);
    add(out, slice_str(types[type].word));
    if (r->expires_ms != 0) {
        add(out, slice_str("PXAT"));
        add_number(out, a, r->expires_ms);
    }
    if (before > 0) {
        add(out, slice_str("MORE"));
        add_number(out, a, before);
    }
    add_number(out, a, (int64_t)count);
    for (size_t i = 0; i < count && wrong == NULL; i++) {
        wrong = add_element(f, type, items[i], a, out);
    }
    return wrong;
}
