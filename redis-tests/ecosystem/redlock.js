// redlock 4 and 5: a lock outlives the server that keeps it, and ends when its time is over.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { ioredis, killAndStart, steps } from "./common.js";

const require = createRequire(import.meta.url);
const one = ioredis();
const other = ioredis();
const versions = [
  ["4", require("redlock"), "LockError", "lock", "unlock"],
  ["5", require("redlock5").default, "ExecutionError", "acquire", "release"],
];

const acts = {};
for (const [version, Redlock, refusal, acquire, release] of versions) {
  const mine = new Redlock([one], { retryCount: 0 });
  const yours = new Redlock([other], { retryCount: 0 });
  const waits = new Redlock([other], { retryCount: 200, retryDelay: 50 });
  const names = (...words) => words.map((word) => `${version}:${word}`);
  let lock;
  for (const each of [mine, yours, waits]) {
    each.on(version === "4" ? "clientError" : "error", () => {});
  }
  Object.assign(acts, {
    [`version ${version}: a second holder is refused`]: async () => {
      lock = await mine[acquire](names("report"), 60000);
      await assert.rejects(yours[acquire](names("report"), 60000), { name: refusal });
    },
    [`version ${version}: the lock outlives kill -9 of the server`]: async () => {
      await killAndStart();
      await assert.rejects(yours[acquire](names("report"), 60000), { name: refusal });
    },
    [`version ${version}: its holder extends it and lets it go`]: async () => {
      lock = await lock.extend(60000);
      await lock[release]();
      const next = await yours[acquire](names("report"), 60000);
      await assert.rejects(lock[release](), { name: refusal });
      await next[release]();
    },
    [`version ${version}: one that nobody lets go ends, also over a restart`]: async () => {
      await mine[acquire](names("short"), 600);
      await killAndStart();
      await (await waits[acquire](names("short"), 1000))[release]();
    },
    [`version ${version}: several names are one lock`]: async () => {
      const both = await mine[acquire](names("a", "b"), 60000);
      await assert.rejects(yours[acquire](names("b"), 1000), { name: refusal });
      await both[release]();
    },
  });
}
await steps("redlock", acts);
