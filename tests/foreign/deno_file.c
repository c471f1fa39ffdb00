/* deno_file: a file of SQLite for tests, made of the statements on standard input.
 *
 *   deno_file <path> [leave]
 *
 * `leave`: as a program that was killed leaves it, with a -wal beside it that has what is new. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES_MAX ((size_t)16 << 20)

int main(int argc, char **argv)
{
    char *text = malloc(BYTES_MAX);
    char *why = NULL;
    sqlite3 *db = NULL;
    if (argc < 2 || text == NULL) return 2;
    size_t len = fread(text, 1, BYTES_MAX - 1, stdin);
    text[len] = '\0';
    int r = sqlite3_open(argv[1], &db);
    if (r == SQLITE_OK) r = sqlite3_exec(db, text, NULL, NULL, &why);
    if (r != SQLITE_OK) fprintf(stderr, "deno_file: %s\n", why != NULL ? why : sqlite3_errmsg(db));
    free(text);
    if (argc > 2 && strcmp(argv[2], "leave") == 0) _exit(r != SQLITE_OK);
    sqlite3_free(why);
    sqlite3_close(db);
    return r != SQLITE_OK;
}
