"""RQ: its results are streams. Workers of two kinds, of which Worker forks for each job; one has the scheduler.

usage: rq_jobs.py <Worker or SimpleWorker>
"""

import datetime
import sys

import redis
import rq
from redis.backoff import ConstantBackoff
from redis.retry import Retry

import effects

name = "RQ"
slots = 4
errors = (redis.ConnectionError, redis.TimeoutError)
kinds = "Worker SimpleWorker SimpleWorker SimpleWorker"
# What ends is started anew, as systemd would.
loop = f"while :; do {sys.executable} {__file__} $kind; done"
command = ["sh", "-c", f"for kind in {kinds}; do {loop} & done; wait"]
queue = rq.Queue("jobs", connection=redis.Redis.from_url(effects.url))


def work(kind):
    """A scheduler that ended is started anew at the maintenance, every second: it ends when its EVALSHA is sent
    again to a server that was just started, and has no such script (NOSCRIPT, as with Redis)."""
    again = Retry(ConstantBackoff(0.1), 600, supported_errors=(redis.ConnectionError, OSError))
    client = redis.Redis.from_url(effects.url, retry=again)
    worker = getattr(rq, kind)(["jobs"], connection=client, worker_ttl=16, maintenance_interval=1)
    worker.work(with_scheduler=True)


def double(number):
    return effects.perform(number)


def fail(number):
    effects.append("failed", number)
    raise ValueError(f"job {number} fails")


def fail_once(number):
    if number not in effects.numbers("failed"):
        fail(number)
    return double(number)


def enqueue(number):
    return queue.enqueue(double, number)


def result(handle):
    found = handle.latest_result()
    return found.return_value if found and found.type == found.Type.SUCCESSFUL else None


def more_steps():
    import common

    def all_have_results(jobs):
        return lambda: [result(job) for job in jobs] == [job.args[0] + 1 for job in jobs]

    @common.step("jobs that fail are in its FailedJobRegistry, with what was raised")
    def _():
        jobs = [queue.enqueue(fail, number) for number in range(2000, 2020)]
        registry = queue.failed_job_registry
        common.until(lambda: len(registry.get_job_ids()) == len(jobs), "all have failed")
        common.kill_and_start()
        assert set(registry.get_job_ids()) == {job.id for job in jobs}
        for job in jobs:
            found = job.latest_result()
            assert found.type == found.Type.FAILED, found
            assert f"job {job.args[0]} fails" in found.exc_string, found.exc_string

    # At the kill none is due yet: a job whose BLMOVE breaks comes to the FailedJobRegistry, a minute later.
    retry, later = rq.Retry(max=2, interval=4), datetime.timedelta(seconds=4)

    @common.step("jobs for later, and jobs to be tried again, over kill -9 of the server")
    def _():
        again = [queue.enqueue(fail_once, number, retry=retry) for number in range(2100, 2110)]
        scheduled = queue.scheduled_job_registry
        has_failed_once = lambda job: job.id in scheduled or result(job)
        common.until(lambda: all(map(has_failed_once, again)), "each has failed once")
        due = [queue.enqueue_in(later, double, number) for number in range(2200, 2210)]
        common.kill_and_start()
        common.until(all_have_results(due), "those for later are done")
        common.until(all_have_results(again), "those tried again are done")
        assert [job.get_status(refresh=True) for job in again] == ["finished"] * len(again)
        assert scheduled.get_job_ids() == []


if __name__ == "__main__":
    work(sys.argv[1])
