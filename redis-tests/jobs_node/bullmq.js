// BullMQ: jobs in hashes, lists and sorted sets, moved by scripts in Lua, and a stream of what happens to them. A job
// whose lock has ended is done again: at least once; but each is completed once. The queue has a name of its own: keys
// of Bull begin alike, and a worker of Bull that is about to end would take its jobs.

import assert from "node:assert/strict";
import { FlowProducer, Queue, QueueEvents, Worker } from "bullmq";
import Redis from "ioredis";
import {
  allIsDone, becomes, done, isWorker, jobs, killAndStart, killInTheMiddle, server, steps,
} from "./common.js";

// A command waits for the server however long it is away, and a job may be left by workers as often as that happens.
const connection = { ...server, maxRetriesPerRequest: null, enableReadyCheck: false };
const workerOptions = {
  connection,
  concurrency: 5,
  lockDuration: 2000,
  stalledInterval: 500,
  maxStalledCount: jobs,
  runRetryDelay: 100,
  drainDelay: 1,
};
const states = ["waiting", "active", "delayed", "prioritized", "waiting-children", "failed"];
const noneLeft = Object.fromEntries(states.map((state) => [state, 0]));

const acts = {
  count: async ({ data }) => {
    await done(data.job);
    return data.job * 2;
  },
  tick: async () => "tock",
  fail: async ({ attemptsMade }) => {
    if (attemptsMade < 2) throw new Error("not yet");
    return "at last";
  },
  part: async ({ data }) => data.weight,
  whole: async (job) => Object.values(await job.getChildrenValues()).reduce((sum, weight) => sum + weight, 0),
};

function work(name, options = {}) {
  const worker = new Worker(name, (job) => acts[job.name](job), { ...workerOptions, ...options });
  worker.on("error", () => {});
}

if (isWorker) {
  work("bullmq");
} else {
  const queue = new Queue("bullmq", { connection });
  const limited = new Queue("limited", { connection });
  const flows = new FlowProducer({ connection });
  const events = new QueueEvents("bullmq", { connection, lastEventId: "0-0", blockingTimeout: 500 });
  for (const each of [queue, limited, flows, events]) each.on("error", () => {});

  const seen = { added: [], completed: [] };
  for (const event of Object.keys(seen)) events.on(event, ({ jobId }) => seen[event].push(jobId));
  const ticks = async () => (await queue.getCompleted()).filter((job) => job.name === "tick");

  await steps("BullMQ", {
    "1,000 jobs are added": async () => {
      for (let job = 0; job < jobs; job += 100) {
        const some = Array.from({ length: 100 }, (_, i) => ({ name: "count", data: { job: job + i } }));
        assert.equal((await queue.addBulk(some)).length, 100);
      }
      assert.equal(await queue.getWaitingCount(), jobs);
    },
    "the server and a worker are killed with -9 while workers work": killInTheMiddle,
    "each job was done, and is completed": async () => {
      await allIsDone();
      await becomes({ ...noneLeft, completed: jobs }, () => queue.getJobCounts(...states, "completed"));
    },
    "its result is kept": async () => {
      const all = await queue.getCompleted();
      assert.equal(new Set(all.map(({ data }) => data.job)).size, jobs);
      for (const { data, returnvalue } of all) assert.equal(returnvalue, data.job * 2);
    },
    "QueueEvents tells of each once, over kill -9": async () => {
      for (const ids of Object.values(seen)) {
        await becomes(jobs, async () => ids.length);
        assert.equal(new Set(ids).size, jobs);
      }
    },
    "all that are completed are cleaned at once": async () => {
      assert.equal((await queue.clean(0, 0, "completed")).length, jobs);
      assert.equal(await queue.getCompletedCount(), 0);
    },
    "jobs of a time outlive kill -9, and none is done before it": async () => {
      const some = Array.from({ length: 20 }, (_, i) => ({ name: "tick", opts: { delay: 1000 + 10 * i } }));
      await queue.addBulk(some);
      await queue.add("tick", {}, { delay: 3600000, jobId: "much-later" });
      await killAndStart();
      await becomes(20, () => queue.getCompletedCount());
      const all = await queue.getCompleted();
      assert.equal(all.length, 20);
      for (const { timestamp, processedOn } of all) assert.ok(processedOn - timestamp >= 1000);
      assert.equal(await queue.getDelayedCount(), 1);
    },
    "a pause and priorities outlive kill -9, and one that was to come later is promoted": async () => {
      await queue.pause();
      await queue.add("count", { job: jobs }, { priority: 9 });
      await queue.add("count", { job: jobs + 1 }, { priority: 1 });
      await (await queue.getJob("much-later")).promote();
      await killAndStart();
      assert.equal(await queue.isPaused(), true);
      const waiting = await queue.getJobs(["prioritized"], 0, -1, true);
      assert.deepEqual(waiting.map(({ data }) => data.job), [jobs + 1, jobs]);
      await queue.resume();
      await becomes(23, () => queue.getCompletedCount());
    },
    "one that failed is tried again, and fails for good": async () => {
      const again = await queue.add("fail", {}, { attempts: 3, backoff: 50 });
      assert.equal(await again.waitUntilFinished(events), "at last");
      const never = await queue.add("fail", {}, { attempts: 2, backoff: { type: "exponential", delay: 20 } });
      await assert.rejects(never.waitUntilFinished(events), /not yet/);
      assert.equal(await queue.getFailedCount(), 1);
      await never.retry();
      assert.equal(await never.waitUntilFinished(events), "at last");
    },
    "a scheduler makes each of its jobs, over kill -9": async () => {
      await queue.upsertJobScheduler("beat", { every: 200, limit: 6 }, { name: "tick", data: { beat: true } });
      const clock = { name: "tick", data: { clock: true } };
      await queue.upsertJobScheduler("clock", { pattern: "* * * * * *", limit: 2 }, clock);
      const made = async (which) => (await ticks()).filter(({ data }) => data[which]).length;
      await becomes(true, async () => (await made("beat")) >= 2);
      await killAndStart();
      await becomes([6, 2], async () => [await made("beat"), await made("clock")]);
      await queue.upsertJobScheduler("other", { every: 3600000 }, { name: "tick" });
      assert.equal(await queue.removeJobScheduler("other"), true);
    },
    "a flow: its parent waits for all children, over kill -9": async () => {
      await queue.pause();
      const part = { name: "part", queueName: "bullmq" };
      const children = Array.from({ length: 10 }, (_, i) => ({ ...part, data: { weight: i } }));
      const { job } = await flows.add({ name: "whole", queueName: "bullmq", children });
      assert.equal(await job.getState(), "waiting-children");
      await killAndStart();
      assert.equal(await job.getState(), "waiting-children");
      const all = await flows.getFlow({ queueName: "bullmq", id: job.id });
      assert.equal(all.children.length, 10);
      await queue.resume();
      assert.equal(await job.waitUntilFinished(events), 45);
      assert.equal(Object.keys(await job.getChildrenValues()).length, 10);
    },
    "5,000 that wait are removed by one script": async () => {
      const some = Array.from({ length: 1000 }, () => ({ name: "tick", data: {} }));
      for (let i = 0; i < 5; i++) await limited.addBulk(some);
      assert.equal(await limited.getWaitingCount(), 5000);
      await limited.drain();
      assert.equal(await limited.getWaitingCount(), 0);
    },
    "a limit of 5 in 500 ms is kept, over kill -9": async () => {
      work("limited", { limiter: { max: 5, duration: 500 } });
      const begun = Date.now();
      await limited.addBulk(Array.from({ length: 20 }, () => ({ name: "tick" })));
      await becomes(true, async () => (await limited.getCompletedCount()) >= 5);
      await killAndStart();
      await becomes(20, () => limited.getCompletedCount());
      assert.ok(Date.now() - begun >= 1500);
    },
    "obliterate leaves nothing that does not end by itself": async () => {
      const redis = new Redis(server);
      assert.deepEqual(await queue.getJobCounts(...states), noneLeft);
      for (const each of [queue, limited]) {
        await each.obliterate();
        for (const key of await redis.keys(each.toKey("*"))) {
          // A worker that lives writes into this one at any moment, in its look for stalled jobs.
          if (key !== each.toKey("meta")) assert.notEqual(await redis.pttl(key), -1, key);
        }
      }
    },
  });
}
