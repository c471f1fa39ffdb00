/* job_queue: two threads take jobs from a queue while the main thread makes them. Each job is
 * acknowledged together with its result: a job is never done without a result, nor a result there
 * twice. If the program is killed, the next run goes on with what is left.
 *
 *   cc job_queue.c $(pkg-config --cflags --libs libtupled) -lpthread && ./a.out /tmp/some-directory
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tupled_db.h>

#define JOBS 20
#define IDLE_MS 300 /* without a job: the worker ends */

static int fail(const char *what, const struct tupled_error *e)
{
    fprintf(stderr, "%s: %s %s\n", what, e->code, e->text);
    return 1;
}

/* The square of a number. */
static int work(struct tupled_db *db, const struct tupled_message *m)
{
    char key[64];
    char result[32];
    struct tupled_error e;
    long n = atol((const char *)m->value.data);
    snprintf(key, sizeof key, "[\"squares\",%ld]", n);
    snprintf(result, sizeof result, "%ld", n * n);
    struct tupled_atomic *a = tupled_atomic_new();
    tupled_atomic_ack(a, m->receipt); /* only if the job is still ours */
    tupled_atomic_set(a, tupled_text(key), tupled_text(result));
    int outcome = tupled_atomic_commit(db, a, NULL, &e);
    tupled_atomic_free(a);
    return outcome < 0 ? fail("commit", &e) : 0;
}

static void *worker(void *arg)
{
    struct tupled_db *db = arg;
    struct tupled_error e;
    for (;;) {
        struct tupled_messages *m = NULL;
        int outcome = tupled_dequeue(db, "numbers", 5, IDLE_MS, &m, &e);
        if (outcome < 0) fail("dequeue", &e);
        if (outcome <= 0) return NULL;
        for (size_t i = 0; i < m->count; i++) {
            if (work(db, &m->items[i]) != 0) exit(1);
        }
        tupled_free(m);
    }
}

int main(int argc, char **argv)
{
    struct tupled_db *db = NULL;
    struct tupled_error e;
    pthread_t threads[2];
    if (argc != 2) return fprintf(stderr, "usage: job_queue <directory>\n"), 1;
    if (tupled_open(argv[1], NULL, &db, &e) < 0) return fail("open", &e);
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, worker, db) != 0) return 1;
    }
    for (int n = 1; n <= JOBS; n++) {
        char value[16];
        snprintf(value, sizeof value, "%d", n);
        if (tupled_enqueue(db, "numbers", tupled_text(value), NULL, NULL, &e) < 0) {
            return fail("enqueue", &e);
        }
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);

    struct tupled_range all = {.prefix = tupled_text("[\"squares\"]"), .limit = 1000};
    struct tupled_page *page = NULL;
    if (tupled_list(db, &all, &page, &e) < 0) return fail("list", &e);
    printf("%zu squares, the last is %s\n", page->count,
           page->count > 0 ? (const char *)page->entries[page->count - 1].value.data : "none");
    tupled_free(page);
    if (tupled_close(db, &e) < 0) return fail("close", &e);
    return 0;
}
