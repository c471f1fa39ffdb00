// @upstash/redis over HTTP as user alice:secret: `ok - name` or `not ok - name` for each case.
//   node upstash.js <url>
import assert from "node:assert/strict";
import { Redis } from "@upstash/redis";

const url = process.argv[2];
const redis = new Redis({ url, token: "alice:secret" });
let failures = 0;

async function test(name, run) {
  try {
    await run();
    console.log(`ok - @upstash/redis: ${name}`);
  } catch (error) {
    failures++;
    console.log(`not ok - @upstash/redis: ${name}\n  ${String(error.stack).replaceAll("\n", "\n  ")}`);
  }
}

await test("values go and come as they are", async () => {
  const value = { text: "Grüße 😀", list: [1, null, true], more: { deep: "x" } };
  assert.equal(await redis.set("a", value), "OK");
  assert.deepEqual(await redis.get("a"), value);
  assert.equal(await redis.get("none"), null);
  assert.deepEqual(await redis.mget("a", "none"), [value, null]);
});

await test("counters, expiry, deletes", async () => {
  assert.equal(await redis.incr("n"), 1);
  assert.equal(await redis.incrby("n", 41), 42);
  assert.equal(await redis.expire("n", 100), 1);
  const left = await redis.ttl("n");
  assert.ok(left > 40 && left <= 100, `${left} seconds`);
  assert.equal(await redis.exists("n", "none"), 1);
  assert.equal(await redis.del("n", "none"), 1);
});

await test("a pipeline answers in order, errors apart", async () => {
  const results = await redis.pipeline().set("p", "text").get("p").exec();
  assert.deepEqual(results, ["OK", "text"]);
  await assert.rejects(redis.pipeline().set("p", "text").incr("p").exec(), /not an integer/);
});

await test("a transaction is all or nothing", async () => {
  assert.deepEqual(await redis.multi().set("t", 1).incr("t").exec(), ["OK", 2]);
  await assert.rejects(redis.multi().set("t", "text").incr("t").exec(), /EXECABORT/);
  assert.equal(await redis.get("t"), 2);
});

await test("commands of this server", async () => {
  const stamp = await redis.exec(["KV.SET", '["k",1]', '{"v":1}']);
  assert.match(stamp, /^[0-9a-f]{20}$/);
  assert.deepEqual(await redis.exec(["KV.GET", '["k",1]']), { v: 1 });
});

await test("errors are told", async () => {
  await assert.rejects(redis.incr("a"), /not an integer/);
  await assert.rejects(redis.exec(["SELECT", "1"]), /Tupled-Database/);
  const nobody = new Redis({ url, token: "alice:wrong", retry: false });
  await assert.rejects(nobody.get("a"), /WRONGPASS/);
});

await test("a subscription", async () => {
  const heard = [];
  const subscription = redis.subscribe("news");
  const done = new Promise((resolve) => {
    subscription.on("message", (m) => {
      heard.push(m);
      resolve();
    });
  });
  for (let i = 0; i < 200 && heard.length === 0; i++) {
    await redis.publish("news", { n: 1 });
    await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 50))]);
  }
  assert.deepEqual(heard[0], { channel: "news", message: { n: 1 } });
  await subscription.unsubscribe();
});

process.exit(failures > 0 ? 1 : 0);
