/* docs/commands.md says what the table says. `test_manual --write` writes it (`make docs`). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "command/command.h"
#include "command/manual.h"

#define MANUAL_FILE "docs/commands.md"

static void read_manual(struct buf *out)
{
    uint8_t bytes[4096];
    size_t n;
    FILE *file = fopen(MANUAL_FILE, "r");
    if (file == NULL) fail_msg("no %s: run make docs", MANUAL_FILE);
    while ((n = fread(bytes, 1, sizeof bytes, file)) > 0) buf_append(out, bytes, n);
    fclose(file);
}

static void the_manual_is_that_of_the_table(void **state)
{
    struct buf made;
    struct buf there;
    buf_init(&made);
    buf_init(&there);
    manual_write(&made);
    read_manual(&there);
    size_t line = 1;
    size_t at = 0;
    while (at < made.len && at < there.len && made.data[at] == there.data[at]) {
        line += made.data[at++] == '\n';
    }
    if (at < made.len || at < there.len) {
        fail_msg("%s is another from line %zu on: run make docs", MANUAL_FILE, line);
    }
    buf_fini(&made);
    buf_fini(&there);
}

static void every_command_is_in_the_manual(void **state)
{
    struct buf made;
    buf_init(&made);
    manual_write(&made);
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

static int write_manual(void)
{
    struct buf made;
    buf_init(&made);
    manual_write(&made);
    FILE *file = fopen(MANUAL_FILE, "w");
    bool is_written = file != NULL && fwrite(made.data, 1, made.len, file) == made.len;
    is_written = file != NULL && fclose(file) == 0 && is_written;
    if (!is_written) perror(MANUAL_FILE);
    buf_fini(&made);
    return is_written ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_manual_is_that_of_the_table),
        cmocka_unit_test(every_command_is_in_the_manual),
    };
    if (argc == 2 && strcmp(argv[1], "--write") == 0) return write_manual();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
