// bee-queue: jobs in lists, sets and a hash. A job that no worker has told of for a while is done again: at least once.
// It loads its scripts when it starts and at no other time: a server that was killed has them from the next worker.

import assert from "node:assert/strict";
import Queue from "bee-queue";
import {
  allIsDone, becomes, done, isWorker, jobs, killAndStart, killInTheMiddle, server, startWorker, steps,
} from "./common.js";

const queue = new Queue("work", {
  redis: server,
  isWorker,
  stallInterval: 1000,
  initialRedisFailureRetryDelay: 20,
  activateDelayedJobs: true,
  delayedDebounce: 10,
});
queue.on("error", () => {});
await queue.ready();

if (isWorker) {
  queue.checkStalledJobs(500).catch(() => {});
  queue.process(5, async ({ data, options }) => {
    if (data.fails > 0 && options.retries > 0) throw new Error("not yet");
    await done(data.job);
    return data.job;
  });
} else {
  const counts = async () => {
    const { waiting, active, succeeded, failed, delayed } = await queue.checkHealth();
    return { waiting, active, succeeded, failed, delayed };
  };
  const quiet = { waiting: 0, active: 0, succeeded: jobs, failed: 0, delayed: 0 };

  await steps("bee-queue", {
    "1,000 jobs are added": async () => {
      const all = Array.from({ length: jobs }, (_, job) => queue.createJob({ job }));
      assert.equal((await queue.saveAll(all)).size, 0);
      assert.deepEqual(await counts(), { ...quiet, waiting: jobs, succeeded: 0 });
    },
    "the server and a worker are killed with -9 while workers work": killInTheMiddle,
    "each job was done, and has succeeded": async () => {
      await allIsDone();
      await becomes(quiet, counts);
      const all = await queue.getJobs("succeeded", { size: 2 * jobs });
      assert.equal(new Set(all.map(({ data }) => data.job)).size, jobs);
    },
    "one that failed is tried again, one that is delayed comes in its time, also after kill -9": async () => {
      const at = Date.now() + 1000;
      await queue.createJob({ job: jobs, fails: 1 }).retries(2).backoff("fixed", 50).save();
      await queue.createJob({ job: jobs + 1 }).delayUntil(at).save();
      await killAndStart();
      startWorker("third");
      await becomes({ ...quiet, succeeded: jobs + 2 }, counts);
      assert.ok(Date.now() >= at);
    },
    "a job that is removed, and a queue that is destroyed": async () => {
      const job = await queue.createJob({ job: 0 }).delayUntil(Date.now() + 3600000).save();
      await queue.removeJob(job.id);
      assert.equal((await counts()).delayed, 0);
      await queue.destroy();
      assert.deepEqual(await counts(), { ...quiet, succeeded: 0 });
    },
  });
}
