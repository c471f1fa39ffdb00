// For the programs of this folder: connections, steps, and a server that is killed.
//
//   steps(name, { "does this": async () => ... })  runs them in order, prints `ok - name: does
//                            this` or `not ok` of each, and ends the program
//   kill(), start()          the server is killed with -9, is there again
//   ioredis(), nodeRedis()   connections that get on again by themselves

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import { createClient } from "redis";

export const port = Number(process.argv[2]);
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function ask(what) {
  console.log(`ask ${what}`);
  assert.equal((await lines.next()).value, "done");
}
export const kill = () => ask("kill");
export const start = () => ask("start");
export async function killAndStart() {
  await kill();
  await start();
}

export function ioredis(more = {}) {
  const client = new Redis({ host: "127.0.0.1", port, retryStrategy: () => 20, ...more });
  client.on("error", () => {});
  return client;
}

export async function nodeRedis(more = {}) {
  const socket = { host: "127.0.0.1", port, reconnectStrategy: () => 20 };
  const client = createClient({ socket, ...more });
  client.on("error", () => {});
  await client.connect();
  return client;
}

export async function until(condition, what) {
  const end = Date.now() + 20000;
  while (!(await condition())) {
    assert.ok(Date.now() < end, `waited in vain until ${what}`);
    await sleep(10);
  }
}

export async function steps(name, acts) {
  let failures = 0;
  for (const [what, act] of Object.entries(acts)) {
    try {
      await act();
      console.log(`ok - ${name}: ${what}`);
    } catch (error) {
      failures++;
      console.log(`not ok - ${name}: ${what}`);
      console.log(error.stack);
    }
  }
  process.exit(failures ? 1 : 0);
}
