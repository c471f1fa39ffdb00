/* key_value: users with unique names, in a database inside of this program. Shows set, get, a
 * transaction with checks, and a page of entries.
 *
 *   cc key_value.c $(pkg-config --cflags --libs libtupled) && ./a.out /tmp/some-directory
 */
#include <stdio.h>
#include <tupled_db.h>

static int fail(const char *what, const struct tupled_error *e)
{
    fprintf(stderr, "%s: %s %s\n", what, e->code, e->text);
    return 1;
}

/* The name is taken only if it is free; user and count are written with it, or nothing is. */
static int add_user(struct tupled_db *db, int id, const char *name)
{
    char by_name[64];
    char user[64];
    char value[64];
    char number[16];
    struct tupled_commit commit;
    struct tupled_error e;
    snprintf(by_name, sizeof by_name, "[\"by_name\",\"%s\"]", name);
    snprintf(user, sizeof user, "[\"users\",%d]", id);
    snprintf(value, sizeof value, "{\"name\":\"%s\"}", name);
    snprintf(number, sizeof number, "%d", id);

    struct tupled_atomic *a = tupled_atomic_new();
    tupled_atomic_check(a, tupled_text(by_name), NULL);
    tupled_atomic_set(a, tupled_text(by_name), tupled_text(number));
    tupled_atomic_set(a, tupled_text(user), tupled_text(value));
    tupled_atomic_sum(a, tupled_text("[\"count\"]"), tupled_text("1"));
    int outcome = tupled_atomic_commit(db, a, &commit, &e);
    tupled_atomic_free(a);
    if (outcome < 0) return fail("commit", &e);
    if (outcome == TUPLED_NO) printf("%s: the name is taken\n", name);
    if (outcome == TUPLED_YES) printf("%s: added\n", name);
    return 0;
}

static int show(struct tupled_db *db)
{
    struct tupled_error e;
    struct tupled_entry *count = NULL;
    struct tupled_page *page = NULL;
    struct tupled_range range = {.prefix = tupled_text("[\"users\"]"), .limit = 10};
    if (tupled_list(db, &range, &page, &e) < 0) return fail("list", &e);
    for (size_t i = 0; i < page->count; i++) {
        printf("%s = %s\n", (const char *)page->entries[i].key.data,
               (const char *)page->entries[i].value.data);
    }
    tupled_free(page);
    if (tupled_get(db, tupled_text("[\"count\"]"), &count, &e) < 0) return fail("get", &e);
    printf("count: %s\n", count != NULL ? (const char *)count->value.data : "none");
    tupled_free(count);
    return 0;
}

int main(int argc, char **argv)
{
    struct tupled_db *db = NULL;
    struct tupled_error e;
    if (argc != 2) return fprintf(stderr, "usage: key_value <directory>\n"), 1;
    if (tupled_open(argv[1], NULL, &db, &e) < 0) return fail("open", &e);
    int status = add_user(db, 1, "ada");
    if (status == 0) status = add_user(db, 2, "grace");
    if (status == 0) status = add_user(db, 3, "ada");
    if (status == 0) status = show(db);
    if (tupled_close(db, &e) < 0) return fail("close", &e);
    return status;
}
