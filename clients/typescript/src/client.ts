// The helper: keys, values, transactions and queues over a client of ioredis or node-redis.

import * as commands from "./commands.js";
import type {
  Batch, Bounds, Call, Commit, Entry, FindOptions, Found, ListOptions, Message, NackOptions, QueueOptions, Range,
  SearchOptions, SetOptions,
} from "./commands.js";
import { connectionOf } from "./connection.js";
import type { Connection, RedisClient } from "./connection.js";
import { Endless, sleep } from "./endless.js";
import { TryAgainError, typed } from "./errors.js";
import { LiveView } from "./live.js";
import { dumpKey } from "./values.js";
import type { Key, NewKey } from "./values.js";

export interface TupledOptions {
  /** For how long a command is sent again whose connection broke, or that was answered TRYAGAIN; 10000. */
  retryForMs?: number;
  /** How long a command waits at a time, less if the client's time-outs ask for it; 1000. */
  blockMs?: number;
}

/** The database that `client` has selected. Writes that would not bear to be sent twice carry an IDEM id,
 *  so that they happen once. */
export class Tupled {
  readonly connection: Connection;
  readonly retryForMs: number;
  readonly blockMs: number;

  constructor(readonly client: RedisClient, options: TupledOptions = {}) {
    this.connection = connectionOf(client);
    this.retryForMs = options.retryForMs ?? 10000;
    this.blockMs = this.blockFor(options.blockMs ?? 1000);
  }

  private blockFor(wanted: number): number {
    const { timeoutMs } = this.connection;
    return timeoutMs === undefined ? wanted : Math.min(wanted, timeoutMs / 2);
  }

  async run<T>(call: Call<T>, connection: Connection = this.connection): Promise<T> {
    const until = Date.now() + this.retryForMs;
    const words = call.words.map(String);
    for (let pause = 20; ; pause = Math.min(2 * pause, 1000)) {
      let reply: unknown;
      try {
        reply = await connection.send(words);
      } catch (error) {
        const refused = typed(error);
        if (refused && !(refused instanceof TryAgainError)) throw refused;
        if (call.resend === false || connection.isClosed || Date.now() >= until) throw refused ?? error;
        await sleep(pause);
        continue;
      }
      return call.parse(reply ?? null);
    }
  }

  /** Any command, as the library answers it, with errors of this module. The helper sends it once. */
  command(...words: (string | number)[]): Promise<unknown> {
    return this.run({ words, parse: (reply) => reply, resend: false });
  }

  /** null: there is none. */
  get<T = unknown>(key: NewKey): Promise<Entry<T> | null> {
    return this.run(commands.get<T>(key));
  }

  /** All as of one moment, in the order of the keys. */
  getMany<T = unknown>(keys: readonly NewKey[]): Promise<(Omit<Entry<T>, "expiresAt"> | null)[]> {
    return this.run(commands.getMany<T>(keys));
  }

  /** The version of the write; null when the condition did not hold. */
  set(key: NewKey, value: unknown, options: SetOptions = {}): Promise<string | null> {
    return this.run(commands.set(key, value, options));
  }

  /** How many there were. */
  delete(...keys: NewKey[]): Promise<number> {
    return this.run(commands.remove(keys, commands.newId()));
  }

  /** The entries in the order of their keys, fetched a page at a time. */
  list<T = unknown>(options: ListOptions = {}): AsyncGenerator<Entry<T>, void, undefined> {
    return this.pages(commands.listPages<T>(options));
  }

  listKeys(options: ListOptions = {}): AsyncGenerator<Key, void, undefined> {
    return this.pages(commands.keyPages(options));
  }

  /** The entries in the order of an index, of which `values` are the first. */
  find<T = unknown>(
    index: string, values: readonly unknown[] = [], options: FindOptions = {},
  ): AsyncGenerator<Entry<T>, void, undefined> {
    return this.pages(commands.findPages<T>(index, values, options));
  }

  private async *pages<T>(pages: commands.Pages<T>): AsyncGenerator<T, void, undefined> {
    for (let call = pages.next(); call; call = pages.next()) yield* await this.run(call);
  }

  /** What a full-text index finds, best first. */
  search<T = unknown>(index: string, query: string, options: SearchOptions = {}): Promise<Found<T>[]> {
    return this.run(commands.search<T>(index, query, options));
  }

  count(range: Range = {}): Promise<number> {
    return this.run(commands.count(range));
  }

  /** How many were removed. Without a prefix and bounds: everything. */
  deleteRange(range: Range & { limit?: number }): Promise<number> {
    return this.run(commands.deleteRange(range));
  }

  /** Milliseconds; null: it never expires, or is not there. */
  ttl(key: NewKey): Promise<number | null> {
    return this.run(commands.ttl(key));
  }

  expire(key: NewKey, ttlMs: number): Promise<boolean> {
    return this.run(commands.expire(key, ttlMs, commands.newId()));
  }

  persist(key: NewKey): Promise<boolean> {
    return this.run(commands.persist(key, commands.newId()));
  }

  sum<T = number>(
    key: NewKey, value: T, options: Bounds & { idem?: string } = {},
  ): Promise<{ value: T; version: string }> {
    return this.run(commands.arithmetic<T>("KV.SUM", key, value, options, options.idem ?? commands.newId()));
  }

  min<T = number>(key: NewKey, value: T): Promise<{ value: T; version: string }> {
    return this.run(commands.arithmetic<T>("KV.MIN", key, value, {}, commands.newId()));
  }

  max<T = number>(key: NewKey, value: T): Promise<{ value: T; version: string }> {
    return this.run(commands.arithmetic<T>("KV.MAX", key, value, {}, commands.newId()));
  }

  append(key: NewKey, items: readonly unknown[], idem?: string): Promise<{ length: number; version: string }> {
    return this.run(commands.extendArray("KV.APPEND", key, items, idem ?? commands.newId()));
  }

  prepend(key: NewKey, items: readonly unknown[], idem?: string): Promise<{ length: number; version: string }> {
    return this.run(commands.extendArray("KV.PREPEND", key, items, idem ?? commands.newId()));
  }

  /** The newest commit that is acknowledged. */
  version(): Promise<string> {
    return this.run(commands.version());
  }

  /** A transaction to write down; commit() sends it. */
  atomic(idem?: string): Atomic {
    return new Atomic(this, idem);
  }

  /** The id of the message; null when `dedup` has been seen. */
  enqueue(queue: string, value: unknown, options: QueueOptions & { idem?: string } = {}): Promise<string | null> {
    return this.run(commands.enqueue(queue, value, options, options.idem ?? commands.newId()));
  }

  /** Up to `count` messages; blockMs at most if there is none. A command that waits holds up all others of
   *  its client: for a loop there is Worker, which has a connection of its own. */
  dequeue<T = unknown>(
    queues: string | readonly string[],
    options: { count?: number; leaseMs?: number; blockMs?: number } = {},
  ): Promise<Message<T>[]> {
    const { count = 1, leaseMs = 30000, blockMs } = options;
    const block = blockMs === undefined ? undefined : this.blockFor(blockMs);
    return this.run(commands.dequeue<T>([queues].flat() as string[], count, leaseMs, block));
  }

  ack(...receipts: string[]): Promise<number> {
    return this.run(commands.ack(receipts, commands.newId()));
  }

  nack(receipt: string, options: NackOptions = {}): Promise<boolean> {
    return this.run(commands.nack(receipt, options, commands.newId()));
  }

  extend(receipt: string, leaseMs: number): Promise<boolean> {
    return this.run(commands.extend(receipt, leaseMs));
  }

  /** An iterator over the entries of these keys: as they are, then again whenever one has another version.
   *  States in between may be left out. */
  watch<T = unknown>(...keys: NewKey[]): Watcher<T> {
    return new Watcher<T>(this, keys);
  }

  /** An iterator over batches of the change feed. */
  feed<T = unknown>(options: FeedOptions = {}): Feed<T> {
    return new Feed<T>(this, options);
  }

  /** A copy of what is below the prefix that can be kept up to date; stop() it in the end. */
  async live<T = unknown>(prefix: NewKey = []): Promise<LiveView<T>> {
    const view = new LiveView<T>(this, prefix);
    await view.load();
    return view;
  }
}

/** A transaction. When its outcome is unknown (the connection broke, and retryForMs is over), commit()
 *  throws what the library has thrown. Called again, it sends the same id: what was done is not done again. */
export class Atomic extends commands.Operations {
  constructor(protected readonly db: Tupled, id?: string) {
    super(id);
  }

  commit(): Promise<Commit> {
    return this.db.run(this.call());
  }
}

type Known<T> = Omit<Entry<T>, "expiresAt"> | null;

export class Watcher<T = unknown> extends Endless {
  constructor(db: Tupled, private readonly keys: readonly NewKey[]) {
    super(db);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Known<T>[], void, undefined> {
    try {
      let known = await this.insist<Known<T>[]>(() => this.db.getMany<T>(this.keys));
      if (known === null) return;
      yield known;
      while (!this.isStopping) {
        const versions: (string | null)[] = known.map((entry) => entry?.version ?? null);
        const found = await this.insist(() => this.wait(commands.poll<T>(this.keys, versions, this.db.blockMs)));
        if (!found?.size) continue;
        known = known.map((entry, i) => {
          const now = found.get(dumpKey(this.keys[i] ?? []));
          return now === undefined ? entry : now && { key: now.key, value: now.value, version: now.version };
        });
        yield known;
      }
    } finally {
      this.release();
    }
  }
}

export interface FeedOptions {
  /** Where to go on; the beginning without. */
  position?: string;
  prefix?: NewKey;
  /** true (without it too): it goes on, and a batch comes at least every second, maybe without changes;
   *  false: it ends where the feed does. */
  follow?: boolean;
  /** Changes in a batch, rounded up to whole commits. */
  size?: number;
}

/** Batches of whole commits, in order. Store `batch.position` with what you did with its changes: the feed
 *  goes on there. StaleError: the feed does not reach back to the position; read everything again (list), and
 *  go on from the version() of before. */
export class Feed<T = unknown> extends Endless {
  constructor(db: Tupled, private readonly options: FeedOptions) {
    super(db);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Batch<T>, void, undefined> {
    const { prefix, follow = true, size = 1000 } = this.options;
    let position = this.options.position ?? commands.BEGINNING;
    try {
      while (!this.isStopping) {
        const call = commands.changes<T>(position, prefix, size, follow ? this.db.blockMs : undefined);
        const batch = await this.insist(() => (follow ? this.wait(call) : this.db.run(call)));
        if (batch === null || (!follow && batch.position === position)) return;
        yield batch;
        position = batch.position;
      }
    } finally {
      this.release();
    }
  }
}
