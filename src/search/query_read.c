/* query_read: the scanner of the query language, one token a call. Quotes, and a colon after the
 * name of a path, decide what a word is; words and prefixes are counted here, as a bound for what
 * FTS5 may have to do. */
#include "search/query_int.h"

#define SHOWN_WORD_BYTES 40
#define SHOWN_PATHS_BYTES 100

void query_bad(struct query_reader *r, enum err code, size_t at, const char *what)
{
    if (r->err != OK) return;
    r->err = error_set(r->e, code, "query: %s at offset %zu", what, at);
    r->token = TOKEN_END;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_letter_or_digit(uint8_t c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c >= 0x80;
}

bool query_is_symbol(const struct query_reader *r)
{
    for (size_t i = 0; i < r->body.len; i++) {
        uint8_t c = r->body.data[i];
        if (r->token == TOKEN_PHRASE ? !is_blank(c) : is_letter_or_digit(c)) return false;
    }
    return true;
}

static size_t skip_blanks(const struct query_reader *r, size_t at)
{
    while (at < r->text.len && is_blank(r->text.data[at])) at++;
    return at;
}

static bool byte_is(const struct query_reader *r, size_t at, char c)
{
    return at < r->text.len && r->text.data[at] == (uint8_t)c;
}

/* The beginning of s, at most `max` bytes, whole characters. */
static struct slice shown(struct slice s, size_t max)
{
    if (s.len <= max) return s;
    while (max > 0 && (s.data[max] & 0xc0) == 0x80) max--;
    return slice_of(s.data, max);
}

static void bad_path(struct query_reader *r, struct slice name)
{
    struct buf paths;
    buf_init(&paths);
    for (size_t i = 0; i < r->path_count; i++) {
        if (i > 0) buf_append_str(&paths, ", ");
        if (i > 0 && paths.len + r->paths[i].len > SHOWN_PATHS_BYTES) {
            buf_append_str(&paths, "...");
            break;
        }
        struct slice path = shown(r->paths[i], SHOWN_PATHS_BYTES);
        buf_append(&paths, path.data, path.len);
    }
    buf_require(&paths);
    name = shown(name, SHOWN_WORD_BYTES);
    if (r->err == OK) {
        r->err = error_set(r->e, ERR_SYNTAX,
                           "query: unknown path '%.*s' at offset %zu; the paths are %.*s; put a "
                           "word with a colon in quotes",
                           (int)name.len, (const char *)name.data, r->token_at, (int)paths.len,
                           (const char *)paths.data);
    }
    r->token = TOKEN_END;
    buf_fini(&paths);
}

/* A path and a colon at `at`: of several the longest. */
static bool read_path(struct query_reader *r)
{
    struct slice rest = slice_of(r->text.data + r->at, r->text.len - r->at);
    size_t longest = 0;
    for (size_t i = 0; i < r->path_count; i++) {
        size_t len = r->paths[i].len;
        if (len <= longest || !slice_has_prefix(rest, r->paths[i])) continue;
        if (!byte_is(r, r->at + len, ':')) continue;
        longest = len;
        r->path = i;
    }
    if (longest == 0) return false;
    r->token = TOKEN_PATH;
    r->at += longest + 1;
    return true;
}

static void count_word(struct query_reader *r)
{
    if (++r->word_count <= QUERY_WORDS_MAX) return;
    if (r->err == OK) {
        r->err = error_set(r->e, ERR_LIMIT, "query: more than %d words", QUERY_WORDS_MAX);
    }
    r->token = TOKEN_END;
}

/* A prefix stands for all words that begin so: FTS5 collects their rows at once, and nothing stops
 * it meanwhile. */
static void count_prefix(struct query_reader *r)
{
    if (!r->is_prefix || ++r->prefix_count <= QUERY_PREFIXES_MAX) return;
    if (r->err == OK) {
        r->err = error_set(r->e, ERR_LIMIT, "query: more than %d prefixes (word*)",
                           QUERY_PREFIXES_MAX);
    }
    r->token = TOKEN_END;
}

static void read_phrase(struct query_reader *r)
{
    size_t from = ++r->at;
    for (;; r->at++) {
        if (r->at >= r->text.len) {
            query_bad(r, ERR_SYNTAX, from - 1, "unterminated quote");
            return;
        }
        if (!byte_is(r, r->at, '"')) continue;
        if (!byte_is(r, r->at + 1, '"')) break;
        r->at++;
    }
    r->token = TOKEN_PHRASE;
    r->body = slice_of(r->text.data + from, r->at - from);
    r->at++;
    r->is_prefix = byte_is(r, r->at, '*');
    if (r->is_prefix) r->at++;
    count_word(r);
    count_prefix(r);
}

/* A word that means something else than itself. */
static enum token keyword(struct query_reader *r)
{
    if (slice_eq(r->body, slice_str("AND"))) return TOKEN_AND;
    if (slice_eq(r->body, slice_str("OR"))) return TOKEN_OR;
    if (slice_eq(r->body, slice_str("NOT"))) return TOKEN_NOT;
    size_t behind = skip_blanks(r, r->at);
    if (slice_eq(r->body, slice_str("NEAR")) && byte_is(r, behind, '(')) {
        r->at = behind + 1;
        return TOKEN_NEAR;
    }
    return TOKEN_WORD;
}

static void read_word(struct query_reader *r)
{
    size_t from = r->at, star = SIZE_MAX, colon = SIZE_MAX;
    for (; r->at < r->text.len; r->at++) {
        uint8_t c = r->text.data[r->at];
        if (is_blank(c) || c == '"' || c == '(' || c == ')' || (c == ',' && r->is_in_near)) break;
        if (c == '*' && star == SIZE_MAX) star = r->at;
        if (c == ':' && colon == SIZE_MAX) colon = r->at;
    }
    if (colon != SIZE_MAX) {
        bad_path(r, slice_of(r->text.data + from, colon - from));
        return;
    }
    r->is_prefix = star != SIZE_MAX;
    if (r->is_prefix && (star == from || star + 1 != r->at)) {
        query_bad(r, ERR_SYNTAX, star, "a '*' that is not at the end of a word or phrase");
        return;
    }
    r->body = slice_of(r->text.data + from, r->at - from - r->is_prefix);
    r->token = r->is_prefix ? TOKEN_WORD : keyword(r);
    if (r->token != TOKEN_WORD) return;
    count_word(r);
    count_prefix(r);
}

void query_next(struct query_reader *r)
{
    r->before = r->token >= TOKEN_AND ? r->token : TOKEN_END;
    r->before_at = r->token_at;
    r->at = skip_blanks(r, r->at);
    r->token_at = r->at;
    r->token = TOKEN_END;
    if (r->err != OK || r->at == r->text.len) return;
    if (!r->is_in_near && read_path(r)) return;
    switch (r->text.data[r->at]) {
    case '(': r->token = TOKEN_OPEN; break;
    case ')': r->token = TOKEN_CLOSE; break;
    case ',': r->token = r->is_in_near ? TOKEN_COMMA : TOKEN_WORD; break;
    case '"': r->token = TOKEN_PHRASE; break;
    default: r->token = TOKEN_WORD;
    }
    if (r->token == TOKEN_WORD) {
        read_word(r);
    } else if (r->token == TOKEN_PHRASE) {
        read_phrase(r);
    } else {
        r->at++;
    }
}
