"""redis-py by TLS, as a user with limited rights (tls.sh).

usage: tls.py <port> <CA> <another CA> <protocol: 2, 3 or default> <suffix of the test names>
Prints `ok - name` and `not ok - name` lines.
"""

import sys
import traceback

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

PORT, CA, OTHER_CA, PROTOCOL, SUFFIX = sys.argv[1:6]


def connect(**more):
    options = {
        "host": "localhost",
        "port": int(PORT),
        "ssl": True,
        "ssl_ca_certs": CA,
        "username": "app",
        "password": "secret",
        "decode_responses": True,
        "retry": Retry(NoBackoff(), 0),  # the default tries for ten seconds
    }
    if PROTOCOL != "default":
        options["protocol"] = int(PROTOCOL)
    return redis.Redis(**{**options, **more})


def refused(kind, call, *words):
    """The text of the error, which must be of this very class."""
    try:
        reply = call(*words)
    except redis.RedisError as error:
        assert type(error) is kind, (type(error), error)
        return str(error)
    raise AssertionError(f"{words} was answered {reply!r}, not refused")


def is_who_he_says(r):
    assert r.ping() is True
    assert r.acl_whoami() == "app"
    info = r.client_info()
    assert str(info["resp"]) == ("2" if PROTOCOL == "2" else "3"), info
    assert info["user"] == "app", info


def sets_and_gets(r):
    assert r.set("app:plain", "text") is True
    assert r.get("app:plain") == "text"
    stamp = r.execute_command("KV.SET", '["app",1]', '{"n":1}')
    assert r.execute_command("KV.GET", '["app",1]', "WITHVERSION") == ['{"n":1}', stamp]


def pipelines_a_thousand(r):
    pipe = r.pipeline(transaction=False)
    for n in range(1000):
        pipe.execute_command("KV.SET", f'["app","pipe",{n}]', n)
    stamps = pipe.execute()
    assert len(set(stamps)) == 1000 and stamps == sorted(stamps)
    for n in range(1000):
        pipe.execute_command("KV.GET", f'["app","pipe",{n}]')
    assert pipe.execute() == [str(n) for n in range(1000)]


def has_transactions(r):
    pipe = r.pipeline(transaction=True)
    pipe.set("app:a", "1")
    pipe.execute_command("KV.SET", '["app","b"]', 2)
    pipe.get("app:a")
    done = pipe.execute()
    assert done[0] is True and len(done[1]) == 20 and done[2] == "1", done


def publishes_and_hears(r):
    with r.pubsub() as listener:
        listener.subscribe("app:news")
        assert listener.get_message(timeout=20)["type"] == "subscribe"
        assert r.publish("app:news", "hello") == 1
        message = listener.get_message(timeout=20)
        assert (message["type"], message["data"]) == ("message", "hello"), message
    denied = redis.exceptions.NoPermissionError
    refused(denied, r.publish, "news", "hello")
    with r.pubsub() as listener:
        listener.subscribe("news")
        refused(denied, lambda: listener.get_message(timeout=20))


def may_not_use_what_is_not_his(r):
    denied = redis.exceptions.NoPermissionError
    assert "'other'" in refused(denied, r.get, "other")
    refused(denied, r.execute_command, "KV.SET", '["other",1]', 1)
    refused(denied, r.execute_command, "KV.ATOMIC", "SET", '["app",1]', 1, "DEL", '["other"]')
    assert "'config|get'" in refused(denied, r.config_get, "*")
    assert r.ping() is True


def needs_his_password(r):
    refused(redis.exceptions.AuthenticationError, connect(password="wrong").ping)
    refused(redis.exceptions.AuthenticationError, connect(username=None, password=None).ping)


def refuses_a_server_of_another_authority(r):
    text = refused(redis.exceptions.ConnectionError, connect(ssl_ca_certs=OTHER_CA).ping)
    assert "certificate verify failed" in text, text


def main():
    failed = 0
    r = connect()
    for test in (
        is_who_he_says,
        sets_and_gets,
        pipelines_a_thousand,
        has_transactions,
        publishes_and_hears,
        may_not_use_what_is_not_his,
        needs_his_password,
        refuses_a_server_of_another_authority,
    ):
        name = f"redis-py by TLS {test.__name__.replace('_', ' ')} ({SUFFIX})"
        try:
            test(r)
            print(f"ok - {name}")
        except Exception:
            failed += 1
            print(f"not ok - {name}")
            traceback.print_exc(file=sys.stdout)
    sys.exit(min(failed, 1))


if __name__ == "__main__":
    main()
