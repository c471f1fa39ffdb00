// Workers that handle orders. A message is acknowledged in the transaction that stores the result: either both
// happen or neither. A worker that dies loses nothing, its lease ends and another worker gets the message; one
// that was too slow finds its receipt stale, and its transaction does nothing.
//
// usage: worker_pool.mjs [port [workers [seconds]]]        0 seconds = until Ctrl-C

import { createClient } from "redis";
import { Tupled, Worker, dumpKey } from "tupled";

const [port, concurrency, seconds] = [6379, 3, 0].map((d, i) => Number(process.argv[2 + i] ?? d));
const client = createClient({ socket: { host: "127.0.0.1", port } });
client.on("error", (error) => console.error("no server:", error.message));
await client.connect();
const db = new Tupled(client);

// The work itself; an exception makes the message come again after its backoff.
async function handle(job) {
  const key = ["example", "orders", job.value.order];
  const { value, version } = await db.get(key);
  const done = await job.atomic().check(key, version).set(key, { ...value, state: "shipped" }).commit();
  console.log(`${dumpKey(key)} ${done.ok ? "done" : "was not ours"} (attempt ${job.attempt})`);
}

const worker = new Worker(db, "example-orders", handle, { concurrency, leaseMs: 10000 });
process.once("SIGINT", () => worker.stop()); // what runs is finished
if (seconds > 0) setTimeout(() => worker.stop(), seconds * 1000).unref();
await worker.run();
client.destroy();
