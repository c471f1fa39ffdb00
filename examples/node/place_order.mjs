// Places orders. The order, the customer's counter and the job that handles the order are one transaction:
// there is never an order without its job, nor a job without its order.
//
// usage: place_order.mjs [port [how many]]

import { createClient } from "redis";
import { Tupled, UUIDv7 } from "tupled";

const port = Number(process.argv[2] ?? 6379);
const count = Number(process.argv[3] ?? 3);
const client = createClient({ socket: { host: "127.0.0.1", port } });
client.on("error", (error) => console.error("no server:", error.message));
await client.connect();
const db = new Tupled(client);

// The id of the new order. If the connection breaks, the helper sends the transaction again, with the same
// id: the order is placed once.
async function place(customer, item) {
  const order = new UUIDv7(); // the server makes it
  const done = await db
    .atomic()
    .set(["example", "orders", order], { customer, item, state: "placed" })
    .sum(["example", "count", customer], 1)
    .enqueue("example-orders", { order }, { backoffMs: [500, 2000] })
    .commit();
  return done.results[0].at(-1);
}

for (let i = 0; i < count; i++) console.log(await place("ada", `item ${i}`));
client.destroy();
