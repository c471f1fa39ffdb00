// redis-semaphore: its mutexes work; its semaphores are made of sorted sets, which this server does
// not have.

import assert from "node:assert/strict";
import semaphores from "redis-semaphore";
import { ioredis, killAndStart, sleep, steps } from "./common.js";

const { MultiSemaphore, Mutex, RedlockMutex, Semaphore } = semaphores;
const one = ioredis();
const other = ioredis();
const tries = (name) => new Mutex(other, name, { acquireAttemptsLimit: 1, refreshInterval: 0 });
let mutex;

await steps("redis-semaphore", {
  "a mutex has one holder": async () => {
    mutex = new Mutex(one, "report", { lockTimeout: 30000, refreshInterval: 0 });
    await mutex.acquire();
    assert.equal(await tries("report").tryAcquire(), false);
  },
  "also after kill -9 of the server": async () => {
    await killAndStart();
    assert.equal(await tries("report").tryAcquire(), false);
    assert.equal(mutex.isAcquired, true);
    await mutex.release();
    const next = tries("report");
    assert.equal(await next.tryAcquire(), true);
    await next.release();
  },
  "a mutex that is refreshed stays, also over kill -9": async () => {
    const long = new Mutex(one, "long", { lockTimeout: 3000, refreshInterval: 100 });
    await long.acquire();
    await killAndStart();
    await sleep(3200);
    assert.equal(long.isAcquired, true);
    assert.equal(await tries("long").tryAcquire(), false);
    await long.release();
  },
  "one whose holder is gone ends by itself": async () => {
    const lost = new Mutex(one, "short", { lockTimeout: 300, refreshInterval: 0 });
    await lost.acquire();
    const next = new Mutex(other, "short", { acquireTimeout: 5000 });
    await next.acquire();
    await next.release();
  },
  "a mutex over several servers": async () => {
    const servers = [one, ioredis({ db: 1 }), ioredis({ db: 2 })];
    const all = new RedlockMutex(servers, "everywhere", { refreshInterval: 0 });
    await all.acquire();
    assert.equal(await tries("everywhere").tryAcquire(), false);
    await all.release();
  },
  "semaphores have so many holders": async () => {
    const all = [new Semaphore(one, "pool", 2), new MultiSemaphore(one, "pools", 2, 1)];
    for (const each of all) {
      await each.acquire();
      await each.release();
    }
    assert.equal(await one.exists("semaphore:pool"), 0);
  },
});
