// Copies all orders into a file and keeps it up to date, over restarts of itself and of the server: no change
// is missed. Its place in the change feed is kept with the copy.
//
// usage: change_consumer.mjs <file> [port [seconds]]        0 seconds = until Ctrl-C

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createClient } from "redis";

const path = process.argv[2];
const port = Number(process.argv[3] ?? 6379);
const seconds = Number(process.argv[4] ?? 0);
const until = seconds > 0 ? Date.now() + seconds * 1000 : Infinity;
const prefix = JSON.stringify(["example", "orders"]);
const client = createClient({ socket: { host: "127.0.0.1", port } });
await client.connect();
const run = (...words) => client.sendCommand(words.map(String));

function save(state) {
  writeFileSync(`${path}.new`, JSON.stringify(state, null, 1));
  renameSync(`${path}.new`, path);
}

// The state as of some moment, and a version from which the feed goes on: changes in between are seen again,
// which does no harm.
async function readEverything() {
  const state = { version: await run("KV.VERSION"), entries: {} };
  for (let cursor = "0", page; ; ) {
    [cursor, page] = await run("KV.LIST", "PREFIX", prefix, "CURSOR", cursor);
    for (const [key, value] of page) state.entries[key] = JSON.parse(value);
    if (cursor === "0") break;
  }
  save(state);
  return state;
}

let state = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : await readEverything();
while (Date.now() < until) {
  let version, changes;
  try {
    [version, changes] = await run("KV.CHANGES", state.version, "PREFIX", prefix, "BLOCK", 400);
  } catch (error) {
    if (!error.message.startsWith("STALE")) throw error;
    state = await readEverything(); // the feed does not reach back that far any more
    continue;
  }
  if (version === state.version) continue;
  for (const [key, value] of changes) {
    if (key === null) state.entries = {}; // everything was removed
    else if (value === null) delete state.entries[key];
    else state.entries[key] = JSON.parse(value);
  }
  state.version = version;
  save(state);
  if (changes.length) console.log(`${changes.length} changes, ${Object.keys(state.entries).length} orders`);
}
await client.close();
