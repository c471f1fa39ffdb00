"""taskiq with its list. It takes a job off the list before it is done: no job is in flight at a kill."""

import asyncio
import sys

import redis
from taskiq.exceptions import SendTaskError
from taskiq_redis import ListQueueBroker, RedisAsyncResultBackend

import effects

name = "taskiq"
slots = None
errors = (redis.ConnectionError, redis.TimeoutError, SendTaskError)
command = [sys.executable, "-m", "taskiq", "worker", "taskiq_jobs:broker", "--workers", "1"]
loop = asyncio.new_event_loop()
broker = ListQueueBroker(f"{effects.url}/0").with_result_backend(
    RedisAsyncResultBackend(f"{effects.url}/1")
)


@broker.task(task_name="double")
async def double(number):
    return await effects.perform_async(number)


def enqueue(number):
    return loop.run_until_complete(double.kiq(number))


def result(handle):
    if not loop.run_until_complete(handle.is_ready()):
        return None
    return loop.run_until_complete(handle.get_result()).return_value
