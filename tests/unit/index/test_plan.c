/* Tests of plans (index/plan.h): which index serves a filter, by which rows; and at random that
 * each entry that matches a filter has a row in the plan.
 */
#include "unit/codec/codec_test.h"

#include "codec/key.h"
#include "codec/value.h"
#include "index/plan.h"

static struct arena arena;
static struct error e;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, 64 * 1024);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

/* ' stands for ". In the arena. */
static struct slice quoted(const char *text)
{
    struct slice s = arena_copy(&arena, slice_str(text));
    for (uint8_t *p = (uint8_t *)s.data; p < s.data + s.len; p++) {
        if (*p == '\'') *p = '"';
    }
    return s;
}

static struct slice value_of(const char *json)
{
    struct buf packed = {0};
    if (value_from_json(quoted(json), NULL, &packed, &e) != OK) fail_msg("%s: %s", json, e.text);
    struct slice kept = arena_copy(&arena, buf_slice(&packed));
    buf_fini(&packed);
    return kept;
}

static struct filter *filter_of(const char *json)
{
    struct filter *f = NULL;
    if (filter_compile(quoted(json), 1700000000000, &f, &e) != OK) fail_msg("%s: %s", json, e.text);
    return f;
}

/* Over these paths, separated by blanks, below the prefix ["u"]. */
static struct index *index_over(const char *paths, bool is_unique)
{
    struct index *x = NULL;
    struct buf prefix = {0};
    struct buf row = {0};
    struct definition d = {.id = 7, .is_unique = is_unique, .state = INDEX_READY};
    char *words = strdup(paths);
    char *rest = NULL;
    key_add_string(&prefix, slice_str("u"));
    d.prefix = buf_slice(&prefix);
    for (char *w = strtok_r(words, " ", &rest); w != NULL; w = strtok_r(NULL, " ", &rest)) {
        d.paths[d.path_count++] = slice_str(w);
    }
    definition_write(&d, &row);
    assert_int_equal(index_new(0, slice_str("x"), buf_slice(&row), &x, &e), OK);
    buf_fini(&row);
    buf_fini(&prefix);
    free(words);
    return x;
}

static struct slice key_of(unsigned n)
{
    struct buf key = {0};
    engine_key_begin(&key, 0);
    key_add_string(&key, slice_str("u"));
    key_add_number(&key, n);
    struct slice kept = arena_copy(&arena, buf_slice(&key));
    buf_fini(&key);
    return kept;
}

static struct plan_question question(const struct index *x, const struct filter *f)
{
    struct plan_question q = {.filter = f, .arena = &arena};
    index_range(x, &arena, &q.start, &q.end);
    return q;
}

/* ---- which serve ---- */

static void an_index_serves_when_each_path_is_bound(void **state)
{
    static const struct {
        const char *paths, *where;
        enum plan_result result;
        size_t values;
        unsigned bounds;
        size_t ranges; /* beside that of hashes */
    } cases[] = {
        {"a", "{'a':1}", PLAN_SERVES, 1, 0, 1},
        {"a", "{'a':{'$in':[1,'x',true]}}", PLAN_SERVES, 1, 0, 3},
        {"a", "{'a':{'$gt':1}}", PLAN_SERVES, 0, 1, 1},
        {"a", "{'a':{'$gt':1,'$lte':5}}", PLAN_SERVES, 0, 2, 1},
        {"a", "{'a':{'$between':['x','y']}}", PLAN_SERVES, 0, 2, 1},
        {"a", "{'a':{'$startsWith':'x'}}", PLAN_SERVES, 0, 2, 1},
        {"a", "{'a':{'$lt':{'$now':true}}}", PLAN_SERVES, 0, 1, 2},
        {"a b", "{'a':1,'b':{'$gt':2}}", PLAN_SERVES, 1, 1, 1},
        {"a b", "{'a':1,'b':{'$in':[1,2]}}", PLAN_SERVES, 2, 0, 2},
        {"a b", "{'$and':[{'a':1},{'b':'x'}]}", PLAN_SERVES, 2, 0, 1},
        {"a b", "{'a':{'$gt':2},'b':1}", PLAN_SERVES, 0, 1, 1},
        {"$.a", "{'a':1}", PLAN_SERVES, 1, 0, 1},
        {"a.b", "{'\\\"a\\\".b':1}", PLAN_SERVES, 1, 0, 1},
        /* An entry without b would be missed. */
        {"a b", "{'a':1}", PLAN_LACKS, 0, 0, 0},
        {"a b", "{'a':1,'b':{'$exists':true}}", PLAN_LACKS, 0, 0, 0},
        {"a b", "{'a':1,'b':{'$ne':2}}", PLAN_LACKS, 0, 0, 0},
        {"a", "{'b':1}", PLAN_LACKS, 0, 0, 0},
        {"a", "{}", PLAN_LACKS, 0, 0, 0},
        {"a", "{'a':null}", PLAN_LACKS, 0, 0, 0},
        {"a", "{'a':{'$in':[1,null]}}", PLAN_LACKS, 0, 0, 0},
        {"a", "{'a':{'$in':[1,{'x':1}]}}", PLAN_LACKS, 0, 0, 0},
        {"a", "{'a':[1]}", PLAN_LACKS, 0, 0, 0},
        {"a", "{'a':{'$nin':[1]}}", PLAN_LACKS, 0, 0, 0},
        {"a", "{'a':{'$contains':1}}", PLAN_LACKS, 0, 0, 0},
        {"a", "{'a':{'$startsWithi':'x'}}", PLAN_LACKS, 0, 0, 0},
        {"a", "{'$not':{'a':1}}", PLAN_LACKS, 0, 0, 0},
        {"a", "{'$or':[{'a':1},{'b':1}]}", PLAN_LACKS, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct index *x = index_over(cases[i].paths, false);
        struct filter *f = filter_of(cases[i].where);
        struct plan_question q = question(x, f);
        struct index_plan plan;
        size_t path = 0;
        enum plan_result result = index_plan(x, &q, &plan, &path);
        if (result != cases[i].result) {
            fail_msg("%s %s: %d", cases[i].paths, cases[i].where, (int)result);
        }
        if (result == PLAN_SERVES) {
            assert_int_equal(plan.values, cases[i].values);
            assert_int_equal(plan.bounds, cases[i].bounds);
            assert_int_equal(plan.range_count, cases[i].ranges + 1);
        }
        filter_unref(f);
        index_free(x);
    }
}

static void what_is_beyond_the_index_is_not_covered(void **state)
{
    struct index *x = index_over("a", false);
    struct filter *f = filter_of("{'a':1}");
    struct index_plan plan;
    size_t path = 0;
    struct plan_question q = question(x, f);
    struct slice start = q.start;
    q.start = slice_of(start.data, start.len - 1); /* the key ["u"] itself too */
    assert_int_equal(index_plan(x, &q, &plan, &path), PLAN_COVERS_LESS);
    q.start = start;
    assert_int_equal(index_plan(x, &q, &plan, &path), PLAN_SERVES);
    x->definition.state = INDEX_FILLING;
    assert_int_equal(index_plan(x, &q, &plan, &path), PLAN_COVERS_LESS);
    filter_unref(f);
    index_free(x);
}

/* A list of more values than there are ranges narrows nothing, but says that there is one. */
static void a_long_list_is_no_plan_by_itself(void **state)
{
    char where[2000] = "{'b':1,'a':{'$in':[0";
    size_t len = strlen(where);
    struct index_plan plan;
    size_t path = 0;
    for (int i = 1; i <= DEMAND_VALUES_MAX; i++) {
        len += (size_t)snprintf(where + len, sizeof where - len, ",%d", i);
    }
    snprintf(where + len, sizeof where - len, "]}}");
    struct filter *f = filter_of(where);
    struct index *a = index_over("a", false);
    struct index *both = index_over("b a", false);
    struct plan_question q = question(a, f);
    assert_int_equal(index_plan(a, &q, &plan, &path), PLAN_IS_WIDE);
    assert_int_equal(index_plan(both, &q, &plan, &path), PLAN_SERVES);
    assert_int_equal(plan.values, 1);
    filter_unref(f);
    index_free(a);
    index_free(both);
}

/* ---- at random ---- */

static const char *pick(const char *const *list, size_t count)
{
    return list[random_below(count)];
}
#define PICK(list) pick((list), sizeof(list) / sizeof *(list))

/* Scalars that a filter can name too; those of more than 512 bytes are made below. */
static const char *const scalars[] = {
    "0",
    "1",
    "-1",
    "1.0",
    "1.5",
    "-0.5",
    "1e300",
    "9007199254740993",
    "{'$bigint':'1'}",
    "{'$bigint':'-18446744073709551616'}",
    "{'$bigint':'18446744073709551615'}",
    "-9223372036854775808",
    "true",
    "false",
    "''",
    "'a'",
    "'ab'",
    "'b'",
    "'a\\u0000b'",
    "'é'",
    "'z'",
    "{'$bytes':''}",
    "{'$bytes':'/w=='}",
    "{'$bytes':'AA=='}",
    "{'$date':'2023-11-14T22:13:20.000Z'}",
    "{'$date':'1970-01-01T00:00:00.000Z'}",
    "{'$number':'Infinity'}",
    "{'$number':'-Infinity'}",
};
static const char *const others[] = {
    "null",
    "{'$undefined':true}",
    "[]",
    "[1,'a',null]",
    "{'$set':[1,'b']}",
    "{'x':1}",
    "{'$number':'NaN'}",
    "{'$id':?,'value':'a'}",
    "[{'$id':?,'value':1}]",
    "{'$id':?,'value':'b'}",
};
static const char *const prefixes[] = {"''", "'a'", "'ab'", "'b'", "'a\\u0000'", "'é'"};
static const char *const orders[] = {"$gt", "$gte", "$lt", "$lte"};

#define LONGS 4
static char longs[LONGS][700];

static void make_longs(void)
{
    static const char *const ends[LONGS] = {"", "a", "b", "ab"};
    for (int i = 0; i < LONGS; i++) {
        char *p = longs[i];
        *p++ = '\'';
        memset(p, 'a', i == 0 ? 512 : 600);
        snprintf(p + (i == 0 ? 512 : 600), 20, "%s'", ends[i]);
    }
}

static const char *scalar(void)
{
    static const char *const few[] = {"1", "'a'", "1.5", "{'$bigint':'1'}"};
    const char *s = random_below(2) == 0 ? PICK(few) : PICK(scalars);
    if (random_below(6) == 0) return longs[random_below(LONGS)];
    return strstr(s, "$number") != NULL && random_below(2) == 0 ? "1" : s;
}

static void add_value(char *out, size_t cap)
{
    size_t len = 0;
    out[len++] = '{';
    for (const char *name = "abc"; *name != '\0'; name++) {
        if (random_below(5) == 0) continue;
        len += (size_t)snprintf(out + len, cap - len, "%s'%c':%s", len > 1 ? "," : "", *name,
                                random_below(4) == 0 ? PICK(others) : scalar());
    }
    snprintf(out + len, cap - len, "}");
    for (char id = '1'; (out = strchr(out, '?')) != NULL; id++) *out = id; /* each once */
}

/* Bounds that a filter takes. */
static const char *bound(void)
{
    const char *s = scalar();
    while (strcmp(s, "true") == 0 || strcmp(s, "false") == 0) s = scalar();
    return random_below(8) == 0 ? "{'$now':true}" : s;
}

static void add_condition(char *out, size_t cap)
{
    switch (random_below(7)) {
    case 0: snprintf(out, cap, "%s", scalar()); break;
    case 1: snprintf(out, cap, "{'$in':[%s,%s]}", scalar(), scalar()); break;
    case 2: snprintf(out, cap, "{'%s':%s}", PICK(orders), bound()); break;
    case 3: snprintf(out, cap, "{'$gte':%s,'$lte':%s}", bound(), bound()); break;
    case 4: snprintf(out, cap, "{'$between':[%s,%s]}", bound(), bound()); break;
    case 5: snprintf(out, cap, "{'$startsWith':%s}", PICK(prefixes)); break;
    default: snprintf(out, cap, "{'$startsWith':%s}", longs[random_below(LONGS)]); break;
    }
}

static void add_filter(char *out, size_t cap)
{
    char one[3000];
    size_t len = 0;
    out[len++] = '{';
    for (const char *name = "abc"; *name != '\0'; name++) {
        if (random_below(2) == 0) continue;
        add_condition(one, sizeof one);
        len += (size_t)snprintf(out + len, cap - len, "%s'%c':%s", len > 1 ? "," : "", *name, one);
    }
    snprintf(out + len, cap - len, "}");
}

static bool has_row(const struct index_plan *plan, const struct index_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        for (size_t k = 0; k < plan->range_count; k++) {
            if (slice_cmp(plan->ranges[k].start, rows->keys[i]) <= 0 &&
                slice_cmp(rows->keys[i], plan->ranges[k].end) < 0) {
                return true;
            }
        }
    }
    return false;
}

#define VALUES 60
#define FILTERS 8000

static void each_entry_that_matches_has_a_row_in_the_plan(void **state)
{
    static const char *const over[] = {"a", "b", "a b", "b c", "c a b"};
    struct index *indexes[5];
    char text[6000];
    size_t plans = 0;
    size_t matches = 0;
    size_t left_out = 0;
    random_seed();
    make_longs();
    for (size_t i = 0; i < 5; i++) indexes[i] = index_over(over[i], i % 2 == 1);
    for (int n = 0; n < FILTERS; n++) {
        struct slice values[VALUES];
        arena_reset(&arena);
        add_filter(text, sizeof text);
        struct filter *f = filter_of(text);
        for (int i = 0; i < VALUES; i++) {
            char value[4000];
            add_value(value, sizeof value);
            values[i] = value_of(value);
        }
        for (size_t k = 0; k < 5; k++) {
            struct plan_question q = question(indexes[k], f);
            struct index_plan plan;
            size_t path = 0;
            if (index_plan(indexes[k], &q, &plan, &path) != PLAN_SERVES) continue;
            plans++;
            for (int i = 0; i < VALUES; i++) {
                struct index_rows rows;
                bool is_indexed = index_rows(indexes[k], key_of((unsigned)i), values[i], &arena,
                                             &rows, &e) == OK;
                if (!is_indexed) continue; /* no write of it is taken */
                bool is_in = has_row(&plan, &rows);
                if (!filter_matches(f, values[i])) {
                    left_out += !is_in;
                    continue;
                }
                matches++;
                if (!is_in) fail_msg("%s, index over %s", text, over[k]);
            }
        }
        filter_unref(f);
    }
    for (size_t k = 0; k < 5; k++) index_free(indexes[k]);
    /* It is worth something: much is in no plan, and much matches. */
    assert_true(plans > FILTERS);
    assert_true(matches > 5000);
    assert_true(left_out > 10 * matches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_index_serves_when_each_path_is_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_beyond_the_index_is_not_covered, setup, teardown),
        cmocka_unit_test_setup_teardown(a_long_list_is_no_plan_by_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(each_entry_that_matches_has_a_row_in_the_plan, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
