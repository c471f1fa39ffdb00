// For programs of Node that a test in bash talks with (connect.sh): steps, and a server that is killed. Folders that
// are copied to where their packages are find it beside them (libraries.sh).
//
//   steps(name, { "does this": async () => ... })  runs them in order, prints `ok - name: does this` or `not ok` of
//                            each, and ends the program
//   kill(), start()          the server is killed with -9, is there again
//   until(condition, what)   waits, for 20 s at most

import assert from "node:assert/strict";
import { createInterface } from "node:readline";

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function ask(what) {
  console.log(`ask ${what}`);
  assert.equal((await lines.next()).value, "done");
}
export const kill = () => ask("kill");
export const start = () => ask("start");
export async function killAndStart() {
  await kill();
  await start();
}

export async function until(condition, what) {
  const end = Date.now() + 20000;
  while (!(await condition())) {
    assert.ok(Date.now() < end, `waited in vain until ${what}`);
    await sleep(10);
  }
}

export async function steps(name, acts) {
  let failures = 0;
  for (const [what, act] of Object.entries(acts)) {
    try {
      await act();
      console.log(`ok - ${name}: ${what}`);
    } catch (error) {
      failures++;
      console.log(`not ok - ${name}: ${what}`);
      console.log(error.stack);
    }
  }
  process.exit(failures ? 1 : 0);
}
