// Watches one key, and prints each value that it is told, until one is "end".
//     count.mjs <url>
const kv = await Deno.openKv(Deno.args[0]);
for await (const [entry] of kv.watch([["counter"]])) {
  if (entry.value === null) continue;
  console.log(String(entry.value));
  if (entry.value === "end") break;
}
kv.close();
