// A live view of all orders: the current state first, then every change as it is committed, over restarts of
// the server too.
//
// usage: live_watcher.mjs [port]          stop with Ctrl-C

import { createClient } from "redis";
import { Tupled, dumpKey, dumpValue } from "tupled";

const port = Number(process.argv[2] ?? 6379);
const client = createClient({ socket: { host: "127.0.0.1", port } });
client.on("error", (error) => console.error("no server:", error.message));
await client.connect();

const view = await new Tupled(client).live(["example", "orders"]);
console.log(view.size, "orders");
for (const { key, value } of view.entries()) console.log("is ", dumpKey(key), dumpValue(value));
for await (const { kind, key, value } of view.events()) {
  console.log(kind === "set" ? "now" : "gone", dumpKey(key), dumpValue(value));
}
