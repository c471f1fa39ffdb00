/* manual: goes over the table of commands group by group, and over the table of error codes, and
 * writes Markdown and C of them. */
#include "command/catalog/manual.h"

#include <ctype.h>

#include "request/describe.h"
#include "request/keys.h"

/* In this order; a group that is not here follows by its own name. */
static const struct {
    const char *group, *title;
} titles[] = {
    {"kv", "Tuples and values"},     {"transactions", "Transactions"}, {"string", "Strings"},
    {"generic", "Keys of any type"}, {"connection", "Connections"},    {"server", "Server"},
    {"cluster", "Cluster"},
};
#define TITLE_COUNT (sizeof titles / sizeof titles[0])

static const char introduction[] =
    "# Commands\n\n`make docs` writes this page from the table of commands. `COMMAND DOCS` and "
    "`COMMAND INFO`\nreturn the same information.\n\nWords in upper case are keywords, and may be "
    "sent in any case. Words in lower case are\narguments. `[x]` is optional, `<A | B>` is one of "
    "the alternatives, `[A | B]` at most one of\nthem, `x [x ...]` one or more, `[x ...]` any "
    "number. Options may be given in any order;\n`FORMAT` and `IDEM` go where they are shown. "
    "`FORMAT JSON` may be `FORMAT JSON BARE`\n([formats](formats.md), "
    "[transactions](transactions.md)).\n\nThe arity counts the words of a command, including its "
    "name. If it is negative, that is the\nleast number of words.\n\nThe examples run in "
    "`redis-cli`, with the prompt `>`, in an empty database. `...` stands for\noutput that "
    "varies.\n";

static void write_upper(struct buf *out, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        buf_append_byte(out, *p == '|' ? ' ' : (uint8_t)toupper((unsigned char)*p));
    }
}

static void write_words(struct buf *out, const char *name, const struct words *words)
{
    if (words->count == 0) return;
    buf_printf(out, "; %s:", name);
    for (size_t i = 0; i < words->count; i++) buf_printf(out, " %s", words->items[i]);
}

static void write_key_flags(struct buf *out, unsigned flags)
{
    unsigned flag = 0;
    const char *before = " (";
    for (size_t i = 0; key_flag_name(i, &flag) != NULL; i++) {
        if ((flags & flag) == 0) continue;
        buf_printf(out, "%s%s", before, key_flag_name(i, &flag));
        before = " ";
    }
    buf_append_str(out, ")");
}

static void write_key_words(struct buf *out, const struct key_spec *s)
{
    if (s->place == KEYS_COUNTED) {
        buf_printf(out, "the words counted by word %d", s->first);
    } else if (s->first == s->last) {
        buf_printf(out, "word %d", s->first);
    } else {
        buf_printf(out, "%s words from %d on", s->step == 1 ? "all" : "every second of the",
                   s->first);
        if (s->last == -2) buf_append_str(out, " but the last");
        if (s->last < -2) buf_printf(out, " but the last %d", -1 - s->last);
    }
}

static void write_keys(struct buf *out, const struct command *c, const struct syntax_args *args)
{
    struct syntax_args numbered = *args;
    struct key_spec specs[KEY_SPECS_MAX];
    size_t count = key_specs(c, &numbered, specs);
    if (count == 0) return;
    bool is_same = true; /* what becomes of all of them */
    for (size_t i = 1; i < count; i++) is_same = is_same && specs[i].flags == specs[0].flags;
    buf_append_str(out, "; keys:");
    for (size_t i = 0; i < count; i++) {
        buf_append_str(out, i > 0 ? ", " : " ");
        if (specs[i].place == KEYS_UNKNOWN) {
            buf_append_str(out, "among the arguments");
        } else if (specs[i].place == KEYS_KEYWORD) {
            buf_printf(out, "after %s", specs[i].keyword);
        } else {
            write_key_words(out, &specs[i]);
        }
        if (!is_same) write_key_flags(out, specs[i].flags);
    }
    if (is_same) write_key_flags(out, specs[0].flags);
}

static void write_command(struct buf *out, struct arena *arena, const struct command *parent,
                          const struct command *c)
{
    const char *name = command_full_name(parent, c, arena);
    const char *syntax = command_syntax(c, arena);
    struct syntax_args args;
    struct words words;
    command_arguments(c, arena, &args);
    buf_append_str(out, "\n### ");
    write_upper(out, name);
    buf_append_str(out, "\n\n    ");
    write_upper(out, name);
    buf_printf(out, "%s%s\n\n%s\n", syntax[0] != '\0' ? " " : "", syntax, c->summary);
    if (c->reply != NULL) buf_printf(out, "\nReply: %s\n", c->reply);
    buf_printf(out, "\nSince %s; arity %d", command_since(c), command_arity(c));
    write_keys(out, c, &args);
    command_flag_words(parent, c, &args, &words);
    write_words(out, "flags", &words);
    command_categories(parent, c, arena, &words);
    write_words(out, "ACL", &words);
    buf_append_str(out, ".\n");
}

static bool is_titled(const char *group)
{
    for (size_t i = 0; i < TITLE_COUNT; i++) {
        if (strcmp(titles[i].group, group) == 0) return true;
    }
    return false;
}

static void write_group(struct buf *out, struct arena *arena, const char *group, const char *title)
{
    bool is_first = true;
    for (size_t i = 0; i < command_count(); i++) {
        const struct command *c = command_table[i];
        if (strcmp(c->group, group) != 0) continue;
        if (is_first) buf_printf(out, "\n## %s\n", title);
        is_first = false;
        /* A container that is nothing by itself is described by its subcommands. */
        if (c->run != NULL) write_command(out, arena, NULL, c);
        for (size_t k = 0; k < subcommand_count(c); k++) {
            write_command(out, arena, c, c->subcommands[k]);
        }
    }
}

void manual_write(struct buf *out)
{
    struct arena arena;
    arena_init(&arena, 4096);
    buf_append_str(out, introduction);
    for (size_t i = 0; i < TITLE_COUNT; i++) {
        write_group(out, &arena, titles[i].group, titles[i].title);
    }
    for (size_t i = 0; i < command_count(); i++) {
        const char *group = command_table[i]->group;
        bool is_written = is_titled(group);
        for (size_t k = 0; k < i && !is_written; k++) {
            is_written = strcmp(command_table[k]->group, group) == 0;
        }
        if (!is_written) write_group(out, &arena, group, group);
    }
    arena_fini(&arena);
}

/* ---- error codes ---- */

void manual_write_codes(struct buf *out)
{
    buf_append_str(out, "| code | when | what to do |\n| --- | --- | --- |\n");
    for (const struct error_code *c = error_codes; c->word != NULL; c++) {
        buf_printf(out, "| `%s` | %s | %s |\n", c->word, c->when, c->advice);
    }
}

#define COLUMNS_MAX 100

/* Words of `text`, in lines of a comment that has reached `column`. The result is the new one. */
static size_t write_wrapped(struct buf *out, const char *text, size_t column)
{
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        size_t more = text[len] == '\0' ? 3 : 0; /* the end of the comment may follow */
        if (column + 1 + len + more > COLUMNS_MAX) {
            buf_append_str(out, "\n *");
            column = 2;
        }
        buf_append_byte(out, ' ');
        buf_append(out, text, len);
        column += 1 + len;
        text += len + (text[len] == ' ');
    }
    return column;
}

void manual_write_codes_header(struct buf *out)
{
    for (const struct error_code *c = error_codes; c->word != NULL; c++) {
        buf_append_str(out, "/*");
        size_t column = write_wrapped(out, c->when, 2);
        buf_append_byte(out, '.');
        column = write_wrapped(out, "To do:", column + 1);
        (void)write_wrapped(out, c->advice, column);
        buf_printf(out, " */\n#define TUPLED_%s \"%s\"\n", c->word, c->word);
    }
}
