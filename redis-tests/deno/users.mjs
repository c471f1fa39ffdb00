// Users, tokens, databases: users.mjs <url> <port> <title> <user:password>. The password is the one that
// Deno was started with.
import assert from "node:assert/strict";
import { begin, finish, refused, Resp, test, until } from "./help.mjs";

const [url, port, title] = Deno.args;
const redis = new Resp(Number(port));
const acl = (...words) => redis.text("ACL", "SETUSER", "deno", ...words);
begin(title);
await acl("reset", "on", ">a-long-password", "~app/*", "&*", "+@all");
const kv = await Deno.openKv(url);

await test("a user reads and writes what is his", async () => {
  const { versionstamp } = await kv.atomic().check({ key: ["app", 1], versionstamp: null }).set(["app", 1], "mine")
    .sum(["app", 2], 1n).commit();
  assert.equal((await kv.get(["app", 1])).versionstamp, versionstamp);
  const values = [];
  for await (const { value } of kv.list({ prefix: ["app"] })) values.push(value.value ?? value);
  assert.deepEqual(values, ["mine", 1n]);
});
await test("and nothing else: the error names him or what he may not", async () => {
  await redis.text("KV.SET", '["other"]', '"secret"');
  for (const run of [
    () => kv.get(["other"]),
    () => kv.set(["other"], 1),
    () => kv.delete(["other"]),
    () => kv.atomic().sum(["other"], 1n).commit(),
    () => kv.atomic().check({ key: ["other"], versionstamp: null }).commit(),
    () => kv.atomic().set(["app", 3], 1).set(["other"], 1).commit(),
    () => kv.set(["other", kv.commitVersionstamp()], 1),
    () => kv.list({ prefix: [] }).next(),
    () => kv.list({ start: ["a"], end: ["z"] }).next(),
    () => kv.list({ prefix: ["other"] }).next(),
    () => kv.getMany([["app", 1], ["other"]]),
  ]) {
    await refused(run, "Error", "NOPERM");
  }
  assert.equal((await kv.get(["app", 3])).value, null);
  assert.equal(await redis.text("KV.GET", '["other"]'), '"secret"');
});
await test("a watch of what is not his is refused", async () => {
  await refused(() => kv.watch([["app", 1], ["other"]]).getReader().read(), "Error", "NOPERM");
});
await test("a user who may only read", async () => {
  await acl("resetkeys", "%R~app/*");
  assert.equal((await kv.get(["app", 1])).value, "mine");
  await refused(() => kv.set(["app", 1], 2), "Error", "NOPERM");
  await refused(() => kv.atomic().sum(["app", 2], 1n).commit(), "Error", "NOPERM");
});
await test("a user who is changed: Deno goes on with a new token by itself", async () => {
  for (const rules of [["~more/*"], ["resetkeys", "~*"], [">another-password"], ["-@dangerous"]]) {
    await acl(...rules);
    assert.equal((await kv.get(["app", 1])).value, "mine");
    await kv.set(["more", "x"], rules[0]);
  }
});
await test("a watch ends with its user's rights, and the rest is refused", async () => {
  const reader = kv.watch([["app", 1]]).getReader();
  assert.equal((await reader.read()).value[0].value, "mine");
  await acl("resetkeys", "~more/*");
  await refused(() => kv.get(["app", 1]), "Error", "NOPERM");
  await redis.text("KV.SET", '["app",1]', '"not to be told"');
  await refused(() => reader.read(), "Error", "NOPERM");
  await acl("resetkeys", "~*");
  assert.equal((await kv.get(["app", 1])).value, "not to be told");
});
await test("a user who is off has an error, and goes on when he is on", async () => {
  await acl("off");
  await refused(() => kv.get(["app", 1]), "Error", "WRONGPASS");
  await acl("on");
  await until(async () => {
    try {
      return (await kv.get(["app", 1])).value === "not to be told";
    } catch {
      return false;
    }
  }, 25);
}, 30);
await test("nobody opens it with a wrong password or none", async () => {
  const old = Deno.env.get("DENO_KV_ACCESS_TOKEN");
  Deno.env.set("DENO_KV_ACCESS_TOKEN", "deno:no-such-password");
  await refused(() => Deno.openKv(url), "TypeError", "401 Unauthorized");
  Deno.env.set("DENO_KV_ACCESS_TOKEN", old);
});
await test("what is not KV Connect is no database", async () => {
  await refused(() => Deno.openKv(url.replace("/connect", "/livez")), "TypeError", "Could not open Deno KV database");
  await refused(() => Deno.openKv(url.replace("/connect", "/nothing")), "TypeError", "404 Not Found");
  await refused(() => Deno.openKv(url.replace("/connect", "/db/none/connect")), "TypeError", "Could not open");
});
await test("databases by their names are apart", async () => {
  await redis.text("KV.DB", "CREATE", "shop");
  const shop = await Deno.openKv(url.replace("/connect", "/db/shop/connect"));
  const three = await Deno.openKv(url.replace("/connect", "/db/3/connect"));
  await kv.set(["where"], 0);
  await shop.set(["where"], "shop");
  await three.set(["where"], 3);
  assert.deepEqual([(await kv.get(["where"])).value, (await shop.get(["where"])).value,
    (await three.get(["where"])).value], [0, "shop", 3]);
  await redis.text("SELECT", "shop");
  assert.equal(await redis.text("KV.GET", '["where"]'), '"shop"');
  const reader = shop.watch([["where"]]).getReader();
  assert.equal((await reader.read()).value[0].value, "shop");
  await kv.set(["where"], 1);
  await shop.set(["where"], "there");
  assert.equal((await reader.read()).value[0].value, "there");
  await reader.cancel();
  await redis.text("SELECT", "0");
  three.close();
  shop.close();
});
await test("a database that is dropped has gone, and one of its name is another", async () => {
  const shop = await Deno.openKv(url.replace("/connect", "/db/shop/connect"));
  await redis.text("KV.DB", "DROP", "shop");
  await refused(() => shop.get(["where"]), "Error", "");
  await redis.text("KV.DB", "CREATE", "shop");
  const again = await Deno.openKv(url.replace("/connect", "/db/shop/connect"));
  assert.equal((await again.get(["where"])).value, null);
  again.close();
  shop.close();
});
await test("a quota of a database is an error with its name", async () => {
  await redis.text("KV.DB", "LIMIT", "shop", "MAXENTRIES", "2");
  const shop = await Deno.openKv(url.replace("/connect", "/db/shop/connect"));
  await shop.set(["a"], 1);
  await shop.set(["b"], 1);
  await refused(() => shop.set(["c"], 1), "Error", "shop");
  await shop.delete(["a"]);
  await shop.set(["c"], 1);
  shop.close();
});

kv.close();
finish(12);
