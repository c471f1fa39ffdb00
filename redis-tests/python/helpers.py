"""The helpers of clients/python against a server: Tupled, and AsyncTupled with the same steps.

usage: helpers.py <port> <folder of clients/python> <include/tupled.h>
Prints `ok - name` and `not ok - name` lines. Prints `ask kill` and `ask start` when the server is to be
killed and started, and reads a line when that is done. The database is emptied.

    helpers.py <port> <folder> work <queue>     a worker that counts its jobs; to be killed
"""

import asyncio
import inspect
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from datetime import datetime, timedelta, timezone

sys.path.insert(0, sys.argv[2])

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry as LibraryRetry

import tupled
from tupled import (
    UNDEFINED, V8, AsyncTupled, AsyncWorker, BigInt, CommitVersion, ErrorValue, InvalidDate, Map,
    Reject, RegExp, Retry, Set, Tupled, TypedArray, U64, UUIDv7, Worker, dump_key, load_key,
)

PORT = int(sys.argv[1])
STAMP = re.compile(r"^[0-9a-f]{20}$")
PATIENCE = 20  # seconds that anything may take


def options(more):
    return {"host": "127.0.0.1", "port": PORT, **more}


class Awaited:
    """An asynchronous helper, used as the other: each call is run to its end on a loop of its own
    thread. What must overlap is tested below with coroutines."""

    def __init__(self, target, loop):
        self._target, self._loop = target, loop

    def __getattr__(self, name):
        found = getattr(self._target, name)
        return (lambda *a, **k: self.wait(found(*a, **k))) if callable(found) else found

    def wait(self, result):
        if inspect.isasyncgen(result) or hasattr(result, "__aiter__"):
            return Iterated(result, self._loop)
        if inspect.isawaitable(result):
            result = asyncio.run_coroutine_threadsafe(result, self._loop).result(PATIENCE)
        return result if isinstance(result, (list, tuple, dict, str, int, float, type(None))) or \
            type(result).__module__ == "tupled.commands" else Awaited(result, self._loop)

    def __len__(self):
        return len(self._target)


class Iterated:
    def __init__(self, target, loop):
        self.target, self.loop, self.items = target, loop, target.__aiter__()

    def __iter__(self):
        return self

    def __next__(self):
        coroutine = self.items.__anext__()
        try:
            return asyncio.run_coroutine_threadsafe(as_coroutine(coroutine), self.loop).result(PATIENCE)
        except StopAsyncIteration:
            raise StopIteration from None

    def __getattr__(self, name):
        return getattr(self.target, name)


async def as_coroutine(awaitable):
    return await awaitable


def ask(what):
    print("ask", what, flush=True)
    assert sys.stdin.readline().strip() == "done"


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.01)


def raises(kind, act):
    try:
        result = act()
    except kind as error:
        assert type(error) is kind, f"{type(error)} instead of {kind}"
        return error
    raise AssertionError(f"{result!r} instead of {kind}")


# ---- what both can do ----

VALUES = [
    None, True, False, 0, -7, 1.5, 2**53 - 1, BigInt(2**60), BigInt(5), BigInt(-(10**2000)), -0.0,
    math.inf, -math.inf, 1e300, "", "\u00e9\u20ac\U0001f600\0", b"", b"\0\xff", UNDEFINED,
    [1, [2, {"a": [None]}]], {"a": 1, "b": {"c": b"x"}}, {}, Map(), Map([("a", 1)]),
    Map([(1, "one"), (True, "yes"), ([1], {}), ({"a": 1}, 2)]), {1, "x"}, set(), Set([[1], 1, True]),
    RegExp("a+", "gi"), ErrorValue("TypeError", "no", "at line 1", [1]), ErrorValue("Error", ""),
    TypedArray("Int16Array", b"\1\0\2\0"), InvalidDate(), U64(2**64 - 1),
    V8(bytes.fromhex("ff0f61024902490240" "0102")),  # [, 1]
    datetime(2023, 4, 23, 1, 2, 3, 4000, tzinfo=timezone.utc),
    datetime(1, 1, 1, tzinfo=timezone.utc),
    {"$date": 1}, {"$object": {"$bigint": "1"}}, {"$uuidv7": 1}, {"$id": 1, "value": 2}, {"$id": 1},
]


def keeps_values(db):
    for value in VALUES:
        db.set(("v",), value)
        found = db.get(("v",)).value
        assert type(found) is type(value) and found == value, f"{value!r} came back as {found!r}"
        assert math.copysign(1, found) == math.copysign(1, value) if isinstance(value, float) else True
    db.set(("v",), math.nan)
    assert math.isnan(db.get(("v",)).value)
    db.set(("v",), 2**60)
    assert db.get(("v",)).value == 2**60
    db.set(("v",), (1, 2))
    assert db.get(("v",)).value == [1, 2]
    db.set(("v",), {1: "a"})
    assert db.get(("v",)).value == Map([(1, "a")])
    circle = {"name": "c"}
    circle["me"] = [circle]
    db.set(("v",), circle)
    found = db.get(("v",)).value
    assert found["me"][0] is found and found["name"] == "c"
    for bad in (object(), datetime(2020, 1, 1)):
        raises(TypeError if type(bad) is object else ValueError, lambda: db.set(("v",), bad))


def keeps_keys(db):
    keys = [
        ("k", b""), ("k", b"\0\xff"), ("k", ""), ("k", "\u00e9\0"), ("k", BigInt(-(2**70))),
        ("k", BigInt(1)), ("k", BigInt(2**70)), ("k", -math.inf), ("k", -1.5), ("k", -0.0),
        ("k", 0), ("k", 1), ("k", 2**53 - 1), ("k", math.inf), ("k", False), ("k", True),
    ]
    for i, key in enumerate(keys):
        db.set(key, i)
    listed = list(db.list_keys(("k",)))
    assert [dump_key(k) for k in listed] == [dump_key(k) for k in keys], listed
    assert [list(map(type, k)) for k in listed] == [list(map(type, k)) for k in keys]
    for i, key in enumerate(keys):
        assert db.get(key).value == i
        assert dump_key(load_key(dump_key(key))) == dump_key(key)
    raises(ValueError, lambda: db.get(("k", 2**53)))
    raises(TypeError, lambda: db.get("k"))
    raises(TypeError, lambda: db.get(("k", None)))


def sets_with_conditions(db):
    first = db.set(("a",), 1, if_absent=True)
    assert STAMP.match(first)
    assert db.set(("a",), 2, if_absent=True) is None
    assert db.set(("b",), 2, if_exists=True) is None
    second = db.set(("a",), 2, if_version=first)
    assert second > first
    assert db.set(("a",), 3, if_version=first) is None
    entry = db.get(("a",))
    assert (entry.key, entry.value, entry.version, entry.expires_at) == (("a",), 2, second, None)
    assert db.get(("none",)) is None
    found = db.get_many([("a",), ("none",)])
    assert found[0].version == second and found[1] is None
    assert db.version() >= second
    assert db.delete(("a",), ("none",)) == 1 and db.get(("a",)) is None


def expires(db):
    db.set(("t",), 1, ttl=100)
    assert 90 < db.ttl(("t",)) <= 100
    assert abs((db.get(("t",)).expires_at - datetime.now(timezone.utc)).total_seconds() - 100) < 10
    db.set(("t",), 2, keep_ttl=True)
    assert db.ttl(("t",)) is not None
    assert db.persist(("t",)) is True and db.ttl(("t",)) is None and db.persist(("t",)) is False
    assert db.expire(("t",), timedelta(seconds=50)) is True and db.ttl(("t",)) <= 50
    assert db.expire(("none",), 5) is False
    at = datetime(2100, 1, 1, tzinfo=timezone.utc)
    db.set(("t",), 3, expires_at=at)
    assert db.get(("t",)).expires_at == at
    raises(ValueError, lambda: db.set(("t",), 3, ttl=1, expires_at=at))
    db.set(("t",), 1, ttl=0.02)
    until(lambda: db.get(("t",)) is None, "it has expired")


def lists(db):
    for i in range(25):
        db.set(("l", i), {"n": i, "even": i % 2 == 0})
    assert [e.value["n"] for e in db.list(("l",), page_size=7)] == list(range(25))
    assert [e.key[1] for e in db.list(("l",), reverse=True, limit=3)] == [24, 23, 22]
    assert [e.key[1] for e in db.list(start=("l", 3), end=("l", 6))] == [3, 4, 5]
    where = {"even": True, "n": {"$gte": 20}}
    assert [k[1] for k in db.list_keys(("l",), where=where, page_size=1)] == [20, 22, 24]
    assert [e.key[1] for e in db.list(("l",), where={"even": True}, limit=5, page_size=2)] == \
        [0, 2, 4, 6, 8]
    assert db.count(("l",)) == 25 and db.count(("l",), where={"n": {"$lt": 3}}) == 3
    assert db.delete_range(("l",), where={"even": False}) == 12
    assert db.delete_range(start=("l", 0), end=("l", 4)) == 2
    assert db.delete_range(("l",), limit=1) == 1
    assert db.delete_range() >= 10 and list(db.list()) == []


def computes(db):
    assert db.sum(("n",), 5).value == 5
    assert db.sum(("n",), 100, clamp=(0, 10)).value == 10
    raises(tupled.RangeError, lambda: db.sum(("n",), 1, within=(0, 10)))
    assert db.min(("n",), 4).value == 4 and db.max(("n",), 7).value == 7
    assert db.sum(("big",), BigInt(10**30)).value == 10**30
    assert db.sum(("u",), U64(2**64 - 1)).value == 2**64 - 1 and db.sum(("u",), U64(2)).value == U64(1)
    assert db.append(("l",), [1, b"x"]).length == 2 and db.prepend(("l",), ["first"]).length == 3
    assert db.get(("l",)).value == ["first", 1, b"x"]


def finds_and_searches(db):
    db.command("KV.INDEX", "CREATE", "by_age", "PREFIX", '["p"]', "ON", 1, "age")
    db.command("KV.INDEX", "CREATE", "words", "PREFIX", '["p"]', "TEXT", 1, "bio")
    for name, age in (("ann", 30), ("bob", 20), ("cid", 40), ("dan", 30)):
        db.set(("p", name), {"age": age, "bio": f"{name} likes trees"})
    until(lambda: ready(db, "by_age") and ready(db, "words"), "the indexes are complete")
    assert [e.key[1] for e in db.find("by_age", page_size=2)] == ["bob", "ann", "dan", "cid"]
    assert [e.key[1] for e in db.find("by_age", 30)] == ["ann", "dan"]
    assert [e.key[1] for e in db.find("by_age", from_=30, reverse=True, limit=1)] == ["cid"]
    [found] = db.search("words", "bob trees")
    assert found.key == ("p", "bob") and found.score > 0
    db.command("KV.INDEX", "DROP", "by_age")
    db.command("KV.INDEX", "DROP", "words")


def ready(db, index):
    try:
        list(db.find(index) if index == "by_age" else db.search(index, "x"))
        return True
    except tupled.IndexingError:
        return False


def commits_or_tells_why_not(db):
    version = db.set(("a",), 1)
    done = (
        db.atomic().check(("a",), version).check(("new",), None)
        .set(("new", UUIDv7(0)), {"of": CommitVersion(), "id": UUIDv7(0)}, ttl=100)
        .sum(("n",), 2, clamp=(0, 9)).max(("n",), 7).min(("n",), 3)
        .append(("l",), [1]).prepend(("l",), [0])
        .enqueue("q", {"job": 1}, delay=0, backoff=[1, timedelta(seconds=2)], undelivered=[("dead",)])
        .delete(("a",)).commit()
    )
    assert done and done.ok and STAMP.match(done.version) and done.conflicts == []
    key, results = done.results[2], done.results
    assert key[0] == "new" and re.match(r"^[0-9a-f-]{36}$", key[1]), key
    assert results[:2] == [None, None] and results[3:8] == [2, 7, 3, 1, 2] and results[9] is None
    assert db.get(key).value == {"of": done.version, "id": key[1]}
    [message] = db.dequeue("q")
    assert (message.id, message.value, message.attempt) == (results[8], {"job": 1}, 1)
    missed = (
        db.atomic().check(("n",), None).check(("a",), None).check(("a",), version)
        .ack("nothing").sum(("n",), 1)
    )
    raises(tupled.CommandError, missed.commit)  # that is no receipt
    assert db.ack(message.receipt) == 1
    missed = db.atomic().check(("n",), None).check(("a",), version).ack(message.receipt).sum(("n",), 1)
    failed = missed.commit()
    assert not failed and failed.version is None
    told = [(c.index, c.operation, c.key, c.version) for c in failed.conflicts]
    assert told == [
        (0, "CHECK", ("n",), db.get(("n",)).version), (1, "CHECK", ("a",), None), (2, "ACK", None, None)
    ], told
    assert db.get(("n",)).value == 3
    raises(ValueError, lambda: db.atomic().sum(("n",), 1, clamp=(0, 1), within=(0, 1)))


def happens_once(db):
    builder = db.atomic().sum(("once",), 1).enqueue("once", 1)
    first = builder.commit()
    again = builder.commit()
    assert (first.version, first.results) == (again.version, again.results)
    assert db.get(("once",)).value == 1
    assert db.sum(("once",), 1, idem="me").value == db.sum(("once",), 1, idem="me").value == 2
    assert db.enqueue("once", 2, idem="it") == db.enqueue("once", 2, idem="it")
    assert [m.value for m in db.dequeue("once", count=10)] == [1, 2]
    assert db.enqueue("once", 3, dedup="d") is not None and db.enqueue("once", 3, dedup="d") is None


def takes_and_returns_messages(db):
    assert db.dequeue("m", block=0.01) == []
    for i in range(3):
        db.enqueue("m", i, backoff=[0.001])
    [a, b, c] = db.dequeue("m", "other", count=5, lease=60)
    assert [m.value for m in (a, b, c)] == [0, 1, 2]
    assert db.extend(a.receipt, 60) is True and db.ack(a.receipt) == 1 and db.extend(a.receipt, 1) is False
    assert db.nack(b.receipt, delay=0, error="later " * 1000) is True
    assert db.nack(c.receipt, error="never", dead=True) is True
    [again] = db.dequeue("m", block=1)
    assert (again.value, again.attempt) == (1, 2)
    assert db.ack(again.receipt) == 1
    assert int(db.command("KV.DLQ", "DEL", "m", c.id)) == 1


def raises_by_code(db):
    db.set(("text",), "x")
    raises(tupled.WrongTypeError, lambda: db.sum(("text",), 1))
    raises(tupled.CommandError, lambda: db.command("KV.GET", "["))
    raises(tupled.CommandError, lambda: db.command("NOPE"))
    db.set(("max",), 2**53 - 1)
    raises(tupled.NumberOverflowError, lambda: db.sum(("max",), 1))
    raises(tupled.LimitError, lambda: db.set(("k",) * 65, 1))
    db.command("KV.INDEX", "CREATE", "names", "PREFIX", '["u"]', "ON", 1, "name", "UNIQUE")
    db.set(("u", 1), {"name": "Ann"})
    twice = raises(tupled.DuplicateError, lambda: db.set(("u", 2), {"name": "Ann"}))
    assert (twice.index, twice.key, twice.code) == ("names", '["u",1]', "DUPLICATE"), twice
    db.command("KV.INDEX", "DROP", "names")
    stale = raises(tupled.StaleError, lambda: list(db.feed("f" * 16 + "0000", follow=False)))
    assert STAMP.match(stale.oldest)
    db.command("SET", "plain", "x")
    raises(tupled.CommandError, lambda: db.command("INCR", "plain"))
    copy = redis.Redis(**options({})).execute_command("DUMP", "plain")
    raises(tupled.BusyKeyError, lambda: db.command("RESTORE", "plain", 0, copy))
    raises(tupled.NoProtoError, lambda: db.command("HELLO", 9))
    raises(tupled.WrongPassError, lambda: db.command("AUTH", "nobody", "x"))
    assert issubclass(tupled.StaleError, redis.ResponseError)


def reads_the_feed(db):
    position = db.version()
    db.atomic().set(("f", 1), "a").set(("f", 2), "b").commit()
    db.set(("other",), 1)
    db.delete(("f", 1))
    db.set(("f", 3), b"c", expires_at=datetime(2100, 1, 1, tzinfo=timezone.utc))
    batches = list(db.feed(position, prefix=("f",), follow=False, size=1))
    rows = [(c.kind, c.key, c.value) for batch in batches for c in batch.changes]
    assert rows == [
        ("set", ("f", 1), "a"), ("set", ("f", 2), "b"), ("delete", ("f", 1), None),
        ("set", ("f", 3), b"c"),
    ], rows
    assert batches[-1].changes[-1].expires_at.year == 2100
    assert len(batches[0].changes) == 2, "a commit is whole"
    middle = batches[0].position
    resumed = [c.key for b in db.feed(middle, prefix=("f",), follow=False) for c in b.changes]
    assert resumed == [("f", 1), ("f", 3)]
    feed = iter(db.feed(batches[-1].position, prefix=("f",)))
    assert next(feed).changes == [], "it says that there is nothing"
    db.set(("f", 4), 1)
    until(lambda: any(c.key == ("f", 4) for c in next(feed).changes), "the change comes")
    db.command("FLUSHDB")
    kinds = [c.kind for b in db.feed(middle, prefix=("f",), follow=False) for c in b.changes]
    assert kinds[-1] == "clear"


def watches_keys(db):
    db.set(("w", 1), "a")
    watcher = db.watch(("w", 1), ("w", 2))
    states = iter(watcher)
    first = next(states)
    assert first[0].value == "a" and first[1] is None
    db.atomic().delete(("w", 1)).set(("w", 2), "b").commit()
    second = next(states)
    assert second[0] is None and second[1].value == "b"
    watcher.stop()
    assert list(states) == []


def keeps_a_live_view(db):
    for i in range(5):
        db.set(("view", i), i)
    view = db.live(("view",))
    assert sorted(e.value for e in view.entries()) == [0, 1, 2, 3, 4] and len(view) == 5
    assert view.poll() == []
    db.set(("view", 1), "new")
    db.delete(("view", 2))
    db.delete(("view", 99))
    db.set(("elsewhere",), 1)
    events = []
    until(lambda: events.extend(view.poll(0.2)) or len(events) == 2, "both have come")
    assert [(e.kind, e.key, e.value, e.before.value) for e in events] == [
        ("set", ("view", 1), "new", 1), ("delete", ("view", 2), None, 2)
    ]
    assert view.get(("view", 1)).value == "new" and view.get(("view", 2)) is None
    db.command("FLUSHDB")
    until(lambda: view.poll(0.2) or len(view) == 0, "all is gone")
    assert view.entries() == []


def reads_anew_when_stale(db):
    db.atomic().set(("s", 1), 1).set(("s", 2), 2).commit()
    view = db.live(("s",))
    state = view._state
    db.set(("s", 1), "changed")
    db.delete(("s", 2))
    db.set(("s", 3), 3)
    state.position = "f" * 16 + "0000"  # newer than every commit: STALE
    events = view.poll(1)
    assert sorted((e.kind, e.key[1]) for e in events) == [("delete", 2), ("set", 1), ("set", 3)]
    assert sorted((e.key[1], e.value) for e in view.entries()) == [(1, "changed"), (3, 3)]
    assert view.position <= db.version()


STEPS = [
    keeps_values, keeps_keys, sets_with_conditions, expires, lists, computes, finds_and_searches,
    commits_or_tells_why_not, happens_once, takes_and_returns_messages, raises_by_code, reads_the_feed,
    watches_keys, keeps_a_live_view, reads_anew_when_stale,
]


# ---- errors ----


def has_a_class_for_each_code(header):
    with open(header, encoding="utf-8") as file:
        codes = set(re.findall(r'^#define TUPLED_\w+ "([A-Z]+)"$', file.read(), re.M))
    assert len(codes) > 15 and codes == set(tupled.ERRORS), codes ^ set(tupled.ERRORS)
    for code, kind in tupled.ERRORS.items():
        error = tupled.errors.make_error(f"{code} what and where")
        assert type(error) is kind and error.code == code and error.message == "what and where"
        assert type(tupled.errors.typed(redis.ResponseError(f"{code} x"))) is kind
    assert type(tupled.errors.make_error("NEWCODE x")) is tupled.TupledError


def refuses_users(db):
    db.command("ACL", "SETUSER", "small", "on", ">secret", "~a", "+kv.get", "+kv.dequeue")
    small = redis.Redis(**options({"username": "small", "password": "secret"}))
    raises(tupled.NoPermissionError, lambda: Tupled(small).get(("b",)))
    raises(tupled.NoPermissionError, lambda: Tupled(small).set(("a",), 1))
    worker = Worker(Tupled(small), "q", lambda job: None)
    raises(tupled.NoPermissionError, worker.run)  # and does not try for ever
    wrong = redis.Redis(**options({"username": "small", "password": "x",
                                   "retry": LibraryRetry(NoBackoff(), 0)}))
    raises(tupled.WrongPassError, lambda: Tupled(wrong).get(("a",)))
    db.command("CONFIG", "SET", "requirepass", "top")
    try:
        nobody = redis.Redis(**options({"protocol": 2}))
        raises(tupled.NoAuthError, lambda: Tupled(nobody).get(("a",)))
    finally:
        Tupled(redis.Redis(**options({"password": "top"}))).command("CONFIG", "SET", "requirepass", "")
        db.command("ACL", "DELUSER", "small")


def refuses_by_limits(db):
    db.command("KV.DB", "CREATE", "tiny", "MAXENTRIES", 2)
    tiny = redis.Redis(single_connection_client=True, **options({}))
    tiny.execute_command("SELECT", "tiny")
    small = Tupled(tiny)
    small.set(("a",), 1)
    small.set(("b",), 1)
    raises(tupled.QuotaError, lambda: small.set(("c",), 1))
    db.command("KV.DB", "DROP", "tiny")
    raises(tupled.NoDatabaseError, lambda: small.get(("a",)))
    tiny.close()


def tries_again(db):
    """TRYAGAIN means that nothing happened: the helper pauses and repeats, for as long as it may."""
    db.command("CONFIG", "SET", "idem-max-entries", 1)
    try:
        db.sum(("t",), 1)
        impatient = Tupled(db.redis, retry_for=0.1)
        raises(tupled.TryAgainError, lambda: [impatient.sum(("t",), 1) for _ in range(3)])
        timer = threading.Timer(0.2, lambda: redis.Redis(**options({})).config_set("idem-max-entries", 1000000))
        timer.start()
        before = db.get(("t",)).value
        assert db.sum(("t",), 1).value == before + 1
        timer.join()
    finally:
        db.command("CONFIG", "SET", "idem-max-entries", 1000000)


# ---- time-outs ----


def stays_below_the_time_out(_db):
    """What waits ends before the library gives up: its error would come out, as nothing is repeated."""
    impatient = redis.Redis(**options({"socket_timeout": 3, "retry": LibraryRetry(NoBackoff(), 0)}))
    db = Tupled(impatient, retry_for=0, block=30)
    assert db.block == 1.5
    started = time.monotonic()
    assert db.dequeue("empty", block=30) == []
    assert 1.4 < time.monotonic() - started < 10
    assert next(iter(db.feed(db.version()))).changes == []
    assert Tupled(redis.Redis(**options({"socket_timeout": None}))).block == 1.0


# ---- workers ----


def works(db, spawn):
    """spawn(handler by kind, worker options) -> (stop, join); see below."""
    done, seen = [], []

    def behave(job):
        seen.append((job.value, job.attempt))
        if job.value == "fail once" and job.attempt == 1:
            raise RuntimeError("no luck")
        if job.value == "later" and job.attempt == 1:
            raise Retry("not yet", delay=0.01)
        if job.value == "never":
            raise Reject("broken")
        if job.value == "loses":
            return job.atomic().check(("absent",), "0" * 20).set(("wrong",), 1)
        if job.value == "stores":
            return job.atomic().set(("stored",), job.id)
        return None

    for value in ("plain", "fail once", "later", "never", "stores"):
        db.enqueue("jobs", value, backoff=[0.01, 0.01])
    db.enqueue("jobs", "loses", backoff=[0.01])
    stop, join = spawn(behave, done, queues="jobs", concurrency=3)
    until(lambda: stats(db, "jobs")["acked"] == 4 and stats(db, "jobs")["dead"] == 2, "all are handled")
    stop()
    join()
    left = stats(db, "jobs")
    assert (left["ready"], left["delayed"], left["leased"]) == (0, 0, 0), left
    assert ("fail once", 2) in seen and ("later", 2) in seen and seen.count(("plain", 1)) == 1
    assert db.get(("stored",)) is not None and db.get(("wrong",)) is None
    assert [v for v, _ in seen].count("loses") == 2, "a job whose check failed is not acknowledged"
    errors = {tupled.load_value(row[1]): text(row[3]) for row in db.command("KV.DLQ", "LIST", "jobs")[1]}
    assert errors["never"] == "broken" and errors["loses"].startswith("a check failed"), errors


def text(reply):
    return reply.decode() if isinstance(reply, bytes) else reply


def stats(db, queue):
    reply = db.command("KV.QUEUE", "STATS", queue)
    if not isinstance(reply, dict):
        reply = dict(zip(reply[::2], reply[1::2]))
    return {text(name): int(value) for name, value in reply.items()}


def spawn_threads(db):
    def spawn(behave, done, **more):
        def handler(job):
            wish = behave(job)
            if wish is not None:
                wish.commit()
            done.append(job.value)

        worker = Worker(db, more.pop("queues"), handler, **more)
        thread = threading.Thread(target=worker.run)
        thread.start()
        return worker.stop, lambda: thread.join(PATIENCE)

    return spawn


def spawn_tasks(db, loop):
    def spawn(behave, done, **more):
        async def handler(job):
            wish = behave(job)
            if wish is not None:
                await wish.commit()
            done.append(job.value)

        async def start():
            worker = AsyncWorker(db, more.pop("queues"), handler, **more)
            return worker, asyncio.ensure_future(worker.run())

        worker, task = asyncio.run_coroutine_threadsafe(start(), loop).result(PATIENCE)
        return (
            lambda: loop.call_soon_threadsafe(worker.stop),
            lambda: asyncio.run_coroutine_threadsafe(as_coroutine(task), loop).result(PATIENCE),
        )

    return spawn


def extends_leases(db, spawn, work):
    """A job that takes longer than its lease is done once; and stop() waits for it."""
    db.enqueue("long", 1)
    done = []
    started = threading.Event()

    def behave(_job):
        started.set()
        work(2)

    stop, join = spawn(behave, done, queues=["long", "other"], lease=0.9, concurrency=2)
    assert started.wait(PATIENCE)
    time.sleep(0.5)
    stop()
    join()
    assert done == [1]
    left = stats(db, "long")
    assert (left["delivered"], left["acked"], left["expired"]) == (1, 1, 0), left


def extends_leases_of_tasks(db, adb, loop):
    db.enqueue("long", 1)
    done = []

    async def handler(job):
        await asyncio.sleep(2)
        done.append(job.value)
        worker.stop()

    async def run():
        nonlocal worker
        worker = AsyncWorker(adb, "long", handler, lease=0.9)
        await worker.run()

    worker = None
    asyncio.run_coroutine_threadsafe(run(), loop).result(PATIENCE)
    assert done == [1]
    left = stats(db, "long")
    assert (left["delivered"], left["acked"], left["expired"]) == (1, 1, 0), left


def knows_that_a_lease_is_lost(db):
    db.enqueue("lost", 1, backoff=[0.01])
    seen = []

    def handler(job):
        if job.attempt == 1:
            assert db.nack(job.receipt, delay=0)  # as if its lease had ended
            assert job.extend(1) is False and job.is_lost
            seen.append(job.atomic().sum(("twice",), 1).commit().ok)
        else:
            seen.append(job.atomic().sum(("twice",), 1).commit().ok)
            worker.stop()

    worker = Worker(db, "lost", handler)
    worker.run()
    assert seen == [False, True] and db.get(("twice",)).value == 1


def survives_dead_workers(db):
    """kill -9 of a worker process in the middle of its jobs: others do them, each once."""
    count = 60
    for i in range(count):
        db.enqueue("mortal", i, backoff=[0.01] * 20)
    words = [sys.executable, os.path.abspath(__file__), str(PORT), sys.argv[2], "work", "mortal"]
    for _ in range(3):
        before = stats(db, "mortal")["delivered"]
        child = subprocess.Popen(words)
        until(lambda: stats(db, "mortal")["delivered"] >= before + 4, "it has taken some")
        child.kill()
        child.wait()
    counts_each_once(db, "mortal", count)


def counts_each_once(db, queue, count):
    worker = Worker(db, queue, count_job, concurrency=2, lease=0.5)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        until(lambda: stats(db, queue)["acked"] >= count, "all are acknowledged")
    finally:
        worker.stop()
        thread.join(PATIENCE)
    assert [e.value for e in db.list((queue,))] == [1] * count, list(db.list((queue,)))
    left = stats(db, queue)
    assert (left["ready"], left["delayed"], left["leased"], left["dead"]) == (0, 0, 0, 0), left


def count_job(job):
    time.sleep(0.005)
    job.atomic().sum((job.queue, job.value), 1).commit()


def work_until_killed():
    worker = Worker(Tupled(redis.Redis(**options({}))), sys.argv[4], count_job, concurrency=2, lease=0.5)
    worker.run()


# ---- kill -9 of the server ----


def restarts(times, is_over, progress):
    """Kills the server again and again, each time after all clients have got on; progress() is the
    least that any of them has done."""
    for i in range(times + 1):
        before = progress()
        until(lambda: progress() >= before + 5, "everybody has got on")
        if i < times:
            ask("kill")
            time.sleep(0.1)
            ask("start")
    is_over.set()


def loses_nothing_when_the_server_dies(db, adb, loop):
    """Under kill -9: transactions of threads and tasks are counted, workers count jobs, a live view
    and a feed follow. All agree at the end."""
    is_over = threading.Event()
    committed = [0] * 4
    trouble = []

    def count(i):
        try:
            while not is_over.is_set():
                assert db.atomic().sum(("count", i), 1).set(("last", i), committed[i]).commit().ok
                committed[i] += 1
        except Exception as error:
            trouble.append(error)

    async def count_async(i):
        try:
            while not is_over.is_set():
                assert (await adb.atomic().sum(("count", i), 1).set(("last", i), 0).commit()).ok
                committed[i] += 1
        except Exception as error:
            trouble.append(error)

    sent = [0]

    def send():
        try:
            while not is_over.is_set():
                db.enqueue("calm", sent[0], backoff=[0.01] * 20)
                sent[0] += 1
                time.sleep(0.01)
        except Exception as error:
            trouble.append(error)

    view = db.live(("count",))
    counts = {}  # of each key, as the events have it
    gaps = []

    def look():
        try:
            for event in view.events():
                if event.value != counts.get(event.key, 0) + 1:
                    gaps.append((event.key, counts.get(event.key), event.value))
                counts[event.key] = event.value
        except Exception as error:
            trouble.append(error)

    worker = Worker(db, "calm", count_job, concurrency=2, lease=0.5)
    threads = [threading.Thread(target=count, args=(i,)) for i in (0, 1)]
    threads += [threading.Thread(target=send), threading.Thread(target=look)]
    threads += [threading.Thread(target=worker.run)]
    for thread in threads:
        thread.start()
    tasks = [asyncio.run_coroutine_threadsafe(count_async(i), loop) for i in (2, 3)]
    restarts(3, is_over, lambda: min(*committed, sent[0]) if not trouble else 10**9)
    for thread in threads[:3]:
        thread.join(PATIENCE)
    for task in tasks:
        task.result(PATIENCE)
    assert trouble == [], trouble
    assert [db.get(("count", i)).value for i in range(4)] == committed, committed
    until(lambda: all(counts.get(("count", i)) == committed[i] for i in range(4)), "the view has all")
    until(lambda: stats(db, "calm")["acked"] + stats(db, "calm")["dead"] >= sent[0]
          or stats(db, "calm")["ready"] + stats(db, "calm")["delayed"] + stats(db, "calm")["leased"] == 0,
          "the worker is done")
    worker.stop()
    view.stop()
    for thread in threads[3:]:
        thread.join(PATIENCE)
    assert gaps == [] and trouble == [], (gaps, trouble)
    assert [e.value for e in db.list(("calm",))] == [1] * sent[0]


def resumes_its_place(db):
    """A consumer of the feed that stores its position with its copy, over a kill of the server and
    of itself."""
    db.set(("r", 0), 0)
    copy, position = {}, "0"
    for round_ in range(3):
        for i in range(5):
            db.set(("r", i), [round_, i])
        for batch in db.feed(position, prefix=("r",), follow=False, size=2):
            for change in batch.changes:
                if change.kind == "clear":
                    copy.clear()
                else:
                    copy[change.key] = (change.value, change.version)
            position = batch.position
            if round_ == 1:
                break  # it dies here
        if round_ < 2:
            ask("kill")
            ask("start")
    assert copy == {e.key: (e.value, e.version) for e in db.list(("r",))}


def does_not_hang_without_a_server(db):
    """It says so after retry_for, and the same builder may be sent again."""
    builder = Tupled(redis.Redis(**options({"retry": LibraryRetry(NoBackoff(), 0)})), retry_for=0.2)
    atomic = builder.atomic().sum(("late",), 1)
    assert atomic.commit().ok
    ask("kill")
    raises(redis.ConnectionError, atomic.commit)
    ask("start")
    assert atomic.commit().ok and db.get(("late",)).value == 1


# ---- the page about it ----


def page_is_true(readme):
    import doctest

    with open(readme, encoding="utf-8") as file:
        page = file.read().replace("redis.Redis()", f"redis.Redis(port={PORT})")
    page = page.replace("redis.asyncio.Redis()", f"redis.asyncio.Redis(port={PORT})")
    page = re.sub(r"^```.*$", "", page, flags=re.M)
    with tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8") as file:
        file.write(page)
        file.flush()
        failed, tried = doctest.testfile(file.name, module_relative=False, optionflags=doctest.ELLIPSIS)
    assert failed == 0 and tried > 20, f"{failed} of {tried} lines are not as the page says"


def main():
    header = sys.argv[3]
    failures = 0

    def step(name, act, *words):
        nonlocal failures
        try:
            Tupled(redis.Redis(**options({}))).command("FLUSHALL")
            act(*words)
        except Exception:
            failures += 1
            print(f"not ok - helpers for Python: {name}")
            traceback.print_exc(file=sys.stdout)
        else:
            print(f"ok - helpers for Python: {name}", flush=True)

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    db = Tupled(redis.Redis(**options({})))
    text_db = Tupled(redis.Redis(**options({"decode_responses": True, "protocol": 2})))
    adb = AsyncTupled(redis.asyncio.Redis(**options({})))
    for act in STEPS:
        name = act.__name__.replace("_", " ")
        step(name, act, db)
        step(f"{name} (RESP2, text)", act, text_db)
        step(f"{name} (async)", act, Awaited(adb, loop))
    step("has a class for each code", has_a_class_for_each_code, header)
    for act in (refuses_users, refuses_by_limits, tries_again, stays_below_the_time_out,
                knows_that_a_lease_is_lost, survives_dead_workers, resumes_its_place,
                does_not_hang_without_a_server):
        step(act.__name__.replace("_", " "), act, db)
    step("works", works, db, spawn_threads(db))
    step("works (async)", works, db, spawn_tasks(adb, loop))
    step("extends leases", extends_leases, db, spawn_threads(db), time.sleep)
    step("extends leases (async)", extends_leases_of_tasks, db, adb, loop)
    step("loses nothing when the server dies", loses_nothing_when_the_server_dies, db, adb, loop)
    step("the page is true", page_is_true, os.path.join(sys.argv[2], "README.md"))
    asyncio.run_coroutine_threadsafe(adb.redis.aclose(), loop).result(PATIENCE)
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[3] == "work":
        work_until_killed()
    sys.exit(main())
