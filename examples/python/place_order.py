"""Places orders. The order, the customer's counter and the job that handles the order are one transaction:
there is never an order without its job, nor a job without its order.

usage: place_order.py [port [how many]]
"""

import sys

import redis

from tupled import Tupled, UUIDv7


def place(db, customer, item):
    """The id of the new order. If the connection breaks, the helper sends the transaction again, with the
    same id: the order is placed once."""
    order = UUIDv7()  # the server makes it
    done = (
        db.atomic()
        .set(("example", "orders", order), {"customer": customer, "item": item, "state": "placed"})
        .sum(("example", "count", customer), 1)
        .enqueue("example-orders", {"order": order}, backoff=[0.5, 2])
        .commit()
    )
    return done.results[0][-1]


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 6379
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    db = Tupled(redis.Redis(port=port))
    for i in range(count):
        print(place(db, "ada", f"item {i}"))


if __name__ == "__main__":
    main()
