/* docs/commands.md says what the table of commands says, with the examples of
 * docs/command-examples.txt; docs/protocol.md and include/tupled.h have the error codes of
 * src/base/err.h. `test_manual --write` writes them (`make docs`). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "command/catalog/manual.h"
#include "request/command.h"

static bool are_examples_whole = true; /* each command has one */
static void write_commands(struct buf *out);

/* A file, or the part of it between two lines. */
static const struct part {
    const char *file, *begin, *end; /* NULL = all of it */
    void (*write)(struct buf *out);
} parts[] = {
    {"docs/commands.md", NULL, NULL, write_commands},
    {"docs/protocol.md", "<!-- error codes: written by make docs -->\n",
     "<!-- end of error codes -->\n", manual_write_codes},
    {"include/tupled.h", "/* ---- error codes: written by `make docs` ---- */\n",
     "/* ---- end of error codes ---- */\n", manual_write_codes_header},
};
#define PARTS (sizeof parts / sizeof parts[0])

static void read_file(const char *name, struct buf *out)
{
    uint8_t bytes[4096];
    size_t n;
    FILE *file = fopen(name, "r");
    if (file == NULL) return;
    while ((n = fread(bytes, 1, sizeof bytes, file)) > 0) buf_append(out, bytes, n);
    fclose(file);
}

/* ---- examples ---- */

static struct slice take_line(struct slice *text)
{
    const uint8_t *end = text->len > 0 ? memchr(text->data, '\n', text->len) : NULL;
    size_t len = end != NULL ? (size_t)(end - text->data) : text->len;
    struct slice line = slice_of(text->data, len);
    size_t taken = len < text->len ? len + 1 : len;
    *text = slice_of(text->data + taken, text->len - taken);
    return line;
}

/* The heading of an example, `### NAME`, without what is said in brackets after it. */
static struct slice heading_of(struct slice line)
{
    const uint8_t *bracket = memmem(line.data, line.len, " (", 2);
    return bracket != NULL ? slice_of(line.data, (size_t)(bracket - line.data)) : line;
}

/* Appends the example of the command with this heading. False: there is none. */
static bool add_example(struct slice examples, struct slice heading, struct buf *out)
{
    bool is_in = false;
    bool is_found = false;
    while (examples.len > 0) {
        struct slice line = take_line(&examples);
        if (slice_has_prefix(line, slice_str("### "))) {
            is_in = slice_eq(heading_of(line), heading);
            if (is_in && !is_found) buf_printf(out, "\nExample:\n\n");
            is_found = is_found || is_in;
        } else if (is_in && line.len > 0) {
            buf_printf(out, "    %.*s\n", (int)line.len, (const char *)line.data);
        }
    }
    return is_found;
}

/* What the table says, and after the last line of each command its example. */
static void write_commands(struct buf *out)
{
    struct buf manual;
    struct buf examples;
    struct slice heading = slice_str("");
    buf_init(&manual);
    buf_init(&examples);
    manual_write(&manual);
    read_file("docs/command-examples.txt", &examples);
    struct slice rest = buf_slice(&manual);
    while (rest.len > 0) {
        struct slice line = take_line(&rest);
        buf_printf(out, "%.*s\n", (int)line.len, (const char *)line.data);
        if (slice_has_prefix(line, slice_str("### "))) heading = line;
        if (!slice_has_prefix(line, slice_str("Since ")) || heading.len == 0) continue;
        if (!add_example(buf_slice(&examples), heading, out)) {
            fprintf(stderr, "docs/command-examples.txt has no example of %.*s\n",
                    (int)heading.len - 4, (const char *)heading.data + 4);
            are_examples_whole = false;
        }
        heading = slice_str("");
    }
    buf_fini(&manual);
    buf_fini(&examples);
}

/* The file as it must be: what is there, with the part as it is written. False: it has no such part.
 */
static bool make_file(const struct part *p, const struct buf *there, struct buf *made)
{
    if (p->begin == NULL) {
        p->write(made);
        return true;
    }
    const uint8_t *from = memmem(there->data, there->len, p->begin, strlen(p->begin));
    const uint8_t *to = memmem(there->data, there->len, p->end, strlen(p->end));
    if (from == NULL || to == NULL || to < from) return false;
    buf_append(made, there->data, (size_t)(from - there->data) + strlen(p->begin));
    p->write(made);
    buf_append(made, to, there->len - (size_t)(to - there->data));
    return true;
}

static void what_is_written_is_that_of_the_tables(void **state)
{
    for (size_t i = 0; i < PARTS; i++) {
        struct buf made;
        struct buf there;
        buf_init(&made);
        buf_init(&there);
        read_file(parts[i].file, &there);
        if (!make_file(&parts[i], &there, &made)) fail_msg("%s has no part for it", parts[i].file);
        size_t line = 1;
        size_t at = 0;
        while (at < made.len && at < there.len && made.data[at] == there.data[at]) {
            line += made.data[at++] == '\n';
        }
        if (at < made.len || at < there.len) {
            fail_msg("%s is another from line %zu on: run make docs", parts[i].file, line);
        }
        buf_fini(&made);
        buf_fini(&there);
    }
}

static void every_command_is_in_the_manual_with_an_example(void **state)
{
    struct buf made;
    buf_init(&made);
    write_commands(&made);
    assert_true(are_examples_whole);
    buf_append_byte(&made, 0);
    for (size_t i = 0; i < command_count(); i++) {
        char heading[100];
        const struct command *c = command_table[i];
        size_t n = (size_t)snprintf(heading, sizeof heading, "\n### %s", c->name);
        for (size_t k = 0; k < n; k++) {
            if (heading[k] >= 'a' && heading[k] <= 'z') heading[k] = (char)(heading[k] - 32);
        }
        if (strstr((const char *)made.data, heading) == NULL) fail_msg("no %s", c->name);
    }
    buf_fini(&made);
}

static bool write_file(const struct part *p)
{
    struct buf made;
    struct buf there;
    buf_init(&made);
    buf_init(&there);
    read_file(p->file, &there);
    bool is_written = make_file(p, &there, &made);
    FILE *file = is_written ? fopen(p->file, "w") : NULL;
    is_written = file != NULL && fwrite(made.data, 1, made.len, file) == made.len;
    is_written = file != NULL && fclose(file) == 0 && is_written;
    if (!is_written) perror(p->file);
    buf_fini(&made);
    buf_fini(&there);
    return is_written;
}

static int write_all(void)
{
    int status = 0;
    for (size_t i = 0; i < PARTS; i++) status |= !write_file(&parts[i]);
    return status;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_that_of_the_tables),
        cmocka_unit_test(every_command_is_in_the_manual_with_an_example),
    };
    if (argc == 2 && strcmp(argv[1], "--write") == 0) return write_all();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
