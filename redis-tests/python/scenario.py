"""One user's day with redis-py: every KV.* command, by RESP2 and by RESP3.

usage: scenario.py <port> <protocol: 2, 3 or default> <suffix of the test names>
Prints `ok - name` and `not ok - name` lines. The database must be empty and is emptied.
"""

import json
import re
import sys
import traceback

import msgpack
import redis

STAMP = re.compile(r"^[0-9a-f]{20}$")


def connect(**more):
    port, protocol = int(sys.argv[1]), sys.argv[2]
    options = {"host": "127.0.0.1", "port": port, "decode_responses": True}
    if protocol != "default":
        options["protocol"] = int(protocol)
    return redis.Redis(**{**options, **more})


def key(*parts):
    return json.dumps(list(parts))


def is_stamp(text):
    return bool(STAMP.match(text))


def refused(client, *words):
    """The text of the error that the command is answered with, and its class."""
    try:
        reply = client.execute_command(*words)
    except redis.ResponseError as error:
        return str(error), type(error)
    raise AssertionError(f"{words} was answered {reply!r}, not refused")


def connects_as_asked(r, protocol):
    wanted = "2" if protocol == "2" else "3"
    info = r.execute_command("CLIENT", "INFO")
    fields = info if isinstance(info, dict) else dict(w.split("=", 1) for w in info.split())
    assert fields["resp"] in (wanted, int(wanted)), fields
    assert fields["lib-name"].startswith("redis-py"), fields
    assert r.ping() is True
    assert r.echo("x") == "x"


def sets_and_gets(r, protocol):
    assert r.execute_command("KV.GET", key("a")) is None
    stamp = r.execute_command("KV.SET", key("a"), json.dumps({"name": "Ann", "n": 1}))
    assert is_stamp(stamp)
    assert json.loads(r.execute_command("KV.GET", key("a"))) == {"name": "Ann", "n": 1}
    assert r.execute_command("KV.GET", key("a"), "WITHVERSION")[1] == stamp
    assert r.execute_command("KV.SET", key("a"), "1", "NX") is None
    assert r.execute_command("KV.SET", key("a"), "2", "IFVERSION", stamp) > stamp
    assert r.execute_command("KV.SET", key("b"), "3", "EX", 100, "IFVERSION", "NONE")
    [a, missing, b] = r.execute_command("KV.MGET", key("a"), key("none"), key("b"))
    assert (a[0], missing, b[0]) == ("2", None, "3")
    assert r.execute_command("KV.DEL", key("a"), key("none")) == 1


def expires(r, protocol):
    r.execute_command("KV.SET", key("t"), "1")
    assert r.execute_command("KV.TTL", key("t")) == -1
    assert r.execute_command("KV.TTL", key("none")) == -2
    assert r.execute_command("KV.EXPIRE", key("t"), 100) == 1
    assert 90 <= r.execute_command("KV.TTL", key("t")) <= 100
    assert r.execute_command("KV.PEXPIRE", key("t"), 500000, "GT") == 1
    assert 400000 <= r.execute_command("KV.PTTL", key("t")) <= 500000
    assert r.execute_command("KV.EXPIREAT", key("t"), 4102444800, "NX") == 0
    assert r.execute_command("KV.PEXPIREAT", key("t"), 4102444800000) == 1
    assert r.execute_command("KV.PERSIST", key("t")) == 1
    assert r.execute_command("KV.PERSIST", key("t")) == 0


def computes(r, protocol):
    assert r.execute_command("KV.SUM", key("n"), 5)[0] == "5"
    assert r.execute_command("KV.SUM", key("n"), 50, "CLAMP", 0, 10)[0] == "10"
    assert r.execute_command("KV.MIN", key("n"), 4)[0] == "4"
    assert r.execute_command("KV.MAX", key("n"), 7)[0] == "7"
    big = json.dumps({"$bigint": str(10**40)})
    assert json.loads(r.execute_command("KV.SUM", key("b"), big)[0]) == {"$bigint": str(10**40)}
    [length, stamp] = r.execute_command("KV.APPEND", key("l"), "[1,2]")
    assert length == 2 and is_stamp(stamp)
    assert r.execute_command("KV.PREPEND", key("l"), "[0]")[0] == 3
    assert r.execute_command("KV.GET", key("l")) == "[0,1,2]"


def lists_and_deletes_ranges(r, protocol):
    with r.pipeline(transaction=False) as p:
        for i in range(250):
            p.execute_command("KV.SET", key("p", i), i)
        stamps = p.execute()
    assert len(stamps) == 250 and stamps == sorted(set(stamps))
    seen, cursor = [], "0"
    while True:
        cursor, page = r.execute_command("KV.LIST", "PREFIX", key("p"), "CURSOR", cursor)
        seen += [(json.loads(k)[1], int(v)) for k, v, _ in page]
        if cursor == "0":
            break
    assert seen == [(i, i) for i in range(250)]
    backwards = ["REVERSE", "LIMIT", 1, "KEYSONLY"]
    [_, [last]] = r.execute_command("KV.LIST", "PREFIX", key("p"), *backwards)
    assert json.loads(last) == ["p", 249]
    assert r.execute_command("KV.COUNT", "START", key("p", 10), "END", key("p", 20)) == 10
    assert r.execute_command("KV.DELRANGE", "PREFIX", key("p"), "LIMIT", 50) == 50
    assert r.execute_command("KV.DELRANGE", "PREFIX", key("p")) == 200


def runs_multi_as_one_transaction(r, protocol):
    with r.pipeline() as p:
        p.execute_command("KV.SET", key("a"), '{"at":{"$versionstamp":true}}')
        p.execute_command("KV.GET", key("a"), "WITHVERSION")
        p.execute_command("KV.SUM", key("n"), 4)
        p.set("plain", "x").get("plain")
        [stamp, entry, total, ok, plain] = p.execute()
    assert is_stamp(stamp) and json.loads(entry[0]) == {"at": stamp}
    assert (total[0], ok, plain) == ("4", True, "x")
    with r.pipeline() as p:
        p.set("plain", "y").execute_command("KV.SUM", key("a"), 1)
        try:
            raise AssertionError(p.execute())
        except redis.exceptions.ExecAbortError as error:
            assert "command 2 kv.sum: WRONGTYPE" in str(error), error
    assert r.get("plain") == "x"
    with r.pipeline() as p:
        p.watch("plain", key("a"))
        r.execute_command("KV.DEL", key("a"))
        p.multi()
        p.set("plain", "mine")
        try:
            raise AssertionError(p.execute())
        except redis.WatchError:
            pass
    assert r.get("plain") == "x"
    # redis-py's own optimistic loop
    r.transaction(lambda p: (p.get("plain"), p.multi(), p.set("plain", "done")), "plain")
    assert r.get("plain") == "done"


def has_plain_keys(r, protocol):
    assert r.set("k", "v", ex=100) is True and 90 < r.ttl("k") <= 100
    assert r.set("k", "w", nx=True) is None and r.set("k", "w", get=True) == "v"
    assert r.incr("n") == 1 and r.incrby("n", 41) == 42 and r.decr("n") == 41
    assert r.mget("k", "none", "n") == ["w", None, "41"]
    assert r.mset({f"m{i}": i for i in range(300)}) is True
    assert sorted(r.scan_iter("m*", count=50)) == sorted(f"m{i}" for i in range(300))
    assert r.delete("k", "n", "none") == 2 and r.type("m1") == "string"


def watches_keys_prefixes_and_patterns(r, protocol):
    p = connect().pubsub(ignore_subscribe_messages=True)
    r.execute_command("KV.SET", key("u", 1), 1)

    def next_message():
        for _ in range(50):
            message = p.get_message(timeout=0.2)
            if message is not None:
                return message["channel"], json.loads(message["data"])
        raise AssertionError("no message")

    one, prefix = "kv:watch:" + key("u", 1), "kv:prefix:" + key("u")
    p.subscribe(one)
    channel, change = next_message()
    assert (channel, change["key"], change["value"]) == (one, ["u", 1], 1)
    p.unsubscribe(one)
    p.subscribe(prefix)
    while r.pubsub_numsub(prefix)[0][1] == 0:
        pass
    stamp = r.execute_command("KV.SET", key("u", 2), '"two"')
    assert next_message() == (prefix, {"key": ["u", 2], "value": "two", "versionstamp": stamp,
                                       "commit": stamp})
    p.unsubscribe(prefix)
    p.psubscribe("kv:watch:u/#*")
    while r.pubsub_numpat() == 0:
        pass
    r.execute_command("KV.DEL", key("u", 2))
    channel, change = next_message()
    assert channel == "kv:watch:u/#2" and change["value"] is None and change["versionstamp"] is None
    p.close()


def consumes_a_queue(r, protocol):
    ids = [r.execute_command("KV.ENQUEUE", "q", i) for i in range(3)]
    assert len(set(ids)) == 3
    [message] = r.execute_command("KV.DEQUEUE", "q")
    assert message[:4] == ["q", ids[0], "0", 1], message
    assert r.execute_command("KV.ACK", message[4]) == 1
    assert r.execute_command("KV.ACK", message[4]) == 0
    two = r.execute_command("KV.DEQUEUE", "q", "COUNT", 10, "LEASE", 60000, "BLOCK", 1000)
    assert [m[2] for m in two] == ["1", "2"]
    assert r.execute_command("KV.ATOMIC", "SET", key("done"), 1, "ACK", two[0][4])
    assert r.execute_command("KV.ATOMIC", "SET", key("done"), 2, "ACK", two[0][4]) is None
    assert r.execute_command("KV.NACK", two[1][4], "DELAY", 0) == 1
    [again] = r.execute_command("KV.DEQUEUE", "q", "BLOCK", 1000)
    assert again[3] == 2
    assert r.execute_command("KV.ACK", again[4]) == 1
    assert r.execute_command("KV.DEQUEUE", "q", "BLOCK", 1) is None


def is_pushed_a_queue(r, protocol):
    p = connect().pubsub(ignore_subscribe_messages=True)
    p.subscribe("kv:queue:pushed")
    r.execute_command("KV.ENQUEUE", "pushed", '{"n":1}')
    for _ in range(50):
        message = p.get_message(timeout=0.2)
        if message is not None:
            break
    pushed = json.loads(message["data"])
    assert (pushed["queue"], pushed["value"], pushed["attempt"]) == ("pushed", {"n": 1}, 1)
    assert r.execute_command("KV.ACK", pushed["receipt"]) == 1
    p.close()


def repeats_a_write_safely(r, protocol):
    first = r.execute_command("KV.SUM", key("c"), 1, "IDEM", "order-1")
    assert r.execute_command("KV.SUM", key("c"), 1, "IDEM", "order-1") == first
    assert r.execute_command("KV.GET", key("c")) == "1"
    assert "other arguments" in refused(r, "KV.SUM", key("c"), 2, "IDEM", "order-1")[0]


def commits_transactions(r, protocol):
    first = r.execute_command("KV.ATOMIC", "SET", key("a"), 1, "SUM", key("n"), 2)
    assert is_stamp(first) and r.execute_command("KV.VERSION") == first
    assert r.execute_command("KV.ATOMIC", "CHECK", key("a"), "NONE", "DEL", key("a")) is None
    conflict = r.execute_command("KV.ATOMIC", "DETAILS", "CHECK", key("a"), "NONE", "DEL", key("a"))
    assert conflict == [None, [[0, first]]], conflict
    done = r.execute_command(
        "KV.ATOMIC", "DETAILS", "CHECK", key("a"), first, "SET", key("a"), 2, "SUM", key("n"), 1
    )
    assert is_stamp(done[0]) and done[1] == [None, '["a"]', "3"], done
    assert r.execute_command("KV.ATOMIC") > done[0]


def speaks_messagepack(r, protocol):
    raw = connect(decode_responses=False)
    assert raw.execute_command("KV.FORMAT", "MSGPACK") in (b"OK", True)
    value = {"name": "Ann", "tags": [1, 2.5, None, True], "raw": b"\x00\xff"}
    packed_key = msgpack.packb(["m", 42, True])
    assert is_stamp(raw.execute_command("KV.SET", packed_key, msgpack.packb(value)).decode())
    assert msgpack.unpackb(raw.execute_command("KV.GET", packed_key)) == value
    [_, [[k, v, _]]] = raw.execute_command("KV.LIST", "PREFIX", msgpack.packb(["m"]))
    assert msgpack.unpackb(k) == ["m", 42, True] and msgpack.unpackb(v) == value
    bigint = msgpack.packb(msgpack.ExtType(0x42, (10**20).to_bytes(9, "big", signed=True)))
    raw.execute_command("KV.SET", packed_key, bigint)
    assert raw.execute_command("KV.GET", packed_key) == bigint
    # Another connection, in JSON, sees the same entry.
    assert json.loads(r.execute_command("KV.GET", key("m", 42, True))) == {"$bigint": str(10**20)}
    raw.close()


def maps_errors(r, protocol):
    text, _ = refused(r, "KV.GET", "users")
    assert "invalid key" in text
    r.execute_command("KV.SET", key("s"), '"text"')
    text, _ = refused(r, "KV.SUM", key("s"), 1)
    assert "WRONGTYPE" in text and "string" in text, text
    text, _ = refused(r, "NOSUCH")
    assert "unknown command" in text
    text, _ = refused(r, "KV.SET", key("a"))
    assert "wrong number of arguments" in text
    with r.pipeline(transaction=False) as p:
        p.execute_command("KV.SET", key("a"), 1)
        p.execute_command("KV.SET", key("a"), "{")
        p.execute_command("KV.GET", key("a"))
        [stamp, error, value] = p.execute(raise_on_error=False)
    assert is_stamp(stamp) and isinstance(error, redis.ResponseError) and value == "1"


def tells_about_itself(r, protocol):
    assert r.execute_command("KV.FORMAT") == "JSON"
    limits = r.execute_command("KV.LIMITS")
    if isinstance(limits, list):
        limits = dict(zip(limits[::2], limits[1::2]))
    assert limits["value-bytes"] == 16 << 20 and limits["key-parts"] == 64, limits
    assert r.info("server")["redis_mode"] == "standalone"
    assert r.info("keyspace") == {} and r.dbsize() == 0
    r.execute_command("KV.SET", key("a"), 1)
    assert r.info("keyspace")["db0"]["keys"] == 1 and r.dbsize() == 1
    assert r.config_get("databases") == {"databases": "16"}
    assert r.client_setname("day") is True and r.client_getname() == "day"
    assert "day" in [c["name"] for c in r.client_list()]
    assert isinstance(r.client_id(), int)
    assert r.command_count() >= 38
    assert "kv.get" in {str(k).lower() for k in r.command()}
    assert r.time()[0] > 1600000000
    assert r.flushdb() is True and r.dbsize() == 0


def selects_databases(r, protocol):
    second = connect(db=2, client_name="two")
    second.execute_command("KV.SET", key("a"), 2)
    assert r.execute_command("KV.GET", key("a")) is None
    assert second.execute_command("KV.GET", key("a")) == "2"
    assert second.client_getname() == "two"
    assert second.flushall() is True
    second.close()


def asks_questions_of_values(r, protocol):
    for i, (name, age) in enumerate([("Ann", 36), ("Bob", 25), ("Cleo", 36)]):
        r.execute_command("KV.SET", key("p", i), json.dumps({"name": name, "age": age}))
    adults = json.dumps({"age": {"$gt": 30}})
    assert r.execute_command("KV.COUNT", "PREFIX", key("p"), "WHERE", adults) == 2
    cursor, keys = r.execute_command("KV.LIST", "PREFIX", key("p"), "WHERE", adults, "KEYSONLY")
    assert cursor == "0" and keys == ['["p",0]', '["p",2]'], keys
    assert r.execute_command("KV.INDEX", "CREATE", "name", "PREFIX", key("p"), "ON", 1, "name",
                             "UNIQUE") in (True, "OK")
    cursor, found = r.execute_command("KV.FIND", "name", '"Bob"')
    assert cursor == "0" and json.loads(found[0][1]) == {"name": "Bob", "age": 25}, found
    text, kind = refused(r, "KV.SET", key("p", 9), json.dumps({"name": "Ann"}))
    assert text == 'DUPLICATE name ["p",0]' and kind is redis.ResponseError, text
    r.execute_command("KV.INDEX", "CREATE", "text", "PREFIX", key("p"), "TEXT", 1, "name")
    hits = r.execute_command("KV.SEARCH", "text", "ann OR cl*", "WITHSCORES", "HIGHLIGHT", "<", ">")
    assert sorted(h[0] for h in hits) == ['["p",0]', '["p",2]'], hits
    assert all(float(h[3]) > 0 for h in hits)
    marked = [h[4] if protocol != "2" else dict(zip(h[4][::2], h[4][1::2])) for h in hits]
    assert {"name": "<Ann>"} in marked, marked
    about = r.execute_command("KV.INDEX", "INFO", "name")
    about = about if isinstance(about, dict) else dict(zip(about[::2], about[1::2]))
    assert about["state"] == "ready" and about["paths"] == ["name"], about
    for name in r.execute_command("KV.INDEX", "LIST"):
        assert r.execute_command("KV.INDEX", "DROP", name) == 1


STEPS = [
    connects_as_asked, sets_and_gets, expires, computes, lists_and_deletes_ranges,
    commits_transactions, runs_multi_as_one_transaction, has_plain_keys, repeats_a_write_safely,
    watches_keys_prefixes_and_patterns, consumes_a_queue, is_pushed_a_queue,
    asks_questions_of_values, speaks_messagepack, maps_errors, tells_about_itself, selects_databases,
]


def main():
    protocol, suffix = sys.argv[2], sys.argv[3]
    client = connect()
    failures = 0
    for step in STEPS:
        name = f"{step.__name__.replace('_', ' ')} ({suffix})"
        try:
            client.flushall()
            step(client, protocol)
            print(f"ok - {name}")
        except Exception:
            failures += 1
            print(f"not ok - {name}")
            traceback.print_exc(file=sys.stdout)
    client.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
