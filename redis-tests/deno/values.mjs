// Values from Deno, through the server and by RESP, and back: values.mjs <url> <port> <title>
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { begin, finish, Resp, test } from "./help.mjs";
import { same } from "./same.mjs";
import { newer_values, values } from "./value_list.mjs";

const [url, port, title] = Deno.args;
const kv = await Deno.openKv(url);
const redis = new Resp(Number(port));
const read = async (key) => (await kv.get(key)).value;
begin(title);

const all = [...values, ...newer_values.map(([name, make]) => [name, make()])];
for (const [i, [name, value, json]] of all.entries()) {
  const key = ["value", i];
  await test(`${name} is read as it was written, and by RESP`, async () => {
    const { versionstamp } = await kv.set(key, value);
    const entry = await kv.get(key);
    assert.equal(entry.versionstamp, versionstamp);
    assert.deepEqual(entry.key, key);
    same(entry.value, value);
    const [text, stamp] = await redis.text("KV.GET", JSON.stringify(key), "WITHVERSION");
    assert.equal(stamp, versionstamp);
    if (json !== undefined) assert.equal(text, json);
    const packed = await redis.bytes("KV.GET", JSON.stringify(key), "FORMAT", "MSGPACK");
    await redis.text("KV.SET", JSON.stringify(["json", i]), text);
    await redis.text("KV.SET", Buffer.concat([Buffer.from([0x92, 0xa4]), Buffer.from("pack"), Buffer.from([i])]),
      packed, "FORMAT", "MSGPACK");
    same(await read(["json", i]), value);
    same(await read(["pack", i]), value);
    assert.equal(await redis.text("KV.GET", JSON.stringify(["json", i])), text);
  });
}

await test("all of them are listed as they were written", async () => {
  const seen = new Set();
  for await (const entry of kv.list({ prefix: ["value"] }, { batchSize: 20 })) {
    same(entry.value, all[entry.key[1]][1]);
    seen.add(entry.key[1]);
  }
  assert.equal(seen.size, all.length);
});

// What redis-cli writes, and what Deno then has.
const typed = [
  ["null", null],
  ["12", 12],
  ["12.0", 12],
  ["-1.5e3", -1500],
  ["9007199254740993", 9007199254740993n],
  ["-123456789012345678901234567890", -123456789012345678901234567890n],
  ['"é\\u20ac"', "é€"],
  ['[1,[2,{"a":[]}]]', [1, [2, { a: [] }]]],
  ['{"b":1,"a":2}', { b: 1, a: 2 }],
  ['{"$bigint":"-5"}', -5n],
  ['{"$u64":"42"}', new Deno.KvU64(42n)],
  ['{"$u64":"18446744073709551615"}', new Deno.KvU64(2n ** 64n - 1n)],
  ['{"$bytes":"AQID"}', Uint8Array.of(1, 2, 3)],
  ['{"$date":"2023-04-23T00:00:00.000Z"}', new Date("2023-04-23T00:00:00.000Z")],
  ['{"$date":null}', new Date(NaN)],
  ['{"$undefined":true}', undefined],
  ['{"$number":"NaN"}', NaN],
  ['{"$number":"-0"}', -0],
  ['{"$number":"-Infinity"}', -Infinity],
  ['{"$map":[[1,{"$set":[1]}]]}', new Map([[1, new Set([1])]])],
  ['{"$set":[1,"a",{"$date":null}]}', new Set([1, "a", new Date(NaN)])],
  ['{"$regexp":["a/b","gi"]}', /a\/b/gi],
  ['{"$typed":["Int16Array","AQACAA=="]}', Int16Array.of(1, 2)],
  ['{"$typed":["ArrayBuffer","AQI="]}', Uint8Array.of(1, 2).buffer],
  ['{"$typed":["DataView","AQI="]}', new DataView(Uint8Array.of(1, 2).buffer)],
  ['{"$object":{"$bytes":"AQID"}}', { $bytes: "AQID" }],
];
for (const [i, [json, value]] of typed.entries()) {
  await test(`Deno reads what redis-cli wrote: ${json}`, async () => {
    await redis.text("KV.SET", JSON.stringify(["typed", i]), json);
    const got = await read(["typed", i]);
    if (value instanceof Deno.KvU64) {
      assert.ok(got instanceof Deno.KvU64);
      assert.equal(got.value, value.value);
    } else {
      same(got, value);
    }
  });
}

await test("an Error of redis-cli has its name, message, stack and cause", async () => {
  await redis.text("KV.SET", '["typed","error"]',
    '{"$error":{"name":"RangeError","message":"too far","stack":"RangeError: too far\\n  here","cause":{"n":1}}}');
  const error = await read(["typed", "error"]);
  assert.ok(error instanceof RangeError);
  assert.deepEqual([error.name, error.message, error.stack, error.cause],
    ["RangeError", "too far", "RangeError: too far\n  here", { n: 1 }]);
});

await test("an object twice, and in itself, of redis-cli", async () => {
  await redis.text("KV.SET", '["typed","id"]', '{"$id":1,"value":{"me":{"$ref":1},"list":[{"$ref":1}]}}');
  const value = await read(["typed", "id"]);
  assert.equal(value.me, value);
  assert.equal(value.list[0], value);
});

await test("a counter is a KvU64 of Deno, and one of Deno a counter", async () => {
  await redis.text("KV.SUM", '["typed","n"]', '{"$u64":"5"}');
  await kv.atomic().sum(["typed", "n"], 7n).commit();
  assert.equal((await read(["typed", "n"])).value, 12n);
  assert.equal(await redis.text("KV.GET", '["typed","n"]'), '{"$u64":"12"}');
  await kv.set(["typed", "m"], new Deno.KvU64(1n));
  await redis.text("KV.SUM", '["typed","m"]', '{"$u64":"1"}');
  assert.equal((await read(["typed", "m"])).value, 2n);
});

await test("a KvU64 inside of something is what Deno makes of it", async () => {
  await kv.set(["typed", "in"], { n: new Deno.KvU64(1n) });
  assert.deepEqual(await read(["typed", "in"]), { n: { value: 1n } });
});

await test("a plain key is a key of one part, and its value bytes", async () => {
  await redis.text("SET", "plain", "text");
  same(await read(["plain"]), new TextEncoder().encode("text"));
  await kv.set(["plain"], new TextEncoder().encode("Deno"));
  assert.equal(await redis.text("GET", "plain"), "Deno");
});

kv.close();
finish(all.length + typed.length + 5);
