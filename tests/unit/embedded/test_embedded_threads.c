/* embedded: many threads at once. tsan: yes
 *
 * Eight threads count, write, read, watch, enqueue and work on one database while another one is
 * open. */
#include "unit/embedded/embedded.h"

#define THREADS 8
#define ROUNDS 60

struct shared {
    struct tupled_db *db, *other;
    int called, told, jobs;
};

struct one {
    struct shared *s;
    int number;
    pthread_t thread;
};

static void count(int *n)
{
    __atomic_fetch_add(n, 1, __ATOMIC_RELEASE);
}

static int counted(int *n)
{
    return __atomic_load_n(n, __ATOMIC_ACQUIRE);
}

static void must(int outcome, const struct tupled_error *e)
{
    if (outcome > 0) return;
    fprintf(stderr, "test_embedded_threads: outcome %d: %s %s\n", outcome, e->code, e->text);
    abort();
}

static void on_stamp(void *arg, int outcome, const char *stamp, const struct tupled_error *e)
{
    must(outcome, e);
    count(&((struct shared *)arg)->called);
}

static void on_change(void *arg, const struct tupled_change *c, const struct tupled_error *e)
{
    if (c == NULL) abort();
    count(&((struct shared *)arg)->told);
}

static void take_a_job(struct shared *s)
{
    struct tupled_error e;
    struct tupled_messages *m = NULL;
    must(tupled_enqueue(s->db, "q", tupled_text("1"), NULL, NULL, &e), &e);
    must(tupled_dequeue(s->db, "q", 1, -1, &m, &e), &e);
    must(tupled_ack(s->db, m->items[0].receipt, &e), &e);
    tupled_free(m);
    count(&s->jobs);
}

static void *work(void *arg)
{
    struct one *o = arg;
    struct shared *s = o->s;
    struct tupled_error e;
    struct tupled_entry *entry = NULL;
    char key[32];
    snprintf(key, sizeof key, "[\"own\",%d]", o->number);
    for (int i = 0; i < ROUNDS; i++) {
        char value[16];
        struct tupled_watch *w = NULL;
        snprintf(value, sizeof value, "%d", i);
        struct tupled_atomic *a = tupled_atomic_new();
        tupled_atomic_sum(a, KEY1, tupled_text("1"));
        tupled_atomic_set(a, tupled_text(key), tupled_text(value));
        must(tupled_atomic_commit(s->db, a, NULL, &e), &e);
        tupled_atomic_free(a);
        must(tupled_get(s->db, tupled_text(key), &entry, &e), &e);
        if (strcmp(entry->value.data, value) != 0) abort(); /* its own write */
        tupled_free(entry);
        must(tupled_set_async(s->db, KEY2, tupled_text(value), NULL, on_stamp, s), &e);
        must(tupled_set(s->other, tupled_text(key), tupled_text(value), NULL, NULL, &e), &e);
        if (i % 8 != 0) continue;
        must(tupled_watch_key(s->db, KEY2, on_change, s, &w, &e), &e);
        take_a_job(s);
        tupled_unwatch(w);
    }
    return NULL;
}

static void eight_threads_at_once_lose_nothing(void **state)
{
    struct program t;
    struct program other;
    struct one threads[THREADS];
    struct tupled_watch *w = NULL;
    struct tupled_error e;
    char sum[16];
    program_init(&t, NULL);
    program_init(&other, NULL);
    struct shared s = {.db = t.db, .other = other.db};
    must(tupled_watch_prefix(t.db, tupled_text("[]"), on_change, &s, &w, &e), &e);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (struct one){.s = &s, .number = i};
        assert_int_equal(pthread_create(&threads[i].thread, NULL, work, &threads[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i].thread, NULL);
    snprintf(sum, sizeof sum, "%d", THREADS * ROUNDS);
    program_has(&t, KEY1, sum);
    program_reopen(&t); /* calls back what is left */
    assert_int_equal(counted(&s.called), THREADS * ROUNDS);
    assert_int_equal(counted(&s.jobs), THREADS * ((ROUNDS + 7) / 8));
    assert_true(counted(&s.told) > 0);
    program_has(&t, KEY1, sum);
    program_fini(&t);
    program_fini(&other);
}

struct waiter_of {
    struct tupled_db *db;
    pthread_t thread;
    int outcome;
};

static void *wait_for_a_message(void *arg)
{
    struct waiter_of *w = arg;
    struct tupled_error e;
    struct tupled_messages *m = NULL;
    w->outcome = tupled_dequeue(w->db, "q", 1, -1, &m, &e);
    tupled_free(m);
    return NULL;
}

static void a_close_meets_threads_that_wait(void **state)
{
    for (int round = 0; round < 3; round++) {
        struct program t;
        struct waiter_of waiting[THREADS];
        program_init(&t, NULL);
        for (int i = 0; i < THREADS; i++) {
            waiting[i] = (struct waiter_of){.db = t.db};
            assert_int_equal(
                pthread_create(&waiting[i].thread, NULL, wait_for_a_message, &waiting[i]), 0);
        }
        for (bool are_there = false; !are_there;) {
            struct tupled_reply *r = program_ask(&t, "INFO clients");
            are_there = strstr(r->text, "blocked_clients:8") != NULL;
            tupled_free(r);
        }
        program_fini(&t);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(waiting[i].thread, NULL);
            assert_int_equal(waiting[i].outcome, TUPLED_FAILED);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_threads_at_once_lose_nothing),
        cmocka_unit_test(a_close_meets_threads_that_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
