// @fastify/rate-limit with its Redis store: requests that were counted stay counted when the server
// is killed.

import assert from "node:assert/strict";
import Fastify from "fastify";
import rateLimit from "@fastify/rate-limit";
import { ioredis, killAndStart, steps } from "./common.js";

const redis = ioredis();

async function makeApp(more = {}) {
  const app = Fastify();
  const options = { max: 3, timeWindow: "1 minute", redis, nameSpace: "app:", ...more };
  await app.register(rateLimit, options);
  app.get("/", () => "hello");
  return app;
}
const asks = async (app, remoteAddress = "192.0.2.1") => app.inject({ url: "/", remoteAddress });

await steps("@fastify/rate-limit", {
  "so many requests in a minute": async () => {
    const app = await makeApp();
    for (const left of ["2", "1", "0"]) {
      const reply = await asks(app);
      assert.equal(reply.statusCode, 200);
      assert.equal(reply.headers["x-ratelimit-remaining"], left);
    }
    assert.equal((await asks(app)).statusCode, 429);
  },
  "the same after kill -9 of the server, in another process too": async () => {
    await killAndStart();
    const app = await makeApp();
    const reply = await asks(app);
    assert.equal(reply.statusCode, 429);
    assert.ok(Number(reply.headers["retry-after"]) > 30, reply.headers["retry-after"]);
    assert.equal((await asks(app, "192.0.2.2")).statusCode, 200);
  },
  "a window that is over is a new one": async () => {
    const app = await makeApp({ max: 1, timeWindow: 1000, nameSpace: "short:" });
    assert.equal((await asks(app)).statusCode, 200);
    assert.equal((await asks(app)).statusCode, 429);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    assert.equal((await asks(app)).statusCode, 200);
  },
  "each request begins the window anew when it is so set": async () => {
    const app = await makeApp({ max: 1, continueExceeding: true, nameSpace: "continue:" });
    assert.equal((await asks(app)).statusCode, 200);
    assert.equal(await redis.pexpire("continue:192.0.2.1", 20000), 1);
    assert.equal((await asks(app)).statusCode, 429);
    assert.ok((await redis.pttl("continue:192.0.2.1")) > 20000);
  },
});
