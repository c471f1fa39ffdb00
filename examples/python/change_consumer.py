"""Copies all orders into a file and keeps it up to date, over restarts of itself and of the server: no
change is missed. Its place in the change feed is kept with the copy.

usage: change_consumer.py <file> [port [seconds]]        0 seconds = until Ctrl-C
"""

import json
import os
import sys
import time

import redis

PREFIX = json.dumps(["example", "orders"])


def save(path, state):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(state, file, indent=1)
    os.replace(path + ".new", path)


def read_everything(client):
    """The state as of some moment, and a version from which the feed goes on: changes in between are
    seen again, which does no harm."""
    version = client.execute_command("KV.VERSION")
    entries, cursor = {}, "0"
    while True:
        cursor, page = client.execute_command("KV.LIST", "PREFIX", PREFIX, "CURSOR", cursor)
        entries.update({key: json.loads(value) for key, value, _version in page})
        if cursor == "0":
            return {"version": version, "entries": entries}


def apply(state, changes):
    for key, value, _version, _expiry in changes:
        if key is None:  # everything was removed
            state["entries"].clear()
        elif value is None:
            state["entries"].pop(key, None)
        else:
            state["entries"][key] = json.loads(value)


def main():
    path = sys.argv[1]
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 6379
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    until = time.time() + seconds if seconds else None
    client = redis.Redis(port=port, decode_responses=True, socket_timeout=10)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
    else:
        state = read_everything(client)
        save(path, state)
    while until is None or time.time() < until:
        try:
            version, changes = client.execute_command(
                "KV.CHANGES", state["version"], "PREFIX", PREFIX, "BLOCK", 400)
        except redis.ResponseError as error:
            if not str(error).startswith("STALE"):
                raise
            state = read_everything(client)  # the feed does not reach back that far any more
            save(path, state)
            continue
        if version == state["version"]:
            continue
        apply(state, changes)
        state["version"] = version
        save(path, state)
        if changes:
            print(f"{len(changes)} changes, {len(state['entries'])} orders", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
