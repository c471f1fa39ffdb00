"""dramatiq with its results: a job is acknowledged when it is done, which is at least once."""

import sys

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.errors import ConnectionClosed
from dramatiq.results import ResultMissing, Results
from dramatiq.results.backends import RedisBackend

import effects

name = "dramatiq"
slots = 4
errors = (redis.ConnectionError, redis.TimeoutError, ConnectionClosed)
# It fetches no more than it does: a message whose fetch breaks comes again only when the worker has ended.
fetches = f"dramatiq_queue_prefetch={slots}"
command = ["env", fetches, sys.executable, "-m", "dramatiq", "dramatiq_jobs", "-p", "1", "-t", str(slots)]
broker = RedisBroker(url=f"{effects.url}/0")
results = RedisBackend(url=f"{effects.url}/1")
broker.add_middleware(Results(backend=results))
dramatiq.set_broker(broker)


@dramatiq.actor(store_results=True)
def double(number):
    return effects.perform(number)


def enqueue(number):
    return double.send(number)


def result(handle):
    try:
        return handle.get_result(backend=results)
    except ResultMissing:
        return None
