// socket.io over two servers with @socket.io/redis-adapter, by pub/sub and by sharded pub/sub:
// events cross, and do so again after the database was killed. What is sent while it is away is
// lost, as with Redis.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createAdapter, createShardedAdapter } from "@socket.io/redis-adapter";
import { Server } from "socket.io";
import { io as connect } from "socket.io-client";
import { ioredis, killAndStart, nodeRedis, steps, until } from "./common.js";

async function makeServer(adapter) {
  const http = createServer();
  const server = new Server(http, { adapter });
  server.on("connection", (socket) => socket.on("join", (room, done) => done(socket.join(room))));
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${http.address().port}` };
}

async function makeClient(url) {
  const socket = connect(url, { transports: ["websocket"] });
  const got = [];
  socket.onAny((...event) => got.push(event));
  await until(() => socket.connected, "the browser is connected");
  return { socket, got, has: (text) => got.some((event) => event.includes(text)) };
}

const kinds = {
  ioredis: async () => createAdapter(ioredis(), ioredis(), { key: "plain" }),
  "node-redis": async () => createAdapter(await nodeRedis(), await nodeRedis(), { key: "other" }),
  "node-redis, sharded": async () => createShardedAdapter(await nodeRedis(), await nodeRedis()),
};

const acts = {};
for (const [name, makeAdapter] of Object.entries(kinds)) {
  let one, two, ada, bob;
  // The servers have found each other when a message crosses; one that is sent before that is lost.
  const crosses = async (text) => {
    await until(() => {
      one.server.emit("news", text);
      return bob.has(text) && ada.has(text);
    }, "it arrives there");
    await until(() => {
      two.server.emit("news", `${text} back`);
      return ada.has(`${text} back`);
    }, "and back");
  };
  const reaches = (text) => {
    one.server.to("kitchen").emit("smell", text);
    return bob.has(text);
  };
  Object.assign(acts, {
    [`${name}: events cross from server to server`]: async () => {
      one = await makeServer(await makeAdapter());
      two = await makeServer(await makeAdapter());
      ada = await makeClient(one.url);
      bob = await makeClient(two.url);
      await crosses("hello");
    },
    [`${name}: rooms, and questions about all sockets`]: async () => {
      await bob.socket.emitWithAck("join", "kitchen");
      await until(() => reaches("bread"), "it is in the room");
      assert.equal(ada.has("bread"), false);
      await until(async () => (await one.server.fetchSockets()).length === 2, "both are seen");
      assert.equal((await one.server.in("kitchen").fetchSockets()).length, 1);
      two.server.on("sum", (a, b, answer) => answer(a + b));
      assert.deepEqual(await one.server.serverSideEmitWithAck("sum", 1, 2), [3]);
    },
    [`${name}: again after kill -9 of the database`]: async () => {
      await killAndStart();
      await crosses("again");
      await until(() => reaches("coffee"), "the room is there");
      await until(async () => {
        const sockets = await one.server.fetchSockets().catch(() => []);
        return sockets.length === 2;
      }, "both are seen again");
      for (const each of [ada, bob]) each.socket.close();
      for (const each of [one, two]) each.server.close();
    },
  });
}
await steps("socket.io", acts);
