"""A stream with redis-py: two consumers of a group, one of which is killed and the other claims what it had.

usage: stream_jobs.py <name of the consumer>
"""

import os
import signal
import sys
import time

import redis

import effects

name = "a stream, with redis-py"
slots = 2
errors = (redis.ConnectionError, redis.TimeoutError)
consumer = f"{sys.executable} {__file__}"
command = ["sh", "-c", f"{consumer} dies & exec {consumer} stays"]
client = redis.Redis.from_url(effects.url, decode_responses=True)
CLAIM_MS = 1000


def perform(entries):
    for at, fields in entries:
        effects.perform(int(fields["number"]))
        client.xack("jobs", "workers", at)


def consume(who):
    """It claims only when there is nothing new for it."""
    effects.append(who, os.getpid())
    try:
        client.xgroup_create("jobs", "workers", id="0", mkstream=True)
    except redis.ResponseError as error:
        assert "BUSYGROUP" in str(error), error
    while True:
        try:
            found = client.xreadgroup("workers", who, {"jobs": ">"}, count=10, block=100)
            for _, entries in found:
                perform(entries)
            if not found:
                claimed = client.xautoclaim("jobs", "workers", who, CLAIM_MS, count=5)[1]
                for _, fields in claimed:
                    effects.append("claimed", int(fields["number"]))
                perform(claimed)
        except errors:
            time.sleep(0.05)


def enqueue(number):
    return number, client.xadd("jobs", {"number": number})


def result(handle):
    """Acknowledged: it was delivered, and is not pending."""
    number, at = handle
    (group,) = client.xinfo_groups("jobs")
    delivered = tuple(map(int, group["last-delivered-id"].split("-")))
    if delivered < tuple(map(int, at.split("-"))):
        return None
    return None if client.xpending_range("jobs", "workers", at, at, 1) else number + 1


def pending(who):
    return client.xpending_range("jobs", "workers", "-", "+", 100, consumername=who)


def in_flight():
    global left
    for pid in effects.numbers("dies"):
        os.kill(pid, signal.SIGKILL)
    left = [entry["message_id"] for entry in pending("dies")]


def more_steps():
    import common
    import groups

    @common.step("a consumer claims what one that was killed had")
    def _():
        assert 1 <= len(left) <= 10, left
        entries = [client.xrange("jobs", at, at)[0][1] for at in left]
        assert {int(fields["number"]) for fields in entries} <= effects.numbers("claimed")

    @common.step("all is acknowledged")
    def _():
        groups.check_acknowledged("jobs", "workers")


if __name__ == "__main__":
    consume(sys.argv[1])
