// A tupled server from TypeScript, over ioredis or node-redis. README.md shows how.

export { Atomic, Feed, Tupled, Watcher } from "./client.js";
export type { FeedOptions, TupledOptions } from "./client.js";
export { BEGINNING } from "./commands.js";
export type {
  Batch, Bounds, Change, Commit, Conflict, Entry, FindOptions, Found, Lifetime, ListOptions, Message, NackOptions,
  QueueOptions, Range, SearchOptions, SetOptions,
} from "./commands.js";
export type { RedisClient } from "./connection.js";
export * from "./errors.js";
export { LiveView } from "./live.js";
export type { Event } from "./live.js";
export { CommitVersion, U64, UUIDv7, V8, dumpKey, dumpValue, loadKey, loadValue } from "./values.js";
export type { Key, KeyPart, NewKey, NewKeyPart } from "./values.js";
export { Job, Reject, Retry, Worker } from "./worker.js";
export type { WorkerOptions } from "./worker.js";
