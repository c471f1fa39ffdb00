// node-redis's cache: what was read is answered without the server until it has changed.

import assert from "node:assert/strict";
import { killAndStart, nodeRedis, steps, until } from "./common.js";

const other = await nodeRedis();
const cached = await nodeRedis({ RESP: 3, clientSideCache: { ttl: 0, maxEntries: 0 } });

async function gets() {
  const info = await other.info("commandstats");
  return Number(/cmdstat_get:calls=(\d+)/.exec(info)?.[1] ?? 0);
}

await steps("node-redis's cache", {
  "asks the server once": async () => {
    await other.set("town:1", "Paris");
    assert.equal(await cached.get("town:1"), "Paris");
    const before = await gets();
    for (let i = 0; i < 100; i++) assert.equal(await cached.get("town:1"), "Paris");
    assert.equal(await gets(), before);
  },
  "is told of a write, a delete and a flush": async () => {
    await other.set("town:1", "Rome");
    await until(async () => (await cached.get("town:1")) === "Rome", "the write is told");
    await other.del("town:1");
    await until(async () => (await cached.get("town:1")) === null, "the delete is told");
    await other.set("town:1", "Bern");
    await until(async () => (await cached.get("town:1")) === "Bern", "the write is told");
    await other.flushDb();
    await until(async () => (await cached.get("town:1")) === null, "the flush is told");
  },
  "has nothing old after kill -9 of the server": async () => {
    await other.set("town:1", "Paris");
    await until(async () => (await cached.get("town:1")) === "Paris", "the write is told");
    await killAndStart();
    await other.set("town:1", "Oslo");
    await until(async () => (await cached.get("town:1").catch(() => "")) === "Oslo", "it is there again");
  },
});
