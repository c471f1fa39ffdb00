// Bottleneck: a limiter that two processes share over ioredis: at most so many jobs at once, so many in a time, and so
// many in all (its reservoir). It counts a start twice when the reply is lost and ioredis asks again, so the server is
// killed when no job can start: while as many run as may, and while all wait for the reservoir.

import assert from "node:assert/strict";
import Bottleneck from "bottleneck";
import Redis from "ioredis";
import {
  becomes, isWorker, killAndStart, lines, record, role, server, sleep, startWorker, steps, until,
} from "./common.js";

const each = 150; // jobs of a process
const maxConcurrent = 4;
const minTime = 5; // ms from one start to the next
const reservoir = 200;

// Bottleneck is older than Redis 7, which puts ERR before a script's error of one word. By such a word a process learns
// that it was taken for gone (it was silent for a second), and comes back.
class Redis6 extends Redis {
  defineCommand(name, definition) {
    super.defineCommand(name, definition);
    const call = this[name];
    this[name] = (...words) => {
      const answer = words.pop();
      return call.call(this, ...words, (error, reply) => {
        if (error) error.message = error.message.replace(/^ERR (?=\w+$)/, "");
        answer(error, reply);
      });
    };
  }
}

const limiter = new Bottleneck({
  id: "limits",
  datastore: "ioredis",
  Redis: Redis6,
  clientOptions: { ...server, maxRetriesPerRequest: null },
  clearDatastore: !isWorker,
  clientTimeout: 120000,
  heartbeatInterval: 250,
  maxConcurrent,
  minTime,
  reservoir,
});
limiter.on("error", () => {});
await limiter.ready();

// What was recorded: "start <name> <time>" when a job begins, "end <name>" just before it ends.
const recorded = (what) => lines().filter((line) => line.startsWith(what));
const mostAtOnce = () => {
  let now = 0;
  let most = 0;
  for (const line of lines()) {
    now += line.startsWith("start") ? 1 : -1;
    most = Math.max(most, now);
  }
  return most;
};

// The n-th start from a time on is not before its turn; `waiting` jobs may have had theirs before that time. A slow
// machine makes starts late, never early; 2 ms are what two clocks in whole ms are apart.
function assertRate(from, waiting) {
  const times = recorded("start").map((line) => Number(line.split(" ")[2])).filter((time) => time >= from);
  times.sort((a, b) => a - b).forEach((time, n) => {
    assert.ok(time >= from + (n - waiting) * minTime - 2, `start ${n} after ${time - from} ms`);
  });
}

if (isWorker) {
  let goOn = Promise.resolve();
  let letGo;
  process.on("message", (message) => {
    if (message === "go on") return letGo();
    goOn = new Promise((resolve) => (letGo = resolve));
    process.send("those that start now are held");
  });
  for (let i = 0; i < each; i++) {
    limiter.schedule(async () => {
      record(`start ${role}.${i} ${Date.now()}`);
      await sleep(25);
      await goOn;
      record(`end ${role}.${i}`);
    });
  }
} else {
  let begin;
  let workers;
  const tell = (what) => workers.forEach((worker) => worker.send(what));
  const running = () => recorded("start").length - recorded("end").length;

  await steps("Bottleneck", {
    "two processes share the limits": async () => {
      begin = Date.now();
      workers = [startWorker("one"), startWorker("two")];
      await until(() => recorded("end one").length && recorded("end two").length, "both work");
      const heard = workers.map((worker) => new Promise((resolve) => worker.once("message", resolve)));
      tell("hold");
      await Promise.all(heard);
      await until(() => running() === maxConcurrent, "so many run as may");
      await becomes(maxConcurrent, () => limiter.running());
      assertRate(begin, 0);
    },
    "they hold on when the server is killed with -9 while jobs run": async () => {
      await killAndStart();
      assert.equal(await limiter.running(), maxConcurrent);
      assert.equal(running(), maxConcurrent);
      const back = Date.now();
      tell("go on");
      await becomes(reservoir, () => recorded("end").length);
      assertRate(back, maxConcurrent);
    },
    "no job starts beyond the reservoir, also after kill -9": async () => {
      await becomes(0, () => limiter.running());
      await killAndStart();
      assert.equal(await limiter.currentReservoir(), 0);
      assert.equal(await limiter.check(), false);
      assert.equal(recorded("start").length, reservoir);
      const back = Date.now();
      await limiter.incrementReservoir(2 * each - reservoir + 10);
      await becomes(2 * each, () => recorded("end").length);
      assertRate(back, 0);
      await becomes([0, 10, 2 * each], async () => [
        await limiter.running(), await limiter.currentReservoir(), await limiter.done(),
      ]);
    },
    "each job has run once, and never more at once than may": () => {
      const names = recorded("start").map((line) => line.split(" ")[1]);
      assert.equal(names.length, 2 * each);
      assert.equal(new Set(names).size, 2 * each);
      assert.equal(mostAtOnce(), maxConcurrent);
    },
  });
}
