// socket.io over two servers with @socket.io/redis-streams-adapter: what one sends all get, by a stream. A browser that
// was away is told what it missed, of its state and of the stream; also when the database was killed meanwhile.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createAdapter } from "@socket.io/redis-streams-adapter";
import Redis from "ioredis";
import { Server } from "socket.io";
import { io as connect } from "socket.io-client";
import { killAndStart, server, steps, until } from "./common.js";

const connectionStateRecovery = { maxDisconnectionDuration: 120000 };

async function makeServer() {
  const redis = new Redis({ ...server, maxRetriesPerRequest: null });
  redis.on("error", () => {});
  const http = createServer();
  const io = new Server(http, { adapter: createAdapter(redis, { blockTimeInMs: 200 }), connectionStateRecovery });
  io.on("connection", (socket) => socket.on("join", (room, done) => done(socket.join(room))));
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  return { io, url: `http://127.0.0.1:${http.address().port}` };
}

async function makeClient(url) {
  const socket = connect(url, { transports: ["websocket"], reconnectionDelay: 50 });
  const got = [];
  socket.onAny((event, text) => got.push(text));
  await until(() => socket.connected, "the browser is connected");
  return { socket, got };
}

let one, two, ada, bob;
// A server reads what is added after it has begun to read.
const crosses = async (text) => {
  await until(() => {
    one.io.emit("news", text);
    return bob.got.includes(text) && ada.got.includes(text);
  }, "it arrives there");
  await until(() => {
    two.io.emit("news", `${text} back`);
    return ada.got.includes(`${text} back`);
  }, "and back");
};
// What is on its way when the database is killed is sent again, and may arrive twice.
const missed = () => [...new Set(bob.got.filter((text) => text.startsWith("dish missed")))];

await steps("socket.io over streams", {
  "events cross from server to server": async () => {
    [one, two] = [await makeServer(), await makeServer()];
    [ada, bob] = [await makeClient(one.url), await makeClient(two.url)];
    await crosses("hello");
  },
  "rooms, and questions about all sockets": async () => {
    await bob.socket.emitWithAck("join", "kitchen");
    one.io.to("kitchen").emit("dish", "dish 1");
    await until(() => bob.got.includes("dish 1"), "it arrives in the room");
    await until(async () => (await one.io.fetchSockets()).length === 2, "both are seen");
    assert.equal((await one.io.in("kitchen").fetchSockets()).length, 1);
    assert.equal(ada.got.includes("dish 1"), false);
  },
  "again after kill -9 of the database, and what was sent meanwhile arrives": async () => {
    const sent = Array.from({ length: 100 }, (_, i) => `dish of a kill ${i}`);
    sent.slice(0, 50).forEach((text) => one.io.to("kitchen").emit("dish", text));
    const isBack = killAndStart();
    sent.slice(50).forEach((text) => one.io.to("kitchen").emit("dish", text));
    await isBack;
    await until(() => sent.every((text) => bob.got.includes(text)), "all arrives");
    await crosses("again");
  },
  "a browser that was away gets what it missed, on another server, over kill -9": async () => {
    const { id } = bob.socket;
    bob.socket.io.reconnection(false);
    bob.socket.io.engine.close();
    await until(() => two.io.of("/").sockets.size === 0, "it is away");
    const sent = Array.from({ length: 20 }, (_, i) => `dish missed ${i}`);
    sent.forEach((text) => two.io.to("kitchen").emit("dish", text));
    await killAndStart();
    bob.socket.io.uri = one.url;
    bob.socket.connect();
    await until(() => bob.socket.connected, "it is back");
    assert.equal(bob.socket.recovered, true);
    assert.equal(bob.socket.id, id);
    await until(() => missed().length === sent.length, "it is told what it missed");
    assert.deepEqual(missed(), sent);
    one.io.to("kitchen").emit("dish", "dish after");
    await until(() => bob.got.includes("dish after"), "it is in its room");
  },
});
