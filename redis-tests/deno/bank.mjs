// A bank: 32 loops over Deno's KV and 32 clients of RESP move money between the same accounts, while the server
// is killed and started again. Every transfer has a key of its own that must be absent: Deno sends a
// transaction again by itself when the connection breaks, and a client that does not know the outcome finds
// out by that key.
//   bank.mjs <url> <port> <title> <seconds> <kills>
import assert from "node:assert/strict";
import { ask, begin, finish, Resp, sleep, test } from "./help.mjs";

const [url, port, title, seconds, kills] = Deno.args;
const accounts = 20;
const initial = 1000;
const loops = 32;
const kv = await Deno.openKv(url);
begin(title);

let is_over = false;
const done = { deno: 0, resp: 0 };
const conflicts = { deno: 0, resp: 0 };
const json = JSON.stringify;
const below = (n) => Math.floor(Math.random() * n);

function transfer(who, n) {
  const from = below(accounts);
  return { from, to: (from + 1 + below(accounts - 1)) % accounts, amount: 1 + below(50), key: ["did", ...who, n] };
}

async function by_deno(t) {
  const [from, to] = await kv.getMany([["account", t.from], ["account", t.to]]);
  const write = kv.atomic()
    .check({ key: t.key, versionstamp: null }, from, to)
    .set(["account", t.from], from.value - t.amount)
    .set(["account", t.to], to.value + t.amount)
    .set(t.key, t.amount)
    .sum(["count"], 1n);
  if ((await write.commit()).ok) return true;
  conflicts.deno++;
  return (await kv.get(t.key)).versionstamp !== null; // it was sent twice
}

async function deno_loop(i) {
  for (let n = 0; !is_over; n++) {
    const t = transfer(["deno", i], n);
    while (!(await by_deno(t)));
    done.deno++;
  }
}

async function by_resp(client, t) {
  const keys = [json(["account", t.from]), json(["account", t.to])];
  const [from, to] = await Promise.all(keys.map((key) => client.text("KV.GET", key, "WITHVERSION")));
  const stamp = await client.text("KV.ATOMIC", "CHECK", json(t.key), "NONE", "CHECK", keys[0], from[1],
    "CHECK", keys[1], to[1], "SET", keys[0], Number(from[0]) - t.amount, "SET", keys[1], Number(to[0]) + t.amount,
    "SET", json(t.key), t.amount, "SUM", '["count"]', '{"$u64":"1"}');
  if (stamp === null) conflicts.resp++;
  return stamp !== null;
}

async function resp_loop(i) {
  let client = new Resp(Number(port));
  for (let n = 0; !is_over; n++) {
    const t = transfer(["resp", i], n);
    for (let is_known = true, is_done = false; !is_done;) {
      try {
        is_done = !is_known && (await client.text("KV.GET", json(t.key))) !== null;
        is_known = true;
        is_done ||= await by_resp(client, t);
      } catch (error) {
        if (!/connection/.test(error.message)) throw error;
        is_known = false;
        await sleep(50);
        client = new Resp(Number(port));
      }
    }
    done.resp++;
  }
  client.close();
}

await test(`the sum holds and no transfer is lost or done twice, over ${kills} times kill -9`, async () => {
  const write = kv.atomic();
  for (let i = 0; i < accounts; i++) write.set(["account", i], initial);
  await write.commit();
  const running = [];
  for (let i = 0; i < loops; i++) running.push(deno_loop(i), resp_loop(i));
  const all = Promise.all(running);
  for (let i = 0; i < kills; i++) {
    await Promise.race([sleep((seconds * 1000) / (Number(kills) + 1)), all]);
    await ask("kill");
    await ask("start");
  }
  await Promise.race([sleep((seconds * 1000) / (Number(kills) + 1)), all]);
  is_over = true;
  await all;
  let sum = 0;
  for await (const { value } of kv.list({ prefix: ["account"] })) sum += value;
  assert.equal(sum, accounts * initial);
  const redis = new Resp(Number(port));
  const transfers = done.deno + done.resp;
  assert.equal(Number(await redis.text("KV.COUNT", "PREFIX", '["did","deno"]')), done.deno);
  assert.equal(Number(await redis.text("KV.COUNT", "PREFIX", '["did","resp"]')), done.resp);
  assert.equal((await kv.get(["count"])).value.value, BigInt(transfers));
  assert.ok(done.deno > loops && done.resp > loops, "both have done something");
  console.log(`# ${done.deno} transfers of Deno, ${done.resp} of RESP; conflicts: ${conflicts.deno}, ${conflicts.resp}`);
}, Number(seconds) * 4 + 30);

kv.close();
finish(1);
