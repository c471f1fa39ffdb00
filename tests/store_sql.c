/* store_sql: `store_sql FILE SQL...`: runs SQL on a tupled.db that no server has open, as the store
 * would: each page that is written gets its checksum. Rows are printed, columns with | between
 * them. So that a test can plant what is wrong in good pages.
 */
#include <stdio.h>

#include "backend/local/store_int.h"

#define CACHE_BYTES (4u << 20)

static int print_row(void *arg, int count, char **values, char **names)
{
    (void)arg;
    (void)names;
    for (int i = 0; i < count; i++) {
        printf("%s%s", i == 0 ? "" : "|", values[i] == NULL ? "NULL" : values[i]);
    }
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    struct error e = {.text = ""};
    sqlite3 *db = NULL;
    if (argc < 3) {
        fprintf(stderr, "store_sql FILE SQL...\n");
        return 2;
    }
    struct vfs *vfs = vfs_open(&e);
    enum err r = vfs == NULL ? ERR_IO : store_connect(vfs, argv[1], CACHE_BYTES, true, &db, &e);
    for (int i = 2; r == OK && i < argc; i++) {
        int rc = sqlite3_exec(db, argv[i], print_row, NULL, NULL);
        r = store_error(&e, db, rc, "run the statement");
    }
    if (r != OK) fprintf(stderr, "store_sql: %s\n", e.text);
    int closed = sqlite3_close(db);
    if (closed == SQLITE_OK) vfs_close(vfs);
    return r == OK && closed == SQLITE_OK ? 0 : 1;
}
