/* import_compare: is what was imported from a live Redis what the source has? The types of all
 * keys are compared, and of some, chosen at random, contents and expiry (redis_sum.h). What
 * differs is looked at again before it counts: a key may end, or change, between the two looks.
 *
 * With --follow the databases are to be equal, so keys that only the server has count too. Keys of
 * which the source has told a change since the stop are left out.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "tool/import_int.h"
#include "tool/redis_source.h"
#include "tool/redis_sum.h"

#define COMPARE_COUNT "1000"
#define TRIES 3
#define NAMED_MAX 10 /* differences that are named */
#define KINDS (REDIS_OTHER + 1)

static const char *const compare_names[] = {"database", "type",   "source", "loaded",
                                            "compared", "differ", NULL};

struct tally {
    int64_t source, loaded, compared, differ;
};

struct comparer {
    struct importer *im;
    struct redis_source *x;
    struct redis_reader *of[2]; /* the source, the server */
    struct redis_reader server;
    struct tally by_kind[KINDS]; /* of the database at hand */
    uint32_t database;
    int64_t found, extra; /* of the database at hand, in the server */
    uint64_t done, differ;
    struct rng rng;
    struct sheet sheet;
};

/* ---- differences ----------------------------------------------------------------------------- */

static void differs(struct comparer *c, struct slice name, const char *is, const char *what,
                    const char *how)
{
    struct buf text = {.data = NULL};
    if (c->differ++ >= NAMED_MAX) return;
    redis_key_show(name, &text);
    buf_append_byte(&text, '\0');
    buf_require(&text);
    tool_fail(TOOL_NO, "database %u, %s: %s %s%s", c->database, (const char *)text.data, is, what,
              how);
    buf_fini(&text);
}

static void differs_in_kind(struct comparer *c, struct slice name, const char *what,
                            enum redis_kind in_server)
{
    char how[64];
    snprintf(how, sizeof how, ", and %s in the server", redis_kind_name(in_server));
    differs(c, name, "it is", what, how);
}

/* Has the source told of a change since the stop? */
static bool is_changed(struct comparer *c, struct slice name)
{
    if (!c->x->is_following) return false;
    redis_follow_wait(&c->x->follow, 0);
    return redis_names_has(&c->x->follow.dirty, c->database, name);
}

/* ---- contents -------------------------------------------------------------------------------- */

static const char *difference(const struct redis_sum *a, const struct redis_sum *b)
{
    if (a->count != b->count) return " with a different number of elements";
    if (a->high != b->high || a->low != b->low) return " with different contents";
    return " with a different expiry";
}

static enum tool_status compare_again(struct comparer *c, struct slice name, struct redis_sum *a,
                                      struct redis_sum *b)
{
    enum tool_status s = TOOL_DONE;
    for (int i = 0; i < TRIES && s == TOOL_DONE && !redis_sum_is_equal(a, b); i++) {
        s = redis_sums(c->of[0], &name, 1, a);
        if (s == TOOL_DONE) s = redis_sums(c->of[1], &name, 1, b);
    }
    if (s != TOOL_DONE || redis_sum_is_equal(a, b) || is_changed(c, name)) return s;
    c->by_kind[a->kind].differ++;
    if (a->kind != b->kind) {
        differs_in_kind(c, name, redis_kind_name(a->kind), b->kind);
    } else {
        differs(c, name, "a", redis_kind_name(a->kind), difference(a, b));
    }
    return s;
}

static enum tool_status compare_contents(struct comparer *c, const struct slice *names,
                                         size_t count)
{
    struct redis_sum a[REDIS_AT_ONCE];
    struct redis_sum b[REDIS_AT_ONCE];
    enum tool_status s = redis_sums(c->of[0], names, count, a);
    if (s == TOOL_DONE) s = redis_sums(c->of[1], names, count, b);
    for (size_t i = 0; i < count && s == TOOL_DONE; i++) {
        c->by_kind[a[i].kind].compared += a[i].kind != REDIS_NONE;
        s = compare_again(c, names[i], &a[i], &b[i]);
    }
    return s;
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Of the keys of a page, asked for at once. */
static enum tool_status types_of(struct redis_reader *r, const redisReply *keys,
                                 enum redis_kind *out)
{
    enum tool_status s = TOOL_DONE;
    for (size_t i = 0; i < keys->elements; i++) {
        redis_append(r, "TYPE", wire_slice(keys->element[i]));
    }
    for (size_t i = 0; i < keys->elements && s == TOOL_DONE; i++) {
        redisReply *reply = NULL;
        s = redis_hear(r, &reply);
        if (s == TOOL_DONE && reply->type == REDIS_REPLY_ERROR) s = redis_refused(r, reply);
        if (s == TOOL_DONE) out[i] = redis_kind_of(wire_slice(reply));
        freeReplyObject(reply);
    }
    return s;
}

/* Types that differ are asked for again, the source's first: a key that ends does so there too. */
static enum tool_status type_again(struct comparer *c, struct slice name, enum redis_kind kinds[2])
{
    enum tool_status s = TOOL_DONE;
    for (int i = 0; i < TRIES && kinds[0] != kinds[1]; i++) {
        for (int j = 0; j < 2 && s == TOOL_DONE; j++) {
            redisReply *r = NULL;
            redis_append(c->of[j], "TYPE", name);
            s = redis_hear(c->of[j], &r);
            if (s == TOOL_DONE) kinds[j] = redis_kind_of(wire_slice(r));
            freeReplyObject(r);
        }
        if (s != TOOL_DONE) break;
    }
    return s;
}

static enum tool_status compare_page(struct comparer *c, const redisReply *keys)
{
    struct slice chosen[REDIS_AT_ONCE];
    size_t chosen_count = 0;
    enum redis_kind *kinds = mem_new((2 * keys->elements + 1) * sizeof *kinds);
    enum redis_kind *loaded = kinds + keys->elements;
    enum tool_status s = types_of(c->of[0], keys, kinds);
    if (s == TOOL_DONE) s = types_of(c->of[1], keys, loaded);
    for (size_t i = 0; i < keys->elements && s == TOOL_DONE; i++) {
        enum redis_kind both[2] = {kinds[i], loaded[i]};
        struct slice name = wire_slice(keys->element[i]);
        s = type_again(c, name, both);
        c->done++;
        c->found += both[1] != REDIS_NONE;
        if (s != TOOL_DONE || (both[0] == REDIS_NONE && both[1] == REDIS_NONE)) continue;
        c->by_kind[both[0]].source++;
        if (both[0] == both[1]) {
            c->by_kind[both[0]].loaded++;
        } else if (!is_changed(c, name)) {
            c->by_kind[both[0]].differ++;
            differs_in_kind(c, name, redis_kind_name(both[0]), both[1]);
            continue;
        }
        uint64_t all = c->x->keys_all > 0 ? c->x->keys_all : 1;
        if (rng_below(&c->rng, all) >= (uint64_t)c->im->samples) continue;
        chosen[chosen_count++] = name;
        if (chosen_count < REDIS_AT_ONCE) continue;
        s = compare_contents(c, chosen, chosen_count);
        chosen_count = 0;
    }
    if (s == TOOL_DONE && chosen_count > 0) s = compare_contents(c, chosen, chosen_count);
    mem_free(kinds);
    return s;
}

/* ---- what only the server has ---------------------------------------------------------------- */

static enum tool_status extra_page(struct comparer *c, const redisReply *keys)
{
    enum redis_kind *kinds = mem_new((keys->elements + 1) * sizeof *kinds);
    enum tool_status s = types_of(c->of[0], keys, kinds);
    for (size_t i = 0; i < keys->elements && s == TOOL_DONE; i++) {
        struct slice name = wire_slice(keys->element[i]);
        enum redis_kind both[2] = {kinds[i], kinds[i]};
        if (kinds[i] != REDIS_NONE) continue;
        both[1] = REDIS_OTHER; /* it is looked at again */
        s = type_again(c, name, both);
        if (s != TOOL_DONE || both[0] != REDIS_NONE || both[1] == REDIS_NONE) continue;
        if (is_changed(c, name)) continue;
        c->extra++;
        differs_in_kind(c, name, "none", both[1]);
    }
    mem_free(kinds);
    return s;
}

/* ---- databases ------------------------------------------------------------------------------- */

static enum tool_status each_page(struct comparer *c, struct redis_reader *r,
                                  enum tool_status (*page)(struct comparer *, const redisReply *))
{
    char cursor[64] = "0";
    enum tool_status s = TOOL_DONE;
    do {
        redisReply *reply = NULL;
        s = redis_ask(r, TOOL_WORDS_OF("SCAN", cursor, "COUNT", COMPARE_COUNT), &reply);
        if (s != TOOL_DONE) return s;
        if (!wire_is_array(reply, 2) || !wire_is_array(reply->element[1], 0)) {
            s = redis_strange(r, "SCAN");
        } else {
            snprintf(cursor, sizeof cursor, "%s", reply->element[0]->str);
            s = page(c, reply->element[1]);
        }
        freeReplyObject(reply);
        if (progress_is_due(&c->im->progress)) {
            progress_show(&c->im->progress, "comparing: %llu of %llu keys",
                          (unsigned long long)c->done, (unsigned long long)c->x->keys_all);
        }
    } while (s == TOOL_DONE && strcmp(cursor, "0") != 0);
    return s;
}

static void show(struct comparer *c)
{
    for (int i = REDIS_STRING; i < KINDS; i++) {
        const struct tally *t = &c->by_kind[i];
        if (t->source == 0 && t->differ == 0) continue;
        sheet_i64(&c->sheet, c->database);
        sheet_text(&c->sheet, slice_str(redis_kind_name((enum redis_kind)i)));
        sheet_i64(&c->sheet, t->source);
        sheet_i64(&c->sheet, t->loaded);
        sheet_i64(&c->sheet, t->compared);
        sheet_i64(&c->sheet, t->differ);
    }
    if (c->extra == 0) return;
    sheet_i64(&c->sheet, c->database);
    sheet_text(&c->sheet, slice_str("none"));
    sheet_i64(&c->sheet, 0);
    sheet_i64(&c->sheet, c->extra);
    sheet_i64(&c->sheet, 0);
    sheet_i64(&c->sheet, c->extra);
}

static enum tool_status compare_database(struct comparer *c, uint32_t database)
{
    redisReply *size = NULL;
    memset(c->by_kind, 0, sizeof c->by_kind);
    c->database = database;
    c->found = c->extra = 0;
    enum tool_status s = redis_source_select(c->x, database);
    if (s == TOOL_DONE) s = import_live_select(c->im, database);
    if (s == TOOL_DONE) s = each_page(c, c->of[0], compare_page);
    if (s == TOOL_DONE) s = redis_ask(c->of[1], TOOL_WORDS_OF("DBSIZE"), &size);
    if (s != TOOL_DONE) return s;
    bool has_more = size->integer > c->found;
    freeReplyObject(size);
    if (has_more && c->x->follows) s = each_page(c, c->of[1], extra_page);
    show(c);
    return s;
}

/* Those of the source; with --follow those of the server too. */
static enum tool_status databases_of(struct comparer *c, uint32_t **out, size_t *count)
{
    uint32_t *more = NULL;
    size_t more_count = 0;
    enum tool_status s = redis_source_look(c->x);
    if (s == TOOL_DONE) s = import_live_databases(c->im, &more, &more_count);
    *count = s == TOOL_DONE ? c->x->database_count : 0;
    *out = mem_new((*count + more_count + 1) * sizeof **out);
    for (size_t i = 0; i < *count; i++) (*out)[i] = c->x->databases[i];
    for (size_t i = 0; i < more_count && c->x->follows; i++) {
        size_t j = 0;
        while (j < *count && (*out)[j] != more[i]) j++;
        if (j == *count) (*out)[(*count)++] = more[i];
    }
    mem_free(more);
    return s;
}

enum tool_status import_compare(struct importer *im)
{
    struct comparer c = {.im = im, .x = im->source.state};
    uint32_t *databases = NULL;
    size_t count = 0;
    c.of[0] = &c.x->reader;
    c.of[1] = &c.server;
    rng_init(&c.rng, (uint64_t)clock_wall_us());
    sheet_init(&c.sheet, compare_names);
    enum tool_status s = redis_reader_init(&c.server, im->w, "the server");
    if (s == TOOL_DONE) s = databases_of(&c, &databases, &count);
    for (size_t i = 0; i < count && s == TOOL_DONE; i++) s = compare_database(&c, databases[i]);
    progress_end(&im->progress);
    if (s == TOOL_DONE) sheet_print(&c.sheet, im->t->is_json);
    if (s == TOOL_DONE && c.differ > 0) {
        s = tool_fail(TOOL_NO, "%llu keys differ", (unsigned long long)c.differ);
    }
    sheet_fini(&c.sheet);
    mem_free(databases);
    return s;
}
