"""redis-py's cache: what was read is answered without the server until it has changed."""

import redis
from redis.cache import CacheConfig

import common
from common import kill_and_start, port, step, until

common.name = "redis-py's cache"
other = redis.Redis(port=port, decode_responses=True)
other.config_set("redis-version", "7.4.0")


def open_cached():
    return redis.Redis(port=port, protocol=3, cache_config=CacheConfig(), decode_responses=True)


def gets():
    return other.info("commandstats")["cmdstat_get"]["calls"]


cached = open_cached()


@step("asks the server once")
def _():
    other.set("city:1", "Paris")
    assert cached.get("city:1") == "Paris"
    before = gets()
    for _ in range(100):
        assert cached.get("city:1") == "Paris"
    assert gets() == before


@step("is told of a write, a delete, an expiry and a flush")
def _():
    other.set("city:1", "Rome")
    until(lambda: cached.get("city:1") == "Rome", "the write is told")
    other.delete("city:1")
    until(lambda: cached.get("city:1") is None, "the delete is told")
    other.set("city:1", "Oslo", px=300)
    assert cached.get("city:1") in ("Oslo", None)
    until(lambda: cached.get("city:1") is None, "the expiry is told")
    other.set("city:1", "Bern")
    until(lambda: cached.get("city:1") == "Bern", "the write is told")
    other.flushdb()
    until(lambda: cached.get("city:1") is None, "the flush is told")


@step("has nothing old after kill -9 of the server")
def _():
    other.set("city:1", "Paris")
    until(lambda: cached.get("city:1") == "Paris", "the write is told")
    kill_and_start()
    other.config_set("redis-version", "7.4.0")
    other.set("city:1", "Rome")
    until(lambda: cached.get("city:1") == "Rome", "it has connected anew")


common.finish()
