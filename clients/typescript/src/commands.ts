// What is sent for each command and what its reply means: nothing here talks to a server.

import { randomUUID } from "node:crypto";
import { dumpKey, dumpValue, loadKey, loadValue } from "./values.js";
import type { Key, NewKey } from "./values.js";

export interface Call<T> {
  words: (string | number)[];
  parse: (reply: unknown) => T;
  /** May it be sent again when the connection broke? */
  resend?: boolean;
}

export interface Entry<T = unknown> {
  key: Key;
  value: T;
  version: string;
  /** null: it never expires. */
  expiresAt: Date | null;
}

export interface Lifetime {
  ttlMs?: number;
  expiresAt?: Date;
  keepTtl?: boolean;
}

export interface SetOptions extends Lifetime {
  ifAbsent?: boolean;
  ifExists?: boolean;
  ifVersion?: string;
  idem?: string;
}

/** start is in the range, end is not. */
export interface Range {
  prefix?: NewKey;
  start?: NewKey;
  end?: NewKey;
  /** A filter: docs/filters.md. */
  where?: object;
}

export interface ListOptions extends Range {
  reverse?: boolean;
  limit?: number;
  pageSize?: number;
}

export interface FindOptions extends Pick<ListOptions, "where" | "reverse" | "limit" | "pageSize"> {
  from?: unknown;
  to?: unknown;
}

/** clamp stops at its ends; what would leave within is an OutOfRangeError. */
export interface Bounds {
  clamp?: readonly [unknown, unknown];
  within?: readonly [unknown, unknown];
}

export interface QueueOptions {
  delayMs?: number;
  /** The delays before each retry; its length is the number of retries. */
  backoffMs?: readonly number[];
  /** Written to these keys when the retries are used up. */
  undelivered?: readonly NewKey[];
  dedup?: string;
}

/** set, delete (expired too) or clear: all that was there before is gone. */
export interface Change<T = unknown> {
  kind: "set" | "delete" | "clear";
  key: Key;
  value: T | null;
  version: string;
  expiresAt: Date | null;
}

/** Whole commits of the change feed, and the position after them. */
export interface Batch<T = unknown> {
  changes: Change<T>[];
  position: string;
}

export interface Message<T = unknown> {
  queue: string;
  id: string;
  value: T;
  attempt: number;
  receipt: string;
}

/** Operation number `index` (from 0) did not hold: `version` is what the key has, null if it is absent.
 *  For an ACK, whose receipt is over, key is null. */
export interface Conflict {
  index: number;
  operation: string;
  key: NewKey | null;
  version: string | null;
}

/** What became of a transaction. `results` has an item for each operation: the key of a SET, the new value
 *  of SUM, MIN and MAX, the new length of APPEND and PREPEND, the id of an ENQUEUE, else null. */
export type Commit =
  | { ok: true; version: string; results: unknown[]; conflicts: [] }
  | { ok: false; version: null; results: []; conflicts: Conflict[] };

export const BEGINNING = "0"; // the position before the first change

export const newId = (): string => randomUUID();

// ---- replies ----

export function text(reply: unknown): string {
  return reply instanceof Uint8Array ? Buffer.from(reply).toString() : String(reply);
}

export const maybeText = (reply: unknown): string | null => (reply === null ? null : text(reply));
const number = (reply: unknown): number => Number(text(reply));
const isDone = (reply: unknown): boolean => number(reply) > 0;
const list = (reply: unknown): unknown[] => (reply ?? []) as unknown[];
const time = (reply: unknown): Date | null => (reply == null ? null : new Date(number(reply)));

function entry<T>(reply: unknown): Entry<T> {
  const [key, value, version, expiry] = list(reply);
  return {
    key: loadKey(text(key)), value: loadValue(text(value)) as T, version: text(version), expiresAt: time(expiry),
  };
}

function change<T>(reply: unknown): Change<T> {
  const [key, value, version, expiry] = list(reply);
  return {
    kind: key === null ? "clear" : value === null ? "delete" : "set",
    key: key === null ? [] : loadKey(text(key)),
    value: value === null ? null : (loadValue(text(value)) as T),
    version: text(version),
    expiresAt: time(expiry),
  };
}

function message<T>(reply: unknown): Message<T> {
  const [queue, id, value, attempt, receipt] = list(reply);
  return {
    queue: text(queue), id: text(id), value: loadValue(text(value)) as T, attempt: number(attempt),
    receipt: text(receipt),
  };
}

// ---- words ----

type Words = (string | number)[];
const JSON_FORMAT: Words = ["FORMAT", "JSON"];
const idem = (id: string | undefined): Words => (id === undefined ? [] : ["IDEM", id]);
const option = (name: string, value: string | number | undefined): Words =>
  value === undefined ? [] : [name, value];
const whole = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : Math.round(ms));
const wait = (ms: number | undefined): Words => option("BLOCK", ms === undefined ? ms : Math.max(1, Math.round(ms)));

function lifetime({ ttlMs, expiresAt, keepTtl }: Lifetime): Words {
  const words = [...option("PX", whole(ttlMs)), ...option("PXAT", expiresAt?.getTime()), ...(keepTtl ? ["KEEPTTL"] : [])];
  if (words.length > 2) throw new TypeError("one of ttlMs, expiresAt and keepTtl");
  return words;
}

function bounds({ clamp, within }: Bounds): Words {
  if (clamp && within) throw new TypeError("one of clamp and within");
  const pair = clamp ?? within;
  return pair ? [clamp ? "CLAMP" : "RANGE", dumpValue(pair[0]), dumpValue(pair[1])] : [];
}

function queueOptions({ delayMs, backoffMs, undelivered, dedup }: QueueOptions): Words {
  return [
    ...option("DELAY", whole(delayMs)),
    ...(backoffMs ? ["BACKOFF", backoffMs.length, ...backoffMs.map(Math.round)] : []),
    ...(undelivered?.length ? ["UNDELIVERED", undelivered.length, ...undelivered.map(dumpKey)] : []),
    ...option("DEDUP", dedup),
  ];
}

function scope({ prefix, start, end, where }: Range): Words {
  return [
    ...option("PREFIX", prefix && dumpKey(prefix)),
    ...option("START", start && dumpKey(start)),
    ...option("END", end && dumpKey(end)),
    ...option("WHERE", where && dumpValue(where)),
  ];
}

// ---- commands ----

export function get<T>(key: NewKey): Call<Entry<T> | null> {
  const name = dumpKey(key);
  return {
    words: ["KV.GET", name, "WITHVERSION", "WITHEXPIRY", ...JSON_FORMAT],
    parse: (reply) => (reply === null ? null : entry<T>([name, ...list(reply)])),
  };
}

export function getMany<T>(keys: readonly NewKey[]): Call<(Omit<Entry<T>, "expiresAt"> | null)[]> {
  const names = keys.map(dumpKey);
  return {
    words: ["KV.MGET", ...names, ...JSON_FORMAT],
    parse: (reply) =>
      list(reply).map((found, i) => {
        if (found === null) return null;
        const { key, value, version } = entry<T>([names[i], ...list(found)]);
        return { key, value, version };
      }),
  };
}

export function set(key: NewKey, value: unknown, options: SetOptions): Call<string | null> {
  const condition = [
    ...(options.ifAbsent ? ["NX"] : []),
    ...(options.ifExists ? ["XX"] : []),
    ...option("IFVERSION", options.ifVersion),
  ];
  // Sent again after it was done, the condition would not hold.
  const id = options.idem ?? (condition.length > 0 ? newId() : undefined);
  return {
    words: ["KV.SET", dumpKey(key), dumpValue(value), ...lifetime(options), ...condition, ...JSON_FORMAT, ...idem(id)],
    parse: maybeText,
  };
}

export function remove(keys: readonly NewKey[], id: string): Call<number> {
  return { words: ["KV.DEL", ...keys.map(dumpKey), ...JSON_FORMAT, ...idem(id)], parse: number };
}

export function count(range: Range): Call<number> {
  return { words: ["KV.COUNT", ...scope(range), ...JSON_FORMAT], parse: number };
}

export function deleteRange(range: Range & { limit?: number }): Call<number> {
  const { where, limit, ...keys } = range;
  const which = scope(keys);
  return {
    words: [
      "KV.DELRANGE", ...(which.length ? which : ["ALL"]), ...option("WHERE", where && dumpValue(where)),
      ...option("LIMIT", limit), ...JSON_FORMAT,
    ],
    parse: number,
    resend: limit === undefined, // sent again, it would remove more
  };
}

export function ttl(key: NewKey): Call<number | null> {
  return {
    words: ["KV.PTTL", dumpKey(key), ...JSON_FORMAT],
    parse: (reply) => (number(reply) < 0 ? null : number(reply)),
  };
}

export function expire(key: NewKey, ttlMs: number, id: string): Call<boolean> {
  return { words: ["KV.PEXPIRE", dumpKey(key), Math.round(ttlMs), ...JSON_FORMAT, ...idem(id)], parse: isDone };
}

export function persist(key: NewKey, id: string): Call<boolean> {
  return { words: ["KV.PERSIST", dumpKey(key), ...JSON_FORMAT, ...idem(id)], parse: isDone };
}

export function arithmetic<T>(
  name: string, key: NewKey, value: unknown, limits: Bounds, id: string,
): Call<{ value: T; version: string }> {
  return {
    words: [name, dumpKey(key), dumpValue(value), ...bounds(limits), ...JSON_FORMAT, ...idem(id)],
    parse: (reply) => {
      const [left, version] = list(reply);
      return { value: loadValue(text(left)) as T, version: text(version) };
    },
  };
}

export function extendArray(
  name: string, key: NewKey, items: readonly unknown[], id: string,
): Call<{ length: number; version: string }> {
  return {
    words: [name, dumpKey(key), dumpValue(items), ...JSON_FORMAT, ...idem(id)],
    parse: (reply) => ({ length: number(list(reply)[0]), version: text(list(reply)[1]) }),
  };
}

export const version = (): Call<string> => ({ words: ["KV.VERSION", ...JSON_FORMAT], parse: text });

/** The pages of KV.LIST or KV.FIND, one call after the other, until `limit` items are read. */
export class Pages<T> {
  private cursor: string | undefined;
  private left: number;
  private readonly pageSize: number;
  private readonly words: Words;

  constructor(words: Words, private readonly item: (reply: unknown) => T, options: ListOptions | FindOptions) {
    this.words = [...words, ...(options.reverse ? ["REVERSE"] : [])];
    this.left = options.limit ?? Infinity;
    this.pageSize = options.pageSize ?? 500;
  }

  next(): Call<T[]> | null {
    if (this.cursor === "0" || this.left <= 0) return null;
    const size = Math.min(this.pageSize, this.left);
    return {
      words: [...this.words, "LIMIT", size, ...option("CURSOR", this.cursor), ...JSON_FORMAT],
      parse: (reply) => {
        const [cursor, page] = list(reply);
        this.cursor = text(cursor);
        this.left -= list(page).length;
        return list(page).map(this.item);
      },
    };
  }
}

export function listPages<T>(options: ListOptions): Pages<Entry<T>> {
  return new Pages(["KV.LIST", ...scope(options), "WITHEXPIRY"], entry<T>, options);
}

export function keyPages(options: ListOptions): Pages<Key> {
  return new Pages(["KV.LIST", ...scope(options), "KEYSONLY"], (reply) => loadKey(text(reply)), options);
}

export function findPages<T>(index: string, values: readonly unknown[], options: FindOptions): Pages<Entry<T>> {
  const words = [
    "KV.FIND", index, ...values.map(dumpValue),
    ...option("FROM", options.from === undefined ? undefined : dumpValue(options.from)),
    ...option("TO", options.to === undefined ? undefined : dumpValue(options.to)),
    ...scope(options.where ? { where: options.where } : {}), "WITHEXPIRY",
  ];
  return new Pages(words, entry<T>, options);
}

export interface SearchOptions {
  limit?: number;
  offset?: number;
  where?: object;
}

/** The score is the higher the better. */
export interface Found<T = unknown> {
  key: Key;
  value: T;
  version: string;
  score: number;
}

export function search<T>(index: string, query: string, options: SearchOptions): Call<Found<T>[]> {
  return {
    words: [
      "KV.SEARCH", index, query, ...option("LIMIT", options.limit), ...option("OFFSET", options.offset),
      ...scope(options.where ? { where: options.where } : {}), "WITHSCORES", ...JSON_FORMAT,
    ],
    parse: (reply) =>
      list(reply).map((row) => {
        const { key, value, version } = entry<T>(list(row).slice(0, 3));
        return { key, value, version, score: number(list(row)[3]) };
      }),
  };
}

/** What is another than what is known, by the key as JSON. */
export function poll<T>(
  keys: readonly NewKey[], versions: readonly (string | null)[], blockMs: number,
): Call<Map<string, Entry<T> | null>> {
  return {
    words: [
      "KV.POLL", ...wait(blockMs), "KEYS", keys.length, ...keys.map(dumpKey),
      ...versions.map((known) => known ?? "NONE"), ...JSON_FORMAT,
    ],
    parse: (reply) =>
      new Map(
        list(reply).map((row) => {
          const [key, , found] = list(row);
          return [dumpKey(loadKey(text(key))), found === null ? null : entry<T>(row)];
        }),
      ),
  };
}

export function changes<T>(
  position: string, prefix: NewKey | undefined, size: number, blockMs?: number,
): Call<Batch<T>> {
  return {
    words: [
      "KV.CHANGES", position, ...scope(prefix ? { prefix } : {}), "COUNT", size, ...wait(blockMs), ...JSON_FORMAT,
    ],
    parse: (reply) => ({ position: text(list(reply)[0]), changes: list(list(reply)[1]).map((row) => change<T>(row)) }),
  };
}

// ---- queues ----

export function enqueue(queue: string, value: unknown, options: QueueOptions, id: string): Call<string | null> {
  return {
    words: ["KV.ENQUEUE", queue, dumpValue(value), ...queueOptions(options), ...JSON_FORMAT, ...idem(id)],
    parse: maybeText,
  };
}

export function dequeue<T>(
  queues: readonly string[], size: number, leaseMs: number, blockMs: number | undefined,
): Call<Message<T>[]> {
  const [first = "", ...others] = queues;
  return {
    words: [
      "KV.DEQUEUE", first, ...(others.length ? ["ALSO", others.length, ...others] : []), "COUNT", size,
      "LEASE", Math.round(leaseMs), ...wait(blockMs), ...JSON_FORMAT,
    ],
    parse: (reply) => list(reply).map((row) => message<T>(row)),
  };
}

export function ack(receipts: readonly string[], id: string): Call<number> {
  return { words: ["KV.ACK", ...receipts, ...JSON_FORMAT, ...idem(id)], parse: number };
}

export interface NackOptions {
  delayMs?: number;
  error?: string;
  /** No more tries: a dead letter. */
  dead?: boolean;
}

export function nack(receipt: string, options: NackOptions, id: string): Call<boolean> {
  // Of the text the server takes 1024 bytes.
  const error = options.error && Buffer.from(options.error).subarray(0, 1024).toString().replace(/\ufffd$/, "");
  return {
    words: [
      "KV.NACK", receipt, ...option("DELAY", whole(options.delayMs)), ...option("ERROR", error),
      ...(options.dead ? ["DEAD"] : []), ...JSON_FORMAT, ...idem(id),
    ],
    parse: isDone,
  };
}

export function extend(receipt: string, leaseMs: number): Call<boolean> {
  return { words: ["KV.EXTEND", receipt, Math.round(leaseMs), ...JSON_FORMAT], parse: isDone };
}

// ---- transactions ----

/** A transaction that is being written down. Each method adds one operation and gives the builder back. */
export class Operations {
  private readonly words: Words = [];
  private readonly operations: [string, NewKey | null][] = [];

  /** id: the IDEM id, so that sending it again does it once. */
  constructor(readonly id: string = newId()) {}

  private add(name: string, key: NewKey | null, ...words: Words): this {
    this.operations.push([name, key]);
    this.words.push(name, ...(key ? [dumpKey(key)] : []), ...words);
    return this;
  }

  /** The key must have this version; null: it must be absent. */
  check(key: NewKey, version: string | null): this {
    return this.add("CHECK", key, version ?? "NONE");
  }
  set(key: NewKey, value: unknown, options: Lifetime = {}): this {
    return this.add("SET", key, dumpValue(value), ...lifetime(options));
  }
  delete(key: NewKey): this {
    return this.add("DEL", key);
  }
  sum(key: NewKey, value: unknown, limits: Bounds = {}): this {
    return this.add("SUM", key, dumpValue(value), ...bounds(limits));
  }
  min(key: NewKey, value: unknown): this {
    return this.add("MIN", key, dumpValue(value));
  }
  max(key: NewKey, value: unknown): this {
    return this.add("MAX", key, dumpValue(value));
  }
  append(key: NewKey, items: readonly unknown[]): this {
    return this.add("APPEND", key, dumpValue(items));
  }
  prepend(key: NewKey, items: readonly unknown[]): this {
    return this.add("PREPEND", key, dumpValue(items));
  }
  enqueue(queue: string, value: unknown, options: QueueOptions = {}): this {
    return this.add("ENQUEUE", null, queue, dumpValue(value), ...queueOptions(options));
  }
  ack(receipt: string): this {
    return this.add("ACK", null, receipt);
  }

  call(): Call<Commit> {
    return {
      words: ["KV.ATOMIC", "IDEM", this.id, "DETAILS", ...this.words, ...JSON_FORMAT],
      parse: (reply) => {
        const [version, rows] = list(reply);
        if (version === null) {
          return { ok: false, version: null, results: [], conflicts: list(rows).map((row) => this.conflict(list(row))) };
        }
        const results = list(rows).map((result, i) => this.result(i, result));
        return { ok: true, version: text(version), results, conflicts: [] };
      },
    };
  }

  private conflict([index, found]: unknown[]): Conflict {
    const [operation, key] = this.operations[number(index)] ?? ["", null];
    return { index: number(index), operation, key, version: maybeText(found) };
  }

  private result(index: number, result: unknown): unknown {
    if (result === null) return null;
    switch (this.operations[index]?.[0]) {
      case "SET":
        return loadKey(text(result));
      case "SUM":
      case "MIN":
      case "MAX":
        return loadValue(text(result));
      case "ENQUEUE":
        return text(result);
      default:
        return number(result);
    }
  }
}
