"""cashews: decorators that cache, lock and limit; suppress=False, so that no error is hidden."""

import asyncio
import time

from cashews import Cache
from cashews.exceptions import CacheBackendInteractionError, LockedError, RateLimitError

import common
from common import kill, kill_and_start, port, start, step

common.name = "cashews"
loop = asyncio.new_event_loop()
cache = Cache()
cache.setup(f"redis://127.0.0.1:{port}/2", suppress=False, socket_timeout=20)
calls = []


def async_step(what):
    return lambda act: step(what)(lambda: loop.run_until_complete(act()))


async def fails(kind, awaitable, cause=""):
    try:
        result = await awaitable
    except kind as error:
        assert cause in str(error.__cause__), error.__cause__
        return
    raise AssertionError(f"{result!r} instead of {kind.__name__}")


async def is_back():
    """Also those connections of the pool that were broken meanwhile."""
    end = time.monotonic() + 20
    while True:
        try:
            return await asyncio.gather(*(cache.ping() for _ in range(10)))
        except CacheBackendInteractionError:
            assert time.monotonic() < end, "the server is back"
            await asyncio.sleep(0.01)


@cache(ttl="10m", key="user:{name}")
async def find_user(name):
    calls.append(name)
    return {"name": name}


@cache.early(ttl="10m", early_ttl="5m", key="early:{name}")
async def find_early(name):
    calls.append(name)
    return name


@cache.hit(ttl="10m", cache_hits=2, key="hit:{name}")
async def find_hit(name):
    calls.append(name)
    return name


@cache.locked(ttl="30s", key="locked:{name}", wait=False)
async def work(name):
    await asyncio.sleep(0.05)
    return name


@cache.rate_limit(limit=2, period="1m", key="rate:{name}")
async def limited(name):
    return name


@async_step("a function is called once")
async def _():
    assert await find_user("ada") == await find_user("ada") == {"name": "ada"}
    assert await find_early("ada") == await find_early("ada") == "ada"
    assert calls == ["ada", "ada"]


@async_step("also when the server was killed with -9 between")
async def _():
    kill_and_start()
    await is_back()
    assert await find_user("ada") == {"name": "ada"} and await find_early("ada") == "ada"
    assert calls == ["ada", "ada"]
    await find_user("bob")
    assert calls[-1] == "bob"


@async_step("until it was hit so often")
async def _():
    calls.clear()
    for _ in range(4):
        await find_hit("eve")
    assert len(calls) == 2


@async_step("keys: set, add, get, many, incr, times, bits, by pattern")
async def _():
    assert await cache.set("k", (1, "x"), expire=60) and await cache.get("k") == (1, "x")
    assert not await cache.set("k", 2, exist=False) and await cache.exists("k")
    assert 50 < await cache.get_expire("k") <= 60
    await cache.expire("k", 1000)
    assert await cache.get_expire("k") > 900
    await cache.set_many({f"m:{i}": i for i in range(300)}, expire=60)
    assert await cache.get_many("m:1", "m:2", "none") == (1, 2, None)
    assert await cache.incr("count", 5, expire=60) == 5 and await cache.incr("count") == 6
    assert await cache.incr_bits("bits", 0, 1, size=4, by=3) == (3, 3)
    assert await cache.get_bits("bits", 0, 1, 2, size=4) == (3, 3, 0)
    assert len([key async for key in cache.scan("m:*")]) == 300
    assert len([pair async for pair in cache.get_match("m:*")]) == 300
    await cache.delete_match("m:*")
    assert [key async for key in cache.scan("m:*")] == []
    assert await cache.get_size("k") > 0
    assert await cache.delete("k") and await cache.get("k") is None


@async_step("a lock has one holder, also after kill -9 of the server")
async def _():
    assert await cache.set_lock("lock", "me", expire=60)
    kill_and_start()
    await is_back()
    assert not await cache.set_lock("lock", "you", expire=60)
    assert not await cache.unlock("lock", "you") and await cache.is_locked("lock")
    assert await cache.unlock("lock", "me") and not await cache.is_locked("lock")
    results = await asyncio.gather(work("a"), work("a"), return_exceptions=True)
    assert {type(each) for each in results} == {str, LockedError}


@async_step("a limit of calls, also over kill -9 of the server")
async def _():
    await limited("ada")
    await limited("ada")
    kill_and_start()
    await is_back()
    await fails(RateLimitError, limited("ada"))
    await limited("bob")


@async_step("a transaction")
async def _():
    async with cache.transaction():
        await cache.set("t1", 1, expire=60)
        await cache.set("t2", 2, expire=60)
    assert await cache.get_many("t1", "t2") == (1, 2)


@async_step("errors are told while the server is away")
async def _():
    kill()
    await fails(CacheBackendInteractionError, cache.get("t1"))
    start()
    await is_back()
    assert await cache.get("t1") == 1


@async_step("a value with a tag")
async def _():
    assert await cache.set("x", 1, tags=["one"])
    assert await cache.get("x") == 1


loop.run_until_complete(cache.close())
common.finish()
