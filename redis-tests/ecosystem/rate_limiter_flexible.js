// rate-limiter-flexible over ioredis and node-redis: what was counted stays counted when the server
// is killed.

import assert from "node:assert/strict";
import limiters from "rate-limiter-flexible";
import { ioredis, kill, killAndStart, nodeRedis, start, steps, until } from "./common.js";

const { BurstyRateLimiter, RateLimiterMemory, RateLimiterQueue, RateLimiterRedis } = limiters;
const clients = {
  ioredis: ioredis({ enableOfflineQueue: false }),
  "node-redis": await nodeRedis({ disableOfflineQueue: true }),
};
const isReady = (client) => client.isReady ?? client.status === "ready";

const acts = {};
for (const [library, storeClient] of Object.entries(clients)) {
  const options = { storeClient, useRedisPackage: library === "node-redis" };
  const make = (name, points, duration, more = {}) => {
    const keyPrefix = `${library}:${name}`;
    return new RateLimiterRedis({ ...options, keyPrefix, points, duration, ...more });
  };
  const limiter = make("login", 3, 60, { blockDuration: 120 });
  const isBack = () => until(() => isReady(storeClient), `${library} is connected again`);
  Object.assign(acts, {
    [`${library}: so many points in a time`]: async () => {
      await isBack();
      for (const left of [2, 1, 0]) {
        assert.equal((await limiter.consume("ada")).remainingPoints, left);
      }
    },
    [`${library}: they are used up after kill -9 too, and it blocks`]: async () => {
      await killAndStart();
      await isBack();
      const refused = await limiter.consume("ada").then(() => assert.fail(), (why) => why);
      assert.equal(refused.remainingPoints, 0);
      const wait = refused.msBeforeNext;
      assert.ok(wait > 60000 && wait <= 120000, String(wait));
      assert.equal((await limiter.consume("bob")).remainingPoints, 2);
    },
    [`${library}: penalty, reward, get, set, block, delete`]: async () => {
      assert.equal((await limiter.penalty("bob", 2)).consumedPoints, 3);
      assert.equal((await limiter.reward("bob", 1)).consumedPoints, 2);
      assert.equal((await limiter.get("bob")).consumedPoints, 2);
      await limiter.set("eve", 1, 30);
      assert.equal((await limiter.get("eve")).remainingPoints, 2);
      await limiter.block("eve", 30);
      await assert.rejects(limiter.consume("eve"));
      assert.equal(await limiter.delete("ada"), true);
      assert.equal(await limiter.get("ada"), null);
    },
    [`${library}: a burst, and a queue`]: async () => {
      const bursty = new BurstyRateLimiter(make("slow", 1, 60), make("burst", 2, 60));
      for (let i = 0; i < 3; i++) await bursty.consume("ada");
      await assert.rejects(bursty.consume("ada"));
      const queue = new RateLimiterQueue(make("queue", 2, 2));
      const begin = Date.now();
      for (let i = 0; i < 3; i++) await queue.removeTokens(1, "ada");
      assert.ok(Date.now() - begin > 100, "the third waits");
    },
    [`${library}: the limiter of insurance counts while the server is away`]: async () => {
      const insuranceLimiter = new RateLimiterMemory({ points: 1, duration: 60 });
      const insured = make("insured", 1, 60, { insuranceLimiter });
      await insured.consume("ada");
      await kill();
      await until(() => !isReady(storeClient), `${library} sees that the server is away`);
      await insured.consume("ada"); // of the points in memory
      await assert.rejects(insured.consume("ada"));
      await start();
      await isBack();
      await assert.rejects(insured.consume("ada"), { consumedPoints: 2 });
    },
  });
}
await steps("rate-limiter-flexible", acts);
