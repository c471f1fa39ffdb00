// deno_atomic: atomic().check().set().set() on a local Deno KV file, 50 at a time. Prints transactions/s.
const seconds = Number(Deno.args[0] ?? 5);
const path = await Deno.makeTempFile({ suffix: ".sqlite" });
const kv = await Deno.openKv(path);
const value = { id: 12345, name: "user 12345", email: "user12345@example.com", age: 42, active: true };
let done = 0;
const end = performance.now() + seconds * 1000;

async function worker(n) {
  let versionstamp = null;
  while (performance.now() < end) {
    const result = await kv.atomic()
      .check({ key: ["worker", n], versionstamp })
      .set(["worker", n], value)
      .set(["copy", n], value)
      .commit();
    if (!result.ok) throw new Error("an unexpected conflict");
    versionstamp = result.versionstamp;
    done++;
  }
}

await Promise.all(Array.from({ length: 50 }, (_, n) => worker(n)));
console.log((done / seconds).toFixed(0));
kv.close();
await Deno.remove(path);
