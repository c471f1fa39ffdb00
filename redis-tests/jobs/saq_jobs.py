"""saq: a job moves to a list of active ones and stays there until it is done, which is at least once."""

import asyncio
import sys

import redis
from saq import Queue

import effects

name = "saq"
slots = 10
errors = (redis.ConnectionError, redis.TimeoutError)
command = [sys.executable, "-m", "saq", "saq_jobs.settings"]
loop = asyncio.new_event_loop()
queue = Queue.from_url(effects.url)


async def double(_, *, number):
    return await effects.perform_async(number)


# It looks for jobs that are stuck when it starts, and takes one that was just fetched for one: no job is there
# then, and it looks no second time.
settings = {
    "queue": queue,
    "functions": [double],
    "concurrency": slots,
    "timers": {"sweep": 3600},
}


def is_ready():
    return loop.run_until_complete(queue.redis.exists(queue.namespace("sweep"))) == 1


def enqueue(number):
    return loop.run_until_complete(queue.enqueue("double", number=number, timeout=0, ttl=0))


def result(handle):
    job = loop.run_until_complete(queue.job(handle.key))
    return job.result if job.status == "complete" else None
