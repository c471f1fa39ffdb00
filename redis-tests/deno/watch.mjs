// Watches: watch.mjs <url> <port> <title>
import assert from "node:assert/strict";
import { ask, begin, finish, refused, Resp, sleep, test, until } from "./help.mjs";

const [url, port, title] = Deno.args;
const kv = await Deno.openKv(url);
let redis = new Resp(Number(port));
begin(title);

// read(): the next values; ends: when it is cancelled.
function watch(keys, options) {
  const reader = kv.watch(keys, options).getReader();
  return {
    entries: async () => (await reader.read()).value,
    read: async () => (await reader.read()).value.map((entry) => entry.value),
    // Reads on until it is told so.
    until: async (wanted) => {
      for (;;) {
        const got = (await reader.read()).value.map((entry) => entry.value);
        if (JSON.stringify(got) === JSON.stringify(wanted)) return;
      }
    },
    is_silent: async (ms) => {
      const said = await Promise.race([reader.read(), sleep(ms)]);
      assert.equal(said, undefined, "nothing is told");
    },
    cancel: () => reader.cancel(),
  };
}

await test("absent keys are told at first, then what is written, by Deno and RESP", async () => {
  const w = watch([["w", 1], ["w", 2]]);
  assert.deepEqual(await w.read(), [null, null]);
  const { versionstamp } = await kv.set(["w", 1], "Deno");
  assert.deepEqual(await w.entries(), [
    { key: ["w", 1], value: "Deno", versionstamp },
    { key: ["w", 2], value: null, versionstamp: null },
  ]);
  const stamp = await redis.text("KV.SET", '["w",2]', '{"by":"RESP"}');
  assert.deepEqual((await w.entries())[1], { key: ["w", 2], value: { by: "RESP" }, versionstamp: stamp });
  await w.cancel();
});
await test("what is there is told at first, as it was written", async () => {
  const value = { m: new Map([[1, new Set([2n])]]), hole: [1, , 3], n: new Date(5), b: Object(1) };
  await kv.set(["there"], value);
  const w = watch([["there"]]);
  assert.deepEqual(await w.read(), [value]);
  await w.cancel();
});
await test("bytes and counters are told as such", async () => {
  await kv.atomic().set(["kind", 1], Uint8Array.of(1, 2)).sum(["kind", 2], 7n).commit();
  const w = watch([["kind", 1], ["kind", 2]]);
  const [bytes, n] = await w.read();
  assert.deepEqual(bytes, Uint8Array.of(1, 2));
  assert.equal(n.value, 7n);
  await kv.atomic().sum(["kind", 2], 1n).commit();
  assert.equal((await w.read())[1].value, 8n);
  await w.cancel();
});
await test("one key twice, and ten keys", async () => {
  const keys = Array.from({ length: 10 }, (_, i) => ["ten", i % 9]);
  const w = watch(keys);
  assert.deepEqual(await w.read(), Array(10).fill(null));
  await kv.set(["ten", 0], "both");
  assert.deepEqual(await w.read(), ["both", null, null, null, null, null, null, null, null, "both"]);
  await kv.set(["ten", 8], "one");
  assert.equal((await w.read())[8], "one");
  await w.cancel();
  await refused(() => watch([...keys, ["ten", 11]]).read(), "TypeError", "Too many keys (max 10)");
});
await test("a delete is told, by Deno and RESP", async () => {
  await kv.set(["gone"], 1);
  const w = watch([["gone"]]);
  assert.deepEqual(await w.read(), [1]);
  await kv.delete(["gone"]);
  assert.deepEqual(await w.read(), [null]);
  await kv.set(["gone"], 2);
  assert.deepEqual(await w.read(), [2]);
  await redis.text("KV.DEL", '["gone"]');
  assert.deepEqual(await w.entries(), [{ key: ["gone"], value: null, versionstamp: null }]);
  await w.cancel();
});
await test("an end by expiry is told", async () => {
  const w = watch([["expires"]]);
  assert.deepEqual(await w.read(), [null]);
  await kv.set(["expires"], 1, { expireIn: 300 });
  assert.deepEqual(await w.read(), [1]);
  assert.deepEqual(await w.read(), [null]);
  await w.cancel();
});
await test("the empty key can be watched: it is never there", async () => {
  const w = watch([[], ["beside"]]);
  assert.deepEqual(await w.read(), [null, null]);
  await kv.set(["beside"], 1);
  assert.deepEqual(await w.read(), [null, 1]);
  await w.cancel();
});
await test("a transaction over two keys is told whole, and in order", async () => {
  const w = watch([["pair", 1], ["pair", 2]]);
  assert.deepEqual(await w.read(), [null, null]);
  const writes = (async () => {
    for (let i = 1; i <= 50; i++) await kv.atomic().set(["pair", 1], i).set(["pair", 2], i).commit();
  })();
  for (let last = [0, 0]; last[0] < 50;) {
    const now = await w.read();
    assert.equal(now[0], now[1], "both are of one transaction");
    assert.ok(now[0] > (last[0] ?? 0));
    last = now;
  }
  await writes;
  await w.cancel();
});
await test("other keys and failed checks are not told", async () => {
  await kv.set(["quiet"], 1);
  const w = watch([["quiet"]], { raw: true });
  assert.deepEqual(await w.read(), [1]);
  await kv.set(["quiet", 1], 1);
  await kv.set(["quie"], 1);
  assert.equal((await kv.atomic().check({ key: ["quiet"], versionstamp: null }).set(["quiet"], 2).commit()).ok, false);
  await w.is_silent(300);
  await w.cancel();
});
await test("a burst ends in the newest state", async () => {
  const w = watch([["burst"]]);
  assert.deepEqual(await w.read(), [null]);
  const writes = Array.from({ length: 500 }, (_, i) => kv.set(["burst"], i));
  await Promise.all(writes);
  await kv.set(["burst"], "last");
  await w.until(["last"]);
  await w.cancel();
});
await test("a burst of large values ends in the newest state", async () => {
  const w = watch([["large"]]);
  assert.deepEqual(await w.read(), [null]);
  for (let i = 0; i < 200; i++) await kv.set(["large"], `${i} `.padEnd(60000, "x"));
  await kv.set(["large"], "last");
  await w.until(["last"]);
  await w.cancel();
});
await test("who does not read is told the newest state when he does", async () => {
  const w = watch([["slow"]]);
  for (let i = 0; i <= 100; i++) await kv.set(["slow"], i);
  await sleep(200);
  await w.until([100]);
  await w.cancel();
});
await test("a watch that is cancelled ends at the server too", async () => {
  const listening = async () => (await redis.text("INFO", "clients")).match(/pubsub_clients:(\d+)/)?.[1];
  await until(async () => (await listening()) === "0");
  const watches = Array.from({ length: 5 }, (_, i) => watch([["cancel", i]]));
  await Promise.all(watches.map((w) => w.read()));
  assert.equal(await listening(), "5");
  await Promise.all(watches.map((w) => w.cancel()));
  await until(async () => (await listening()) === "0");
});
await test("thirty watches on one connection, and everything else besides", async () => {
  const watches = Array.from({ length: 30 }, (_, i) => watch([["many", i]]));
  for (const w of watches) assert.deepEqual(await w.read(), [null]);
  for (let round = 0; round < 5; round++) {
    await Promise.all(watches.map((_, i) => kv.set(["many", i], round * 100 + i)));
    await Promise.all(watches.map((w, i) => w.until([round * 100 + i])));
    const entries = await Promise.all(watches.map((_, i) => kv.get(["many", i])));
    assert.deepEqual(entries.map((entry) => entry.value), watches.map((_, i) => round * 100 + i));
  }
  await Promise.all(watches.map((w) => w.cancel()));
});

/* ---- the server goes and comes back ---- */

await test("a value that cannot be told to Deno: it goes on when it can", async () => {
  await kv.set(["form"], 1);
  const w = watch([["form"]]);
  assert.deepEqual(await w.read(), [1]);
  await redis.text("KV.SET", '["form"]', '{"$u64":"7"}');
  assert.equal((await w.read())[0].value, 7n);
  await w.cancel();
});
await test("kill -9 while it watches: it is told what has changed", async () => {
  await kv.set(["over"], "before");
  const w = watch([["over"], ["other"]]);
  assert.deepEqual(await w.read(), ["before", null]);
  await ask("kill");
  await ask("start");
  redis = new Resp(Number(port));
  const stamp = await redis.text("KV.SET", '["over"]', '"after"');
  await w.until(["after", null]);
  assert.equal((await kv.get(["over"])).versionstamp, stamp);
  await kv.set(["other"], 1);
  await w.until(["after", 1]);
  await w.cancel();
});
await test("kill -9 under writes: what was acknowledged is there, in order, and Deno goes on", async () => {
  const acknowledged = [];
  let is_over = false;
  const writer = async (n) => {
    for (let i = 0; !is_over; i++) {
      const { ok, versionstamp } = await kv.atomic().set(["ack", n, i], i).sum(["acks", n], 1n).commit();
      assert.equal(ok, true);
      acknowledged.push([n, i, versionstamp]);
    }
  };
  const writers = Array.from({ length: 10 }, (_, n) => writer(n));
  for (let round = 0; round < 3; round++) {
    const count = acknowledged.length;
    await until(() => acknowledged.length > count + 100);
    await ask("kill");
    await ask("start");
  }
  const count = acknowledged.length;
  await until(() => acknowledged.length > count + 100);
  is_over = true;
  await Promise.all(writers);
  for (const [n, i, versionstamp] of acknowledged) {
    const entry = await kv.get(["ack", n, i]);
    assert.equal(entry.value, i);
    assert.equal(entry.versionstamp, versionstamp);
  }
}, 60);
await test("a database that is closed while it watches ends the watch", async () => {
  const other = await Deno.openKv(url);
  const reader = other.watch([["end"]]).getReader();
  await reader.read();
  const next = reader.read().catch((error) => ({ done: true, error }));
  other.close();
  assert.equal((await next).done, true);
});

kv.close();
finish(17);
