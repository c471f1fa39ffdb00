"""A live view of all orders: the current state first, then every change as it is committed.

usage: live_watcher.py [port]          stop with Ctrl-C
"""

import json
import sys

import redis

PREFIX = json.dumps(["example", "orders"])


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 6379
    client = redis.Redis(port=port, decode_responses=True)

    # Subscribe first, then read: a change in between comes twice rather than not at all. `commit` says
    # which of two states of a key is the newer one: versionstamps are text that sorts.
    channel = client.pubsub(ignore_subscribe_messages=True)
    channel.subscribe("kv:prefix:" + PREFIX)
    newest = {}
    cursor = "0"
    while True:
        cursor, page = client.execute_command("KV.LIST", "PREFIX", PREFIX, "CURSOR", cursor)
        for key, value, version in page:
            newest[key] = version
            print("is ", key, value, flush=True)
        if cursor == "0":
            break

    for message in channel.listen():
        change = json.loads(message["data"])
        if change["key"] is None:  # everything was removed
            newest.clear()
            print("all removed", flush=True)
            continue
        key = json.dumps(change["key"], separators=(",", ":"))
        if change["commit"] <= newest.get(key, ""):
            continue
        newest[key] = change["commit"]
        gone = change["versionstamp"] is None
        print("gone" if gone else "now", key, json.dumps(change["value"]), flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
