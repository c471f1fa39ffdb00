"""arq: a job stays in its sorted set until it is done, which is at least once."""

import asyncio
import sys

import redis
from arq import create_pool
from arq.connections import RedisSettings
from redis.asyncio.retry import Retry
from redis.backoff import ConstantBackoff

import effects

name = "arq"
slots = 10
errors = (redis.ConnectionError, redis.TimeoutError, redis.WatchError)  # the last: broken after WATCH
command = [sys.executable, "-m", "arq", "arq_jobs.WorkerSettings"]
settings = RedisSettings.from_dsn(effects.url)
loop = None


async def double(_, number):
    return await effects.perform_async(number)


class WorkerSettings:
    functions = [double]
    max_jobs = slots
    poll_delay = 0.01  # it fetches no more than max_jobs for each
    # Else it ends when its connection breaks.
    redis_settings = RedisSettings.from_dsn(effects.url)
    redis_settings.retry = Retry(ConstantBackoff(0.1), 600)
    redis_settings.retry_on_error = [redis.ConnectionError]


def run(awaitable):
    global loop, pool
    if loop is None:
        loop = asyncio.new_event_loop()
        pool = loop.run_until_complete(create_pool(settings))
    return loop.run_until_complete(awaitable(pool))


def enqueue(number):
    job = run(lambda pool: pool.enqueue_job("double", number))
    if job is None:  # what arq makes of a WatchError of EXEC
        raise redis.WatchError
    return job


def result(handle):
    info = run(lambda _: handle.result_info())
    return info.result if info and info.success else None
