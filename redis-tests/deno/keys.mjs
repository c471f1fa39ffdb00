// Keys, ranges, cursors: keys.mjs <url> <port> <title>
import assert from "node:assert/strict";
import { begin, finish, refused, Resp, test } from "./help.mjs";

const [url, port, title] = Deno.args;
const kv = await Deno.openKv(url);
const redis = new Resp(Number(port));
begin(title);

const keys_of = async (selector, options) => {
  const keys = [];
  for await (const { key } of kv.list(selector, options)) keys.push(key);
  return keys;
};
const last_of = async (selector, options) => (await keys_of(selector, options)).map((key) => key.at(-1));

// In their order.
const parts = [
  [new Uint8Array(0), '{"$bytes":""}'],
  [Uint8Array.of(0, 255), '{"$bytes":"AP8="}'],
  [Uint8Array.of(1, 2, 0, 7), '{"$bytes":"AQIABw=="}'],
  ["", '""'],
  ["\0", '"\\u0000"'],
  ["a", '"a"'],
  ["a\0b", '"a\\u0000b"'],
  ["é", '"é"'],
  ["😮", '"😮"'],
  [-(2n ** 128n), '{"$bigint":"-340282366920938463463374607431768211456"}'],
  [-(2n ** 64n), '{"$bigint":"-18446744073709551616"}'],
  [-256n, '{"$bigint":"-256"}'],
  [-1n, '{"$bigint":"-1"}'],
  [0n, '{"$bigint":"0"}'],
  [1n, '{"$bigint":"1"}'],
  [255n, '{"$bigint":"255"}'],
  [2n ** 64n - 1n, '{"$bigint":"18446744073709551615"}'],
  [2n ** 64n, '{"$bigint":"18446744073709551616"}'],
  [2n ** 2040n - 1n, undefined],
  [-NaN, undefined],
  [-Infinity, '{"$number":"-Infinity"}'],
  [-3.14, "-3.14"],
  [-0, '{"$number":"-0"}'],
  [0, "0"],
  [5e-324, "5e-324"],
  [42, "42"],
  [2 ** 53 - 1, "9007199254740991"],
  [Infinity, '{"$number":"Infinity"}'],
  [false, "false"],
  [true, "true"],
].filter(([part]) => !Object.is(part, NaN));

for (const [part, json] of parts) {
  const name = typeof part === "bigint" ? `${String(part).slice(0, 30)}n` : json;
  await test(`a key with ${name} is found by Deno and by RESP`, async () => {
    const { versionstamp } = await kv.set(["part", part], name);
    const entry = await kv.get(["part", part]);
    assert.deepEqual(entry, { key: ["part", part], value: name, versionstamp });
    if (json !== undefined) assert.equal(await redis.text("KV.GET", `["part",${json}]`), JSON.stringify(name));
  });
}

await test("keys are in Deno's order, also backwards and by RESP", async () => {
  const wanted = parts.map(([part]) => part);
  assert.deepEqual(await last_of({ prefix: ["part"] }), wanted);
  assert.deepEqual(await last_of({ prefix: ["part"] }, { reverse: true }), wanted.toReversed());
  const [, entries] = await redis.text("KV.LIST", "PREFIX", '["part"]', "LIMIT", "100");
  const texts = parts.map(([, json]) => json);
  assert.equal(entries.length, texts.length);
  texts.forEach((json, i) => json === undefined || assert.equal(entries[i][0], `["part",${json}]`));
});

await test("NaN is a key", async () => {
  await kv.set(["nan", NaN], 1);
  assert.equal((await kv.get(["nan", NaN])).value, 1);
  assert.equal(await redis.text("KV.GET", '["nan",{"$number":"NaN"}]'), "1");
});

await test("a lone surrogate is U+FFFD in a key", async () => {
  await kv.set(["s", "\ud800"], 1);
  assert.deepEqual((await keys_of({ prefix: ["s"] })), [["s", "\ufffd"]]);
});

await test("a key of 64 parts is one; of 65 the server says what is wrong", async () => {
  const parts_64 = Array.from({ length: 64 }, (_, i) => i);
  await kv.set(parts_64, 1);
  assert.deepEqual((await kv.get(parts_64)).value, 1);
  await refused(() => kv.set([...parts_64, 64], 1), "Error", "status=400 Bad Request");
  await refused(() => kv.set([...parts_64, 64], 1), "Error", "65 parts, at most 64");
});

/* ---- ranges ---- */

const count = 25;
for (let i = 0; i < count; i++) await kv.set(["l", i], i);
await kv.set(["l"], "itself");
await kv.set(["la"], "beside");
await kv.set(["l", 5, "below"], "below");
const numbers = Array.from({ length: count }, (_, i) => i);
const flat = (list) => list.flatMap((n) => (n === 5 ? [5, "below"] : [n]));

await test("a prefix is what is below, not itself nor what looks like it", async () => {
  assert.deepEqual(await last_of({ prefix: ["l"] }), flat(numbers));
});
for (const batchSize of [1, 2, 7, 26, 27, 500]) {
  await test(`batches of ${batchSize}, forward and backward`, async () => {
    assert.deepEqual(await last_of({ prefix: ["l"] }, { batchSize }), flat(numbers));
    assert.deepEqual(await last_of({ prefix: ["l"] }, { batchSize, reverse: true }), flat(numbers).toReversed());
  });
}
for (const limit of [1, 3, 26, 100]) {
  await test(`a limit of ${limit}, forward and backward`, async () => {
    assert.deepEqual(await last_of({ prefix: ["l"] }, { limit }), flat(numbers).slice(0, limit));
    assert.deepEqual(await last_of({ prefix: ["l"] }, { limit, reverse: true }),
      flat(numbers).toReversed().slice(0, limit));
  });
}
await test("a prefix with a start has it, with an end has it not", async () => {
  assert.deepEqual(await last_of({ prefix: ["l"], start: ["l", 20] }), [20, 21, 22, 23, 24]);
  assert.deepEqual(await last_of({ prefix: ["l"], end: ["l", 3] }), [0, 1, 2]);
  assert.deepEqual(await last_of({ prefix: ["l"], start: ["l", 20] }, { reverse: true }), [24, 23, 22, 21, 20]);
  assert.deepEqual(await last_of({ prefix: ["l"], end: ["l", 3] }, { reverse: true }), [2, 1, 0]);
  assert.deepEqual(await last_of({ prefix: ["l"], start: ["l", 20.5] }), [21, 22, 23, 24]);
});
await test("from a start to an end", async () => {
  assert.deepEqual(await last_of({ start: ["l", 4], end: ["l", 7] }), [4, 5, "below", 6]);
  assert.deepEqual(await last_of({ start: ["l", 4], end: ["l", 7] }, { reverse: true }), [6, "below", 5, 4]);
  assert.deepEqual(await last_of({ start: ["l"], end: ["l", 1] }), ["l", 0]);
  assert.deepEqual(await last_of({ start: ["l", 5], end: ["l", 5, true] }), [5, "below"]);
});
await test("ranges that are empty", async () => {
  assert.deepEqual(await keys_of({ start: ["l", 4], end: ["l", 4] }), []);
  assert.deepEqual(await keys_of({ prefix: ["nothing"] }), []);
  assert.deepEqual(await keys_of({ prefix: ["nothing"] }, { reverse: true }), []);
  assert.deepEqual(await keys_of({ start: ["l", 4.1], end: ["l", 4.9] }), []);
});
await test("the prefix of all has every key", async () => {
  const all = await keys_of({ prefix: [] });
  assert.equal(all.length, Number(await redis.text("KV.COUNT", "PREFIX", "[]")));
  assert.deepEqual((await keys_of({ prefix: [] }, { limit: 1, reverse: true }))[0], all.at(-1));
});
for (const reverse of [false, true]) {
  await test(`a cursor goes on where it was, ${reverse ? "backward" : "forward"}`, async () => {
    const seen = [];
    let cursor;
    do {
      const list = kv.list({ prefix: ["l"] }, { limit: 4, reverse, cursor });
      for await (const { key } of list) seen.push(key.at(-1));
      cursor = list.cursor;
    } while (cursor !== "");
    assert.deepEqual(seen, reverse ? flat(numbers).toReversed() : flat(numbers));
  });
}
await test("a cursor goes on after its key has gone", async () => {
  await kv.atomic().set(["c", 1], 1).set(["c", 2], 2).set(["c", 3], 3).commit();
  const list = kv.list({ prefix: ["c"] }, { limit: 2 });
  await list.next();
  await list.next();
  await kv.delete(["c", 2]);
  assert.deepEqual(await last_of({ prefix: ["c"] }, { cursor: list.cursor }), [3]);
});
await test("entries that are written while a list goes on are in its next batches", async () => {
  await kv.atomic().set(["w", 1], 1).set(["w", 2], 2).commit();
  const list = kv.list({ prefix: ["w"] }, { batchSize: 1 });
  assert.equal((await list.next()).value.value, 1);
  await redis.text("KV.SET", '["w",3]', "3");
  assert.deepEqual([(await list.next()).value.value, (await list.next()).value.value], [2, 3]);
});
await test("eventual consistency is served too", async () => {
  assert.deepEqual(await last_of({ prefix: ["l"] }, { consistency: "eventual", limit: 2 }), [0, 1]);
  assert.equal((await kv.get(["l", 3], { consistency: "eventual" })).value, 3);
});

/* ---- many at once, large ones, limits ---- */

await test("getMany of ten, with absent keys and one key twice", async () => {
  const keys = [["l", 1], ["none"], ["l", 1], ["l", 2], ["l", 3], ["l", 4], ["l", 6], ["l", 7], ["no", 1n], ["l"]];
  const entries = await kv.getMany(keys);
  assert.deepEqual(entries.map((entry) => entry.value), [1, null, 1, 2, 3, 4, 6, 7, null, "itself"]);
  assert.deepEqual(entries.map((entry) => entry.key), keys);
  assert.equal(entries[1].versionstamp, null);
  assert.deepEqual(await kv.getMany([]), []);
});
await test("a thousand large entries come in one batch", async () => {
  for (let i = 0; i < 20; i++) {
    const write = kv.atomic();
    for (let n = 0; n < 12; n++) write.set(["big", i, n], new Uint8Array(60000).fill(n));
    await write.commit();
  }
  let seen = 0;
  for await (const { key, value } of kv.list({ prefix: ["big"] }, { batchSize: 500 })) {
    assert.equal(value.length, 60000);
    assert.equal(value[59999], key[2]);
    seen++;
  }
  assert.equal(seen, 240);
});
await test("a key of 2048 bytes is one, and a longer one is Deno's TypeError", async () => {
  const longest = ["x".repeat(2046)];
  await kv.set(longest, "long");
  assert.equal((await kv.get(longest)).value, "long");
  assert.deepEqual(await keys_of({ start: longest, end: ["y"] }), [longest]);
  await kv.delete(longest);
  assert.equal((await kv.get(longest)).versionstamp, null);
  const longer = ["x".repeat(2047)];
  await refused(() => kv.set(longer, 1), "TypeError", "Key too large for write (max 2048 bytes)");
  await refused(() => kv.get(longer), "TypeError", "Key too large for read (max 2049 bytes)");
  await refused(() => kv.delete(longer), "TypeError", "Key too large for write (max 2048 bytes)");
});
await test("the empty key is read as absent and never written", async () => {
  assert.deepEqual(await kv.get([]), { key: [], value: null, versionstamp: null });
  await refused(() => kv.set([], 1), "TypeError", "key cannot be empty");
});
await test("Deno's own limits of reads", async () => {
  const eleven = Array.from({ length: 11 }, (_, i) => [i]);
  await refused(() => kv.getMany(eleven), "TypeError", "Too many ranges (max 10)");
  await refused(() => keys_of({ prefix: ["l"] }, { batchSize: 1001 }), "TypeError", "Too many entries (max 1000)");
  await refused(() => keys_of({ prefix: ["l"] }, { cursor: "?" }), "TypeError", "invalid cursor");
});

kv.close();
finish(parts.length + 28);
