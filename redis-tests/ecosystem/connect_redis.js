// connect-redis: sessions of express are there after the server was killed.

import assert from "node:assert/strict";
import express from "express";
import session from "express-session";
import { RedisStore } from "connect-redis";
import { killAndStart, nodeRedis, sleep, steps } from "./common.js";

const client = await nodeRedis();
const stores = [];

function makeApp(more = {}) {
  const store = new RedisStore({ client, prefix: "session:", ttl: 3600, ...more });
  const app = express();
  stores.push(store);
  const secret = "a secret of the test";
  app.use(session({ store, secret, resave: false, saveUninitialized: false }));
  app.get("/login", (request, response) => {
    request.session.user = "ada";
    request.session.visits = 0;
    response.json({});
  });
  app.get("/visit", (request, response) => {
    if (!request.session.user) return response.status(401).json({});
    request.session.visits++;
    return response.json({ user: request.session.user, visits: request.session.visits });
  });
  app.get("/logout", (request, response) => request.session.destroy(() => response.json({})));
  return new Promise((resolve) => {
    const server = app.listen(0, "127.0.0.1", () => {
      resolve(`http://127.0.0.1:${server.address().port}`);
    });
  });
}

let app = await makeApp();
let cookie;
async function get(path) {
  const reply = await fetch(app + path, { headers: cookie ? { cookie } : {} });
  if (reply.headers.get("set-cookie")) cookie = reply.headers.get("set-cookie").split(";")[0];
  return { status: reply.status, body: await reply.json() };
}

await steps("connect-redis", {
  "a session": async () => {
    assert.equal((await get("/visit")).status, 401);
    await get("/login");
    assert.deepEqual((await get("/visit")).body, { user: "ada", visits: 1 });
  },
  "is there after kill -9 of the server, in another process too": async () => {
    await killAndStart();
    assert.deepEqual((await get("/visit")).body, { user: "ada", visits: 2 });
    app = await makeApp();
    assert.deepEqual((await get("/visit")).body, { user: "ada", visits: 3 });
  },
  "each use moves its end": async () => {
    const [key] = await client.keys("session:*");
    await client.expire(key, 10);
    await get("/visit");
    assert.ok((await client.ttl(key)) > 3000);
  },
  "the store counts, lists and clears": async () => {
    const store = stores[0];
    for (let i = 0; i < 250; i++) await store.set(`more${i}`, { cookie: {}, i });
    assert.equal(await store.length(), 251);
    assert.equal((await store.ids()).length, 251);
    const all = await store.all();
    assert.equal(all.length, 251);
    assert.ok(all.some((each) => each.id === "more7" && each.i === 7));
    await store.clear();
    assert.equal(await store.length(), 0);
    assert.equal((await get("/visit")).status, 401);
  },
  "a session ends when its user leaves, or when its time is over": async () => {
    await get("/login");
    await get("/logout");
    assert.equal((await get("/visit")).status, 401);
    app = await makeApp({ ttl: 2, prefix: "short:" });
    await get("/login");
    assert.equal((await get("/visit")).status, 200);
    await sleep(2300);
    assert.equal((await get("/visit")).status, 401);
  },
});
