"""taskiq with its stream: a job is acknowledged when its result is saved, which is at least once."""

import asyncio
import sys

import redis
from taskiq.exceptions import SendTaskError
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

import effects

name = "taskiq (stream)"
slots = 10
errors = (redis.ConnectionError, redis.TimeoutError, SendTaskError)
command = [sys.executable, "-m", "taskiq", "worker", "taskiq_stream_jobs:broker"]
command += ["--workers", "1", "--max-async-tasks", str(slots)]
loop = asyncio.new_event_loop()
broker = RedisStreamBroker(
    f"{effects.url}/0",
    consumer_id="0",
    xread_block=500,
    idle_timeout=3000,  # then it claims what is not acknowledged: jobs whose XACK or fetch broke
    unacknowledged_lock_timeout=2,
).with_result_backend(RedisAsyncResultBackend(f"{effects.url}/1"))


@broker.task(task_name="double")
async def double(number):
    return await effects.perform_async(number)


def enqueue(number):
    return loop.run_until_complete(double.kiq(number))


def result(handle):
    if not loop.run_until_complete(handle.is_ready()):
        return None
    return loop.run_until_complete(handle.get_result()).return_value


def more_steps():
    import common
    import groups

    @common.step("all is acknowledged")
    def _():
        groups.check_acknowledged("taskiq", "taskiq")
