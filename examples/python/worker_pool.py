"""Workers that handle orders. A message is acknowledged in the transaction that stores the result: either both
happen or neither. A worker that dies loses nothing, its lease ends and another worker gets the message; one
that was too slow finds its receipt stale, and its transaction does nothing.

usage: worker_pool.py [port [workers [seconds]]]        0 seconds = until Ctrl-C
"""

import sys
import threading

import redis

from tupled import Tupled, Worker, dump_key


def handle(job):
    """The work itself; an exception makes the message come again after its backoff."""
    key = ("example", "orders", job.value["order"])
    order = job.db.get(key)
    done = (
        job.atomic()
        .check(key, order.version)
        .set(key, {**order.value, "state": "shipped"})
        .commit()
    )
    print(f"{dump_key(key)} {'done' if done else 'was not ours'} (attempt {job.attempt})", flush=True)


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 6379
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    worker = Worker(Tupled(redis.Redis(port=port)), "example-orders", handle, count, lease=10)
    if seconds:
        timer = threading.Timer(seconds, worker.stop)
        timer.daemon = True
        timer.start()
    worker.run()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
