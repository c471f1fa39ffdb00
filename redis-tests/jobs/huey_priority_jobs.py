"""huey with its sorted set of priorities; as with its list, no job is in flight at a kill."""

import sys

import redis
from huey import PriorityRedisHuey

import effects

name = "huey by priority"
slots = None
errors = (redis.ConnectionError, redis.TimeoutError)
command = [sys.executable, "-m", "huey.bin.huey_consumer", "huey_priority_jobs.huey", "-w", "2"]
huey = PriorityRedisHuey("jobs", url=effects.url)


@huey.task()
def double(number):
    return effects.perform(number)


def enqueue(number):
    return double.schedule((number,), delay=0, priority=number % 7)


def result(handle):
    return handle.get(preserve=True)
