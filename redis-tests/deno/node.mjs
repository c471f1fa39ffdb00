// @deno/kv in Node: node.mjs <url> <port> <title>
import assert from "node:assert/strict";
import process from "node:process";
import v8 from "node:v8";
import { openKv } from "@deno/kv";
import { ask, begin, finish, refused, Resp, test, until } from "./help.mjs";
import { same } from "./same.mjs";
import { values } from "./value_list.mjs";

const [url, port, title] = process.argv.slice(2);
const options = { accessToken: process.env.DENO_KV_ACCESS_TOKEN };
const kv = await openKv(url, options);
let redis = new Resp(Number(port));
begin(title);
const read = async (key) => (await kv.get(key)).value;

for (const [i, [name, value, json]] of values.entries()) {
  await test(`${name} is read as it was written, and by RESP`, async () => {
    const key = ["value", i];
    const wanted = v8.deserialize(v8.serialize(value)); // what Node itself keeps
    const { versionstamp } = await kv.set(key, value);
    const entry = await kv.get(key);
    assert.equal(entry.versionstamp, versionstamp);
    same(entry.value, wanted);
    const text = await redis.text("KV.GET", JSON.stringify(key));
    if (json !== undefined) assert.equal(text, json);
    await redis.text("KV.SET", '["json"]', text);
    same(await read(["json"]), wanted);
  });
}

await test("keys of all types are found and in Deno's order", async () => {
  const parts = [Uint8Array.of(0, 255), "", "a\0b", "é", -(2n ** 64n), -1n, 0n, 2n ** 64n, -Infinity, 0, 1.5, false, true];
  for (const [i, part] of parts.entries()) await kv.set(["key", part], i);
  const seen = [];
  for await (const { key, value } of kv.list({ prefix: ["key"] }, { batchSize: 3 })) {
    assert.deepEqual(key[1], parts[value]);
    assert.equal(await read(["key", key[1]]), value);
    seen.push(value);
  }
  assert.deepEqual(seen, parts.map((_, i) => i));
});
await test("lists: limits, backwards, starts and ends, cursors", async () => {
  for (let i = 0; i < 12; i++) await kv.set(["l", i], i);
  const list = async (selector, how) => {
    const got = [];
    for await (const { value } of kv.list(selector, how)) got.push(value);
    return got;
  };
  assert.deepEqual(await list({ prefix: ["l"] }, { limit: 3 }), [0, 1, 2]);
  assert.deepEqual(await list({ prefix: ["l"] }, { limit: 3, reverse: true, batchSize: 2 }), [11, 10, 9]);
  assert.deepEqual(await list({ prefix: ["l"], start: ["l", 9] }), [9, 10, 11]);
  assert.deepEqual(await list({ prefix: ["l"], end: ["l", 2] }), [0, 1]);
  assert.deepEqual(await list({ start: ["l", 4], end: ["l", 6] }), [4, 5]);
  for (const reverse of [false, true]) {
    const seen = [];
    let cursor;
    do {
      const page = kv.list({ prefix: ["l"] }, { limit: 5, reverse, cursor });
      for await (const { value } of page) seen.push(value);
      cursor = seen.length < 12 ? page.cursor : undefined;
    } while (cursor);
    assert.deepEqual(seen.toSorted((a, b) => (reverse ? b - a : a - b)), seen);
    assert.equal(seen.length, 12);
  }
});
await test("a get of an absent key before another is absent", async () => {
  await kv.set(["near", 2], "there");
  assert.deepEqual(await kv.get(["near", 1]), { key: ["near", 1], value: null, versionstamp: null });
});
await test("getMany", async () => {
  const entries = await kv.getMany([["l", 1], ["none"], ["l", 3]]);
  assert.deepEqual(entries.map((entry) => entry.value), [1, null, 3]);
});
await test("checks, sums, deletes", async () => {
  const { versionstamp } = await kv.set(["c"], 1);
  assert.equal((await kv.atomic().check({ key: ["c"], versionstamp }).set(["c"], 2).sum(["n"], 5n).commit()).ok, true);
  assert.equal((await kv.atomic().check({ key: ["c"], versionstamp }).set(["c"], 3).commit()).ok, false);
  await kv.atomic().sum(["n"], 2n).max(["x"], 9n).min(["y"], 4n).delete(["c"]).commit();
  const entries = await kv.getMany([["n"], ["x"], ["y"], ["c"]]);
  assert.deepEqual(entries.map(({ value }) => value?.value ?? value), [7n, 9n, 4n, null]);
  assert.equal(await redis.text("KV.GET", '["n"]'), '{"$u64":"7"}');
});
await test("an error of the server has its words", async () => {
  await kv.set(["text"], "x");
  await refused(() => kv.atomic().sum(["text"], 1n).commit(), "Error",
    "Failed to perform 'sum' mutation on a non-U64 value in the database");
});
await test("expireIn", async () => {
  await kv.set(["e"], 1, { expireIn: 400 });
  assert.equal(await read(["e"]), 1);
  await until(async () => (await read(["e"])) === null, 3);
});
await test("a watch: what is there, then what is written by RESP, then a delete", async () => {
  await kv.set(["w"], { n: 1 });
  const reader = kv.watch([["w"], ["v"]]).getReader();
  const next = async () => (await reader.read()).value.map((entry) => entry.value);
  assert.deepEqual(await next(), [{ n: 1 }, null]);
  await redis.text("KV.SET", '["v"]', '{"$set":[1]}');
  assert.deepEqual(await next(), [{ n: 1 }, new Set([1])]);
  await kv.delete(["w"]);
  assert.deepEqual(await next(), [null, new Set([1])]);
  await reader.cancel();
});
await test("messages are in the queue deno, alone and with a transaction, now and later", async () => {
  await kv.enqueue({ job: 1 });
  await kv.atomic().check({ key: ["job"], versionstamp: null }).set(["job"], 2)
    .enqueue(new Map([["job", 2n]]), { keysIfUndelivered: [["undelivered"]] }).commit();
  await kv.enqueue("later", { delay: 600 });
  assert.equal((await kv.atomic().check({ key: ["job"], versionstamp: null }).enqueue("never").commit()).ok, false);
  const first = await redis.text("KV.DEQUEUE", "deno", "COUNT", "10");
  assert.deepEqual(first.map((message) => message[2]), ['{"job":1}', '{"$map":[["job",{"$bigint":"2"}]]}']);
  for (const message of first) await redis.text("KV.ACK", message[4]);
  const later = await redis.text("KV.DEQUEUE", "deno", "BLOCK", "5000");
  assert.equal(later[0][2], '"later"');
  await redis.text("KV.ACK", later[0][4]);
});
await test("a message that nobody could do is at its keys", async () => {
  await kv.enqueue("lost", { keysIfUndelivered: [["lost", 1], ["lost", 2]] });
  for (let attempt = 0; attempt < 5; attempt++) { // four retries are what @deno/kv asks for
    const [message] = await redis.text("KV.DEQUEUE", "deno", "BLOCK", "5000");
    assert.equal(message[2], '"lost"');
    await redis.text("KV.NACK", message[4]);
  }
  await until(async () => (await read(["lost", 2])) === "lost");
  assert.equal(await read(["lost", 1]), "lost");
});
for (const version of [1, 2, 3]) {
  await test(`version ${version} of the protocol`, async () => {
    const other = await openKv(url, { ...options, supportedVersions: [version] });
    const { versionstamp } = await other.set(["version", version], version);
    assert.deepEqual(await other.get(["version", version]), { key: ["version", version], value: version, versionstamp });
    assert.equal(await redis.text("KV.GET", `["version",${version}]`), String(version));
    other.close();
  });
}
await test("a hundred at once", async () => {
  await Promise.all(Array.from({ length: 100 }, (_, i) => kv.atomic().sum(["hundred"], 1n).set(["h", i], i).commit()));
  assert.equal((await read(["hundred"])).value, 100n);
});
await test("kill -9: what was acknowledged is there, and it goes on", async () => {
  const { versionstamp } = await kv.set(["kept"], "kept");
  await ask("kill");
  await ask("start");
  redis = new Resp(Number(port));
  await until(async () => {
    try {
      return (await kv.get(["kept"])).versionstamp === versionstamp;
    } catch {
      return false; // its old connection
    }
  });
  await kv.set(["after"], 1);
  assert.equal(await redis.text("KV.GET", '["after"]'), "1");
});

kv.close();
finish(values.length + 15);
