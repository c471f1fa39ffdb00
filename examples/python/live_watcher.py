"""A live view of all orders: the current state first, then every change as it is committed, over restarts of
the server too.

usage: live_watcher.py [port]          stop with Ctrl-C
"""

import sys

import redis

from tupled import Tupled, dump_key, dump_value


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 6379
    db = Tupled(redis.Redis(port=port))
    view = db.live(("example", "orders"))
    print(len(view), "orders", flush=True)
    for entry in view:
        print("is ", dump_key(entry.key), dump_value(entry.value), flush=True)
    for event in view.events():
        now = "now" if event.kind == "set" else "gone"
        print(now, dump_key(event.key), dump_value(event.value), flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
