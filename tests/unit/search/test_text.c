/* Tests of text indexes: their description as bytes, and which text of a value is indexed. */
#include "search_help.h"

#include "codec/utf8.h"
#include "codec/value.h"
#include "filter/path.h"

static struct arena arena;
static struct buf bytes, out;
static struct error e;

static int begin(void **state)
{
    arena_init(&arena, 4096);
    buf_init(&bytes);
    buf_init(&out);
    return 0;
}

static int end(void **state)
{
    arena_fini(&arena);
    buf_fini(&bytes);
    buf_fini(&out);
    return 0;
}

static const struct path *path(const char *text)
{
    const struct path *p = NULL;
    if (path_compile(slice_str(text), &arena, &p, &e) != OK) fail_msg("%s", e.text);
    return p;
}

static struct slice value(const char *json)
{
    bytes.len = 0;
    if (value_from_json(slice_str(json), NULL, &bytes, &e) != OK) fail_msg("%s: %s", json, e.text);
    return buf_slice(&bytes);
}

static const char *text_at(const char *where, struct slice v)
{
    struct text_spec spec = {.path_count = 1, .paths = {path(where)}};
    out.len = 0;
    buf_append_byte(&out, '!');
    bool is_there = text_of_path(&spec, 0, v, &out);
    assert_int_equal(is_there, out.len > 1);
    assert_int_equal('!', out.data[0]);
    buf_append_byte(&out, '\0');
    return is_there ? (const char *)out.data + 1 : "(none)";
}

/* The text of a whole value. */
static const char *text_of(const char *json)
{
    return text_at("$", value(json));
}

static const char *show(const char *text)
{
    out.len = 0;
    buf_append_str(&out, text);
    text_show_gaps(&out);
    buf_append_byte(&out, '\0');
    return (const char *)out.data;
}

/* Hex of bytes, to write and to read descriptions. */
static void hex_to(const char *hex, struct buf *to)
{
    to->len = 0;
    for (unsigned byte = 0; sscanf(hex, "%2x", &byte) == 1; hex += 2) {
        buf_append_byte(to, (uint8_t)byte);
        if (hex[2] == '\0') break;
    }
}

static const char *to_hex(struct slice s)
{
    static char hex[2048];
    for (size_t i = 0; i < s.len && i < 1000; i++) snprintf(hex + 2 * i, 3, "%02x", s.data[i]);
    return hex;
}

/* ---- tokenizers and descriptions ---- */

static void tokenizers_have_names_in_any_case(void **state)
{
    enum text_tokenizer t = TOKENIZE_UNICODE61;
    for (unsigned i = 0; i < TOKENIZER_COUNT; i++) {
        const char *name = text_tokenizer_name((enum text_tokenizer)i);
        assert_true(text_tokenizer_find(slice_str(name), &t));
        assert_int_equal(i, t);
    }
    assert_true(text_tokenizer_find(slice_str("TriGram"), &t));
    assert_int_equal(TOKENIZE_TRIGRAM, t);
    assert_false(text_tokenizer_find(slice_str("porter unicode61"), &t));
    assert_false(text_tokenizer_find(slice_str(""), &t));
    assert_int_equal(TOKENIZE_TRIGRAM, t);
    assert_string_equal("folded porter unicode61 remove_diacritics 2 categories ''L* N* Co M*''",
                        text_tokenizer_option(TOKENIZE_PORTER));
}

static void a_description_is_written_and_read(void **state)
{
    struct text_spec spec = {.prefix = slice_of("\x02k\0", 3),
                             .tokenizer = TOKENIZE_PORTER,
                             .path_count = 2,
                             .paths = {path("a.b"), path("$")}};
    struct text_spec again;
    out.len = 0;
    buf_append_byte(&out, '!');
    text_spec_write(&spec, &out);
    struct slice written = slice_of(out.data + 1, out.len - 1);
    assert_string_equal("9401c403026b00a6706f7274657292a3612e62a124", to_hex(written));
    assert_int_equal(OK, text_spec_read(written, &arena, &again, &e));
    memset(out.data, 0xff, out.len); /* nothing of it points there */
    assert_true(slice_eq(spec.prefix, again.prefix));
    assert_int_equal(TOKENIZE_PORTER, again.tokenizer);
    assert_int_equal(2, again.path_count);
    assert_true(slice_eq(slice_str("a.b"), path_text(again.paths[0])));
    assert_true(slice_eq(slice_str("$"), path_text(again.paths[1])));
}

static void a_description_of_sixteen_paths_is_read(void **state)
{
    struct text_spec spec = {.path_count = TEXT_PATHS_MAX}, again;
    for (size_t i = 0; i < TEXT_PATHS_MAX; i++) spec.paths[i] = path("p");
    out.len = 0;
    text_spec_write(&spec, &out);
    assert_int_equal(OK, text_spec_read(buf_slice(&out), &arena, &again, &e));
    assert_int_equal(TEXT_PATHS_MAX, again.path_count);
    assert_int_equal(0, again.prefix.len);
}

static const char *read_error(const char *hex, enum err want)
{
    struct text_spec spec;
    hex_to(hex, &bytes);
    assert_int_equal(want, text_spec_read(buf_slice(&bytes), &arena, &spec, &e));
    assert_int_equal(want, e.code);
    return e.text;
}

static void a_damaged_description_is_an_error(void **state)
{
    static const char good[] = "9401c403026b00a6706f7274657292a3612e62a124";
    struct text_spec spec;
    hex_to(good, &out);
    for (size_t len = 0; len < out.len; len++) {
        assert_int_equal(ERR_CORRUPT, text_spec_read(slice_of(out.data, len), &arena, &spec, &e));
        assert_int_not_equal(0, strlen(e.text));
    }
    assert_int_equal(OK, text_spec_read(buf_slice(&out), &arena, &spec, &e));
    assert_string_equal("text index: bytes after its description",
                        read_error("9401c403026b00a6706f7274657292a3612e62a124c0", ERR_CORRUPT));
    assert_string_equal("text index: its description is damaged", read_error("c0", ERR_CORRUPT));
    assert_string_equal("text index: its description is damaged",
                        read_error("9400c403026b00a6706f7274657291a124", ERR_CORRUPT));
    assert_string_equal("text index: its description is damaged",
                        read_error("9501c403026b00a6706f7274657291a124c0", ERR_CORRUPT));
    assert_string_equal("text index: its tokenizer is unknown",
                        read_error("9401c403026b00a6706f7274657391a124", ERR_CORRUPT));
    assert_string_equal("text index: it has 0 paths",
                        read_error("9401c403026b00a6706f7274657290", ERR_CORRUPT));
    assert_string_equal("text index: it has 4294967295 paths",
                        read_error("9401c403026b00a6706f72746572ddffffffff", ERR_CORRUPT));
    assert_int_equal(OK, text_spec_read(buf_slice(&out), &arena, &spec, &e));
    assert_false(spec.is_of_hashes);
    spec.is_of_hashes = true;
    out.len = 0;
    text_spec_write(&spec, &out);
    assert_string_equal("9402c403026b00a6706f7274657292a3612e62a124", to_hex(buf_slice(&out)));
    assert_int_equal(OK, text_spec_read(buf_slice(&out), &arena, &spec, &e));
    assert_true(spec.is_of_hashes);
    assert_string_equal("text index: a path is damaged",
                        read_error("9401c403026b00a6706f7274657291a0", ERR_CORRUPT));
    assert_string_equal("text index: a path is damaged",
                        read_error("9401c403026b00a6706f7274657291a1ff", ERR_CORRUPT));
    assert_string_equal("text index: its format is newer than this version supports",
                        read_error("9503c0", ERR_FORMAT));
}

/* ---- the text of a value ---- */

static void a_string_is_its_own_text(void **state)
{
    assert_string_equal("lazy dog", text_of("\"lazy dog\""));
    assert_string_equal("caf\xc3\xa9", text_of("\"caf\xc3\xa9\""));
    assert_string_equal("(none)", text_of("\"\""));
}

static void numbers_are_their_digits(void **state)
{
    assert_string_equal("0", text_of("0"));
    assert_string_equal("-42", text_of("-42"));
    assert_string_equal("1.5", text_of("1.5"));
    assert_string_equal("-9007199254740991", text_of("-9007199254740991"));
    assert_string_equal("18446744073709551615", text_of("{\"$u64\":\"18446744073709551615\"}"));
    assert_string_equal("-9223372036854775808", text_of("-9223372036854775808"));
    assert_string_equal("5", text_of("{\"$bigint\":\"5\"}"));
    assert_string_equal("-123456789012345678901234567890",
                        text_of("-123456789012345678901234567890"));
    assert_string_equal("true", text_of("true"));
    assert_string_equal("false", text_of("false"));
    assert_string_equal("NaN", text_of("{\"$number\":\"NaN\"}"));
    assert_string_equal("Infinity", text_of("{\"$number\":\"Infinity\"}"));
    assert_string_equal("-Infinity", text_of("{\"$number\":\"-Infinity\"}"));
    assert_string_equal("1e+300", text_of("1e300"));
}

static void what_is_no_text_is_left_out(void **state)
{
    static const char *const nothing[] = {
        "null",
        "[]",
        "{}",
        "{\"$undefined\":true}",
        "{\"$bytes\":\"aGk=\"}",
        "{\"$date\":\"2023-04-23T00:00:00.000Z\"}",
        "{\"$regexp\":[\"abc\",\"i\"]}",
        "{\"$error\":{\"name\":\"Error\",\"message\":\"no\"}}",
        "{\"$typed\":[\"Uint8Array\",\"aGk=\"]}",
        "{\"$v8\":\"/w9BAiICaGktJAAC\"}",
        "{\"$set\":[]}",
        "{\"$map\":[]}",
        "{\"$id\":1,\"value\":[{\"$ref\":1}]}",
        "[[[\"\",null]],{\"a\":\"\"}]",
    };
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        assert_string_equal("(none)", text_of(nothing[i]));
    }
}

static void containers_are_what_is_in_them(void **state)
{
    assert_string_equal("red" TEXT_GAP "green", text_of("[\"red\",\"green\"]"));
    assert_string_equal("red" TEXT_GAP "green", text_of("[null,\"red\",\"\",[\"green\"],{}]"));
    assert_string_equal("deep" TEXT_GAP "7" TEXT_GAP "true",
                        text_of("{\"nested\":\"deep\",\"n\":[7],\"b\":true}"));
    assert_string_equal("a" TEXT_GAP "2", text_of("{\"$set\":[\"a\",2]}"));
    assert_string_equal("v" TEXT_GAP "w",
                        text_of("{\"$map\":[[\"k\",\"v\"],[{\"$map\":[[1,\"no\"]]},\"w\"]]}"));
    assert_string_equal("v", text_of("{\"$map\":[[\"k\",\"v\"]]}"));
    assert_string_equal("v" TEXT_GAP "w", text_of("{\"$id\":1,\"value\":[\"v\",{\"$id\":2,"
                                                  "\"value\":\"w\"},{\"$ref\":1}]}"));
}

static void a_path_chooses(void **state)
{
    static const char json[] = "{\"name\":\"Ann\",\"a\":{\"b\":[\"x\",\"y\"]},\"n\":null}";
    assert_string_equal("Ann", text_at("name", value(json)));
    assert_string_equal("x" TEXT_GAP "y", text_at("a.b", value(json)));
    assert_string_equal("(none)", text_at("n", value(json)));
    assert_string_equal("(none)", text_at("missing", value(json)));
    assert_string_equal("(none)", text_at("name.b", value(json)));
    struct text_spec spec = {.path_count = 2, .paths = {path("a.b"), path("name")}};
    out.len = 0;
    assert_true(text_of_path(&spec, 1, value(json), &out));
    assert_memory_equal("Ann", out.data, 3);
}

static void a_nul_becomes_a_blank(void **state)
{
    assert_string_equal(" a b ", text_of("\"\\u0000a\\u0000b\\u0000\""));
}

static void the_deepest_value_has_text(void **state)
{
    struct buf json;
    buf_init(&json);
    for (int i = 0; i < VALUE_DEPTH_MAX / 2; i++) buf_append_str(&json, "[{\"a\":");
    buf_append_str(&json, "\"x\"");
    for (int i = 0; i < VALUE_DEPTH_MAX / 2; i++) buf_append_str(&json, "}]");
    buf_append_byte(&json, '\0');
    assert_string_equal("x", text_of((const char *)json.data));
    buf_fini(&json);
}

/* Bytes of the text of [first, "zz", second]: the first of letters of one byte, the second of two.
 */
static size_t text_bytes(size_t first, size_t second)
{
    struct buf json;
    buf_init(&json);
    buf_append_str(&json, "[\"");
    for (size_t i = 0; i < first; i++) buf_append_byte(&json, 'x');
    buf_append_str(&json, "\",\"zz\",\"");
    for (size_t i = 0; i < second; i += 2) buf_append_str(&json, "\xc3\xa9");
    buf_append_str(&json, "\"]");
    buf_append_byte(&json, '\0');
    const char *text = text_of((const char *)json.data);
    buf_fini(&json);
    size_t len = strlen(text);
    assert_int_equal(len, utf8_valid_bytes(slice_of(text, len)));
    return len;
}

static void long_text_is_cut_between_characters(void **state)
{
    const size_t gap = strlen(TEXT_GAP), max = TEXT_BYTES_MAX;
    const size_t room = max - 2 * gap - 2; /* of first and second */
    assert_int_equal(max, text_bytes(room - 4, 4));
    assert_int_equal(max, text_bytes(room - 4, 6));
    assert_int_equal(max - 1, text_bytes(room - 5, 6));
    assert_int_equal(max - 1 - gap, text_bytes(room - 1, 2)); /* and no gap before nothing */
    assert_int_equal(max, text_bytes(max - gap - 2, 2));
    assert_int_equal(max, text_bytes(max - gap - 1, 2));
    assert_int_equal(max - gap, text_bytes(max - gap, 2));
    assert_int_equal(max - 1, text_bytes(max - 1, 2));
    assert_int_equal(max, text_bytes(max, 2));
    assert_int_equal(max, text_bytes(2 * max, max));
    assert_int_equal(max, text_bytes(0, max) + 1); /* half a character of room */
}

static void a_huge_bigint_is_cut(void **state)
{
    struct buf hex;
    buf_init(&hex);
    buf_append_str(&hex, "{\"$bigint\":\"0x");
    for (size_t i = 0; i < 2 * TEXT_BYTES_MAX; i++) buf_append_byte(&hex, 'a');
    buf_append_str(&hex, "\"}");
    buf_append_byte(&hex, '\0');
    assert_int_equal(TEXT_BYTES_MAX, strlen(text_of((const char *)hex.data)));
    buf_fini(&hex);
}

/* ---- gaps ---- */

static void gaps_are_shown_as_commas(void **state)
{
    assert_string_equal("", show(""));
    assert_string_equal("red", show("red"));
    assert_string_equal("red, green, blue", show("red" TEXT_GAP "green" TEXT_GAP "blue"));
    assert_string_equal("<b>red</b>, green", show("<b>red</b>" TEXT_GAP "green"));
    assert_string_equal("..., green", show("...\xee\x80\x80 green"));
    assert_string_equal("red, ...", show("red \xee\x80\x80..."));
    assert_string_equal("icon\xee\x80\x80s \xee\x80\x81 stay",
                        show("icon\xee\x80\x80s \xee\x80\x81 "
                             "stay"));
    assert_string_equal("\xee\x80\x80", show("\xee\x80\x80"));
    assert_string_equal(", ", show(TEXT_GAP));
    assert_string_equal("\xee\x80", show("\xee\x80"));
}

static const char *query_found(sqlite3 *db, const char *query)
{
    struct slice whole = slice_str("p");
    out.len = 0;
    if (query_to_fts5(slice_str(query), &whole, 1, &out, &e) != OK) fail_msg("%s", e.text);
    return table_match(db, buf_slice(&out));
}

static void no_phrase_goes_across_a_gap(void **state)
{
    for (unsigned i = 0; i < TOKENIZER_COUNT; i++) {
        sqlite3 *db = table_open((enum text_tokenizer)i);
        table_add(db, 1, text_of("[\"lazy dog\",\"barks aloud\"]"), NULL, NULL);
        table_add(db, 2, text_of("[\"the lazy\",\"dog\",5]"), NULL, NULL);
        table_add(db, 3, text_of("{\"a\":\"lazy\",\"b\":{\"$set\":[\"dogs\"]}}"), NULL, NULL);
        table_add(db, 4, text_of("\"lazy, dog\""), NULL, NULL);
        bool is_trigram = i == TOKENIZE_TRIGRAM, is_porter = i == TOKENIZE_PORTER;
        bool is_ascii_or_unicode = !is_trigram && !is_porter;
        assert_string_equal(is_ascii_or_unicode ? "1 2 4" : "1 2 3 4", query_found(db, "lazy dog"));
        assert_string_equal(is_trigram ? "1" : "1 4", query_found(db, "\"lazy dog\""));
        assert_string_equal(is_trigram ? "1" : "1 4", query_found(db, "\"lazy dog\"*"));
        assert_string_equal("", query_found(db, "\"dog barks\""));
        assert_string_equal("", query_found(db, "\"dog 5\""));
        assert_string_equal("", query_found(db, "dog-barks"));
        assert_string_equal("", query_found(db, "\"the lazy dog\""));
        assert_string_equal("2", query_found(db, "\"the lazy\""));
        assert_string_equal("1", query_found(db, "\"barks aloud\""));
        sqlite3_close(db);
    }
}

/* The first row of a SELECT with one column. */
static const char *first(sqlite3 *db, const char *text)
{
    static char result[256];
    sqlite3_stmt *select = NULL;
    if (sqlite3_prepare_v2(db, text, -1, &select, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
    }
    assert_int_equal(SQLITE_ROW, sqlite3_step(select));
    snprintf(result, sizeof result, "%s", (const char *)sqlite3_column_text(select, 0));
    sqlite3_finalize(select);
    return result;
}

static void gaps_do_not_disturb_highlights_and_ranks(void **state)
{
    for (unsigned i = 0; i < TOKENIZER_COUNT; i++) {
        sqlite3 *db = table_open((enum text_tokenizer)i);
        table_add(db, 1, text_of("[\"red fox\",\"lazy dog\",\"red hen\"]"), NULL, NULL);
        table_add(db, 2, text_of("\"a red roof and many other words that make this one long\""),
                  NULL, NULL);
        assert_string_equal("[red] fox, lazy dog, [red] hen",
                            show(first(db, "SELECT highlight(t, 0, '[', ']') FROM t WHERE t MATCH "
                                           "'\"red\"' ORDER BY bm25(t)")));
        assert_string_equal("1", first(db, "SELECT count(*) FROM t WHERE t MATCH '\"red\"' AND "
                                           "rowid = 1 AND bm25(t) < 0"));
        assert_string_equal("red fox, [lazy dog], red hen",
                            show(first(db, "SELECT highlight(t, 0, '[', ']') FROM t WHERE t MATCH "
                                           "'\"lazy dog\"'")));
        for (int words = 1; words < 20; words++) { /* which for trigram are characters */
            char text[100];
            snprintf(text, sizeof text,
                     "SELECT snippet(t, 0, '[', ']', '...', %d) FROM t WHERE t MATCH '\"dog\"'",
                     words);
            const char *snippet = show(first(db, text));
            assert_null(strstr(snippet, "\xee\x80\x80"));
            assert_non_null(strstr(snippet, "[dog]"));
        }
        sqlite3_close(db);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokenizers_have_names_in_any_case),
        cmocka_unit_test(a_description_is_written_and_read),
        cmocka_unit_test(a_description_of_sixteen_paths_is_read),
        cmocka_unit_test(a_damaged_description_is_an_error),
        cmocka_unit_test(a_string_is_its_own_text),
        cmocka_unit_test(numbers_are_their_digits),
        cmocka_unit_test(what_is_no_text_is_left_out),
        cmocka_unit_test(containers_are_what_is_in_them),
        cmocka_unit_test(a_path_chooses),
        cmocka_unit_test(a_nul_becomes_a_blank),
        cmocka_unit_test(the_deepest_value_has_text),
        cmocka_unit_test(long_text_is_cut_between_characters),
        cmocka_unit_test(a_huge_bigint_is_cut),
        cmocka_unit_test(gaps_are_shown_as_commas),
        cmocka_unit_test(no_phrase_goes_across_a_gap),
        cmocka_unit_test(gaps_do_not_disturb_highlights_and_ranks),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
