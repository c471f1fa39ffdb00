// A copy of what is below a prefix, kept up to date by the change feed from the state that was read: nothing
// is missed and nothing comes twice, over lost connections and restarts too. When the feed does not reach
// back far enough, everything is read again and the differences are the events.

import type { Tupled } from "./client.js";
import * as commands from "./commands.js";
import type { Change, Entry } from "./commands.js";
import { Endless } from "./endless.js";
import { StaleError } from "./errors.js";
import { dumpKey } from "./values.js";
import type { Key, NewKey } from "./values.js";

/** A change of a live view: `before` is the entry that was there. */
export interface Event<T = unknown> {
  kind: "set" | "delete";
  key: Key;
  value: T | null;
  version: string;
  before: Entry<T> | null;
}

type Entries<T> = Map<string, Entry<T>>;
const PAGE = 1000;

export class LiveView<T = unknown> extends Endless {
  /** The version that the entries are as of. */
  position: string = commands.BEGINNING;
  private known: Entries<T> = new Map();

  constructor(db: Tupled, private readonly prefix: NewKey) {
    super(db);
  }

  get(key: Key): Entry<T> | null {
    return this.known.get(dumpKey(key)) ?? null;
  }

  /** In no certain order. */
  entries(): Entry<T>[] {
    return [...this.known.values()];
  }

  get size(): number {
    return this.known.size;
  }

  /** Reads everything; what is different from what was known. */
  async load(): Promise<Event<T>[]> {
    for (;;) {
      try {
        return await this.read();
      } catch (error) {
        if (!(error instanceof StaleError)) throw error; // while it was read
      }
    }
  }

  // The version, then all pages, then the changes since that version up to one asked for after the last
  // page: then the entries are what the database had at `position`, not a mixture.
  private async read(): Promise<Event<T>[]> {
    let position = await this.db.version();
    const entries: Entries<T> = new Map();
    for await (const entry of this.db.list<T>({ prefix: this.prefix, pageSize: PAGE })) {
      entries.set(dumpKey(entry.key), entry);
    }
    const target = await this.db.version();
    while (position < target) {
      const batch = await this.db.run(commands.changes<T>(position, this.prefix, PAGE));
      apply(entries, batch.changes);
      position = batch.position;
    }
    const events = difference(this.known, entries, position);
    this.known = entries;
    this.position = position;
    return events;
  }

  /** Takes in what has changed, waiting up to `timeoutMs` for it. */
  async poll(timeoutMs = 0): Promise<Event<T>[]> {
    const until = Date.now() + timeoutMs;
    for (;;) {
      if (this.isStopping) return [];
      const events = await this.step(Math.min(Math.max(1, until - Date.now()), this.db.blockMs));
      if (events.length > 0 || Date.now() >= until) return events;
    }
  }

  private async step(blockMs: number): Promise<Event<T>[]> {
    try {
      const batch = await this.wait(commands.changes<T>(this.position, this.prefix, PAGE, blockMs));
      const events = apply(this.known, batch.changes);
      this.position = batch.position;
      return events;
    } catch (error) {
      if (error instanceof StaleError) return this.load();
      throw error;
    }
  }

  /** Every change as it is taken in, until stop(). */
  async *events(): AsyncGenerator<Event<T>, void, undefined> {
    while (!this.isStopping) yield* (await this.insist(() => this.poll(this.db.blockMs))) ?? [];
  }
}

function apply<T>(entries: Entries<T>, changes: readonly Change<T>[]): Event<T>[] {
  const events: Event<T>[] = [];
  for (const { kind, key, value, version, expiresAt } of changes) {
    if (kind === "clear") {
      for (const before of entries.values()) events.push({ kind: "delete", key: before.key, value: null, version, before });
      entries.clear();
      continue;
    }
    const name = dumpKey(key);
    const before = entries.get(name) ?? null;
    entries.delete(name);
    if (kind === "set") entries.set(name, { key, value: value as T, version, expiresAt });
    else if (before === null) continue;
    events.push({ kind, key, value, version, before });
  }
  return events;
}

/** The events that lead from one state to the other. */
function difference<T>(was: Entries<T>, is: Entries<T>, position: string): Event<T>[] {
  const events: Event<T>[] = [];
  for (const [name, before] of was) {
    if (!is.has(name)) events.push({ kind: "delete", key: before.key, value: null, version: position, before });
  }
  for (const [name, { key, value, version }] of is) {
    const before = was.get(name) ?? null;
    if (before?.version !== version) events.push({ kind: "set", key, value, version, before });
  }
  return events;
}
