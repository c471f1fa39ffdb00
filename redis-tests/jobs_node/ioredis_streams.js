// A stream with ioredis: consumers of a group read, wait for more, acknowledge, and claim what one that died had not
// acknowledged. What ioredis sends again after the connection broke may be there twice: at least once.

import assert from "node:assert/strict";
import Redis from "ioredis";
import {
  allIsDone, becomes, done, isWorker, jobs, killAndStart, killInTheMiddle, role, server, sleep, steps, until,
} from "./common.js";

const stream = "jobs";
const group = "workers";
const claimAfterMs = 500;
const client = connect();

function connect(connectionName) {
  const redis = new Redis({ ...server, connectionName, maxRetriesPerRequest: null });
  redis.on("error", () => {});
  return redis;
}

const add = (job) => client.xadd(stream, "*", "job", job);

async function perform(entries) {
  for (const [id, [, job]] of entries) {
    await done(job);
    await client.xack(stream, group, id);
  }
}

// It claims only when there is nothing new for it.
async function work() {
  const me = `${role} ${process.pid}`;
  for (;;) {
    const found = await client.xreadgroup("GROUP", group, me, "COUNT", 10, "BLOCK", 100, "STREAMS", stream, ">");
    await perform(found ? found[0][1] : (await client.xautoclaim(stream, group, me, claimAfterMs, "0", "COUNT", 5))[1]);
  }
}

// One after the other, with the kill among them.
async function addTheRest(from) {
  let isClosed = false;
  client.once("close", () => (isClosed = true));
  let job = from;
  for (; job < jobs - 10 && !isClosed; job++) {
    await add(job);
    await sleep(2);
  }
  await until(() => isClosed, "the server is killed");
  for (; job < jobs; job++) await add(job);
}

if (isWorker) {
  await work();
} else {
  const field = (row, name) => row[row.indexOf(name) + 1];
  const unfinished = async () => {
    const [row] = await client.xinfo("GROUPS", stream);
    return { pending: field(row, "pending"), lag: field(row, "lag") };
  };
  const consumers = async () =>
    (await client.xinfo("CONSUMERS", stream, group)).map((row) => [field(row, "name"), field(row, "pending")]);
  const pendingOfOne = async () => // and how often each was delivered
    (await client.xpending(stream, "others", "-", "+", 100, "dies")).map(([id, , , times]) => [id, times]);

  await steps("a stream, with ioredis", {
    "jobs are added": async () => {
      assert.equal(await client.xgroup("CREATE", stream, group, "0", "MKSTREAM"), "OK");
      await assert.rejects(client.xgroup("CREATE", stream, group, "0"), { message: /^BUSYGROUP/ });
      const ids = await Promise.all(Array.from({ length: 700 }, (_, job) => add(job)));
      assert.equal(new Set(ids).size, 700);
      assert.deepEqual(await unfinished(), { pending: 0, lag: 700 });
    },
    "the server and a worker are killed with -9 while workers work and more is added": async () => {
      await Promise.all([killInTheMiddle(), addTheRest(700)]);
    },
    "each of 1,000 jobs was done, and all is acknowledged, also after one more kill": async () => {
      await allIsDone();
      await becomes({ pending: 0, lag: 0 }, unfinished);
      const before = await consumers();
      assert.ok(before.length && before.every(([, pending]) => pending === 0), `${before}`);
      await killAndStart();
      assert.deepEqual(await unfinished(), { pending: 0, lag: 0 });
      assert.deepEqual(await consumers(), before);
      assert.ok((await client.xlen(stream)) >= jobs);
    },
    "what a consumer that died had is pending after kill -9, and another claims it": async () => {
      await client.xgroup("CREATE", stream, "others", "0"); // one that the workers do not read
      const dies = connect();
      const [[, had]] = await dies.xreadgroup("GROUP", "others", "dies", "COUNT", 10, "STREAMS", stream, ">");
      assert.equal(had.length, 10);
      dies.disconnect();
      await killAndStart();
      assert.deepEqual(await pendingOfOne(), had.map(([id]) => [id, 1]));
      let [next, claimed] = await client.xautoclaim(stream, "others", "lives", 0, "0", "COUNT", 6);
      assert.deepEqual(claimed, had.slice(0, 6));
      assert.equal(next, had[6][0]);
      [next, claimed] = await client.xautoclaim(stream, "others", "lives", 0, next, "COUNT", 6);
      assert.deepEqual([next, claimed], ["0-0", had.slice(6)]);
      assert.deepEqual(await pendingOfOne(), []);
      assert.equal(await client.xack(stream, "others", ...had.map(([id]) => id)), 10);
    },
    "one that waits gets what is added after kill -9": async () => {
      assert.equal(await client.xgroup("CREATE", "later", group, "$", "MKSTREAM"), "OK");
      const waits = connect("waits");
      const found = waits.xreadgroup("GROUP", group, "waits", "BLOCK", 0, "STREAMS", "later", ">");
      await until(async () => / name=waits .* cmd=xreadgroup/.test(await client.client("LIST")), "it waits");
      await killAndStart();
      const id = await client.xadd("later", "*", "job", "the last");
      assert.deepEqual(await found, [["later", [[id, ["job", "the last"]]]]]);
      assert.equal(await client.xack("later", group, id), 1);
    },
  });
}
