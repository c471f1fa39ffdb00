"""Copies all orders into a file and keeps it up to date, over restarts of itself and of the server: no
change is missed. Its place in the change feed is kept with the copy.

usage: change_consumer.py <file> [port [seconds]]        0 seconds = until Ctrl-C
"""

import json
import os
import sys
import time

import redis

from tupled import StaleError, Tupled, dump_key

PREFIX = ("example", "orders")


def save(path, state):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(state, file, indent=1)
    os.replace(path + ".new", path)


def read_everything(db):
    """The state as of some moment, and a position from which the feed goes on: changes in between are
    seen again, which does no harm."""
    position = db.version()
    return {"position": position, "entries": {dump_key(e.key): e.value for e in db.list(PREFIX)}}


def apply(entries, changes):
    for change in changes:
        if change.kind == "clear":  # everything was removed
            entries.clear()
        elif change.kind == "delete":
            entries.pop(dump_key(change.key), None)
        else:
            entries[dump_key(change.key)] = change.value


def follow(db, path, state, until):
    for batch in db.feed(state["position"], PREFIX):
        if batch.position != state["position"]:
            apply(state["entries"], batch.changes)
            state["position"] = batch.position
            save(path, state)
        if batch.changes:
            print(f"{len(batch.changes)} changes, {len(state['entries'])} orders", flush=True)
        if until is not None and time.time() >= until:
            return


def main():
    path = sys.argv[1]
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 6379
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    until = time.time() + seconds if seconds else None
    db = Tupled(redis.Redis(port=port))
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
    else:
        state = read_everything(db)
        save(path, state)
    while until is None or time.time() < until:
        try:
            follow(db, path, state, until)
        except StaleError:
            state = read_everything(db)  # the feed does not reach back that far any more
            save(path, state)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
