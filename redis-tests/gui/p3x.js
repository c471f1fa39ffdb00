// P3X Redis UI: what its page asks of its own server by socket.io, in the order in which a person clicks.

import assert from "node:assert/strict";
import { io } from "socket.io-client";
import * as gui from "./common.js";

const { ADA, ADA_VALUE, guiPort, port, put, value } = gui;
const socket = io(`http://127.0.0.1:${guiPort}`, { transports: ["websocket"] });
let number = 0;
let configuration;
let connections;
socket.on("configuration", (told) => (configuration = told));
socket.on("connections", (told) => (connections = told.connections));

function answer(action, payload = {}) {
  const requestId = `${++number}`;
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no answer to ${action}`)), 20000);
    socket.once(`p3xr-response-${requestId}`, (reply) => {
      clearTimeout(late);
      resolve(reply);
    });
    socket.emit("p3xr-request", { action, payload, requestId });
  });
}

async function request(action, payload) {
  const reply = await answer(action, payload);
  assert.equal(reply.status, "ok", reply.error);
  return reply;
}

// As its page shows a value: without the array that JSON.GET with $ puts around it.
async function open(key) {
  const reply = await request("key/get", { key });
  reply.text = reply.valueBuffer && Buffer.from(reply.valueBuffer).toString();
  if (reply.type === "json") {
    const parsed = JSON.parse(reply.text);
    reply.text = JSON.stringify(Array.isArray(parsed) ? parsed[0] : parsed, null, 2);
  }
  return reply;
}
const compact = (json) => JSON.stringify(JSON.parse(json));
const save = (key, json) => request("key/json-set", { key, path: "$", value: json });

const model = {
  id: "one",
  name: "tupled",
  host: "127.0.0.1",
  port,
  username: "gui",
  password: "secret",
};
const connected = () => request("connection/connect", { connection: { id: "one", name: "tupled" }, db: 0 });
const keys = async (match) => (await request("redis/refresh", { match })).keys.sort();

await gui.fill();
await gui.until(() => configuration, "its server answers");
await gui.steps("P3X Redis UI", {
  "is there only for this machine": gui.onlyOnLoopback,
  "a / can divide names": () => assert.equal(configuration.treeDividers[0], "/"),
  "tries a connection, and keeps it": async () => {
    await request("connection/test", { model: { ...model } });
    const wrong = await answer("connection/test", { model: { ...model, password: "wrong" } });
    assert.match(wrong.error, /WRONGPASS/);
    await request("connection/save", { model: { ...model } });
    await gui.until(() => connections?.list.length === 1, "the connection is in its list");
  },
  "connects: databases, commands, JSON, all tuples with their types": async () => {
    const reply = await connected();
    assert.ok(Number(reply.databases) >= 16);
    assert.ok(reply.commands.some(([name]) => name.toLowerCase() === "json.get"));
    assert.ok(reply.modules.some(({ name }) => name === "ReJSON"));
    assert.match(reply.info, /db0:keys=7,/);
    assert.equal(reply.dbsize, 7);
    const types = Object.entries(reply.keysInfo).map(([key, { type, ttl }]) => `${key} ${type} ${ttl}`);
    assert.deepEqual(types.sort(), [
      "!true/#n7 json -1",
      "files/logo string -1",
      "files/note string -1",
      "motto json -1",
      "users/#42/profile json -1",
      "users/#43/profile json -1",
      "users/eve/a%20b%2fc json -1",
    ]);
  },
  "searches": async () => {
    assert.deepEqual(await keys("users/#4*"), ["users/#42/profile", "users/#43/profile"]);
    assert.deepEqual(await keys("*note*"), ["files/note"]);
  },
  "opens a typed value": async () => {
    const { type, ttl, text } = await open("users/#42/profile");
    assert.deepEqual([type, ttl, compact(text)], ["json", -1, ADA_VALUE]);
    assert.equal(compact((await open("users/eve/a%20b%2fc")).text), "[1,2]");
    assert.equal((await open("motto")).text, '"one \\"string\\""');
    assert.equal(compact((await open("!true/#n7")).text), '{"$set":[1,2]}');
  },
  "opens bytes": async () => {
    const { type, text } = await open("files/note");
    assert.deepEqual([type, text], ["string", "plain text"]);
    assert.equal(Buffer.from((await open("files/logo")).valueBuffer).toString("hex"), "89504e4700");
  },
  "saves an edited value, and its types stay": async () => {
    const { text } = await open("users/#42/profile");
    await save("users/#42/profile", text.replace('"visits": 3', '"visits": 4'));
    assert.equal(await value(ADA), ADA_VALUE.replace('"visits":3', '"visits":4'));
  },
  "numbers are what they were when its page has read and written them": async () => {
    const numbers = '[0.5,-3,5e-324,1e+21,9007199254740991,{"$number":"-0"},{"$number":"NaN"}]';
    await put('["numbers"]', numbers);
    await save("numbers", (await open("numbers")).text.replace("0.5", "0.25"));
    assert.equal(await value('["numbers"]'), numbers.replace("0.5", "0.25"));
    await gui.remove('["numbers"]');
  },
  "saves nothing that is not JSON": async () => {
    const before = await value(ADA);
    const reply = await answer("key/json-set", { key: "users/#42/profile", path: "$", value: "{oops" });
    assert.equal(reply.status, "error");
    assert.equal(await value(ADA), before);
  },
  "saves bytes, and they live on as long as they did": async () => {
    await request("key/expire", { key: "files/note", ttl: 500 });
    await request("key/set", { key: "files/note", value: "other text" });
    assert.equal(await value('["files","note"]'), '{"$bytes":"b3RoZXIgdGV4dA=="}');
    const { ttl } = await open("files/note");
    assert.ok(ttl > 400 && ttl <= 500, `${ttl}`);
  },
  "adds a string and a typed value": async () => {
    const bytes = { type: "string", key: "files/#1", value: "new" };
    await request("key/new-or-set", { type: "add", model: bytes });
    assert.equal(await value('["files",1]'), '{"$bytes":"bmV3"}');
    const json = '{"at":{"$date":"2024-02-29T12:00:00.000Z"}}';
    const more = { type: "json", key: "users/#44/profile", value: json };
    await request("key/new-or-set", { type: "add", model: more });
    assert.equal(await value('["users",44,"profile"]'), json);
  },
  "edits a member at its console, and the others stay as they are": async () => {
    const command = `JSON.SET users/#42/profile $.visits 5`;
    assert.equal((await request("redis/console", { command })).result, "OK");
    assert.equal(await value(ADA), ADA_VALUE.replace('"visits":3', '"visits":5'));
  },
  "renames": async () => {
    await request("key/rename", { key: "users/#44/profile", keyNew: "users/#45/profile" });
    assert.equal(await value('["users",44,"profile"]'), null);
    assert.match(await value('["users",45,"profile"]'), /2024-02-29/);
  },
  "a time to live is set, outlives an edit, and is taken away": async () => {
    await request("key/expire", { key: "users/#45/profile", ttl: 500 });
    await save("users/#45/profile", "[]");
    const { ttl } = await open("users/#45/profile");
    assert.ok(ttl > 400 && ttl <= 500, `${ttl}`);
    await request("key/persist", { key: "users/#45/profile" });
    assert.equal((await open("users/#45/profile")).ttl, -1);
  },
  "takes out keys and brings them back": async () => {
    const taken = ["users/#42/profile", "files/logo", "motto"];
    const before = await Promise.all([ADA, '["files","logo"]', '["motto"]'].map(value));
    const { data } = await request("key/export", { keys: taken });
    assert.deepEqual(data.keys.map(({ key }) => key), taken);
    for (const key of taken) await request("key/delete", { key });
    assert.equal(await value(ADA), null);
    const { data: told } = await request("key/import", { keys: data.keys, conflictMode: "skip" });
    assert.deepEqual(told, { created: 3, skipped: 0, errors: 0 });
    assert.deepEqual(await Promise.all([ADA, '["files","logo"]', '["motto"]'].map(value)), before);
  },
  "names the largest keys": async () => {
    await put('["large"]', JSON.stringify("x".repeat(100000)));
    const { data } = await request("memory/top-keys", {});
    assert.equal(data[0].key, "large");
    assert.ok(data[0].bytes >= 100000);
  },
  "deletes a key, and a folder": async () => {
    await request("key/delete", { key: "users/#45/profile" });
    assert.equal(await value('["users",45,"profile"]'), null);
    await put('["users2",1]', "1");
    await request("key/del-tree", { key: "users", redisTreeDivider: "/" });
    assert.deepEqual(await keys("users*"), ["users2/#1"]);
  },
  "shows more keys than a page of SCAN has": async () => {
    for (let n = 0; n < 3500; n++) await put(`["many",${n}]`, `${n}`);
    assert.equal((await keys("many/*")).length, 3500);
  },
  "goes on after the server was killed": async () => {
    await put(ADA, ADA_VALUE);
    await gui.killAndStart();
    await gui.until(async () => {
      const { status } = await answer("connection/connect", { connection: { id: "one" }, db: 0 });
      return status === "ok";
    }, "it is connected");
    assert.equal(compact((await open("users/#42/profile")).text), ADA_VALUE);
  },
});
