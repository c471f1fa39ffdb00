"""Places orders. The order, the customer's counter and the job that handles the order are one transaction:
there is never an order without its job, nor a job without its order.

usage: place_order.py [port [how many]]
"""

import json
import sys
import uuid

import redis


def place(client, customer, item):
    """The id of the new order."""
    order = str(uuid.uuid4())
    client.execute_command(
        "KV.ATOMIC",
        # Libraries send a command again when the connection broke: with an id that is safe.
        "IDEM", "order-" + order,
        "CHECK", json.dumps(["example", "orders", order]), "NONE",
        "SET", json.dumps(["example", "orders", order]),
        json.dumps({"customer": customer, "item": item, "state": "placed"}),
        "SUM", json.dumps(["example", "count", customer]), 1,
        "ENQUEUE", "example-orders", json.dumps({"order": order}),
        "BACKOFF", 2, 500, 2000,
    )
    return order


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 6379
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    client = redis.Redis(port=port, decode_responses=True)
    for i in range(count):
        print(place(client, "ada", f"item {i}"))


if __name__ == "__main__":
    main()
