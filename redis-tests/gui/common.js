// For the programs of this folder: a person who uses the page of a GUI, and the same database seen
// without the tuples view. Steps, and a server that is killed: ../steps.mjs.
//
//   node <program>.js <port of the server> <port of the GUI>
//
//   value(key), version(key)  what KV.GET tells, of a key in JSON; null when there is none
//   put(key, value)          KV.SET, both in JSON
//   onlyOnLoopback()         nothing listens on the GUI's port at this machine's other addresses

import assert from "node:assert/strict";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { Redis } from "ioredis";

export * from "../steps.mjs";

export const port = Number(process.argv[2]);
export const guiPort = Number(process.argv[3]);
const plain = new Redis({ host: "127.0.0.1", port, retryStrategy: () => 20 });
plain.on("error", () => {});
export const value = (key) => plain.call("KV.GET", key);
export const put = (key, json, ...more) => plain.call("KV.SET", key, json, ...more);
export const remove = (key) => plain.call("KV.DEL", key);
export const version = async (key) => (await plain.call("KV.GET", key, "WITHVERSION"))?.[1];
export const count = () => plain.call("KV.COUNT");

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
