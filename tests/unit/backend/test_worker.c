/* worker: jobs run once, in order, and are told on the loop thread. tsan: yes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <semaphore.h>

#include "backend/worker.h"
#include "base/mem.h"

#define JOBS 500

struct test_job {
    struct job job; /* first */
    unsigned number;
    unsigned runs, dones;
    pthread_t done_by;
};

static sem_t wakes;
static unsigned run_order[JOBS]; /* of a worker with one thread */
static unsigned run_count;
static unsigned done_order[JOBS];
static unsigned done_count;

static void job_run(struct job *job)
{
    struct test_job *t = (struct test_job *)job;
    t->runs++;
    unsigned at = __atomic_fetch_add(&run_count, 1, __ATOMIC_RELAXED);
    run_order[at] = t->number;
}

static void job_done(struct job *job)
{
    struct test_job *t = (struct test_job *)job;
    t->dones++;
    t->done_by = pthread_self();
    done_order[done_count++] = t->number;
}

static void wake(void *arg)
{
    sem_post(&wakes);
}

static struct worker *worker_make(unsigned threads)
{
    struct worker_options options = {.name = "test", .threads = threads, .nice = 1, .wake = wake};
    run_count = done_count = 0;
    assert_int_equal(sem_init(&wakes, 0, 0), 0);
    return worker_new(&options);
}

static struct test_job *jobs_make(void)
{
    struct test_job *jobs = mem_new(JOBS * sizeof *jobs);
    for (unsigned i = 0; i < JOBS; i++) {
        jobs[i] = (struct test_job){.job = {.run = job_run, .done = job_done}, .number = i};
    }
    return jobs;
}

static void expect_all_done(const struct test_job *jobs)
{
    assert_int_equal(done_count, JOBS);
    for (unsigned i = 0; i < JOBS; i++) {
        assert_int_equal(jobs[i].runs, 1);
        assert_int_equal(jobs[i].dones, 1);
        assert_true(pthread_equal(jobs[i].done_by, pthread_self()));
    }
}

static void one_thread_keeps_the_order(void **state)
{
    struct worker *w = worker_make(1);
    struct test_job *jobs = jobs_make();
    for (unsigned i = 0; i < JOBS; i++) {
        worker_post(w, &jobs[i].job);
        if (i % 7 == 0) worker_poll(w);
    }
    while (done_count < JOBS) {
        assert_int_equal(sem_wait(&wakes), 0);
        worker_poll(w);
    }
    expect_all_done(jobs);
    for (unsigned i = 0; i < JOBS; i++) {
        assert_int_equal(run_order[i], i);
        assert_int_equal(done_order[i], i);
    }
    worker_free(w);
    mem_free(jobs);
}

static void many_threads_run_every_job_once(void **state)
{
    struct worker *w = worker_make(4);
    struct test_job *jobs = jobs_make();
    for (unsigned i = 0; i < JOBS; i++) worker_post(w, &jobs[i].job);
    while (done_count < JOBS) {
        assert_int_equal(sem_wait(&wakes), 0);
        worker_poll(w);
    }
    expect_all_done(jobs);
    worker_free(w);
    mem_free(jobs);
}

static void a_drain_waits_until_all_have_run_but_collects_nothing(void **state)
{
    struct worker *w = worker_make(3);
    struct test_job *jobs = jobs_make();
    for (unsigned i = 0; i < JOBS; i++) worker_post(w, &jobs[i].job);
    worker_drain(w);
    assert_int_equal(__atomic_load_n(&run_count, __ATOMIC_RELAXED), JOBS);
    assert_int_equal(done_count, 0);
    assert_true(worker_poll(w));
    assert_false(worker_poll(w));
    expect_all_done(jobs);
    worker_drain(w);
    worker_free(w);
    mem_free(jobs);
}

static void freeing_runs_and_collects_what_is_queued(void **state)
{
    for (unsigned threads = 0; threads < 3; threads++) {
        struct worker *w = worker_make(threads);
        struct test_job *jobs = jobs_make();
        for (unsigned i = 0; i < JOBS; i++) worker_post(w, &jobs[i].job);
        worker_free(w);
        expect_all_done(jobs);
        mem_free(jobs);
    }
}

static void without_threads_a_poll_runs_one_job(void **state)
{
    struct worker *w = worker_make(0);
    struct test_job *jobs = jobs_make();
    assert_false(worker_poll(w));
    for (unsigned i = 0; i < JOBS; i++) worker_post(w, &jobs[i].job);
    worker_drain(w);
    assert_int_equal(run_count, 0);
    for (unsigned i = 0; i < JOBS; i++) {
        assert_true(worker_poll(w));
        assert_int_equal(run_count, i + 1);
        assert_int_equal(done_order[i], i);
    }
    assert_false(worker_poll(w));
    expect_all_done(jobs);
    worker_free(w);
    mem_free(jobs);
}

static struct worker *again_on;
static unsigned again_left;

static void again_done(struct job *job)
{
    job_done(job);
    if (again_left-- > 0) worker_post(again_on, job);
}

static void a_finished_job_may_be_posted_again_by_its_callback(void **state)
{
    for (unsigned threads = 0; threads < 2; threads++) {
        struct test_job job = {.job = {.run = job_run, .done = again_done}};
        again_on = worker_make(threads);
        again_left = 20;
        worker_post(again_on, &job.job);
        while (job.dones < 21) {
            if (threads > 0) assert_int_equal(sem_wait(&wakes), 0);
            worker_poll(again_on);
        }
        assert_int_equal(job.runs, 21);
        worker_free(again_on);
    }
}

static void freeing_runs_what_the_end_of_a_job_posts(void **state)
{
    for (unsigned threads = 0; threads < 3; threads++) {
        struct test_job job = {.job = {.run = job_run, .done = again_done}};
        again_on = worker_make(threads);
        again_left = 5;
        worker_post(again_on, &job.job);
        worker_free(again_on);
        assert_int_equal(job.runs, 6);
        assert_int_equal(job.dones, 6);
    }
}

static unsigned pick_last(void *arg, unsigned count)
{
    unsigned *idle = arg;
    if (*idle == 0) return count - 1;
    --*idle;
    return count;
}

static void picked_jobs_overtake_each_other_but_for_those_in_order(void **state)
{
    for (unsigned ordered = 0; ordered < 2; ordered++) {
        unsigned idle = 3;
        struct worker_options options = {.name = "test",
                                         .wake = wake,
                                         .pick = pick_last,
                                         .pick_arg = &idle,
                                         .is_ordered = ordered};
        struct test_job *jobs = jobs_make();
        run_count = done_count = 0;
        struct worker *w = worker_new(&options);
        for (unsigned i = 0; i < JOBS; i++) worker_post(w, &jobs[i].job);
        for (unsigned i = 0; i < 3; i++) assert_false(worker_poll(w));
        assert_int_equal(run_count, 0);
        while (worker_poll(w)) continue;
        for (unsigned i = 0; i < JOBS; i++) {
            assert_int_equal(done_order[i], ordered ? i : JOBS - 1 - i);
        }
        expect_all_done(jobs);
        worker_free(w);
        mem_free(jobs);
    }
}

static unsigned pick_none(void *arg, unsigned count)
{
    return count;
}

static void a_drain_leaves_nothing_to_pick(void **state)
{
    struct worker_options options = {.name = "test", .wake = wake, .pick = pick_none};
    struct test_job *jobs = jobs_make();
    run_count = done_count = 0;
    struct worker *w = worker_new(&options);
    for (unsigned i = 0; i < JOBS; i++) worker_post(w, &jobs[i].job);
    assert_false(worker_poll(w));
    worker_drain(w);
    while (worker_poll(w)) continue;
    expect_all_done(jobs);
    worker_free(w);
    mem_free(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_keeps_the_order),
        cmocka_unit_test(many_threads_run_every_job_once),
        cmocka_unit_test(a_drain_waits_until_all_have_run_but_collects_nothing),
        cmocka_unit_test(freeing_runs_and_collects_what_is_queued),
        cmocka_unit_test(without_threads_a_poll_runs_one_job),
        cmocka_unit_test(a_finished_job_may_be_posted_again_by_its_callback),
        cmocka_unit_test(freeing_runs_what_the_end_of_a_job_posts),
        cmocka_unit_test(picked_jobs_overtake_each_other_but_for_those_in_order),
        cmocka_unit_test(a_drain_leaves_nothing_to_pick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
