/* config: from the command line and files to settings. The table and the values are
 * config_table.c's.
 *
 * A line is `name word ...`; blank lines and lines whose first byte after blanks is # mean nothing.
 * An error says where: "<file>: line N: >>> '<text>': <what is wrong>", or "--name: <what is
 * wrong>".
 */
#include "server/config.h"

#include <glob.h>
#include <stdio.h>
#include <strings.h>

#include "base/file.h"
#include "base/mem.h"
#include "command/admin/redis_settings.h"

#define INCLUDE_DEPTH_MAX 8

/* How much of a name or a line an error repeats: the reason after it must still fit. */
#define SHOWN_BYTES 56

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The byte that an escape in double quotes stands for; *at is its backslash and moves to its last
 * byte. */
static uint8_t unescape(struct slice line, size_t *at)
{
    const uint8_t *p = line.data + *at;
    size_t left = line.len - *at;
    if (left >= 4 && p[1] == 'x' && hex_digit(p[2]) >= 0 && hex_digit(p[3]) >= 0) {
        *at += 3;
        return (uint8_t)(hex_digit(p[2]) * 16 + hex_digit(p[3]));
    }
    *at += 1;
    switch (p[1]) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'b': return '\b';
    case 'a': return '\a';
    default: return p[1];
    }
}

/* One word from *at, which is no blank; false for unbalanced quotes or a byte after a closing
 * quote. */
static bool split_word(struct slice line, size_t *at, struct buf *text)
{
    uint8_t quote = 0;
    for (size_t i = *at; i < line.len; i++) {
        uint8_t c = line.data[i];
        if (quote == 0) {
            if (is_blank(c)) {
                *at = i;
                return true;
            }
            if (c == '"' || c == '\'') {
                quote = c;
            } else {
                buf_append_byte(text, c);
            }
        } else if (c == '\\' && quote == '"' && i + 1 < line.len) {
            buf_append_byte(text, unescape(line, &i));
        } else if (c == '\\' && quote == '\'' && i + 1 < line.len && line.data[i + 1] == '\'') {
            buf_append_byte(text, '\'');
            i++;
        } else if (c == quote) {
            *at = i + 1;
            return *at == line.len || is_blank(line.data[*at]);
        } else {
            buf_append_byte(text, c);
        }
    }
    *at = line.len;
    return quote == 0;
}

enum err config_split(struct slice line, struct buf *text, struct slice *words, size_t words_max,
                      size_t *count, struct error *e)
{
    buf_clear(text, SIZE_MAX);
    /* No word is longer than its source: text does not move while words point into it. */
    if (buf_reserve(text, line.len + 1) == NULL) return error_set(e, ERR_NOMEM, "line too long");
    *count = 0;
    size_t at = 0;
    for (;;) {
        while (at < line.len && is_blank(line.data[at])) at++;
        if (at == line.len) return OK;
        if (*count == words_max) return error_set(e, ERR_SYNTAX, "more than %zu words", words_max);
        size_t start = text->len;
        if (!split_word(line, &at, text)) return error_set(e, ERR_SYNTAX, "unbalanced quotes");
        words[(*count)++] = slice_of(text->data + start, text->len - start);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

struct loading {
    struct config *c;
    int depth;      /* of includes */
    bool is_placed; /* the error says already where it is */
};

static enum err load_file(struct loading *l, const char *path, struct error *e);

/* `include path`: relative to the working directory; a pattern may match nothing, a plain file must
 * exist. */
static enum err load_include(struct loading *l, const struct slice *words, size_t count,
                             struct error *e)
{
    if (count != 1 || words[0].len == 0 || memchr(words[0].data, 0, words[0].len) != NULL) {
        return error_set(e, ERR_SYNTAX, "include takes one path");
    }
    if (l->depth >= INCLUDE_DEPTH_MAX) {
        return error_set(e, ERR_SYNTAX, "includes are nested more than %d deep", INCLUDE_DEPTH_MAX);
    }
    l->depth++;
    struct buf path;
    buf_init(&path);
    buf_append(&path, words[0].data, words[0].len);
    buf_append_byte(&path, '\0');
    const char *text = (const char *)path.data;
    enum err r = OK;
    if (strpbrk(text, "*?[") == NULL) {
        r = load_file(l, text, e);
    } else {
        glob_t found;
        int g = glob(text, 0, NULL, &found);
        for (size_t i = 0; g == 0 && r == OK && i < found.gl_pathc; i++) {
            r = load_file(l, found.gl_pathv[i], e);
        }
        if (g == 0) globfree(&found);
        if (g != 0 && g != GLOB_NOMATCH) r = error_set(e, ERR_IO, "cannot search for %s", text);
    }
    buf_fini(&path);
    l->depth--;
    return r;
}

/* `user name rule ...`: any number of words, none with a blank. */
static enum err add_user(struct config *c, const struct slice *words, size_t count, struct error *e)
{
    if (count == 0) return error_set(e, ERR_SYNTAX, "user needs a name and rules");
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; at < words[i].len; at++) {
            if (words[i].data[at] > ' ') continue;
            return error_set(e, ERR_SYNTAX,
                             "a rule must not contain spaces; write a password with a space as "
                             "#<its SHA-256>");
        }
    }
    config_add_user(c, words, count);
    return OK;
}

/* A default port that is taken is passed over; one that was asked for is not. */
static enum err set_said(struct config *c, size_t i, const struct slice *words, size_t count,
                         struct error *e)
{
    enum err r = config_set(c, i, words, count, e);
    if (r == OK && i == config_find(slice_str("http-port"))) c->http_port_is_said = true;
    return r;
}

static void pass_over(struct config *c, const struct redis_setting *s)
{
    struct buf lines;
    buf_init(&lines);
    if (c->passed_over != NULL) buf_append_str(&lines, c->passed_over);
    buf_printf(&lines, "%s: %s\n", s->name, s->why);
    buf_append_byte(&lines, '\0');
    buf_require(&lines);
    mem_free(c->passed_over);
    c->passed_over = memcpy(mem_alloc(lines.len), lines.data, lines.len);
    buf_fini(&lines);
}

/* One that is not of this server: one of Redis is passed over when it asks for no more than there
 * is. */
static enum err set_unknown(struct config *c, struct slice name, const struct slice *words,
                            size_t count, struct error *e)
{
    const struct redis_setting *s = redis_setting_find(name);
    if (s == NULL) return error_set(e, ERR_SYNTAX, "unknown setting");
    if (!redis_setting_is_harmless(s, words, count)) {
        return error_set(e, ERR_SYNTAX, "this value of a Redis setting is not supported: %s",
                         s->why);
    }
    pass_over(c, s);
    return OK;
}

static enum err load_words(struct loading *l, const struct slice *words, size_t count,
                           struct error *e)
{
    if (slice_is_word(words[0], "INCLUDE")) return load_include(l, words + 1, count - 1, e);
    if (slice_is_word(words[0], "USER")) return add_user(l->c, words + 1, count - 1, e);
    if (count > CONFIG_WORDS_MAX) {
        return error_set(e, ERR_SYNTAX, "more than %d words", CONFIG_WORDS_MAX);
    }
    size_t i = config_find(words[0]);
    if (i == config_count()) return set_unknown(l->c, words[0], words + 1, count - 1, e);
    return set_said(l->c, i, words + 1, count - 1, e);
}

static struct slice trim(struct slice line)
{
    while (line.len > 0 && is_blank(line.data[0])) line = slice_of(line.data + 1, line.len - 1);
    while (line.len > 0 && is_blank(line.data[line.len - 1])) line.len--;
    return line;
}

/* Of a line that says a password, however badly, only the name. */
static struct slice shown_part(struct slice line)
{
    struct slice name = line;
    if (name.len > 0 && (name.data[0] == '"' || name.data[0] == '\'')) {
        name = slice_of(name.data + 1, name.len - 1);
    }
    if (name.len > 4 && slice_is_word(slice_of(name.data, 4), "USER"))
        return slice_of(name.data, 4);
    for (size_t i = 0; i < config_count(); i++) {
        size_t len = strlen(config_name(i));
        if (!config_is_secret(i) || name.len < len) continue;
        struct slice begin = slice_of(name.data, len);
        if (config_find(begin) == i) return begin;
    }
    return line;
}

/* Put the place before an error's text. */
static enum err error_place(struct error *e, enum err code, const char *path, size_t line_number,
                            struct slice line)
{
    struct error inner = *e;
    line = shown_part(line);
    size_t path_len = strlen(path);
    bool is_long = path_len > SHOWN_BYTES;
    int shown = (int)(line.len < SHOWN_BYTES ? line.len : SHOWN_BYTES);
    return error_set(e, code, "%s%s: line %zu: >>> '%.*s%s': %s", is_long ? "..." : "",
                     is_long ? path + path_len - SHOWN_BYTES : path, line_number, shown,
                     (const char *)line.data, line.len > SHOWN_BYTES ? "..." : "", inner.text);
}

static enum err load_text(struct loading *l, const char *path, struct slice text, struct error *e)
{
    struct slice *words = mem_new(CONFIG_USER_WORDS_MAX * sizeof *words);
    struct buf word_text;
    enum err r = OK;
    buf_init(&word_text);
    size_t line_number = 0;
    while (r == OK && text.data != NULL && text.len > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.len);
        size_t len = end == NULL ? text.len : (size_t)(end - text.data) + 1;
        struct slice line = trim(slice_of(text.data, len));
        text = slice_of(text.data + len, text.len - len);
        line_number++;
        if (line.len == 0 || line.data[0] == '#') continue;
        size_t count = 0;
        r = config_split(line, &word_text, words, CONFIG_USER_WORDS_MAX, &count, e);
        if (r == OK) r = load_words(l, words, count, e);
        if (r != OK && !l->is_placed) r = error_place(e, r, path, line_number, line);
        l->is_placed = r != OK;
    }
    buf_fini(&word_text);
    mem_free(words);
    return r;
}

enum err config_load_text(struct config *c, const char *path, struct slice text, struct error *e)
{
    struct loading l = {.c = c};
    return load_text(&l, path, text, e);
}

/* A pipe has no size to ask for: read to the end. */
static enum err read_stdin(struct buf *out, struct error *e)
{
    for (int byte = getchar(); byte != EOF; byte = getchar()) {
        if (out->len == CONFIG_FILE_BYTES_MAX) {
            return error_set(e, ERR_LIMIT, "standard input is larger than %zu bytes",
                             CONFIG_FILE_BYTES_MAX);
        }
        buf_append_byte(out, (uint8_t)byte);
    }
    if (ferror(stdin)) return error_set(e, ERR_IO, "cannot read standard input");
    return OK;
}

static enum err load_file(struct loading *l, const char *path, struct error *e)
{
    struct buf text;
    buf_init(&text);
    bool is_stdin = l->depth == 0 && strcmp(path, "-") == 0;
    enum err r = is_stdin ? read_stdin(&text, e)
                          : file_read_all(path, &text, CONFIG_FILE_BYTES_MAX, e);
    if (r == OK && text.is_failed) r = error_set(e, ERR_NOMEM, "out of memory to read %s", path);
    if (r == OK) r = load_text(l, is_stdin ? "standard input" : path, buf_slice(&text), e);
    buf_fini(&text);
    return r;
}

/* ---- command line ---------------------------------------------------------------------------- */

static bool is_option(const char *arg)
{
    return arg[0] == '-' && arg[1] == '-';
}

/* --help and --version ask for that alone. */
static enum config_action action_of(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) return CONFIG_SHOW_HELP;
        if (strcmp(argv[i], "--version") == 0) return CONFIG_SHOW_VERSION;
    }
    if (argc == 2 && strcmp(argv[1], "-h") == 0) return CONFIG_SHOW_HELP;
    if (argc == 2 && strcmp(argv[1], "-v") == 0) return CONFIG_SHOW_VERSION;
    return CONFIG_RUN;
}

/* `--name word ...`: the words reach to the next option. Returns how many arguments it took in
 * *used. */
static enum err load_option(struct config *c, int argc, char **argv, int *used, struct error *e)
{
    struct slice words[CONFIG_WORDS_MAX];
    size_t count = 0;
    int at = 1;
    const char *name = argv[0] + 2;
    for (; at < argc && !is_option(argv[at]) && count < CONFIG_WORDS_MAX; at++) {
        words[count++] = slice_str(argv[at]);
    }
    *used = at;
    struct error inner = {.text = ""};
    enum err r = OK;
    size_t i = config_find(slice_str(name));
    if (strcmp(name, "user") == 0) {
        r = add_user(c, words, count, &inner);
    } else if (i == config_count()) {
        r = set_unknown(c, slice_str(name), words, count, &inner);
    } else {
        r = set_said(c, i, words, count, &inner);
    }
    if (r == OK) return OK;
    return error_set(e, r, "option --%.*s: %s", SHOWN_BYTES, name, inner.text);
}

enum err config_load(struct config *c, int argc, char **argv, struct error *e)
{
    struct error local = {.text = ""};
    if (e == NULL) e = &local;
    c->action = action_of(argc, argv);
    if (c->action != CONFIG_RUN) return OK;
    int at = 1;
    if (argc > 1 && !is_option(argv[1])) {
        if (argv[1][0] == '-' && argv[1][1] != '\0') {
            return error_set(e, ERR_SYNTAX, "unknown option %.*s: options begin with --",
                             SHOWN_BYTES, argv[1]);
        }
        mem_free(c->file);
        size_t bytes = strlen(argv[1]) + 1;
        c->file = mem_alloc(bytes);
        memcpy(c->file, argv[1], bytes);
        struct loading l = {.c = c};
        enum err r = load_file(&l, c->file, e);
        if (r != OK) return r;
        at = 2;
    }
    while (at < argc) {
        if (!is_option(argv[at])) {
            return error_set(e, ERR_SYNTAX, "expected an option instead of '%.*s': --name value",
                             SHOWN_BYTES, argv[at]);
        }
        int used = 0;
        enum err r = load_option(c, argc - at, argv + at, &used, e);
        if (r != OK) return r;
        at += used;
    }
    return OK;
}
