// Redis Commander: what its page asks of its own server, in the order in which a person clicks.

import assert from "node:assert/strict";
import * as gui from "./common.js";

const { ADA, ADA_VALUE, guiPort, port, put, value } = gui;
const connection = encodeURIComponent(`R:127.0.0.1:${port}:0`);
const page = `http://127.0.0.1:${guiPort}`;

async function get(path) {
  const reply = await fetch(`${page}/${path}`, { signal: AbortSignal.timeout(20000) });
  assert.equal(reply.status, 200, path);
  return reply.json();
}

async function post(path, fields = {}) {
  const body = new URLSearchParams(fields);
  const signal = AbortSignal.timeout(20000);
  const reply = await fetch(`${page}/${path}`, { method: "POST", body, signal });
  return { status: reply.status, text: await reply.text() };
}

const named = (key) => `${connection}/${encodeURIComponent(key)}`;
const open = (key) => get(`apiv2/key/${named(key)}`);
const shell = async (cmd) => JSON.parse((await post(`apiv2/exec/${connection}`, { cmd })).text).data;

// A level of the tree: what a person reads there, without the number of keys in a folder.
async function level(prefix) {
  const { data } = await get(`apiv2/keystree/${named(prefix)}${prefix ? "?absolute=false" : ""}`);
  return data.map(({ text, rel }) => (rel ? `${text} ${rel}` : text));
}

async function saved(path, fields) {
  const { status, text } = await post(path, fields);
  assert.equal(status, 200, text);
  return text;
}

await gui.fill();
await gui.steps("Redis Commander", {
  "is there only for this machine": gui.onlyOnLoopback,
  "connects, and shows what the server tells of itself": async () => {
    let data;
    await gui.until(async () => {
      ({ data } = await get("apiv2/server/info"));
      return data.length === 1 && !data[0].disabled;
    }, "it is connected");
    const told = Object.fromEntries(data[0].info.map(({ key, value }) => [key, value]));
    assert.match(told["Redis version"], /^\d+\.\d+\.\d+$/);
    assert.match(told.Db0, /^keys=7,expires=0,avg_ttl=0/);
  },
  "shows a tree of the parts of tuples": async () => {
    assert.deepEqual(await level(""), ["!true/* (1)", "files/* (2)", "motto ReJSON-RL", "users/* (3)"]);
    assert.deepEqual(await level("users/"), ["#42/* (1)", "#43/* (1)", "eve/* (1)"]);
    assert.deepEqual(await level("users/#42/"), ["profile ReJSON-RL"]);
    assert.deepEqual(await level("users/eve/"), ["a%20b%2fc ReJSON-RL"]);
    assert.deepEqual(await level("files/"), ["logo string", "note string"]);
    assert.deepEqual(await level("!true/"), ["#n7 ReJSON-RL"]);
  },
  "opens a typed value": async () => {
    assert.deepEqual(await open("users/#42/profile"), {
      ttl: -1,
      key: "users/#42/profile",
      type: "ReJSON-RL",
      value: ADA_VALUE,
    });
    assert.equal((await open("users/eve/a%20b%2fc")).value, "[1,2]");
    assert.equal((await open("motto")).value, '"one \\"string\\""');
    assert.equal((await open("!true/#n7")).value, '{"$set":[1,2]}');
    assert.equal((await open("nobody")).type, "none");
  },
  "opens bytes": async () => {
    const note = await open("files/note");
    assert.deepEqual([note.type, note.value], ["string", "plain text"]);
    assert.equal((await open("files/logo")).type, "binary");
  },
  "saves an edited value, and its types stay": async () => {
    const edited = ADA_VALUE.replace('"visits":3', '"visits":4');
    assert.equal(await saved(`apiv1/key/${named("users/#42/profile")}`, { stringValue: edited }), "OK");
    assert.equal(await value(ADA), edited);
    const more = ADA_VALUE.replace('"a","b"', '{"$date":"2024-02-29T12:00:00.000Z"}, -0.5');
    await saved(`apiv1/key/${named("users/#42/profile")}`, { stringValue: more });
    assert.equal(await value(ADA), more.replace(", ", ","));
  },
  "saves nothing that is not JSON": async () => {
    const before = await value(ADA);
    const { status } = await post(`apiv1/key/${named("users/#42/profile")}`, { stringValue: "{oops" });
    assert.equal(status, 500);
    assert.equal(await value(ADA), before);
  },
  // Its form does not encode the name: the browser sends what is before the #.
  "a name that its page has cut at a # is refused": async () => {
    const before = await gui.count();
    for (const cut of ["users/", ""]) {
      const { status } = await post(`apiv1/key/${connection}/${cut}`, { stringValue: "[]" });
      assert.equal(status, 500, cut);
    }
    assert.equal(await gui.count(), before);
  },
  "saves bytes": async () => {
    await saved(`apiv1/key/${connection}/files/note`, { stringValue: "other text" });
    assert.equal(await value('["files","note"]'), '{"$bytes":"b3RoZXIgdGV4dA=="}');
  },
  "adds a string and a typed value": async () => {
    await saved(`apiv2/key/${named("files/#1")}`, { keyType: "string", stringValue: "new" });
    assert.equal(await value('["files",1]'), '{"$bytes":"bmV3"}');
    const more = { keyType: "ReJSON-RL", stringValue: '{"at":{"$date":null}}' };
    await saved(`apiv2/key/${named("users/#44/profile")}`, more);
    assert.equal(await value('["users",44,"profile"]'), '{"at":{"$date":null}}');
  },
  "edits a member at its command line, and the others stay as they are": async () => {
    assert.equal(await shell(`JSON.SET users/#42/profile $.name '"Ada L."'`), "OK");
    assert.equal(await shell("JSON.GET users/#42/profile .id"), '{"$bigint":"9007199254740993"}');
    assert.match(await value(ADA), /^\{"name":"Ada L\.".*"\$bigint":"9007199254740993".*"\$date":"2023/);
  },
  "renames, but not over another key": async () => {
    const rename = (from, key, force) => saved(`apiv2/key/${named(from)}`, { key, force, action: "patch" });
    assert.match(await rename("users/#44/profile", "users/#43/profile", false), /ERR_KEY_EXISTS/);
    assert.equal(await value('["users",43,"profile"]'), '{"name":"Grace"}');
    assert.equal(await rename("users/#44/profile", "users/#45/profile", false), '"ok"');
    assert.equal(await value('["users",44,"profile"]'), null);
    assert.equal(await rename("users/#45/profile", "users/#43/profile", true), '"ok"');
    assert.equal(await value('["users",43,"profile"]'), '{"at":{"$date":null}}');
  },
  "a time to live is shown, and outlives an edit": async () => {
    assert.equal(await shell("EXPIRE users/#43/profile 500"), 1);
    await saved(`apiv1/key/${named("users/#43/profile")}`, { stringValue: "[]" });
    const { ttl } = await open("users/#43/profile");
    assert.ok(ttl > 400 && ttl <= 500, `${ttl}`);
    assert.equal(await shell("PERSIST users/#43/profile"), 1);
    assert.equal((await open("users/#43/profile")).ttl, -1);
  },
  "deletes a key, and a folder": async () => {
    await saved(`apiv2/key/${named("users/#43/profile")}?action=delete`);
    assert.equal(await value('["users",43,"profile"]'), null);
    await put('["users2",1]', "1");
    await saved(`apiv2/keys/${named("users/*")}?action=delete`);
    assert.equal(await value(ADA), null);
    assert.deepEqual(await level(""), ["!true/* (1)", "files/* (3)", "motto ReJSON-RL", "users2/* (1)"]);
  },
  "shows more keys than a page of SCAN has": async () => {
    for (let n = 0; n < 350; n++) await put(`["many",${n}]`, `${n}`);
    assert.equal((await level("many/")).length, 350);
    assert.deepEqual((await level("")).filter((text) => text.startsWith("many")), ["many/* (350)"]);
  },
  "goes on after the server was killed": async () => {
    await put(ADA, ADA_VALUE);
    await gui.killAndStart();
    await gui.until(async () => !(await get("apiv2/server/info")).data[0].disabled, "it is connected");
    assert.equal((await open("users/#42/profile")).value, ADA_VALUE);
    assert.deepEqual(await level("users/"), ["#42/* (1)"]);
  },
});
