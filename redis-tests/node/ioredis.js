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

  "watches keys, prefixes and patterns": async (r) => {
    const listener = connect();
    const messages = [];
    const next = async () => {
      for (let i = 0; i < 500 && messages.length === 0; i++) {
        await new Promise((done) => setTimeout(done, 10));
      }
      return messages.shift();
    };
    listener.on("message", (channel, text) => messages.push([channel, JSON.parse(text)]));
    listener.on("pmessage", (_, channel, text) => messages.push([channel, JSON.parse(text)]));
    await r.call("KV.SET", key("u", 1), 1);
    assert.equal(await listener.subscribe(`kv:watch:${key("u", 1)}`), 1);
    assert.equal((await next())[1].value, 1);
    await listener.unsubscribe();
    await listener.subscribe(`kv:prefix:${key("u")}`);
    const stamp = await r.call("KV.SET", key("u", 2), '"two"');
    assert.equal((await next())[1].commit, stamp);
    await listener.unsubscribe();
    await listener.psubscribe("kv:watch:u/#*");
    await r.call("KV.DEL", key("u", 2));
    const [channel, change] = await next();
    assert.deepEqual([channel, change.value, change.versionstamp], ["kv:watch:u/#2", null, null]);
    listener.disconnect();
  },

  "consumes a queue": async (r) => {
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push(await r.call("KV.ENQUEUE", "q", i));
    const [[queue, id, value, attempt, receipt]] = await r.call("KV.DEQUEUE", "q");
    assert.deepEqual([queue, id, value, attempt], ["q", ids[0], "0", 1]);
    assert.equal(await r.call("KV.ACK", receipt), 1);
    assert.equal(await r.call("KV.ACK", receipt), 0);
    const two = await r.call("KV.DEQUEUE", "q", "COUNT", 10, "BLOCK", 1000);
    assert.deepEqual(two.map((m) => m[2]), ["1", "2"]);
    assert.match(await r.call("KV.ATOMIC", "SET", key("done"), 1, "ACK", two[0][4]), STAMP);
    assert.equal(await r.call("KV.ATOMIC", "SET", key("done"), 2, "ACK", two[0][4]), null);
    assert.equal(await r.call("KV.ACK", two[1][4]), 1);
    assert.equal(await r.call("KV.DEQUEUE", "q", "BLOCK", 1), null);
  },

  "is pushed a queue": async (r) => {
    const listener = connect();
    const pushed = new Promise((done) => {
      listener.on("message", (_, text) => done(JSON.parse(text)));
    });
    await listener.subscribe("kv:queue:pushed");
    await r.call("KV.ENQUEUE", "pushed", '{"n":1}');
    const { queue, value, receipt } = await pushed;
    assert.deepEqual([queue, value], ["pushed", { n: 1 }]);
    assert.equal(await r.call("KV.ACK", receipt), 1);
    listener.disconnect();
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
