"""The keys and values that Spring writes, by the commands that it sends: Spring Data Redis (its
cache, its templates, whose keys are serialized Java), Spring Integration's locks, and the strings
of Spring Session, whose sessions are hashes and whose index is a set."""

import redis

import common
from common import kill_and_start, port, raises, step, until

common.name = "Spring"
r = redis.Redis(port=port, db=3)
SESSION = "3c1a8d2e-8a54-4d0e-9d0e-0f8b0b9d6a11"
EXPIRES = f"spring:session:sessions:expires:{SESSION}"


def java(text):
    """A String as JdkSerializationRedisSerializer writes it."""
    data = text.encode()
    return b"\xac\xed\x00\x05t" + len(data).to_bytes(2, "big") + data


VALUE = (
    b"\xac\xed\x00\x05sr\x00\x11java.lang.Integer\x12\xe2\xa0\xa4\xf7\x81\x878\x02\x00\x01I"
    b"\x00\x05valuexr\x00\x10java.lang.Number\x86\xac\x95\x1d\x0b\x94\xe0\x8b\x02\x00\x00xp"
    b"\x00\x00\x00\x07"
)

LOCK = """
local lockClientId = redis.call('GET', KEYS[1])
if lockClientId == ARGV[1] then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return true
elseif not lockClientId then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return true
end
return false
"""
UNLOCK = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
    redis.call('UNLINK', KEYS[1])
    redis.call('PUBLISH', ARGV[2], KEYS[1])
    return true
end
return false
"""


@step("the cache: books::1, with its lock, PX, NX, GETEX")
def _():
    assert r.set("books~lock", b"", nx=True)
    assert r.set("books::1", VALUE, px=600000)
    assert not r.set("books::1", b"other", nx=True, px=600000)
    assert r.delete("books~lock") == 1
    assert r.getex("books::1", px=900000) == VALUE and r.pttl("books::1") > 600000
    assert r.set("books::SimpleKey [1,two]", VALUE) and r.set("books::", VALUE)


@step("a template: keys that are serialized Java")
def _():
    for i in range(30):
        assert r.set(java(f"user:{i}"), VALUE, ex=3600)
    assert r.get(java("user:7")) == VALUE
    assert r.mget(java("user:1"), java("none"), java("user:2")) == [VALUE, None, VALUE]
    assert r.type(java("user:1")) == b"string" and r.exists(java("user:1"), java("none")) == 1
    assert r.expire(java("user:1"), 100) and 90 < r.ttl(java("user:1")) <= 100
    assert r.incrby(java("hits"), 3) == 3 and r.append(java("log"), b"\xac\xed") == 2
    assert r.rename(java("user:29"), java("moved")) and r.get(java("moved")) == VALUE


@step("sessions: the strings beside them, and their events")
def _():
    listener = r.pubsub()
    listener.psubscribe("spring:session:event:3:created:*")
    until(lambda: (listener.get_message() or {}).get("type") == "psubscribe", "it listens")
    assert r.append(EXPIRES, b"") == 0
    assert r.pexpire(EXPIRES, 1800000)
    assert r.publish(f"spring:session:event:3:created:{SESSION}", VALUE) == 1
    message = {}

    def arrives():
        message.update(listener.get_message() or {})
        return message.get("type") == "pmessage"

    until(arrives, "the event arrives")
    assert message["data"] == VALUE and SESSION.encode() in message["channel"]


@step("all of it is there after kill -9 of the server")
def _():
    kill_and_start()
    assert r.get("books::1") == VALUE and 600000 < r.pttl("books::1") <= 900000
    assert r.get(java("user:7")) == VALUE and r.get(java("moved")) == VALUE
    assert r.get(java("hits")) == b"3" and r.get(java("log")) == b"\xac\xed"
    assert r.exists(EXPIRES) == 1 and 1700000 < r.pttl(EXPIRES) <= 1800000


@step("an evicted cache: KEYS, SCAN, DEL")
def _():
    assert sorted(r.keys("books::*")) == [b"books::", b"books::1", b"books::SimpleKey [1,two]"]
    found = list(r.scan_iter(match="books::*", count=2))
    assert sorted(found) == sorted(r.keys("books::*"))
    assert r.delete(*found) == 3 and r.keys("books::*") == []
    users = set(r.scan_iter(match=b"\xac\xed\x00\x05t\x00?user:*", count=5))
    assert users == {java(f"user:{i}") for i in range(29)}
    assert r.delete(*users) == 29


@step("a lock of Spring Integration, also over kill -9 of the server")
def _():
    take, give = r.register_script(LOCK), r.register_script(UNLOCK)
    keys = ["lock-registry:report"]
    assert take(keys=keys, args=["me", 60000]) == 1
    kill_and_start()
    assert take(keys=keys, args=["you", 60000]) is None
    assert take(keys=keys, args=["me", 60000]) == 1
    assert give(keys=keys, args=["you", "lock-registry:channel"]) is None
    assert give(keys=keys, args=["me", "lock-registry:channel"]) == 1
    assert r.exists(*keys) == 0


@step("optimistic locking: WATCH, MULTI, EXEC of serialized keys")
def _():
    key = java("balance")
    r.set(key, 10)
    with r.pipeline() as pipe:
        pipe.watch(key)
        left = int(pipe.get(key)) - 1
        pipe.multi()
        pipe.set(key, left)
        assert pipe.execute() == [True]
        pipe.watch(key)
        r.set(key, 5)
        pipe.multi()
        pipe.set(key, 4)
        raises(redis.WatchError, pipe.execute)
    assert r.get(key) == b"5"


@step("the session itself is a hash, its index a set")
def _():
    session = f"spring:session:sessions:{SESSION}"
    assert r.hset(session, "creationTime", VALUE) == 1
    assert r.sadd("spring:session:expirations:1", VALUE) == 1


common.finish()
