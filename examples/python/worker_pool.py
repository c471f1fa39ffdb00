"""Workers that handle orders. A worker acknowledges its message in the transaction that stores the result:
either both happen or neither. A worker that dies loses nothing, its lease ends and somebody else gets the
message; one that was too slow finds its receipt stale, and its transaction does nothing.

usage: worker_pool.py [port [workers [seconds]]]        0 seconds = until Ctrl-C
"""

import json
import sys
import threading
import time

import redis

LEASE_MS = 10000


def handle(order):
    """The work itself; an exception makes the message come again after its backoff."""
    order["state"] = "shipped"
    return order


def work(port, number, until):
    # The socket must be allowed to wait longer than BLOCK (docs/clients.md).
    client = redis.Redis(port=port, decode_responses=True, socket_timeout=10)
    while until is None or time.time() < until:
        messages = client.execute_command(
            "KV.DEQUEUE", "example-orders", "LEASE", LEASE_MS, "BLOCK", 400)
        for _queue, _id, value, attempt, receipt in messages or []:
            key = json.dumps(["example", "orders", json.loads(value)["order"]])
            try:
                order, version = client.execute_command("KV.GET", key, "WITHVERSION")
                done = client.execute_command(
                    "KV.ATOMIC",
                    "CHECK", key, version,
                    "SET", key, json.dumps(handle(json.loads(order))),
                    "ACK", receipt,
                )
            except Exception as error:  # the work failed: again later, or to the dead letters
                client.execute_command("KV.NACK", receipt, "ERROR", str(error))
                continue
            print(f"worker {number}: {key} {'done' if done else 'was not ours'} "
                  f"(attempt {attempt})", flush=True)


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 6379
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    until = time.time() + seconds if seconds else None
    workers = [threading.Thread(target=work, args=(port, i, until), daemon=True)
               for i in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
