/* watch: a program with a loop of its own, which the database is a part of: no thread of the library
 * makes callbacks, this program's does. Shows a watch, calls with a callback, and tupled_turn.
 *
 *   cc watch.c $(pkg-config --cflags --libs libtupled) && ./a.out /tmp/some-directory
 */
#include <poll.h>
#include <stdio.h>
#include <tupled_db.h>

#define WRITES 3

struct state {
    int told, written, failed;
};

static int fail(const char *what, const struct tupled_error *e)
{
    fprintf(stderr, "%s: %s %s\n", what, e->code, e->text);
    return 1;
}

static void on_change(void *arg, const struct tupled_change *change, const struct tupled_error *e)
{
    struct state *s = arg;
    s->told++;
    if (change == NULL) {
        s->failed = fail("watch", e);
        return;
    }
    printf("changed: %s = %s\n", (const char *)change->key.data,
           change->value.data != NULL ? (const char *)change->value.data : "nothing");
}

static void on_written(void *arg, int outcome, const char *stamp, const struct tupled_error *e)
{
    struct state *s = arg;
    s->written++;
    if (outcome < 0) s->failed = fail("set", e);
    if (outcome > 0) printf("written: %s\n", stamp);
}

int main(int argc, char **argv)
{
    struct tupled_db *db = NULL;
    struct tupled_watch *watch = NULL;
    struct tupled_options options;
    struct tupled_error e;
    struct state s = {0};
    if (argc != 2) return fprintf(stderr, "usage: watch <directory>\n"), 1;
    tupled_options_init(&options);
    options.is_driven = 1;
    if (tupled_open(argv[1], &options, &db, &e) < 0) return fail("open", &e);
    if (tupled_watch_prefix(db, tupled_text("[\"sensor\"]"), on_change, &s, &watch, &e) < 0) {
        return fail("watch", &e);
    }
    for (int i = 0; i < WRITES; i++) {
        char key[32];
        snprintf(key, sizeof key, "[\"sensor\",%d]", i);
        (void)tupled_set_async(db, tupled_text(key), tupled_text("{\"degrees\":21.5}"), NULL,
                               on_written, &s);
    }
    /* The loop: whatever else the program waits for comes into the same poll. */
    while (s.failed == 0 && (s.written < WRITES || s.told < WRITES)) {
        struct pollfd p = {.fd = tupled_fd(db), .events = POLLIN};
        if (poll(&p, 1, 10000) == 0) break;
        while (tupled_turn(db, &e) == TUPLED_YES) continue;
    }
    printf("%d written, %d told\n", s.written, s.told);
    tupled_unwatch(watch);
    if (tupled_close(db, &e) < 0) return fail("close", &e);
    return s.failed;
}
