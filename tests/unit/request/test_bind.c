/* Tests of binding: words become the struct that a command's arguments describe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "request/bind.h"
#include "request/plan.h"
#include "request/table.h"

#define WORDS_MAX 32

/* ---- the words of a request ------------------------------------------------------------------ */

static struct arena arena;
static struct env env;
static struct client client;
static struct buf scratch;
static struct slice words[WORDS_MAX];
static struct request rq;

static int enter(void **state)
{
    arena_init(&arena, 1024);
    buf_init(&scratch);
    return 0;
}

static int leave(void **state)
{
    arena_fini(&arena);
    buf_fini(&scratch);
    return 0;
}

/* Words with one blank between. */
static void ask(const struct command *c, const char *text)
{
    size_t count = 0;
    for (const char *p = text; *p != '\0';) {
        size_t len = strcspn(p, " ");
        assert_true(count < WORDS_MAX);
        words[count++] = arena_copy(&arena, slice_of(p, len));
        p += len + (p[len] == ' ');
    }
    rq = (struct request){.env = &env,
                          .client = &client,
                          .command = c,
                          .argv = words,
                          .argc = count,
                          .words_before = 1,
                          .arena = &arena,
                          .scratch = &scratch};
}

static const void *bind(const struct arguments *of, const char *text)
{
    void *bound = NULL;
    plan_make(of);
    ask(&kv_version, text);
    if (bind_words(&rq, of, 1, NULL, &bound) != OK) fail_msg("%s: %s", text, rq.error.text);
    return bound;
}

static void refuse(const struct arguments *of, const char *text, const char *error)
{
    void *bound = NULL;
    plan_make(of);
    ask(&kv_version, text);
    if (bind_words(&rq, of, 1, NULL, &bound) == OK) fail_msg("'%s' was taken", text);
    assert_string_equal(rq.error.text, error);
    assert_null(bound);
}

static void is_word(struct slice s, const char *text)
{
    assert_int_equal(s.len, strlen(text));
    assert_memory_equal(s.data, text, s.len);
}

/* ---- options --------------------------------------------------------------------------------- */

struct lease {
    struct slice queue;
    int64_t count;
    bool is_quiet;
    enum { NEITHER, FAST, SLOW } pace;
    struct slice reason;
};
ARGUMENTS(lease_arguments, struct lease, "queue [COUNT count] [QUIET] [FAST | SLOW reason]",
          ARG_WORD(struct lease, queue, "queue"),
          ARG_INTEGER(struct lease, count, "COUNT", 1, 100, 10),
          ARG_FLAG(struct lease, is_quiet, "QUIET"),
          ARG_CHOICE(struct lease, pace, {"FAST", FAST}, {"SLOW", SLOW}),
          ARG_WORD(struct lease, reason, "reason"));

static void options_come_in_any_order_or_not_at_all(void **state)
{
    const struct lease *a = bind(&lease_arguments, "c jobs");
    is_word(a->queue, "jobs");
    assert_int_equal(a->count, 10);
    assert_false(a->is_quiet);
    assert_int_equal(a->pace, NEITHER);
    assert_null(a->reason.data);
    a = bind(&lease_arguments, "c jobs slow why quiet Count 7");
    assert_int_equal(a->count, 7);
    assert_true(a->is_quiet);
    assert_int_equal(a->pace, SLOW);
    is_word(a->reason, "why");
    a = bind(&lease_arguments, "c COUNT FAST");
    is_word(a->queue, "COUNT");
    assert_int_equal(a->pace, FAST);
}

static void what_is_wrong_with_options_is_named(void **state)
{
    refuse(&lease_arguments, "c jobs loud", "syntax error: unexpected 'loud'");
    refuse(&lease_arguments, "c jobs COUNT", "syntax error: COUNT needs an argument");
    refuse(&lease_arguments, "c jobs SLOW", "syntax error: SLOW needs an argument");
    refuse(&lease_arguments, "c jobs COUNT many",
           "value is not an integer or out of range: COUNT 'many'");
    refuse(&lease_arguments, "c jobs COUNT 101", "COUNT must be between 1 and 100, not 101");
    refuse(&lease_arguments, "c jobs QUIET quiet",
           "syntax error: 'quiet' is a duplicate or contradicts an earlier option");
    refuse(&lease_arguments, "c jobs FAST fast",
           "syntax error: 'fast' is a duplicate or contradicts an earlier option");
    refuse(&lease_arguments, "c jobs FAST SLOW x",
           "syntax error: 'SLOW': only one of FAST and SLOW may be given");
}

/* ---- what may be missing, and lists ---------------------------------------------------------- */

struct places {
    struct slice first, user;
    struct slices words;
    struct integers delays;
    struct slice last;
};
ARGUMENTS(user_arguments, struct places, "[user] last", ARG_WORD(struct places, user, "user"),
          ARG_WORD(struct places, last, "last"));
ARGUMENTS(middle_arguments, struct places, "first word [word ...] last",
          ARG_WORD(struct places, first, "first"), ARG_WORDS(struct places, words, "word"),
          ARG_WORD(struct places, last, "last"));
ARGUMENTS(counted_arguments, struct places,
          "first [DELAYS count [milliseconds ...]] [WORDS numwords word [word ...]]",
          ARG_WORD(struct places, first, "first"),
          ARG_COUNT("count", 0, 5, "delays", "DELAYS 2 10 50"),
          ARG_INTEGERS(struct places, delays, "milliseconds", 0, 1000),
          ARG_COUNT("numwords", 1, 5, NULL, NULL), ARG_WORDS(struct places, words, "word"));
ARGUMENTS(ended_arguments, struct places, "first [word ...] [LAST last]",
          ARG_WORD(struct places, first, "first"), ARG_WORDS(struct places, words, "word"),
          ARG_WORD(struct places, last, "LAST"));

ARGUMENTS(numbers_arguments, struct places, "[milliseconds ...] [LAST last]",
          ARG_INTEGERS(struct places, delays, "milliseconds", 0, 1000),
          ARG_WORD(struct places, last, "LAST"));

/* ---- many words ------------------------------------------------------------------------------ */

static size_t looks;

static enum err look(struct request *r, const struct argument *a, struct slice word, void *to)
{
    looks++;
    memcpy(to, &word, sizeof word);
    return OK;
}
static const struct argument_kind looked_at = {.read = look, .is_as_it_came = true};
#define LOOKED_AT                                                                                  \
    {                                                                                              \
        ARG_MANY(struct places, words, struct slice, "word", looked_at)                            \
    }
ARGUMENTS(rest_arguments, struct places, "first word [word ...]",
          ARG_WORD(struct places, first, "first"), LOOKED_AT);
ARGUMENTS(before_arguments, struct places, "word [word ...] last", LOOKED_AT,
          ARG_WORD(struct places, last, "last"));
ARGUMENTS(until_arguments, struct places, "word [word ...] [LAST last]", LOOKED_AT,
          ARG_WORD(struct places, last, "LAST"));

/* A command with half a million words is bound each time it is resumed. */
static void words_as_they_came_are_not_looked_at_one_by_one(void **state)
{
    looks = 0;
    const struct places *p = bind(&rest_arguments, "kv.x f a b c d e f g h");
    assert_int_equal(p->words.count, 8);
    is_word(p->words.items[0], "a");
    is_word(p->words.items[7], "h");
    assert_int_equal(looks, 1);
    p = bind(&before_arguments, "kv.x a b c d e");
    assert_int_equal(p->words.count, 4);
    is_word(p->last, "e");
    assert_int_equal(looks, 2);
    p = bind(&before_arguments, "kv.x a b");
    assert_int_equal(p->words.count, 1);
    assert_int_equal(looks, 3);
    p = bind(&until_arguments, "kv.x a b c LAST d"); /* where it ends, a word says */
    assert_int_equal(p->words.count, 3);
    assert_int_equal(looks, 6);
    refuse(&rest_arguments, "kv.x f", "wrong number of arguments for 'kv.version' command");
}

static void what_may_be_missing_leaves_words_for_what_follows(void **state)
{
    const struct places *a = bind(&user_arguments, "c secret");
    assert_null(a->user.data);
    is_word(a->last, "secret");
    a = bind(&user_arguments, "c ada secret");
    is_word(a->user, "ada");
    is_word(a->last, "secret");
    refuse(&user_arguments, "c ada secret more", "syntax error: unexpected 'more'");
}

static void a_list_ends_where_the_rest_begins(void **state)
{
    const struct places *a = bind(&middle_arguments, "c a b c d");
    is_word(a->first, "a");
    assert_int_equal(a->words.count, 2);
    is_word(a->words.items[1], "c");
    is_word(a->last, "d");
    a = bind(&ended_arguments, "c a x y last z");
    assert_int_equal(a->words.count, 2);
    is_word(a->last, "z");
    a = bind(&ended_arguments, "c a");
    assert_int_equal(a->words.count, 0);
    a = bind(&numbers_arguments, "c LAST x");
    assert_int_equal(a->delays.count, 0);
    is_word(a->last, "x");
    a = bind(&numbers_arguments, "c 1 2 LAST x");
    assert_int_equal(a->delays.count, 2);
}

static void a_count_says_how_long_a_list_is(void **state)
{
    const struct places *a = bind(&counted_arguments, "c a WORDS 2 DELAYS 7 DELAYS 0");
    assert_int_equal(a->words.count, 2);
    is_word(a->words.items[0], "DELAYS");
    assert_int_equal(a->delays.count, 0);
    a = bind(&counted_arguments, "c a DELAYS 3 1 2 3 WORDS 1 x");
    assert_int_equal(a->delays.count, 3);
    assert_int_equal(a->delays.items[2], 3);
    is_word(a->words.items[0], "x");
    refuse(&counted_arguments, "c a WORDS 2 x", "syntax error: WORDS needs an argument");
    refuse(&counted_arguments, "c a WORDS 0", "WORDS must be between 1 and 5, not 0");
    refuse(&counted_arguments, "c a DELAYS 2 1",
           "syntax error: DELAYS needs an argument; the number of delays must come first: DELAYS "
           "2 10 50");
}

/* ---- arguments inside of others -------------------------------------------------------------- */

struct act {
    int kind;
    int64_t n;
    struct slice name;
    const struct places *more;
};
struct acts {
    bool is_dry;
    struct {
        struct act *items;
        size_t count;
    } acts;
    int64_t total;
};

static enum err check_add(struct request *r, void *bound)
{
    struct act *a = bound;
    if (a->n == 13) return error_set(&r->error, ERR_VALUE, "not 13");
    a->n *= 2;
    return OK;
}
ARGUMENTS_WITH(add_arguments, struct act, "n [AS name]", WITH(.check = check_add),
               ARG_FIXED(struct act, kind, 1),
               ARG_INTEGER(struct act, n, "n", INT64_MIN, INT64_MAX, 0),
               ARG_WORD(struct act, name, "AS"));
ARGUMENTS(place_arguments, struct places, "last", ARG_WORD(struct places, last, "last"));
ARGUMENTS(call_arguments, struct act, "place", ARG_FIXED(struct act, kind, 2),
          ARG_MADE(struct act, more, "place", place_arguments));
ARGUMENTS(act_arguments, struct act, "<ADD add | CALL call>", ARG_ALSO("ADD", add_arguments),
          ARG_ALSO("CALL", call_arguments));

static enum err acts_fit(struct request *r, size_t count)
{
    return count <= 3 ? OK : error_set(&r->error, ERR_LIMIT, "%zu acts are too many", count);
}
static enum err check_acts(struct request *r, void *bound)
{
    struct acts *a = bound;
    for (size_t i = 0; i < a->acts.count; i++) a->total += a->acts.items[i].n;
    return OK;
}
ARGUMENTS_WITH(acts_arguments, struct acts, "[DRY] [act ...]", WITH(.check = check_acts),
               ARG_FLAG(struct acts, is_dry, "DRY"),
               ARG_LIST(struct acts, acts, "act", act_arguments, acts_fit, .item = "act"));

static void each_item_of_a_list_is_a_struct(void **state)
{
    const struct acts *a = bind(&acts_arguments, "c DRY ADD 3 AS x CALL secret ADD -1");
    assert_true(a->is_dry);
    assert_int_equal(a->acts.count, 3);
    assert_int_equal(a->acts.items[0].kind, 1);
    is_word(a->acts.items[0].name, "x");
    assert_int_equal(a->acts.items[1].kind, 2);
    is_word(a->acts.items[1].more->last, "secret");
    assert_null(a->acts.items[2].name.data);
    assert_int_equal(a->total, 4);
    assert_int_equal(((const struct acts *)bind(&acts_arguments, "c"))->acts.count, 0);
}

static void an_error_inside_says_of_which_item_it_is(void **state)
{
    refuse(&acts_arguments, "c ADD 1 ADD 13", "not 13 (act 1)");
    refuse(&acts_arguments, "c ADD", "syntax error: ADD needs an argument (act 0)");
    refuse(&acts_arguments, "c ADD 1 SUB 2",
           "syntax error: unexpected 'SUB' (ADD or CALL expected) (act 1)");
    refuse(&acts_arguments, "c ADD 1 ADD 1 ADD 1 ADD 1", "4 acts are too many (act 3)");
}

/* ---- words of their own for what they refuse ------------------------------------------------- */

struct pace {
    bool is_slow;
};
ARGUMENTS_WITH(pace_arguments, struct pace, "<FAST | SLOW>",
               WITH(.refusal = "a pace is FAST or SLOW, not '{}'."),
               ARG_CHOICE(struct pace, is_slow, {"FAST", false}, {"SLOW", true}));
struct paces {
    struct {
        struct pace *items;
        size_t count;
    } paces;
};
ARGUMENTS_WITH(paces_arguments, struct paces, "[pace ...]", WITH(.refusal = "only paces"),
               ARG_LIST(struct paces, paces, "pace", pace_arguments, NULL));

static void a_word_that_nothing_takes_is_refused_in_their_words(void **state)
{
    refuse(&pace_arguments, "c FAST loud", "a pace is FAST or SLOW, not 'loud'.");
    refuse(&paces_arguments, "c FAST SLOW loud", "a pace is FAST or SLOW, not 'loud'.");
    assert_int_equal(((const struct paces *)bind(&paces_arguments, "c SLOW FAST"))->paces.count, 2);
}

/* ---- counts and lists as Redis has them ------------------------------------------------------ */

struct run_words {
    struct slice what;
    struct slices keys, rest, marks;
};
ARGUMENTS(run_arguments, struct run_words,
          "what numkeys [key ...] [MARK mark [MARK mark ...]] [arg ...]",
          ARG_WORD(struct run_words, what, "what"),
          ARG_COUNT_OR("numkeys", 0, 100, "keys below nothing", "fewer keys than that"),
          ARG_WORDS(struct run_words, keys, "key"), ARG_WORDS(struct run_words, marks, "MARK"),
          ARG_WORDS(struct run_words, rest, "arg"));

struct marks {
    struct slices marks;
    bool is_also;
};
ARGUMENTS(many_marks, struct marks, "[MARK mark [MARK mark ...]] [ALSO]",
          ARG_WORDS(struct marks, marks, "MARK"), ARG_FLAG(struct marks, is_also, "ALSO"));

struct side {
    bool is_left;
    struct slice right, up;
};
ARGUMENTS(side_arguments, struct side, "<LEFT | RIGHT right up>",
          ARG_FLAG(struct side, is_left, "LEFT"), ARG_WORD(struct side, right, "right"),
          ARG_WORD(struct side, up, "up"));

static void a_count_may_say_that_there_is_nothing(void **state)
{
    const struct run_words *a = bind(&run_arguments, "c w 0 x y");
    assert_int_equal(a->keys.count, 0);
    assert_int_equal(a->rest.count, 2);
    a = bind(&run_arguments, "c w 2 k l x");
    assert_int_equal(a->keys.count, 2);
    is_word(a->keys.items[1], "l");
    is_word(a->rest.items[0], "x");
    assert_int_equal(((const struct run_words *)bind(&run_arguments, "c w 0"))->rest.count, 0);
    refuse(&run_arguments, "c w 1", "fewer keys than that");
    refuse(&run_arguments, "c w 3 k l", "fewer keys than that");
    refuse(&run_arguments, "c w -1", "keys below nothing");
    refuse(&run_arguments, "c w x", "value is not an integer or out of range: numkeys 'x'");
}

static void an_option_for_several_words_may_be_given_in_several_places(void **state)
{
    const struct run_words *a = bind(&run_arguments, "c w 0 MARK a MARK b");
    assert_int_equal(a->marks.count, 2);
    const struct marks *m = bind(&many_marks, "c MARK a ALSO MARK b MARK c");
    assert_true(m->is_also);
    assert_int_equal(m->marks.count, 3);
    is_word(m->marks.items[0], "a");
    is_word(m->marks.items[2], "c");
}

struct named_marks {
    struct slices marks;
    bool is_all;
};
ARGUMENTS(mark_list, struct named_marks, "[ALL | MARK mark [mark ...]]",
          ARG_FLAG(struct named_marks, is_all, "ALL"),
          ARG_WORDS(struct named_marks, marks, "MARK"));

static void a_token_may_stand_before_a_whole_list(void **state)
{
    const struct named_marks *a = bind(&mark_list, "c MARK a b c");
    assert_int_equal(a->marks.count, 3);
    is_word(a->marks.items[2], "c");
    assert_true(((const struct named_marks *)bind(&mark_list, "c ALL"))->is_all);
    refuse(&mark_list, "c MARK", "syntax error: MARK needs an argument");
}

static void alternatives_of_known_length_make_the_number_of_words_known(void **state)
{
    plan_make(&side_arguments);
    assert_int_equal(side_arguments.plan->words_min, 1);
    assert_int_equal(side_arguments.plan->words_max, 3);
    plan_make(&lease_arguments);
    assert_int_equal(lease_arguments.plan->words_max, WORDS_ANY);
}

/* What was not bound to ask for permission is not run, whatever the words mean later. */
static void words_that_were_wrong_stay_wrong(void **state)
{
    ask(&kv_version, "c");
    rq.words_are_wrong = true;
    assert_int_equal(request_bind(&rq), ERR_SYNTAX);
    assert_null(rq.bound);
    rq.words_are_wrong = false;
    assert_int_equal(request_bind(&rq), OK);
    assert_non_null(rq.bound);
}

struct pair {
    struct slice name;
    int64_t n;
};
struct pairs {
    struct {
        struct pair *items;
        size_t count;
    } pairs;
};
ARGUMENTS(pair_arguments, struct pair, "name n", ARG_WORD(struct pair, name, "name"),
          ARG_INTEGER(struct pair, n, "n", 0, 9, 0));
ARGUMENTS(pairs_arguments, struct pairs, "pair [pair ...]",
          ARG_LIST(struct pairs, pairs, "pair", pair_arguments, acts_fit));

static void items_of_some_words_each_are_counted_before_they_are_read(void **state)
{
    const struct pairs *a = bind(&pairs_arguments, "c a 1 b 2");
    assert_int_equal(a->pairs.count, 2);
    is_word(a->pairs.items[1].name, "b");
    refuse(&pairs_arguments, "c a 1 b", "wrong number of arguments for 'kv.version' command");
    refuse(&pairs_arguments, "c a x b x c x d x", "4 acts are too many");
}

ARGUMENTS(any_pairs_arguments, struct pairs, "pair [pair ...]",
          ARG_LIST(struct pairs, pairs, "pair", pair_arguments, NULL));

/* A script's commands keep theirs until it has ended: one of one key, such as DEL, must be small. */
static void few_items_take_only_their_room(void **state)
{
    static const char *const texts[] = {"c a 1", "c a 1 b 2",
                                        "c a 0 b 1 c 2 d 3 e 4 f 5 g 6 h 7 i 8 j 9"};
    const size_t counts[] = {1, 2, 10};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        plan_make(&any_pairs_arguments);
        ask(&kv_version, texts[i]);
        size_t before = arena.used_bytes;
        void *bound = NULL;
        assert_int_equal(bind_words(&rq, &any_pairs_arguments, 1, NULL, &bound), OK);
        const struct pairs *a = bound;
        assert_int_equal(a->pairs.count, counts[i]);
        for (size_t k = 2; k < counts[i]; k++) assert_int_equal(a->pairs.items[k].n, k);
        size_t most = sizeof(struct pairs) + counts[i] * sizeof(struct pair);
        if (counts[i] < 8) assert_int_equal(arena.used_bytes - before, most);
    }
}

/* ---- as text --------------------------------------------------------------------------------- */

static void expect_text(const struct arguments *of, const char *text)
{
    plan_make(of);
    assert_string_equal(arguments_syntax(of, &arena), text);
}

static void what_is_inside_is_written_where_it_stands(void **state)
{
    expect_text(&lease_arguments, "queue [COUNT count] [QUIET] [FAST | SLOW reason]");
    expect_text(&pairs_arguments, "name n [name n ...]");
    expect_text(&acts_arguments, "[DRY] [<ADD n [AS name] | CALL last> ...]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, enter, leave)
        T(options_come_in_any_order_or_not_at_all),
        T(what_is_wrong_with_options_is_named),
        T(words_as_they_came_are_not_looked_at_one_by_one),
        T(what_may_be_missing_leaves_words_for_what_follows),
        T(a_list_ends_where_the_rest_begins),
        T(a_count_says_how_long_a_list_is),
        T(each_item_of_a_list_is_a_struct),
        T(an_error_inside_says_of_which_item_it_is),
        T(a_word_that_nothing_takes_is_refused_in_their_words),
        T(a_count_may_say_that_there_is_nothing),
        T(an_option_for_several_words_may_be_given_in_several_places),
        T(a_token_may_stand_before_a_whole_list),
        T(alternatives_of_known_length_make_the_number_of_words_known),
        T(words_that_were_wrong_stay_wrong),
        T(items_of_some_words_each_are_counted_before_they_are_read),
        T(few_items_take_only_their_room),
        T(what_is_inside_is_written_where_it_stands),
#undef T
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
