// Empty jobs with Node, as jobs.py has them.
//
// usage: jobs.mjs <kv | bullmq> <enqueue | work> <jobs> <port>

import { Queue, Worker } from "bullmq";
import Redis from "ioredis";

const [library, what, jobs, port] = process.argv.slice(2);
const count = Number(jobs);
const connection = { port: Number(port), maxRetriesPerRequest: null };
let began = 0;
let done = 0;

const rate = (jobs, ms) => console.log(Math.round((jobs * 1000) / ms));

function oneIsDone() {
  if (done === 0) began = performance.now();
  if (++done < count) return;
  rate(count - 1, performance.now() - began);
  process.exit(0);
}

async function enqueueAll(enqueue) {
  const begin = performance.now();
  for (let number = 0; number < count; number++) await enqueue(number);
  rate(count, performance.now() - begin);
  process.exit(0);
}

async function kv() {
  const db = new Redis(connection);
  if (what === "enqueue") {
    await enqueueAll((number) => db.call("KV.ENQUEUE", "bench", JSON.stringify({ number })));
  }
  for (;;) {
    const messages = (await db.call("KV.DEQUEUE", "bench", "BLOCK", "5000")) ?? [];
    for (const [, , value, , receipt] of messages) {
      JSON.parse(value);
      await db.call("KV.ACK", receipt);
      oneIsDone();
    }
  }
}

async function bullmq() {
  if (what === "enqueue") {
    const queue = new Queue("bench", { connection });
    await queue.waitUntilReady();
    await enqueueAll((number) => queue.add("job", { number }, { removeOnComplete: true }));
  }
  new Worker("bench", async () => oneIsDone(), { connection, concurrency: 1 });
}

await { kv, bullmq }[library]();
