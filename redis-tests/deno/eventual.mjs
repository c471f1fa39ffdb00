// Reads with consistency "eventual", in Deno, and with @deno/kv in Node, which asks nodes that stand by:
// eventual.mjs <leader's url> <other node's url> <title>
import assert from "node:assert/strict";
import process from "node:process";
import { begin, finish, test, until } from "./help.mjs";

const [leader, other, title] = process.argv.slice(2);
const options = { accessToken: process.env.DENO_KV_ACCESS_TOKEN };
const open = globalThis.Deno?.openKv ?? (await import("@deno/kv")).openKv;
begin(title);

for (const [name, url] of [["the leader", leader], ["a node that stands by", other]]) {
  const kv = await open(url, options);
  await test(`${name}: what was written is read at once, and soon by the others`, async () => {
    for (let i = 0; i < 50; i++) {
      await kv.set(["eventual", name, title], i);
      assert.equal((await kv.get(["eventual", name, title])).value, i);
      const old = (await kv.get(["eventual", name, title], { consistency: "eventual" })).value;
      assert.ok(old === null || old <= i);
    }
    await until(async () => (await kv.get(["eventual", name, title], { consistency: "eventual" })).value === 49);
  });
  await test(`${name}: lists and several keys`, async () => {
    for (let i = 0; i < 20; i++) await kv.set(["list", name, title, i], i);
    await until(async () => {
      const all = [];
      for await (const e of kv.list({ prefix: ["list", name, title] }, { consistency: "eventual" })) all.push(e.value);
      return all.length === 20;
    });
    const both = await kv.getMany([["list", name, title, 3], ["none"]], { consistency: "eventual" });
    assert.deepEqual(both.map((e) => e.value), [3, null]);
  });
  await test(`${name}: a watch goes on`, async () => {
    await kv.set(["watched"], 1); // @deno/kv tells nothing of a key that is not there
    const reader = kv.watch([["watched"]]).getReader();
    await reader.read();
    await kv.set(["watched"], 7);
    for (;;) {
      const { value } = await reader.read();
      if (value[0].value === 7) break;
    }
    await reader.cancel();
    await kv.delete(["watched"]);
  });
  kv.close();
}
finish(6);
