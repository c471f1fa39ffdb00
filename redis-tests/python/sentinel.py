"""redis-py by Sentinel: finds the leader, goes on when it is killed.

usage: sentinel.py <port of a Sentinel>...
Says `ready` when the leader may be killed; prints `ok - name` and `not ok - name` lines.
"""

import sys
import time

import redis
from redis.sentinel import Sentinel

sentinels = Sentinel([("127.0.0.1", int(port)) for port in sys.argv[1:]], socket_timeout=2)


def check(name, fact):
    print(("ok - " if fact else "not ok - ") + "redis-py by Sentinel: " + name, flush=True)


before = sentinels.discover_master("mymaster")
standbys = sentinels.discover_slaves("mymaster")
check("two stand by", len(standbys) == 2 and before not in standbys)
leader = sentinels.master_for("mymaster", redis_class=redis.Redis, socket_timeout=2)
leader.set("by-redis-py", 0)
check("reads what it wrote", leader.get("by-redis-py") == b"0")
standby = sentinels.slave_for("mymaster", socket_timeout=2)
check("reads by a node that stands by", standby.get("by-redis-py") == b"0")
listener = redis.Redis(port=int(sys.argv[1])).pubsub()
listener.subscribe("+switch-master")

acknowledged = 0
failures = 0
deadline = time.monotonic() + 30
print("ready", flush=True)
after = before
while time.monotonic() < deadline and after == before:
    try:
        acknowledged = leader.incr("by-redis-py")
        after = sentinels.discover_master("mymaster")
    except redis.RedisError:
        failures += 1
        time.sleep(0.02)
check("another node is the leader", after != before)
leader.incr("by-redis-py")
value = int(leader.get("by-redis-py"))
check(f"nothing acknowledged is lost ({acknowledged}, {value})", value > acknowledged > 0)
told = []
while time.monotonic() < deadline and not told:
    message = listener.get_message(timeout=1)
    if message and message["type"] == "message":
        told = message["data"].decode().split()
wanted = ["mymaster", before[0], str(before[1]), after[0], str(after[1])]
check("is told of the switch", told == wanted)
