// The helpers of clients/typescript against a server, over node-redis and ioredis, by RESP3 and RESP2.
//
// usage: helpers.js <port> <include/tupled.h> <module> [work <library> <queue>]
// Prints `ok - name` and `not ok - name` lines. Prints `ask kill` and `ask start` when the server is to be
// killed and started, and reads a line when that is done. The database is emptied. With `work`: a worker
// that counts its jobs, to be killed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import { createClient } from "redis";

const [port, header, module, mode, ...words] = process.argv.slice(2);
const tupled = await import(module);
const {
  CommitVersion, ERRORS, Reject, Retry, Tupled, U64, UUIDv7, V8, Worker, dumpKey, loadKey, loadValue, dumpValue,
} = tupled;

const STAMP = /^[0-9a-f]{20}$/;
const PATIENCE = 20000;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const libraries = {
  "node-redis": async (protocol, more = {}) => {
    const { username, password, socket, ...others } = more;
    const client = createClient({
      RESP: protocol, socket: { host: "127.0.0.1", port: Number(port), ...socket }, username, password, ...others,
    });
    client.on("error", () => {});
    await client.connect();
    return client;
  },
  ioredis: async (protocol, more = {}) => {
    const { socket, ...others } = more;
    const client = new Redis({ host: "127.0.0.1", port: Number(port), protocol, ...others });
    client.on("error", () => {});
    await client.ping().catch(() => {});
    return client;
  },
};
const close = (client) => (client.destroy ? client.destroy() : client.disconnect());

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function ask(what) {
  console.log(`ask ${what}`);
  assert.equal((await lines.next()).value, "done");
}

async function until(condition, what) {
  const end = Date.now() + PATIENCE;
  while (!(await condition())) {
    assert.ok(Date.now() < end, `waited in vain until ${what}`);
    await sleep(10);
  }
}

async function raises(kind, act) {
  try {
    const result = await act();
    throw new assert.AssertionError({ message: `${JSON.stringify(result)} instead of ${kind.name}` });
  } catch (error) {
    assert.equal(error.constructor, kind, error.stack);
    return error;
  }
}

async function all(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

async function stats(db, queue) {
  const reply = await db.command("KV.QUEUE", "STATS", queue);
  const pairs = Array.isArray(reply)
    ? reply.flatMap((name, i) => (i % 2 ? [] : [[name, reply[i + 1]]]))
    : Object.entries(reply);
  return Object.fromEntries(pairs.map(([name, value]) => [name, Number(value)]));
}

// ---- what both can do ----

const error = (Kind, message, more) => Object.assign(new Kind(message, more), { stack: undefined });
const VALUES = [
  null, undefined, true, false, 0, -7, -0, 1.5, 2 ** 53 - 1, 2 ** 60, 1e20, 1e300, NaN, Infinity, -Infinity, 5n,
  2n ** 60n, -(10n ** 3000n), "", "é€😀\0", new Uint8Array(), new Uint8Array([0, 255]), [], [1, [2, { a: [null] }]],
  {}, { a: 1, b: { c: new Uint8Array([1]) } }, { a: undefined }, new Map(), new Map([["a", 1], [true, [1]], [{ a: 1 }, 2]]),
  new Set([1, "x", true]), /a+/gi, new Date("2023-04-23T01:02:03.004Z"), new Date(NaN), new Int16Array([1, -2]),
  new Float64Array([1.5]), new BigUint64Array([2n ** 64n - 1n]), new Uint8Array([1, 2]).buffer, new U64(2n ** 64n - 1n),
  error(TypeError, "no", { cause: [1] }), error(Error, ""), { $date: 1 }, { $object: { $bigint: "1" } }, { $uuidv7: 1 },
  { $id: 1, value: 2 }, { $id: 1 }, { ["__proto__"]: 1, x: 2 },
  new V8(new Uint8Array(Buffer.from("ff0f610249024902400102", "hex"))), // [, 1]
];

async function keepsValues(db) {
  for (const value of VALUES) {
    await db.set(["v"], value);
    const found = (await db.get(["v"])).value;
    if (value instanceof Date && isNaN(value)) assert.ok(found instanceof Date && isNaN(found)); // of Node 20
    else assert.deepStrictEqual(found, value);
  }
  const named = error(Error, "x");
  named.name = "OwnError";
  named.stack = "at line 1";
  await db.set(["v"], named);
  const { value } = await db.get(["v"]);
  assert.ok(value instanceof Error && value.name === "OwnError" && value.stack === "at line 1");
  const circle = { name: "c", shared: [1] };
  Object.assign(circle, { me: [circle], again: circle.shared });
  await db.set(["v"], circle);
  const found = (await db.get(["v"])).value;
  assert.ok(found.me[0] === found && found.again === found.shared && found.name === "c");
  await db.set(["v"], Buffer.from("x"));
  assert.deepStrictEqual((await db.get(["v"])).value, new Uint8Array([120]));
  class Own {}
  await raises(TypeError, async () => db.set(["v"], new Own()));
  await raises(TypeError, async () => db.set(["v"], () => 1));
  assert.equal(loadValue('{"a":[9007199254740993,-9007199254740993,1e20,1.0,"12345678901234567890"]}').a[0], 9007199254740993n);
  assert.deepStrictEqual(loadValue('["\\"9007199254740993",9007199254740991]'), ['"9007199254740993', 9007199254740991]);
}

async function keepsKeys(db) {
  const keys = [
    new Uint8Array(), new Uint8Array([0, 255]), "", "é\0", -(2n ** 70n), 1n, 2n ** 70n, -Infinity, -1.5, -0, 0, 1,
    2 ** 53 - 1, 2 ** 60, 1e20, Infinity, NaN, false, true,
  ].map((part) => ["k", part]);
  for (const [i, key] of keys.entries()) await db.set(key, i);
  assert.deepStrictEqual(await all(db.listKeys({ prefix: ["k"] })), keys);
  for (const [i, key] of keys.entries()) {
    assert.equal((await db.get(key)).value, i);
    assert.deepStrictEqual(loadKey(dumpKey(key)), key);
  }
  await raises(TypeError, async () => db.get("k"));
  await raises(TypeError, async () => db.get(["k", null]));
}

async function setsWithConditions(db) {
  const first = await db.set(["a"], 1, { ifAbsent: true });
  assert.match(first, STAMP);
  assert.equal(await db.set(["a"], 2, { ifAbsent: true }), null);
  assert.equal(await db.set(["b"], 2, { ifExists: true }), null);
  const second = await db.set(["a"], 2, { ifVersion: first });
  assert.ok(second > first);
  assert.equal(await db.set(["a"], 3, { ifVersion: first }), null);
  assert.deepStrictEqual(await db.get(["a"]), { key: ["a"], value: 2, version: second, expiresAt: null });
  assert.equal(await db.get(["none"]), null);
  assert.deepStrictEqual(await db.getMany([["a"], ["none"]]), [{ key: ["a"], value: 2, version: second }, null]);
  assert.ok((await db.version()) >= second);
  assert.equal(await db.delete(["a"], ["none"]), 1);
  assert.equal(await db.get(["a"]), null);
}

async function expires(db) {
  await db.set(["t"], 1, { ttlMs: 100000 });
  const left = await db.ttl(["t"]);
  assert.ok(left > 90000 && left <= 100000);
  assert.ok(Math.abs((await db.get(["t"])).expiresAt - Date.now() - 100000) < 10000);
  await db.set(["t"], 2, { keepTtl: true });
  assert.notEqual(await db.ttl(["t"]), null);
  assert.equal(await db.persist(["t"]), true);
  assert.equal(await db.ttl(["t"]), null);
  assert.equal(await db.persist(["t"]), false);
  assert.equal(await db.expire(["t"], 50000.4), true);
  assert.equal(await db.expire(["none"], 5), false);
  const expiresAt = new Date("2100-01-01T00:00:00Z");
  await db.set(["t"], 3, { expiresAt });
  assert.deepStrictEqual((await db.get(["t"])).expiresAt, expiresAt);
  await raises(TypeError, async () => db.set(["t"], 3, { expiresAt, ttlMs: 1 }));
  await db.set(["t"], 1, { ttlMs: 20 });
  await until(async () => (await db.get(["t"])) === null, "it has expired");
}

async function lists(db) {
  for (let i = 0; i < 25; i++) await db.set(["l", i], { n: i, even: i % 2 === 0 });
  const numbers = async (options) => (await all(db.list(options))).map(({ value }) => value.n);
  assert.deepEqual(await numbers({ prefix: ["l"], pageSize: 7 }), [...Array(25).keys()]);
  assert.deepEqual(await numbers({ prefix: ["l"], reverse: true, limit: 3 }), [24, 23, 22]);
  assert.deepEqual(await numbers({ start: ["l", 3], end: ["l", 6] }), [3, 4, 5]);
  const where = { even: true, n: { $gte: 20 } };
  assert.deepEqual(await all(db.listKeys({ prefix: ["l"], where, pageSize: 1 })), [["l", 20], ["l", 22], ["l", 24]]);
  assert.deepEqual(await numbers({ prefix: ["l"], where: { even: true }, limit: 5, pageSize: 2 }), [0, 2, 4, 6, 8]);
  assert.equal(await db.count({ prefix: ["l"] }), 25);
  assert.equal(await db.count({ prefix: ["l"], where: { n: { $lt: 3 } } }), 3);
  assert.equal(await db.deleteRange({ prefix: ["l"], where: { even: false } }), 12);
  assert.equal(await db.deleteRange({ start: ["l", 0], end: ["l", 4] }), 2);
  assert.equal(await db.deleteRange({ prefix: ["l"], limit: 1 }), 1);
  assert.ok((await db.deleteRange({})) >= 10);
  assert.deepEqual(await all(db.list()), []);
}

async function computes(db) {
  assert.equal((await db.sum(["n"], 5)).value, 5);
  assert.equal((await db.sum(["n"], 100, { clamp: [0, 10] })).value, 10);
  await raises(tupled.OutOfRangeError, () => db.sum(["n"], 1, { within: [0, 10] }));
  assert.equal((await db.min(["n"], 4)).value, 4);
  assert.equal((await db.max(["n"], 7)).value, 7);
  assert.equal((await db.sum(["big"], 10n ** 30n)).value, 10n ** 30n);
  await db.sum(["u"], new U64(2n ** 64n - 1n));
  assert.deepStrictEqual((await db.sum(["u"], new U64(2))).value, new U64(1));
  assert.equal((await db.append(["l"], [1, new Uint8Array([1])])).length, 2);
  assert.equal((await db.prepend(["l"], ["first"])).length, 3);
  assert.deepStrictEqual((await db.get(["l"])).value, ["first", 1, new Uint8Array([1])]);
}

async function findsAndSearches(db) {
  await db.command("KV.INDEX", "CREATE", "by_age", "PREFIX", '["p"]', "ON", 1, "age");
  await db.command("KV.INDEX", "CREATE", "words", "PREFIX", '["p"]', "TEXT", 1, "bio");
  for (const [name, age] of [["ann", 30], ["bob", 20], ["cid", 40], ["dan", 30]]) {
    await db.set(["p", name], { age, bio: `${name} likes trees` });
  }
  const isReady = () =>
    all(db.find("by_age")).then(() => db.search("words", "x")).then(() => true, (e) => {
      if (e instanceof tupled.IndexingError) return false;
      throw e;
    });
  await until(isReady, "the indexes are complete");
  const names = async (...options) => (await all(db.find("by_age", ...options))).map(({ key }) => key[1]);
  assert.deepEqual(await names([], { pageSize: 2 }), ["bob", "ann", "dan", "cid"]);
  assert.deepEqual(await names([30]), ["ann", "dan"]);
  assert.deepEqual(await names([], { from: 30, reverse: true, limit: 1 }), ["cid"]);
  const [found] = await db.search("words", "bob trees", { limit: 5 });
  assert.deepEqual(found.key, ["p", "bob"]);
  assert.ok(found.score > 0);
  await db.command("KV.INDEX", "DROP", "by_age");
  await db.command("KV.INDEX", "DROP", "words");
}

async function commitsOrTellsWhyNot(db) {
  const version = await db.set(["a"], 1);
  const done = await db
    .atomic()
    .check(["a"], version).check(["new"], null)
    .set(["new", new UUIDv7(0)], { of: new CommitVersion(), id: new UUIDv7(0) }, { ttlMs: 100000 })
    .sum(["n"], 2, { clamp: [0, 9] }).max(["n"], 7).min(["n"], 3)
    .append(["l"], [1]).prepend(["l"], [0])
    .enqueue("q", { job: 1 }, { delayMs: 0, backoffMs: [1000, 2000], undelivered: [["dead"]] })
    .delete(["a"])
    .commit();
  assert.ok(done.ok);
  assert.match(done.version, STAMP);
  const key = done.results[2];
  assert.match(key[1], /^[0-9a-f-]{36}$/);
  assert.deepEqual(done.results.toSpliced ? done.results.toSpliced(2, 1) : done.results.filter((_, i) => i !== 2), [
    null, null, 2, 7, 3, 1, 2, done.results[8], null,
  ]);
  assert.deepEqual((await db.get(key)).value, { of: done.version, id: key[1] });
  const [message] = await db.dequeue("q");
  assert.deepEqual([message.id, message.value, message.attempt], [done.results[8], { job: 1 }, 1]);
  await raises(tupled.CommandError, () => db.atomic().ack("nothing").commit());
  assert.equal(await db.ack(message.receipt), 1);
  const missed = await db.atomic().check(["n"], null).check(["a"], version).ack(message.receipt).sum(["n"], 1).commit();
  assert.equal(missed.ok, false);
  assert.deepEqual(missed.conflicts, [
    { index: 0, operation: "CHECK", key: ["n"], version: (await db.get(["n"])).version },
    { index: 1, operation: "CHECK", key: ["a"], version: null },
    { index: 2, operation: "ACK", key: null, version: null },
  ]);
  assert.equal((await db.get(["n"])).value, 3);
  assert.throws(() => db.atomic().sum(["n"], 1, { clamp: [0, 1], within: [0, 1] }), TypeError);
}

async function happensOnce(db) {
  const builder = db.atomic().sum(["once"], 1).enqueue("once", 1);
  const first = await builder.commit();
  assert.deepEqual(await builder.commit(), first);
  assert.equal((await db.get(["once"])).value, 1);
  assert.equal((await db.sum(["once"], 1, { idem: "me" })).value, 2);
  assert.equal((await db.sum(["once"], 1, { idem: "me" })).value, 2);
  assert.equal(await db.enqueue("once", 2, { idem: "it" }), await db.enqueue("once", 2, { idem: "it" }));
  assert.deepEqual((await db.dequeue("once", { count: 10 })).map(({ value }) => value), [1, 2]);
  assert.notEqual(await db.enqueue("once", 3, { dedup: "d" }), null);
  assert.equal(await db.enqueue("once", 3, { dedup: "d" }), null);
}

async function takesAndReturnsMessages(db) {
  assert.deepEqual(await db.dequeue("m", { blockMs: 10 }), []);
  for (let i = 0; i < 3; i++) await db.enqueue("m", i, { backoffMs: [1] });
  const [a, b, c] = await db.dequeue(["m", "other"], { count: 5, leaseMs: 60000 });
  assert.deepEqual([a.value, b.value, c.value], [0, 1, 2]);
  assert.equal(await db.extend(a.receipt, 60000), true);
  assert.equal(await db.ack(a.receipt), 1);
  assert.equal(await db.extend(a.receipt, 1000), false);
  assert.equal(await db.nack(b.receipt, { delayMs: 0, error: "später ".repeat(1000) }), true);
  assert.equal(await db.nack(c.receipt, { error: "never", dead: true }), true);
  const [again] = await db.dequeue("m", { blockMs: 1000 });
  assert.deepEqual([again.value, again.attempt], [1, 2]);
  assert.equal(await db.ack(again.receipt), 1);
  assert.equal(Number(await db.command("KV.DLQ", "DEL", "m", c.id)), 1);
}

async function raisesByCode(db) {
  await db.set(["text"], "x");
  await raises(tupled.WrongTypeError, () => db.sum(["text"], 1));
  await raises(tupled.CommandError, () => db.command("KV.GET", "["));
  await raises(tupled.CommandError, () => db.command("NOPE"));
  await db.set(["max"], 2 ** 53 - 1);
  await raises(tupled.NumberOverflowError, () => db.sum(["max"], 1));
  await raises(tupled.LimitError, () => db.set(Array(65).fill("k"), 1));
  await db.command("KV.INDEX", "CREATE", "names", "PREFIX", '["u"]', "ON", 1, "name", "UNIQUE");
  await db.set(["u", 1], { name: "Ann" });
  const twice = await raises(tupled.DuplicateError, () => db.set(["u", 2], { name: "Ann" }));
  assert.deepEqual([twice.index, twice.key, twice.code], ["names", '["u",1]', "DUPLICATE"]);
  await db.command("KV.INDEX", "DROP", "names");
  const stale = await raises(tupled.StaleError, () => all(db.feed({ position: `${"f".repeat(16)}0000`, follow: false })));
  assert.match(stale.oldest, STAMP);
  await raises(tupled.WrongPassError, () => db.command("AUTH", "nobody", "x"));
}

async function readsTheFeed(db) {
  const position = await db.version();
  await db.atomic().set(["f", 1], "a").set(["f", 2], "b").commit();
  await db.set(["other"], 1);
  await db.delete(["f", 1]);
  await db.set(["f", 3], 3n, { expiresAt: new Date("2100-01-01T00:00:00Z") });
  const batches = await all(db.feed({ position, prefix: ["f"], follow: false, size: 1 }));
  const rows = batches.flatMap(({ changes }) => changes.map(({ kind, key, value }) => [kind, key[1], value]));
  assert.deepEqual(rows, [["set", 1, "a"], ["set", 2, "b"], ["delete", 1, null], ["set", 3, 3n]]);
  assert.equal(batches.at(-1).changes.at(-1).expiresAt.getUTCFullYear(), 2100);
  assert.equal(batches[0].changes.length, 2); // a commit is whole
  const middle = batches[0].position;
  const rest = await all(db.feed({ position: middle, prefix: ["f"], follow: false }));
  assert.deepEqual(rest.flatMap(({ changes }) => changes.map(({ key }) => key[1])), [1, 3]);
  const feed = db.feed({ position: batches.at(-1).position, prefix: ["f"] });
  const following = feed[Symbol.asyncIterator]();
  assert.deepEqual((await following.next()).value.changes, []); // it says that there is nothing
  await db.set(["f", 4], 1);
  await until(async () => (await following.next()).value.changes.some(({ key }) => key[1] === 4), "the change comes");
  feed.stop();
  while (!(await following.next()).done);
  await db.command("FLUSHDB");
  const last = (await all(db.feed({ position: middle, prefix: ["f"], follow: false }))).at(-1);
  assert.equal(last.changes.at(-1).kind, "clear");
}

async function watchesKeys(db) {
  await db.set(["w", 1], "a");
  const watcher = db.watch(["w", 1], ["w", 2]);
  const states = watcher[Symbol.asyncIterator]();
  const [one, two] = (await states.next()).value;
  assert.deepEqual([one.value, two], ["a", null]);
  await db.atomic().delete(["w", 1]).set(["w", 2], "b").commit();
  const [gone, made] = (await states.next()).value;
  assert.deepEqual([gone, made.value], [null, "b"]);
  watcher.stop();
  assert.equal((await states.next()).done, true);
}

async function keepsALiveView(db) {
  for (let i = 0; i < 5; i++) await db.set(["view", i], i);
  const view = await db.live(["view"]);
  assert.deepEqual(view.entries().map(({ value }) => value).sort(), [0, 1, 2, 3, 4]);
  assert.equal(view.size, 5);
  assert.deepEqual(await view.poll(), []);
  await db.set(["view", 1], "new");
  await db.delete(["view", 2]);
  await db.delete(["view", 99]);
  await db.set(["elsewhere"], 1);
  const events = [];
  await until(async () => events.push(...(await view.poll(200))) === 2, "both have come");
  assert.deepEqual(events.map((e) => [e.kind, e.key[1], e.value, e.before.value]), [["set", 1, "new", 1], ["delete", 2, null, 2]]);
  assert.equal(view.get(["view", 1]).value, "new");
  assert.equal(view.get(["view", 2]), null);
  await db.set(["view", 3], "x");
  view.position = `${"f".repeat(16)}0000`; // newer than every commit: STALE, and it is read anew
  assert.deepEqual((await view.poll(1000)).map((e) => [e.kind, e.key[1], e.before.value]), [["set", 3, 3]]);
  await db.command("FLUSHDB");
  await until(async () => (await view.poll(200), view.size === 0), "all is gone");
  view.stop();
}

const STEPS = {
  keepsValues, keepsKeys, setsWithConditions, expires, lists, computes, findsAndSearches, commitsOrTellsWhyNot,
  happensOnce, takesAndReturnsMessages, raisesByCode, readsTheFeed, watchesKeys, keepsALiveView,
};

// ---- errors ----

function hasAClassForEachCode() {
  const codes = [...readFileSync(header, "utf8").matchAll(/^#define TUPLED_\w+ "([A-Z]+)"$/gm)].map(([, code]) => code);
  assert.ok(codes.length > 15);
  assert.deepEqual(codes.sort(), Object.keys(ERRORS).sort());
  for (const [code, kind] of Object.entries(ERRORS)) {
    const made = tupled.makeError(`${code} what and where`);
    assert.deepEqual([made.constructor, made.code, made.detail], [kind, code, "what and where"]);
    assert.equal(tupled.typed(new Error(`${code} x`)).constructor, kind);
  }
  assert.equal(tupled.makeError("NEWCODE x").constructor, tupled.TupledError);
  assert.equal(tupled.typed(new Error("connect ECONNREFUSED")), undefined);
}

async function refuses(db, connect) {
  await db.command("ACL", "SETUSER", "small", "on", ">secret", "~a", "+kv.get", "+kv.dequeue");
  const small = await connect({ username: "small", password: "secret", enableReadyCheck: false });
  await raises(tupled.NoPermissionError, () => new Tupled(small).get(["b"]));
  await raises(tupled.NoPermissionError, () => new Worker(new Tupled(small), "q", () => {}).run()); // not for ever
  close(small);
  await db.command("ACL", "DELUSER", "small");
  await db.command("KV.DB", "CREATE", "tiny", "MAXENTRIES", 1);
  const client = await connect();
  const tiny = new Tupled(client);
  await tiny.command("SELECT", "tiny");
  await tiny.set(["a"], 1);
  await raises(tupled.QuotaError, () => tiny.set(["b"], 1));
  await db.command("KV.DB", "DROP", "tiny");
  await raises(tupled.NoDatabaseError, () => tiny.get(["a"]));
  close(client);
}

async function triesAgain(db) {
  await db.command("CONFIG", "SET", "idem-max-entries", 1);
  try {
    await db.sum(["t"], 1);
    const impatient = new Tupled(db.client, { retryForMs: 100 });
    await raises(tupled.TryAgainError, async () => {
      for (let i = 0; i < 3; i++) await impatient.sum(["t"], 1);
    });
    const before = (await db.get(["t"])).value;
    const later = db.sum(["t"], 1);
    await sleep(200);
    await db.command("CONFIG", "SET", "idem-max-entries", 1000000);
    assert.equal((await later).value, before + 1);
  } finally {
    await db.command("CONFIG", "SET", "idem-max-entries", 1000000);
  }
}

// What waits ends before the library gives up: its error would come out, as nothing is repeated.
async function staysBelowTheTimeOut(_db, connect) {
  const client = await connect({ commandTimeout: 3000, commandOptions: { timeout: 3000 } });
  const db = new Tupled(client, { retryForMs: 0, blockMs: 30000 });
  assert.equal(db.blockMs, 1500);
  const started = Date.now();
  assert.deepEqual(await db.dequeue("empty", { blockMs: 30000 }), []);
  assert.ok(Date.now() - started > 1400 && Date.now() - started < 10000);
  for await (const { changes } of db.feed({ position: await db.version() })) {
    assert.deepEqual(changes, []);
    break;
  }
  close(client);
}

// ---- workers ----

async function works(db) {
  const seen = [];
  for (const value of ["plain", "fail once", "later", "never", "stores"]) await db.enqueue("jobs", value, { backoffMs: [10, 10] });
  await db.enqueue("jobs", "loses", { backoffMs: [10] });
  const failures = [];
  const worker = new Worker(
    db, "jobs",
    async (job) => {
      seen.push(`${job.value} ${job.attempt}`);
      if (job.value === "fail once" && job.attempt === 1) throw new Error("no luck");
      if (job.value === "later" && job.attempt === 1) throw new Retry("not yet", 10);
      if (job.value === "never") throw new Reject("broken");
      if (job.value === "loses") await job.atomic().check(["absent"], "0".repeat(20)).set(["wrong"], 1).commit();
      if (job.value === "stores") await job.atomic().set(["stored"], job.id).commit();
    },
    { concurrency: 3, onError: (error) => failures.push(error.message) },
  );
  const end = worker.run();
  await until(async () => {
    const { acked, dead } = await stats(db, "jobs");
    return acked === 4 && dead === 2;
  }, "all are handled");
  worker.stop();
  await end;
  const left = await stats(db, "jobs");
  assert.deepEqual([left.ready, left.delayed, left.leased], [0, 0, 0]);
  assert.deepEqual(failures, ["no luck"]);
  assert.ok(seen.includes("fail once 2") && seen.includes("later 2"));
  assert.equal(seen.filter((s) => s.startsWith("loses")).length, 2);
  assert.ok((await db.get(["stored"])) !== null && (await db.get(["wrong"])) === null);
  const [, letters] = await db.command("KV.DLQ", "LIST", "jobs");
  assert.deepEqual(letters.map((row) => row[3]).sort(), ['a check failed: CHECK ["absent"]', "broken"]);
}

async function extendsLeases(db) {
  await db.enqueue("long", 1);
  let started;
  const isStarted = new Promise((resolve) => (started = resolve));
  const done = [];
  const worker = new Worker(
    db, ["long", "other"],
    async (job) => {
      started();
      await sleep(2000);
      done.push(job.value);
    },
    { leaseMs: 900, concurrency: 2 },
  );
  const end = worker.run();
  await isStarted;
  await sleep(500);
  worker.stop(); // it waits for the job
  await end;
  assert.deepEqual(done, [1]);
  const left = await stats(db, "long");
  assert.deepEqual([left.delivered, left.acked, left.expired], [1, 1, 0]);
}

async function knowsThatALeaseIsLost(db) {
  await db.enqueue("lost", 1, { backoffMs: [10] });
  const seen = [];
  const worker = new Worker(db, "lost", async (job) => {
    if (job.attempt === 1) {
      await db.nack(job.receipt, { delayMs: 0 }); // as if its lease had ended
      assert.equal(await job.extend(1000), false);
      assert.equal(job.isLost, true);
    } else worker.stop();
    seen.push((await job.atomic().sum(["twice"], 1).commit()).ok);
  });
  await worker.run();
  assert.deepEqual(seen, [false, true]);
  assert.equal((await db.get(["twice"])).value, 1);
}

async function countJob(job) {
  await sleep(5);
  await job.atomic().sum([job.queue, job.value], 1).commit();
}

// kill -9 of a worker process in the middle of its jobs: others do them, each once.
async function survivesDeadWorkers(db, _connect, library) {
  const count = 60;
  for (let i = 0; i < count; i++) await db.enqueue("mortal", i, { backoffMs: Array(20).fill(10) });
  for (let i = 0; i < 3; i++) {
    const before = (await stats(db, "mortal")).delivered;
    const child = spawn(process.execPath, [...process.argv.slice(1, 5), "work", library, "mortal"], { stdio: "inherit" });
    const ended = new Promise((resolve) => child.on("exit", resolve));
    await until(async () => (await stats(db, "mortal")).delivered >= before + 4, "it has taken some");
    child.kill("SIGKILL");
    await ended;
  }
  const worker = new Worker(db, "mortal", countJob, { concurrency: 2, leaseMs: 500 });
  const end = worker.run();
  await until(async () => (await stats(db, "mortal")).acked >= count, "all are acknowledged");
  worker.stop();
  await end;
  assert.deepEqual((await all(db.list({ prefix: ["mortal"] }))).map(({ value }) => value), Array(count).fill(1));
  const left = await stats(db, "mortal");
  assert.deepEqual([left.ready, left.delayed, left.leased, left.dead], [0, 0, 0, 0]);
}

// ---- kill -9 of the server ----

async function losesNothingWhenTheServerDies(db) {
  let isOver = false;
  const committed = [0, 0, 0];
  const count = async (i) => {
    while (!isOver) {
      assert.ok((await db.atomic().sum(["count", i], 1).set(["last", i], committed[i]).commit()).ok);
      committed[i]++;
    }
  };
  let sent = 0;
  const send = async () => {
    while (!isOver) {
      await db.enqueue("calm", sent, { backoffMs: Array(20).fill(10) });
      sent++;
      await sleep(10);
    }
  };
  const view = await db.live(["count"]);
  const counts = {}; // of each key, as the events have it
  const gaps = [];
  const look = async () => {
    for await (const { key, value } of view.events()) {
      if (value !== (counts[key[1]] ?? 0) + 1) gaps.push([key, counts[key[1]], value]);
      counts[key[1]] = value;
    }
  };
  const worker = new Worker(db, "calm", countJob, { concurrency: 2, leaseMs: 500 });
  const writers = [count(0), count(1), count(2), send()];
  const readers = [look(), worker.run()];
  const moreIsDone = () => {
    const [done, before] = [Math.min(...committed), sent];
    return until(() => Math.min(...committed) >= done + 5 && sent >= before + 5, "more is committed");
  };
  for (let i = 0; i < 3; i++) {
    await moreIsDone();
    await ask("kill");
    await sleep(100);
    await ask("start");
  }
  await moreIsDone();
  isOver = true;
  await Promise.all(writers);
  const found = [];
  for (const i of committed.keys()) found.push((await db.get(["count", i])).value);
  assert.deepEqual(found, committed);
  await until(() => committed.every((n, i) => counts[i] === n), "the view has all");
  await until(async () => {
    const { ready, delayed, leased } = await stats(db, "calm");
    return ready + delayed + leased === 0;
  }, "the worker is done");
  worker.stop();
  view.stop();
  await Promise.all(readers);
  assert.deepEqual(gaps, []);
  assert.deepEqual((await all(db.list({ prefix: ["calm"] }))).map(({ value }) => value), Array(sent).fill(1));
}

// The command fails after retryForMs, and the same builder may be sent again.
async function doesNotHangWithoutAServer(db, connect) {
  const client = await connect({ disableOfflineQueue: true, enableOfflineQueue: false, autoResendUnfulfilledCommands: false });
  const hasty = new Tupled(client, { retryForMs: 200 });
  const atomic = hasty.atomic().sum(["late"], 1);
  const first = await atomic.commit();
  assert.ok(first.ok);
  await ask("kill");
  const failed = await atomic.commit().then(() => null, (error) => error);
  assert.ok(failed instanceof Error && !(failed instanceof tupled.TupledError), String(failed));
  const worker = new Worker(hasty, "none", () => {});
  const end = worker.run();
  await sleep(100);
  worker.stop(); // without a server too
  await end;
  await ask("start");
  await until(() => atomic.commit().then((again) => again.version === first.version, () => false), "it is there again");
  assert.equal((await db.get(["late"])).value, 1);
  close(client);
  await raises(Error, async () => {
    try {
      await hasty.get(["late"]); // closed by the program: at once
    } catch (error) {
      throw new Error(error.message);
    }
  });
}

// ---- all of it ----

let failures = 0;

async function step(name, act, ...what) {
  try {
    await act(...what);
    console.log(`ok - helpers for TypeScript: ${name}`);
  } catch (error) {
    failures++;
    console.log(`not ok - helpers for TypeScript: ${name}`);
    console.log(error.stack);
  }
}

const sentence = (name) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

if (mode === "work") {
  const [library, queue] = words;
  await new Worker(new Tupled(await libraries[library](3)), queue, countJob, { concurrency: 2, leaseMs: 500 }).run();
}

await step("has a class for each code", hasAClassForEachCode);
for (const [library, make] of Object.entries(libraries)) {
  for (const protocol of [3, 2]) {
    const client = await make(protocol);
    const db = new Tupled(client);
    const acts = { ...STEPS };
    if (protocol === 3) {
      Object.assign(acts, {
        refuses, triesAgain, staysBelowTheTimeOut, works, extendsLeases, knowsThatALeaseIsLost, survivesDeadWorkers,
        losesNothingWhenTheServerDies, doesNotHangWithoutAServer,
      });
    }
    for (const [name, act] of Object.entries(acts)) {
      await db.command("FLUSHALL");
      await step(`${sentence(name)} (${library}, RESP${protocol})`, act, db, (more) => make(protocol, more), library);
    }
    close(client);
  }
}
assert.equal(dumpValue({ a: 1 }), '{"a":1}');
process.exit(failures ? 1 : 0);
