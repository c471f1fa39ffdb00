// Copies all orders into a file and keeps it up to date, over restarts of itself and of the server: no change
// is missed. Its place in the change feed is kept with the copy.
//
// usage: change_consumer.mjs <file> [port [seconds]]        0 seconds = until Ctrl-C

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createClient } from "redis";
import { StaleError, Tupled, dumpKey } from "tupled";

const path = process.argv[2];
const port = Number(process.argv[3] ?? 6379);
const seconds = Number(process.argv[4] ?? 0);
const until = seconds > 0 ? Date.now() + seconds * 1000 : Infinity;
const prefix = ["example", "orders"];
const client = createClient({ socket: { host: "127.0.0.1", port } });
client.on("error", (error) => console.error("no server:", error.message));
await client.connect();
const db = new Tupled(client);

function save(state) {
  writeFileSync(`${path}.new`, JSON.stringify(state, null, 1));
  renameSync(`${path}.new`, path);
}

// The state as of some moment, and a position from which the feed goes on: changes in between are seen again,
// which does no harm.
async function readEverything() {
  const state = { position: await db.version(), entries: {} };
  for await (const { key, value } of db.list({ prefix })) state.entries[dumpKey(key)] = value;
  save(state);
  return state;
}

async function follow(state) {
  for await (const { changes, position } of db.feed({ position: state.position, prefix })) {
    for (const { kind, key, value } of changes) {
      if (kind === "clear") state.entries = {}; // everything was removed
      else if (kind === "delete") delete state.entries[dumpKey(key)];
      else state.entries[dumpKey(key)] = value;
    }
    if (position !== state.position) save(Object.assign(state, { position }));
    if (changes.length) console.log(`${changes.length} changes, ${Object.keys(state.entries).length} orders`);
    if (Date.now() >= until) return;
  }
}

let state = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : await readEverything();
while (Date.now() < until) {
  try {
    await follow(state);
  } catch (error) {
    if (!(error instanceof StaleError)) throw error;
    state = await readEverything(); // the feed does not reach back that far any more
  }
}
client.destroy();
