// A client object that lives through a restart of the server: writes, waits for a line on standard
// input (the server is back by then), and goes on.
//
// usage: reconnect.js <port> <redis or ioredis>
// Prints `ready`, then `done`.

import assert from "node:assert/strict";
import { createInterface } from "node:readline";

const [port, library] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let run;
let stop;

if (library === "redis") {
  const { createClient } = await import("redis");
  const client = createClient({ socket: { host: "127.0.0.1", port: Number(port) } });
  client.on("error", () => {});
  await client.connect();
  run = (...words) => client.sendCommand(words);
  stop = () => client.destroy();
} else {
  const { Redis } = await import("ioredis");
  const client = new Redis({ host: "127.0.0.1", port: Number(port) });
  client.on("error", () => {});
  run = (...words) => client.call(...words);
  stop = () => client.disconnect();
}

await run("KV.SET", '["before"]', "1");
console.log("ready");
await lines.next();
assert.equal(await run("KV.GET", '["before"]'), "1");
assert.equal((await run("KV.SUM", '["before"]', "1", "IDEM", "after"))[0], "2");
console.log("done");
stop();
process.exit(0);
