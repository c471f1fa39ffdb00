// A file of Deno's own KV, and what became of it: file.mjs make <file>, which prints how many entries it has;
// file.mjs compare <file> <url of a service that has them too>
import assert from "node:assert/strict";
import { begin, finish, test } from "./help.mjs";
import { same } from "./same.mjs";
import { newer_values, values } from "./value_list.mjs";

const [what, path, url] = Deno.args;
const all = [...values, ...newer_values.map(([name, make]) => [name, make()])];
const kv = await Deno.openKv(path);

if (what === "make") {
  for (const [i, [, value]] of all.entries()) await kv.set(["value", i], value);
  await kv.set(["u64"], new Deno.KvU64(2n ** 64n - 1n));
  await kv.set([Uint8Array.of(0, 255), "\0", -1n, 2n ** 100n, -0, true], 1);
  await kv.set(["later"], 1, { expireIn: 10_000_000 });
  await kv.enqueue({ x: 1 }, { delay: 10_000_000, keysIfUndelivered: [["f", 1]], backoffSchedule: [10, 20] });
  await kv.enqueue("plain", { delay: 10_000_000 });
  await kv.enqueue(7);
  await new Promise((resolve) => kv.listenQueue(() => (resolve(), new Promise(() => {}))));
  console.log(all.length + 3);
  Deno.exit(0); // as if it was killed: the file's -wal stays
}

begin("Deno, its own file");
const service = await Deno.openKv(url);
let count = 0;
for await (const entry of kv.list({ prefix: [] })) {
  count++;
  await test(`an entry: ${String(entry.key[0])} ${String(entry.key[1] ?? "")}`, async () => {
    const there = await service.get(entry.key);
    assert.notEqual(there.versionstamp, null);
    if (entry.value instanceof Deno.KvU64) {
      assert.ok(there.value instanceof Deno.KvU64);
      assert.equal(there.value.value, entry.value.value);
    } else {
      same(there.value, entry.value);
    }
  });
}
await test("no other entries", async () => {
  for await (const _ of service.list({ prefix: [] })) count--;
  assert.equal(count, 0);
});
service.close();
kv.close();
finish();
