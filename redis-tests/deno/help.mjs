// For the scripts of this folder, in Deno and in Node: lines of report, a small client of RESP, requests to
// the script that runs them (tests.sh).
import assert from "node:assert/strict";
import net from "node:net";
import process from "node:process";
import { createInterface } from "node:readline";

let failures = 0;
let tests = 0;
let prefix = "";

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// What the names of the tests that follow begin with.
export function begin(name) {
  prefix = name;
}

// Runs it, at most for `seconds`; one line.
export async function test(name, run, seconds = 30) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${seconds} s`)), seconds * 1000);
  });
  tests++;
  try {
    await Promise.race([run(), late]);
    console.log(`ok - ${prefix}: ${name}`);
  } catch (error) {
    failures++;
    const text = String(error.stack ?? error).split("\n").map((line) => `  ${line.slice(0, 300)}`);
    console.log([`not ok - ${prefix}: ${name}`, ...text].join("\n"));
  }
  clearTimeout(timer);
}

export function finish(at_least) {
  if (tests < at_least) {
    failures++;
    console.log(`not ok - ${prefix}: ${at_least} tests are run (${tests})`);
  }
  process.exit(failures === 0 ? 0 : 1);
}

// It must be rejected by an error of that name, whose message has the text.
export async function refused(run, name, text) {
  let error;
  try {
    await run();
  } catch (e) {
    error = e;
  }
  assert.ok(error, `it is refused: ${text}`);
  assert.equal(error.name, name, String(error));
  assert.ok(error.message.includes(text), `${error.message} has ${text}`);
}

export async function until(is_true, seconds = 10) {
  for (const end = performance.now() + seconds * 1000; !(await is_true());) {
    assert.ok(performance.now() < end, `not so after ${seconds} s`);
    await sleep(10);
  }
}

/* ---- RESP2 ---- */

// One reply at `at`: [value, where it ends], or nothing if there is more to come. Texts are Buffers.
function parse(bytes, at) {
  const end = bytes.indexOf("\r\n", at);
  if (end < 0) return undefined;
  const line = bytes.toString("latin1", at + 1, end);
  switch (String.fromCharCode(bytes[at])) {
    case "+":
      return [Buffer.from(line, "latin1"), end + 2];
    case "-":
      return [new Error(Buffer.from(line, "latin1").toString()), end + 2];
    case ":":
      return [Number(line), end + 2];
    case "$": {
      const size = Number(line);
      if (size < 0) return [null, end + 2];
      if (bytes.length < end + 4 + size) return undefined;
      return [bytes.subarray(end + 2, end + 2 + size), end + 4 + size];
    }
    case "*": {
      if (line === "-1") return [null, end + 2];
      const items = [];
      let next = end + 2;
      for (let i = 0; i < Number(line); i++) {
        const item = parse(bytes, next);
        if (item === undefined) return undefined;
        items.push(item[0]);
        next = item[1];
      }
      return [items, next];
    }
  }
  throw new Error(`no reply: ${line}`);
}

function to_text(reply) {
  if (Buffer.isBuffer(reply)) return reply.toString();
  return Array.isArray(reply) ? reply.map(to_text) : reply;
}

// client.text(word, ...): its reply, texts as strings; client.bytes(...): as Buffers. Errors are thrown.
export class Resp {
  #socket;
  #waiting = [];
  #bytes = Buffer.alloc(0);
  #broken;

  constructor(port) {
    this.#socket = net.connect(port, "127.0.0.1");
    this.#socket.setNoDelay(true);
    this.#socket.on("data", (bytes) => this.#take(bytes));
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => this.#end());
  }

  #take(bytes) {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    for (let reply; this.#bytes.length > 0 && (reply = parse(this.#bytes, 0)) !== undefined;) {
      this.#bytes = this.#bytes.subarray(reply[1]);
      const { done, failed } = this.#waiting.shift();
      if (reply[0] instanceof Error) failed(reply[0]);
      else done(reply[0]);
    }
  }

  #end() {
    this.#broken = new Error("the connection has ended");
    for (const { failed } of this.#waiting.splice(0)) failed(this.#broken);
  }

  bytes(...words) {
    if (this.#broken) return Promise.reject(this.#broken);
    const parts = [Buffer.from(`*${words.length}\r\n`)];
    for (const word of words) {
      const bytes = Buffer.isBuffer(word) ? word : Buffer.from(String(word));
      parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from("\r\n"));
    }
    this.#socket.write(Buffer.concat(parts));
    return new Promise((done, failed) => this.#waiting.push({ done, failed }));
  }

  async text(...words) {
    return to_text(await this.bytes(...words));
  }

  close() {
    this.#socket.destroy();
  }
}

/* ---- what tests.sh does for us ---- */

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

// "kill": the server is killed with -9; "start": it starts on the same ports; done when it is done.
export async function ask(what) {
  console.log(`ask ${what}`);
  const { value } = await lines.next();
  assert.equal(value, "done");
}
