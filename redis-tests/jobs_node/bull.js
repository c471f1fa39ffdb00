// Bull: jobs in lists, sorted sets and hashes, moved by scripts in Lua. A job whose lock has ended is done again: at
// least once.

import assert from "node:assert/strict";
import Bull from "bull";
import { allIsDone, becomes, done, isWorker, jobs, killAndStart, killInTheMiddle, server, steps } from "./common.js";

// A command waits for the server however long it is away, and a job may be left by workers as often as that happens.
const queue = new Bull("work", {
  redis: { ...server, maxRetriesPerRequest: null, enableReadyCheck: false },
  settings: {
    lockDuration: 2000,
    stalledInterval: 500,
    guardInterval: 200,
    retryProcessDelay: 50,
    drainDelay: 1,
    maxStalledCount: jobs,
  },
});
queue.on("error", () => {});

if (isWorker) {
  queue.process("count", 5, async ({ data }) => {
    await done(data.job);
    return data.job * 2;
  });
  queue.process("fail", async ({ attemptsMade }) => {
    if (attemptsMade < 2) throw new Error("not yet");
    return "at last";
  });
} else {
  await steps("Bull", {
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
      const counts = { waiting: 0, active: 0, completed: jobs, failed: 0, delayed: 0 };
      await becomes(counts, () => queue.getJobCounts("waiting", "active", "completed", "failed", "delayed"));
      await becomes(0, () => queue.client.scard(queue.toKey("stalled")));
      assert.equal(await queue.count(), 0);
    },
    "its result is kept": async () => {
      const all = await queue.getCompleted();
      assert.equal(all.length, jobs);
      assert.equal(new Set(all.map(({ data }) => data.job)).size, jobs);
      for (const { data, returnvalue } of all) assert.equal(returnvalue, data.job * 2);
    },
    "those of a pause, of a time and of a priority outlive kill -9": async () => {
      await queue.pause();
      await queue.add("fail", {}, { jobId: "later", delay: 3600000 });
      await queue.add("count", { job: jobs }, { jobId: "low", priority: 9 });
      await queue.add("count", { job: jobs + 1 }, { jobId: "high", priority: 1 });
      await killAndStart();
      assert.equal(await queue.isPaused(), true);
      const counts = { paused: 2, delayed: 1 };
      assert.deepEqual(await queue.getJobCounts("paused", "delayed"), counts);
      assert.deepEqual((await queue.getJobs(["paused"])).map(({ id }) => id), ["low", "high"]);
      await queue.resume();
      await becomes(jobs + 2, () => queue.getCompletedCount());
    },
    "one that failed is tried again": async () => {
      await (await queue.getJob("later")).remove();
      const job = await queue.add("fail", {}, { attempts: 3, backoff: 50 });
      assert.equal(await job.finished(), "at last");
      assert.equal((await queue.getJob(job.id)).attemptsMade, 2);
    },
    "clean and obliterate leave nothing": async () => {
      // In pieces: what the commands of one script take has a bound (docs/scripts.md), and this server is a slow one.
      const cleaned = [];
      for (let some = [0]; some.length > 0; cleaned.push(...some)) some = await queue.clean(0, "completed", 100);
      assert.equal(cleaned.length, jobs + 3);
      await queue.pause();
      await queue.obliterate();
      const left = await queue.client.keys(queue.toKey("*"));
      assert.deepEqual(left.filter((key) => key !== queue.toKey("stalled-check")), []);
    },
  });
}
