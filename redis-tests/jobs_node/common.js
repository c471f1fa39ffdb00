// For the programs of this folder: steps, a server that is killed (../steps.mjs), and worker processes. A program is
// its own worker: it is started again as a child, which is told what to do and ends with its parent.
//
//   server                 where the server is, for node_redis 3 and ioredis
//   isWorker, role         whether this process is a worker, and the word that it was started with
//   startWorker(role)      a child; it is killed when this process ends
//   record(line), lines()  what workers have done: lines of a file, which no kill of the server loses
//   becomes(wanted, read)  reads until that is read; fails when what is read has not changed for 20 s
//
// For queues, whose workers call done(job) for each of `jobs` jobs:
//
//   killInTheMiddle()      starts two workers; when some of the work is done it kills the server and one of the workers
//                          with -9, and starts them again. A worker that comes so far waits for the kill, so that there
//                          is always work left
//   allIsDone()            until each job was done at least once

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { kill, sleep, start, until } from "../steps.mjs";

export * from "../steps.mjs";

const [, program, port, word] = process.argv;
const file = `${program}.lines`;

export const server = {
  host: "127.0.0.1",
  port: Number(port),
  retryStrategy: () => 20,
  retry_strategy: () => 20,
};

export const isWorker = word !== undefined;
export const role = word;
if (isWorker) process.on("disconnect", () => process.exit());

const children = [];
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")));

export function startWorker(role) {
  const child = fork(program, [port, role], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  children.push(child);
  return child;
}

export function record(line) {
  appendFileSync(file, `${line}\n`);
}

export function lines() {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

export async function becomes(wanted, read) {
  let last;
  let since = Date.now();
  for (;;) {
    const got = await read();
    if (isDeepStrictEqual(got, wanted)) return;
    if (!isDeepStrictEqual(got, last)) {
      last = got;
      since = Date.now();
    } else if (Date.now() - since > 20000) {
      assert.deepEqual(got, wanted);
    }
    await sleep(20);
  }
}

export const jobs = 1000;
const killAfter = 200;
const mostBeforeKill = 300; // of one worker
const isKilled = new Promise((resolve) => isWorker && role === "first" && process.once("message", resolve));
let doneHere = 0;

export async function done(job) {
  record(job);
  if (role === "first" && ++doneHere >= mostBeforeKill) await isKilled;
}

export async function killInTheMiddle() {
  const [stays, dies] = [startWorker("first"), startWorker("first")];
  await until(() => lines().length >= killAfter, `${killAfter} jobs are done`);
  await kill();
  dies.kill("SIGKILL");
  stays.send("the server is killed");
  assert.ok(new Set(lines()).size < jobs, "there is work left");
  await start();
  startWorker("second");
}

export async function allIsDone() {
  await becomes(jobs, () => new Set(lines()).size);
}
