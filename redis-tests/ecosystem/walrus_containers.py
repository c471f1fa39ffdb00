"""walrus: Redis's types as containers of Python, and what it makes of them: locks, limits, caches, transactions."""

import threading
import time

from walrus import Database
from walrus.rate_limit import RateLimitException

import common
from common import kill, kill_and_start, port, raises, start, step

common.name = "walrus"
db = Database(port=port, db=6)


@step("a hash, a list, a set, a sorted set, bits and a count: changed, and the same after kill -9 of the server")
def _():
    user, tasks, tags, scores = db.Hash("user"), db.List("tasks"), db.Set("tags"), db.ZSet("scores")
    user.update({"name": "Ada", "visits": 1, "left": "x"})
    user["city"] = "London"
    del user["left"]
    assert user.incr("visits", 4) == 5 and user.incr_float("rate", 0.5) == 0.5 and not user.setnx("name", "Eve")
    tasks.extend(["b", "d", "e"])
    tasks.prepend("a")
    tasks.insert_before("c", "d")
    tasks[4] = "f"
    tags.add("x", "y", "z", "w")
    tags.remove("w")
    assert db.Set("more").add("y", "z", "q") == 3
    scores.add({"ada": 3, "bob": 1, "eve": 2, "dan": 9})
    assert scores.incr("bob", 4) == 5.0 and scores.popmax() == [(b"dan", 9.0)]
    count, bits, visitors = db.counter("count"), db.bit_field("bits"), db.HyperLogLog("visitors")
    count.incr(7)
    bits.set("u8", 0, 200).execute()
    bits.incrby("u8", 0, 100, "SAT").execute()
    visitors.add(*(f"visitor {number}" for number in range(1000)))
    seen = len(visitors)
    known = db.bloom_filter("known")
    known.add("ada")
    kill_and_start()
    assert user.as_dict(decode=True) == {"name": "Ada", "visits": "5", "city": "London", "rate": "0.5"}
    assert tasks.as_list(decode=True) == ["a", "b", "c", "d", "f"] and tasks[1:3] == [b"b", b"c"]
    assert tags.as_set(decode=True) == {"x", "y", "z"} and "x" in tags and len(tags) == 3
    assert tags & db.Set("more") == {b"y", b"z"} and tags - db.Set("more") == {b"x"}
    assert scores.as_items(decode=True) == [("eve", 2.0), ("ada", 3.0), ("bob", 5.0)]
    assert scores.rank("bob") == 2 and scores[:"bob"] == scores.range_by_score(2, 3) == [b"eve", b"ada"]
    assert count.value() == 7 and bits.get("u8", 0).execute() == [255] and bits.bit_count() == 8
    assert len(visitors) == seen and 950 < seen < 1050
    assert "ada" in known and "eve" not in known
    assert len(db) == 9 and sorted(db.search("t*")) == [b"tags", b"tasks"]


@step("large ones, read in pieces, after kill -9")
def _():
    pairs = {f"field {number}": str(number) for number in range(2000)}
    db.Hash("large").update(pairs)
    db.Set("large set").add(*pairs)
    db.ZSet("large sorted").add({name: int(number) for name, number in pairs.items()})
    kill_and_start()
    assert dict(db.Hash("large")) == {name.encode(): number.encode() for name, number in pairs.items()}
    assert len(list(db.Hash("large").search("field 19??"))) == 100
    assert {name.decode() for name in db.Set("large set")} == set(pairs)
    assert [name.decode() for name, _ in sorted(db.ZSet("large sorted"), key=lambda pair: pair[1])] == list(pairs)
    assert db.ZSet("large sorted").remove_by_score(0, 999) == 1000


@step("an array by scripts, a swap of values, results stored")
def _():
    array = db.Array("array")
    array.extend(["a", "b", "c"])
    array.append("d")
    assert array.pop(1) == b"b"
    kill_and_start()
    assert array.as_list(decode=True) == ["a", "c", "d"] and array[1] == b"c" and "d" in array
    db["value"] = "old"
    assert db.cas("value", "old", "new") and not db.cas("value", "old", "newer") and db["value"] == b"new"
    db.Set("tags").unionstore("all", db.Set("more"))
    assert db.Set("all").as_set(decode=True) == {"q", "x", "y", "z"}
    db.ZSet("scores").unionstore("doubled", db.ZSet("scores"))
    assert db.ZSet("doubled").score("bob") == 10.0


@step("streams with a group, whose consumer has what it has after kill -9")
def _():
    group = db.consumer_group("workers", ["orders", "returns"], consumer="ann")
    group.create()
    group.set_id("0-0")
    ids = [group.orders.add({"number": number}) for number in range(20)]
    group.returns.add({"number": 20})
    had = dict(group.read(count=5))
    assert [len(had[key]) for key in (b"orders", b"returns")] == [5, 1]
    assert group.orders.ack(ids[0]) == 1
    kill_and_start()
    assert [each["message_id"] for each in group.orders.pending()] == ids[1:5]
    assert {each["consumer"] for each in group.orders.pending()} == {b"ann"}
    bob = group.consumer("bob")
    assert [at for at, _ in bob.orders.claim(*ids[1:5])] == ids[1:5]
    rest = bob.orders.read()
    assert [fields[b"number"] for _, fields in rest] == [str(number).encode() for number in range(5, 20)]
    assert bob.orders.ack(*ids[1:]) == 19 and bob.orders.pending() == []
    assert len(group.orders) == 20 and group.orders.trim(10, approximate=False) == 10
    assert bob.orders.read(block=50) == []


@step("a lock: one that waits for it gets it when it is let go, also after kill -9")
def _():
    held = db.lock("report", ttl=60000)
    assert held.acquire()
    kill_and_start()
    other = Database(port=port, db=6).lock("report", ttl=60000)
    assert not other.acquire(block=False)
    waits = threading.Thread(target=other.acquire, daemon=True)
    waits.start()
    assert held.release()
    waits.join(20)
    assert not waits.is_alive() and not held.acquire(block=False)
    assert other.release() and not other.release()
    other.clear()


@step("limits of calls, over kill -9")
def _():
    for make in (db.rate_limit, db.rate_limit_lua):
        limit = make(f"limit of {make.__name__}", limit=3, per=3600)
        calls = limit.rate_limited(lambda name: name)(lambda name: name)
        assert [calls("ada") for _ in range(3)] == ["ada"] * 3
        kill_and_start()
        raises(RateLimitException, lambda: calls("ada"))
        assert calls("bob") == "bob"


@step("a cache, over kill -9")
def _():
    cache, calls = db.cache("cache"), []

    @cache.cached(timeout=600)
    def find(name):
        calls.append(name)
        return {"name": name, "at": (1, None)}

    assert find("ada") == find("ada")
    cache.set_many({"a": 1, "b": [2]}, timeout=600)
    cache.set("short", 1, timeout=1)
    kill()
    time.sleep(1.1)
    start()
    assert find("ada") == {"name": "ada", "at": (1, None)} and calls == ["ada"]
    assert cache.get_many(["a", "b", "short"]) == {"a": 1, "b": [2]}
    assert cache.flush() == 3 and list(cache.keys()) == []


@step("a transaction")
def _():
    with db.atomic() as transaction:
        transaction.pipe.set("t1", 1)
        transaction.pipe.rpush("t2", "x", "y")
    assert db["t1"] == b"1" and db.List("t2").as_list() == [b"x", b"y"]


db.flushdb()
common.finish()
