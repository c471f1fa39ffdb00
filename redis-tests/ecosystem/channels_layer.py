"""channels_redis: the layer of Django Channels over sorted sets and scripts; two layers, as of two processes."""

import asyncio

import redis
import redis.asyncio
from channels.exceptions import ChannelFull
from channels_redis.core import RedisChannelLayer

import common
from common import kill, kill_and_start, port, start, step

common.name = "channels_redis"
loop = asyncio.new_event_loop()
client = redis.Redis(port=port, db=3)


def make_layer(**options):
    return RedisChannelLayer(hosts=[f"redis://127.0.0.1:{port}/3"], **options)


one, two = make_layer(capacity=5), make_layer(capacity=5)


def async_step(what):
    return lambda act: step(what)(lambda: loop.run_until_complete(act()))


async def is_back(layer):
    """Also those connections of the pool that were broken meanwhile."""
    end = loop.time() + 20
    connection = layer.connection(0)
    while True:
        try:
            return await asyncio.gather(*(connection.ping() for _ in range(10)))
        except redis.ConnectionError:
            assert loop.time() < end, "the server is back"
            await asyncio.sleep(0.01)


async def are_back():
    await asyncio.gather(is_back(one), is_back(two))


async def get(layer, channel):
    return await asyncio.wait_for(layer.receive(channel), 20)


def message(number):
    return {"type": "chat", "number": number, "text": "é", "bytes": b"\x00\xff"}


async def fails(kind, awaitable):
    try:
        result = await awaitable
    except kind:
        return
    raise AssertionError(f"{result!r} instead of {kind.__name__}")


async def fill(layer, channel, numbers):
    for number in numbers:
        await layer.send(channel, message(number))


@async_step("what one layer sends another receives, in order")
async def _():
    await fill(one, "news", range(3))
    assert [await get(two, "news") for _ in range(3)] == [message(number) for number in range(3)]
    waits = asyncio.ensure_future(get(two, "news"))
    await one.send("news", message(3))
    assert await waits == message(3)


@async_step("what was sent, and who is in a group, outlives kill -9 of the server")
async def _():
    global ada, bob, eve
    ada, bob, eve = await one.new_channel(), await two.new_channel(), await two.new_channel()
    for layer, channel in ((one, ada), (two, bob), (two, eve)):
        await layer.group_add("room", channel)
    await fill(one, "news", range(5))
    await one.group_send("room", message(5))
    kill_and_start()
    await are_back()
    assert [await get(two, "news") for _ in range(5)] == [message(number) for number in range(5)]
    for layer, channel in ((one, ada), (two, bob), (two, eve)):
        assert await get(layer, channel) == message(5)
    await two.group_send("room", message(6))
    for layer, channel in ((one, ada), (two, bob), (two, eve)):
        assert await get(layer, channel) == message(6)


@async_step("who has left a group gets nothing")
async def _():
    await two.group_discard("room", eve)
    await one.group_send("room", message(7))
    await one.send(eve, message(8))
    assert await get(two, bob) == message(7) and await get(one, ada) == message(7)
    assert await get(two, eve) == message(8)


@async_step("one that waits is told of kill -9, and gets what is sent afterwards")
async def _():
    waits = asyncio.ensure_future(get(two, "news"))
    end = loop.time() + 20
    while not any(each["cmd"] == "bzpopmin" for each in client.client_list()):
        assert loop.time() < end, "it waits"
        await asyncio.sleep(0.01)
    kill_and_start()
    await fails(redis.ConnectionError, waits)
    await are_back()
    waits = asyncio.ensure_future(get(two, "news"))
    await one.send("news", message(9))
    assert await waits == message(9)


@async_step("a channel that is full is said to be, and a group passes it over, also after kill -9")
async def _():
    await fill(one, "full", range(5))
    kill_and_start()
    await are_back()
    await fails(ChannelFull, one.send("full", message(5)))
    await one.group_add("many", "full")
    await one.group_add("many", ada)
    await two.group_send("many", message(6))
    assert await get(one, ada) == message(6)
    assert client.zcard("asgifull") == 5


@async_step("what a receiver that died had taken comes again")
async def _():
    taken = await two._brpop_with_clean(0, "asgifull", 1)
    assert two.deserialize(taken) == message(0)
    kill_and_start()
    await are_back()
    assert [await get(one, "full") for _ in range(5)] == [message(number) for number in range(5)]
    await one.wait_received()
    assert client.exists("asgifull", "asgifull$inflight") == 0


@async_step("a message whose time is over is gone, also when the server is away meanwhile")
async def _():
    short = make_layer(expiry=1)
    await one.send("late", message(0))
    assert 20 < client.ttl("asgilate") <= 60
    await short.send("later", message(1))
    kill()
    await asyncio.sleep(2.1)
    start()
    await are_back()
    assert client.exists("asgilater") == 0 and client.exists("asgilate") == 1
    await is_back(short)
    await short.send("late", message(2))  # it removes what is older than its own time, by whole seconds
    assert await get(two, "late") == message(2)
    await short.close_pools()


@async_step("flush removes all of it")
async def _():
    await fill(one, "news", range(3))
    await one.flush()
    assert client.keys("asgi*") == []
    await two.close_pools()


common.finish()
