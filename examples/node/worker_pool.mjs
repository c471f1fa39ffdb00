// Workers that handle orders. A worker acknowledges its message in the transaction that stores the result:
// either both happen or neither. A worker that dies loses nothing, its lease ends and somebody else gets the
// message; one that was too slow finds its receipt stale, and its transaction does nothing.
//
// usage: worker_pool.mjs [port [workers [seconds]]]        0 seconds = until Ctrl-C

import { createClient } from "redis";

const [port, count, seconds] = [6379, 3, 0].map((d, i) => Number(process.argv[2 + i] ?? d));
const until = seconds > 0 ? Date.now() + seconds * 1000 : Infinity;

// The work itself; an exception makes the message come again after its backoff.
const handle = (order) => ({ ...order, state: "shipped" });

async function work(number) {
  const client = createClient({ socket: { host: "127.0.0.1", port } });
  await client.connect();
  const run = (...words) => client.sendCommand(words.map(String));
  while (Date.now() < until) {
    const messages = await run("KV.DEQUEUE", "example-orders", "LEASE", 10000, "BLOCK", 400);
    for (const [, , value, attempt, receipt] of messages ?? []) {
      const key = JSON.stringify(["example", "orders", JSON.parse(value).order]);
      try {
        const [order, version] = await run("KV.GET", key, "WITHVERSION");
        const result = JSON.stringify(handle(JSON.parse(order)));
        const done = await run(
          "KV.ATOMIC", "CHECK", key, version, "SET", key, result, "ACK", receipt);
        console.log(`worker ${number}: ${key} ${done ? "done" : "was not ours"} (attempt ${attempt})`);
      } catch (error) {
        // The work failed: again later, or to the dead letters.
        await run("KV.NACK", receipt, "ERROR", error.message);
      }
    }
  }
  await client.close();
}

await Promise.all(Array.from({ length: count }, (_, i) => work(i)));
