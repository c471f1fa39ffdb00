/* Text search (docs/search.md) as users meet it: KV.INDEX CREATE ... TEXT and KV.SEARCH: what is found by
 * which words, in which order and how it is shown, and what is refused. When it is found, and for
 * how long: test_search_state.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client.h"
#include "group.h"
#include "search_help.h"

static redisContext *c, *d;

static int start(void **state)
{
    group_opens(&c, &d, NULL);
    server = testserver_start_with("--databases", "4", NULL);
    return 0;
}

static int enter(void **state)
{
    group_enter(state);
    for (int i = 1; i >= 0; i--) {
        expect(c, "+OK", "SELECT %d", i);
        drop_indexes(c);
    }
    return 0;
}

/* ---- the query language ---------------------------------------------------------------------- */

struct question {
    const char *query; /* ' for " */
    const char *wanted;
};

static void ask_all(const char *index, const struct question *questions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        print_message("%s\n", questions[i].query);
        finds(c, questions[i].wanted, "%s %s", index, with_quotes(questions[i].query));
    }
}

static void words_phrases_beginnings_and_operators(void **state)
{
    static const struct question questions[] = {
        {"lazy", "1 3 4"},
        {"LAZY Dog", "1 3"},
        {"lazy AND dog", "1 3"},
        {"'lazy dog'", "1"},
        {"'the quick'", "3"},
        {"lazy OR quick", "1 2 3 4"},
        {"dog NOT lazy", ""},
        {"quick NOT dog", "2"},
        {"fo*", "2 3 4"},
        {"'lazy do'*", "1"},
        {"(lazy OR quick) dog", "1 3"},
        {"lazy dog NOT quick OR cooking", "1 4"},
        {"dog NOT (quick OR cooking)", "1"},
        {"NEAR(lazy fox)", "3"},
        {"NEAR(quick fox, 1)", "2"},
        {"NEAR(fox quick,4)", "2 3"},
        {"NEAR('lazy dog' the)", "1"},
        {"42", "6"},
        {"nested", "5"},
        {"er", ""}, /* a name */
        {"and", "3"},
        {"or", ""},
        {"'AND'", "3"},
        {"brown-fox", "2"},
        {"- dog &", "1 3"},
        {"dogs sleep", "1"},
        {"'dogs sleep'", ""}, /* two items */
        {"nosuchword", ""},
        {"\xf0\x9f\x98\x80", ""},
        {"\xf0\x9f\x98\x80 dog", "1 3"},
        {"title:lazy", "1 3"},
        {"author.name:lazy", "4"},
        {"tags:fo*", "2 3 4"},
        {"tags:(dogs foxes)", "3"},
        {"title:(dog OR fox)", "1 2 3"},
        {"title:'lazy dog'", "1"},
        {"title:NEAR(dog fox, 5)", "3"},
        {"tags:dogs title:lazy", "1 3"},
        {"dog NOT tags:foxes", "1"},
    };
    shelve_books(c);
    ask_all("b", questions, sizeof questions / sizeof *questions);
}

static void a_wrong_query_says_what_and_where(void **state)
{
    static const struct question questions[] = {
        {"foo:dog",
         "-ERR query: unknown path 'foo' at offset 0; the paths are title, tags, author.name; "
         "put a word with a colon in quotes"},
        {"dog c0:dog", "-ERR query: unknown path 'c0' at offset 4; *"},
        {"{c0}:dog", "-ERR query: unknown path '{c0}' at offset 0; *"},
        {"-title:dog", "-ERR query: unknown path '-title' at offset 0; *"},
        {"12:30", "-ERR query: unknown path '12' at offset 0; *"},
        {"dog OR", "-ERR query: OR without an operand after it at offset 4"},
        {"AND dog", "-ERR query: AND without an operand before it at offset 0"},
        {"NOT dog", "-ERR query: NOT without an operand before it at offset 0"},
        {"dog AND OR fox", "-ERR query: AND without an operand after it at offset 4"},
        {"dog 'lazy", "-ERR query: unterminated quote at offset 4"},
        {"(dog", "-ERR query: missing closing parenthesis at offset 0"},
        {"dog)", "-ERR query: unmatched closing parenthesis at offset 3"},
        {"dog ()", "-ERR query: empty parentheses at offset 4"},
        {"title:", "-ERR query: a path without a query at offset 0"},
        {"title:tags:dog", "-ERR query: a path without a query at offset 0"},
        {"title:(tags:dog)",
         "-ERR query: a path inside the parentheses of another path at offset 7"},
        {"d*g", "-ERR query: a '*' that is not at the end of a word or phrase at offset 1"},
        {"*", "-ERR query: a '*' that is not at the end of a word or phrase at offset 0"},
        {"NEAR()", "-ERR query: NEAR without words at offset 0"},
        {"NEAR(a b", "-ERR query: NEAR without a closing parenthesis at offset 0"},
        {"NEAR(a b, x)",
         "-ERR query: the comma in NEAR must be followed by a number of at most 6 digits at "
         "offset 10"},
        {"NEAR(a (b))", "-ERR query: NEAR may contain only words, phrases and a number at offset "
                        "7"},
        {"", "-ERR query: empty"},
        {"- '  ' ()", "-ERR query: empty parentheses at offset 7"},
        {"& -", "-ERR query: empty"},
        {"((((((((((dog))))))))))", "1 3"},
        {"(((((((((((dog)))))))))))", "-LIMIT query: parentheses nested too deeply at offset 10"},
    };
    char large[5000];
    shelve_books(c);
    ask_all("b", questions, sizeof questions / sizeof *questions);
    memset(large, 'z', sizeof large);
    finds(c, "", "b %b", large, (size_t)4096);
    finds(c, "-LIMIT query: larger than 4096 bytes", "b %b", large, (size_t)4097);
    for (size_t i = 1; i < sizeof large; i += 2) large[i] = ' ';
    finds(c, "", "b %b", large, (size_t)256);
    finds(c, "-LIMIT query: more than 128 words", "b %b", large, (size_t)258);
    finds(c, "-ERR no such index 'none'", "none dog");
    expect(c, "+OK", "KV.INDEX CREATE v PREFIX ['b'] ON 1 year");
    finds(c, "-ERR index 'v' is for values: use KV.FIND", "v dog");
    expect(c, "-ERR index 'b' is for text: use KV.SEARCH", "KV.FIND b 'dog'");
}

static void what_no_person_types_does_no_harm(void **state)
{
    static const char *const paths[] = {
        "c0",   "rank", "rowid", "a'b", "'); DROP TABLE kv; --", "\"; DROP TABLE kv; --\"",
        "{c0}", "$"};
    static const struct question questions[] = {
        {"', text_0_1) --", "-ERR query: *"},
        {"'; DROP TABLE kv; --", "-ERR query: unterminated quote at offset 0"},
        {"'''; DROP TABLE kv; --'", ""},
        {"c1:word", "-ERR query: unknown path 'c1' *"},
        {"text_0_1:word", "-ERR query: unknown path *"},
        {"c0:one", "1"},
        {"{c0}:seven", "1"},
        {"rank:two", "1"},
        {"rowid:three", "1"},
        {"rank:one", ""},
        {"'rank : bm25(10.0)'", ""},
        {"^one", "1"},
        {"one + two", "1"},
        {"{c0 rank} : one", "-ERR query: *"},
    };
    const char *name = "h';--";
    expect(
        c, "@", "KV.SET ['b',1] %s",
        "{\"c0\":\"one\",\"rank\":\"two\",\"rowid\":\"three\",\"a'b\":\"four\","
        "\"'); DROP TABLE kv; --\":\"five\",\"; DROP TABLE kv; --\":\"six\",\"{c0}\":\"seven\"}");
    const char *argv[15] = {"KV.INDEX", "CREATE", name, "PREFIX", "[\"b\"]", "TEXT", "8"};
    for (size_t i = 0; i < 8; i++) argv[7 + i] = paths[i];
    redisReply *r = redisCommandArgv(c, 15, argv, NULL);
    assert_non_null(r);
    assert_string_equal(r->str, "OK");
    freeReplyObject(r);
    wait_for_index(c, name);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        finds(c, questions[i].wanted, "%s %s", name, with_quotes(questions[i].query));
    }
    finds(c, "-ERR query: unmatched closing parenthesis at offset 1", "%s %s", name,
          "') OR 1=1 --");
    finds(c, "1", "%s %s", name, "'); DROP TABLE kv; --:five");
    finds(c, "1", "%s %s", name, "\"; DROP TABLE kv; --\":six");
    finds(c, "1", "%s %s", name, "a'b:four");
    finds(c, "-ERR query: a NUL byte at offset 3", "%s %b", name, "one\0two", (size_t)7);
    finds(c, "-ERR query: not UTF-8 at offset 4", "%s %b", name, "one \xff", (size_t)5);
    finds(c, "-ERR query: not UTF-8 at offset 0", "%s %b", name, "\xed\xa0\x80", (size_t)3);
    finds(c, "-ERR no such index '*'", "%b one", "h'\0", (size_t)3);
    expect(c, "-ERR TOKENIZE must be *", "KV.INDEX CREATE i PREFIX ['b'] TEXT 1 a TOKENIZE %s",
           "unicode61 separators 'x'");
    expect(c, "-ERR TOKENIZE must be *", "KV.INDEX CREATE i PREFIX ['b'] TEXT 1 a TOKENIZE %s",
           "porter', content='kv");
    expect(c, "-ERR invalid path *", "KV.INDEX CREATE i PREFIX ['b'] TEXT 1 %s", "\"a");
    expect(c, "-ERR invalid path *", "KV.INDEX CREATE i PREFIX ['b'] TEXT 1 %b", "\xff", (size_t)1);
    expect(c, "*'c0':'one'*", "KV.GET ['b',1]"); /* all is as it was */
    finds(c, "1", "%s one", name);
}
/* ---- what is indexed ------------------------------------------------------------------------- */

static void the_text_of_every_kind_of_value(void **state)
{
    static const char *const values[] = {
        "{'t':'word'}",
        "{'t':-17}",
        "{'t':1.5}",
        "{'t':true}",
        "{'t':{'$bigint':'123456789012345678901234567890'}}",
        "{'t':{'$set':['alpha',['beta']]}}",
        "{'t':{'$map':[['gamma','delta']]}}",
        "{'t':null}",
        "{'t':{'$bytes':'d29yZA=='}}",
        "{'t':{'$date':'2023-04-23T00:00:00.000Z'}}",
        "{'t':{'$regexp':['word','g']}}",
        "{'t':{'$error':{'name':'word','message':'word'}}}",
        "{'other':'word'}",
        "'word'",
        "{'t':{'$id':1,'value':['shared']}}",
        "{'t':'one\\u0000two'}",
    };
    static const struct question of_t[] = {
        {"word", "1"},
        {"17", "2"},
        {"'1 5'", "3"},
        {"true", "4"},
        {"123456789012345678901234567890", "5"},
        {"beta", "6"},
        {"alpha beta", "6"},
        {"delta", "7"},
        {"gamma", ""},
        {"2023 OR null OR g", ""},
        {"shared", "15"},
        {"'one two'", "16"},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) put_text(c, (int)i + 1, values[i]);
    create_index(c, "t PREFIX ['b'] TEXT 1 t");
    create_index(c, "all PREFIX ['b'] TEXT 1 $");
    ask_all("t", of_t, sizeof of_t / sizeof *of_t);
    finds(c, "1 13 14", "all word");
    finds(c, "15", "all $:shared");
}

static void paths_lead_into_objects_and_arrays(void **state)
{
    static const struct question questions[] = {
        {"author.name:larry", "1"},      {"larry", "1"},       {"items[0].text:first", "1"},
        {"items[0].text:last", "2"}, /* of one item it is both */
        {"items[#-1].text:last", "1 2"}, {"middle", ""},       {"'a.b'.c:dotted", "1"},
        {"list:(three four)", "1"},      {"'three four'", ""},
    };
    put_text(
        c, 1,
        "{'author':{'name':'Larry'},'items':[{'text':'first'},{'text':'middle'},{'text':'last'}]"
        ",'a.b':{'c':'dotted'},'list':[['one','two'],{'x':'three','y':['four']}]}");
    put_text(c, 2, "{'author':'Larry','items':[{'text':'last'}],'a':{'b':{'c':'dotted'}}}");
    put_text(c, 3, "{'author':[],'items':{'text':'first'}}");
    expect(c, "+OK",
           "KV.INDEX CREATE n PREFIX ['b'] TEXT 5 author.name items[0].text "
           "items[#-1].text 'a.b'.c list");
    wait_for_index(c, "n");
    ask_all("n", questions, sizeof questions / sizeof *questions);
}

static void the_first_megabyte_is_indexed(void **state)
{
    static char text[1200000];
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    memset(text, 'x', sizeof text);
    memcpy(text, "{\"t\":\"first ", 12);
    text[1000000] = ' ';
    memcpy(text + sizeof text - 11, " beyond\"}", 9);
    expect(c, "@", "KV.SET ['b',1] %b", text, sizeof text - 2);
    finds(c, "1", "b first");
    finds(c, "", "b beyond");
    finds(c, "1", "b %s", "first NOT beyond");
}

static void a_prefix_is_whole_parts(void **state)
{
    create_index(c, "p PREFIX ['b'] TEXT 1 $");
    create_index(c, "n PREFIX ['b',1] TEXT 1 $");
    expect(c, "@",
           "KV.ATOMIC SET ['b'] 'word' SET ['b',1] 'word' SET ['b',1,2] 'word' SET "
           "['b2',3] 'word' SET ['bb',4] 'word' SET ['b',{'$bytes':'AP8='}] 'word' SET "
           "['b',true] 'word' SET [1,5] 'word'");
    expect(c, "@", "KV.SET %b 'word'", "[\"b\\u0000\",6]", (size_t)13);
    finds(c, "1 2 true {'$bytes':'AP8='}", "p word");
    finds(c, "2", "n word");
    create_index(c, "q PREFIX ['b'] TEXT 1 $"); /* filled in alike */
    finds(c, "1 2 true {'$bytes':'AP8='}", "q word");
    create_index(c, "all PREFIX [] TEXT 1 $");
    redisReply *r = ask_reply(c, "KV.SEARCH all word LIMIT 100");
    assert_int_equal(r->elements, 9);
    freeReplyObject(r);
}

static void overlapping_indexes_are_kept_each_for_itself(void **state)
{
    create_index(c, "wide PREFIX ['b'] TEXT 1 t");
    create_index(c, "narrow PREFIX ['b','x'] TEXT 2 t u TOKENIZE porter");
    expect(c, "@", "KV.SET ['b','x',1] {'t':'running','u':'up'}");
    expect(c, "@", "KV.SET ['b','y',2] {'t':'running','u':'up'}");
    finds(c, "1 2", "wide running");
    finds(c, "", "wide run");
    finds(c, "1", "narrow run");
    finds(c, "1", "narrow up");
    finds(c, "", "wide up");
    expect(c, ":1", "KV.DEL ['b','x',1]");
    finds(c, "2", "wide running");
    finds(c, "", "narrow run");
    expect(c, ":1", "KV.INDEX DROP wide");
    expect(c, "@", "KV.SET ['b','x',3] {'t':'runs'}");
    finds(c, "-ERR no such index 'wide'", "wide running");
    finds(c, "3", "narrow run");
}

static void tokenizers_say_what_a_word_is(void **state)
{
    static const struct {
        const char *query;
        const char *wanted[4]; /* by unicode61, porter, ascii, trigram */
    } rows[] = {
        {"cafe", {"1", "1", "", "1"}},
        {"Caf\xc3\xa9", {"1", "1", "1", "1"}},
        {"caf\xc3\xa9", {"1", "1", "1", "1"}},
        {"CAF\xc3\x89", {"1", "1", "", "1"}},
        {"run", {"", "2", "", "2"}},
        {"runs", {"", "2", "", ""}},
        {"ppl", {"", "", "", "3"}},
        {"PPL", {"", "", "", "3"}},
        {"apple", {"3", "3", "3", "3"}},
        {"ap", {"", "", "", ""}},
        {"ap*", {"3", "3", "3", ""}},
        {"\xd0\x94\xd0\x9e\xd0\x9c", {"4", "4", "", "4"}}, /* upper case of what is there */
        {"\xe6\x96\x87\xe6\x9c\xac\xe6\xa4\x9c", {"", "", "", "5"}},
    };
    put_text(c, 1, "{'t':'Caf\xc3\xa9'}");
    put_text(c, 2, "{'t':'he is running'}");
    put_text(c, 3, "{'t':'an apple'}");
    put_text(c, 4, "{'t':'\xd0\xb4\xd0\xbe\xd0\xbc'}");
    put_text(c, 5, "{'t':'\xe5\x85\xa8\xe6\x96\x87\xe6\x9c\xac\xe6\xa4\x9c\xe7\xb4\xa2'}");
    create_index(c, "i0 PREFIX ['b'] TEXT 1 t");
    create_index(c, "i1 PREFIX ['b'] TOKENIZE porter TEXT 1 t");
    create_index(c, "i2 PREFIX ['b'] TEXT 1 t TOKENIZE ASCII");
    create_index(c, "i3 TOKENIZE Trigram TEXT 1 t PREFIX ['b']");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int n = 0; n < 4; n++) finds(c, rows[i].wanted[n], "i%d %s", n, rows[i].query);
    }
    expect(c, "*[t] tokenize unicode61 state ready percent :100 error (nil)]", "KV.INDEX INFO i0");
    expect(c, "[name i3 type text prefix ['b'] hashes (nil) paths [t] tokenize trigram state *",
           "KV.INDEX INFO i3");
}
/* One folding for what is stored and for what is asked (docs/search.md). */
static void letters_are_folded_in_texts_and_in_queries(void **state)
{
    static const struct {
        const char *query, *words, *trigram; /* found by unicode61, by trigram */
    } rows[] = {
        {"strasse", "1", "1"}, /* the sharp s, in upper case too */
        {"STRASSE", "1", "1"},
        {"stra*", "1", "1"},
        {"caf\xc3\xa9", "2", "2"}, /* composed and not */
        {"CAFE", "2", "2"},
        {"xyz", "3", "3"}, /* a mark that FTS5 does not know */
        {"\xe0\xa4\xb9\xe0\xa4\xbf\xe0\xa4\xa8\xe0\xa5\x8d\xe0\xa4\xa6\xe0\xa5\x80", "4",
         "4"}, /* signs of vowels are part of the word */
        {"\xe0\xa4\xa8", "", ""},
        {"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "5", "5"},         /* without points */
        {"\xd0\xb7\xd0\xb0\xd0\xbc\xd0\xbe\xd0\xba", "6", "6"}, /* without the stress */
        {"\xd0\xbc\xd0\xbe\xd0\xb8", "", ""},                   /* a letter of its own stays one */
        {"\xd0\xbc\xd0\xbe\xd0\xb9", "6", "6"},
        {"zusammenarbeit", "7", "7"}, /* a soft hyphen */
        {"finden", "7", "7"},         /* a ligature */
        {"\xce\xbf\xce\xb4\xcf\x85\xcf\x83\xcf\x83\xce\xb5\xcf\x85\xcf\x83", "8", "8"},
        {"\xd9\x85\xd8\xad\xd9\x85\xd8\xaf", "9", "9"},
        {"\xed\x95\x9c\xea\xb8\x80\xeb\x82\xa0", "10", "10"},
        {"\xef\xb8\x8f", "", ""},
        {"istanbul", "12", "12"},
        {"ras", "", "1"}, /* within the sharp s */
    };
    put_text(c, 1,
             "{'t':'die Stra\xc3\x9f"
             "e'}");
    put_text(c, 2, "{'t':'cafe\xcc\x81'}");
    put_text(c, 3, "{'t':'x\xcc\x85y\xcc\x85z'}");
    put_text(
        c, 4,
        "{'t':'\xe0\xa4\xb9\xe0\xa4\xbf\xe0\xa4\xa8\xe0\xa5\x8d\xe0\xa4\xa6\xe0\xa5\x80 \xe0\xa4\xad\xe0\xa4\xbe\xe0\xa4\xb7\xe0\xa4\xbe'}");
    put_text(c, 5, "{'t':'\xd7\xa9\xd6\xb8\xd7\x81\xd7\x9c\xd7\x95\xd6\xb9\xd7\x9d'}");
    put_text(c, 6,
             "{'t':'\xd0\xb7\xd0\xb0\xcc\x81\xd0\xbc\xd0\xbe\xd0\xba \xd0\xbc\xd0\xbe\xd0\xb9'}");
    put_text(c, 7,
             "{'t':'Zusammen\xc2\xad"
             "arbeit \xef\xac\x81nden'}");
    put_text(c, 8, "{'t':'\xce\x9f\xce\xb4\xcf\x85\xcf\x83\xcf\x83\xce\xb5\xcf\x8d\xcf\x82'}");
    put_text(c, 9, "{'t':'\xd9\x85\xd9\x8f\xd8\xad\xd9\x8e\xd9\x85\xd9\x8e\xd9\x91\xd8\xaf'}");
    put_text(
        c, 10,
        "{'t':'\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab\xe1\x84\x80\xe1\x85\xb3\xe1\x86\xaf\xe1\x84\x82\xe1\x85\xa1\xe1\x86\xaf'}");
    put_text(c, 11, "{'t':'I \xe2\x9d\xa4\xef\xb8\x8f you'}");
    put_text(c, 12, "{'t':'\xc4\xb0stanbul'}");
    create_index(c, "w PREFIX ['b'] TEXT 1 t");
    create_index(c, "g PREFIX ['b'] TEXT 1 t TOKENIZE trigram");
    create_index(c, "p PREFIX ['b'] TEXT 1 t TOKENIZE porter");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        finds(c, rows[i].words, "w %s", rows[i].query);
        finds(c, rows[i].words, "p %s", rows[i].query);
        finds(c, rows[i].trigram, "g %s", rows[i].query);
    }
    /* What is shown is the text as it was written, and whole characters of it are marked. */
    expect(c,
           "[[* [t die <Stra\xc3\x9f"
           "e>]]]",
           "KV.SEARCH w strasse HIGHLIGHT < >");
    expect(c, "[[* [t die St<ra\xc3\x9f>e]]]", "KV.SEARCH g ras HIGHLIGHT < >");
    expect(c, "[[* [t <x\xcc\x85y\xcc\x85z>]]]", "KV.SEARCH w xyz HIGHLIGHT < >");
    expect(c,
           "[[* [t <Zusammen\xc2\xad"
           "arbeit>...]]]",
           "KV.SEARCH w zusammenarbeit HIGHLIGHT < > SNIPPET 1");
}

/* ---- results --------------------------------------------------------------------------------- */

static void limit_and_offset_count_what_passes_the_filter(void **state)
{
    char wanted[300] = "";
    char all[300] = "";
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    for (int i = 100; i < 200; i++) {
        expect(c, "@", "KV.SET ['b',%d] {'t':'word%s','n':%d}", i, i % 2 == 0 ? " x" : "", i % 10);
    }
    finds(c, "* * * * * * * * * *", "b word"); /* ten, if one does not say */
    redisReply *r = ask_reply(c, "KV.SEARCH b word LIMIT 10000");
    assert_int_equal(r->elements, 100);
    freeReplyObject(r);
    for (int i = 3; i < 100; i += 10) sprintf(wanted + strlen(wanted), " %d", 100 + i);
    finds(c, wanted + 1, "b word WHERE {'n':3} LIMIT 100");
    finds(c, wanted + 1, "b word WHERE {'n':3}"); /* before the limit */
    for (int i = 0; i < 10; i += 3) {
        r = ask_reply(c, "KV.SEARCH b word OFFSET %d LIMIT 3 WHERE {'n':3}", i);
        sprintf(all + strlen(all), " %s", key_tails(r, false));
    }
    r = ask_reply(c, "KV.SEARCH b word WHERE {'n':3} LIMIT 10");
    assert_string_equal(all + 1, key_tails(r, false)); /* pages, one after the other */
    finds(c, "", "b word WHERE {'n':3} OFFSET 10");
    finds(c, "", "b word WHERE {'n':3} OFFSET 9223372036854775807");
    finds(c, "", "b word WHERE {'n':77}");
    finds(c, "", "b x WHERE {'n':3}");
}

/* The best are the shortest, with the lowest numbers: what is asked for is far down, behind more
 * than are kept at first. */
static void what_is_left_of_thousands_is_found(void **state)
{
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    for (int i = 1000; i < 3500; i++) {
        char filler[40] = "";
        for (int k = 1000; k < i; k += 250) strcat(filler, " y");
        expect(c, "@", "KV.SET ['b',%d] {'t':'word%s','n':%d} PX %d", i, filler, i,
               i < 1100 ? 1 : 2000000000);
    }
    ranks(c, "1100 1101 1102", "b word LIMIT 3");
    ranks(c, "1102", "b word LIMIT 1 OFFSET 2");
    ranks(c, "3490 3491 3492 3493", "b word WHERE {'n':{'$gte':3490}} LIMIT 4");
    ranks(c, "3498 3499", "b word WHERE {'n':{'$gte':3490}} OFFSET 8");
    ranks(c, "1100 3499", "b word WHERE {'n':{'$in':[1050,1100,3499]}}");
    ranks(c, "3499", "b word OFFSET 2399");
    ranks(c, "", "b word OFFSET 2400");
}

static void the_best_come_first(void **state)
{
    char score[3][40];
    create_index(c, "b PREFIX ['b'] TEXT 2 t u");
    put_text(c, 1, "{'t':'dog among many other words that make it long and dull to read'}");
    put_text(c, 2, "{'t':'dog dog dog'}");
    put_text(c, 3, "{'t':'dog','u':'fox'}");
    put_text(c, 4, "{'t':'a short fox'}");
    for (int i = 5; i < 20; i++) put_text(c, i, "{'t':'something else'}");
    ranks(c, "2 3 1", "b dog");
    ranks(c, "3 *", "b %s", "dog OR fox"); /* rarer words count more, both more than one */
    redisReply *r = ask_reply(c, "KV.SEARCH b dog WITHSCORES");
    double last = 1e9;
    for (size_t i = 0; i < 3; i++) {
        char *end = NULL;
        snprintf(score[i], sizeof score[i], "%s", hit_member(r, i, 3)->str);
        double n = strtod(score[i], &end);
        assert_int_equal(*end, '\0');
        assert_true(n > 0 && n < last);
        last = n;
    }
    freeReplyObject(r);
    r = ask_reply(c, "KV.SEARCH b dog OFFSET 1 LIMIT 1 WITHSCORES");
    assert_string_equal(hit_member(r, 0, 3)->str, score[1]);
    freeReplyObject(r);
}

static void options_may_come_in_any_order(void **state)
{
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    put_text(c, 1, "{'t':'word'}");
    expect(c, "[[['b',1] {'t':'word'} @]]", "KV.SEARCH b word");
    expect(c, "[[['b',1] {'t':'word'} @ *.* [t <word>]]]",
           "kv.search b word highlight < > where {} offset 0 withscores snippet 5 limit 1");
    expect(c, "[]", "KV.SEARCH b word LIMIT 1 OFFSET 1");
}

/* With an option that adds something there is all of it: a score and texts, however few. */
static void a_hit_with_more_has_five_members(void **state)
{
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    put_text(c, 1, "{'t':'word'}");
    expect(c, "[[['b',1] {'t':'word'} @ *.* []]]", "KV.SEARCH b word WITHSCORES");
    expect(c, "[[['b',1] {'t':'word'} @ *.* [t <word>]]]", "KV.SEARCH b word HIGHLIGHT < >");
    expect(c, "[[['b',1] {'t':'word'} @ *.* [t word]]]", "KV.SEARCH b word SNIPPET 3");
}

static void texts_are_shown_with_marks_and_in_pieces(void **state)
{
    static const struct {
        const char *args;
        const char *wanted;
    } rows[] = {
        {"dog HIGHLIGHT <b> </b>", "[title The lazy <b>dog</b>]"},
        {"dog* HIGHLIGHT <b> </b>", "[title The lazy <b>dog</b> tags <b>dogs</b>, sleep]"},
        {"tags:dog* HIGHLIGHT [ ]", "[tags [dogs], sleep]"},
        {"LAZY HIGHLIGHT * *", "[title The *lazy* dog author.name Mr *Lazy*]"},
        {"dog SNIPPET 2 HIGHLIGHT < >", "[title ...lazy <dog>]"},
        {"sleep SNIPPET 1 HIGHLIGHT < >", "[tags *<sleep>]"},
        {"the SNIPPET 1", "[title The...]"},
        {"the SNIPPET 64", "[title The lazy dog]"},
    };
    put_text(c, 1, "{'title':'The lazy dog','tags':['dogs','sleep'],'author':{'name':'Mr Lazy'}}");
    create_index(c, "b PREFIX ['b'] TEXT 3 title tags author.name");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char command[200];
        char wanted[200];
        snprintf(command, sizeof command, "KV.SEARCH b %s WITHSCORES", rows[i].args);
        snprintf(wanted, sizeof wanted, "[[['b',1] {*} @ *.* %s]]", rows[i].wanted);
        expect(c, wanted, command);
    }
    redisReply *r = ask_reply(c, "KV.SEARCH b %s HIGHLIGHT %s %s WITHSCORES", "\"lazy dog\"", "",
                              "\xff'); --");
    assert_string_equal(hit_member(r, 0, 4)->element[1]->str, "The lazy dog\xff'); --");
    freeReplyObject(r);
    /* Long texts: the piece in which most is found. */
    char text[1200] = "";
    for (int i = 0; i < 100; i++) strcat(text, i == 50 ? "needle in the haystack " : "straw ");
    strcat(text, "needle");
    expect(c, "@", "KV.SET ['b',2] %s", with_quotes("{'title':'dull'}"));
    redisReply *set = redisCommand(c, "KV.SET [\"b\",3] {\"title\":\"%s\"}", text);
    assert_int_equal(set->type, REDIS_REPLY_STRING);
    freeReplyObject(set);
    expect(c, "[[['b',3] * @ *.* [title ...*<needle> in the <haystack>*...]]]",
           "KV.SEARCH b %s WITHSCORES SNIPPET 8 HIGHLIGHT < >", "needle haystack");
}

static void a_mark_is_shown_byte_for_byte_or_refused(void **state)
{
    create_index(c, "b PREFIX ['b'] TEXT 1 title");
    put_text(c, 1, "{'title':'The lazy dog'}");
    redisReply *r = ask_reply(c, "KV.SEARCH b dog HIGHLIGHT %b > WITHSCORES", "<\0", (size_t)2);
    if (r->type != REDIS_REPLY_ERROR) {
        const redisReply *shown = hit_member(r, 0, 4)->element[1];
        assert_int_equal(shown->len, sizeof "The lazy <\0dog>" - 1);
        assert_memory_equal(shown->str, "The lazy <\0dog>", shown->len);
    }
    freeReplyObject(r);
}

static void wrong_options_are_refused(void **state)
{
    static const struct {
        const char *args;
        const char *wanted;
    } rows[] = {
        {"LIMIT 0", "-ERR LIMIT must be between 1 and 10000, not 0"},
        {"LIMIT 10001", "-ERR LIMIT must be between 1 and 10000, not 10001"},
        {"LIMIT x", "-ERR value is not an integer or out of range: LIMIT 'x'"},
        {"LIMIT", "-ERR syntax error: LIMIT needs an argument"},
        {"OFFSET -1", "-ERR OFFSET must be between 0 and *"},
        {"OFFSET 9223372036854775808", "-ERR value is not an integer or out of range: OFFSET *"},
        {"SNIPPET 0", "-ERR SNIPPET must be between 1 and 64, not 0"},
        {"SNIPPET 65", "-ERR SNIPPET must be between 1 and 64, not 65"},
        {"HIGHLIGHT <", "-ERR syntax error: HIGHLIGHT needs an argument"},
        {"HIGHLIGHT", "-ERR syntax error: HIGHLIGHT needs an argument"},
        {"WITHSCORES WITHSCORES", "-ERR syntax error: 'WITHSCORES' is a duplicate*"},
        {"LIMIT 1 LIMIT 1", "-ERR syntax error: 'LIMIT' is a duplicate*"},
        {"CURSOR 0", "-ERR syntax error: unexpected 'CURSOR'"},
        {"WHERE", "-ERR syntax error: WHERE needs an argument"},
        {"WHERE {", "-ERR where: *"},
        {"WHERE {'t':{'$like':'x'}}", "-ERR where: t: unknown operator $like"},
    };
    static const struct {
        const char *args;
        const char *wanted;
    } creations[] = {
        {"b PREFIX ['b'] TEXT 1 t", "-ERR index 'b' already exists"},
        {"i PREFIX ['b'] TEXT 0 t", "-ERR TEXT must be between 1 and 16, not 0*"},
        {"i PREFIX ['b'] TEXT 17 t", "-ERR TEXT must be between 1 and 16, not 17*"},
        {"i PREFIX ['b'] TEXT 2 t", "-ERR syntax error: TEXT needs an argument*"},
        {"i PREFIX ['b'] TEXT 2 t t", "-ERR duplicate path 't'"},
        {"i PREFIX ['b'] TEXT 1 a..b", "-ERR invalid path 'a..b': *"},
        {"i PREFIX b TEXT 1 t", "-ERR invalid key: *"},
        {"i PREFIX ['b'] TEXT 1 t UNIQUE", "-ERR syntax error: UNIQUE needs ON, not TEXT"},
        {"i PREFIX ['b'] ON 1 t TOKENIZE porter", "-ERR syntax error: TOKENIZE needs TEXT, not ON"},
        {"i PREFIX ['b'] TEXT 1 t ON 1 u", "-ERR syntax error: an index needs either *"},
        {"i TEXT 4 t u v w", "-ERR syntax error: KV.INDEX CREATE needs PREFIX *"},
        {"i PREFIX ['b'] TEXT 1 t TOKENIZE", "-ERR syntax error: TOKENIZE needs an argument"},
        {"i PREFIX ['b'] TEXT 1 t TOKENIZE words",
         "-ERR TOKENIZE must be unicode61, porter, ascii or trigram, not 'words'"},
        {"i START ['b'] TEXT 1 t", "-ERR syntax error: *"},
    };
    create_index(c, "b PREFIX ['b'] TEXT 1 t");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char command[200];
        snprintf(command, sizeof command, "KV.SEARCH b word %s", rows[i].args);
        expect(c, rows[i].wanted, command);
    }
    for (size_t i = 0; i < sizeof creations / sizeof *creations; i++) {
        char command[200];
        snprintf(command, sizeof command, "KV.INDEX CREATE %s", creations[i].args);
        expect(c, creations[i].wanted, command);
    }
    expect(c, "-ERR invalid index name: *", "KV.INDEX CREATE %s PREFIX ['b'] TEXT 1 t", "a b");
    expect(c, "-ERR invalid index name: *", "KV.INDEX CREATE %b PREFIX ['b'] TEXT 1 t", "a\0", 2);
    expect(c, "-ERR wrong number of arguments for 'kv.search' command; usage: KV.*", "KV.SEARCH b");
    expect(c, ":0", "KV.INDEX DROP i");
    expect(c, "[b]", "KV.INDEX LIST");
}

static void replies_in_resp3_and_messagepack(void **state)
{
    int fd = raw_connect(server);
    const char hello[] = "HELLO 3\r\nKV.FORMAT MSGPACK\r\n";
    create_index(c, "b PREFIX ['b'] TEXT 2 t u");
    put_text(c, 1, "{'t':'a dog','u':'dog'}");
    raw_send(fd, hello, sizeof hello - 1);
    while (strcmp(raw_line(fd), "modules") != 0) continue;
    raw_expect(fd, "*0\r\n+OK\r\n");
    const char search[] = "KV.SEARCH b dog WITHSCORES HIGHLIGHT < >\r\n";
    raw_send(fd, search, sizeof search - 1);
    raw_expect(fd, "*1\r\n*5\r\n$4\r\n\x92\xa1"
                   "b\x01\r\n$15\r\n\x82\xa1t\xa5"
                   "a dog\xa1u\xa3"
                   "dog\r\n");
    assert_int_equal(strlen(raw_bulk(fd)), 20);
    assert_true(strtod(raw_bulk(fd), NULL) > 0);
    raw_expect(fd, "%2\r\n$1\r\nt\r\n$7\r\na <dog>\r\n$1\r\nu\r\n$5\r\n<dog>\r\n");
    const char info[] = "KV.INDEX INFO b\r\n";
    raw_send(fd, info, sizeof info - 1);
    raw_expect(
        fd,
        "%9\r\n$4\r\nname\r\n$1\r\nb\r\n$4\r\ntype\r\n$4\r\ntext\r\n$6\r\nprefix\r\n"
        "$3\r\n\x91\xa1"
        "b\r\n$6\r\nhashes\r\n_\r\n$5\r\npaths\r\n*2\r\n$1\r\nt\r\n$1\r\nu\r\n$8\r\ntokenize\r\n"
        "$9\r\nunicode61\r\n$5\r\nstate\r\n$5\r\nready\r\n$7\r\npercent\r\n:100\r\n"
        "$5\r\nerror\r\n_\r\n");
    const char none[] = "KV.SEARCH b cat\r\nKV.SEARCH b cat:dog\r\n";
    raw_send(fd, none, sizeof none - 1);
    raw_expect(fd, "*0\r\n-ERR query: unknown path 'cat' at offset 0; ");
    close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, group_leave)
    const struct CMUnitTest tests[] = {
        TEST(words_phrases_beginnings_and_operators),
        TEST(a_wrong_query_says_what_and_where),
        TEST(what_no_person_types_does_no_harm),
        TEST(the_text_of_every_kind_of_value),
        TEST(paths_lead_into_objects_and_arrays),
        TEST(the_first_megabyte_is_indexed),
        TEST(a_prefix_is_whole_parts),
        TEST(overlapping_indexes_are_kept_each_for_itself),
        TEST(tokenizers_say_what_a_word_is),
        TEST(letters_are_folded_in_texts_and_in_queries),
        TEST(limit_and_offset_count_what_passes_the_filter),
        TEST(what_is_left_of_thousands_is_found),
        TEST(the_best_come_first),
        TEST(options_may_come_in_any_order),
        TEST(a_hit_with_more_has_five_members),
        TEST(texts_are_shown_with_marks_and_in_pieces),
        TEST(a_mark_is_shown_byte_for_byte_or_refused),
        TEST(wrong_options_are_refused),
        TEST(replies_in_resp3_and_messagepack),
    };
    return cmocka_run_group_tests(tests, start, group_stop);
}
