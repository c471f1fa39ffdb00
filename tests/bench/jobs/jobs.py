"""Empty jobs by one library: how many a second are enqueued, and done by one worker that does one at a time.

usage: jobs.py <kv | rq | celery> <enqueue | work> <jobs> <port>
enqueue: one after the other, each when the reply of the one before is there; prints jobs/s.
work: prints jobs/s from the first job that is done to the last one, and ends.
"""

import json
import os
import sys
import time

import redis

library, what, count, port = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
url = f"redis://127.0.0.1:{port}/0"
began = 0.0
done = 0


def rate(jobs, seconds):
    print(f"{jobs / seconds:.0f}", flush=True)


def one_is_done():
    """Called by each job."""
    global began, done
    if done == 0:
        began = time.perf_counter()
    done += 1
    if done == count:
        rate(count - 1, time.perf_counter() - began)
        os._exit(0)


def enqueue_all(enqueue):
    begin = time.perf_counter()
    for number in range(count):
        enqueue(number)
    rate(count, time.perf_counter() - begin)


def kv():
    db = redis.Redis(port=port)
    if what == "enqueue":
        enqueue_all(lambda number: db.execute_command("KV.ENQUEUE", "bench", json.dumps({"number": number})))
        return
    while True:
        for _, _, value, _, receipt in db.execute_command("KV.DEQUEUE", "bench", "BLOCK", 5000) or []:
            json.loads(value)
            db.execute_command("KV.ACK", receipt)
            one_is_done()


def rq_():
    import rq

    client = redis.Redis(port=port)
    queue = rq.Queue("bench", connection=client)
    if what == "enqueue":
        enqueue_all(lambda number: queue.enqueue("jobs.job_of_rq", number, result_ttl=0))
        return
    sys.modules["jobs"] = sys.modules["__main__"]
    rq.SimpleWorker([queue], connection=client).work(logging_level="ERROR")


def job_of_rq(number):
    one_is_done()


def celery():
    from celery import Celery

    app = Celery("bench", broker=url)
    app.conf.update(task_ignore_result=True, task_acks_late=True, worker_prefetch_multiplier=1,
                    broker_connection_retry_on_startup=True, worker_redirect_stdouts=False)

    @app.task(name="job")
    def job(number):
        one_is_done()

    if what == "enqueue":
        job.delay(0)  # it connects
        app.control.purge()
        enqueue_all(job.delay)
        return
    app.Worker(pool="solo", concurrency=1, loglevel="ERROR", without_gossip=True, without_mingle=True,
               quiet=True).start()


{"kv": kv, "rq": rq_, "celery": celery}[library]()
