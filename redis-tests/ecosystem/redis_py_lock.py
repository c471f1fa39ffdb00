"""redis-py's Lock: it has one holder, outlives the server, and ends when its time is over."""

import asyncio

import redis
import redis.asyncio
from redis.exceptions import LockNotOwnedError

import common
from common import kill_and_start, port, raises, step

common.name = "redis-py Lock"
one, other = redis.Redis(port=port), redis.Redis(port=port)
lock = one.lock("lock:report", timeout=60)


@step("a second holder is refused")
def _():
    assert lock.acquire(blocking=False)
    assert not other.lock("lock:report", timeout=60).acquire(blocking=False)


@step("it outlives kill -9 of the server")
def _():
    kill_and_start()
    assert not other.lock("lock:report", timeout=60).acquire(blocking=False)
    assert lock.owned() and lock.locked()


@step("its holder extends it, begins it anew, lets it go")
def _():
    assert lock.extend(60) and one.pttl("lock:report") > 100000
    assert lock.reacquire() and one.pttl("lock:report") <= 60000
    lock.release()
    assert not lock.locked()


@step("who has lost it is told so")
def _():
    lost = one.lock("lock:short", timeout=0.2)
    assert lost.acquire(blocking=False)
    with other.lock("lock:short", timeout=30, blocking_timeout=10, sleep=0.02):
        raises(LockNotOwnedError, lambda: lost.extend(1))
        lost_token = lost.local.token
        assert lost_token is not None
        raises(LockNotOwnedError, lost.release)


@step("one that nobody lets go ends, also over a restart")
def _():
    assert one.lock("lock:gone", timeout=0.5).acquire(blocking=False)
    kill_and_start()
    assert other.lock("lock:gone", timeout=1).acquire(blocking_timeout=10)


@step("of asyncio too")
def _():
    async def talk():
        async with redis.asyncio.Redis(port=port) as client:
            async with client.lock("lock:async", timeout=30):
                assert not other.lock("lock:async", timeout=1).acquire(blocking=False)
        assert not other.exists("lock:async")

    asyncio.run(talk())


common.finish()
