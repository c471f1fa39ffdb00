// For the programs of this folder: a person who uses the page of a GUI, and the same database seen
// without the tuples view.
//
//   node <program>.js <port of the server> <port of the GUI>
//
//   value(key), version(key)  what KV.GET tells, of a key in JSON; null when there is none
//   put(key, value)          KV.SET, both in JSON
//   steps(name, acts)        runs them in order, prints `ok - name: act` or `not ok` of each
//   killAndStart()           the server is killed with -9, and is there again
//   onlyOnLoopback()         nothing listens on the GUI's port at this machine's other addresses

import assert from "node:assert/strict";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";

export const port = Number(process.argv[2]);
export const guiPort = Number(process.argv[3]);
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function ask(what) {
  console.log(`ask ${what}`);
  assert.equal((await lines.next()).value, "done");
}
export async function killAndStart() {
  await ask("kill");
  await ask("start");
}

const plain = new Redis({ host: "127.0.0.1", port, retryStrategy: () => 20 });
plain.on("error", () => {});
export const value = (key) => plain.call("KV.GET", key);
export const put = (key, json, ...more) => plain.call("KV.SET", key, json, ...more);
export const remove = (key) => plain.call("KV.DEL", key);
export const version = async (key) => (await plain.call("KV.GET", key, "WITHVERSION"))?.[1];
export const count = () => plain.call("KV.COUNT");

export async function until(condition, what) {
  const end = Date.now() + 20000;
  while (!(await condition())) {
    assert.ok(Date.now() < end, `waited in vain until ${what}`);
    await sleep(20);
  }
}

const answers = (host) =>
  new Promise((resolve) => {
    const socket = connect({ host, port: guiPort, timeout: 1000 });
    const end = (answer) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.on("connect", end(true)).on("error", end(false)).on("timeout", end(false));
  });

export async function onlyOnLoopback() {
  assert.ok(await answers("127.0.0.1"));
  const others = Object.values(networkInterfaces()).flat();
  for (const { address, internal, scopeid } of others) {
    if (!internal && !scopeid) assert.ok(!(await answers(address)), address);
  }
}

export async function steps(name, acts) {
  let failures = 0;
  for (const [what, act] of Object.entries(acts)) {
    try {
      await act();
      console.log(`ok - ${name}: ${what}`);
    } catch (error) {
      failures++;
      console.log(`not ok - ${name}: ${what}`);
      console.log(error.stack);
    }
  }
  process.exit(failures ? 1 : 0);
}

// What is in the database. The date and the bigint are what no JSON of a GUI knows.
export const ADA = '["users",42,"profile"]';
export const ADA_VALUE =
  '{"name":"Ada","visits":3,"id":{"$bigint":"9007199254740993"},' +
  '"since":{"$date":"2023-04-23T00:00:00.000Z"},"tags":["a","b"]}';
export async function fill() {
  await put(ADA, ADA_VALUE);
  await put('["users",43,"profile"]', '{"name":"Grace"}');
  await put('["users","eve","a b/c"]', '[1,2]');
  await put('["motto"]', '"one \\"string\\""');
  await put('["files","logo"]', '{"$bytes":"iVBORwA="}');
  await put('["files","note"]', '{"$bytes":"cGxhaW4gdGV4dA=="}');
  await put('[true,{"$bigint":"7"}]', '{"$set":[1,2]}');
}
