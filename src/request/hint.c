/* hint: see hint.h. The usual mistakes: a shell has taken the double quotes, a string is no JSON,
 * a key is written as in Redis, a word stands in the wrong place.
 */
#include "request/hint.h"
#include "request/numbers.h"

#include <ctype.h>

#define TEXT_MAX 4096
#define WORD_MAX 40 /* longer ones are not shown as an example */

/* Could it be typed at a prompt, and be shown inside quotes? */
static bool is_plain(struct slice arg)
{
    if (arg.len == 0 || arg.len > WORD_MAX) return false;
    for (size_t i = 0; i < arg.len; i++) {
        uint8_t c = arg.data[i];
        if (c < 0x20 || c > 0x7e || c == '"' || c == '\'' || c == '\\') return false;
    }
    return true;
}

/* JSON with letters and without a quote: {name:Ada}. */
static bool has_lost_quotes(struct slice arg)
{
    bool has_letter = false;
    if (arg.len > TEXT_MAX) return false; /* it was not typed by hand */
    for (size_t i = 0; i < arg.len; i++) {
        if (arg.data[i] == '"') return false;
        has_letter = has_letter || isalpha(arg.data[i]);
    }
    return has_letter;
}

/* One part of a key as in Redis: a number if it is one that stays the same. */
static void add_part(struct buf *out, struct slice part)
{
    uint64_t n = 0;
    bool is_number = part.len < 16 && slice_to_u64(part, &n) &&
                     (part.len == 1 || part.data[0] != '0');
    if (out->len > 1) buf_append_byte(out, ',');
    if (!is_number) buf_append_byte(out, '"');
    buf_append(out, part.data, part.len);
    if (!is_number) buf_append_byte(out, '"');
}

/* users:1 as ["users",1]. */
static void add_tuple(struct buf *out, struct slice arg)
{
    size_t from = 0;
    buf_append_byte(out, '[');
    for (size_t i = 0; i <= arg.len; i++) {
        if (i < arg.len && arg.data[i] != ':' && arg.data[i] != '/') continue;
        if (i > from) add_part(out, slice_of(arg.data + from, i - from));
        from = i + 1;
    }
    buf_append_byte(out, ']');
}

void hint_key(struct request *rq, struct slice arg)
{
    struct buf *tuple = rq->scratch;
    uint8_t first = arg.len > 0 ? arg.data[0] : 0;
    if (rq->error.code != ERR_KEY || hint_misplaced(rq, arg)) return;
    if (first == '[') {
        if (!has_lost_quotes(arg) || strstr(rq->error.text, "expected") == NULL) return;
        error_add(&rq->error, "; did the shell remove the double quotes? Write '[\"users\",1]'");
        return;
    }
    if (strstr(rq->error.text, "MessagePack array") == NULL) return;
    buf_clear(tuple, SIZE_MAX);
    if (is_plain(arg)) add_tuple(tuple, arg);
    if (tuple->len <= 2) {
        error_add(&rq->error, ", such as [\"users\",1], in a shell '[\"users\",1]'");
        return;
    }
    int len = (int)tuple->len;
    const char *text = (const char *)tuple->data;
    error_add(&rq->error, "; write [%.*s, in a shell '[%.*s'", len - 1, text + 1, len - 1,
              text + 1);
}

void hint_value(struct request *rq, struct slice arg)
{
    bool is_nested = arg.len > 0 && (arg.data[0] == '{' || arg.data[0] == '[');
    if (rq->error.code != ERR_VALUE) return;
    if (is_nested && has_lost_quotes(arg)) {
        error_add(&rq->error, "; did the shell remove the double quotes? Write "
                              "'{\"name\":\"Ada\"}'");
    } else if (!is_nested && is_plain(arg)) {
        int len = (int)arg.len;
        const char *text = (const char *)arg.data;
        error_add(&rq->error, "; values are JSON: a string is \"%.*s\", in a shell '\"%.*s\"'", len,
                  text, len, text);
    }
}

bool hint_misplaced(struct request *rq, struct slice word)
{
    const struct command *c = rq->command;
    bool takes_idem = (c->flags & CMD_IDEM) != 0;
    if ((c->flags & CMD_FORMAT) == 0) return false;
    if (slice_is_word(word, "FORMAT")) {
        (void)error_set(&rq->error, ERR_SYNTAX,
                        "syntax error: FORMAT JSON [BARE] or FORMAT MSGPACK must be the last words "
                        "of the command%s",
                        takes_idem && (c->flags & CMD_IDEM_FIRST) == 0 ? ", before IDEM id" : "");
        return true;
    }
    if (!slice_is_word(word, "IDEM")) return false;
    if (!takes_idem) {
        (void)error_set(&rq->error, ERR_SYNTAX,
                        "syntax error: unexpected 'IDEM'; %s does not support it", c->name);
    } else {
        (void)error_set(&rq->error, ERR_SYNTAX,
                        "syntax error: IDEM id must be the %s arguments of %s",
                        (c->flags & CMD_IDEM_FIRST) != 0 ? "first" : "last", c->name);
    }
    return true;
}

/* Some other words of the same argument may be wrong too: those have errors of their own. */
static bool is_about_count(const char *text)
{
    static const char *const signs[] = {"needs an argument", "not an integer", "must be between"};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (strstr(text, signs[i]) != NULL) return true;
    }
    return false;
}

void hint_count(struct request *rq, const char *what, const char *example)
{
    if (rq->error.code != ERR_SYNTAX || !is_about_count(rq->error.text)) return;
    error_add(&rq->error, "; the number of %s must come first: %s", what, example);
}

bool hint_number(struct request *rq, struct slice word)
{
    (void)word;
    (void)error_set(&rq->error, ERR_SYNTAX, "wrong number of arguments for '%s' command",
                    numbers_name(number_of(rq->command)));
    return true;
}
