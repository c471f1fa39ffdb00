// Transactions: atomic.mjs <url> <port> <title>
import assert from "node:assert/strict";
import { begin, finish, refused, Resp, sleep, test, until } from "./help.mjs";

const [url, port, title] = Deno.args;
const kv = await Deno.openKv(url);
const redis = new Resp(Number(port));
const read = async (key) => (await kv.get(key)).value;
const u64 = (n) => new Deno.KvU64(n);
begin(title);

/* ---- checks ---- */

await test("versionstamps are of 20 digits, grow, and are those of RESP", async () => {
  const first = await kv.set(["v"], 1);
  const second = await kv.set(["v"], 2);
  assert.match(first.versionstamp, /^[0-9a-f]{20}$/);
  assert.ok(first.versionstamp < second.versionstamp);
  assert.equal((await kv.get(["v"])).versionstamp, second.versionstamp);
  assert.equal((await redis.text("KV.GET", '["v"]', "WITHVERSION"))[1], second.versionstamp);
});
await test("all that is written together has one versionstamp", async () => {
  const { versionstamp } = await kv.atomic().set(["t", 1], 1).set(["t", 2], 2).sum(["t", 3], 1n).commit();
  const entries = await kv.getMany([["t", 1], ["t", 2], ["t", 3]]);
  assert.deepEqual(entries.map((entry) => entry.versionstamp), [versionstamp, versionstamp, versionstamp]);
});
for (const count of [1, 11, 100]) {
  await test(`${count} checks that hold, and one of them that does not`, async () => {
    const write = kv.atomic();
    for (let i = 0; i < count; i++) write.set(["check", count, i], i);
    const { versionstamp } = await write.commit();
    const checks = Array.from({ length: count }, (_, i) => ({ key: ["check", count, i], versionstamp }));
    assert.equal((await kv.atomic().check(...checks).set(["checked", count], 1).commit()).ok, true);
    await kv.set(["check", count, count - 1], "new");
    assert.deepEqual(await kv.atomic().check(...checks).set(["checked", count], 2).commit(), { ok: false });
    assert.equal(await read(["checked", count]), 1);
  });
}
await test("101 checks are Deno's TypeError", async () => {
  const checks = Array.from({ length: 101 }, (_, i) => ({ key: ["none", i], versionstamp: null }));
  await refused(() => kv.atomic().check(...checks).commit(), "TypeError", "Too many checks (max 100)");
});
await test("a check for nothing there", async () => {
  const write = () => kv.atomic().check({ key: ["once"], versionstamp: null }).set(["once"], 1).commit();
  assert.equal((await write()).ok, true);
  assert.deepEqual(await write(), { ok: false });
});
await test("a check of what RESP wrote, and one of RESP of what Deno wrote", async () => {
  const stamp = await redis.text("KV.SET", '["both"]', "1");
  const { versionstamp } = await kv.atomic().check({ key: ["both"], versionstamp: stamp }).set(["both"], 2).commit();
  assert.equal(await redis.text("KV.ATOMIC", "CHECK", '["both"]', stamp, "SET", '["both"]', "0"), null);
  assert.notEqual(await redis.text("KV.ATOMIC", "CHECK", '["both"]', versionstamp, "SET", '["both"]', "3"), null);
  assert.deepEqual(await kv.atomic().check({ key: ["both"], versionstamp }).delete(["both"]).commit(), { ok: false });
  assert.equal(await read(["both"]), 3);
});
await test("a transaction of nothing, and one of checks only, get versionstamps", async () => {
  const nothing = await kv.atomic().commit();
  const checked = await kv.atomic().check({ key: ["absent"], versionstamp: null }).commit();
  assert.equal(nothing.ok && checked.ok, true);
  assert.ok(nothing.versionstamp < checked.versionstamp);
});

/* ---- mutations ---- */

await test("later mutations see earlier ones", async () => {
  await kv.atomic().set(["o"], u64(5n)).sum(["o"], 2n).max(["o"], 6n).min(["o"], 100n).commit();
  assert.equal((await read(["o"])).value, 7n);
  await kv.atomic().delete(["o"]).sum(["o"], 2n).commit();
  assert.equal((await read(["o"])).value, 2n);
  await kv.atomic().set(["o"], 1).delete(["o"]).commit();
  assert.deepEqual(await kv.get(["o"]), { key: ["o"], value: null, versionstamp: null });
});
await test("deleting what is not there is done", async () => {
  assert.equal(await kv.delete(["never"]), undefined);
  assert.equal((await kv.atomic().delete(["never"]).commit()).ok, true);
});
await test("sums, minima and maxima of KvU64", async () => {
  await kv.atomic().sum(["u", "s"], 10n).min(["u", "n"], 10n).max(["u", "x"], 10n).commit();
  await kv.atomic().sum(["u", "s"], 5n).min(["u", "n"], 5n).max(["u", "x"], 5n).commit();
  await kv.atomic().sum(["u", "s"], 2n ** 64n - 1n).min(["u", "n"], 7n).max(["u", "x"], 12n).commit();
  const entries = await kv.getMany([["u", "s"], ["u", "n"], ["u", "x"]]);
  assert.deepEqual(entries.map((entry) => entry.value.value), [14n, 5n, 12n]);
});

// stored, kind, operand, result or the error's words
const sums = [
  [undefined, "sum", 1n, 1n],
  [1n, "sum", 41n, 42n],
  [42n, "sum", -100n, -58n],
  [-58n, "sum", 58n, 0n],
  [2n ** 64n, "sum", 2n ** 64n, 2n ** 65n],
  [-(2n ** 63n), "sum", -1n, -(2n ** 63n) - 1n],
  [0n, "sum", 1, "Cannot sum BigInt with Number"],
  [0n, "sum", u64(1n), "Failed to perform 'sum' mutation on a non-U64 value in the database"],
  [undefined, "sum", 1.5, 1.5],
  [undefined, "sum", 3, 3],
  [1, "sum", 2, 3],
  [3, "sum", 0.5, 3.5],
  [3.5, "sum", 0.5, 4],
  [2 ** 53, "sum", 1, 2 ** 53],
  [1, "sum", NaN, NaN],
  [1, "sum", -Infinity, -Infinity],
  [4, "sum", 1n, "Cannot sum Number with BigInt"],
  [4, "sum", u64(1n), "Failed to perform 'sum' mutation on a non-U64 value in the database"],
  [4, "sum", "text", "Some of the parameters are not valid V8 values"],
  [4, "sum", Uint8Array.of(1), "Some of the parameters are not valid V8 values"],
  [undefined, "sum", "x", "Some of the parameters are not valid V8 values"],
  [4, "min", 1, "Failed to perform 'min' mutation on a non-U64 operand"],
  [4, "max", 1n, "Failed to perform 'max' mutation on a non-U64 operand"],
  [undefined, "min", "x", "Failed to perform 'min' mutation on a non-U64 operand"],
  ["text", "sum", 1n, "unsupported value type"],
  ["text", "sum", u64(1n), "Failed to perform 'sum' mutation on a non-U64 value in the database"],
  [{ a: 1 }, "sum", 1n, "unsupported value type"],
  [Uint8Array.of(1), "sum", 1n, "unsupported value type"],
  [Uint8Array.of(1), "min", u64(1n), "Failed to perform 'min' mutation on a non-U64 value in the database"],
  [u64(5n), "sum", 2n, u64(7n)],
  [u64(7n), "sum", -1n, "Cannot sum KvU64 with BigInt"],
  [u64(7n), "sum", 2n ** 64n, "Cannot sum KvU64 with BigInt"],
  [u64(7n), "sum", 1, "Cannot sum KvU64 with Number"],
  [u64(2n ** 64n - 1n), "sum", 10n, u64(9n)],
  [u64(2n ** 64n - 1n), "sum", u64(10n), u64(9n)],
  [undefined, "sum", u64(7n), u64(7n)],
  [undefined, "min", u64(7n), u64(7n)],
  [undefined, "max", u64(7n), u64(7n)],
  [u64(7n), "min", u64(8n), u64(7n)],
  [u64(7n), "max", u64(8n), u64(8n)],
];
const show = (value) =>
  value instanceof Deno.KvU64 ? `KvU64 ${value.value}` : typeof value === "bigint" ? `${value}n` : String(value);
for (const [i, [stored, type, value, result]] of sums.entries()) {
  await test(`${type} of ${show(stored)} and ${show(value)}`, async () => {
    const key = ["sum", i];
    if (stored !== undefined) await kv.set(key, stored);
    const before = await kv.get(key);
    const write = () => kv.atomic().set(["sum besides", i], 1).mutate({ key, type, value }).commit();
    if (typeof result === "string") {
      await refused(write, "Error", `(status=400 Bad Request): ${result}`);
      assert.equal((await kv.get(key)).versionstamp, before.versionstamp);
      assert.equal(await read(["sum besides", i]), null, "a transaction that fails writes nothing");
    } else {
      assert.equal((await write()).ok, true);
      const got = await read(key);
      assert.equal(show(got), show(result));
      assert.equal(typeof got, typeof result);
    }
  });
}
await test("a sum ends the expiry of its key", async () => {
  await kv.set(["sum", "expires"], u64(1n), { expireIn: 100_000 });
  await kv.atomic().sum(["sum", "expires"], 1n).commit();
  assert.equal(await redis.text("KV.TTL", '["sum","expires"]'), -1);
});
await test("a versionstamp in a key", async () => {
  const { versionstamp } = await kv.set(["log", kv.commitVersionstamp()], "first");
  const second = await kv.atomic().set(["log", kv.commitVersionstamp()], "second").set(["other"], 1).commit();
  const keys = [];
  for await (const { key } of kv.list({ prefix: ["log"] })) keys.push(key);
  assert.deepEqual(keys, [["log", versionstamp], ["log", second.versionstamp]]);
  assert.equal(await redis.text("KV.GET", JSON.stringify(keys[1])), '"second"');
});

/* ---- expiry ---- */

await test("expireIn: it is there, then it has gone", async () => {
  await kv.set(["e"], 1, { expireIn: 400 });
  assert.equal(await read(["e"]), 1);
  const left_ms = await redis.text("KV.PTTL", '["e"]');
  assert.ok(left_ms > 0 && left_ms <= 400, `${left_ms} ms are left`);
  await until(async () => (await read(["e"])) === null, 3);
});
await test("expireIn 0 is over at once; a set without it lasts", async () => {
  await kv.set(["e", 0], 1, { expireIn: 0 });
  assert.equal(await read(["e", 0]), null);
  await kv.set(["e", 1], 1, { expireIn: 300 });
  await kv.set(["e", 1], 2);
  await sleep(500);
  assert.equal(await read(["e", 1]), 2);
});

/* ---- limits ---- */

await test("a value of 65536 bytes is one, a longer one Deno's TypeError", async () => {
  await kv.set(["big"], new Uint8Array(65536).fill(3));
  assert.equal((await read(["big"])).length, 65536);
  await refused(() => kv.set(["big"], new Uint8Array(65537)), "TypeError", "Value too large (max 65536 bytes)");
});
await test("a value that only RESP can write is no value for Deno, and it says so", async () => {
  await redis.text("KV.SET", '["longer"]', JSON.stringify("x".repeat(100_000)));
  assert.equal((await read(["longer"])).length, 100_000);
});
await test("a thousand mutations are one transaction; one more is Deno's TypeError", async () => {
  const write = kv.atomic();
  for (let i = 0; i < 1000; i++) write.set(["m", i], i);
  const { versionstamp } = await write.commit();
  assert.equal(Number(await redis.text("KV.COUNT", "PREFIX", '["m"]')), 1000);
  assert.equal((await kv.get(["m", 999])).versionstamp, versionstamp);
  await refused(() => write.set(["m", 1000], 1).commit(), "TypeError", "Too many mutations (max 1000)");
});
await test("a thousand sums, and a thousand keys that are deleted", async () => {
  const sum = kv.atomic();
  for (let i = 0; i < 1000; i++) sum.sum(["thousand"], 3n);
  await sum.commit();
  assert.equal((await read(["thousand"])).value, 3000n);
  const gone = kv.atomic();
  for (let i = 0; i < 1000; i++) gone.delete(["m", i]);
  await gone.commit();
  assert.equal(Number(await redis.text("KV.COUNT", "PREFIX", '["m"]')), 0);
});
await test("nearly 800 KB are one transaction; more is Deno's TypeError", async () => {
  const write = kv.atomic();
  for (let i = 0; i < 12; i++) write.set(["s", i], new Uint8Array(65000).fill(i));
  assert.equal((await write.commit()).ok, true);
  assert.equal((await read(["s", 11]))[64999], 11);
  write.set(["s", 12], new Uint8Array(65000));
  await refused(() => write.commit(), "TypeError", "Total mutation size too large (max 819200 bytes)");
});
await test("keys of a transaction have Deno's limit", async () => {
  const write = kv.atomic();
  for (let i = 0; i < 39; i++) write.set([`${i}`.padEnd(2040, "k")], 1);
  assert.equal((await write.commit()).ok, true);
  for (let i = 39; i < 50; i++) write.set([`${i}`.padEnd(2040, "k")], 1);
  await refused(() => write.commit(), "TypeError", "Total key size too large (max 81920 bytes)");
});
await test("a message for a queue is Deno's error, and a listener has nothing", async () => {
  await refused(() => kv.enqueue("x"), "Error", "not supported in KV Connect");
});
await test("a hundred transactions at once, each takes one and leaves one more", async () => {
  await kv.set(["counter"], 0);
  const add = async () => {
    for (;;) {
      const { value, versionstamp } = await kv.get(["counter"]);
      const write = kv.atomic().check({ key: ["counter"], versionstamp }).set(["counter"], value + 1);
      if ((await write.commit()).ok) return;
    }
  };
  await Promise.all(Array.from({ length: 100 }, add));
  assert.equal(await read(["counter"]), 100);
});
await test("a closed database is closed, and another is opened", async () => {
  const other = await Deno.openKv(url);
  assert.equal((await other.get(["counter"])).value, 100);
  other.close();
  await refused(() => other.get(["counter"]), "BadResource", "");
});

kv.close();
finish(sums.length + 25);
