"""huey with its list. It takes a job off the list before it is done: no job is in flight at a kill."""

import sys

import redis
from huey import RedisHuey

import effects

name = "huey"
slots = None
errors = (redis.ConnectionError, redis.TimeoutError)
command = [sys.executable, "-m", "huey.bin.huey_consumer", "huey_jobs.huey", "-w", "2"]
huey = RedisHuey("jobs", url=effects.url)


@huey.task()
def double(number):
    return effects.perform(number)


def enqueue(number):
    return double(number)


def result(handle):
    return handle.get(preserve=True)
