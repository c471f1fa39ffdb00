/* embedded: a program that has the engine inside is killed under load: every set that it was told
 * of is there. The program is a child of the test; what it was told it writes into a pipe.
 */
#include "unit/embedded/embedded.h"

#include <signal.h>
#include <sys/wait.h>

#define THREADS 4
#define KILLS 3
#define ACKED_EACH 400

static int acked_fd;
static struct tupled_db *child_db;
static int first_number;

struct ack {
    int thread, number;
};

static void *write_for_ever(void *arg)
{
    int thread = *(int *)arg;
    struct tupled_error e;
    for (int i = first_number;; i++) {
        char key[48];
        char value[16];
        snprintf(key, sizeof key, "[\"acked\",%d,%d]", thread, i);
        snprintf(value, sizeof value, "%d", i);
        if (tupled_set(child_db, tupled_text(key), tupled_text(value), NULL, NULL, &e) < 0) {
            fprintf(stderr, "child: %s\n", e.text);
            _exit(1);
        }
        struct ack a = {thread, i};
        if (write(acked_fd, &a, sizeof a) != sizeof a) _exit(1);
    }
}

__attribute__((noreturn)) static void be_the_host(const char *dir, const struct tupled_options *o)
{
    static int numbers[THREADS];
    pthread_t thread;
    struct tupled_error e;
    if (tupled_open(dir, o, &child_db, &e) < 0) {
        fprintf(stderr, "child: %s\n", e.text);
        _exit(1);
    }
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&thread, NULL, write_for_ever, &numbers[i]) != 0) _exit(1);
    }
    for (;;) (void)poll(NULL, 0, 1000);
}

static size_t kill_under_load(const char *dir, const struct tupled_options *o, struct ack *acks)
{
    int ends[2];
    size_t count = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        acked_fd = ends[1];
        be_the_host(dir, o);
    }
    close(ends[1]);
    while (count < ACKED_EACH && read(ends[0], &acks[count], sizeof *acks) == sizeof *acks) count++;
    assert_int_equal(kill(child, SIGKILL), 0);
    while (count < 2 * ACKED_EACH && read(ends[0], &acks[count], sizeof *acks) == sizeof *acks) {
        count++; /* what it was told before it died */
    }
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(count >= ACKED_EACH);
    return count;
}

static void what_was_acknowledged_survives_a_kill(void **state)
{
    static struct ack acks[2 * ACKED_EACH];
    struct program t;
    struct tupled_error e;
    program_init(&t, NULL);
    for (int i = 0; i < KILLS; i++) {
        /* Without threads of its own this process may have children that have. */
        if (tupled_close(t.db, &e) < 0) fail_msg("%s", e.text);
        first_number = i * 1000000;
        size_t count = kill_under_load(t.dir, &t.options, acks);
        if (tupled_open(t.dir, &t.options, &t.db, &e) < 0) fail_msg("%s", e.text);
        for (size_t n = 0; n < count; n++) {
            char key[48];
            char value[16];
            snprintf(key, sizeof key, "[\"acked\",%d,%d]", acks[n].thread, acks[n].number);
            snprintf(value, sizeof value, "%d", acks[n].number);
            program_has(&t, tupled_text(key), value);
        }
    }
    program_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_acknowledged_survives_a_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
