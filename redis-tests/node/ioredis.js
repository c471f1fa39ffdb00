// One user's day with ioredis: it resends by itself, and reconnects by itself.
//
// usage: ioredis.js <port> <protocol: 2, 3 or default> <suffix of the test names>
// Prints `ok - name` and `not ok - name` lines. Empties the database.

import assert from "node:assert/strict";
import { Redis } from "ioredis";

const [port, protocol, suffix] = process.argv.slice(2);

const STAMP = /^[0-9a-f]{20}$/;
const key = (...parts) => JSON.stringify(parts);

function connect(more = {}) {
  const options = { host: "127.0.0.1", port: Number(port), ...more };
  if (protocol !== "default") options.protocol = Number(protocol);
  return new Redis(options);
}

const steps = {
  "connects as asked": async (r) => {
    assert.equal(await r.ping(), "PONG");
    const info = await r.client("INFO");
    assert.match(info, protocol === "2" ? /resp=2/ : /resp=3/);
    assert.match(info, /lib-name=ioredis/);
    assert.equal(r.status, "ready");
  },

  "sets, gets and lists": async (r) => {
    const stamp = await r.call("KV.SET", key("a"), '{"name":"Ann"}');
    assert.match(stamp, STAMP);
    assert.equal((await r.call("KV.GET", key("a"), "WITHVERSION"))[1], stamp);
    assert.equal(await r.call("KV.GET", key("none")), null);
    const [cursor, page] = await r.call("KV.LIST", "PREFIX", "[]");
    assert.equal(cursor, "0");
    assert.deepEqual(page, [[key("a"), '{"name":"Ann"}', stamp]]);
  },

  "pipelines": async (r) => {
    const p = r.pipeline();
    for (let i = 0; i < 500; i++) p.call("KV.SUM", key("n"), 1);
    const replies = await p.exec();
    assert.equal(replies.length, 500);
    assert.ok(replies.every(([error, [n]], i) => error === null && n === String(i + 1)));
  },

  "runs MULTI as one transaction": async (r) => {
    const replies = await r
      .multi()
      .call("KV.SET", key("a"), 1)
      .call("KV.GET", key("a"))
      .set("plain", "x")
      .get("plain")
      .exec();
    assert.deepEqual(replies.slice(1), [[null, "1"], [null, "OK"], [null, "x"]]);
    const refused = r.multi().set("plain", "y").incr("plain").exec();
    await assert.rejects(refused, /EXECABORT command 2 incr: ERR value is not an integer/);
    assert.equal(await r.get("plain"), "x");
    await r.watch("plain");
    await r.set("plain", "z");
    assert.equal(await r.multi().set("plain", "mine").exec(), null);
  },

  "has plain keys": async (r) => {
    assert.equal(await r.set("k", "v", "EX", 100), "OK");
    assert.equal(await r.incrby("n", 42), 42);
    assert.deepEqual(await r.mget("k", "none", "n"), ["v", null, "42"]);
    const seen = [];
    for await (const keys of r.scanStream({ match: "*" })) seen.push(...keys);
    assert.deepEqual(seen.sort(), ["k", "n"]);
    const buffer = Buffer.from([0, 255, 13, 10]);
    await r.set("raw", buffer);
    assert.deepEqual(await r.getBuffer("raw"), buffer);
  },

  "sends again after a lost connection": async (r) => {
    // ioredis resends what was not answered when its connection was killed; with IDEM it counts once.
    const before = await r.client("ID");
    const killer = connect();
    const answers = [];
    for (let i = 0; i < 50; i++) {
      answers.push(r.call("KV.SUM", key("c"), 1, "IDEM", `i-${i}`));
      if (i % 10 === 5) await killer.client("KILL", "TYPE", "NORMAL", "SKIPME", "YES");
    }
    const numbers = (await Promise.all(answers)).map(([n]) => Number(n));
    assert.deepEqual(numbers.sort((a, b) => a - b), Array.from({ length: 50 }, (_, i) => i + 1));
    assert.equal(await r.call("KV.GET", key("c")), "50");
    assert.notEqual(await r.client("ID"), before);
    killer.disconnect();
  },

  "maps errors": async (r) => {
    await assert.rejects(r.call("KV.GET", "users"), /ERR invalid key/);
    await assert.rejects(r.call("NOSUCH"), /ERR unknown command 'NOSUCH'/);
  },
};

const client = connect();
client.on("error", () => {});
let failures = 0;
for (const [name, step] of Object.entries(steps)) {
  try {
    await client.flushall();
    await step(client);
    console.log(`ok - ioredis ${name} (${suffix})`);
  } catch (error) {
    failures++;
    console.log(`not ok - ioredis ${name} (${suffix})\n${error.stack}`);
  }
}
await client.quit();
process.exit(failures === 0 ? 0 : 1);
