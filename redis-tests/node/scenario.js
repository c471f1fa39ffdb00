// One user's day with node-redis: every KV.* command, by RESP2 and by RESP3.
//
// usage: scenario.js <port> <protocol: 2, 3 or default> <suffix of the test names>
// Prints `ok - name` and `not ok - name` lines. Empties the database.

import assert from "node:assert/strict";
import { createClient, RESP_TYPES } from "redis";

const [port, protocol, suffix] = process.argv.slice(2);

const STAMP = /^[0-9a-f]{20}$/;
const key = (...parts) => JSON.stringify(parts);

async function connect(more = {}) {
  const socket = { host: "127.0.0.1", port: Number(port), reconnectStrategy: false };
  const options = { socket, ...more };
  if (protocol !== "default") options.RESP = Number(protocol);
  const client = createClient(options);
  client.on("error", () => {});
  await client.connect();
  return client;
}

const run = (client, ...words) => client.sendCommand(words.map(String));

const steps = {
  "connects as asked": async (r) => {
    const info = await run(r, "CLIENT", "INFO");
    assert.match(info, protocol === "2" ? /resp=2/ : /resp=3/);
    assert.match(info, /lib-name=node-redis/);
    assert.equal(await r.ping(), "PONG");
    assert.equal(await r.echo("x"), "x");
  },

  "sets and gets": async (r) => {
    assert.equal(await run(r, "KV.GET", key("a")), null);
    const stamp = await run(r, "KV.SET", key("a"), '{"name":"Ann"}');
    assert.match(stamp, STAMP);
    assert.deepEqual(JSON.parse(await run(r, "KV.GET", key("a"))), { name: "Ann" });
    assert.equal((await run(r, "KV.GET", key("a"), "WITHVERSION"))[1], stamp);
    assert.equal(await run(r, "KV.SET", key("a"), 1, "NX"), null);
    assert.ok((await run(r, "KV.SET", key("a"), 2, "IFVERSION", stamp)) > stamp);
    const [a, missing] = await run(r, "KV.MGET", key("a"), key("none"));
    assert.equal(a[0], "2");
    assert.equal(missing, null);
    assert.equal(await run(r, "KV.DEL", key("a"), key("none")), 1);
  },

  "expires": async (r) => {
    await run(r, "KV.SET", key("t"), 1, "EX", 100);
    assert.ok((await run(r, "KV.TTL", key("t"))) >= 90);
    assert.equal(await run(r, "KV.PEXPIRE", key("t"), 500000, "GT"), 1);
    assert.ok((await run(r, "KV.PTTL", key("t"))) >= 400000);
    assert.equal(await run(r, "KV.PERSIST", key("t")), 1);
    assert.equal(await run(r, "KV.TTL", key("t")), -1);
    assert.equal(await run(r, "KV.TTL", key("none")), -2);
  },

  "computes": async (r) => {
    assert.equal((await run(r, "KV.SUM", key("n"), 5))[0], "5");
    assert.equal((await run(r, "KV.SUM", key("n"), 50, "CLAMP", 0, 10))[0], "10");
    assert.equal((await run(r, "KV.MIN", key("n"), 4))[0], "4");
    assert.equal((await run(r, "KV.MAX", key("n"), 7))[0], "7");
    assert.equal((await run(r, "KV.APPEND", key("l"), "[1,2]"))[0], 2);
    assert.equal((await run(r, "KV.PREPEND", key("l"), "[0]"))[0], 3);
    assert.equal(await run(r, "KV.GET", key("l")), "[0,1,2]");
  },

  "lists and deletes ranges": async (r) => {
    // node-redis pipelines what is sent in one turn.
    const stamps = await Promise.all(
      Array.from({ length: 250 }, (_, i) => run(r, "KV.SET", key("p", i), i)),
    );
    assert.equal(new Set(stamps).size, 250);
    const seen = [];
    let cursor = "0";
    do {
      const [next, page] = await run(r, "KV.LIST", "PREFIX", key("p"), "CURSOR", cursor);
      for (const [k, v] of page) seen.push([JSON.parse(k)[1], Number(v)]);
      cursor = next;
    } while (cursor !== "0");
    assert.deepEqual(seen, Array.from({ length: 250 }, (_, i) => [i, i]));
    assert.equal(await run(r, "KV.COUNT", "START", key("p", 10), "END", key("p", 20)), 10);
    assert.equal(await run(r, "KV.DELRANGE", "PREFIX", key("p"), "LIMIT", 50), 50);
    assert.equal(await run(r, "KV.DELRANGE", "ALL"), 200);
  },

  "commits transactions": async (r) => {
    const first = await run(r, "KV.ATOMIC", "SET", key("a"), 1, "SUM", key("n"), 2);
    assert.equal(await run(r, "KV.VERSION"), first);
    assert.equal(await run(r, "KV.ATOMIC", "CHECK", key("a"), "NONE", "DEL", key("a")), null);
    const conflict = await run(r, "KV.ATOMIC", "DETAILS", "CHECK", key("a"), "NONE");
    assert.deepEqual(conflict, [null, [[0, first]]]);
    const done = await run(r, "KV.ATOMIC", "DETAILS", "CHECK", key("a"), first, "SUM", key("n"), 1);
    assert.deepEqual(done[1], [null, "3"]);
  },

  "runs MULTI as one transaction": async (r) => {
    const [stamp, entry, sum, ok, plain] = await r
      .multi()
      .addCommand(["KV.SET", key("a"), '{"at":{"$versionstamp":true}}'])
      .addCommand(["KV.GET", key("a"), "WITHVERSION"])
      .addCommand(["KV.SUM", key("n"), "4"])
      .set("plain", "x")
      .get("plain")
      .exec();
    assert.match(stamp, STAMP);
    assert.deepEqual(JSON.parse(entry[0]), { at: stamp });
    assert.deepEqual([sum[0], ok, plain], ["4", "OK", "x"]);
    const refused = r.multi().set("plain", "y").addCommand(["KV.SUM", key("a"), "1"]).exec();
    await assert.rejects(refused, /EXECABORT command 2 kv.sum: WRONGTYPE/);
    assert.equal(await r.get("plain"), "x");
    await r.watch("plain");
    const other = await connect();
    await other.set("plain", "z");
    await assert.rejects(r.multi().set("plain", "mine").exec(), /watched keys/);
    assert.equal(await other.get("plain"), "z");
    await other.close();
  },

  "has plain keys": async (r) => {
    assert.equal(await r.set("k", "v", { expiration: { type: "EX", value: 100 } }), "OK");
    assert.ok((await r.ttl("k")) > 90);
    assert.equal(await r.set("k", "w", { condition: "NX" }), null);
    assert.equal(await r.incr("n"), 1);
    assert.equal(await r.incrBy("n", 41), 42);
    assert.deepEqual(await r.mGet(["k", "none", "n"]), ["v", null, "42"]);
    await r.mSet(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`m${i}`, "x"])));
    const seen = new Set();
    for await (const keys of r.scanIterator({ MATCH: "m*", COUNT: 50 })) {
      for (const k of keys) seen.add(k);
    }
    assert.equal(seen.size, 300);
    assert.equal(await r.del(["k", "n", "none"]), 2);
  },

  "watches keys, prefixes and patterns": async (r) => {
    const listener = await connect();
    const messages = [];
    const next = async () => {
      for (let i = 0; i < 500 && messages.length === 0; i++) {
        await new Promise((done) => setTimeout(done, 10));
      }
      return messages.shift();
    };
    const take = (text, channel) => messages.push([channel, JSON.parse(text)]);
    await run(r, "KV.SET", key("u", 1), 1);
    await listener.subscribe(`kv:watch:${key("u", 1)}`, take);
    assert.deepEqual((await next())[1].value, 1);
    await listener.unsubscribe(`kv:watch:${key("u", 1)}`);
    await listener.subscribe(`kv:prefix:${key("u")}`, take);
    const stamp = await run(r, "KV.SET", key("u", 2), '"two"');
    assert.deepEqual(await next(), [
      `kv:prefix:${key("u")}`,
      { key: ["u", 2], value: "two", versionstamp: stamp, commit: stamp },
    ]);
    await listener.unsubscribe(`kv:prefix:${key("u")}`);
    await listener.pSubscribe("kv:watch:u/#*", take);
    await run(r, "KV.DEL", key("u", 2));
    const [channel, change] = await next();
    assert.equal(channel, "kv:watch:u/#2");
    assert.equal(change.versionstamp, null);
    listener.destroy();
  },

  "consumes a queue": async (r) => {
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push(await run(r, "KV.ENQUEUE", "q", i));
    const [[queue, id, value, attempt, receipt]] = await run(r, "KV.DEQUEUE", "q");
    assert.deepEqual([queue, id, value, attempt], ["q", ids[0], "0", 1]);
    assert.equal(await run(r, "KV.ACK", receipt), 1);
    assert.equal(await run(r, "KV.ACK", receipt), 0);
    const two = await run(r, "KV.DEQUEUE", "q", "COUNT", 10, "BLOCK", 1000);
    assert.deepEqual(two.map((m) => m[2]), ["1", "2"]);
    assert.match(await run(r, "KV.ATOMIC", "SET", key("done"), 1, "ACK", two[0][4]), STAMP);
    assert.equal(await run(r, "KV.ATOMIC", "SET", key("done"), 2, "ACK", two[0][4]), null);
    assert.equal(await run(r, "KV.ACK", two[1][4]), 1);
    assert.equal(await run(r, "KV.DEQUEUE", "q", "BLOCK", 1), null);
  },

  "is pushed a queue": async (r) => {
    const listener = await connect();
    const pushed = new Promise((done) => {
      listener.subscribe("kv:queue:pushed", (text) => done(JSON.parse(text)));
    });
    await run(r, "KV.ENQUEUE", "pushed", '{"n":1}');
    const { queue, value, attempt, receipt } = await pushed;
    assert.deepEqual([queue, value, attempt], ["pushed", { n: 1 }, 1]);
    assert.equal(await run(r, "KV.ACK", receipt), 1);
    listener.destroy();
  },

  "repeats a write safely": async (r) => {
    const first = await run(r, "KV.SUM", key("c"), 1, "IDEM", "order-1");
    assert.deepEqual(await run(r, "KV.SUM", key("c"), 1, "IDEM", "order-1"), first);
    assert.equal(await run(r, "KV.GET", key("c")), "1");
    await assert.rejects(run(r, "KV.SUM", key("c"), 2, "IDEM", "order-1"), /other arguments/);
  },

  "asks questions of values": async (r) => {
    for (const [i, name] of ["Ann", "Bob"].entries()) {
      await run(r, "KV.SET", key("p", i), JSON.stringify({ name, n: i }));
    }
    assert.equal(await run(r, "KV.COUNT", "WHERE", '{"n":{"$gte":1}}'), 1);
    assert.equal(await run(r, "KV.INDEX", "CREATE", "n", "PREFIX", key("p"), "ON", 1, "n", "UNIQUE"), "OK");
    const [cursor, found] = await run(r, "KV.FIND", "n", "FROM", 1);
    assert.equal(cursor, "0");
    assert.deepEqual(found[0].slice(0, 2), [key("p", 1), '{"name":"Bob","n":1}']);
    await assert.rejects(run(r, "KV.SET", key("p", 9), '{"n":1}'), /DUPLICATE n \["p",1\]/);
    await run(r, "KV.INDEX", "CREATE", "t", "PREFIX", key("p"), "TEXT", 1, "name");
    const hits = await run(r, "KV.SEARCH", "t", "bob", "WITHSCORES");
    assert.equal(hits.length, 1);
    assert.equal(hits[0][0], key("p", 1));
    assert.ok(Number(hits[0][3]) > 0);
    for (const name of await run(r, "KV.INDEX", "LIST")) await run(r, "KV.INDEX", "DROP", name);
  },

  "speaks messagepack": async (r) => {
    const raw = (await connect()).withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    await raw.sendCommand(["KV.FORMAT", "MSGPACK"]);
    const packedKey = Buffer.from([0x92, 0xa1, 0x6d, 0x2a]); // ["m", 42]
    const value = Buffer.from([0x93, 0x01, 0xc0, 0xc4, 0x02, 0x00, 0xff]); // [1, nil, bytes]
    await raw.sendCommand(["KV.SET", packedKey, value]);
    assert.deepEqual(await raw.sendCommand(["KV.GET", packedKey]), value);
    assert.equal(await run(r, "KV.GET", key("m", 42)), '[1,null,{"$bytes":"AP8="}]');
    raw.destroy();
  },

  "maps errors": async (r) => {
    await run(r, "KV.SET", key("s"), '"text"');
    await assert.rejects(run(r, "KV.GET", "users"), /ERR invalid key/);
    await assert.rejects(run(r, "KV.SUM", key("s"), 1), /^\w*Error: WRONGTYPE .*string/);
    await assert.rejects(run(r, "NOSUCH"), /ERR unknown command 'NOSUCH'/);
    assert.equal(await run(r, "KV.GET", key("s")), '"text"');
  },

  "tells about itself": async (r) => {
    assert.equal(await run(r, "KV.FORMAT"), "JSON");
    assert.match(await r.info("server"), /redis_mode:standalone/);
    assert.equal(await r.dbSize(), 0);
    assert.deepEqual({ ...(await r.configGet("databases")) }, { databases: "16" });
    await r.clientSetName("day");
    assert.equal(await r.clientGetName(), "day");
    assert.equal(typeof (await r.clientId()), "number");
    assert.ok((await r.commandCount()) >= 38);
  },

  "selects databases": async (r) => {
    const second = await connect({ database: 2, name: "two" });
    await run(second, "KV.SET", key("a"), 2);
    assert.equal(await run(r, "KV.GET", key("a")), null);
    assert.equal(await run(second, "KV.GET", key("a")), "2");
    assert.equal(await second.clientGetName(), "two");
    await second.close();
  },
};

const client = await connect();
let failures = 0;
for (const [name, step] of Object.entries(steps)) {
  try {
    await client.flushAll();
    await step(client);
    console.log(`ok - ${name} (${suffix})`);
  } catch (error) {
    failures++;
    console.log(`not ok - ${name} (${suffix})\n${error.stack}`);
  }
}
await client.close();
process.exitCode = failures === 0 ? 0 : 1;
