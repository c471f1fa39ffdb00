// A live view of all orders: the current state first, then every change as it is committed.
//
// usage: live_watcher.mjs [port]          stop with Ctrl-C

import { createClient } from "redis";

const port = Number(process.argv[2] ?? 6379);
const prefix = JSON.stringify(["example", "orders"]);
const client = createClient({ socket: { host: "127.0.0.1", port } });
const listener = client.duplicate();
await Promise.all([client.connect(), listener.connect()]);

// Subscribe first, then read: a change in between comes twice rather than not at all. `commit` says which
// of two states of a key is the newer one: versionstamps are text that sorts.
const newest = new Map();
const waiting = [];
let show = (change) => waiting.push(change);
await listener.subscribe(`kv:prefix:${prefix}`, (text) => show(JSON.parse(text)));

for (let cursor = "0", page; ; ) {
  [cursor, page] = await client.sendCommand(["KV.LIST", "PREFIX", prefix, "CURSOR", cursor]);
  for (const [key, value, version] of page) {
    newest.set(key, version);
    console.log("is ", key, value);
  }
  if (cursor === "0") break;
}

show = ({ key, value, versionstamp, commit }) => {
  if (key === null) {
    newest.clear();
    console.log("all removed");
    return;
  }
  const name = JSON.stringify(key);
  if (commit <= (newest.get(name) ?? "")) return;
  newest.set(name, commit);
  console.log(versionstamp === null ? "gone" : "now", name, JSON.stringify(value));
};
waiting.forEach((change) => show(change));
