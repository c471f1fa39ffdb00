/* Tests of the query language: what FTS5 is given, and what it finds with it. */
#include "search_help.h"

#include "base/clock.h"
#include "base/random.h"

static const struct slice paths[] = {
    {(const uint8_t *)"name", 4}, {(const uint8_t *)"text", 4}, {(const uint8_t *)"tags[0].x", 9}};
static struct buf out;
static struct error e;
static sqlite3 *tables[TOKENIZER_COUNT];

/* The expression, or the error. */
static const char *translate_slice(struct slice query)
{
    out.len = 0;
    buf_append_byte(&out, '!'); /* what was there before stays */
    enum err err = query_to_fts5(query, paths, 3, &out, &e);
    assert_int_equal('!', out.data[0]);
    if (err != OK) {
        assert_int_equal(1, out.len);
        assert_int_equal(err, e.code);
        return e.text;
    }
    assert_true(out.len > 1);
    buf_append_byte(&out, '\0');
    return (const char *)out.data + 1;
}

static const char *translate(const char *query)
{
    return translate_slice(slice_str(query));
}

/* The rows found, or the error. */
static const char *find_in(enum text_tokenizer tokenizer, const char *query)
{
    const char *expression = translate(query);
    if (expression == e.text) return expression;
    return table_match(tables[tokenizer], slice_str(expression));
}

static const char *find(const char *query)
{
    return find_in(TOKENIZE_UNICODE61, query);
}

static int open_tables(void **state)
{
    for (unsigned i = 0; i < TOKENIZER_COUNT; i++) {
        sqlite3 *db = tables[i] = table_open((enum text_tokenizer)i);
        table_add(db, 1, "red apple", "a fruit that grows on trees", "sweet");
        table_add(db, 2, "green apple", "sour fruit, good for pies", "sour");
        table_add(db, 3, "banana", "yellow fruit from the tropics", NULL);
        table_add(db, 4, "apple pie", "a pie of apples, with cream", "sweet");
        table_add(db, 5, "fire engine", "red, and it hurries to the fire", "fast");
        table_add(db, 6, "foo-bar", "three foo, two bar and a baz", NULL);
        table_add(db, 7, "AND NEAR OR", "NOT a name for a fruit", "odd");
        table_add(db, 8, "Caf\xc3\xa9 M\xc3\xbcller",
                  "cr\xc3\xa8me br\xc3\xbbl\xc3\xa9"
                  "e",
                  "sweet");
        table_add(db, 9, "say \"hi\" twice", "one two three four five six seven", "quote");
        table_add(db, 10, "1.5 litres", "http://example.org/a?b=c", "12:30");
        table_add(db, 11, "\xe6\x9d\xb1\xe4\xba\xac\xe9\x83\xbd", "capital", "city");
        table_add(db, 12, "running quickly", "he runs, she ran", "verbs");
    }
    return 0;
}

static int close_tables(void **state)
{
    for (unsigned i = 0; i < TOKENIZER_COUNT; i++) sqlite3_close(tables[i]);
    buf_fini(&out);
    return 0;
}

/* ---- what is found ---- */

static void all_words_must_be_there(void **state)
{
    assert_string_equal("1 2 4", find("apple"));
    assert_string_equal("1", find("apple red"));
    assert_string_equal("1", find("apple AND red"));
    assert_string_equal("1 2", find("fruit apple"));
    assert_string_equal("", find("apple banana"));
    assert_string_equal("1 5", find("RED"));
    assert_string_equal("\"apple\" \"red\"", translate("apple AND\tred"));
    assert_string_equal("\"and\" \"or\" \"not\" \"And\"", translate("and or not And"));
}

static void one_of_two_words_is_enough_for_or(void **state)
{
    assert_string_equal("1 2 3 4", find("banana OR apple"));
    assert_string_equal("3 6 9", find("banana OR bar OR twice"));
}

static void not_takes_away(void **state)
{
    assert_string_equal("1 2", find("apple NOT pie"));
    assert_string_equal("2", find("fruit NOT red NOT banana NOT name"));
    assert_string_equal("\"a\" NOT (\"b\" NOT \"c\")", translate("a NOT (b NOT c)"));
    assert_string_equal("1 2 3 7", find("fruit NOT (red NOT apple)"));
}

static void or_binds_less_than_not_and_not_less_than_and(void **state)
{
    assert_string_equal("\"a\" \"b\" OR \"c\" \"d\"", translate("a b OR c AND d"));
    assert_string_equal("\"a\" NOT \"b\" \"c\"", translate("a NOT b c"));
    assert_string_equal("\"a\" \"b\" NOT \"c\" \"d\" OR \"e\"", translate("a b NOT c d OR e"));
    assert_string_equal("1 2", find("fruit apple NOT banana pie"));
    assert_string_equal("1 3 7", find("fruit NOT apple green"));
    assert_string_equal("1 5 8", find("m\xc3\xbcller OR red NOT banana"));
    assert_string_equal("1 3", find("fruit apple red OR banana"));
}

static void parentheses_group(void **state)
{
    assert_string_equal("\"a\" AND (\"b\" OR \"c\")", translate("a (b OR c)"));
    assert_string_equal("\"a\" c0 : \"d\" AND (\"b\" OR \"c\")", translate("a (b OR c) name:d"));
    assert_string_equal("(\"a\" OR \"b\") AND (\"c\" OR \"d\")", translate("(a OR b)(c OR d)"));
    assert_string_equal("(\"a\" AND (\"b\" OR \"c\")) NOT (\"d\" OR \"f\")",
                        translate("(a (b OR c)) NOT (d OR f)"));
    assert_string_equal("\"a\" \"b\" \"c\"", translate("((a) ((b) (c)))"));
    assert_string_equal("\"a\" OR \"b\" OR \"c\" OR \"d\"", translate("(a OR b) OR (c OR d)"));
    assert_string_equal("1 2", find("fruit (red OR sour) NOT name"));
    assert_string_equal("2 3 7", find("fruit (NEAR OR sour OR banana)"));
    assert_string_equal("3 4", find("(apple pie) OR banana"));
    assert_string_equal("1 2 4", find("(banana OR apple) (sweet OR sour)"));
    assert_string_equal("2", find("(banana OR apple) (sweet OR sour) green fruit"));
}

static void a_phrase_is_its_words_in_order(void **state)
{
    assert_string_equal("4", find("\"apple pie\""));
    assert_string_equal("", find("\"pie apple\""));
    assert_string_equal("9", find("\"two three four\""));
    assert_string_equal("7", find("\"AND NEAR\""));
    assert_string_equal("7", find("\"AND\" \"NOT\""));
    assert_string_equal("9", find("\"say \"\"hi\"\"\""));
    assert_string_equal("9", find_in(TOKENIZE_TRIGRAM, "\" \"\"hi\"\" \""));
    assert_string_equal("\"a\" \"b\" \"c\"", translate("a\"b\"c"));
}

static void a_star_finds_beginnings(void **state)
{
    assert_string_equal("1 2 4", find("app*"));
    assert_string_equal("1 4 5 8", find("re* OR cre*"));
    assert_string_equal("4", find("\"apple pi\"*"));
    assert_string_equal("6", find("foo-b*"));
    assert_string_equal("\"ab\" * \"c\"", translate("ab*\"c\""));
    assert_string_equal("\"AND\" *", translate("AND*"));
}

static void a_path_is_a_column(void **state)
{
    assert_string_equal("1", find("name:red"));
    assert_string_equal("1 5", find("red"));
    assert_string_equal("1 4", find("tags[0].x:sweet apple"));
    assert_string_equal("4", find("text:\"pie of\""));
    assert_string_equal("4", find("text: pie name:app*"));
    assert_string_equal("1 2 3 4", find("name:(apple OR banana)"));
    assert_string_equal("5", find("text:(red NOT fruit)"));
    assert_string_equal("9", find("text:NEAR(two five, 2)"));
    assert_string_equal("1 2", find("apple NOT text:pie"));
    assert_string_equal("c1 : \"a\" AND (c1 : \"b\" OR c1 : NEAR(\"c\" \"d\", 3))",
                        translate("text:(a (b OR NEAR(c d, 3)))"));
}

static void near_counts_the_words_between(void **state)
{
    assert_string_equal("9", find("NEAR(two five, 2)"));
    assert_string_equal("", find("NEAR(two five, 1)"));
    assert_string_equal("9", find("NEAR(one \"four five\" , 2)"));
    assert_string_equal("9", find("NEAR(five on*)"));
    assert_string_equal("1 9", find("NEAR (two five,2) OR trees"));
    assert_string_equal("\"NEAR\" \"x\"", translate("NEAR x"));
    assert_string_equal("\"a,b\"", translate("a,b"));
    assert_string_equal("NEAR(\"AND\" \"a\", 7)", translate("NEAR(\"AND\" a,7)"));
}

static void a_word_is_cut_up_as_the_text_is(void **state)
{
    assert_string_equal("6", find("foo-bar"));
    assert_string_equal("6", find("bar-foo OR FOO/BAR"));
    assert_string_equal("10", find("1.5"));
    assert_string_equal("10", find("\"12:30\""));
    assert_string_equal("10", find("\"http://example.org\""));
    assert_string_equal("1 2 4", find("+apple -apple ^apple {apple} 'apple'"));
}

static void tokenizers_differ(void **state)
{
    assert_string_equal("8", find("cafe"));
    assert_string_equal("8", find("MULLER"));
    assert_string_equal("", find_in(TOKENIZE_ASCII, "cafe"));
    assert_string_equal("8", find_in(TOKENIZE_ASCII, "caf\xc3\xa9"));
    assert_string_equal("12", find_in(TOKENIZE_PORTER, "run verb"));
    assert_string_equal("12", find("runs"));
    assert_string_equal("", find("run"));
    assert_string_equal("1 2 4", find_in(TOKENIZE_TRIGRAM, "ppl"));
    assert_string_equal("11", find("\xe6\x9d\xb1\xe4\xba\xac\xe9\x83\xbd"));
}

static void symbols_are_ignored(void **state)
{
    assert_string_equal("\"a\" \"b\"", translate("a - b & | ( -- ) \"\" \" \" +*"));
    assert_string_equal("\"a\"", translate("a NOT -"));
    assert_string_equal("\"a\"", translate("- OR a OR (= OR =)"));
    assert_string_equal("\"a\"", translate("- AND a"));
    assert_string_equal("NEAR(\"a\" \"b\")", translate("NEAR(- a - b -)"));
    assert_string_equal("\"a\" OR \"b\"", translate("- AND (a OR b)"));
    assert_string_equal("1", find("apple & red"));
    assert_string_equal("query: empty", translate(""));
    assert_string_equal("query: empty", translate(" \t\r\n"));
    assert_string_equal("query: empty", translate("- (& OR |) name:- NEAR(-)"));
    assert_string_equal("query: NOT without an operand before it at offset 2",
                        translate("- NOT a"));
}

/* The parser cannot know them; FTS5 drops them where they stand beside others. */
static void words_without_tokens_are_ignored_beside_words(void **state)
{
    assert_string_equal("1", find("\xe2\x80\x93 apple \xe2\x80\xa6 red"));
    assert_string_equal("1", find("apple AND \xe2\x80\x93 AND (red OR banana)"));
    assert_string_equal("1 2 4", find("apple OR \xe2\x80\x93"));
    assert_string_equal("1 2 4", find("apple NOT \xe2\x80\x93"));
    assert_string_equal("1 2 4", find_in(TOKENIZE_TRIGRAM, "ap apple"));
    assert_string_equal("", find("\xe2\x80\x93"));
    assert_string_equal("", find("\xe2\x80\x93 (apple OR red)"));
}

/* ---- against a model: rows 0..63 have the words a..f that their bits say ---- */

static struct buf typed;
static struct rng rng;

static uint64_t type_query(unsigned depth);

/* Types something and returns the set of rows that match it. */
static uint64_t type_item(unsigned depth)
{
    if (depth > 0 && rng_below(&rng, 3) == 0) {
        buf_append_byte(&typed, '(');
        uint64_t rows = type_query(depth - 1);
        buf_append_byte(&typed, ')');
        return rows;
    }
    uint64_t bit = rng_below(&rng, 6), rows = 0;
    static const char *const forms[] = {"%c", "\"%c\"", "%c*", "text:%c", "NEAR(%c)", "text:(%c)"};
    buf_printf(&typed, forms[rng_below(&rng, 6)], (int)('a' + bit)); /* NOLINT: only %c */
    for (unsigned row = 0; row < 64; row++) {
        if ((row >> bit & 1) != 0) rows |= UINT64_C(1) << row;
    }
    return rows;
}

static uint64_t type_all(unsigned depth)
{
    static const char *const between[] = {" ", " AND ", " - ", " AND & ", "\t"};
    uint64_t rows = type_item(depth);
    while (rng_below(&rng, 5) < 2) {
        buf_append_str(&typed, between[rng_below(&rng, 5)]);
        rows &= type_item(depth);
    }
    return rows;
}

static uint64_t type_any(unsigned depth)
{
    uint64_t rows = type_all(depth);
    while (rng_below(&rng, 4) == 0) {
        buf_append_str(&typed, " NOT ");
        rows &= ~type_all(depth);
    }
    return rows;
}

static uint64_t type_query(unsigned depth)
{
    uint64_t rows = type_any(depth);
    while (rng_below(&rng, 4) == 0) {
        buf_append_str(&typed, " OR ");
        rows |= type_any(depth);
    }
    return rows;
}

static void random_queries_find_what_the_model_says(void **state)
{
    sqlite3 *db = table_open(TOKENIZE_UNICODE61);
    buf_init(&typed);
    const char *seed = getenv("TEST_SEED");
    rng_init(&rng, seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)clock_mono_us());
    printf("TEST_SEED=%llu\n", (unsigned long long)rng.state);
    for (unsigned row = 0; row < 64; row++) {
        char words[16] = "";
        for (unsigned bit = 0; bit < 6; bit++) {
            if ((row >> bit & 1) != 0) snprintf(words + strlen(words), 3, "%c ", (char)('a' + bit));
        }
        table_add(db, (int)row, "x", words, NULL);
    }
    for (unsigned round = 0; round < 5000; round++) {
        typed.len = 0;
        uint64_t want = type_query(4), found = 0;
        const char *expression = translate_slice(buf_slice(&typed));
        if (e.text == expression && e.code == ERR_LIMIT) continue; /* more than 128 words */
        const char *rows = table_match(db, slice_str(expression));
        for (char *end = NULL; *rows >= '0' && *rows <= '9'; rows = end + (*end == ' ')) {
            found |= UINT64_C(1) << strtoul(rows, &end, 10);
        }
        if (found != want || *rows != '\0') {
            fail_msg("%.*s: %s: %s", (int)typed.len, (const char *)typed.data, expression, rows);
        }
    }
    buf_fini(&typed);
    sqlite3_close(db);
}

/* ---- what is an error ---- */

static void operators_need_both_sides(void **state)
{
    assert_string_equal("query: AND without an operand before it at offset 0", translate("AND a"));
    assert_string_equal("query: AND without an operand after it at offset 2", translate("a AND"));
    assert_string_equal("query: OR without an operand before it at offset 0", translate("OR a"));
    assert_string_equal("query: OR without an operand after it at offset 3", translate("(a OR )"));
    assert_string_equal("query: NOT without an operand before it at offset 1", translate(" NOT a"));
    assert_string_equal("query: NOT without an operand after it at offset 4", translate("a   NOT"));
    assert_string_equal("query: AND without an operand after it at offset 2",
                        translate("a AND OR b"));
    assert_string_equal("query: AND without an operand after it at offset 2",
                        translate("a AND NOT b"));
    assert_string_equal("query: OR without an operand before it at offset 5",
                        translate("a b (OR c)"));
    assert_string_equal("query: AND without an operand before it at offset 0", translate("AND"));
    assert_int_equal(ERR_SYNTAX, e.code);
}

static void a_colon_belongs_to_a_path(void **state)
{
    assert_string_equal(
        "query: unknown path 'foo' at offset 2; the paths are name, text, tags[0].x; put a "
        "word with a colon in quotes",
        translate("a foo:b"));
    assert_string_equal(
        "query: unknown path '' at offset 0; the paths are name, text, tags[0].x; put a "
        "word with a colon in quotes",
        translate(":)"));
    assert_string_equal(
        "query: unknown path 'Name' at offset 0; the paths are name, text, tags[0].x; put "
        "a word with a colon in quotes",
        translate("Name:x"));
    assert_string_equal(
        "query: unknown path 'http' at offset 5; the paths are name, text, tags[0].x; put "
        "a word with a colon in quotes",
        translate("name:http://x"));
    assert_string_equal(
        "query: unknown path 'c0' at offset 0; the paths are name, text, tags[0].x; put a "
        "word with a colon in quotes",
        translate("c0:x"));
    assert_string_equal("query: a path without a query at offset 2", translate("a name:"));
    assert_string_equal("query: a path without a query at offset 1", translate("(name:)"));
    assert_string_equal("query: a path without a query at offset 0", translate("name:OR b"));
    assert_string_equal("query: a path without a query at offset 0", translate("name:text:b"));
    assert_string_equal("query: a path inside the parentheses of another path at offset 8",
                        translate("name:(a text:b)"));
}

/* A path is taken as it was given, whatever is in it; of several the longest. */
static void a_path_may_look_like_anything(void **state)
{
    const struct slice odd[] = {slice_str("a"), slice_str("a:b"), slice_str("\"x y\".z"),
                                slice_str("$"), slice_str("(q)"), slice_str("AND")};
    static const char want[] = "c0 : \"w\" c1 : \"w\" c2 : \"w\" c3 : \"w\" c4 : \"w\" c5 : \"w\"";
    out.len = 0;
    assert_int_equal(
        OK, query_to_fts5(slice_str("a:w a:b:w \"x y\".z:w $:w (q):w AND:w"), odd, 6, &out, &e));
    assert_int_equal(sizeof want - 1, out.len);
    assert_memory_equal(want, out.data, out.len);
}

static void many_and_long_paths_are_not_all_told(void **state)
{
    char word[3000];
    struct slice many[16];
    memset(word, 'x', sizeof word);
    for (size_t i = 0; i < 16; i++) many[i] = slice_of(word, 30 + i);
    memcpy(word + 100, "\xc3\xa9", 2);
    many[0] = slice_of(word, 2000);
    out.len = 0;
    assert_int_equal(ERR_SYNTAX,
                     query_to_fts5(slice_str("\xc3\xa9\xc3\xa9:b"), many, 16, &out, &e));
    assert_non_null(strstr(e.text, "\xc3\xa9\xc3\xa9"));
    assert_non_null(strstr(e.text, "xx, ...; put a word with a colon in quotes"));
}

static void quotes_and_parentheses_must_be_closed(void **state)
{
    assert_string_equal("query: unterminated quote at offset 2", translate("a \"b c"));
    assert_string_equal("query: unterminated quote at offset 0", translate("\"a\"\""));
    assert_string_equal("query: missing closing parenthesis at offset 0", translate("(a"));
    assert_string_equal("query: missing closing parenthesis at offset 0", translate("("));
    assert_string_equal("query: unmatched closing parenthesis at offset 1", translate("a)"));
    assert_string_equal("query: unmatched closing parenthesis at offset 0", translate(")"));
    assert_string_equal("query: empty parentheses at offset 2", translate("a ()"));
}

static void a_star_stands_behind_a_word(void **state)
{
    static const char want[] =
        "query: a '*' that is not at the end of a word or phrase at offset 2";
    assert_string_equal(want, translate("a *"));
    assert_string_equal(want, translate("ab*c"));
    assert_string_equal(want, translate("ab**"));
    assert_string_equal(want, translate("b *a"));
    assert_string_equal(want, translate("a ** b"));
    assert_string_equal("\"a*b\"", translate("\"a*b\""));
}

static void near_takes_words_and_a_number(void **state)
{
    assert_string_equal("query: NEAR without words at offset 0", translate("NEAR()"));
    assert_string_equal("query: NEAR without words at offset 0", translate("NEAR(,5)"));
    assert_string_equal("query: NEAR without a closing parenthesis at offset 0",
                        translate("NEAR(a b"));
    assert_string_equal("query: NEAR without a closing parenthesis at offset 0",
                        translate("NEAR(a, 5"));
    static const char what[] =
        "query: NEAR may contain only words, phrases and a number at offset 7";
    assert_string_equal(what, translate("NEAR(a (b))"));
    assert_string_equal(what, translate("NEAR(a OR b)"));
    assert_string_equal(what, translate("NEAR(a NEAR(b c))"));
    static const char number[] =
        "query: the comma in NEAR must be followed by a number of at most 6 digits at offset 8";
    assert_string_equal(number, translate("NEAR(a, b)"));
    assert_string_equal(number, translate("NEAR(a, )"));
    assert_string_equal(number, translate("NEAR(a, -1)"));
    assert_string_equal(number, translate("NEAR(a, 1000000)"));
    assert_string_equal("query: NEAR may contain only words, phrases and a number at offset 10",
                        translate("NEAR(a, 1 b)"));
    assert_string_equal(
        "query: unknown path 'name' at offset 5; the paths are name, text, tags[0].x; put "
        "a word with a colon in quotes",
        translate("NEAR(name:a b)"));
}

static void only_text_is_a_query(void **state)
{
    assert_string_equal("query: not UTF-8 at offset 1", translate("a\xff"));
    assert_string_equal("query: not UTF-8 at offset 0", translate("\xc3"));
    assert_string_equal("query: a NUL byte at offset 1", translate_slice(slice_of("a\0b", 3)));
}

/* ---- limits ---- */

static void append_times(struct buf *b, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++) buf_append_str(b, text);
}

static void what_is_too_large_is_an_error(void **state)
{
    struct buf query;
    buf_init(&query);
    append_times(&query, "a ", QUERY_WORDS_MAX + 1);
    assert_string_equal("query: more than 128 words", translate_slice(buf_slice(&query)));
    assert_int_equal(ERR_LIMIT, e.code);
    query.len = 0;
    append_times(&query, "a* ", QUERY_PREFIXES_MAX + 1);
    assert_string_equal("query: more than 16 prefixes (word*)", translate_slice(buf_slice(&query)));
    assert_int_equal(ERR_LIMIT, e.code);
    query.len = 0;
    append_times(&query, "\"a b\"* OR ", QUERY_PREFIXES_MAX);
    append_times(&query, "c*", 1);
    assert_string_equal("query: more than 16 prefixes (word*)", translate_slice(buf_slice(&query)));
    query.len = 0;
    append_times(&query, "x", QUERY_BYTES_MAX + 1);
    assert_string_equal("query: larger than 4096 bytes", translate_slice(buf_slice(&query)));
    assert_int_equal(ERR_LIMIT, e.code);
    query.len = 0;
    append_times(&query, "(", QUERY_DEPTH_MAX + 1);
    assert_string_equal("query: parentheses nested too deeply at offset 10",
                        translate_slice(buf_slice(&query)));
    assert_int_equal(ERR_LIMIT, e.code);
    buf_fini(&query);
}

/* FTS5's own limits are never met: each piece that costs it most, as often as we allow. */
static void what_is_just_not_too_large_is_accepted_by_fts5(void **state)
{
    static const struct {
        const char *before, *middle, *behind;
        size_t before_times, behind_times;
    } cases[] = {
        {"a ", "b", "", QUERY_WORDS_MAX - 1, 0},
        {"a OR ", "b", "", QUERY_WORDS_MAX - 1, 0},
        {"a NOT ", "b", "", QUERY_WORDS_MAX - 1, 0},
        {"a b OR ", "b", "", QUERY_WORDS_MAX / 2 - 1, 0},
        {"(", "b", ")", QUERY_DEPTH_MAX, QUERY_DEPTH_MAX},
        {"name:(", "b", ")", 1, 1},
        {"a OR b NOT c (", "a OR b NOT c text:NEAR(a \"b c\" d*, 99)", ")", QUERY_DEPTH_MAX,
         QUERY_DEPTH_MAX},
        {"a OR b NOT (c OR d) (", "a OR b NOT c text:NEAR(a \"b c\" d*, 99)", ")", QUERY_DEPTH_MAX,
         QUERY_DEPTH_MAX},
        {"a NOT b NOT c NOT d NOT e NOT (", "a NOT b", ")", QUERY_DEPTH_MAX, QUERY_DEPTH_MAX},
        {"a OR (b (", "c", "))", QUERY_DEPTH_MAX / 2, QUERY_DEPTH_MAX / 2},
        {"a", "\"", "\"", QUERY_BYTES_MAX - 2, 1},
        {"\"", "a a a a a a a a", "\"", 1, 1},
    };
    struct buf query;
    buf_init(&query);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        query.len = 0;
        append_times(&query, cases[i].before, cases[i].before_times);
        buf_append_str(&query, cases[i].middle);
        append_times(&query, cases[i].behind, cases[i].behind_times);
        const char *expression = translate_slice(buf_slice(&query));
        if (expression == e.text) fail_msg("case %zu: %s", i, e.text);
        for (size_t j = 0; j < TOKENIZER_COUNT; j++) {
            const char *found = table_match(tables[j], slice_str(expression));
            if (found[0] == 'S') fail_msg("case %zu: %s", i, found);
        }
    }
    buf_fini(&query);
}

static void a_long_phrase_is_accepted_by_fts5(void **state)
{
    struct buf query;
    buf_init(&query);
    buf_append_byte(&query, '"');
    append_times(&query, "a ", QUERY_BYTES_MAX / 2 - 1);
    buf_append_byte(&query, '"');
    const char *expression = translate_slice(buf_slice(&query));
    assert_ptr_not_equal(e.text, expression);
    for (size_t j = 0; j < TOKENIZER_COUNT; j++) {
        assert_string_equal("", table_match(tables[j], slice_str(expression)));
    }
    buf_fini(&query);
}

/* Whatever is typed: an error of ours, or something that FTS5 accepts. */
static void hostile_input_never_reaches_sqlite(void **state)
{
    static const char *const hostile[] = {
        "'",
        "''",
        "' OR 1=1",
        "') OR 1=1 --",
        "\"; DROP TABLE t; --",
        "a; DROP TABLE t; --",
        "a\" OR c0:\"b",
        "a \"\" OR \"\" b",
        "c0:a",
        "c0 : a",
        "{c0}:a",
        "{c0 c1}",
        "-c0",
        "- {c0} a",
        "^a",
        "^ a",
        "a + b",
        "\"a\" + \"b\"",
        "--",
        "a -- b",
        "/* a */",
        "a /* b",
        "\\\"",
        "\\",
        "NEAR",
        "NEAR a",
        "NEAR/5",
        "NEAR(\"a\"\"\" b)",
        "NEAR((a) b)",
        "rank:5",
        "rank MATCH 'bm25(10)'",
        "t MATCH 'a'",
        "rowid:1",
        "a*b",
        "****",
        "(((((((((((((((",
        ")))))",
        "a))) OR (((b",
        "\"\"\"",
        "\"\"\"\"",
        "\"\"\"\"\"",
        "\"a\"\"",
        "name:\"",
        "name::a",
        "name:name:a",
        "name: (a",
        "name:^a",
        "name:-a",
        "tags[0].x:{a}",
        "\xef\xbb\xbf"
        "a",
        "\xee\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "\xe2\x80\x8b",
        "a\x01\x02\x7f",
        "\x1b[2J",
        "?1",
        ":a",
        "@a",
        "$a",
        "%s%n",
        "[a]",
        "`a`",
        "NOT",
        "NOT NOT a",
        "a NOT NOT b",
        "AND OR NOT",
        "OR OR",
        "a OR OR b",
    };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        for (unsigned j = 0; j < TOKENIZER_COUNT; j++) {
            const char *found = find_in((enum text_tokenizer)j, hostile[i]);
            bool is_ours = strncmp(found, "query: ", 7) == 0;
            bool is_rows = found[strspn(found, "0123456789 ")] == '\0';
            if (!is_ours && !is_rows) fail_msg("%s: %s", hostile[i], found);
        }
    }
    assert_string_equal("1 2 4", find("apple"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_words_must_be_there),
        cmocka_unit_test(one_of_two_words_is_enough_for_or),
        cmocka_unit_test(not_takes_away),
        cmocka_unit_test(or_binds_less_than_not_and_not_less_than_and),
        cmocka_unit_test(parentheses_group),
        cmocka_unit_test(a_phrase_is_its_words_in_order),
        cmocka_unit_test(a_star_finds_beginnings),
        cmocka_unit_test(a_path_is_a_column),
        cmocka_unit_test(near_counts_the_words_between),
        cmocka_unit_test(a_word_is_cut_up_as_the_text_is),
        cmocka_unit_test(tokenizers_differ),
        cmocka_unit_test(symbols_are_ignored),
        cmocka_unit_test(words_without_tokens_are_ignored_beside_words),
        cmocka_unit_test(random_queries_find_what_the_model_says),
        cmocka_unit_test(operators_need_both_sides),
        cmocka_unit_test(a_colon_belongs_to_a_path),
        cmocka_unit_test(a_path_may_look_like_anything),
        cmocka_unit_test(many_and_long_paths_are_not_all_told),
        cmocka_unit_test(quotes_and_parentheses_must_be_closed),
        cmocka_unit_test(a_star_stands_behind_a_word),
        cmocka_unit_test(near_takes_words_and_a_number),
        cmocka_unit_test(only_text_is_a_query),
        cmocka_unit_test(what_is_too_large_is_an_error),
        cmocka_unit_test(what_is_just_not_too_large_is_accepted_by_fts5),
        cmocka_unit_test(a_long_phrase_is_accepted_by_fts5),
        cmocka_unit_test(hostile_input_never_reaches_sqlite),
    };
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
