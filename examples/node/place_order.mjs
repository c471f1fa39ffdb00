// Places orders. The order, the customer's counter and the job that handles the order are one transaction:
// there is never an order without its job, nor a job without its order.
//
// usage: place_order.mjs [port [how many]]

import { randomUUID } from "node:crypto";
import { createClient } from "redis";

const port = Number(process.argv[2] ?? 6379);
const count = Number(process.argv[3] ?? 3);
const client = createClient({ socket: { host: "127.0.0.1", port } });
await client.connect();

// The id of the new order.
async function place(customer, item) {
  const order = randomUUID();
  const key = JSON.stringify(["example", "orders", order]);
  await client.sendCommand([
    "KV.ATOMIC",
    // Libraries send a command again when the connection broke: with an id that is safe.
    ...["IDEM", `order-${order}`],
    ...["CHECK", key, "NONE"],
    ...["SET", key, JSON.stringify({ customer, item, state: "placed" })],
    ...["SUM", JSON.stringify(["example", "count", customer]), "1"],
    ...["ENQUEUE", "example-orders", JSON.stringify({ order }), "BACKOFF", "2", "500", "2000"],
  ]);
  return order;
}

for (let i = 0; i < count; i++) console.log(await place("ada", `item ${i}`));
await client.close();
