"""django-redis: Django's cache, its sessions, and the calls of the package's own."""

import time

import django
import redis
from django.conf import settings

import common
from common import kill, kill_and_start, port, raises, start, step

common.name = "django-redis"
CACHE = {
    "BACKEND": "django_redis.cache.RedisCache",
    "LOCATION": f"redis://127.0.0.1:{port}/1",
    "KEY_PREFIX": "shop",
    "OPTIONS": {"CLIENT_CLASS": "django_redis.client.DefaultClient"},
}
PATIENT = {"OPTIONS": {**CACHE["OPTIONS"], "IGNORE_EXCEPTIONS": True}}
settings.configure(
    CACHES={"default": CACHE, "patient": {**CACHE, **PATIENT}},
    SESSION_ENGINE="django.contrib.sessions.backends.cache",
    SECRET_KEY="a secret of the test",
    USE_TZ=True,
)
django.setup()

from django.contrib.sessions.backends.cache import SessionStore  # noqa: E402
from django.core.cache import cache, caches  # noqa: E402


@step("values of all kinds, many at once")
def _():
    cache.set("a", {"name": "Ada", "tags": ["x", 1, None]}, timeout=60)
    cache.set_many({"b": "é" * 1000, "c": b"\x00\xff"}, timeout=None)
    assert cache.get("a") == {"name": "Ada", "tags": ["x", 1, None]}
    assert cache.get_many(["b", "c", "none"]) == {"b": "é" * 1000, "c": b"\x00\xff"}
    assert cache.get("none", "instead") == "instead"
    assert cache.add("a", 1) is False and cache.add("d", 1) is True
    assert cache.get_or_set("e", lambda: 7) == 7


@step("they are there after kill -9 of the server")
def _():
    ends = cache.ttl("a")
    kill_and_start()
    assert cache.get("a")["name"] == "Ada" and cache.get("c") == b"\x00\xff"
    assert 0 < cache.ttl("a") <= ends <= 60 and cache.ttl("b") is None


@step("counters")
def _():
    cache.set("n", 10)
    assert cache.incr("n", 5) == 15 and cache.decr("n") == 14
    raises(ValueError, lambda: cache.incr("no such"))
    assert cache.incr("fresh", ignore_key_check=True) == 1


@step("times: touch, expire, persist")
def _():
    assert cache.touch("a", 1000) is True and cache.ttl("a") > 900
    assert cache.touch("none", 10) is False
    assert cache.persist("a") and cache.ttl("a") is None
    assert cache.expire("a", timeout=5) and 0 < cache.pttl("a") <= 5000
    cache.set("short", 1, timeout=1)
    time.sleep(1.1)
    assert cache.get("short") is None and not cache.has_key("short")


@step("versions")
def _():
    cache.set("v", "old")
    assert cache.incr_version("v") == 2
    assert cache.get("v") is None and cache.get("v", version=2) == "old"


@step("by pattern: keys, iter_keys, delete_pattern")
def _():
    cache.set_many({f"item:{i}": i for i in range(500)})
    assert len(cache.keys("item:*")) == 500
    assert sorted(cache.iter_keys("item:*")) == sorted(cache.keys("item:*"))
    assert cache.delete_pattern("item:*") == 500
    assert cache.keys("item:*") == []


@step("a lock, which outlives kill -9 of the server")
def _():
    lock = cache.lock("report", timeout=60)
    assert lock.acquire(blocking=False)
    kill_and_start()
    assert not cache.lock("report", timeout=60).acquire(blocking=False)
    lock.release()


@step("sessions, which outlive kill -9 of the server")
def _():
    session = SessionStore()
    session["user"] = "ada"
    session.set_expiry(3600)
    session.save()
    kill_and_start()
    again = SessionStore(session_key=session.session_key)
    assert again["user"] == "ada"
    again.flush()
    assert not SessionStore().exists(session.session_key)


@step("while the server is away IGNORE_EXCEPTIONS means: not found")
def _():
    patient = caches["patient"]
    patient.set("p", 1)
    kill()
    assert patient.get("p") is None
    start()
    assert patient.get("p") == 1


@step("clear")
def _():
    cache.clear()
    assert cache.get("a") is None and redis.Redis(port=port, db=1).dbsize() == 0


@step("sets and hashes")
def _():
    assert cache.sadd("tags", "x") == 1 and cache.smembers("tags") == {"x"}
    assert cache.hset("user", "name", "Ada") == 1


common.finish()
