// deno_connect: a Deno KV, local or by KV Connect, one at a time and 50 at a time. Prints a line for each kind of
// work: its name, how many at a time, how many a second. A watch is from a set to what the watch says of it.
//   deno_connect.mjs <url or file> <seconds for each>
const [path, seconds] = Deno.args;
const kv = await Deno.openKv(path);
const value = { id: 12345, name: "user 12345", email: "user12345@example.com", age: 42, active: true };
const keys = 1000;
const run = crypto.randomUUID();

async function rate(name, at_once, one) {
  let done = 0;
  const begin = performance.now();
  const end = begin + Number(seconds) * 1000;
  const loop = async (n) => {
    for (let i = 0; performance.now() < end; i++, done++) await one(n, i);
  };
  await Promise.all(Array.from({ length: at_once }, (_, n) => loop(n)));
  console.log(name, at_once, (done / ((performance.now() - begin) / 1000)).toFixed(0));
}

for (let i = 0; i < keys; i++) await kv.set(["key", i], value);
for (const at_once of [1, 50]) {
  await rate("get", at_once, async (n, i) => {
    if ((await kv.get(["key", (n * 37 + i) % keys])).value === null) throw new Error("an entry is missing");
  });
  await rate("set", at_once, (n, i) => kv.set(["key", (n * 37 + i) % keys], value));
  const stamps = Array(at_once).fill(null);
  await rate("atomic", at_once, async (n) => {
    const result = await kv.atomic().check({ key: ["worker", run, at_once, n], versionstamp: stamps[n] })
      .set(["worker", run, at_once, n], value).set(["copy", run, at_once, n], value).commit();
    if (!result.ok) throw new Error("an unexpected conflict");
    stamps[n] = result.versionstamp;
  });
  const readers = stamps.map((_, n) => kv.watch([["watched", run, at_once, n]]).getReader());
  await Promise.all(readers.map((reader) => reader.read()));
  await rate("watch", at_once, async (n, i) => {
    const { versionstamp } = await kv.set(["watched", run, at_once, n], i);
    while ((await readers[n].read()).value[0].versionstamp !== versionstamp);
  });
  await Promise.all(readers.map((reader) => reader.cancel()));
}
kv.close();
