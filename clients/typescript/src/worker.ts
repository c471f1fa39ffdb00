// Workers: messages are taken, worked on and acknowledged.

import { Atomic } from "./client.js";
import type { Tupled } from "./client.js";
import * as commands from "./commands.js";
import type { Commit, Conflict, Message } from "./commands.js";
import { Endless } from "./endless.js";
import { TupledError } from "./errors.js";
import { dumpKey } from "./values.js";

/** Thrown by a handler: the message becomes a dead letter at once. */
export class Reject extends Error {}

/** Thrown by a handler: the message comes again, after `delayMs` or, without, after its backoff. */
export class Retry extends Error {
  constructor(message = "", readonly delayMs?: number) {
    super(message);
  }
}

/** A message that is being worked on. */
export class Job<T = unknown> implements Message<T> {
  readonly queue: string;
  readonly id: string;
  readonly value: T;
  readonly attempt: number;
  readonly receipt: string;
  isSettled = false;
  /** Its lease is over, another worker has it. */
  isLost = false;
  conflicts: Conflict[] = [];

  constructor(readonly db: Tupled, message: Message<T>) {
    ({ queue: this.queue, id: this.id, value: this.value, attempt: this.attempt, receipt: this.receipt } = message);
  }

  /** A transaction that acknowledges the message together with what the job did: both or neither. After
   *  its commit the worker has nothing left to do. */
  atomic(): Atomic {
    return new JobAtomic(this);
  }

  /** The worker does this by itself, while the handler runs. */
  async extend(leaseMs: number): Promise<boolean> {
    const isDone = await this.db.extend(this.receipt, leaseMs);
    this.isLost = !isDone && !this.isSettled;
    return isDone;
  }
}

class JobAtomic extends Atomic {
  constructor(private readonly job: Job<unknown>) {
    super(job.db);
    this.ack(job.receipt);
  }

  override async commit(): Promise<Commit> {
    const result = await super.commit();
    if (result.ok) this.job.isSettled = true;
    this.job.conflicts = result.conflicts;
    if (result.conflicts.some(({ operation }) => operation === "ACK")) this.job.isLost = true;
    return result;
  }
}

const tell = ({ operation, key }: Conflict): string => `${operation} ${key ? dumpKey(key) : ""}`;

export interface WorkerOptions {
  /** Jobs at a time; 1. */
  concurrency?: number;
  /** 30000. */
  leaseMs?: number;
  /** Told of what a handler has thrown, and of what could not be told to the server. */
  onError?: (error: unknown, job: Job) => void;
}

/** Takes messages and calls `handler` with each.
 *
 *  The handler returns: the message is acknowledged. It throws: the message comes again after its backoff,
 *  Retry says when, Reject makes it a dead letter. While it runs the lease is extended. A worker that dies
 *  loses nothing: the lease ends, and another worker gets the message. stop() lets the jobs that run finish. */
export class Worker<T = unknown> extends Endless {
  private readonly queues: readonly string[];
  private readonly running = new Set<Job<T>>();
  private readonly concurrency: number;
  private readonly leaseMs: number;
  private wake: (() => void) | undefined;

  constructor(
    db: Tupled,
    queues: string | readonly string[],
    private readonly handler: (job: Job<T>) => unknown,
    private readonly options: WorkerOptions = {},
  ) {
    super(db);
    this.queues = [queues].flat() as string[];
    this.concurrency = options.concurrency ?? 1;
    this.leaseMs = options.leaseMs ?? 30000;
  }

  /** Until stop() is called. An error of the server (no permission, say) stops the worker and is thrown. */
  async run(): Promise<void> {
    const extender = setInterval(() => void this.extend(), this.leaseMs / 3);
    const jobs = new Set<Promise<void>>();
    try {
      while (!this.isStopping) {
        const size = this.concurrency - jobs.size;
        const messages = await this.insist(() =>
          this.wait(commands.dequeue<T>(this.queues, size, this.leaseMs, this.db.blockMs)),
        );
        for (const message of messages ?? []) {
          const job = this.work(new Job<T>(this.db, message)).finally(() => {
            jobs.delete(job);
            this.wake?.();
          });
          jobs.add(job);
        }
        if (jobs.size >= this.concurrency) await new Promise<void>((resolve) => (this.wake = resolve));
      }
    } finally {
      this.stop();
      await Promise.all(jobs);
      clearInterval(extender);
      this.release();
    }
  }

  private async extend(): Promise<void> {
    for (const job of this.running) {
      try {
        await job.extend(this.leaseMs);
      } catch (error) {
        this.options.onError?.(error, job);
      }
    }
  }

  private async work(job: Job<T>): Promise<void> {
    this.running.add(job);
    try {
      await this.attempt(job);
    } catch (error) {
      // It could not be told to the server: the lease will end.
      this.options.onError?.(error, job);
      if (error instanceof TupledError) this.stop();
    } finally {
      this.running.delete(job);
    }
  }

  private async attempt(job: Job<T>): Promise<void> {
    try {
      await this.handler(job);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      if (error instanceof Reject) await this.db.nack(job.receipt, { error: text, dead: true });
      else if (error instanceof Retry) {
        const delay = error.delayMs === undefined ? {} : { delayMs: error.delayMs };
        await this.db.nack(job.receipt, { error: text, ...delay });
      } else {
        this.options.onError?.(error, job);
        await this.db.nack(job.receipt, { error: text });
      }
      return;
    }
    await this.settle(job);
  }

  private async settle(job: Job<T>): Promise<void> {
    if (job.isSettled || job.isLost) return;
    if (job.conflicts.length > 0) {
      // Its transaction did not happen, so the message is not done.
      await this.db.nack(job.receipt, { error: `a check failed: ${job.conflicts.map(tell).join(", ")}` });
    } else if ((await this.db.ack(job.receipt)) === 0) job.isLost = true;
  }
}
