/* words: the command line of tupledctl, and its help. Options may stand anywhere after the name of
 * the program; `--` ends them. A value follows its option or stands in the same word: --prefix P,
 * --prefix=P.
 */
#include <stdio.h>

#include "tool/tool.h"

const struct tool_option tool_options[] = {
    {"--url", 'u', "URL", "URL of the server (default: TUPLEDCTL_URL, or redis://127.0.0.1:6379)"},
    {"--db", 0, "NAME", "database, by name or number (default: that of the URL, or 0)"},
    {"--password-file", 0, "FILE",
     "file with the password in its first line (default: TUPLEDCTL_PASSWORD)"},
    {"--timeout", 0, "SECONDS", "seconds to wait for a connection (default: 5)"},
    {"--cacert", 0, "FILE", "TLS: CA certificates for the server (default: those of the system)"},
    {"--cert", 0, "FILE", "TLS: client certificate"},
    {"--key", 0, "FILE", "TLS: its private key (default: in the same file)"},
    {"--tls-name", 0, "NAME", "TLS: name in the server's certificate (default: the host)"},
    {"--insecure", 0, NULL, "TLS: do not verify the server's certificate"},
    {"--json", 0, NULL, "print JSON, for programs"},
    {"--progress", 0, NULL, "show progress even without a terminal"},
    {"--quiet", 'q', NULL, "no progress, no warnings"},
    {"--yes", 'y', NULL, "do not ask for confirmation"},
    {"--help", 'h', NULL, "show this help; after a subcommand, show its help"},
    {"--version", 0, NULL, "the version"},
    {.name = NULL},
};

/* ---- help ------------------------------------------------------------------------------------ */

static void words_help_options(const struct tool_option *o)
{
    for (; o != NULL && o->name != NULL; o++) {
        char letter[8] = "    ";
        char name[64];
        if (o->letter != 0) snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(name, sizeof name, "%s%s%s", o->name, o->value != NULL ? " " : "",
                 o->value != NULL ? o->value : "");
        printf("  %s%-24s %s\n", letter, name, o->help);
    }
}

void tool_help_all(const struct tool_command *table)
{
    printf("usage: tupledctl [option ...] <subcommand> [argument ...]\n       tupledctl help "
           "<subcommand>\n\nManages a tupled server. Subcommands:\n\n");
    for (const struct tool_command *c = table; c->name != NULL; c++) {
        printf("  %-10s %s\n", c->name, c->summary);
    }
    printf("\nOptions of all subcommands:\n\n");
    words_help_options(tool_options);
    printf("\nExit status: 0 success; 1 the server refused the request, or data is damaged;\n2 "
           "invalid arguments; 3 no connection, or it was lost.\n");
}

void tool_help_of(const struct tool_command *c)
{
    if (c->actions == NULL) {
        printf("usage: tupledctl %s%s%s\n\n%s.\n", c->name, c->synopsis[0] != '\0' ? " " : "",
               c->synopsis, c->summary);
    } else {
        printf("usage: tupledctl %s <action> [argument ...]\n\n%s.\n\nActions:\n\n", c->name,
               c->summary);
        for (const struct tool_command *a = c->actions; a->name != NULL; a++) {
            char words[64];
            snprintf(words, sizeof words, "%s %s", a->name, a->synopsis);
            printf("  %-28s %s\n", words, a->summary);
        }
    }
    if (c->help != NULL) printf("\n%s", c->help);
    if (c->options != NULL) {
        printf("\nOptions:\n\n");
        words_help_options(c->options);
    }
    printf("\nOptions of all subcommands: tupledctl --help\n");
}

/* ---- reading --------------------------------------------------------------------------------- */

const struct tool_command *tool_find(const struct tool_command *table, const char *name)
{
    for (; table != NULL && table->name != NULL; table++) {
        if (strcmp(table->name, name) == 0) return table;
    }
    return NULL;
}

static bool words_is_option(const struct tool_option *o, const char *word, size_t len)
{
    if (word[1] != '-') return len == 2 && o->letter != 0 && word[1] == o->letter;
    return strlen(o->name) == len && memcmp(o->name, word, len) == 0;
}

static const struct tool_option *words_option(const struct tool *t, const char *word, size_t len)
{
    const struct tool_option *own = t->command != NULL ? t->command->options : NULL;
    for (; own != NULL && own->name != NULL; own++) {
        if (words_is_option(own, word, len)) return own;
    }
    for (const struct tool_option *o = tool_options; o->name != NULL; o++) {
        if (words_is_option(o, word, len)) return o;
    }
    return NULL;
}

static enum tool_status words_take_option(struct tool *t, int argc, char **argv, int *i)
{
    const char *word = argv[*i];
    const char *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    size_t len = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const struct tool_option *o = words_option(t, word, len);
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (o == NULL) {
        return tool_fail(
            TOOL_WORDS, "unknown option %.*s%s%s. tupledctl %s%s lists the options", (int)len, word,
            t->command != NULL ? " of " : "", t->command != NULL ? t->command->name : "",
            t->command != NULL ? "help " : "--help", t->command != NULL ? t->command->name : "");
    }
    if (o->value == NULL && value != NULL) {
        return tool_fail(TOOL_WORDS, "%s takes no value", o->name);
    }
    if (o->value != NULL && value == NULL) {
        if (*i + 1 >= argc)
            return tool_fail(TOOL_WORDS, "%s %s: the value is missing", o->name, o->value);
        value = argv[++*i];
    }
    t->given[t->given_count++] = (struct tool_given){.option = o, .value = value};
    return TOOL_DONE;
}

static enum tool_status words_take(struct tool *t, const struct tool_command *table,
                                   const char *word)
{
    if (t->command != NULL) {
        t->words[t->word_count++] = word;
        return TOOL_DONE;
    }
    t->command = tool_find(table, word);
    if (t->command != NULL) return TOOL_DONE;
    return tool_fail(TOOL_WORDS, "unknown subcommand %s. tupledctl --help lists the subcommands",
                     word);
}

/* The action, and how many words may follow. */
static enum tool_status words_end(struct tool *t)
{
    const struct tool_command *c = t->command;
    t->action = c;
    if (c->actions != NULL) {
        t->action = t->word_count == 0 ? c->actions : tool_find(c->actions, t->words[0]);
        if (t->action == NULL) {
            return tool_fail(TOOL_WORDS,
                             "unknown action: tupledctl %s %s. tupledctl help %s lists the actions",
                             c->name, t->words[0], c->name);
        }
        if (t->word_count > 0) {
            t->words++;
            t->word_count--;
        }
    }
    const struct tool_command *a = t->action;
    if (t->word_count >= a->words_min && t->word_count <= a->words_max) return TOOL_DONE;
    return tool_fail(TOOL_WORDS, "too %s arguments; usage: tupledctl %s%s%s %s",
                     t->word_count < a->words_min ? "few" : "many", c->name, a == c ? "" : " ",
                     a == c ? "" : a->name, a->synopsis);
}

enum tool_status tool_words_read(struct tool *t, const struct tool_command *table, int argc,
                                 char **argv)
{
    bool options_end = false;
    t->given = arena_alloc(&t->arena, (size_t)argc * sizeof *t->given);
    t->words = arena_alloc(&t->arena, (size_t)argc * sizeof *t->words);
    for (int i = 1; i < argc; i++) {
        enum tool_status status = TOOL_DONE;
        bool is_option = !options_end && argv[i][0] == '-' && argv[i][1] != '\0';
        if (is_option && strcmp(argv[i], "--") == 0) {
            options_end = true;
        } else if (is_option) {
            status = words_take_option(t, argc, argv, &i);
        } else {
            status = words_take(t, table, argv[i]);
        }
        if (status != TOOL_DONE) return status;
    }
    t->is_json = tool_has(t, "--json");
    t->is_quiet = tool_has(t, "--quiet");
    t->shows_progress = tool_has(t, "--progress");
    if (t->command == NULL || tool_has(t, "--help") || tool_wants_version(t)) return TOOL_DONE;
    return words_end(t);
}

/* ---- what was given -------------------------------------------------------------------------- */

/* `restore` has an option of that name, with a value. */
bool tool_wants_version(const struct tool *t)
{
    return tool_has(t, "--version") && tool_text(t, "--version") == NULL;
}

const char *tool_text_at(const struct tool *t, const char *option, size_t nth)
{
    for (size_t i = 0; i < t->given_count; i++) {
        if (strcmp(t->given[i].option->name, option) == 0 && nth-- == 0) return t->given[i].value;
    }
    return NULL;
}

const char *tool_text(const struct tool *t, const char *option)
{
    for (size_t i = t->given_count; i-- > 0;) {
        if (strcmp(t->given[i].option->name, option) == 0) return t->given[i].value;
    }
    return NULL;
}

bool tool_has(const struct tool *t, const char *option)
{
    for (size_t i = 0; i < t->given_count; i++) {
        if (strcmp(t->given[i].option->name, option) == 0) return true;
    }
    return false;
}

enum tool_status tool_number(const struct tool *t, const char *option, int64_t min, int64_t max,
                             int64_t *value)
{
    const char *text = tool_text(t, option);
    int64_t number = 0;
    if (text == NULL) return TOOL_DONE;
    if (!slice_to_i64(slice_str(text), &number) || number < min || number > max) {
        return tool_fail(TOOL_WORDS, "%s %s: must be a number from %lld to %lld", option, text,
                         (long long)min, (long long)max);
    }
    *value = number;
    return TOOL_DONE;
}
